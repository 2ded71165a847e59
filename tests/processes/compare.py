"""compare.py MEMTUI TRUTH TRACE...: every TRUTH line has a trace of that process with exactly its numbers over keep() and
drop(), nothing was lost, and every trace is complete. Prints what differs. Of a process that executed, the line with the
same numbers in any of its traces counts."""
import json, subprocess, sys

memtui, truth_path, *traces = sys.argv[1:]


def ask(view, *arguments):
    return json.loads(subprocess.run([memtui, view, "--format", "json", *arguments], capture_output=True, check=True).stdout)


found = {}
for info, trace in zip(ask("info", *traces) if len(traces) > 1 else [ask("info", *traces)], traces):
    groups = ask("groups", "--function-regex", "^(keep|keep_many|tree)$", trace)
    count = lambda name: sum(g["all"][name] for g in groups)
    if not info["complete"]:
        print(f"{trace} is not complete;", end=" ")
    if info["lost_events"] or info["unknown_frees"] or info["invalid_records"] or info["counters"]["untraced_events"]:
        print(f"{trace}: lost {info['lost_events']}, unknown {info['unknown_frees']}, invalid {info['invalid_records']}, "
              f"untraced {info['counters']['untraced_events']};", end=" ")
    found.setdefault(info["pid"], []).append((info, count("allocated_count"), count("size"),
        count("allocated_count") - count("leaked_count")))
lines = 0
for line in open(truth_path):
    if not line.startswith("TRUTH "):
        continue
    lines += 1
    pid, parent, allocations, frees, size, inherited = map(int, line.split()[1:])
    images = found.get(pid, [])
    # a daemon's and the root's parents are no processes of the session
    if not any(a == allocations and b == size and f == frees and (i["inherited_frees"] >= inherited if inherited else True)
               and (i["inherited_frees"] == inherited or i["origin"] != "fork" or not inherited)
               and (i["parent_pid"] == parent or not parent or i["pid"] == i["root_pid"]) for i, a, b, f in images):
        print(f"{line.strip()}: have", [(a, f, b, i["inherited_frees"], i["parent_pid"]) for i, a, b, f in images], end="; ")
if not lines:
    print("no TRUTH at all")
