#!/bin/bash
# run.sh BUILD: exports of real traces add up to what memtui info says, to the byte and the count, in every format; names of
# functions are hostile; files are written whole or not at all. Prints 'ok NAME', 'not ok NAME: why', 'skip NAME: why'.
. "$(dirname "$0")/../suite.sh"
work=$tmp
at_exit() { chmod -R u+rwx "$work"; }

# agrees NAME KIND CHECK FILE STACK VALUE EXPORT-ARGS...: the export and info, with the same filter (set in $filter), agree
filter=()
all=--no-builtin-suppressions # the formats that show the heap have what is suppressed; tests/numbers compares without it
agrees() {
	local name=$1 kind=$2 check=$3 trace=$4 stack=$5 value=$6
	shift 6
	if ! "$memtui" export --as "$kind" "$@" "${filter[@]}" "$all" -f -o out "$trace" 2>err || [ -s err ]; then
		not_ok "$name" "status $?: $(head -c 300 err)"
	elif ! asked "$memtui" info --format json "${filter[@]}" "$all" "$trace" >info.json 2>err; then
		not_ok "$name" "info: $(head -c 300 err)"
	elif ! asked "$memtui" tree --format json "${filter[@]}" "$all" "$trace" >tree.json 2>err || ! python3 -c 'import json
info = json.load(open("info.json"))
info["at_peak_size"] = json.load(open("tree.json"))["total"]["at_peak_size"] # the share of the whole heap, which info does not say
assert info["at_peak_size"] <= info["peak_bytes"]
json.dump(info, open("info.json", "w"))' 2>err; then not_ok "$name" "tree: $(tail -n 1 err)"
	elif python3 "$here/check.py" "$check" out info.json ${stack:+"$stack"} ${value:+"$value"} 2>err; then ok "$name"
	else not_ok "$name" "$(tail -n 1 err)"; fi
}
# all NAME TRACE STACK VALUE: every kind of one trace
all() {
	agrees "$1: collapsed" collapsed collapsed "$2" "$3" "$4"
	agrees "$1: flamegraph" flamegraph flamegraph "$2" "$3" "$4"
	agrees "$1: speedscope" speedscope speedscope "$2" "$3" "$4"
	agrees "$1: pprof" pprof pprof "$2" "$3" "$4"
	agrees "$1: dhat" dhat dhat "$2" "$3" "$4"
	agrees "$1: json" json groups_json "$2" "$3" "$4"
	agrees "$1: csv" csv groups_csv "$2" "$3" "$4"
	agrees "$1: json, tree" json tree_json "$2" "$3" "$4" --what tree
	agrees "$1: json, allocations" json allocations_json "$2" "" "" --what allocations
	agrees "$1: csv, allocations" csv allocations_csv "$2" "" "" --what allocations
}
# fails NAME STATUS WORDS ARGS...: one line on stderr that has the words, nothing on stdout
fails() {
	local name=$1 status=$2 words=$3 got
	shift 3
	timeout 240 "$memtui" "$@" >fails.out 2>fails.err </dev/null
	got=$?
	if [ $got != "$status" ] || [ "$(wc -l <fails.err)" != 1 ] || ! grep -qE -- "$words" fails.err || [ -s fails.out ]; then
		not_ok "$name" "status $got: $(head -c 300 fails.err)"
	else ok "$name"; fi
}

# ---- a program whose heap is known ----
cat >known.c <<'C'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *keep(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
__attribute__((noinline)) void drop(int n) { for (int i = 0; i < n; i++) { volatile char *p = malloc(100); *p = 1; free((void *)p); } }
__attribute__((noinline)) void *deep(int n) { void *p = n ? deep(n - 1) : keep(1000); __asm__ volatile("" : "+r"(p)); return p; }
static inline __attribute__((always_inline)) void *within(void) { char *p = malloc(333); memset(p, 1, 333); return p; }
void *kept[64];
int main(void)
{
	for (int i = 0; i < 10; i++)
		kept[i] = keep(4096);
	drop(50);
	kept[10] = deep(5);
	kept[11] = calloc(3, 7);
	kept[12] = realloc(kept[11], 2100);
	kept[13] = within();
	return 0;
}
C
cc -O1 -g -fno-omit-frame-pointer -o known known.c && "$memtui" record -o known.dat ./known 2>err || { not_ok known "$(cat err)"; exit 1; }
all known known.dat 'main;keep' 40960
all "known: inline frame" known.dat 'main;within' 333
filter=(--function-regex '^deep$')
all "known: filter" known.dat 'main;deep;deep;deep;deep;deep;deep;keep' 1000
filter=(--size-min 2000 --size-max 4k)
all "known: filter of allocations" known.dat 'main;keep' 40960
filter=(--from 0 --lifetime only_leaked --negative-function-regex deep)
all "known: several filters" known.dat 'main;within' 333
filter=(--function-regex nowhere)
all "known: nothing matches" known.dat '' ''
filter=()
for metric in size leaked_count allocated_count at_peak_size at_peak_count own_peak_size own_peak_count temporary_count; do
	"$memtui" export --as collapsed --metric $metric known.dat >out && asked "$memtui" groups --format json known.dat >groups.json
	python3 -c 'import json, sys
assert sum(int(l.rsplit(" ", 1)[1]) for l in open("out")) == sum(g["all"][sys.argv[1]] for g in json.load(open("groups.json")))' $metric \
		2>err && ok "known: $metric" || not_ok "known: $metric" "$(tail -n 1 err)"
	"$memtui" export --as flamegraph --metric $metric known.dat | grep -q "known: " && ok "known: flame graph of $metric" || not_ok "known: flame graph of $metric" ""
done
"$memtui" export --as csv --what timeline known.dat >out && python3 -c 'import csv
rows = list(csv.DictReader(open("out")))
assert sum(int(r["allocations"]) for r in rows) == 64 and int(rows[-1]["live_bytes"]) == 40960 + 1000 + 2100 + 333' 2>err && ok "csv, timeline" || not_ok "csv, timeline" "$(tail -n 1 err)"

# ---- a range whose peak is not that of the run ----
cat >ranges.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <time.h>
__attribute__((noinline)) void *early(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
__attribute__((noinline)) void *late(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
static long long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ll + t.tv_nsec; }
static void pass(void) { for (long long until = now() + 30000000; now() < until;) ; }
void *volatile kept;
int main(void)
{
	kept = early(1000);
	free(early(100000));
	pass();
	kept = late(300);
	pass();
	free(late(7000));
	pass();
	kept = late(50);
	pass();
	return 0;
}
C
cc -O1 -g -fno-builtin -fno-omit-frame-pointer -o ranges ranges.c && "$memtui" record -o ranges.dat ./ranges 2>err || not_ok ranges "$(cat err)"
asked "$memtui" allocations --format json ranges.dat >ranges.json
read -r from peak to <<<"$(python3 -c 'import json
at = {r["size"]: r["timestamp"] for r in json.load(open("ranges.json"))}
print(*(("%.6f" % at[n]).rstrip("0") for n in (300, 7000, 50)))')"
"$memtui" report --exact --from "${from}s" --to "${to}s" ranges.dat >out 2>err
grep -q "^peak  *8300 at $peak in the range, 7300 of it here\$" out && ok "report of a range: its peak" || not_ok "report of a range: its peak" "$peak: $(grep ^peak out; cat err)"
"$memtui" export --as dhat --from "${from}s" --to "${to}s" ranges.dat >out 2>err
python3 -c 'import json, sys
d, peak = json.load(open("out")), round(float(sys.argv[1]) * 1e6)
assert d["tg"] == peak, (d["tg"], peak)
assert sum(p["gb"] for p in d["pps"]) == 7300' "$peak" 2>err && ok "dhat of a range: its peak" || not_ok "dhat of a range: its peak" "$(tail -n 1 err)"
"$memtui" export --as massif --from "${from}s" --to "${to}s" ranges.dat >out 2>err
python3 -c 'import re, sys
peak, to = (int(float(a) * 1e6 + 0.5) // 1000 for a in sys.argv[1:])
shots = [(int(t), int(b), tree) for t, b, tree in re.findall(r"time=(\d+)\nmem_heap_B=(\d+)\n.*\n.*\nheap_tree=(\w+)", open("out").read())]
assert [s for s in shots if s[2] == "peak"] == [(peak, 7300, "peak")], (peak, shots)
assert shots == sorted(shots, key=lambda s: s[0]) and len(shots) > 4
assert max(s[0] for s in shots[:-1]) <= to and shots[-1][0] > to + 20 and shots[-1][1:] == (350, "detailed"), (to, shots)' "$peak" "$to" 2>err &&
	ok "massif of a range: its peak and its end" || not_ok "massif of a range: its peak and its end" "$(tail -n 1 err)"

# sorted NAME WANTED ARGS...: sizes of the allocations in the order in which they come
sorted() {
	local name=$1 want=$2 have
	shift 2
	have=$(asked "$memtui" allocations --format json "$@" known.dat | python3 -c 'import json, sys; print(*[r["size"] for r in json.load(sys.stdin)])')
	[ "$have" = "$want" ] && ok "allocations: $name" || not_ok "allocations: $name" "$have, not $want"
}
sorted "as made" '4096 4096 4096' --count 3
sorted "by size" '4096 2100 1000 333 100' --sort size --skip 9 --count 5
sorted "by size, ascending" '21 100' --sort size --order asc --count 2
sorted "the first beyond all" '' --skip 1000 --count 5
sorted "realloc, by filter" '21 2100' --chain-length-min 2
sorted "by address, all" "$("$memtui" allocations --format csv known.dat | sed 1d | sort -t, -k2,2n -k1,1n | cut -d, -f3 | tr '\n' ' ' | sed 's/ $//')" --sort address
sorted "by address, some" "$("$memtui" allocations --format csv known.dat | sed 1d | sort -t, -k2,2n -k1,1n | cut -d, -f3 | sed -n 8,20p | tr '\n' ' ' | sed 's/ $//')" \
	--sort address --skip 7 --count 13
"$memtui" allocations --sort lifetime known.dat >out && [ "$(grep -c ' live ' out)" = 13 ] && [ "$(wc -l <out)" = 53 ] && ok "allocations: text" || not_ok "allocations: text" "$(wc -l <out)"

# ---- other programs: C++ with long names, many groups; no allocation at all ----
cat >odd.cc <<'CC'
#include <map>
#include <string>
#include <vector>
struct thing { int *p; thing &operator<<(int n) { p = new int[n]; return *this; } bool operator()(const char *) { p = new int[5]; return true; } };
template <typename A, char C = '<'> __attribute__((noinline)) A *make(std::vector<A> &v) { v.push_back(A()); return new A(v.back()); }
int main()
{
	std::map<std::string, std::vector<thing>> m;
	for (int i = 0; i < 100; i++)
		*make<thing, '&'>(m["a string that is too long for its own place " + std::to_string(i % 7)]) << 7;
	static auto *kept = new std::map<std::string, std::vector<thing>>(m);
	return !thing()("x") && kept;
}
CC
if g++ -O1 -g -o odd odd.cc 2>err && "$memtui" record -o odd.dat ./odd 2>err; then all odd odd.dat '' ''; else not_ok odd "$(head -n 3 err)"; fi
printf 'int main(void) { return 0; }' >none.c
cc -o none none.c && "$memtui" record -o none.dat ./none 2>err
all "no allocation" none.dat '' ''
if "$memtui" record -o leak.dat "$build/bench/leak" 20000 2>err; then all leak leak.dat '' ''; else not_ok leak "$(tail -n 1 err)"; fi

# ---- names that a linker takes and nothing else expects ----
cat >hostile.c <<'C'
#include <stdlib.h>
#include <string.h>
#define F(n, size) __attribute__((noinline)) void *f##n(void) { char *p = malloc(size); memset(p, 1, size); return p; }
F(1, 1001) F(2, 1020) F(3, 1300) F(4, 4000) F(5, 50000) F(6, 1007) F(7, 600)
int main(void) { return !f1() | !f2() | !f3() | !f4() | !f5() | !f6() | !f7(); }
C
cc -O1 -fno-omit-frame-pointer -c -o hostile.o hostile.c && objcopy \
	--redefine-sym "f1=</title><script>alert('1')</script>&amp;\"" \
	--redefine-sym $'f2=a;b c\nd 7\te\rf' \
	--redefine-sym $'f3=\x01\x02\x1b[2J\x7f' \
	--redefine-sym $'f4=\xff\xc3(\xed\xa0\x80\xef\xbf\xbe\xef\xbf\xbf' \
	--redefine-sym 'f5=]]>*/ \u2028\"});alert(5);//' \
	--redefine-sym $'f6=caf\xc3\xa9 \xf0\x9f\x90\x9f ,"' \
	--redefine-sym "f7=$(printf 'n%.0s' $(seq 3000))" hostile.o 2>err && cc -o hostile hostile.o &&
	"$memtui" record -o hostile.dat ./hostile 2>err || not_ok hostile "$(head -n 3 err)"
all hostile hostile.dat '' ''
agrees "hostile: an accent and a fish" flamegraph flamegraph hostile.dat $'main;caf\xc3\xa9 \xf0\x9f\x90\x9f ,"' 1007
agrees "hostile: markup" flamegraph flamegraph hostile.dat "main;</title><script>alert('1')</script>&amp;\"" 1001
agrees "hostile: separators" collapsed collapsed hostile.dat 'main;a:b c\nd 7\te\rf' 1020
"$memtui" export --as flamegraph hostile.dat >out
LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' out && not_ok "hostile: control characters" "$(LC_ALL=C grep -aoP '.{9}[\x00-\x08\x0b-\x1f\x7f]' out | head -n 1 | cat -v)" || ok "hostile: control characters"

# ---- a recording without a recorder has its events too ----
MEMTUI_OUTPUT=alone.mem LD_PRELOAD=$build/libmemtui.so ./known
all "stand-alone" alone.mem 'main;keep' 40960

# ---- the script, the viewer, the tool ----
if command -v node >/dev/null; then
	"$memtui" export --as flamegraph -f -o out.svg known.dat
	asked "$memtui" info --format json known.dat >info.json
	percent=$(python3 -c 'import json; print("%.2f" % (100 * 41960 / json.load(open("info.json"))["leaked_bytes"]))')
	node "$here/flame.js" out.svg '^(keep|DEEP)$|^keep' "$percent" >err 2>&1 && ok "flame graph's script" || not_ok "flame graph's script" "$(grep -m 1 Error err)"
	"$memtui" export --as flamegraph -f -o hostile.svg hostile.dat
	node "$here/flame.js" hostile.svg . 100.00 >err 2>&1 && ok "flame graph's script, hostile names" || not_ok "flame graph's script, hostile names" "$(grep -m 1 Error err)"
	viewer=$(find /usr/libexec/valgrind /usr/lib/*/valgrind /usr/lib/valgrind -name dh_view.js 2>/dev/null | head -n 1)
	if [ -n "$viewer" ]; then
		for t in known odd leak; do
			"$memtui" export --as dhat -f -o out $t.dat
			node "$here/viewer.js" "$viewer" out "$(asked "$memtui" info --format json $t.dat | python3 -c 'import json, sys; print(json.load(sys.stdin)["allocated_bytes"])')" >err 2>&1 &&
				ok "DHAT's viewer: $t" || not_ok "DHAT's viewer: $t" "$(grep -m 1 Error err)"
		done
	else echo "skip exports DHAT's viewer: dh_view.js is not installed"; fi
else echo "skip exports the flame graph's script and DHAT's viewer: node is not installed"; fi
if command -v valgrind >/dev/null && valgrind --tool=dhat --dhat-out-file=theirs.json ./known >/dev/null 2>&1; then
	"$memtui" export --as dhat -f -o ours.json known.dat
	python3 -c 'import json
ours, theirs = (json.load(open(f)) for f in ("ours.json", "theirs.json"))
for field in ("tb", "tbk", "gb", "gbk", "eb", "ebk"):
    a, b = (sum(p[field] for p in d["pps"]) for d in (ours, theirs))
    assert a == b, "%s: %d, valgrind %d" % (field, a, b)
assert set(theirs) == set(ours), set(theirs) ^ set(ours)
assert set(theirs["pps"][0]) - set(ours["pps"][0]) <= {"rb", "wb", "acc"}' 2>err && ok "as valgrind's DHAT" || not_ok "as valgrind's DHAT" "$(tail -n 1 err)"
else echo "skip exports as valgrind's DHAT: valgrind is not installed"; fi
go_top() { # TRACE SAMPLE-INDEX FIELD
	local want have
	"$memtui" export --as pprof -f -o top.pb.gz "$1.dat"
	want=$(asked "$memtui" info --format json "$all" "$1.dat" | python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1], d))' "$3")
	have=$(timeout 400 go tool pprof -top -unit=B -nodefraction=0 -nodecount=100000 -sample_index="$2" top.pb.gz 2>err |
		sed -n 's/^Showing nodes accounting for \([0-9]*\)B*, 100% of \([0-9]*\)B* total$/\1 \2/p')
	[ "$have" = "$want $want" ] && ok "go tool pprof: $1, $2" || not_ok "go tool pprof: $1, $2" "'$have', not $want twice; $(tail -n 1 err)"
}
if command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1; then
	for t in known odd leak hostile; do
		go_top $t inuse_space leaked_bytes
		go_top $t inuse_objects leaked_count
		go_top $t alloc_space allocated_bytes
		go_top $t alloc_objects 'allocations + reallocations'
	done
else echo "skip exports go tool pprof: go is not installed"; fi

# ---- files ----
"$memtui" export --as json known.dat >piped && "$memtui" export --as json -o - known.dat | cmp -s - piped && ok "standard output" || not_ok "standard output" ""
(umask 022; "$memtui" export --as json -o new.json known.dat)
[ "$(stat -c %a new.json)" = 644 ] && cmp -s new.json piped && ok "a new file" || not_ok "a new file" "$(stat -c %a new.json)"
fails "an existing file" 1 'new.json: already exists; .*--force' export --as csv -o new.json known.dat
cmp -s new.json piped && ok "an existing file is left" || not_ok "an existing file is left" ""
ln -s new.json link.json
"$memtui" export --as csv -f -o link.json known.dat && [ -L link.json ] && head -n 1 new.json | grep -q '^id,kind' && ok "through a link" || not_ok "through a link" "$(ls -l link.json)"
# Somebody else's link, as in /tmp, leads memtui nowhere, whatever the kernel would do; nor does one that the user's own leads to.
if [ "$(id -u)" = 0 ]; then
	echo mine >victim
	ln -s victim theirs && chown -h 65534 theirs && ln -s theirs chain && ln -s nothing dangling && chown -h 65534 dangling
	for to in theirs chain dangling; do
		fails "somebody else's link: export to $to" 1 "(theirs|dangling): is another user's symbolic link" export --as csv -f -o $to known.dat
		fails "somebody else's link: record --outfile $to" 1 "(theirs|dangling): is another user's symbolic link" record -f -o again.dat --report --outfile $to ./known
	done
	MEMTUI_OUTPUT=link.mem LD_PRELOAD=$build/libmemtui.so ./known
	fails "somebody else's link: pack" 1 "theirs: is another user's symbolic link" pack -f -o theirs link.mem
	[ "$(cat victim)" = mine ] && [ -L theirs ] && ! [ -e nothing ] && ! [ -e again.dat ] && ok "somebody else's link: nothing is written" ||
		not_ok "somebody else's link: nothing is written" "$(ls -l victim theirs dangling again.dat 2>&1 | tail -n 4)"
else echo "skip exports somebody else's link: needs root to make one"; fi
ln -s to-come own-dangling
"$memtui" export --as csv -o own-dangling known.dat && [ -L own-dangling ] && [ -s to-come ] && ok "through a link of one's own, to a new file" ||
	not_ok "through a link of one's own, to a new file" "$(ls -l own-dangling to-come 2>&1)"
"$memtui" export --as csv -o /dev/stdout known.dat 2>err | grep -q ^id,kind && ok "/dev/stdout" || not_ok "/dev/stdout" "$(cat err)"
mkfifo to.fifo
timeout 60 cat to.fifo >from.fifo &
"$memtui" record -f -o again.dat --report --outfile to.fifo ./known >out 2>err
wait $!
grep -q "by malloc" from.fifo && ok "record --outfile into a fifo" || not_ok "record --outfile into a fifo" "$(cat err from.fifo | head -n 3)"
fails "no such folder" 1 'cannot write nowhere/x: No such' export --as csv -o nowhere/x known.dat
fails "a folder" 1 'directory' export --as csv -o . known.dat
fails "no such trace" 1 'missing.dat' export --as csv -o never.csv missing.dat
cp known.dat own.dat
ln -s own.dat own.link
fails "the trace as its own export" 1 'own.dat: is the input file' export --as csv -f -o own.dat own.dat
fails "the same, by a link" 1 'own.link: is the input file' export --as csv -f -o own.link own.dat
"$memtui" export --as csv -f -o own.dat - <own.dat >out 2>err && not_ok "the same, as standard input" "status 0" || ok "the same, as standard input"
cmp -s own.dat known.dat && ok "the trace is left" || not_ok "the trace is left" "it is replaced"
fails "full disk" 1 'No space left' export --as csv -o /dev/full known.dat
(ulimit -f 1; trap '' XFSZ; "$memtui" export --as flamegraph -o big.svg odd.dat) 2>err
[ $? = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'big.svg.*File too large' err && ok "a file that cannot grow" || not_ok "a file that cannot grow" "$(cat err)"
[ -z "$(ls -A | grep -E 'never|big|\.new$')" ] && ok "no half files" || not_ok "no half files" "$(ls -A | grep -E 'never|big|\.new$')"

cc -O1 -D_GNU_SOURCE -shared -fPIC -o libfiles.so "$here/../programs/files.c" || { not_ok "a library for files" ""; exit 1; }
# odd VARIABLE=VALUE... PROGRAM...: where files behave as that source says
# The suite may have been begun in the background, where SIGINT is ignored.
odd() { ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 env --default-signal LD_PRELOAD="$work/libfiles.so" "$@"; }
for system in A= NO_RENAMEAT2=1 NO_LINKS=1 "NO_RENAMEAT2=1 NO_LINKS=1"; do
	rm -f named.json taken.json
	odd $system "$memtui" export --as json -o named.json known.dat 2>err && cmp -s named.json piped && ok "a name: $system" || not_ok "a name: $system" "$(cat err)"
	odd $system STRUCK=.new APPEARS=taken.json "$memtui" export --as json -o taken.json known.dat 2>err
	[ $? = 1 ] && grep -q '^memtui: .*taken.json: already exists' err && [ -f taken.json ] && [ ! -s taken.json ] && ok "a name that was taken meanwhile: $system" ||
		not_ok "a name that was taken meanwhile: $system" "$(ls -l taken.json; cat err)"
done
for number in 1 2 15; do # HUP INT TERM
	(ulimit -c 0; odd STRUCK=.new OPENED=$number "$memtui" export --as csv -f -o named.json known.dat) 2>err
	[ $? = $((128 + number)) ] && cmp -s named.json piped && ok "ended by signal $number" || not_ok "ended by signal $number" "$(cat err)"
done 2>/dev/null
[ -z "$(ls -A | grep '\.new$')" ] && ok "nothing beside it" || not_ok "nothing beside it" "$(ls -A | grep '\.new$')"

# ---- the command line ----
fails "no kind" 2 'did you mean .flamegraph' export --as flamegrap known.dat
fails "no kind, no idea" 2 'expected one of flamegraph\|' export --as zzzzzzzzzz known.dat
fails "kind is missing" 2 -- 'missing --as; give one of flamegraph' export known.dat
fails "a metric that does not add up" 2 'max_size cannot be summed over backtraces' export --as flamegraph --metric max_size known.dat
fails "a metric of a fixed set" 2 'metric: not with .pprof' export --as pprof --metric size known.dat
fails "a view of one view" 2 'what: not with .dhat' export --as dhat --what tree known.dat
fails "no view" 2 'groups\|tree\|timeline\|' export --as json --what wood known.dat
fails "bad regex" 2 'expected' export --as json --function-regex '(' -o never.json known.dat
exit $bad
