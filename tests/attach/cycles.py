"""cycles.py RECORD TARGET CYCLES KILLED SEED [LAUNCHER...]: attaches to a program that does everything at once, and leaves it, again
and again.

RECORD is the command that attaches to the process whose number is its last argument, and detaches when it is interrupted; it may
also end by itself. LAUNCHER is the command that starts the program, such as 'memtui record --'. TARGET
is tests/inject/target.cc: 16 threads allocate, fork, vfork, throw, sleep and wait; each counts its turns, what was wrong, and EINTR
that no signal explains. KILLED per cent of the recordings end by SIGKILL at a random moment, the others by SIGINT."""
import atexit, difflib, mmap, os, random, signal, struct, subprocess, sys, tempfile, time

from cycling import Cycling, descendants, descriptors, fail

record, target, cycles, killed, seed = sys.argv[1].split(), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
launcher = sys.argv[6:]
WORKERS = ("ALLOCATE ALLOCATE_TOO FORK VFORK SLEEP POLL FUTEX EPOLL ALTERNATE THROW REGISTERS REGISTERS_TOO SEQUENCE READ WRITE "
           "BIRTH").split()
COUNT = len(WORKERS)
FAULTS, INTERRUPTS, READY = 8 * COUNT, 16 * COUNT, 24 * COUNT + 8 + 4 * COUNT
random.seed(seed)


def words(offset):
    return dict(zip(WORKERS, struct.unpack_from(f"<{COUNT}Q", shared, offset)))


def picture():
    """Mappings that are not the program's own: those of the allocator and of threads come and go."""
    at = [l.split() for l in open(f"/proc/{pid}/maps")]
    return [(l[1], l[5]) for l in at if len(l) > 5] + sorted(l[1] for l in at if "x" in l[1] and len(l) == 5)


def moves(when):
    """Every thread makes a turn."""
    before, end = words(0), time.monotonic() + 60
    while min(words(0)[w] - before[w] for w in WORKERS) < 1:
        if program.poll() is not None:
            fail(f"{when}, the program ended with {program.returncode}")
        if time.monotonic() > end:
            fail(f"{when}, these threads stand still: {[w for w in WORKERS if words(0)[w] == before[w]]}")
        time.sleep(0.001)


os.chdir(tempfile.mkdtemp())
with open("shared", "wb") as f:
    f.truncate(1 << 20)
shared = mmap.mmap(os.open("shared", os.O_RDWR), 1 << 20)
program = subprocess.Popen(launcher + [target, os.path.abspath("shared")], stdin=subprocess.DEVNULL)
atexit.register(program.kill)
while not struct.unpack_from("<I", shared, READY)[0]:
    if program.poll() is not None:
        fail(f"the program ended at its start with {program.returncode}")
    time.sleep(0.001)
known = [program.pid] + descendants(program.pid)
pid = next(p for p in known if os.readlink(f"/proc/{p}/exe") == os.path.realpath(target))
atexit.register(lambda: program.poll() is None and os.kill(pid, signal.SIGKILL))
cycling = Cycling(record, pid, {program.pid})
moves("at first")
files = descriptors(pid)
cycling.cycle(False)
moves("after the first recording")
first = picture()
for n in range(cycles):
    kill = random.randrange(100) < killed
    cycling.cycle(kill)
    moves(f"after recording {n}, which was {'killed' if kill else 'ended'}")
said = cycling.cycle(False)
moves("after the last recording")
wrong = {w: n for w, n in words(FAULTS).items() if n}
interrupts = {w: n for w, n in words(INTERRUPTS).items() if n}
if wrong:
    fail(f"wrong in the program: {wrong}")
if {w: n for w, n in interrupts.items() if w != "EPOLL" or n > cycling.kills}:
    fail(f"EINTR without a signal: {interrupts}; {cycling.kills} recordings were killed")
if picture() != first:
    fail("mappings differ after the last recording: " + "; ".join(difflib.unified_diff(
        [str(l) for l in first], [str(l) for l in picture()], "before", "after", n=0, lineterm="")) + "; of these are code "
        "without a file: " + ", ".join(l.split()[0] for l in open(f"/proc/{pid}/maps") if " r-xp " in l and "/" not in l))
if descriptors(pid) != files:
    fail(f"descriptors differ: {descriptors(pid)}, not {files}")
os.kill(pid, signal.SIGTERM)
if program.wait():
    fail(f"the program ended with {program.returncode}")
print(f"cycles {cycles} killed {cycling.kills} eintr_epoll {interrupts.get('EPOLL', 0)}", file=sys.stderr)
