#!/usr/bin/env bash
# memory: 'memtui memory' beside the kernel's own sums and programs that say what their memory is for (doc/memory.md). run.sh BUILD
. "$(dirname "$0")/../suite.sh"
gcc -O1 -g -fno-builtin -pthread -Wall -Wextra -Werror -Wno-unused-but-set-variable -o truth "$here/truth.c" || { not_ok all "its program cannot be built"; exit 1; }
children=()
at_exit() { [ ${#children[@]} = 0 ] || kill -KILL "${children[@]}" 2>/dev/null; }

# begin COMMAND...: starts it and reads what it says up to "ready" into truth.txt; $front is its number. The last word names the
# program, whose number becomes $process.
begin() {
	local name=${*: -1}
	rm -f in out
	mkfifo in out
	(exec 8<&-; exec "${@:1:$#-1}" <in >out 2>front.err) &
	front=$!
	children+=("$front")
	exec 6>in 7<out
	while read -rt 60 line <&7 && [ "$line" != ready ]; do echo "$line"; done >truth.txt
	process=$front
	[ "$name" = - ] || process=$(pgrep -P "$(pgrep -P "$front" | head -n 1)" | head -n 1)
	children+=("$process")
	[ "$line" = ready ] && [ -n "$process" ] || not_ok "$name begins" "$(cat front.err)"
}
ends() {
	kill -CONT "$process" 2>/dev/null
	echo >&6
	exec 6>&- 7<&-
	wait "$front" 2>/dev/null
	children=()
}
is_stopped() { [[ $(sed 's/.*) //' "/proc/$process/stat") = [Tt]* ]]; }
# All its threads stand still.
stop() {
	kill -STOP "$process"
	until_true is_stopped
}
# account WORDS...: of $process, into account.json; what is wrong with it
account() {
	stop
	timeout 60 "$memtui" memory --format json "$process" >account.json 2>memory.err || echo "status $?: $(cat memory.err)"
	cat "/proc/$process/smaps_rollup" >rollup
	cat "/proc/$process/smaps" >smaps
	python3 "$here/check.py" account.json rollup smaps "$@" 2>&1
}

# ---- a program that says what its memory is for ----
begin "$memtui" record -f -o t.dat -- ./truth mapped truth
say "truth, recorded" "$(account truth truth.txt unexplained 5)"
"$memtui" memory "$process" >text 2>&1
say "text" "$(head -n 1 text | grep -qE '^memory of \./truth mapped \(process [0-9]+\): [0-9.]+M resident, [0-9.]+M without memtui.s own$' || cat text)$(grep -qE '^ +36\.[0-9]M .* heap blocks, as asked for \(7[0-9]{3} blocks\)$' text || cat text)$(grep -qE '^ +6\.0M .* 8\.0M  mapped by map_anonymous < main' text || cat text)$(tail -n 1 text | grep -qE '100\.0% .*  all$' || cat text)"
"$memtui" memory -T 3 -n 1 "$process" >groups.txt 2>&1
say "heap blocks by backtrace" "$(grep -qE '^RESIDENT +ASKED FOR +BLOCKS +HEAP BLOCKS BY$' groups.txt && grep -qE '^ +20\.0M +20\.0M +1  main < ' groups.txt &&
	grep -qE '^ +5\.7M +5\.7M +1500  main < ' groups.txt || cat groups.txt)$("$memtui" memory -T 100000 --format json "$process" | python3 -c 'import json, sys
a = json.load(sys.stdin)
heap = [r for r in a["rows"] if r["what"] == "heap_blocks"][0]
for key in "bytes", "size_bytes", "count":
    if sum(g[key] for g in a["groups"]) != heap[key]: print(key, sum(g[key] for g in a["groups"]), "not", heap[key])
never = [g for g in a["groups"] if g["size_bytes"] == 64 << 20]
if len(never) != 1 or never[0]["bytes"] > 4096: print("the block that was never touched:", never)' 2>&1)"
"$memtui" memory -n 3 "$process" >few 2>&1
say "few rows" "$(is "$(wc -l <few)" 7)$(grep -qE '  the other [0-9]+ rows; see them with --count$' few || cat few)"
"$memtui" memory --format csv --exact "$process" >csv 2>&1
say "csv" "$(python3 -c 'import csv, json
rows = list(csv.DictReader(open("csv")))
wanted = json.load(open("account.json"))["rows"]
if len(rows) != len(wanted): print(len(rows), "rows, not", len(wanted))
for kind in ("heap_blocks", "slack", "free_chunks", "mapped", "file"):
    a, b = sum(int(r["resident"]) for r in rows if r["what"] == kind), sum(r["bytes"] for r in wanted if r["what"] == kind)
    if a != b: print(kind, a, "not", b)')"
ends
"$memtui" memory t.dat >trace.txt 2>&1
say "a trace" "$(grep -qE '^memory of \./truth mapped: at most [0-9.]+M resident, after [0-9.]+(ms|s)$' trace.txt || cat trace.txt)$(
	grep -qE '^ +8\.0M +1  map_anonymous < main' trace.txt && grep -qE '^ +4\.0M +1  file: map_file < main' trace.txt || cat trace.txt)$(
	"$memtui" memory --format json t.dat | python3 -c 'import json, sys
m, asked = json.load(sys.stdin), int(sys.argv[1])
for when in "highest", "end":
    if not 60 << 20 > m[when]["rss_bytes"] > 25 << 20: print(when, m[when])
if abs(m["end"]["heap_bytes"] - asked) > 100 << 10: print("the heap at the end:", m["end"]["heap_bytes"], "not", asked)
if [f["function"] for f in m["mapped"][0]["backtrace"]][0] != "map_anonymous": print(m["mapped"][0])' "$(awk '$1 == "asked" { print $2 }' truth.txt)" 2>&1)"
begin ./truth mapped -
say "truth, not recorded" "$(account truth truth.txt unknown)"
timeout 60 "$memtui" record -p "$process" -f -o a.dat >attach.out 2>&1 &
attached=$!
kill -CONT "$process"
is_recorded() { "$memtui" attach 2>/dev/null | grep -q "$process"; }
until_true is_recorded || not_ok "attached" "$(cat attach.out)"
say "attached" "$(account)$(grep -q '"begins_within":true' account.json || cat account.json)"
kill -CONT "$process"
kill -INT $attached
wait $attached 2>/dev/null
ends

for option in "--sample 4k" "--every 10" "--record-min 2000"; do
	begin "$memtui" record $option -f -o part.dat -- ./truth mapped truth
	say "record $option" "$(account)$(python3 -c 'import json, sys
a = json.load(open("account.json"))
kinds = {r["what"] for r in a["rows"]}
gated = sys.argv[1].startswith("--record")
if "free_chunks" in kinds or "heap" not in kinds or ("heap_blocks" in kinds) != gated or a["blocks_known"] != gated: print(kinds)' "$option")"
	ends
done
begin env LD_PRELOAD="$lib" MEMTUI_OUTPUT="$tmp/alone.mem" ./truth mapped -
say "a program that records itself" "$(account truth truth.txt unexplained 5)"
ends

gcc -O1 -g -fno-builtin -pthread -o leaderless "$here/leaderless.c"
begin "$memtui" record -f -o l.dat -- ./leaderless leaderless
say "its first thread has ended" "$("$memtui" memory --format json "$process" >account.json 2>memory.err || cat memory.err
	python3 -c 'import json
b = [r["bytes"] for r in json.load(open("account.json"))["rows"] if r["what"] == "heap_blocks"]
if len(b) != 1 or not 20 << 20 <= b[0] < 21 << 20: print(b)' 2>&1)"
ends

# ---- a process that goes on: the table still adds up ----
cat >busy.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <poll.h>
int main(void)
{
	struct pollfd in = {0, POLLIN, 0};
	puts("ready");
	fflush(stdout);
	while (!poll(&in, 1, 0)) {
		char *block = memset(malloc(3 << 20), 1, 3 << 20), *small = memset(malloc(90000), 1, 90000);
		char *map = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(map, 1, 1 << 20);
		free(block);
		free(small);
		munmap(map, 2 << 20);
	}
	return 0;
}
C
gcc -O1 -fno-builtin -o busy busy.c
begin "$memtui" record -f -o b.dat -- ./busy busy
say "a process that goes on" "$(for i in 1 2 3 4 5 6 7 8; do
	"$memtui" memory --format json "$process" 2>&1 | python3 -c 'import json, sys
a = json.load(sys.stdin)
if sum(r["bytes"] for r in a["rows"]) != a["rss_bytes"]: print("rows do not add up")
for r in a["rows"]:
    parts = sum(r[k + "_bytes"] for k in ("private_dirty", "private_clean", "shared_dirty", "shared_clean"))
    if parts != r["bytes"] or r["bytes"] > 1 << 40: print(r)' 2>&1
done)"
ends

# ---- who has no memory that can be told ----
refused() { # NAME STATUS WORDS PID: one sentence on stderr
	local name=$1 status=$2 words=$3
	shift 3
	"$@" >refused.out 2>refused.err
	say "$name" "$(is $? "$status")$(is "$(wc -l <refused.err)" 1)$(is "$(wc -c <refused.out)" 0)$(
		grep -qE "^memtui: $words$" refused.err || cat refused.err)"
}
refused "no such process" 1 "process 999999999 does not exist" "$memtui" memory 999999999
refused "no such trace" 1 ".*gone\.dat.*" "$memtui" memory gone.dat
refused "blocks of a trace" 2 "--top: only with a process; a trace does not say which pages were resident.*" "$memtui" memory -T 3 t.dat
(exec 8<&-; sh -c 'sleep 0 & echo $!; exec sleep 60' >zombie) &
children+=($!)
is_zombie() { [ -s zombie ] && grep -q ') Z ' "/proc/$(cat zombie)/stat"; }
until_true is_zombie
refused "a zombie" 1 "process [0-9]+ has ended and has no memory any more; it waits for its parent, process [0-9]+" \
	"$memtui" memory "$(cat zombie)"
kernel=$(ps -eo pid=,ppid= | awk '$2 == 2 { print $1; exit }')
if [ -n "$kernel" ]; then
	refused "a thread of the kernel" 1 "process [0-9]+ is a thread of the kernel, which has no mappings" "$memtui" memory "$kernel"
else
	skip "a thread of the kernel" "none is seen here"
fi
if [ -n "$root" ] && command -v setpriv >/dev/null; then
	refused "another user's process" 1 "process [0-9]+: you may not read its memory map; run memtui as its user or as root" \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$memtui" memory $$
else
	skip "another user's process" "only root can become one"
fi

# ---- usual programs: hardly anything is unexplained ----
# usual NAME COMMAND...: it says ready and waits for its input
usual() {
	local name=$1
	shift
	command -v "$1" >/dev/null || { skip "$name" "$1 is not there"; return; }
	begin "$memtui" record -f -o u.dat -- "$@" "$name"
	say "$name" "$(account unexplained 5)"
	ends
}
usual python3 "$(python3 -c 'import sys; print(sys.executable)')" -c 'import json, sys
kept = [json.dumps({"number": i, "text": str(i) * 9}) for i in range(100000)]
print("ready", flush=True)
sys.stdin.readline()'
usual perl perl -e '$| = 1; my %h = map { $_ => "x" x ($_ % 999) } 1 .. 20000; print "ready\n"; <STDIN>'
cat >threads.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_barrier_t ready;
static void *run(void *keep)
{
	for (int i = 0; i < 3000; i++)
		((char **)keep)[i] = memset(malloc(100 + i), 1, 100);
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return keep;
}
static void *ends(void *unused)
{
	return memset(malloc(1000), 1, 1000) == unused ? NULL : unused;
}
int main(void)
{
	static char *keep[16][3000];
	pthread_t t;
	pthread_barrier_init(&ready, NULL, 17);
	for (int i = 0; i < 16; i++)
		pthread_create(&t, NULL, run, keep[i]);
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 4; i++) {
		pthread_create(&t, NULL, ends, NULL);
		pthread_join(t, NULL);
	}
	puts("ready");
	fflush(stdout);
	return read(0, keep, 1) < 0;
}
C
gcc -O1 -g -fno-builtin -pthread -o threads threads.c
usual threads ./threads
say "stacks of threads" "$(python3 -c 'import json
n = [r["count"] for r in json.load(open("account.json"))["rows"] if r["what"] == "thread_stacks"]
if n != [17]: print("there are", n, "stacks, not 16 and one that is kept for the next thread")')"
usual node node -e 'globalThis.kept = Array.from({length: 1e5}, (_, i) => ({i, s: "x" + i})); console.log("ready"); process.stdin.once("data", () => process.exit())'
for p in /usr/lib/x86_64-linux-gnu/libjemalloc.so.2; do
	[ -f "$p" ] || { skip "jemalloc" "it is not there"; continue; }
	gcc -O1 -g -fno-builtin -pthread -o jemalloc threads.c -Wl,--no-as-needed "$p"
	usual jemalloc ./jemalloc
done
cat >Kept.java <<'J'
public class Kept {
	public static void main(String[] arguments) throws Exception {
		java.util.List<byte[]> kept = new java.util.ArrayList<>();
		for (int i = 0; i < 20000; i++)
			kept.add(new byte[1000]);
		System.out.println("ready");
		System.in.read();
		System.out.println(kept.size());
	}
}
J
if command -v javac >/dev/null && javac Kept.java 2>javac.err; then
	usual java java -Xmx128m Kept
else
	skip java "there is no javac"
fi
[ "$bad" = 0 ]
