#!/usr/bin/env python3
"""same.py A B [peaks]: whether two traces (what memtui groups --format json and info --format json say of them, A.groups,
A.info …) have the same totals. peaks: own peaks and the peak too, which are not the same from run to run with threads."""
import json, sys

peaks = "peaks" in sys.argv[3:]
fields = ["leaked_size", "leaked_count", "size", "allocated_count", "temporary_count", "min_size", "max_size"]
if peaks:
    fields += ["own_peak_size", "own_peak_count", "at_peak_size", "at_peak_count"]
counts = ["allocations", "frees", "reallocations", "allocated_bytes", "leaked_count", "leaked_bytes", "temporary_count",
          "groups", "lost_events", "implied_frees", "unknown_frees"] + (["peak_bytes"] if peaks else [])


def groups(name):
    table = {}
    for g in json.load(open(name + ".groups")):
        key = json.dumps([f["function"] for f in g["backtrace"]])
        key += g["kind"]
        one = table.setdefault(key, dict.fromkeys(fields, 0))
        for f in fields:
            one[f] += g["all"][f]
    return table


a, b = groups(sys.argv[1]), groups(sys.argv[2])
x, y = (json.load(open(n + ".info")) for n in sys.argv[1:3])
wrong = [f"{k}: {x[k]} and {y[k]}" for k in ["lost_events"] + counts if x[k] != y[k]]
wrong += [f"group {k[:80]}: {a.get(k)} and {b.get(k)}" for k in sorted(set(a) | set(b)) if a.get(k) != b.get(k)]
if not a:
    wrong.append("there are no groups")
print("; ".join(wrong[:5]) if wrong else "same")
