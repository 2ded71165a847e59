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
# The workers have groups of their own, once they run: what a shell starts with & hears no ^C, so all of a group is ended by name.
workers=
trap 'trap "" INT TERM HUP; for w in $workers; do kill -TERM -"$w" "$w" 2>/dev/null; done; wait; exit 130' INT TERM HUP
passed=0 failed=0

report() { # NAME LOG STATUS SECONDS
	echo "== $1 ($4 s)"
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
	name=$1 began=$(date +%s)
	shift
	"$@" >"$logs/log" 2>&1
	report "$name" "$logs/log" $? $(($(date +%s) - began))
}

# Suites that ask for nothing but order, by workers. Most suites wait for a quarter of their time, some for nearly all of it, so there
# are three for the two processors of CI. The long ones come first, so that no worker waits for the others for long.
suites="stacks triage follow exercises damage alone processes exports faults flight running holders attach golden ctl
	tracer live_list checkpoint_test readme fuzz cli truth text leakcheck entries package
	sampling words numbers filters domains blind images errors foreign suppress names
	leaks outstanding memory sizes sets patch saves beside sessions completion
	symbol_test scan_test $(cd "$build/tests" && find . -maxdepth 1 -name '*_test' -type f | sed 's|^\./||' | grep -vx 'symbol_test\|scan_test\|checkpoint_test' | sort)"
mkfifo "$logs/ends"
for n in 1 2 3; do
	setsid sh tests/worker.sh "$build" "$logs" $suites >"$logs/ends" &
	workers="$workers $!"
done
while read -r name status seconds; do
	report "$(case $name in *_test) echo "unit $name" ;; *) echo "$name" ;; esac)" "$logs/$name/log" "$status" "$seconds"
done <"$logs/ends"
wait
workers=
# These need both: races, threads by the thousand, screens that are drawn in time.
for s in matrix stress inject screens live resident; do
	suite "$s" bash tests/$s/run.sh "$build"
done
suite layers sh tests/layers.sh "$build"
echo
echo "$passed passed, $failed failed"
[ $failed = 0 ]
