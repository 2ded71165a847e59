"""Holds what memtui errors says against what tests/programs/errors.cc says that it did."""
import collections
import csv
import glob
import io
import json
import os
import subprocess
import sys

MEMTUI = os.environ["MEMTUI"]
failed = 0


def say(name, problem):
    global failed
    if problem:
        failed = 1
    print(f"not ok errors {name}: {str(problem)[:600]}" if problem else f"ok errors {name}")


def run(trace, *options):
    done = subprocess.run([MEMTUI, "errors", *options, trace], capture_output=True, text=True, timeout=240)
    if done.returncode:
        print(f"not ok errors {trace}: status {done.returncode}: {done.stderr[:400]}")
        sys.exit(1)
    return done.stdout


def load(trace, *options):
    return json.loads(run(trace, "--format", "json", *options))


def site(call, *prefixes):
    """The function of the program in which a call was made."""
    for frame in (call or {}).get("backtrace") or []:
        name = frame["function"].split("(")[0]
        if name.startswith(prefixes):
            return f"{name}:{frame['line'] > 0}"
    return None


def truth(name):
    with open(f"{name}.truth") as lines:
        return lines.read().split("\n")[:-1]


def counts(found, kind):
    return (found[kind]["count"], found[kind]["not_sure"])


def mismatches():
    found, expected = collections.Counter(), {}
    for line in truth("mismatches"):
        allocates, frees, kind, end, size = line.split()
        expected[f"{allocates}:True", f"{frees}:True", kind, end, int(size)] = 2
    d = load("mismatches.dat")
    sizes = collections.Counter()
    for e in d["errors"]:
        key = (site(e["allocation"], "by_"), site(e["free"], "with_"), e["allocation"]["kind"], e["free"]["kind"])
        found[key] += e["count"]
        sizes[key] += e["size"]
    found = {(*key, sizes[key]): count for key, count in found.items()}
    wrong = set(found.items()) ^ set(expected.items())
    say("every wrong pair of calls, with both stacks", sorted(wrong)[:4] or (len(expected) < 180 and len(expected)))
    say("of which nothing is a double free or unknown", [d["double_free"], d["unknown_free"]] !=
        [{"count": 0, "not_sure": 0}] * 2 and d)
    say("all are sure", counts(d, "mismatch") != (2 * len(expected), 0) and d["mismatch"])
    return expected


def without_stacks(expected):
    pairs, found = collections.Counter(), collections.Counter()
    for (_, _, kind, end, _), count in expected.items():
        pairs[kind, end] += count
    d = load("plain.dat")
    for e in d["errors"]:
        found[e["allocation"]["kind"], e["free"]["kind"]] += e["count"]
    say("without stacks of frees the kinds are the same", found != pairs and (found, pairs))
    say("and no stack is made up", [e for e in d["errors"] if e["free"]["backtrace"] is not None][:1])
    text = run("plain.dat")
    say("and it is said how to record them", (text.count("[its backtrace was not recorded]") < 40 or
        "record with --free-stacks" not in text) and text[-400:])
    say("which is not said where they are there", "--free-stacks" in run("mismatches.dat"))


def filters():
    d = load("mismatches.dat", "--function-regex", "^by_new$")
    say("a filter asks of the blocks", {site(e["allocation"], "by_") for e in d["errors"]} != {"by_new:True"} and d)
    say("and counts what is left", counts(d, "mismatch") != (22, 0) and d["mismatch"])
    d = load("double.dat", "--function-regex", "^second_life$")
    say("a filter asks of the blocks of double frees", (counts(d, "double_free") != (1, 0) or
        site(d["errors"][0]["allocation"], "second_") is None) and d)
    d = load("unknown.dat", "--size-min", "1")
    say("what is no block's is left out and counted", (d["errors"] or d["left_out_by_filter"] != 3) and d)
    d = load("mismatches.dat", "--count", "3", "--skip", "2")
    whole = load("mismatches.dat")
    say("count and skip", d["errors"] != whole["errors"][2:5] and d)


DOUBLE = {
    ("second_life:True", "end_second:True", "end_again:True"): 1,
    ("fourth:True", "end_second:True", "end_again:True"): 1,
    ("thrice:True", "end_first:True", "end_again:True"): 2,
    ("thrice:True", "end_other:True", "end_again:True"): 1,
}


def double_frees():
    d = load("double.dat")
    found = collections.Counter()
    for e in d["errors"]:
        found[tuple(site(e[call], "first_", "second_", "fourth", "thrice", "other", "end_a", "end_f", "end_s", "end_o")
            for call in ("allocation", "free_before", "free"))] += e["count"]
    say("blocks freed twice, with three stacks", found != DOUBLE and found)
    say("no other errors", (counts(d, "double_free") != (5, 0) or counts(d, "mismatch") != (0, 0)
        or counts(d, "unknown_free") != (0, 0)) and d)
    other = [e for e in d["errors"] if e["allocation"]["size"] == 72]
    say("the thread of each free", len(other) != 1 or other[0]["free"]["thread"] == other[0]["free_before"]["thread"]
        or other[0]["free"]["thread"] != other[0]["allocation"]["thread"])
    ordered = all(e["allocation"]["timestamp"] <= e["free_before"]["timestamp"] <= e["free"]["timestamp"] for e in d["errors"])
    say("times come in their order", not ordered and d)
    addresses = {e["address"] for e in d["errors"] if e["allocation"]["size"] == 104}
    say("the address", int(truth("double")[0], 16) not in addresses and addresses)
    plain, alone = load("double_plain.dat"), load("alone.dat")
    say("without stacks of frees", (counts(plain, "double_free") != (5, 0) or
        any(e["free"]["backtrace"] or e["free_before"]["backtrace"] for e in plain["errors"])) and plain)
    say("a stand-alone recording", counts(alone, "double_free") != (5, 0) and alone)
    d = load("abort.dat")
    e = d["errors"][0] if d["errors"] else {}
    say("the free at which glibc ended the program", (len(d["errors"]) != 1 or e["address"] != int(truth("abort")[0], 16)
        or site(e["free_before"], "end_") != "end_first:True" or site(e["free"], "end_") != "end_again:True") and d)
    with open("abort.status") as status:
        say("which ended as it does without memtui", status.read().strip() != "134" and "another status")


def unknown_frees():
    d = load("unknown.dat")
    first, second = (int(text, 16) for text in truth("unknown")[0].split())
    addresses = {e["address"]: site(e["free"], "end_") for e in d["errors"]}
    say("frees of what malloc has not given", (counts(d, "unknown_free") != (3, 0) or counts(d, "double_free") != (0, 0)
        or addresses.get(first) != "end_first:True" or addresses.get(second) != "end_second:True"
        or any(e["allocation"] or e["free_before"] for e in d["errors"])) and d)
    d = load("inside.dat")
    e = d["errors"][0] if d["errors"] else {}
    say("a free within a live block names the block", (counts(d, "unknown_free") != (1, 0) or e["offset_in_block"] != 16
        or e["address"] != int(truth("inside")[0], 16) + 16 or e["allocation"]["size"] != 72) and d)
    info = subprocess.run([MEMTUI, "info", "unknown.dat"], capture_output=True, text=True, timeout=240).stdout
    say("info names the command", "3 frees of unknown addresses: see 'memtui errors'" not in info and info)
    d = load("pause.dat")
    same = truth("pause")[0] == "same"
    say("what a pause has hidden is not sure", (counts(d, "unknown_free") != (2 - same, 2 - same)
        or counts(d, "double_free") != (same, same) or {e["doubt"] for e in d["errors"]} != {"unrecorded"}) and d)
    d = load(glob.glob("fork.dat.*")[0])
    say("what a child was forked with is no error", (counts(d, "unknown_free") != (0, 0) or d["inherited_frees"] != 1) and d)
    say("its own errors are", counts(d, "mismatch") != (1, 0) and d)


def formats():
    for name in ("mismatches", "double", "unknown"):
        rows = list(csv.reader(io.StringIO(run(f"{name}.dat", "--format", "csv"))))
        d = load(f"{name}.dat")
        column = {heading: i for i, heading in enumerate(rows[0])}
        bad = [row for row in rows if len(row) != len(rows[0])]
        pairs = [(row[column["type"]], int(row[column["count"]]), row[column["free_kind"]]) for row in rows[1:] if not bad]
        say(f"{name} as CSV", bad[:1] or pairs != [(e["type"], e["count"], e["free"]["kind"]) for e in d["errors"]] and pairs)
    text = run("double.dat")
    say("text", ("5 double frees\n" not in text or "freed again by free" not in text or "errors.cc:" not in text) and text)


def operators():
    for stacks in ("", "_stacks"):
        for n in (1, 2, 3):
            if n == 2 and not stacks:
                continue  # nothing tells of an operator delete whose free has no stack, where new is the library's
            d = load(f"own{stacks}{n}.dat")
            say(f"operators of the program's own are no errors ({n}{stacks})", d["errors"] and d)
            info = json.loads(subprocess.run([MEMTUI, "info", "--format", "json", f"own{stacks}{n}.dat"], capture_output=True,
                text=True, timeout=240).stdout)
            say(f"and what they allocate is seen once ({n}{stacks})", [info[name] for name in ("implied_frees", "lost_events",
                "unknown_frees")] != [0, 0, 0] and info)


def mimalloc():
    if os.path.exists("mimalloc.dat"):
        d = load("mimalloc.dat")
        say("mi_free may free what mi_new has allocated", d["errors"] and d)


expected_pairs = mismatches()
without_stacks(expected_pairs)
filters()
double_frees()
unknown_frees()
formats()
operators()
mimalloc()
sys.exit(failed)
