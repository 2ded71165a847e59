"""left.py COMMAND...: runs it on a terminal and prints its process number. A number on standard input is a signal that the command
gets, and not what it has started: 9 is what an out-of-memory killer does. Then prints what the terminal showed last."""
import fcntl, os, pty, select, struct, sys, termios

pid, fd = pty.fork()
if not pid:
    os.environ["TERM"] = "xterm-256color"
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
raw, ended, sources = b"", False, [fd, 0]
while not ended:
    ready = select.select(sources, [], [], 60)[0]
    if 0 in ready or not ready:
        os.kill(pid, int(os.read(0, 16) or 9) if ready else 9)
        sources = [fd]
    if fd in ready:
        try:
            more = os.read(fd, 65536)
        except OSError:
            more = b""
        raw, ended = raw[-4000:] + more, not more
os.waitpid(pid, 0)
print(raw.decode("utf-8", "replace")[-400:].replace("\n", " "))
