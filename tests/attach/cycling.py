"""Attaching to a process and leaving it, again and again: what cycles.py and real.py share."""
import ctypes, os, random, signal, subprocess, sys, time


def fail(why):
    print(why)
    sys.exit(1)


def descendants(pid, others=()):
    """Recorders leave the session and the process group, but they stay children. Not of others, whose come and go."""
    try:
        children = [int(c) for t in os.listdir(f"/proc/{pid}/task") for c in open(f"/proc/{pid}/task/{t}/children").read().split()]
    except OSError:
        return []
    children = [c for c in children if c not in others]
    return children + [d for c in children for d in descendants(c, others)]


def descriptors(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"))


class Cycling:
    """record: the command that attaches to the process whose number is its last argument, and detaches when it is interrupted.
    others: numbers of processes that are no recorders, nor are their children. The recording lies in the current directory."""

    def __init__(self, record, pid, others):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        self.record, self.pid, self.others, self.span, self.kills = record, pid, others, 0.3, 0

    def kill_all(self):
        """A recorder may just be made, and is our child once its own parent is gone."""
        while True:
            theirs = descendants(os.getpid(), self.others)
            if not theirs:
                return
            for pid in theirs:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                except (ProcessLookupError, ChildProcessError):
                    pass

    def cycle(self, kill):
        """What the recording said."""
        for name in os.listdir("."):
            if name.startswith("t.dat"):
                os.unlink(name)
        child = subprocess.Popen(self.record + [str(self.pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, start_new_session=True)
        if kill:
            self.kills += 1
            time.sleep(random.random() * self.span * 1.5)
            self.kill_all()
            return child.communicate()[0].decode()
        began = time.monotonic()
        while child.poll() is None and not self.began_writing():
            time.sleep(0.001)
        self.span = time.monotonic() - began
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        said = child.communicate()[0].decode()
        if child.returncode:
            fail(f"the recording of {self.pid}, which {'lives' if os.path.exists(f'/proc/{self.pid}') else 'has ended'}, ended "
                 f"with {child.returncode}: {said}")
        return said

    @staticmethod
    def began_writing():
        try:
            return os.path.getsize("t.dat") > 0
        except FileNotFoundError:
            return False
