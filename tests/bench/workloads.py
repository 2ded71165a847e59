"""What is measured: programs, and the tools that they run under."""
import dataclasses
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY_LIMIT = 8 << 30  # heaptrack's interpreter can outgrow a machine
START = "start and end"
HOT_PAIRS = 5000000
HEAPTRACK_PRELOAD = "heaptrack preload"
SAMPLED = "memtui --sample 512k"
BEFORE = "before"  # another version of memtui, to compare with


@dataclasses.dataclass
class Workload:
    name: str
    command: list
    needs: list                # files without which it cannot run
    threads: int = 1
    own_clock: bool = False    # prints ns_per_pair=: the work alone, without starting and ending
    own_rss: bool = False      # prints idle_rss_kib=: what is resident after a second in which nothing happened
    per_event: bool = True     # has so many events that figures by the event mean something
    pairs: int = None          # allocations, each with its free, where they are not all in the first process's trace
    environment: dict = dataclasses.field(default_factory=dict)

    def missing(self):
        """The name of what is needed and not there, or None."""
        return next((what or "its program" for what in self.needs if not what or not os.path.exists(what)), None)


def real_program(name):
    """The file that is executed in the end, not a wrapper of it."""
    if name == "python3":
        return os.path.realpath(sys.executable)
    path = shutil.which(name)
    return os.path.realpath(path) if path else None


def compiler():
    """g++ is a driver; what allocates is cc1plus."""
    if not shutil.which("g++"):
        return None
    path = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True).stdout.strip()
    return os.path.realpath(path) if os.path.isabs(path) else None


def source(name):
    return os.path.join(HERE, name)


def all_workloads(build):
    def own(name, program, *arguments, threads=1):
        path = os.path.realpath(os.path.join(build, "bench", program))
        return Workload(name, [path, *arguments], [path], threads, own_clock=True)

    def start():
        """Next to no events: what remains is starting, ending, and naming the symbols."""
        path = os.path.realpath(os.path.join(build, "bench/hot"))
        return Workload(START, [path, "8", "16"], [path], per_event=False)

    def asleep(name, count, pairs):
        """Threads that mostly sleep: what counts is what they take in memory, and that they take no longer."""
        path = os.path.realpath(os.path.join(build, "bench/asleep"))
        return Workload(name, [path, str(count), str(pairs)], [path], count, own_rss=True, per_event=False)

    def copies(name, count):
        """What as many threads do, by processes of one thread: what threads cost beyond that is their being threads."""
        path, shell = (os.path.realpath(p) for p in (os.path.join(build, "bench/hot"), "/bin/sh"))
        script = 'i=0; while [ $i -lt $1 ]; do "$0" $2 16 & i=$((i + 1)); done; wait'
        return Workload(name, [shell, "-c", script, path, str(count), str(HOT_PAIRS // count)], [path, shell], count,
                        pairs=HOT_PAIRS)

    def real(name, program, *arguments, needs, **environment):
        return Workload(name, [program, *arguments], [program, needs], environment=environment)

    regex = os.path.join(build, "bench/regex.ii")
    return [
        start(),
        own("hot 4", "hot", str(HOT_PAIRS), "4"),
        own("hot 16", "hot", str(HOT_PAIRS), "16"),
        own("hot 48", "hot", str(HOT_PAIRS), "48"),
        own("hot 200", "hot", "3000000", "200"),
        own("hot 16, 2 threads", "hot", str(HOT_PAIRS), "16", "2", threads=2),
        own("hot 16, 4 threads", "hot", str(HOT_PAIRS), "16", "4", threads=4),
        copies("hot 16, 2 copies", 2),
        copies("hot 16, 4 copies", 4),
        asleep("200 threads asleep", 200, 2000),
        asleep("1000 threads asleep", 1000, 2000),
        own("tree", "tree", "2"),
        own("leak", "leak", "1000000"),
        real("python3", real_program("python3"), source("parse.py"), needs=source("parse.py"),
             PYTHONMALLOC="malloc", PYTHONHASHSEED="0"),
        real("sqlite3", real_program("sqlite3"), ":memory:", f".read {source('table.sql')}", needs=source("table.sql")),
        real("perl", real_program("perl"), source("hash.pl"), needs=source("hash.pl"), PERL_HASH_SEED="0"),
        real("cc1plus", compiler(), "-fpreprocessed", "-quiet", "-O1", regex, "-o", "/dev/null", needs=regex),
    ]


@dataclasses.dataclass
class Tool:
    name: str
    start: object              # workload, output file -> command
    needs: object = None       # a file without which it cannot run
    program: str = None        # the file that executes the workload, when it is not the workload's own
    timeout: int = 180
    memory_limit: int = None
    missing: str = "is not installed"  # said where needs is not there
    once: bool = False         # one round is enough
    stands_in_for: str = None  # measured only where that tool dies
    children: bool = True      # sees what the program starts


def heaptrack_library():
    """Where the preload library lies, seen from the script."""
    script = shutil.which("heaptrack")
    root = os.path.dirname(os.path.dirname(os.path.realpath(script))) if script else "/usr"
    found = [path for folder in ("lib*/heaptrack", "lib/*/heaptrack")
             for path in glob.glob(os.path.join(root, folder, "libheaptrack_preload.so"))]
    return found[0] if found else None


def massif_program():
    """What valgrind becomes, and what then runs the workload in itself."""
    found = [path for folder in ("/usr/libexec", "/usr/lib*", "/usr/lib/*", "/usr/local/libexec")
             for path in glob.glob(f"{folder}/valgrind/massif-amd64-linux")]
    return os.path.realpath(found[0]) if found else None


def can_probe(program):
    return os.path.exists(program) and subprocess.run([program], stderr=subprocess.DEVNULL).returncode == 0


def recorder(name, program, *options):
    return Tool(name, lambda w, out: [program, "record", "--force", *options, "-o", out, "--", *w.command], program)


def all_tools(build, before=None):
    """The tools beside the untraced run; before: the build directory of another version of memtui, if it runs, too."""
    memtui, library = (os.path.realpath(os.path.join(build, name)) for name in ("memtui", "libmemtui.so"))
    probes = os.path.realpath(os.path.join(build, "bench/uprobes"))
    heaptrack, preload = shutil.which("heaptrack"), heaptrack_library()

    def preloaded(path, *variables):
        return lambda w, _: ["env", f"LD_PRELOAD={path}", *variables, *w.command]

    return [
        Tool("untraced", lambda w, _: w.command),
        Tool("forwarding", preloaded(library), library),
        recorder("memtui", memtui),
        recorder(SAMPLED, memtui, "--sample", "512k"),
        *([recorder(BEFORE, os.path.realpath(os.path.join(before, "memtui")))] if before else []),
        # heaptrack puts its own ending behind the name of the output
        Tool("heaptrack", lambda w, out: ["heaptrack", "-o", out, *w.command], heaptrack, memory_limit=MEMORY_LIMIT,
             children=False),
        Tool(HEAPTRACK_PRELOAD, preloaded(preload, "DUMP_HEAPTRACK_OUTPUT=/dev/null"), preload,
             stands_in_for="heaptrack", children=False),
        Tool("massif", lambda w, out: ["valgrind", "--tool=massif", f"--massif-out-file={out}", *w.command],
             massif_program() if shutil.which("valgrind") else None, program=massif_program(), timeout=60, once=True,
             children=False),
        # what memleak of bcc costs before it looks at anything
        Tool("uprobes", lambda w, _: [probes, *w.command], probes if can_probe(probes) else None, once=True,
             missing="are not allowed here (root, and a kernel with uprobes)"),
    ]
