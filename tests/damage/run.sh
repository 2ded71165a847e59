#!/bin/bash
# run.sh BUILD: traces that are cut, damaged, or of which nothing can be read: every command that reads one says so on standard error,
# and its status and its JSON tell the cases apart. Prints 'ok NAME' or 'not ok NAME: why'.
set -u
export MEMTUI_CACHE= MEMTUI_TRIAGE=
build=$(cd "$1" && pwd)
memtui=$build/memtui
[ -x "$memtui" ] || { echo "not ok damage: $memtui is not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0

say() { # NAME WHY: passes if WHY is empty
	if [ -z "$2" ]; then echo "ok damage $1"; else
		echo "not ok damage $1: $2"
		bad=1
	fi
}

cat >prog.c <<'C'
#include <stdlib.h>
void *volatile kept;
int main(void)
{
	for (int i = 0; i < 200000; i++) {
		void *p = malloc(100 + i % 7);
		if (i % 1000)
			free(p);
		else
			kept = p;
	}
	return 7;
}
C
cc -O1 -g -fno-builtin -o prog prog.c && "$memtui" record -o whole.dat ./prog 2>err
[ -s whole.dat ] || { echo "not ok damage record: $(cat err)"; exit 1; }
# Where its blocks lie, and of which type they are: see core/trace/block.h.
python3 - <<'P' >blocks || { echo "not ok damage blocks: the trace has no blocks"; exit 1; }
import struct
data, at = open("whole.dat", "rb").read(), 32
while at + 96 <= len(data) and data[at:at + 4] == data[32:36]:
    type, stored = data[at + 4], struct.unpack_from("<I", data, at + 12)[0]
    print(at, type, stored)
    at += 96 + stored
P
start=$(sed -n 1p blocks | cut -d' ' -f1)
second=$(sed -n 2p blocks | cut -d' ' -f1)
events=$(awk '$2 == 8 { at[n++] = $1 } END { print at[int(n / 2)] }' blocks)
[ "$start" = 32 ] && [ "${events:-0}" -gt "$second" ] || { echo "not ok damage blocks: $(head -c 200 blocks)"; exit 1; }
size=$(stat -c %s whole.dat)
flip() { # FILE OFFSET...: a copy of the trace with these bytes changed, and without the index
	local file=$1 at
	shift
	head -c $((size - 32)) whole.dat >"$file"
	for at; do
		printf "\\x$(printf %02x $((0x$(xxd -s "$at" -l 1 -p "$file") ^ 255)))" | dd of="$file" bs=1 seek="$at" conv=notrunc 2>dd.err
	done
}
head -c 32 whole.dat >header.dat
head -c 100 whole.dat >first.dat
flip unreadable.dat $((start + 10))
flip named.dat $((second + 10))
flip damaged.dat $((events + 10))
head -c $((events + 50)) whole.dat >cut.dat
head -c $((size - 10)) whole.dat >tail.dat
cp whole.dat later.dat

commands=("info" "report" "groups" "groups --format json" "groups --format csv" "allocations" "tree" "callers main" "diff later.dat" "diff" "chains"
	"histogram" "timeline" "timeline --stacked" "mmaps" "mallopts" "errors" "check --max-peak 1G --allow-incomplete" "suppress" "export --as collapsed" "export --as heaptrack"
	"export --as csv" "export --as pprof -o out.pb.gz --force")
# run TRACE OPTIONS...: sets status, said and shown, for each command in turn, whose name is in $command
each() { # NAME TRACE STATUS SAID SHOWN [OPTION]: SHOWN: yes, no or any
	local name=$1 trace=$2 want=$3 words=$4 shown=$5 option=${6:-} why="" operands status
	for command in "${commands[@]}"; do
		read -ra operands <<<"$command"
		timeout 60 "$memtui" "${operands[@]}" $option "$trace" >out 2>err </dev/null
		status=$?
		if [ "$status" != "$want" ]; then why+="$command: status $status: $(head -n 1 err); "
		elif [ -n "$words" ] && ! grep -qE -- "$words" err; then why+="$command said: $(head -n 1 err); "
		elif [ -z "$words" ] && [ -s err ]; then why+="$command said: $(head -n 1 err); "
		elif [ "$shown" = no ] && [ -s out ]; then why+="$command printed: $(head -n 1 out); "; fi
	done
	say "$name" "$why"
}
each "a whole trace" whole.dat 0 '' any
each "a whole trace, --strict" whole.dat 0 '' any --strict
each "nothing but the header" header.dat 1 'header.dat: nothing is recorded in it' no
each "less than a block" first.dat 1 'first.dat: nothing is recorded in it' no
each "nothing that can be read" unreadable.dat 1 "unreadable.dat: nothing in it can be read: it is damaged from byte $start on" no
each "nothing but the program's name" named.dat 1 "named.dat: nothing in it can be read: it is damaged from byte $second on" no
each "damaged" damaged.dat 0 "damaged.dat makes no sense from byte $events on" any
each "damaged, --strict" damaged.dat 1 'damaged.dat: not all of it could be read, so --strict ends with status 1' any --strict
each "cut" cut.dat 0 'cut.dat has no end' any
each "cut, --strict" cut.dat 1 'cut.dat: not all of it could be read, so --strict' any --strict
each "cut at its very end" tail.dat 0 'tail.dat has no end' any

json() { # NAME TRACE CONDITION [COMMAND...]
	local name=$1 trace=$2 condition=$3
	shift 3
	[ $# -gt 0 ] || set -- info
	"$memtui" "$@" --format json "$trace" >json 2>err
	say "$name" "$(python3 -c 'import json, sys
d = json.load(open("json"))
eval(sys.argv[1]) or print({k: d.get(k, "none") for k in ("complete", "damaged_at", "exit_status")})' "$condition" 2>&1 | tail -n 1)"
}
json "JSON of a whole trace" whole.dat 'd["complete"] and d["damaged_at"] is None and d["exit_status"] == 7 << 8'
json "JSON of a damaged trace" damaged.dat "not d['complete'] and d['damaged_at'] == $events and d['exit_status'] is None"
json "JSON of a cut trace" cut.dat 'not d["complete"] and d["damaged_at"] is None and d["exit_status"] is None'
json "JSON of a check" damaged.dat "d['damaged_at'] == $events" check
# The totals are whole, but events that nobody needs for them are not: info reads all, and says so.
cp whole.dat within.dat
printf 'XXXX' | dd of=within.dat bs=1 seek=$((events + 200)) conv=notrunc 2>dd.err
json "JSON of a damaged block that no total needs" within.dat "d['complete'] and d['damaged_at'] == $events and d['exit_status'] == 7 << 8"
"$memtui" groups --strict within.dat >out 2>err
say "--strict reads what no total needs" "$([ $? = 1 ] && [ -s out ] || head -n 2 err)"
"$memtui" info --strict whole.dat cut.dat >out 2>err
say "--strict of several traces" "$([ $? = 1 ] && [ "$(wc -l <out)" = 3 ] || head -n 3 err)"
"$memtui" open unreadable.dat >out 2>err </dev/null
say "open" "$([ $? = 1 ] || head -n 1 err)"
exit $bad
