#!/bin/bash
# run.sh BUILD: what heaptrack has recorded, read by memtui; what memtui has recorded, read by heaptrack_print and ms_print.
# Prints 'ok NAME', 'skip NAME: why' or 'not ok NAME: why'.
set -u
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
memtui=$build/memtui
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0

ok() { echo "ok foreign $1"; }
not_ok() {
	echo "not ok foreign $1: $2"
	bad=1
}
skip() { echo "skip foreign $1: $2"; }
has() { command -v "$1" >/dev/null; }
# heap NAME WHAT FILE: writes NAME.json: what heaptrack.py finds by reading or printing, or memtui's info (and with more its arguments)
heap() {
	if [ "$2" = info ]; then
		"$memtui" info --format json "$3" >"$1.json" 2>"$1.err"
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
	timeout 60 "$memtui" "$@" >fails.out 2>fails.err </dev/null
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
gzip -c plain >packed.gz
heap gzip info packed.gz
holds "the same by gzip" "$truth" gzip
cp "$here/sample.heaptrack.zst" packed.zst
heap zstd info packed.zst
holds "the same by zstd" "$truth" zstd
cat packed.gz packed.gz >twice.gz
fails "two files in one are told" 0 'from line 45 on .it has two beginnings' info twice.gz
"$memtui" pack -o packed.dat packed.zst 2>pack.err
heap packed info packed.dat
holds "packed as a trace" "$truth" packed
sed 's/^v 10400 3/v 10300 2/; s/^s [0-9a-f]* /s /' plain >older
heap older info older
holds "the format of heaptrack 1.3" "$truth" older
"$memtui" groups --format json --sort leaked_size plain >groups.json 2>groups.err
holds "groups, kinds and inline frames" '[(g["kind"], g["all"]["leaked_size"], g["all"]["allocated_count"], g["all"]["temporary_count"], [f["function"] for f in g["backtrace"]])
	for g in a] == [("unknown", 256, 3, 1, ["small", "main"]), ("unknown", 128, 3, 1, ["0x402000", "main"]),
	("new", 0, 2, 1, ["inner", "main"])]' groups
"$memtui" timeline --format json plain >timeline.json 2>timeline.err
if python3 -m json.tool <timeline.json >/dev/null; then ok "timeline"; else not_ok "timeline" "$(head -c 200 timeline.err)"; fi
left=$(find /proc/self/fd/ "${TMPDIR:-/tmp}" -maxdepth 1 -name 'memtui-*' -newer plain 2>/dev/null | wc -l)
[ "$left" = 0 ] && ok "no temporary file is left" || not_ok "no temporary file is left" "$left"

# ---- damage: one sentence, and what came before ----
if has zstd; then
	{ cat plain && python3 -c 'import random
random.seed(1)
for i in range(300000): print("a %x 2" % random.getrandbits(40))'; } | zstd -q -o cut.zst
	truncate -s $(($(stat -c %s cut.zst) / 2)) cut.zst
	fails "a cut file" 0 'cut.zst is damaged behind line [0-9]{4,} .its compressed data break off.; what comes before' info cut.zst
	heap cut info cut.zst
	holds "what came before the cut is kept" 'a["allocations"] == 8 and a["leaked_bytes"] == 384 and not a["complete"]' cut
else
	skip "a cut file" "zstd is not installed"
fi
head -c $(($(stat -c %s packed.gz) - 30)) packed.gz >cut.gz
fails "a cut gzip file" 0 'cut.gz is damaged behind line [0-9]+ .its compressed data break off.; what comes before' info cut.gz
head -n 28 plain >short
"$memtui" info short >short.out 2>short.err
grep -q 'short has no end' short.err && ok "a file without end" || not_ok "a file without end" "$(cat short.err)"
for change in '25s/.*/+ zz/' '24s/.*/+ 7/' '23s/.*/a 100 9/' '21s/.*/t 9 1/' '20s/.*/i 401010 9/' '24s/.*/? 1/' '26s/.*/a ffffffffffffffff 2/' '24s/.*/+/'; do
	sed "$change" plain >bad
	fails "damage by $change" 0 'bad makes no sense from line 2[0-9] on .*; what comes before was read' info bad
done
sed '18s/.*/+ zz/' plain >bad
heap bad info bad
holds "what came before the damage is kept" 'a["allocations"] == 1 and a["frees"] == 1 and a["allocated_bytes"] == 100 and not a["complete"]' bad
sed 's/^v .*/v 20000 9/' plain >later
fails "a later format" 1 'later cannot be read: it is of a later heaptrack' info later
sed 's/^v .*/v 10000 0/' plain >before
fails "an earlier format" 1 'before cannot be read: it is of a heaptrack before 1.0' info before
printf 'v 10400 3\nx 3 ./a\n' >raw
fails "raw data" 1 'raw is heaptrack.s raw data' info raw
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
    p = subprocess.run([sys.argv[2], "report", "fuzz"], capture_output=True, timeout=60)
    if p.returncode not in (0, 1) or p.stderr.count(b"\n") > 2:
        print("not ok foreign hostile files: status %d, %r" % (p.returncode, p.stderr[:300]))
        open("hostile", "wb").write(data)
        sys.exit(0)
print("ok foreign hostile files")
P

# ---- heaptrack's own numbers on what it recorded ----
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
if has heaptrack && has heaptrack_print; then
	(ulimit -v 8000000; timeout 120 heaptrack -o theirs ./prog) >heaptrack.out 2>&1
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
