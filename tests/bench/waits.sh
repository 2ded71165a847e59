#!/usr/bin/env bash
# waits.sh BUILD [LIVE [ROUNDS]]: whether a thread has to wait for a full ring because of checkpoints. A program with LIVE blocks
# (1000000) replaces them in 4 threads without pause, ROUNDS times each (5000000); it is recorded in turn without checkpoints and with
# --max-size 64M, and each row says how often a thread waited, what was lost, and how many times the file was replaced.
set -eu
build=$(cd "$1" && pwd)
live=${2:-1000000} rounds=${3:-5000000}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export MEMTUI_CACHE= MEMTUI_TRIAGE=
gcc -O2 -g -pthread -o "$tmp/full" "$(dirname "$0")/full.c"
# The file is replaced by another one: its number changes.
count_files() {
	local last= now n=0
	while [ ! -e "$tmp/ended" ]; do
		now=$(stat -c %i "$tmp/t.dat" 2>/dev/null) || now=
		[ -z "$now" ] || [ "$now" = "$last" ] || n=$((n + 1))
		last=${now:-$last}
		sleep 0.05
	done
	echo $((n > 0 ? n - 1 : 0)) >"$tmp/files"
}
printf '%-14s %12s %10s %8s %10s %8s\n' recorded events waits lost replaced seconds
for round in 1 2 3; do
	for how in plain "--max-size 64M"; do
		rm -f "$tmp/ended" "$tmp/t.dat"
		count_files &
		options=()
		[ "$how" = plain ] || options=($how)
		begin=$EPOCHREALTIME
		"$build/memtui" record -f -o "$tmp/t.dat" "${options[@]}" -- "$tmp/full" "$live" 4 "$rounds" >/dev/null 2>&1
		end=$EPOCHREALTIME
		: >"$tmp/ended"
		wait
		"$build/memtui" info --format json --no-builtin-suppressions "$tmp/t.dat" | python3 -c '
import json, sys
i = json.load(sys.stdin)
print("%-14s %12d %10d %8d %10s %8.1f" % (sys.argv[1], i["events"], i["counters"]["ring_waits"], i["lost_events"], sys.argv[2],
                                       float(sys.argv[4]) - float(sys.argv[3])))' "$how" "$(cat "$tmp/files")" "$begin" "$end"
	done
done
