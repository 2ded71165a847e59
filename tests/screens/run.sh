#!/bin/sh
# Screens of the terminal interface: run.sh BUILD. TEST="NAME_test ..." runs these tests alone, GENERATE=1 rewrites the golden screens; ONLY="PART ..." runs
# these parts alone: golden, bytes, resize, signals, mouse, fields, random, live ..., or the name of a golden screen.
build=${1:?run.sh BUILD}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "$build" && pwd) || { echo "not ok screens: there is no build directory $1"; exit 1; }
export MEMTUI_CACHE= # names are looked up anew, and none are left behind
cc=${CC:-cc}
flags="-std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wshadow -I$root ${TEST_CFLAGS:-}"
iberty=
printf '#include <libiberty/demangle.h>\n' | $cc -E -x c - >/dev/null 2>&1 && iberty=-liberty
if ! printf '#include <vterm.h>\n' | $cc -E -x c - >/dev/null 2>&1; then
	echo "ok screens # skipped: no libvterm"
	exit 0
fi
mkdir -p "$build/tests/screens" "$here/golden" "$root/doc/shots"
tests=${TEST:-$(cd "$here" && ls *_test.c | sed 's/\.c$//')}
parts=
for part in "$here/screens.c" "$here/harness.c" "$here/svg.c" "$root/tui/view/program_repeats.c"; do
	object=$build/tests/screens/$(basename "$part" .c).o
	$cc $flags -DHAVE_LIBVTERM -c -o "$object" "$part" || exit 1
	parts="$parts $object"
done
for test in $tests; do
	$cc $flags -o "$build/tests/screens/$test" "$here/$test.c" $parts -lvterm -lutil || exit 1
done
$cc $flags -pthread -o "$build/tests/screens/make_trace" "$here/make_trace.c" "$build/libcore.a" \
	-lpcre2-8 -lzstd -ldw -lelf -lm $iberty || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch" "$scratch".[234]' EXIT
"$build/tests/screens/make_trace" "$scratch/golden.dat" || exit 1
"$build/tests/screens/make_trace" "$scratch/short.dat" 25 || exit 1
for kind in totals log later freed halted bare broken begun clockless plus dash; do
	"$build/tests/screens/make_trace" "$scratch/$kind.dat" 100 $kind || exit 1
done
"$build/tests/screens/make_trace" "$scratch/demo.dat" 60 demo || exit 1
"$build/tests/screens/make_trace" "$scratch/family.dat" 30 root || exit 1
"$build/tests/screens/make_trace" "$scratch/family.dat.4243" 20 child || exit 1
"$build/tests/screens/make_trace" "$scratch/family.dat.4250" 10 grandchild || exit 1
$cc -O1 -g -fno-builtin -pthread -I"$root/preload" -o "$scratch/filters" "$here/../programs/filters.c" || exit 1
sh "$here/../programs/leaks/build.sh" "$scratch/leaks" || exit 1
$cc -O0 -g -fno-builtin -o "$scratch/keeps" "$here/../programs/keeps.c" || exit 1
$cc -O0 -g -fno-builtin -o "$scratch/loses" "$here/../programs/loses.c" || exit 1
$cc -O0 -g -fno-builtin -o "$scratch/told" "$here/../programs/told.c" || exit 1
$cc -O0 -g -fno-builtin -o "$scratch/daemon" "$here/../programs/daemon.c" || exit 1
$cc -O0 -g -fno-builtin -o "$scratch/own_rules" "$here/../programs/own_rules.c" || exit 1
$cc -O0 -g -fno-builtin -o "$scratch/many" "$here/../programs/many.c" || exit 1
printf 'void *newterm(void);\nvoid *newterm(void) { return 0; }\n' | $cc -shared -fPIC -o "$scratch/no_screen.so" -x c - || exit 1
"$build/memtui" record -o "$scratch/fields.dat" -- "$scratch/filters" >"$scratch/record.log" 2>&1 || exit 1
"$build/memtui" record -o "$scratch/own.dat" -- "$scratch/own_rules" >"$scratch/record.own.log" 2>&1 || exit 1
tic -x -o "$scratch/terminfo" "$here/xterm-16color.ti" && export TERMINFO="$scratch/terminfo"
for n in 2 3 4; do
	cp -a "$scratch" "$scratch.$n" || exit 1
done

# Tests that no other worker has taken, with what each printed in a file of its own.
run() { # SCRATCH TEST...
	directory=$1
	shift
	for test; do
		mkdir "$scratch/$test.taken" 2>/dev/null || continue
		"$build/tests/screens/$test" "$build/memtui" "$root/themes" "$directory/golden.dat" "$here/golden" \
			"$here/source" "$directory" "$build/demo" >"$scratch/$test.log" 2>&1
		echo $? >"$scratch/$test.status"
	done
}
# Four workers, since all tests wait for most of their time. Two that wait for minutes for what programs do come first.
waits= others=
for test in $tests; do
	case $test in
	bytes_test | leaks_test) waits="$waits $test" ;;
	*) others="$others $test" ;;
	esac
done
for n in 2 3 4; do
	run "$scratch.$n" $waits $others &
done
run "$scratch" $waits $others
wait
# those that failed last, where they are seen
status=0
for test in $tests; do
	[ "$(cat "$scratch/$test.status")" = 0 ] && cat "$scratch/$test.log"
done
for test in $tests; do
	[ "$(cat "$scratch/$test.status")" = 0 ] || { status=1; cat "$scratch/$test.log"; }
done
exit $status
