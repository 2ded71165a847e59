#!/bin/bash
# errors: what memtui errors finds in a program that does everything wrong on purpose, held against the truth that the program
# prints. run.sh BUILD
set -u
export MEMTUI_CACHE= # names are looked up anew, and none are left behind
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
export MEMTUI=$build/memtui
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
flags="-std=c++17 -O1 -g -fno-builtin -w -pthread -I$here/../../preload"
g++ $flags -o errors "$here/../programs/errors.cc" || { echo "not ok errors: the program does not compile"; exit 1; }
for n in 1 2 3; do
	g++ $flags -DOWNED=$n -o own$n "$here/../programs/operators.cc" || { echo "not ok errors: operators do not compile"; exit 1; }
done

record() { # NAME OPTIONS -- PROGRAM...: the program's output in NAME.truth, its status in NAME.status
	name=$1
	shift
	timeout 240 "$MEMTUI" record -o "$name.dat" "$@" >"$name.truth" 2>"$name.err"
	echo $? >"$name.status"
}
record mismatches --free-stacks -- ./errors mismatches
record plain -- ./errors mismatches
GLIBC_TUNABLES=glibc.malloc.tcache_count=0 record double --free-stacks -- ./errors double
GLIBC_TUNABLES=glibc.malloc.tcache_count=0 record double_plain -- ./errors double
timeout 240 env GLIBC_TUNABLES=glibc.malloc.tcache_count=0 MEMTUI_OUTPUT="$tmp/alone.dat" LD_PRELOAD="$build/libmemtui.so" \
	./errors double >alone.truth
record abort --free-stacks -- ./errors abort
record inside --free-stacks -- ./errors inside
record unknown --free-stacks -- ./errors unknown
record pause --free-stacks -- ./errors pause
record fork --free-stacks -- ./errors fork
for n in 1 2 3; do
	record own$n -- ./own$n
	record own_stacks$n --free-stacks -- ./own$n
done
if g++ $flags -o mimalloc "$here/../programs/mimalloc.cc" -lmimalloc 2>/dev/null; then
	record mimalloc --free-stacks -- ./mimalloc
else
	echo "skip errors mimalloc: it is not installed"
fi
g++ $flags -fno-toplevel-reorder -o left "$here/../programs/left.cc" || { echo "not ok errors: left does not compile"; exit 1; }
for mode in new deletes again pass filtered; do
	record left_$mode --free-stacks -- ./left $mode
	what=$("$MEMTUI" errors left_$mode.dat 2>&1 | grep -c '^0 ')
	[ "$(cat left_$mode.status) $what" = "0 3" ] && echo "ok errors: an operator that is left: $mode" ||
		echo "not ok errors: an operator that is left: $mode: status $(cat left_$mode.status); $("$MEMTUI" errors left_$mode.dat 2>&1 | head -5)"
done
g++ $flags -o full "$here/../programs/thrown.cc" && g++ $flags -DOWNED -o owned "$here/../programs/thrown.cc" ||
	{ echo "not ok errors: thrown does not compile"; exit 1; }
for mode in full:0 owned:2; do # how many of the news are served
	out=${mode%:*} n=${mode#*:}
	record thrown_$out -- ./$out
	why=$("$MEMTUI" errors thrown_$out.dat 2>&1 | grep -c '^0 ' | grep -v 3)
	news=$("$MEMTUI" allocations --count 2000000 thrown_$out.dat 2>&1 | grep -c ' new\[\] ')
	[ "$(cat thrown_$out.truth) $news" = "$((5 - n)) $n" ] && [ -z "$why" ] && echo "ok errors: a bad_alloc is not the block of its new ($out)" ||
		echo "not ok errors: a bad_alloc is not the block of its new ($out): $(cat thrown_$out.truth) thrown, $news of new[]; $("$MEMTUI" errors thrown_$out.dat 2>&1 | head -5)"
done
python3 "$here/check.py"
