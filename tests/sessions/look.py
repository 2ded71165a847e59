"""look.py NAME FIELD...: of the list in JSON on standard input, prints the fields of the session whose name or number is NAME,
or 'absent'. FIELD may be a Python expression over s, the session."""
import json, sys

found = [s for s in json.load(sys.stdin)["sessions"] if sys.argv[1] in (s["name"], s["session"])]
print(*[s[f] if f in s else eval(f, {"s": s}) for s in found[:1] for f in sys.argv[2:]] if found else ["absent"])
