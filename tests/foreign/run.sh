#!/bin/bash
# run.sh BUILD: what heaptrack has recorded, read by memtui; what memtui has recorded, read by heaptrack_print and ms_print.
# Prints 'ok NAME', 'skip NAME: why' or 'not ok NAME: why'.
. "$(dirname "$0")/../suite.sh"
work=$tmp
export TMPDIR=$tmp/temporary # what others make elsewhere at the same time is not ours
mkdir "$TMPDIR"

has() { command -v "$1" >/dev/null; }
# heap NAME WHAT FILE: writes NAME.json: what heaptrack.py finds by reading or printing, or memtui's info (and with more its arguments)
heap() {
	if [ "$2" = info ]; then
		asked "$memtui" info --format json --no-builtin-suppressions "$3" >"$1.json" 2>"$1.err"
	else
		python3 "$here/heaptrack.py" "$2" "$3" >"$1.json" 2>"$1.err"
	fi || echo "{}" >"$1.json"
}
# holds NAME EXPRESSION FILE...: it holds of the JSON files by the names a, b, c
holds() {
	local name=$1 expression=$2
	shift 2
	if python3 -c 'import json, sys
a, b, c = ([json.load(open(f + ".json")) for f in sys.argv[2:]] + [{}, {}])[:3]
sys.exit(0 if eval(sys.argv[1]) else 1)' "$expression" "$@" 2>holds.err; then
		ok "$name"
	else
		not_ok "$name" "$expression does not hold: $(for f in "$@"; do head -c 600 "$f.json"; done) $(tail -n 1 holds.err)"
	fi
}
# fails NAME STATUS WORDS ARGS...: exits with the status and says one line on stderr that has the words
fails() {
	local name=$1 status=$2 words=$3
	shift 3
	timeout 240 "$memtui" "$@" >fails.out 2>fails.err </dev/null
	local got=$?
	if [ $got != "$status" ]; then
		not_ok "$name" "status $got, expected $status: $(head -c 300 fails.err)"
	elif [ "$(wc -l <fails.err)" != 1 ] || ! grep -qE -- "$words" fails.err; then
		not_ok "$name" "said: $(head -c 400 fails.err)"
	else
		ok "$name"
	fi
}

# ---- a file by hand, whose answers are worked out by hand ----
cp "$here/sample.heaptrack" plain
truth='[a[k] for k in ("allocations", "frees", "reallocations", "allocated_bytes", "peak_bytes", "peak_seconds", "leaked_bytes",
	"leaked_count", "temporary_count", "wall_seconds", "rss_bytes", "pid", "start_time", "complete")] == [8, 5, 0, 8996, 8448,
	0.01, 384, 3, 3, 0.02, 384 * 4096, 0, None, True] and a["command"] == ["./sample", "--with", "an", "argument"]'
heap plain info plain
holds "a file of heaptrack's" "$truth" plain
# heaptrack came to a running program, which then frees a block from before: no error, and not unknown
sed -e '3a A' -e '0,/^- 0$/s//- 0\n- 0/' plain >joined
heap joined info joined
holds "a block from before heaptrack came" '[a[k] for k in ("frees", "inherited_frees", "unknown_frees")] == [5, 1, 0]' joined
asked "$memtui" info joined >joined.info 2>&1
asked "$memtui" errors joined >joined.errors 2>&1
say "it is no error" "$(grep -q '1 free of a block from before the recording began' joined.info || head -c 800 joined.info)$(
	grep -q '^1 free of blocks from before the recording began: no errors' joined.errors || head -c 400 joined.errors)$(
	grep -q '^0 frees of addresses that were never allocated' joined.errors || head -c 400 joined.errors)"
gzip -c plain >packed.gz
heap gzip info packed.gz
holds "the same by gzip" "$truth" gzip
cp "$here/sample.heaptrack.zst" packed.zst
heap zstd info packed.zst
holds "the same by zstd" "$truth" zstd
cat packed.gz packed.gz >twice.gz
fails "two files in one are told" 0 'from line 45 on .it has two headers' info twice.gz
# What the program itself suppresses (__lsan_default_suppressions) is in the file, a line each.
{ cat plain && printf 'S leak:^small$\nS nonsense\nS # a comment\n'; } >own
asked "$memtui" check --format json own >own.json 2>own.err
holds "the program's own suppressions" 'a["suppressed_bytes"] == 256 and a["limits"][0]["value"] == 128 and not a["holds"]' own
grep -q "__lsan_default_suppressions:2:1: invalid rule 'nonsense'; .*; ignored" own.err && ok "a suppression that is no rule" ||
	not_ok "a suppression that is no rule" "$(cat own.err)"
asked "$memtui" check --format json --no-builtin-suppressions own >own.json 2>own.err
holds "without the program's own suppressions" 'a["suppressed_bytes"] == 0 and a["limits"][0]["value"] == 384' own
"$memtui" pack -o own.dat own 2>own.err
asked "$memtui" check --format json own.dat >own.json 2>own.err
holds "the program's own suppressions, packed" 'a["suppressed_bytes"] == 256' own
"$memtui" pack -o packed.dat packed.zst 2>pack.err
heap packed info packed.dat
holds "packed as a trace" "$truth" packed
sed 's/^v 10400 3/v 10300 2/; s/^s [0-9a-f]* /s /' plain >older
heap older info older
holds "the format of heaptrack 1.3" "$truth" older
asked "$memtui" groups --format json --no-builtin-suppressions --sort leaked_size plain >groups.json 2>groups.err
holds "groups, kinds and inline frames" '[(g["kind"], g["all"]["leaked_size"], g["all"]["allocated_count"], g["all"]["temporary_count"], [f["function"] for f in g["backtrace"]])
	for g in a] == [("unknown", 256, 3, 1, ["small", "main"]), ("unknown", 128, 3, 1, ["0x402000", "main"]),
	("new", 0, 2, 1, ["inner", "main"])]' groups
asked "$memtui" timeline --format json plain >timeline.json 2>timeline.err
if python3 -m json.tool <timeline.json >/dev/null; then ok "timeline"; else not_ok "timeline" "$(head -c 200 timeline.err)"; fi
for packing in plain packed.gz packed.zst; do
	cat $packing | asked "$memtui" info --format json --no-builtin-suppressions - >piped.json 2>piped.err || echo "{}" >piped.json
	holds "$packing on a pipe" "$truth" piped
done
grep -q '^memtui: standard input was recorded by heaptrack' piped.err && ok "a pipe's note" || not_ok "a pipe's note" "$(cat piped.err)"
cat packed.dat | asked "$memtui" info --format json --no-builtin-suppressions - >piped.json 2>piped.err
holds "a trace on a pipe" "$truth" piped
left=$(find /proc/self/fd/ "${TMPDIR:-/tmp}" -maxdepth 1 -name 'memtui-*' -newer plain 2>/dev/null | wc -l)
[ "$left" = 0 ] && ok "no temporary file is left" || not_ok "no temporary file is left" "$left"

# ---- damage: one sentence, and what came before ----
if has zstd; then
	{ cat plain && python3 -c 'import random
random.seed(1)
for i in range(300000): print("a %x 2" % random.getrandbits(40))'; } | zstd -q -o cut.zst
	truncate -s $(($(stat -c %s cut.zst) / 2)) cut.zst
	fails "a cut file" 0 'cut.zst: damaged after line [0-9]{4,} .its compressed data are incomplete.; memtui read the part before' info cut.zst
	heap cut info cut.zst
	holds "what came before the cut is kept" 'a["allocations"] == 8 and a["leaked_bytes"] == 384 and not a["complete"]' cut
else
	skip "a cut file" "zstd is not installed"
fi
for size in 20 100 250; do
	head -c $size packed.zst >first.zst
	fails "a file cut within its first block, at $size" 1 "first.zst: ends at byte $size, before any of its zstd data" info first.zst
done
fails "packing one" 1 'first.zst: ends at byte 250' pack first.zst
cat first.zst | "$memtui" report - >piped.out 2>piped.err && not_ok "one on a pipe" "status 0" ||
	{ grep -q 'standard input: ends at byte 250' piped.err && ok "one on a pipe" || not_ok "one on a pipe" "$(cat piped.err)"; }
{ head -c 40 packed.zst && head -c 300 /dev/zero; } >damaged.zst
fails "a file damaged within its first block" 1 'damaged.zst: damaged within its first 340 bytes .*; copy it again' info damaged.zst
gzip -c packed.dat >trace.gz
fails "a packed trace of memtui's" 1 "trace.gz: compressed with gzip, .*'gzip -dc trace.gz . memtui open -'" info trace.gz
head -c $(($(stat -c %s packed.gz) - 30)) packed.gz >cut.gz
fails "a cut gzip file" 0 'cut.gz: damaged after line [0-9]+ .its compressed data are incomplete.; memtui read the part before' info cut.gz
head -n 28 plain >short
"$memtui" info short >short.out 2>short.err
grep -q 'short: incomplete' short.err && ok "a file without end" || not_ok "a file without end" "$(cat short.err)"
for change in '25s/.*/+ zz/' '24s/.*/+ 7/' '23s/.*/a 100 9/' '21s/.*/t 9 1/' '20s/.*/i 401010 9/' '24s/.*/? 1/' '26s/.*/a ffffffffffffffff 2/' '24s/.*/+/'; do
	sed "$change" plain >bad
	fails "damage by $change" 0 'bad: damaged from line 2[0-9] on .*; memtui read the part before it' info bad
done
sed '18s/.*/+ zz/' plain >bad
heap bad info bad
holds "what came before the damage is kept" 'a["allocations"] == 1 and a["frees"] == 1 and a["allocated_bytes"] == 100 and not a["complete"]' bad
sed 's/^v .*/v 20000 9/' plain >later
fails "a later format" 1 'later cannot be read: it was written by a newer heaptrack' info later
sed 's/^v .*/v 10000 0/' plain >before
fails "an earlier format" 1 'before cannot be read: it was written by a heaptrack before 1.0' info before
printf 'v 10400 3\nx 3 ./a\n' >raw
fails "raw data" 1 'raw: raw data of heaptrack' info raw
python3 - plain "$memtui" <<'P'
import random, subprocess, sys
good = open(sys.argv[1], "rb").read()
random.seed(7)
for i in range(150):
    data = bytearray(good)
    for _ in range(random.randint(1, 6)):
        at = random.randrange(10, len(data))
        data[at] = random.choice(b"0123456789abcdef +-\n\0\xff")
    open("fuzz", "wb").write(data)
    p = subprocess.run([sys.argv[2], "report", "fuzz"], capture_output=True, timeout=240)
    if p.returncode not in (0, 1) or p.stderr.count(b"\n") > 2:
        print("not ok foreign hostile files: status %d, %r" % (p.returncode, p.stderr[:300]))
        open("hostile", "wb").write(data)
        sys.exit(0)
print("ok foreign hostile files")
P

# ---- programs ----
cat >prog.cc <<'C'
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
volatile void *sink;
static __attribute__((noinline)) void *keep(size_t n) { void *p = malloc(n); sink = p; return p; }
static __attribute__((noinline)) void use(size_t n) { void *p = malloc(n); sink = p; free(p); }
static void many(int seed)
{
	std::vector<std::string *> all;
	for (int i = 0; i < 300; i++)
		all.push_back(new std::string(20 + (i * 7 + seed) % 200, 'x'));
	for (size_t i = 0; i < all.size(); i += 1 + i % 3)
		delete all[i];
}
int main()
{
	for (int i = 0; i < 20; i++)
		keep(100 + i % 4);
	for (int i = 0; i < 50; i++)
		use(1000 + i % 3);
	void *p = malloc(10);
	for (int i = 0; i < 30; i++)
		p = realloc(p, 10 + i * 100);
	char *c = (char *)calloc(10, 10), *array = new char[3000];
	many(1);
	std::thread one(many, 2), two(many, 3);
	one.join(), two.join();
	free(c);
	delete[] array;
	keep(5);
	return p == nullptr;
}
C
g++ -g -O1 -pthread -o prog prog.cc || not_ok "building the program" "g++ failed"
cat >alone.cc <<'C'
#include <cstdlib>
#include <vector>
volatile void *sink;
static __attribute__((noinline)) void *keep(size_t n) { void *p = malloc(n); sink = p; return p; }
static __attribute__((noinline)) void leaf(size_t n) { free(keep(n)); }
static __attribute__((noinline)) void grow(int n)
{
	std::vector<int> v; /* the free of the old half stands between an allocation and its end */
	for (int i = 0; i < n; i++)
		v.push_back(i);
}
static void *deep(int levels) { void *p = levels ? deep(levels - 1) : keep(77); sink = p; return p; }
int main()
{
	for (int i = 0; i < 40; i++)
		grow(1 + i % 9), leaf(10 + i % 3), keep(i);
	void *a = keep(64), *b = keep(64), *c = keep(64); /* the same stack but for the line, then the same */
	free(c), free(a), free(b);
	void *same[10];
	for (int i = 0; i < 10; i++)
		same[i] = keep(48);
	for (int i = 0; i < 9; i++)
		free(same[i]);
	void *p = keep(10);
	for (int i = 1; i < 20; i++)
		p = realloc(p, 100 * i);
	if (realloc(p, (size_t)1 << 46)) /* fails: the block stays */
		return 1;
	for (int i = 0; i < 3; i++)
		deep(i * 20);
	char *big = new char[100000];
	sink = big;
	delete[] big;
	return 0;
}
C
g++ -g -O1 -o alone alone.cc || not_ok "building the program" "g++ failed"
for p in prog alone; do
	"$memtui" record -o $p.dat ./$p >record.out 2>&1 || not_ok "recording $p" "$(tail -n 1 record.out)"
	heap $p info $p.dat
done

# ---- heaptrack's tools on what memtui has recorded ----
totals='(a["allocations"] + a["reallocations"], a["allocated_bytes"], a["leaked_bytes"], a["peak_bytes"]) == tuple(b[k] for k in ("calls", "bytes", "leaked", "peak"))'
for p in prog alone; do
	for packing in zst gz txt; do
		"$memtui" export --as heaptrack -o $p.$packing $p.dat 2>export.err || not_ok "export $p.$packing" "$(cat export.err)"
	done
	gzip -dc $p.gz | cmp -s - $p.txt && ok "$p: gzip holds the same" || not_ok "$p: gzip holds the same" "it does not"
	"$memtui" export --as heaptrack $p.dat 2>export.err | cmp -s - $p.txt && ok "$p: standard output is the same" ||
		not_ok "$p: standard output is the same" "it is not: $(cat export.err)"
	heap $p.read read $p.txt
	holds "$p: the file adds up to info" "$totals and a[\"leaked_count\"] == b[\"blocks\"] and b[\"unknown\"] == 0" $p $p.read
	if has heaptrack_print; then
		for packing in zst gz txt; do
			heap $p.print print $p.$packing
			holds "$p: heaptrack_print of $packing agrees with info" "$totals" $p $p.print
		done
		holds "$p: temporary by heaptrack's definition" 'a["temporary"] == b["adjacent"] <= c["temporary_count"]' $p.print $p.read $p
	else
		skip "$p: heaptrack_print" "heaptrack is not installed"
	fi
	# ---- round trip ----
	heap $p.back info $p.zst
	holds "$p: exported and read again, the totals are the same" '[a["allocations"] + a["reallocations"]] + [a[k] for k in ("allocated_bytes", "leaked_bytes", "leaked_count", "peak_bytes")] == [b[k] for k in ("allocations", "allocated_bytes", "leaked_bytes", "leaked_count", "peak_bytes")] and b["complete"]' $p $p.back
	suppressed=$(asked "$memtui" info --format json $p.dat $p.zst 2>/dev/null | python3 -c 'import json, sys
print(*[(d["suppressed_bytes"], d["leaked_bytes"]) for d in json.load(sys.stdin)], sep="; ")')
	[ "${suppressed%;*}" = "${suppressed#*; }" ] && [ "${suppressed#(0,}" = "$suppressed" ] && ok "$p: the same is suppressed in both" ||
		not_ok "$p: the same is suppressed in both" "$suppressed"
	for f in dat zst; do
		asked "$memtui" groups --format json --no-builtin-suppressions $p.$f 2>groups.err | python3 -c 'import collections, json, sys
sums = collections.Counter()
for g in json.load(sys.stdin):
    kind = g["kind"] if g["kind"] in ("new", "new[]") else "other"
    key = kind + ";" + ";".join("%s:%s:%d:%s" % (f["function"], f["source"], f["line"], f["module"]) for f in g["backtrace"])
    for k in ("leaked_size", "leaked_count", "size", "allocated_count", "at_peak_size", "at_peak_count", "min_size", "max_size"):
        sums[key + " " + k] += g["all"][k] if k[:3] not in ("min", "max") else 0
json.dump(sums, open(sys.argv[1], "w"), sort_keys=True)' $p.groups.$f.json
	done
	holds "$p: and so are the groups" 'a == b and len(a) > 20' $p.groups.dat $p.groups.zst
done
holds "alone: temporary of one thread is the same for both" 'a["temporary_count"] == b["adjacent"] == c["temporary_count"]' alone alone.read alone.back
"$memtui" export --as heaptrack --size-min 1000 -o large.txt alone.dat 2>export.err
heap large read large.txt
"$memtui" export --as csv --no-builtin-suppressions --size-min 1000 alone.dat 2>export.err | python3 -c 'import csv, json, sys
rows = list(csv.DictReader(sys.stdin))
def total(name):
    key = [k for k in rows[0] if k.endswith("only_matched." + name) or k == "only_matched_" + name or k == name][0]
    return sum(int(r[key]) for r in rows)
json.dump({k: total(k) for k in ("size", "allocated_count", "leaked_size")}, open("large.csv.json", "w"))'
holds "a filter is honoured" 'b["size"] == a["bytes"] > 100000 and b["allocated_count"] == a["calls"] and b["leaked_size"] == a["leaked"]' large large.csv
"$memtui" export --as heaptrack -o prog.zst prog.dat >fails.out 2>&1 && not_ok "an existing file stays" "status 0" || ok "an existing file stays"

# ---- massif ----
for p in prog alone; do
	"$memtui" export --as massif -o $p.massif $p.dat 2>export.err || not_ok "export massif" "$(cat export.err)"
	"$memtui" export --as massif --threshold 0 -o $p.massif.all $p.dat
	python3 - $p.massif.all $p.json >massif.out 2>&1 <<'P' && ok "$p: massif's file adds up" || not_ok "$p: massif's file adds up" "$(tail -n 1 massif.out)"
import json, re, sys
text, info = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
parts = text.split("#-----------\nsnapshot=")[1:]
times = [int(re.search(r"time=(\d+)", p)[1]) for p in parts]
heaps = [int(re.search(r"mem_heap_B=(\d+)", p)[1]) for p in parts]
assert times == sorted(times) and max(heaps) == info["peak_bytes"], (times, heaps)
trees = {re.search("heap_tree=(.*)", p)[1]: p.split("heap_tree=")[1].split("\n")[1:] for p in parts}
def check(lines, depth=0):
    """Each node has as many children as it says; they add up to no more than it, at the root to all of it."""
    n, size = re.match(r" {%d}n(\d+): (\d+) " % depth, lines.pop(0)).groups()
    children = [check(lines, depth + 1) for _ in range(int(n))]
    assert sum(children) <= int(size) and children == sorted(children, reverse=True), (depth, size, children)
    assert depth or sum(children) == int(size), (size, children)
    return int(size)
for kind, total in (("peak", info["peak_bytes"]), ("detailed", info["leaked_bytes"])):
    lines = [l for l in trees[kind] if l]
    assert check(lines) == total and not lines, (kind, total, lines)
P
	if has ms_print; then
		ms_print $p.massif >$p.printed 2>&1
		peak=$(python3 -c 'import json, sys; print("{:,}".format(json.load(open(sys.argv[1]))["peak_bytes"]))' $p.json)
		leaked=$(python3 -c 'import json, sys; print("{:,}".format(json.load(open(sys.argv[1]))["leaked_bytes"]))' $p.json)
		number=$(sed -n 's/.*\[\([0-9]*\) (peak), [0-9]*\]/\1/p' $p.printed)
		if awk -v n="$number" -v peak="$peak" '$1 == n && $3 == peak' $p.printed | grep -q . &&
			grep -qF "100.00% (${peak}B) (heap" $p.printed && grep -qF "100.00% (${leaked}B) (heap" $p.printed; then
			ok "$p: ms_print's peak and end agree with info"
		else
			not_ok "$p: ms_print's peak and end agree with info" "$number $peak: $(grep -n 'peak\|100.00%' $p.printed | head -n 5)"
		fi
	else
		skip "$p: ms_print" "valgrind is not installed"
	fi
done
grep -q "below massif's threshold (01.00%)" prog.massif && ! grep -q "below massif's" prog.massif.all && ok "massif's threshold" ||
	not_ok "massif's threshold" "$(grep -c below prog.massif prog.massif.all)"
fails "suppressions in a history" 2 "suppressions: not with 'heaptrack'" export --as heaptrack --suppressions plain prog.dat
fails "a threshold that is none" 2 "threshold: invalid value 'x'" export --as massif --threshold x prog.dat
fails "a threshold for another kind" 2 "not with 'heaptrack'" export --as heaptrack --threshold 3 prog.dat

# ---- heaptrack's own numbers on what it recorded ----
if has heaptrack && has heaptrack_print; then
	(ulimit -v 8000000; timeout 240 heaptrack -o theirs ./prog) >heaptrack.out 2>&1
	file=$(ls theirs* 2>/dev/null | head -n 1)
	if [ -s "$file" ]; then
		heap ours info "$file"
		heap read read "$file"
		heap print print "$file"
		holds "heaptrack_print's calls, bytes, leaks and peak" \
			'(a["allocations"], a["allocated_bytes"], a["leaked_bytes"], a["peak_bytes"]) == tuple(b[k] for k in ("calls", "bytes", "leaked", "peak"))' ours print
		holds "the events read in another way" '(a["allocations"], a["leaked_count"], a["temporary_count"], a["unknown_frees"]) == tuple(b[k] for k in ("calls", "blocks", "temporary", "unknown"))' ours read
		holds "temporary by heaptrack's definition" 'c["temporary"] == b["as_printed"] and a["temporary_count"] >= b["adjacent"]' ours read print
	else
		not_ok "recording with heaptrack" "$(tail -n 3 heaptrack.out)"
	fi
else
	skip "heaptrack's own recording" "heaptrack is not installed"
fi
exit $bad
