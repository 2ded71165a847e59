#!/bin/bash
# filters: every filter field through the command line, on a program of which every allocation is known: what matches is
# written down here by hand. Only moments are taken from the recording, half-way between the program's phases. run.sh BUILD
set -u
export MEMTUI_CACHE= # names are looked up anew, and none are left behind
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gcc -O1 -g -fno-builtin -pthread -I"$here/../../preload" -o "$tmp/filters" "$here/../programs/filters.c" || exit 1
cd "$tmp" || exit 1
"$build/memtui" record -o filters.dat -- ./filters >address 2>err || { echo "not ok filters are recorded: $(head -c 200 err)"; exit 1; }
MEMTUI=$build/memtui exec python3 "$here/fields.py"
