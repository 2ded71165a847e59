#!/usr/bin/env bash
# stress: many threads on few cores that free each other's blocks: nothing lost, nothing doubtful, all counts exact.
. "$(dirname "$0")/../suite.sh"
gcc -std=gnu11 -O1 -g -Wall -Wextra -fno-builtin -pthread -o "$tmp/stress" "$here/stress.c" || { echo "not ok stress: cannot be built"; exit 1; }

stress() { # NAME THREADS ROUNDS COMMAND...
	local name=$1 threads=$2 rounds=$3 why
	shift 3
	timeout 240 "$@" "$memtui" record --on-full wait --force -o "$tmp/t.dat" -- "$tmp/stress" "$threads" "$rounds" >"$tmp/out" 2>"$tmp/err"
	status=$?
	why=$(asked "$memtui" info --no-builtin-suppressions --format json "$tmp/t.dat" | python3 -c '
import json, sys
info = json.load(sys.stdin)
truth = dict(part.split("=") for part in open(sys.argv[1]).read().split()[1:])
names = {"allocations": "allocations", "reallocations": "reallocations", "frees": "frees", "bytes": "allocated_bytes",
         "leaked": "leaked_count", "leaked_bytes": "leaked_bytes"}
wrong = []
# the stacks of the new threads are libc affairs: pthread_create allocates for each by calloc, and frees some
for name, field in names.items():
    if field not in ("allocations", "frees", "allocated_bytes", "leaked_count", "leaked_bytes") and info[field] != int(truth[name]):
        wrong.append(f"{field} is {info[field]}, not {truth[name]}")
for name in ("lost_events", "implied_frees", "unknown_frees", "cut_stacks", "invalid_records"):
    if info[name]:
        wrong.append(f"{name} is {info[name]}")
if info["allocations"] - info["frees"] != info["leaked_count"]:
    wrong.append("frees and leaks are not the allocations")
print("; ".join(wrong))' "$tmp/out" 2>&1 | tail -n 1)
	why+=$(asked "$memtui" groups --format json --function-regex '^case_' "$tmp/t.dat" | python3 -c '
import json, sys
truth = dict(part.split("=") for part in open(sys.argv[1]).read().split()[1:])
groups = json.load(sys.stdin)
total = lambda field: sum(g["all"][field] for g in groups)
want = {"allocated_count": int(truth["allocations"]) + int(truth["reallocations"]), "size": int(truth["bytes"]),
        "leaked_count": int(truth["leaked"]), "leaked_size": int(truth["leaked_bytes"])}
print("; ".join(f"{field} is {total(field)}, not {n}" for field, n in want.items() if total(field) != n))' "$tmp/out" 2>&1 | tail -n 1)
	[ $status = 0 ] || why="status $status: $(tail -n 1 "$tmp/err"); $why"
	if [ -z "$why" ]; then echo "ok $name"; else echo "not ok $name: $why"; fi
}

# tracer and recorder in one process, with a poll always under way: the order of events must hold wherever it cuts
race() { # THREADS ROUNDS [give-back]
	local what name="race of $1 threads${3:+ whose pages are given back}"
	what=$("$build/race" "$@" 2>&1) && echo "ok $name" || echo "not ok $name: $what"
}
race 8 200000
race 64 20000
race 8 2400 give-back
race 64 1500 give-back
stress "64 threads" 64 40000
stress "64 threads on one core" 64 6000 taskset -c 0
stress "200 threads" 200 3000
stress "1,500 threads" 1500 100
stress "2 threads, all the time" 2 1000000
