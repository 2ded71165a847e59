#!/bin/sh
# run.sh BUILD: every test; 'ok NAME' and 'not ok NAME: why' lines, and at the end 'N passed, N failed'.
# A suite is a program that prints such lines, or a cmocka program, whose own lines are counted alike.
set -u
export MEMTUI_TRIAGE= # nowhere; tests/triage has its own
export MEMTUI_CACHE= # not the user's; tests/names has its own
build=$1
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0

suite() { # NAME COMMAND...
	name=$1
	shift
	echo "== $name"
	"$@" >"$log" 2>&1
	status=$?
	grep -E '^(not ok|ok|skip) ' "$log" | grep -v '^ok ' || true
	p=$(grep -cE '^ok |^\[       OK \]' "$log")
	f=$(grep -cE '^not ok |^\[  FAILED  \] [A-Za-z_0-9]+$' "$log")
	if [ $status -ne 0 ] && [ "$f" = 0 ]; then f=1; fi
	if [ "$p" = 0 ] && [ "$f" = 0 ]; then f=1; echo "not ok $name: ran no test"; fi
	[ "$f" = 0 ] || tail -n 40 "$log" | sed 's/^/    /'
	echo "   $p passed, $f failed"
	passed=$((passed + p)) failed=$((failed + f))
}

for t in "$build"/tests/*_test; do
	[ -x "$t" ] && suite "unit $(basename "$t")" "$t"
done
for s in tracer beside stacks truth filters matrix stress cli errors exports foreign suppress triage names alone screens live flight leaks; do
	[ -f tests/$s/run.sh ] && suite "$s" bash tests/$s/run.sh "$build"
done
suite layers sh tests/layers.sh "$build"
echo
echo "$passed passed, $failed failed"
[ $failed = 0 ]
