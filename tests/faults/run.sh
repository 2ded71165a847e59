#!/usr/bin/env bash
# faults: memtui's own system calls fail, one after another; nothing waits without end, nothing ends without a word.
# run.sh BUILD; MEMTUI_FAULTS=all tries every call of every part in place of a sample.
set -u
export MEMTUI_CACHE= MEMTUI_TRIAGE=
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset MEMTUI_SESSION MEMTUI_OUTPUT
export LC_ALL=C

echo '#include <asm/unistd.h>' | gcc -E -dM - |
	sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$/[\2] = "\1",/p' >"$tmp/syscalls.h"
gcc -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -I"$tmp" -o "$tmp/inject" "$here/inject.c" &&
	gcc -O1 -g -fno-builtin -pthread -o "$tmp/subject" "$here/subject.c" ||
	{ echo "not ok faults: its programs cannot be built"; exit 1; }
python3 "$here/faults.py" "$tmp" "$build/memtui"
bash "$here/named.sh" "$build"
