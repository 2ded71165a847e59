#!/bin/sh
# Races of the threads of screen and recorder: races.sh BUILD, which was built with TSAN=1. The screens that threads work for are gone
# through, on made traces and on running programs, under ThreadSanitizer: filters, lists of blocks, surveys, jobs, names, another
# process, the program's terminal, random keys. What it finds is printed, and fails.
build=$(cd "${1:?races.sh BUILD}" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
rm -f "$build"/races.*
export TSAN_OPTIONS="log_path=$build/races:die_after_fork=0:exitcode=66" # the recorder is a fork that starts threads
export MEMTUI_RANDOM_SECONDS="${MEMTUI_RANDOM_SECONDS:-10}"
ONLY="fields filtering live order steps bytes random-live" TEST_CFLAGS=-fsanitize=thread \
	TEST="screens_test rank_test blocks_test diff_test processes_test random_test" \
	timeout 600 setarch -R sh "$here/run.sh" "$build" >"$build/races" 2>&1
status=$?
grep -E '^not ok' "$build/races"
echo "   $(grep -c '^ok ' "$build/races") passed"
for report in "$build"/races.*; do
	[ -f "$report" ] || continue
	cat "$report"
	status=1
done
[ $status = 0 ] || echo "not ok races: what the tests said is in $build/races"
exit $status
