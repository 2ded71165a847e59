"""planted.py REPORT: of the leak check, how many of 1,000 planted blocks count as lost, and how many others do. Prints a complaint if less
than 99 % are found, or more than 1 % of what counts as lost is not planted; on stderr the numbers."""
import json, sys

report = json.load(open(sys.argv[1]))
found = false = blocks = 0
for group in report["groups"]:
    lost = group["definitely_lost"]["count"] + group["indirectly_lost"]["count"]
    blocks += sum(group[k]["count"] for k in ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable"))
    if any(f["function"].startswith("plant_") for f in group["backtrace"]):
        found += lost
    else:
        false += lost
        if lost:
            print([f["function"] for f in group["backtrace"]][:6], lost, file=sys.stderr)
print(f"{found} of 1000 found, {false} others count as lost, of {blocks} blocks", file=sys.stderr)
if found < 990 or false > 0.01 * (found + false):
    print(f"{found} of 1000 planted blocks are found, and {false} others count as lost")
