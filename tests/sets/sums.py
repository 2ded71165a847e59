"""sums.py MEMTUI OPTIONS... -- TRACE...: whether the groups of all traces together are the sums of the groups of each."""
import json
import subprocess
import sys

at = sys.argv.index("--")
memtui, options, traces = sys.argv[1], sys.argv[2:at], sys.argv[at + 1:]
SUMS = ("allocated_count", "size", "leaked_count", "leaked_size", "temporary_count", "at_peak_count", "at_peak_size")


def groups(paths):
    run = subprocess.run([memtui, "groups", "--format", "json", *options, *paths], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=120)
    if run.returncode:
        sys.exit("status %d: %s" % (run.returncode, run.stderr.decode()))
    return json.loads(run.stdout)


def add(to, group):
    frames = tuple((f["function"], f["source"], f["line"], f["module"], f["offset"]) for f in group["backtrace"])
    there = to.setdefault((group["kind"], frames), {})
    for part in ("all", "only_matched"):
        values, sums = group[part], there.setdefault(part, {})
        for name in SUMS:
            sums[name] = sums.get(name, 0) + values[name]
        if values["allocated_count"]:
            sums["min_size"] = min(sums.get("min_size", 1 << 62), values["min_size"])
            sums["max_size"] = max(sums.get("max_size", 0), values["max_size"])


have, want = {}, {}
for group in groups(traces):
    add(have, group)
for trace in traces:
    for group in groups([trace]):
        add(want, group)
want = {k: v for k, v in want.items() if v["only_matched"]["allocated_count"] or k in have}
# A group that one trace lists may have other blocks in a trace whose list does not have it, because nothing there matches.
if options:
    for key in list(have):
        if key in want:
            have[key]["all"] = want[key]["all"] = None
if not want:
    sys.exit("nothing matches")
for key in want.keys() | have.keys():
    if have.get(key) != want.get(key):
        sys.exit("%s: %s, not %s" % (key, have.get(key), want.get(key)))
print(len(want), "groups")
