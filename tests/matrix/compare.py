"""compare.py MEMTUI TRACE OUTPUT: what the trace says against the CASE and TOTAL lines that the program printed.

A case is all groups with a frame of its name. Functions of a case whose name begins with case_libc_ or case_throws_ are
the library's to count: there only what stays allocated is compared. TOTAL is that of the other cases together. After ANY stand the fields of info
that may be anything, after COUNTER least values of counters, after LEAST
of fields of info, after ZERO counters that must be 0. SUM is for programs
that lose events: all their allocations and frees."""
import csv
import json
import re
import subprocess
import sys

memtui, trace, output = sys.argv[1:4]


def ask(command, form):
    return subprocess.run([memtui, command, "--format", form, trace], check=True, capture_output=True, text=True).stdout


# Of a stack that overflowed JSON would be a gigabyte: it says more of each frame than its name.
csv.field_size_limit(1 << 24)
info, groups = json.loads(ask("info", "json")), list(csv.DictReader(ask("groups", "csv").splitlines()))
wrong = []


def expect(what, have, want):
    if have != want:
        wrong.append(f"{what} is {have}, not {want}")


def name_of(group):
    stack = group["backtrace"]
    return next((f.split("(")[0] for f in stack.split(";") if f.startswith("case_")), None) if "case_" in stack else None


cases, kinds, any_value, free = {}, {}, set(), re.compile(r"case_(libc|throws)_")
for group in groups:
    sums = cases.setdefault(name_of(group), [0, 0, 0, 0])
    for i, field in enumerate(("allocated_count", "size", "leaked_count", "leaked_size")):
        sums[i] += int(group[field])
    kinds.setdefault(name_of(group), set()).add(group["kind"])
seen = 0
for line in open(output):
    fields = dict(part.split("=") for part in line.split() if "=" in part)
    if line.startswith("CASE"):
        seen += 1
        name = line.split()[1]
        have = cases.get(name, [0, 0, 0, 0])
        for i, field in enumerate(("count", "bytes", "leaked", "leaked_bytes")):
            if i >= 2 or not free.match(name):
                expect(f"{name}: {field}", have[i], int(fields[field]))
        if "kinds" in fields and have[0]:
            expect(f"{name}: kinds", ",".join(sorted(kinds[name])), fields["kinds"])
    elif line.startswith("TOTAL"):
        others = sum(sums[0] for name, sums in cases.items() if not name or free.match(name))
        total = info["allocations"] + info["reallocations"] - others
        expect("allocations and reallocations", total, int(fields["allocations"]) + int(fields["reallocations"]))
        if not any(name and free.match(name) for name in cases):
            expect("reallocations", info["reallocations"], int(fields["reallocations"]))
            expect("frees", info["frees"], int(fields["frees"]))
    elif line.startswith("SUM"):
        # all that the program did: recorded, or counted as lost. A free that was lost shows as an implied one, if at
        # all; that of a block whose allocation was lost is unknown
        counters = info["counters"]
        any_value.update(("lost_events", "implied_frees", "unknown_frees", "ambiguous", "leaked_count", "allocated_bytes"))
        frees = info["frees"] - info["implied_frees"] + info["unknown_frees"] + counters["lost_frees"]
        if "unrecorded_frees" in info:  # of blocks whose allocation was lost
            frees += info["unrecorded_frees"]
        else:
            frees += min(max(int(fields["frees"]) - frees, 0), counters["lost_allocations"])
        expect("allocations, recorded and lost", info["allocations"] + counters["lost_allocations"], int(fields["allocations"]))
        expect("frees, recorded and lost", frees, int(fields["frees"]))
        if "lost" in fields:
            expect("something lost", info["lost_events"] > 0, fields["lost"] != "0")
    elif line.startswith("ANY"):
        any_value.update(line.split())
    elif line.startswith("COUNTER"):
        for name, value in fields.items():
            expect(name, min(info["counters"][name], int(value)), int(value))  # at least
    elif line.startswith("LEAST"):
        for name, value in fields.items():
            expect(name, min(info[name], int(value)), int(value))
    elif line.startswith("ZERO"):
        for name in line.split()[1:]:
            expect(name, info["counters"][name], 0)
sums = {"allocated_bytes": sum(sums[1] for sums in cases.values()), "leaked_count": sum(sums[2] for sums in cases.values())}
for name in ("allocated_bytes", "leaked_count", "lost_events", "implied_frees", "unknown_frees", "cut_stacks", "ambiguous",
             "invalid_records"):
    if name not in any_value:
        expect(name, info[name], sums.get(name, 0))
if "complete" not in any_value:
    expect("complete", info["complete"], True)
if not seen:
    wrong.append("the program printed no case")
print("; ".join(wrong[:8]))
