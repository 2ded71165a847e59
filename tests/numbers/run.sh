#!/bin/bash
# run.sh BUILD: every place that states a total states the same one, for several real recordings: info, report, groups, tree, check,
# timeline, exports, the closing line of record and the screen. Prints 'ok NAME' or 'not ok NAME: why'.
set -u
export MEMTUI_TRIAGE= MEMTUI_CACHE=
. "$(dirname "$0")/../asked.sh"
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
memtui=$build/memtui
[ -x "$memtui" ] || { echo "not ok numbers: $memtui is not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
cc=${CC:-cc}

mkdir -p "$build/tests/numbers"
if printf '#include <vterm.h>\n' | $cc -E -x c - >/dev/null 2>&1; then
	$cc -std=gnu11 -D_GNU_SOURCE -DHAVE_LIBVTERM -O1 -I"$top" -o "$build/tests/numbers/screen" "$top/tests/numbers/screen.c" \
		"$top/tests/screens/harness.c" "$top/tui/view/program_repeats.c" -lvterm -lutil || exit 1
else
	rm -f "$build/tests/numbers/screen"
	echo "skip numbers the screen: there is no libvterm"
fi

# same NAME TRACE CLOSING [OPTIONS...]
same() {
	local name=$1 said
	shift
	said=$(timeout 300 python3 "$top/tests/numbers/compare.py" "$build" "$@" 2>&1)
	case $said in
	same*) echo "ok numbers $name: ${said#same } statements" ;;
	*)
		echo "not ok numbers $name: ${said//$'\n'/ | }"
		bad=1
		;;
	esac
}

# ---- reallocations, temporaries, leaks, and leaks that the program itself suppresses ----
cat >mixed.cc <<'C'
#include <cstdlib>
#include <new>
extern "C" __attribute__((used)) const char *__lsan_default_suppressions() { return "leak:^known$\n"; }
void *volatile sink;
extern "C" __attribute__((noinline)) void known() { sink = malloc(1000); __asm__ volatile(""); }
extern "C" __attribute__((noinline)) void fresh() { sink = calloc(1, 500); __asm__ volatile(""); }
extern "C" __attribute__((noinline)) void grows(int times)
{
	void *block = nullptr;
	for (int i = 1; i <= times; i++)
		block = realloc(block, 100u * (unsigned)i);
	free(block);
}
extern "C" __attribute__((noinline)) void churns() { sink = operator new(64); operator delete(sink); }
int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;

	for (int i = 0; i < rounds; i++) {
		grows(10);
		churns();
		if (i % 10 == 0)
			fresh();
	}
	for (int i = 0; i < 12; i++)
		known();
	sink = nullptr;
}
C
if c++ -O1 -g -o mixed mixed.cc; then
	"$memtui" record -o mixed.dat ./mixed 2>mixed.said
	same "suppressions and reallocations" mixed.dat mixed.said
	same "all that leaked" mixed.dat - --no-builtin-suppressions
	printf 'leak:^fresh$\n' >fresh.supp
	same "a file of suppressions" mixed.dat - --suppressions fresh.supp
	"$memtui" record --suppressions fresh.supp -o file.dat ./mixed 2>file.said
	same "the closing line with a file of suppressions" file.dat file.said --suppressions fresh.supp
	same "a filter on functions" mixed.dat - --function-regex '^(grows|known)$'
	same "a filter on single blocks" mixed.dat - --size-min 500
	"$memtui" record --max-size 256K -o short.dat ./mixed 400000 2>short.said
	if grep -q 'were dropped (--max-size' short.said; then same "--max-size" short.dat short.said; else
		echo "not ok numbers --max-size: nothing was taken away: $(cat short.said)"
		bad=1
	fi
	MEMTUI_OUTPUT=alone.mem LD_PRELOAD=$build/libmemtui.so ./mixed
	same "stand-alone" alone.mem -
	"$memtui" pack -o packed.dat alone.mem 2>packed.said
	same "packed" packed.dat packed.said
	# each process has the numbers of its own trace
	"$memtui" record -o family.dat sh -c './mixed 3; ./mixed 5; true' 2>family.said
	for child in family.dat.*; do
		leaked=$("$memtui" info "$child" | sed -n 's/^leaked  *//p')
		if grep -qE "^memtui: +[0-9]+ +[0-9]+ .* $leaked +.*$child\$" family.said; then echo "ok numbers a process's line"; else
			echo "not ok numbers a process's line: $child leaked $leaked: $(cat family.said)"
			bad=1
		fi
	done
	[ "$("$memtui" groups mixed.dat 2>/dev/null | grep -c 'libstdc++')" = 0 ] ||
		asked "$memtui" groups --format json mixed.dat 2>/dev/null | python3 -c 'import json, sys
g = json.load(sys.stdin)[0]
sys.exit("the first group is libstdc++s: %s" % g if any("libstdc++" in f["module"] for f in g["backtrace"]) else 0)'
	if [ $? = 0 ]; then echo "ok numbers libstdc++'s pool is no top leak"; else echo "not ok numbers libstdc++'s pool is no top leak"; bad=1; fi
else
	echo "skip numbers: there is no C++ compiler"
fi

# ---- real programs ----
if command -v python3 >/dev/null; then
	"$memtui" record -o python.dat -- "$(command -v python3)" -c 'import json; json.loads(json.dumps(list(range(20000))))' 2>python.said
	same "python3" python.dat python.said
fi
# ---- a recording that ends while its program goes on: live, not leaked ----
cat >waits.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile kept;
int main(int argc, char **argv)
{
	char c;

	for (int i = 0; i < 50; i++)
		kept = realloc(i % 5 ? kept : NULL, 100 + 10 * (size_t)i);
	if (argc > 1)
		close(open(argv[1], O_WRONLY)); /* all is allocated */
	return read(0, &c, 1) > 0;
}
C
$cc -O0 -g -fno-builtin -o waits waits.c || exit 1
mkfifo hold
"$memtui" record --duration 1s -o live.dat ./waits <hold 2>live.said &
recorder=$!
exec 7>hold
until "$memtui" info --format json live.dat 2>/dev/null | grep -q '"complete":true'; do
	kill -0 $recorder 2>/dev/null || break
done
exec 7>&-
wait $recorder
same "a recording that was stopped" live.dat live.said

# ---- a running program: the screen's numbers are those of the trace that it leaves ----
if [ -x "$build/tests/numbers/screen" ]; then
	mkfifo held ready
	"$memtui" record -o running.dat ./waits ready <held 2>running.said &
	recorder=$!
	exec 7>held
	read -r <ready
	shown=$(UNTIL='blocks 10' "$build/tests/numbers/screen" "$memtui" attach $recorder) || shown=
	scored=$("$build/tests/numbers/screen" "$memtui" attach --sort suspect $recorder)
	exec 7>&-
	wait $recorder
	if grep -qE ' \.\. .* main ' <<<"$scored"; then echo "ok numbers a score that is not known yet is none"; else
		echo "not ok numbers a score that is not known yet is none: ${scored:0:1500}"
		bad=1
	fi
	now=$(sed -n 's/.*heap now \([^ ]*\)   peak \([^ ]*\) at.*blocks \([^ ]*\) .*/\1 \2 \3/p' <<<"$shown")
	later=$("$memtui" info --no-builtin-suppressions running.dat | sed -n 's/^\(leaked\|peak\|leaked blocks\)  *\([0-9].*\)/\1=\2/p' | tr '\n' ' ')
	if [ -n "$now" ] && [ "leaked blocks=$(cut -d' ' -f3 <<<"$now") leaked=$(cut -d' ' -f1 <<<"$now") peak=$(cut -d' ' -f2 <<<"$now") " = "$later" ]; then
		echo "ok numbers a live snapshot"
	else
		echo "not ok numbers a live snapshot: '$now' while it ran, '$later' behind: ${shown:0:2000}"
		bad=1
	fi
fi
exit $bad
