"""homeless.py MEMTUI: where 'memtui run' puts a trace that nobody has named yet: in a directory of the user's alone, whatever others have
put into /tmp. Runs in a mount namespace of its own (unshare -m), as root, with an empty /tmp. Prints 'ok NAME' or 'not ok NAME: why'."""
import ctypes, os, pty, select, shutil, signal, sys, time

memtui, nobody = sys.argv[1], 65534
os.umask(0o022)
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: recorders that lose memtui are ours


def run(home):
    """Status (None: it ran, and was ended), what was printed, and where the program found its trace."""
    if os.path.exists("/tmp/found"):
        os.unlink("/tmp/found")
    script = "find /tmp -name 'memtui_sh_*.dat' >/tmp/looked; mv /tmp/looked /tmp/found"
    pid, master = pty.fork()
    if pid == 0:
        environment = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "MEMTUI_CACHE": "", "MEMTUI_TRIAGE": "", "LC_ALL": "C.UTF-8"}
        if home:
            environment["HOME"] = home
        os.execve(memtui, [memtui, "run", "--", "/bin/sh", "-c", script], environment)
    said, ended, until = b"", None, time.monotonic() + 60
    while time.monotonic() < until and not os.path.exists("/tmp/found"):
        if select.select([master], [], [], 0.05)[0]:
            try:
                said += os.read(master, 65536)
            except OSError:  # its end is closed: memtui has ended
                ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                break
    where = open("/tmp/found").read().split() if os.path.exists("/tmp/found") else []
    if ended is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(master)
    try:
        while True:  # the recorder completes its trace
            os.wait()
    except ChildProcessError:
        pass
    return ended, said, where


def case(name, home, prepare, holds):
    for entry in os.listdir("/tmp"):
        path = "/tmp/" + entry
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    prepare()
    ended, said, where = run(home)
    fault = holds(ended, said, where)
    print("ok cli %s" % name if not fault else "not ok cli %s: %s; status %s, traces %s, %r" % (name, fault, ended, where, said[-300:]))
    return bool(fault)


def private(ended, said, where):
    if ended is not None or len(where) != 1 or not where[0].startswith("/tmp/memtui-0/"):
        return "the trace is not in /tmp/memtui-0"
    is_ = os.lstat("/tmp/memtui-0")
    return None if is_.st_mode & 0o777 == 0o700 and is_.st_uid == 0 else "its mode is %o" % is_.st_mode


def refused(ended, said, where):
    if ended != 1 or where:
        return "it was not refused"
    return None if b"/tmp/memtui-0 is not your directory" in said and b"-o FILE" in said else "the sentence is another"


def theirs(*paths):
    for path in paths:
        os.mkdir(path)
        os.chown(path, nobody, nobody)


def link():
    theirs("/tmp/trap")
    os.symlink("/tmp/trap", "/tmp/memtui-0")
    os.lchown("/tmp/memtui-0", nobody, nobody)


def open_to_others():
    os.mkdir("/tmp/memtui-0")
    os.chmod("/tmp/memtui-0", 0o777)


bad = case("run without a home", None, lambda: None, private)
bad |= case("run without a home: somebody else's /tmp/.cache", None, lambda: theirs("/tmp/.cache"), private)
bad |= case("run without a home: somebody else's directory", None, lambda: theirs("/tmp/memtui-0"), refused)
bad |= case("run without a home: somebody else's link", None, link, refused)
bad |= case("run without a home: a directory that others can write to", None, open_to_others, private)
bad |= case("run with somebody else's home", "/tmp/home", lambda: theirs("/tmp/home", "/tmp/home/.cache"), private)
sys.exit(bad)
