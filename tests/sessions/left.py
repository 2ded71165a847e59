"""left.py COMMAND...: runs it on a terminal and prints its process number. When a line comes on standard input it kills the
command, as an out-of-memory killer does, and not what that has started."""
import fcntl, os, pty, select, struct, sys, termios

pid, fd = pty.fork()
if not pid:
    os.environ["TERM"] = "xterm-256color"
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 130, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
ended = False
while not ended:
    ready = select.select([fd, 0], [], [], 60)[0]
    if 0 in ready or not ready:
        os.kill(pid, 9)
        break
    try:
        ended = not os.read(fd, 65536)
    except OSError:
        ended = True
os.waitpid(pid, 0)
