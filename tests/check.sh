#!/bin/sh
# check.sh BUILD [quick]: warnings as errors with gcc and clang, the layout (tests/format.sh), the layers (includes go one
# way, core knows no curses, the tracer imports libc alone), the manual pages; then, unless quick, whether two builds are the
# same bytes, whether the checks of stacks see what they should, unit tests with all assertions, unit tests and command-line
# tests under AddressSanitizer and UBSan, threads under ThreadSanitizer. The build by gcc has the cheap assertions.
set -eu
build=$1
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
for cc in gcc clang; do
	echo "== $cc, warnings as errors"
	level=
	[ $cc = clang ] || level=1
	make --no-print-directory CC=$cc WERROR=1 ASSERT=$level O="$build-$cc" all unit
done
echo "== layout"
sh tests/format.sh
echo "== layers"
sh tests/layers.sh "$build-gcc"
echo "== manual pages are those of the option lists"
for page in doc/man/*.1 doc/man/*.5 doc/man/*.7; do
	name=$(basename "${page%.[157]}")
	"$build-gcc/memtui" help --man "${name#memtui-}" | cmp - "$page" || { echo "run make man"; exit 1; }
done
[ "${2:-}" != quick ] || { echo "check: the quick part is green"; exit 0; }
echo "== two builds in different places are the same, as are two Debian packages"
bash tests/package/twice.sh
echo "== the checks of stacks find out tracers that are wrong on purpose"
bash tests/stacks/mutations.sh "$build-gcc"
echo "== unit tests with all assertions"
make --no-print-directory WERROR=1 ASSERT=2 O="$build-assert" all unit programs
for t in "$build-assert"/tests/*_test; do
	"$t" >"$build-assert/log" 2>&1 || { echo "   $(basename "$t")"; cat "$build-assert/log"; exit 1; }
done
echo "== sanitizers"
make --no-print-directory ASAN=1 O="$build-asan" all unit programs
for t in "$build-asan"/tests/*_test; do
	echo "   $(basename "$t")"
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$t" >/dev/null 2>"$build-asan/log" || { cat "$build-asan/log"; exit 1; }
done
echo "== tracer and recorder in one process, then the screen on programs that run, under ThreadSanitizer"
make --no-print-directory TSAN=1 O="$build-tsan" "$build-tsan/race" all programs
if setarch -R "$build-tsan/race" 1 1 >/dev/null 2>&1; then
	setarch -R "$build-tsan/race" 8 40000
	setarch -R "$build-tsan/race" 64 4000
	setarch -R "$build-tsan/race" 8 2400 give-back
	sh tests/screens/races.sh "$build-tsan"
else
	echo "skip ThreadSanitizer: it does not run here: $(setarch -R "$build-tsan/race" 1 1 2>&1 | head -n 1)"
fi
echo "== random keys on a running program, under sanitizers, for ${MEMTUI_RANDOM_SECONDS:-10} s (MEMTUI_RANDOM_SECONDS)"
faults="$build-asan/random"
rm -f "$faults".*
ASAN_OPTIONS="detect_leaks=0:exitcode=99:log_path=$faults" UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:exitcode=99:log_path=$faults" \
	MEMTUI_RANDOM_SECONDS="${MEMTUI_RANDOM_SECONDS:-10}" TEST_CFLAGS=-fsanitize=address,undefined ONLY=random-live TEST=random_test \
	sh tests/screens/run.sh "$build-asan" || { cat "$faults".* 2>/dev/null; exit 1; }
if [ -f tests/cli/run.sh ]; then
	ASAN_OPTIONS=detect_leaks=0 bash tests/cli/run.sh "$build-asan" | grep -E '^not ok' && exit 1
	ASAN_OPTIONS=detect_leaks=0 bash tests/exports/run.sh "$build-asan" | grep -E '^not ok' && exit 1
fi
echo "check: all green"
