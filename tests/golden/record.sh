#!/usr/bin/env bash
# record.sh OUT BUILD...: records tests/golden/programs with each BUILD, for tests/golden/traces. A trace is named by its version;
# a build whose directory is named early... makes traces vNearly-PROGRAM.trace: the first build of a version, beside a later one.
# The last BUILD also writes the stand-alone recordings, and heaptrack records operators. It needs root, because the programs and
# their libraries lie in a directory that exists only in a mount namespace of this script: no reader can find them again.
set -eu
if [ "${IN_NAMESPACE-}" != 1 ]; then
	top=$(cd "$(dirname "$0")/../.." && pwd)
	mkdir -p "$1"
	out=$(cd "$1" && pwd)
	shift
	builds=()
	for b; do builds+=("$(cd "$b" && pwd)"); done
	exec env IN_NAMESPACE=1 unshare -m bash "$top/tests/golden/record.sh" "$out" "${builds[@]}"
fi
out=$1
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
place=/opt/memtui-golden
export TZ=UTC LC_ALL=C MEMTUI_CACHE='' MEMTUI_TRIAGE=''
unset MEMTUI_SESSION MEMTUI_OUTPUT
mount -t tmpfs none /opt
mkdir $place
cd $place

# Copies of the libraries with a build-id that nobody has: separate debug information is found by it.
copy() { # LIBRARY
	python3 - "$(readlink -f "$1")" "$(basename "$1")" <<'P'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
note = data.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
if note >= 0:
    data[note + 16:note + 36] = b"memtui golden files "
open(sys.argv[2], "wb").write(data)
P
	chmod 755 "$(basename "$1")"
}
loader=/lib64/ld-linux-x86-64.so.2
copy $loader
for library in libc.so.6 libm.so.6 libgcc_s.so.1 libstdc++.so.6; do
	copy "$(g++ -print-file-name=$library)"
done
flags=(-O1 -g -fno-builtin -pthread "-I$top" "-ffile-prefix-map=$top=." -Wl,--build-id=none
	-Wl,--dynamic-linker=$place/ld-linux-x86-64.so.2 -Wl,-rpath,$place)
gcc "${flags[@]}" -o blocks "$top/tests/golden/programs/blocks.c"
gcc "${flags[@]}" -o threads "$top/tests/golden/programs/threads.c"
gcc "${flags[@]}" -o churn "$top/tests/programs/flight.c"
gcc "${flags[@]}" -o family "$top/tests/golden/programs/family.c"
echo 'int main(void) { return 0; }' | gcc -static -x c -o unseen -
g++ "${flags[@]}" -o operators "$top/tests/golden/programs/operators.cc"
twice=GLIBC_TUNABLES=glibc.malloc.tcache_count=0 # glibc then lets a block be freed twice

# record PROGRAM ARGUMENTS...: as vVERSION-PROGRAM.trace, with the version that the file has; $early and ${options[@]}
record() {
	./memtui record -f -o trace.dat "${options[@]}" -- "./$@" >/dev/null || [ $? = 3 ]
	version=v$(od -An -tu4 -j16 -N4 trace.dat | tr -d ' ')$early
	written=$out/$version-$1.trace
	chmod 644 trace.dat*
	mv trace.dat "$written"
}
at_once() { # the last trace has batches of runs of some length, or is of a version that has none
	case $written in */v4*) return 0 ;; esac
	python3 "$top/tests/golden/drop.py" "$written" | awk '$1 == "events" { bytes += $13 } END { exit bytes < 30 }'
}
for build; do
	early=
	case $(basename "$build") in *early*) early=early ;; esac
	cp "$build/memtui" "$build/libmemtui.so" .
	options=()
	record blocks
	if [ "$build" = "$1" ] || [ "$build" = "${!#}" ]; then # the oldest and the newest
		record family
		mv trace.dat.exec0 "$written.exec0"
		mv trace.dat.[0-9]* "$out/$version-child.trace"
	fi
	until
		record threads
		at_once
	do :; done
	options=(--free-stacks)
	export "$twice"
	record operators
	unset GLIBC_TUNABLES
	# The file is replaced when it has half of the size; one that was replaced a moment ago is small.
	options=(--max-size 256K)
	for ((rounds = 20000; rounds < 40000; rounds += 1000)); do
		record churn $rounds 2 40
		[ "$(stat -c %s "$written")" -gt 50000 ] || break
	done
done
for program in blocks threads operators; do
	rm -f "$out/alone-$program.mem"*
	settings=()
	[ $program != operators ] || settings=("$twice" MEMTUI_FREE_STACKS=1)
	env -C "$place" "${settings[@]}" NAME="$out/alone-$program.mem" LIBRARY=$place/libmemtui.so PROGRAM=./$program \
		sh -c 'MEMTUI_OUTPUT=$NAME LD_PRELOAD=$LIBRARY exec $PROGRAM' || [ $? = 3 ]
	(cd "$out" && tar --sparse --owner=0 --group=0 -cf - "alone-$program.mem" | xz -9 >"alone-$program.mem.tar.xz")
	rm "$out/alone-$program.mem"
done
heaptrack -o "$out/heaptrack-operators" ./operators once >/dev/null
