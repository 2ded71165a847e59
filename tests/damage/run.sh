#!/bin/bash
# run.sh BUILD: traces that are cut, damaged, or of which nothing can be read: every command that reads one says so on standard error,
# and its status and its JSON tell the cases apart. Prints 'ok NAME' or 'not ok NAME: why'.
. "$(dirname "$0")/../suite.sh"
work=$tmp

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
    type, size, stored = data[at + 4], struct.unpack_from("<H", data, at + 6)[0], struct.unpack_from("<I", data, at + 12)[0]
    print(at, type, stored)
    at += size + stored
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
each "nothing but the header" header.dat 1 'header.dat: contains no recording' no
each "less than a block" first.dat 1 'first.dat: contains no recording' no
each "nothing that can be read" unreadable.dat 1 "unreadable.dat: cannot be read: it is damaged from byte $start on" no
each "nothing but the program's name" named.dat 1 "named.dat: cannot be read: it is damaged from byte $second on" no
each "damaged" damaged.dat 0 "damaged.dat: damaged from byte $events on" any
each "damaged, --strict" damaged.dat 1 'damaged.dat: damaged or incomplete; status 1 because of --strict' any --strict
each "cut" cut.dat 0 'cut.dat: incomplete' any
each "cut, --strict" cut.dat 1 'cut.dat: damaged or incomplete; status 1 because of --strict' any --strict
each "cut at its very end" tail.dat 0 'tail.dat: incomplete' any

json() { # NAME TRACE CONDITION [COMMAND...]
	local name=$1 trace=$2 condition=$3
	shift 3
	[ $# -gt 0 ] || set -- info
	asked "$memtui" "$@" --format json "$trace" >json 2>err
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
# ---- a large trace: info reads its events only if asked ----
"$build/bench/make_trace" large.dat 33000000 >/dev/null || echo "not ok damage: make_trace failed"
printf 'XXXX' | dd of=large.dat bs=1 seek=$(($(wc -c <large.dat) / 2)) conv=notrunc 2>dd.err
"$memtui" info large.dat >out 2>err
say "events of a large trace that were not checked" "$([ $? = 0 ] && [ -s out ] && grep -q 'large.dat were not checked for damage, because it has [0-9.]*M; --strict' err || head -n 2 err)"
"$memtui" info --strict large.dat >out 2>err
say "--strict checks a large trace" "$([ $? = 1 ] && [ -s out ] && grep -q 'damaged' err && ! grep -q 'not checked' err || head -n 2 err)"
rm large.dat
"$memtui" open unreadable.dat >out 2>err </dev/null
say "open" "$([ $? = 1 ] || head -n 1 err)"

# ---- sizes that cannot be: a program tells them of its pools by memtui.h ----
cat >huge.c <<'C'
#include <memtui.h>
#include <stdint.h>
#include <stdlib.h>
char pool, blocks[100000];
int main(int argc, char **argv)
{
	free(malloc(100));
	memtui_pool_alloc(&pool, blocks, SIZE_MAX);
	memtui_pool_alloc(&pool, blocks + 1, SIZE_MAX);
	memtui_pool_alloc(&pool, blocks + 2, 10);
	memtui_pool_realloc(&pool, blocks + 2, blocks + 3, SIZE_MAX / 2);
	for (int i = 4; i < 100000 && argc > 1; i++) /* each is possible, their sum is not */
		memtui_pool_alloc(&pool, blocks + i, 1ull << 46);
	return 0;
}
C
cc -O1 -g -fno-builtin -I"$here/../../preload" -o huge huge.c
sums() { # NAME TRACE OVERSIZED ALLOCATIONS BYTES LIVE
	asked "$memtui" info --format json "$2" >info.json 2>err && asked "$memtui" groups --format json --count 0 "$2" >groups.json 2>>err && asked "$memtui" tree --format json "$2" >tree.json 2>>err &&
		asked "$memtui" groups --format json --count 0 --size-min 1 "$2" >filtered.json 2>>err
	say "$1" "$(cat err; python3 -c 'import json, sys
d, groups, tree, filtered = (json.load(open(f + ".json")) for f in ("info", "groups", "tree", "filtered"))
oversized, allocations, size, live = map(int, sys.argv[1:])
assert d["counters"]["oversized_blocks"] == oversized, d["counters"]["oversized_blocks"]
assert (d["allocations"], d["allocated_bytes"], d["leaked_bytes"]) == (allocations, size, live), (d["allocations"], d["allocated_bytes"], d["leaked_bytes"])
assert d["invalid_records"] == 0 and d["peak_bytes"] == max(live, 100), d["peak_bytes"]
for name, of in (("groups", groups), ("filtered", filtered)):
    assert sum(g["all"]["size"] for g in of) == size and sum(g["all"]["leaked_size"] for g in of) == live, name
assert tree["total"]["size"] == size and tree["total"]["leaked_size"] == live' "$3" "$4" "$5" "$6" 2>&1 | tail -n 1)"
	"$memtui" report "$2" 2>&1 | tr -d , | grep -q "$3 blocks ignored larger than an address space"
	say "$1, said" "$([ $? = 0 ] || "$memtui" report "$2" 2>&1 | tail -n 3)"
}
"$memtui" record -o huge.dat ./huge 2>err
"$memtui" record -o many.dat ./huge many 2>err
sums "sizes beyond the address space" huge.dat 3 2 110 0
sums "sizes whose sum is beyond 64 bits" many.dat 34464 65537 $((110 + 65535 * (1 << 46))) $((65535 * (1 << 46)))
MEMTUI_OUTPUT=huge.mem LD_PRELOAD=$build/libmemtui.so ./huge
sums "sizes beyond the address space, stand-alone" huge.mem 3 2 110 0

# ---- files that unpack to much more than they are ----
mkdir bombs && python3 "$here/bombs.py" bombs 2>err || say "bombs" "$(tail -n 1 err)"
ls -l bombs >sizes
[ "$(awk '$5 > 2000000' sizes | wc -l)" = 0 ]
say "bombs are small" "$([ $? = 0 ] || cat sizes)"
bomb() { # NAME MOST-MB STATUS WORDS ARGS...
	local name=$1 most=$2 want=$3 words=$4 status
	shift 4
	python3 "$here/bombs.py" run "$most" "$memtui" "$@" >out 2>err
	status=$?
	say "$name" "$([ $status = "$want" ] && grep -qE -- "$words" err || echo "status $status: $(tail -n 2 err)")"
}
bomb "a heaptrack file that unpacks to much" 400 1 'heaptrack.gz: needs more than 256 MiB of memory, though it has only [0-9]+ bytes; .*--max-memory' info bombs/heaptrack.gz
bomb "the same, packed" 400 1 'heaptrack.gz: needs more than 256 MiB' pack -o bomb.dat bombs/heaptrack.gz
bomb "the same, allowed" 2000 0 'recorded by heaptrack' info --max-memory 2G bombs/heaptrack.gz
for kind in sections debugdata; do
	"$memtui" record -o $kind.dat --no-cache bombs/$kind 2>err
	# Names are in the trace; without them they are looked up.
	python3 - $kind.dat <<'P'
import struct, sys
data, at = open(sys.argv[1], "rb").read(), 32
while data[at + 4] != 9: # the block of symbols; what comes before is a trace without an end
    at += struct.unpack_from("<H", data, at + 6)[0] + struct.unpack_from("<I", data, at + 12)[0]
open(sys.argv[1], "wb").write(data[:at])
P
	bomb "debug information that unpacks to much: $kind" 200 0 "1 file takes too much memory when decompressed .see --max-memory. \\(.*bombs/$kind\\)" groups $kind.dat
done
python3 "$here/bombs.py" run 200 "$memtui" record -f -o sections.dat --no-cache bombs/sections >out 2>err
say "the same, recorded" "$([ $? = 0 ] || tail -n 1 err)"
exit $bad
