#!/usr/bin/env bash
# mutations.sh BUILD: are the checks of stacks themselves any good? Builds tracers that are wrong on purpose
# (MT_MUTATION, preload/unwind/check.h) and requires that each is found out, by differing stacks, on programs that the right
# tracer passes.
set -u
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$build/stacks-tests
mkdir -p "$out" && cd "$out" || exit 2
export LC_ALL=C MEMTUI_CHECK=1
. "$here/lib.sh"
bad=0

{
	echo "compile framepointer $here/../tracer/framepointer.c -O2"
	echo "compile frames-O2-none $here/frames.c -O2 -fomit-frame-pointer"
	echo "compile jumps-O2-none $here/jumps.c -O2 -fomit-frame-pointer"
	plugin_lines
} | compile_lines
programs=(./framepointer ./frames-O2-none ./jumps-O2-none "./reload 0 $PWD/plugin24.so $PWD/plugin200.so $PWD/plugin4000.so")

# found MEMTUI: sets walk and other, the numbers of stacks that differed from a full walk and from libgcc's unwinder
found() {
	local n checked wrong otherwise wrong_otherwise rest
	walk=0 other=0 all=0
	for program in "${programs[@]}"; do
		timeout 240 "$1" record --force -o mutation.dat -- $program >/dev/null 2>&1
		read -r n checked wrong otherwise wrong_otherwise rest < <(counts "$1" mutation.dat)
		[ -n "$VERBOSE" ] && echo "   $program: $checked, $wrong differ from a full walk; $otherwise, $wrong_otherwise differ from libgcc's"
		walk=$((walk + ${wrong:-0})) other=$((other + ${wrong_otherwise:-0})) all=$((all + ${checked:-0}))
	done
}

: "${VERBOSE:=}"
found "$build/memtui"
if [ $walk = 0 ] && [ $other = 0 ] && [ $all -gt 100000 ]; then echo "ok mutations: none in the tracer as it is, in $all stacks"
else echo "not ok mutations: the tracer as it is has $walk and $other wrong of $all stacks"; bad=1; fi
for mutation in 1 2 3 4 5; do
	dir=$build/mutation-$mutation
	make -C "$top" -s -j2 O="$dir" MUTATION=$mutation "$dir/libmemtui.so" >/dev/null && cp "$build/memtui" "$dir" ||
		{ echo "not ok mutation $mutation: does not build"; bad=1; continue; }
	found "$dir/memtui"
	if [ $((walk + other)) -gt 0 ]; then echo "ok mutation $mutation: $walk differ from a full walk, $other from libgcc's unwinder, of $all"
	else echo "not ok mutation $mutation: not found out in $all stacks"; bad=1; fi
done
exit $bad
