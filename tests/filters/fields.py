"""Every filter field of `memtui groups`, with the answer by hand. Run by run.sh, which has made filters.dat."""
import json
import os
import re
import subprocess
import sys

MEMTUI = os.environ["MEMTUI"]
bad = 0


def tell(name, good, why=""):
    global bad
    bad |= not good
    print(f"ok filters {name}" if good else f"not ok filters {name}: {why}")


def run(*arguments):
    done = subprocess.run([MEMTUI, *arguments], capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout, done.stderr.strip()


def load(*arguments):
    status, out, err = run(*arguments)
    if status:
        raise RuntimeError(f"status {status}: {err}")
    return json.loads(out)


def groups(*options):
    return [g for g in load("groups", "--format", "json", *options, "filters.dat")
            if g["backtrace"] and g["backtrace"][0]["function"].startswith("site_")]


def counted(found, part="only_matched", field="allocated_count"):
    """"early:3 brief:2" of the groups, in the order of the program."""
    sums = {}
    for g in found:
        name = g["backtrace"][0]["function"][5:]
        sums[name] = sums.get(name, 0) + g[part][field]
    return " ".join(f"{n}:{sums[n]}" for n in ORDER if sums.get(n))


ORDER = "early brief apart other spread start grow last pair pair_grow deep worker big".split()
ALL = "early:3 brief:2 apart:1 other:1 spread:4 start:1 grow:1 last:1 pair:1 pair_grow:1 deep:1 worker:2 big:1"

whole = {g["backtrace"][0]["function"][5:]: g for g in groups()}
tell("all allocations are there", counted(whole.values()) == ALL, counted(whole.values()))
if bad:
    sys.exit(1)
info = load("info", "--format", "json", "filters.dat")
first = {name: g["all"]["min_timestamp"] for name, g in whole.items()}
depth = {name: len(g["backtrace"]) for name, g in whole.items()}
address = open("address").read().strip()
end = info["wall_seconds"]
# Half-way into the 3 ms in which nothing is done before the phases two, three and four.
two, three, four = (first[name] - 0.0015 for name in ("start", "worker", "big"))
# Longer than what was freed within its phase and the worker's block lived; early's first, freed last, lived longer.
life = first["big"] - two
# The chain of two was freed before deep; the chain of three lived at least until big.
chain = (first["deep"] - first["pair"] + first["big"] - first["start"]) / 2
spread = whole["spread"]["all"]["max_timestamp"] - first["spread"]


def s(seconds):
    return f"{seconds:.6f}s"


def ms(seconds):
    return f"{seconds * 1000:.3f}ms"


FREED = "brief:2 apart:1 start:1 grow:1 pair:1 pair_grow:1"  # by the middle of the phase three
ANSWERS = [
    ("", ALL),
    # regexes
    ("--function-regex ^site_(early|brief)$", "early:3 brief:2"),
    ("--function-regex SITE_EARLY", ""),
    ("--function-regex (?i)SITE_EARLY", "early:3"),
    ("--source-regex filters\\.c$", ALL),
    ("--module-regex /filters$ --function-regex ^work$", "worker:2"),
    ("--negative-function-regex ^(first|second)_phase$", "spread:4 worker:2 big:1"),
    ("--negative-source-regex filters\\.c$", ""),
    ("--negative-module-regex /filters$", ""),
    # given twice: both must hold
    ("--function-regex ^first_phase$ --function-regex ^site_(early|start)$", "early:3"),
    ("--function-regex ^site_early$ --function-regex ^site_brief$", ""),
    ("--negative-function-regex ^first_phase$ --negative-function-regex ^second_phase$", "spread:4 worker:2 big:1"),
    ("--filter ^site_(early|brief)$ --filter ^site_early --function-regex early", "early:3"),
    ("--size-min 1 --size-min 300 --size-min 2 --size-max 1M --size-max 2G", "apart:1 other:1 spread:4 last:1 deep:1 worker:2 big:1"),
    (f"--from {s(three)} --from {s(two)}", "spread:2 worker:2 big:1"),
    # time of the allocation
    (f"--from {s(three)}", "spread:2 worker:2 big:1"),
    (f"--to {ms(two)}", "early:3 brief:2 apart:1 other:1 spread:1"),
    (f"--from {ms(two)} --to {s(three)}", "spread:1 start:1 grow:1 last:1 pair:1 pair_grow:1 deep:1"),
    (f"--from {100 * four / end:.6f}%", "spread:1 big:1"),
    ("--from 0% --to 100%", ALL),
    # lifetime
    ("--lifetime all", ALL),
    ("--lifetime only_leaked", "early:2 other:1 spread:4 last:1 deep:1 worker:1 big:1"),
    ("--lifetime only_temporary", "early:1 brief:2 apart:1 start:1 grow:1 pair:1 pair_grow:1 worker:1"),
    ("--lifetime only_short_lived", "brief:2 start:1 grow:1 pair:1 pair_grow:1"),
    ("--lifetime only_short_lived --temporary-threshold 1",
     "brief:2 apart:1 start:1 grow:1 pair:1 pair_grow:1 worker:1"),
    (f"--lifetime only_deallocated_in_current_range --to {s(four)}", FREED),
    (f"--lifetime only_not_deallocated_in_current_range --to {s(four)}",
     "early:3 other:1 spread:3 last:1 deep:1 worker:2"),
    (f"--lifetime only_not_deallocated_in_current_range --from {s(two)} --to {s(three)}", "spread:1 last:1 deep:1"),
    ("--lifetime only_whole_group_leaked", "other:1 spread:4 last:1 deep:1 big:1"),
    ("--lifetime only_chain_leaked",
     "early:2 other:1 spread:4 start:1 grow:1 last:1 deep:1 worker:1 big:1"),
    (f"--lifetime only_temporary --lifetime-min {s(life)}", "early:1"),
    (f"--lifetime only_temporary --lifetime-max {s(life)}",
     "brief:2 apart:1 start:1 grow:1 pair:1 pair_grow:1 worker:1"),
    (f"--lifetime only_leaked --lifetime-min {s(end - three)}", "early:2 other:1 spread:2 last:1 deep:1"),
    (f"--lifetime only_leaked --lifetime-max {s(end - three)}", "spread:2 worker:1 big:1"),
    (f"--alive-at {s(two)}", "early:3 other:1 spread:1"),
    (f"--alive-at {s(four)}", "early:3 other:1 spread:3 last:1 deep:1 worker:2"),
    (f"--alive-at {s(two)} --alive-at-2 100%", "early:1"),
    (f"--alive-at {s(four)} --alive-at-2 {s(two)}", "spread:2 last:1 deep:1 worker:2"),
    # The heap is largest behind the last allocation; then early's first is freed, in the same microsecond maybe.
    ("--alive-at peak", "early:3 other:1 spread:4 last:1 deep:1 worker:1 big:1"),
    ("--alive-at peak --alive-at-2 100%", "early:1"),
    ("--alive-at 100% --alive-at-2 peak", ""),
    (f"--alive-at {s(four)} --alive-at-2 peak", "worker:1"),
    # size
    ("--size-min 300", "apart:1 other:1 spread:4 last:1 deep:1 worker:2 big:1"),
    ("--size-max 100", "early:3 start:1 pair:1"),
    ("--size-min 100 --size-max 200", "early:3 brief:2 grow:1 pair_grow:1"),
    ("--size-min 1M --size-max 1024k", "big:1"),
    # chains
    ("--first-size-min 64 --first-size-max 64", "start:1 grow:1 last:1"),
    ("--last-size-min 3.5k --last-size-max 4000", "start:1 grow:1 last:1"),
    ("--first-size-min 70 --last-size-max 140", "early:3 pair:1 pair_grow:1"),
    ("--chain-length-min 2", "start:1 grow:1 last:1 pair:1 pair_grow:1"),
    ("--chain-length-max 1", "early:3 brief:2 apart:1 other:1 spread:4 deep:1 worker:2 big:1"),
    ("--chain-length-min 3 --chain-length-max 3", "start:1 grow:1 last:1"),
    (f"--chain-length-min 2 --chain-lifetime-min {s(chain)}", "start:1 grow:1 last:1"),
    (f"--chain-length-min 2 --chain-lifetime-max {s(chain)}", "pair:1 pair_grow:1"),
    ("--position-in-chain-min 2", "grow:1 last:1 pair_grow:1"),
    ("--position-in-chain-min 3 --position-in-chain-max 3", "last:1"),
    ("--position-in-chain-max 1 --chain-length-min 2", "start:1 pair:1"),
    # groups
    (f"--backtrace-depth-min {depth['deep']}", "deep:1"),
    (f"--backtrace-depth-max {depth['worker']}", "worker:2"),
    ("--group-allocations-min 3", "early:3 spread:4"),
    ("--group-allocations-min 2 --group-allocations-max 2", "brief:2 worker:2"),
    (f"--group-interval-min {s(spread - 0.000002)}", "spread:4"),
    (f"--group-interval-max {100 * (spread - 0.000002) / end:.6f}% --group-allocations-min 2",
     "early:3 brief:2 worker:2"),
    ("--group-leaked-allocations-min 3", "spread:4"),
    ("--group-leaked-allocations-max 0", "brief:2 apart:1 start:1 grow:1 pair:1 pair_grow:1"),
    ("--group-leaked-allocations-min 60%", "early:3 other:1 spread:4 last:1 deep:1 big:1"),
    ("--group-leaked-allocations-min 1% --group-leaked-allocations-max 50%", "worker:2"),
    (f"--group-allocations-min 3 --from {s(four)}", "spread:1"),
    ("--group-leaked-allocations-max 1 --lifetime only_leaked", "other:1 last:1 deep:1 worker:1 big:1"),
    # what was called
    ("--allocated-by malloc", ALL.replace(" grow:1", "").replace(" last:1", "").replace(" pair_grow:1", "")),
    ("--allocated-by realloc", "grow:1 last:1 pair_grow:1"),
    ("--allocated-by calloc", ""),
    ("--allocated-by calloc,realloc,malloc", ALL),
    ("--allocated-by realloc --size-min 1k", "last:1"),
    ("--domain heap", ALL),
    ("--domain pool", ""),
    ("--domain pool,heap --size-min 1M", "big:1"),
    # the rest
    ("--thread worker", "worker:2"),
    (f"--thread {info['pid']}", ALL.replace("worker:2 ", "")),
    ("--marker one", "early:3 brief:2 apart:1 other:1 spread:1"),
    ("--marker two", "spread:1 start:1 grow:1 last:1 pair:1 pair_grow:1 deep:1"),
    (f"--address-min {address} --address-max {int(address, 16)}", "big:1"),
    (f"--address-min {int(address, 16) + 1} --size-min 1M", ""),
    ("--mmapped yes", "big:1"),
    ("--mmapped no", ALL.replace(" big:1", "")),
    ("--arena main", ALL.replace("worker:2 big:1", "").strip()),
    ("--arena thread", "worker:2"),
    # together
    ("--size-min 100 --lifetime only_leaked --marker one --function-regex early", "early:2"),
]


def check(options, expected):
    try:
        found = groups(*options)
    except (RuntimeError, ValueError) as error:
        return str(error)
    if counted(found) != expected:
        return f"{counted(found)}, not {expected}"
    for g in found:
        if g["all"] != whole[g["backtrace"][0]["function"][5:]]["all"]:
            return "the whole groups differ"
    return ""


for text, expected in ANSWERS:
    why = check(text.split(), expected)
    # Names of moments differ from run to run; the name of a test does not.
    name = re.sub(r"\b0x[0-9a-f]+|\b[0-9]+\.[0-9]{3,}(?=s\b|ms\b|%)|\b[0-9]{6,}|(?<=depth-...) [0-9]+", " N", text)
    tell(name.replace(f"--thread {info['pid']}", "--thread PID") or "none", not why, why)

short = "brief:2 start:1 grow:1 pair:1 pair_grow:1"
tell("temporary_threshold counts as temporary", counted(groups(), field="temporary_count") == short and counted(
    groups("--temporary-threshold", "1"), field="temporary_count") ==
    "brief:2 apart:1 start:1 grow:1 pair:1 pair_grow:1 worker:1",
    counted(groups("--temporary-threshold", "1"), field="temporary_count"))

# The prompt's words ask the same.
why = check(["--filter", f"site_ size>=100 size<=200 time<{s(two)} lifetime:only_leaked"], "early:2")
tell("--filter in the words of the prompt", not why, why)

# Every command that filters takes every field.
for command in ("info", "groups", "tree", "timeline", "report"):
    status, out, err = run(command, "--size-min", "1M", "--lifetime", "only_leaked", "--arena", "main", "filters.dat")
    tell(f"{command} takes fields", status == 0, f"status {status}: {err}")

for options, words in (
        ("--size-min 1q", "--size-min: invalid size '1q' (try 4096, 64k or 1.5M)"),
        ("--from 2s --to 1s", "--from 2s and --to 1s: no value can match both; --from must not exceed --to"),
        ("--from 90% --to 1us", "--from 90% and --to 1us: no value can match both"),
        ("--lifetime only_leakd", "--lifetime: invalid value 'only_leakd'; did you mean 'only_leaked'?"),
        ("--thread workre", "--thread: the recording has no thread 'workre'; did you mean 'worker'?"),
        ("--allocated-by malloc,mallok",
         "--allocated-by: the recording has no allocator function 'mallok'; did you mean 'malloc'?"),
        ("--domain heap,pol", "--domain: the recording has no domain 'pol'; did you mean 'pool'?"),
        ("--marker fuor", "--marker: the recording has no marker 'fuor'; did you mean 'four'?"),
        ("--alive-at-2 1s", "--alive-at-2"),
        ("--size-mni 4", "did you mean --size-min?")):
    status, out, err = run("groups", *options.split(), "filters.dat")
    tell(f"{options} is refused in words", status in (1, 2) and words in err and "\n" not in err and not out,
         f"status {status}: {err}")
sys.exit(bad)
