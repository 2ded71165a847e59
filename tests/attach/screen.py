"""screen.py COMMAND... : runs it on a terminal. Standard input has lines TEXT|KEYS: once the screen has shown TEXT, KEYS are
typed (\\r and \\e as in C). Prints what came last, and exits with the command's status."""
import fcntl, os, pty, re, select, struct, sys, termios, time

steps = [line.rstrip("\n").split("|") for line in sys.stdin]
pid, fd = pty.fork()
if not pid:
    os.environ["TERM"] = "xterm-256color"
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 130, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
raw, shown, patience = b"", 0, time.time() + 60


def text():
    return re.sub(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]", b" ", raw).decode("utf-8", "replace")


while time.time() < patience:
    if select.select([fd], [], [], 0.1)[0]:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        raw += more
    if steps and (at := text().find(steps[0][0], shown)) >= 0:
        shown = at + len(steps[0][0])
        os.write(fd, steps.pop(0)[1].replace("\\r", "\r").replace("\\e", "\x1b").encode())
else:
    os.kill(pid, 9)
print(text()[-1500:], "".join(f"\nnever shown: {s[0]}" for s in steps))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
