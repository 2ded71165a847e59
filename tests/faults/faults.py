"""faults.py WORK MEMTUI: fails the system calls of memtui's own processes one after another, and judges the outcome.

Each case is a command, a role (a process or thread of memtui), a system call, which of them, and an error. Whatever
fails, the command ends; a program that it recorded has done what it does untraced, or was never started; and what is
missing in the result is said. MEMTUI_FAULTS=all tries all cases, otherwise a sample that is always the same one;
MEMTUI_FAULTS=SCENARIO:ROLE:CALL:NTH:ERROR tries one case and shows its outcome."""
import concurrent.futures, errno, json, os, re, shutil, subprocess, sys, tempfile

work, memtui = sys.argv[1:3]
inject, subject = f"{work}/inject", f"{work}/subject"
DEADLINE = int(os.environ.get("MEMTUI_FAULTS_SECONDS", 60))  # seconds; only what waits without end comes to it
WANTED = os.environ.get("MEMTUI_FAULTS", "")

# Calls that cannot fail in a way that a process could see, or after which there is no process.
NEVER = {"exit", "exit_group", "rt_sigreturn", "rt_sigprocmask", "rt_sigaction", "getpid", "gettid", "getuid", "geteuid",
         "getgid", "getegid", "set_tid_address", "set_robust_list", "rseq", "arch_prctl", "clock_gettime", "sched_yield",
         "clock_nanosleep"}
OPENS = ("EMFILE", "EACCES", "EIO")
ERRORS = {"openat": OPENS, "open": OPENS, "memfd_create": OPENS, "eventfd2": OPENS, "pipe2": OPENS, "socket": OPENS,
          "socketpair": OPENS, "signalfd4": OPENS, "accept4": ("EMFILE", "ENOMEM", "ECONNABORTED"),
          "write": ("ENOSPC", "EIO", "EAGAIN"), "pwrite64": ("ENOSPC", "EIO"), "ftruncate": ("ENOSPC", "EFBIG"),
          "fallocate": ("ENOSPC", "EFBIG"), "read": ("EIO", "EAGAIN"), "pread64": ("EIO", "EINVAL"),
          "poll": ("ENOMEM", "ENOSYS", "EAGAIN"), "ppoll": ("ENOMEM", "ENOSYS"), "futex_waitv": ("ENOSYS", "ENOMEM", "EINVAL"),
          "futex": ("EAGAIN",), "clone": ("EAGAIN", "ENOMEM"), "clone3": ("EAGAIN", "ENOMEM"),
          "execve": ("ENOMEM", "EACCES"), "wait4": ("EINTR", "ECHILD"), "waitid": ("EINTR", "ECHILD"),
          "mmap": ("ENOMEM", "EAGAIN"), "mprotect": ("ENOMEM",), "munmap": ("ENOMEM",), "brk": ("ENOMEM",),
          "sendto": ("ENOBUFS", "ENOMEM"), "sendmsg": ("ENOBUFS", "ETOOMANYREFS"),
          "recvfrom": ("EIO", "ENOMEM"), "recvmsg": ("EIO", "ENOMEM"), "rename": ("EACCES", "ENOSPC"),
          "bind": ("EADDRINUSE", "ENOMEM"), "getrandom": ("ENOSYS", "EAGAIN")}
USUAL = ("ENOMEM", "EIO")
PERSIST = {"poll": "ENOSYS", "ppoll": "ENOSYS", "futex_waitv": "ENOSYS", "recvfrom": "EIO", "wait4": "EIO", "waitid": "EIO",
           "accept4": "EMFILE", "openat": "EMFILE", "write": "ENOSPC", "read": "EIO", "pread64": "EIO", "mmap": "ENOMEM",
           "sendto": "ENOBUFS", "sendmsg": "ENOBUFS"}

# The first is what the others read.
SCENARIOS = {
    "record": ["record", "-f", "-o", "t.dat", "--", subject],
    "info": ["info", "good.dat"],
    "report": ["report", "good.dat"],
    "alone": ["report", "good.mem"],
    "json": ["export", "good.dat", "--as", "json", "-o", "out.json", "-f"],
}
CLOSING = re.compile(r"memtui: (wrote \S+: .* 0 events lost$|what each process|\s*(process|\d+)\s+(parent|\d+) )")


class Run:
    def __init__(self, scenario, fault="-"):
        self.dir = tempfile.mkdtemp(dir=work)
        for name in os.listdir(work):
            if name.startswith("good."):
                os.link(f"{work}/{name}", f"{self.dir}/{name}")
        done = subprocess.run([inject, "log", str(DEADLINE), fault, memtui, *SCENARIOS[scenario]], cwd=self.dir,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.status, self.out = done.returncode, done.stdout.decode("utf8", "replace")
        lines = done.stderr.decode("utf8", "replace").splitlines()
        self.said = [l for l in lines if l.startswith("memtui: ")]
        self.others = [l for l in lines if not l.startswith("memtui: ")]
        log = open(f"{self.dir}/log").read().splitlines()
        self.hit, self.hung = "hit" in log, [l.split("\t")[1:] for l in log if l.startswith("hung")]
        self.counts = {tuple(l.split("\t")[:2]): int(l.split("\t")[2]) for l in log if not l.startswith("h")}

    def spinning(self, good):
        """The waits that a part made many more times than without the fault, with their numbers."""
        return [f"{role} {call} {n} times" for (role, call), n in self.counts.items()
                if call in ("poll", "ppoll") and n > 5000 + 10 * good.counts.get((role, call), 0)]

    def traces(self):
        """Allocations by trace, None: it cannot be read."""
        found = {}
        for name in sorted(os.listdir(self.dir)):
            if not name.startswith("t.dat"):
                continue
            info = subprocess.run([memtui, "info", "--format", "json", name], cwd=self.dir, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
            try:
                d = json.loads(info.stdout)
                found[re.sub(r"\d+$", "PID", name)] = (d["allocations"], d["frees"], d["complete"], d["lost_events"])
            except ValueError:
                found[name] = None
        return found

    def close(self):
        shutil.rmtree(self.dir)


def judge_record(run, good, mute):
    """Why the outcome is not to be had; empty if it is. mute: the command could not write a word."""
    program = (run.out, [l for l in run.others if l])
    untraced = (good.out, good.others)
    excuses = [l for l in run.said if not CLOSING.match(l) or l.endswith(")")]
    never_ran = program[0] == "" and run.status not in (0, 7)
    if never_ran:
        traces = run.traces()
        if not run.said and not run.others:
            return f"status {run.status} without a word"
        return f"no program ran, and {list(traces)} stayed" if traces else ""
    if program != untraced:
        return f"the program's output was {program}, not {untraced}"
    if run.status == 1 and any("status is unknown" in l for l in run.said):
        return ""
    if run.status != 7:
        return f"status {run.status}, not the program's 7; said {excuses}"
    traces = run.traces()
    if traces == good.kept or (mute and run.status == 7):
        return ""
    if any(os.path.getsize(f"{run.dir}/{n}") == 0 for n in os.listdir(run.dir) if n.startswith("t.dat")):
        return f"an empty file stayed; said {excuses}"
    if None in traces.values():
        return f"a trace cannot be read: {traces}; said {excuses}"
    return "" if excuses else f"traces {traces}, not {good.kept}, and nothing said but {run.said}"


def judge_reader(run, good, mute):
    made = lambda r: (r.out, open(f"{r.dir}/out.json").read() if os.path.exists(f"{r.dir}/out.json") else "")
    if run.status == 0 and (made(run) == made(good) or run.said):
        return ""
    if run.status and mute:
        return ""
    if run.status == 0:
        return "another output, status 0, and not a word"
    return "" if run.said or run.others else f"status {run.status} without a word"


def outcome(case, good):
    scenario, role, call, nth, error = case
    onward = error.endswith("+")
    number = error if error == "hold" else getattr(errno, error.rstrip("+"))
    run = Run(scenario, f"{role}:{call}:{nth}:{number}{'+' if onward else ''}")
    if run.hung:
        why = "waits without end: " + ", ".join(" ".join(h) for h in run.hung)
    elif not run.hit:
        why = None
    elif run.spinning(good):
        why = "asks again without a pause: " + ", ".join(run.spinning(good))
    elif error == "hold" and not any("has not answered" in l for l in run.said):
        why = f"nothing said of names but {run.said}"
    else:
        judge = judge_record if scenario == "record" else judge_reader
        why = judge(run, good, (role, call, onward) == ("front", "write", True))
    if WANTED.count(":") == 4:
        print("status", run.status, "\nout", repr(run.out), "\nsaid", *run.said, *run.others, sep="\n  ")
        print("traces", run.traces(), "\nhung", run.hung, "hit", run.hit)
    run.close()
    return why


def cases_of(scenario, good):
    for (role, call), count in sorted(good.counts.items()):
        if call in NEVER or (role, call) == ("front", "execve"):
            continue
        errors = ERRORS.get(call, USUAL)
        for nth in dict.fromkeys((1, 2, count // 2, count)):
            if 1 <= nth <= count:
                for error in errors:
                    yield scenario, role, call, nth, error
        if role == "symbols" and call == "openat":
            yield scenario, role, call, 1, "hold"
        if call in PERSIST:
            yield scenario, role, call, 1, PERSIST[call] + "+"
            yield scenario, role, call, max(1, count // 2), PERSIST[call] + "+"


def sample(cases):
    """One case of each role and call: the error and the number change from one to the next."""
    groups = {}
    for case in cases:
        groups.setdefault(case[:3], []).append(case)
    for n, group in enumerate(groups.values()):
        yield group[n * 7 % len(group)]
        if group[0][2] in ("poll", "futex_waitv", "recvfrom", "wait4", "accept4"):
            yield from (c for c in group if c[4].endswith("+"))
        yield from (c for c in group if c[4] == "hold")


def main():
    good = {}
    for scenario in SCENARIOS:
        good[scenario] = run = Run(scenario)
        if scenario == "record":
            run.kept = run.traces()
            shutil.copy(f"{run.dir}/t.dat", f"{work}/good.dat")
            subprocess.run([subject], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=work, env={
                "LD_PRELOAD": os.path.dirname(memtui) + "/libmemtui.so", "MEMTUI_OUTPUT": f"{work}/good.mem"})
            print("the outcome without a fault:", run.status, run.kept, file=sys.stderr)
            if run.status != 7 or not run.kept or None in run.kept.values():
                sys.exit(print("not ok faults: the recording without a fault:", run.status, run.said, run.kept))
    if WANTED.count(":") == 4:
        scenario, role, call, nth, error = WANTED.split(":")
        return print(outcome((scenario, role, call, nth, error), good[scenario]))
    cases = [c for s in SCENARIOS for c in cases_of(s, good[s])]
    if WANTED.startswith("only="):
        cases = [c for c in cases if WANTED[5:] in ":".join(map(str, c))]
    elif WANTED != "all":
        cases = list(sample(cases))
    bad, missed, number = {}, 0, {}
    with concurrent.futures.ThreadPoolExecutor(2) as lanes:
        for case, why in zip(cases, lanes.map(lambda c: outcome(c, good[c[0]]), cases)):
            part = case[0], case[1]
            number[part] = number.get(part, 0) + (why is not None)
            missed += why is None
            if why:
                bad.setdefault(part, []).append(f"{case[2]} {case[3]} {case[4]}: {why}")
                print("   ", *case, why, file=sys.stderr, flush=True)
    for part, count in number.items():
        name = f"faults of {part[0]}, {part[1]}: {count} failed calls"
        print(f"not ok {name}: " + "; ".join(bad[part])[:1500] if part in bad else f"ok {name}")
    print(f"{len(cases)} cases, {missed} not reached", file=sys.stderr)


main()
