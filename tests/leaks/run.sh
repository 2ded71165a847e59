#!/usr/bin/env bash
# leaks: the programs of tests/programs/leaks lose what they say they lose, at the line that they name.
. "$(dirname "$0")/../suite.sh"

sh "$here/../programs/leaks/build.sh" "$tmp" || { not_ok "the programs with leaks" "cannot be built"; exit 1; }

# truth NAME REQUESTS: what is not freed of the guilty line is what the program says, and it stands on top by suspicion.
truth() {
	timeout 240 "$memtui" record -o "$tmp/$1.dat" --force -- "$tmp/$1" 7 "$2" 0 >"$tmp/said" 2>"$tmp/err" ||
		{ not_ok "$1" "status $?: $(tail -n 1 "$tmp/err")"; return; }
	asked "$memtui" groups --format json "$tmp/$1.dat" >"$tmp/groups.json" &&
	asked "$memtui" groups --format json --sort suspect --count 1 "$tmp/$1.dat" >"$tmp/top.json" ||
		{ not_ok "$1" "cannot be read"; return; }
	python3 - "$1" "$tmp" <<'PY'
import json, re, sys
name, tmp = sys.argv[1:]
said = dict(word.split("=") for word in re.search("TRUTH (.*)", open(f"{tmp}/said").read()).group(1).split())
groups, top = (json.load(open(f"{tmp}/{which}.json")) for which in ("groups", "top"))
stripped = name == "library"

def guilty(group):
    frames = [f for f in group["backtrace"] if "libplugin" not in (f.get("module") or "")]
    if stripped and len(frames) == len(group["backtrace"]):
        return False
    return any(f["function"].startswith(said["function"]) and (f["source"] or "").endswith(said["file"]) and
        f["line"] == int(said["line"]) for f in frames[:3])

mine = [g for g in groups if guilty(g) and g["all"]["leaked_count"]]
have = sum(g["all"]["leaked_count"] for g in mine), sum(g["all"]["leaked_size"] for g in mine)
want = int(said["count"]), int(said["bytes"])
print("ok" if have == want and want[0] > 50 else "not ok", f"{name} loses what it says: {want[0]} blocks, {want[1]} bytes, have {have}")
print("ok" if guilty(top[0]) else "not ok", f"{name}: by suspicion the guilty line stands on top")
if name == "server":
    sites = {f["function"] for g in groups for f in g["backtrace"] if re.match("(request|session|cache|setting)_[0-9]+$", f["function"])}
    print("ok" if len(sites) == 200 else "not ok", f"the server has 200 other call sites, have {len(sites)}")
if stripped:
    frames = [f for g in mine for f in g["backtrace"] if "libplugin" in f["module"]]
    print("ok" if frames and not any(f["source"] for f in frames) else "not ok", "the library's frames have no lines")
PY
}

truth server 40000
truth cache 20000
truth thread 20000
truth library 20000

one=$("$tmp/server" 3 30000 0) two=$("$tmp/server" 3 30000 0) other=$("$tmp/server" 3 20000 0)
[ "$one" = "$two" ] && [ "$one" != "$other" ] && ok "the same seed leaks the same" || not_ok "the same seed leaks the same" "$one, $two"
