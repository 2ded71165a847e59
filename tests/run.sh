#!/bin/sh
# run.sh BUILD: every test; 'ok NAME' and 'not ok NAME: why' lines, and at the end 'N passed, N failed'.
# A suite is a program that prints such lines, or a cmocka program, whose own lines are counted alike.
set -u
export MEMTUI_TRIAGE= # nowhere; tests/triage has its own
export MEMTUI_CACHE= # not the user's; tests/names has its own
build=$1
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# The second lane has a group of its own: what a shell starts with & hears no ^C, so all of the group is ended by name.
lane=
trap 'trap "" INT TERM HUP; [ -z "$lane" ] || kill -TERM -"$lane" 2>/dev/null; wait; exit 130' INT TERM HUP
passed=0 failed=0

report() { # NAME LOG STATUS
	echo "== $1"
	grep -E '^(not ok|ok|skip) ' "$2" | grep -v '^ok ' || true
	p=$(grep -cE '^ok |^\[       OK \]' "$2")
	f=$(grep -cE '^not ok |^\[  FAILED  \] [A-Za-z_0-9]+$' "$2")
	if [ "$3" -ne 0 ] && [ "$f" = 0 ]; then f=1; fi
	if [ "$p" = 0 ] && [ "$f" = 0 ]; then f=1; echo "not ok $1: ran no test"; fi
	[ "$f" = 0 ] || tail -n 40 "$2" | sed 's/^/    /'
	echo "   $p passed, $f failed"
	passed=$((passed + p)) failed=$((failed + f))
}

suite() { # NAME COMMAND...
	name=$1
	shift
	"$@" >"$logs/log" 2>&1
	report "$name" "$logs/log" $?
}

# Two lanes, a processor each, as far as suites ask for nothing but order.
second="ctl golden patch exercises words numbers fuzz filters domains blind entries images cli readme errors foreign suppress triage names leaks outstanding alone saves flight faults text damage"
setsid sh -c 'for s in $3; do bash tests/$s/run.sh "$1" >"$2/$s" 2>&1; echo $? >"$2/$s.status"; done' \
	lane "$build" "$logs" "$second" &
lane=$!
for t in "$build"/tests/*_test; do
	[ -x "$t" ] && suite "unit $(basename "$t")" "$t"
done
for s in beside stacks truth sampling tracer processes follow attach leakcheck live_list exports completion package; do
	suite "$s" bash tests/$s/run.sh "$build"
done
wait "$lane"
lane=
for s in $second; do
	report "$s" "$logs/$s" "$(cat "$logs/$s.status")"
done
# These need both: races, threads by the thousand, screens that are drawn in time.
for s in matrix stress inject screens live resident; do
	suite "$s" bash tests/$s/run.sh "$build"
done
suite layers sh tests/layers.sh "$build"
echo
echo "$passed passed, $failed failed"
[ $failed = 0 ]
