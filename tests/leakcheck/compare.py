"""compare.py TRUTH LEAKCHECK LSAN VALGRIND: the blocks of each case by their verdicts, as the program says (TRUTH), as memtui does (JSON),
as LeakSanitizer does (its report: only what is lost), and as valgrind does. '-' in place of a file: it is not there. Prints what
differs, a line each."""
import json, re, sys

KINDS = ["definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable"]
truth_file, own_file, lsan_file, valgrind_file = sys.argv[1:]
truth = {}
for line in open(truth_file):
    if line != "ready\n":
        name, *counts = line.split()
        truth[name] = tuple(map(int, counts))


def case_of(functions):
    return next((f for f in functions if f in truth), None)


def add(to, case, counts):
    if case:
        to[case] = tuple(a + b for a, b in zip(to.get(case, (0,) * len(counts)), counts))


own = {}
report = json.load(open(own_file))
for group in report["groups"]:
    add(own, case_of([f["function"] for f in group["backtrace"]]), tuple(group[k]["count"] for k in KINDS))
for case, counts in truth.items():
    if own.get(case) != counts:
        print(f"{case}: {own.get(case)} and not {counts} blocks are lost, indirectly lost, possibly lost, reachable")

# What LeakSanitizer does not take for a root: memory that the program has mapped itself.
MORE_LOST = {"case_mapped": 1, "case_mapped_behind_guard": 1}
if lsan_file != "-":
    lsan = {}
    for part in re.split(r"\n\n", open(lsan_file).read()):
        head = re.search(r"(Direct|Indirect) leak of \d+ byte\(s\) in (\d+) object", part)
        if head:
            add(lsan, case_of(re.findall(r"#\d+ \S+ in (\S+)", part)), (int(head[2]),))
    for case, counts in truth.items():
        lost = counts[0] + counts[1] + MORE_LOST.get(case, 0)
        if lsan.get(case, (0,))[0] != lost:
            print(f"{case}: LeakSanitizer finds {lsan.get(case, (0,))[0]} lost blocks, not {lost}")

WORDS = ["definitely lost", "indirectly lost", "possibly lost", "still reachable"]
if valgrind_file != "-":
    found = {}
    text = re.sub(r"(?m)^==\d+== ?", "", open(valgrind_file).read())
    for part in text.split("LEAK SUMMARY")[0].split("\n\n"):
        head = re.search(r"bytes in ([\d,]+) blocks are (\w+ \w+)", part)
        if head:
            counts = [0] * 4
            counts[WORDS.index(head[2])] = int(head[1].replace(",", ""))
            add(found, case_of(re.findall(r": (\w+) \(", part)), tuple(counts))
    for case, counts in truth.items():
        if found.get(case) != counts:
            print(f"{case}: valgrind finds {found.get(case)}, not {counts}")
