#!/bin/sh
# check.sh BUILD: warnings as errors with gcc and clang, the layout (tests/format.sh), the layers (includes go one way, core
# knows no curses, the tracer imports libc alone), the manual pages; then whether two builds are the same bytes, whether the
# checks of stacks see what they should, whether each exercise builds alone, unit tests with all assertions, unit tests, random
# keys and some suites under AddressSanitizer and UBSan, threads under ThreadSanitizer. The build by gcc has the cheap assertions.
# check.sh BUILD quick: the first four of these. gcc compiles what BUILD lacks, which is nothing after make test WERROR=1; clang
# does not optimise, since none of its warnings needs that, and has the assertions.
set -eu
build=$1
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export MEMTUI_TRIAGE= MEMTUI_CACHE= # not the user's
jobs=-j$(nproc)
case ${MAKEFLAGS:-} in *--jobserver*) jobs= ;; esac # make check -jN
make="make --no-print-directory $jobs WERROR=1"
if [ "${2:-}" = quick ]; then
	gcc=$build
	echo "== gcc, warnings as errors, in $build"
	$make O="$gcc" all unit
	echo "== clang, warnings as errors"
	$make CC=clang DEBUG=1 CFLAGS=-g0 ASSERT=1 O="$build-clang" objects
else
	gcc=$build-gcc
	echo "== gcc, warnings as errors"
	$make CC=gcc ASSERT=1 O="$gcc" all unit
	echo "== clang, warnings as errors"
	$make CC=clang O="$build-clang" all unit
fi
echo "== layout"
sh tests/format.sh
echo "== layers"
sh tests/layers.sh "$gcc"
echo "== manual pages are those of the option lists"
for page in doc/man/*.1 doc/man/*.5 doc/man/*.7; do
	name=$(basename "${page%.[157]}")
	"$gcc/memtui" help --man "${name#memtui-}" | cmp - "$page" || { echo "run make man"; exit 1; }
done
[ "${2:-}" != quick ] || { echo "check: the quick part is green"; exit 0; }
echo "== two builds in different places are the same, as are two Debian packages"
bash tests/package/twice.sh
echo "== the checks of stacks find out tracers that are wrong on purpose"
bash tests/stacks/mutations.sh "$gcc"
echo "== exercises, each in a tree of its own"
CC=gcc ASSERT=1 bash tests/exercises/run.sh "$gcc" each >"$gcc/log" || { grep -v '^ok ' "$gcc/log"; exit 1; }
echo "== unit tests with all assertions"
$make ASSERT=2 O="$build-assert" all unit programs
for t in "$build-assert"/tests/*_test; do
	"$t" >"$build-assert/log" 2>&1 || { echo "   $(basename "$t")"; cat "$build-assert/log"; exit 1; }
done
echo "== sanitizers"
make --no-print-directory $jobs ASAN=1 O="$build-asan" all unit programs
for t in "$build-asan"/tests/*_test; do
	echo "   $(basename "$t")"
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$t" >/dev/null 2>"$build-asan/log" || { cat "$build-asan/log"; exit 1; }
done
echo "== tracer and recorder in one process, then the screen on programs that run, under ThreadSanitizer"
make --no-print-directory $jobs TSAN=1 O="$build-tsan" "$build-tsan/race" all programs
if setarch -R "$build-tsan/race" 1 1 >/dev/null 2>&1; then
	setarch -R "$build-tsan/race" 8 40000
	setarch -R "$build-tsan/race" 64 4000
	setarch -R "$build-tsan/race" 8 2400 give-back
	sh tests/screens/races.sh "$build-tsan"
else
	echo "skip ThreadSanitizer: it does not run here: $(setarch -R "$build-tsan/race" 1 1 2>&1 | head -n 1)"
fi
# What the sanitizers find goes to files, since a test that expects a failure, or looks at standard output alone, does not see it,
# and nobody sees what a child wrote. Beside ASan, UBSan writes no file: it aborts, and ASan reports that.
faults=$(cd "$build-asan" && pwd)/faults
under_sanitizers() { # COMMAND...: fails as it does, and when there is a report
	rm -f "$faults".*
	both="exitcode=99:log_path=$faults"
	ASAN_OPTIONS="detect_leaks=0:handle_abort=1:$both" UBSAN_OPTIONS="halt_on_error=1:abort_on_error=1:$both" \
		"$@" >"$build-asan/log" 2>&1 && status=0 || status=$?
	for report in "$faults".*; do
		[ ! -f "$report" ] || { cat "$report"; status=1; }
	done
	[ $status = 0 ] || grep -v '^ok ' "$build-asan/log"
	return $status
}
echo "== random keys on traces and, for ${MEMTUI_RANDOM_SECONDS:-10} s (MEMTUI_RANDOM_SECONDS), on a running program, under sanitizers"
export MEMTUI_RANDOM_SECONDS="${MEMTUI_RANDOM_SECONDS:-10}"
under_sanitizers env TEST_CFLAGS=-fsanitize=address,undefined ONLY="random random-live" TEST="screens_test random_test" \
	sh tests/screens/run.sh "$build-asan"
echo "== suites under sanitizers"
for suite in cli exports entries live_list; do
	echo "   $suite"
	under_sanitizers bash "tests/$suite/run.sh" "$build-asan"
done
echo "check: all green"
