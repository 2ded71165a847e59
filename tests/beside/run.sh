#!/usr/bin/env bash
# beside: what a recording tells beside the heap: maps, calls, markers, pauses, slack, memory of the process, places of
# frees. The program says in its source what is to be seen.
. "$(dirname "$0")/../suite.sh"
gcc -O1 -g -fno-builtin -pthread -I"$here/../.." -o "$tmp/beside" "$here/../programs/beside.c" || exit 1
gcc -O1 -g -o "$tmp/remaps" "$here/../programs/remaps.c" || exit 1

# holds NAME EXPRESSION ARGS...: memtui's JSON is d, for which the Python expression holds
holds() {
	local name=$1 expression=$2
	shift 2
	if "$memtui" "$@" >"$tmp/json" 2>"$tmp/err" && python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$tmp/json" "$expression" 2>>"$tmp/err"; then ok "$name"
	else not_ok "$name" "$expression; $(tail -n 1 "$tmp/err") $(head -c 600 "$tmp/json")"; fi
}

"$memtui" record --force --free-stacks -o "$tmp/t.dat" -- "$tmp/beside" 2>"$tmp/err" || not_ok record "$(cat "$tmp/err")"
own='[e for e in d if any(f["function"] == "maps" for f in e["backtrace"])]'
holds "maps are listed" "[(e['kind'], e['length'], e['of'].split()[0] if e['of'] else '') for e in $own] == [('mmap', 40960, 'anonymous'), ('mmap', 12288, 'anonymous'), ('mmap', 4096, 'file'), ('munmap', 4096, ''), ('mremap', 12288, ''), ('mremap', 20480, 'from')]" mmaps --format json "$tmp/t.dat"
holds "map_pages is named" "$own[0]['backtrace'][0]['function'] == 'map_pages'" mmaps --format json "$tmp/t.dat"
holds "maps are totalled" "(d['mapped_anonymous_bytes'], d['mapped_file_bytes'], d['maps'], d['unmaps'], d['implied_unmaps']) == (9 * 4096 + 5 * 4096, 4096, 3, 1, 0)" info --format json "$tmp/t.dat"
holds "calls are listed" '[(e["kind"], e["parameter"], e["value"]) for e in d] == [("mallopt", "M_TOP_PAD", 4096), ("malloc_trim", "pad", 0)]' mallopts --format json "$tmp/t.dat"
"$memtui" mmaps --count 1 "$tmp/t.dat" >"$tmp/text" && grep -q 'mmap.*40.0k.*rw-.*anonymous.*map_pages.*beside.c:' "$tmp/text" && [ "$(wc -l <"$tmp/text")" = 2 ] && ok "maps as text" || not_ok "maps as text" "$(cat "$tmp/text")"
"$memtui" mmaps "$tmp/t.dat" >"$tmp/text" && grep 'map_pages\|maps' "$tmp/text" | grep -c mremap | grep -qx 2 && [ "$(grep -c 'unmap (mremap)' "$tmp/text")" = "$(grep -c ' mremap .*from 0x' "$tmp/text")" ] && ok "both halves of an mremap" || not_ok "both halves of an mremap" "$(cat "$tmp/text")"
"$memtui" mallopts --format csv "$tmp/t.dat" >"$tmp/csv" && python3 -c 'import csv, sys; r = list(csv.DictReader(open(sys.argv[1]))); assert r[0]["parameter"] == "M_TOP_PAD" and r[0]["result"] == "1" and "main" in r[0]["where"], r' "$tmp/csv" && ok "calls as csv" || not_ok "calls as csv" "$(cat "$tmp/csv")"
holds "the machine" "d['machine'] == {'page_bytes': $(getconf PAGESIZE), 'pointer_bits': 64, 'address_bits': 47, 'tag_mask': 0, 'byte_order': 'little', 'clock': d['machine']['clock'], 'usable_rule': 'glibc'}" info --format json "$tmp/t.dat"
holds "a marker" 'len(d["markers"]) == 1 and d["markers"][0]["text"] == "half way" and 0 < d["markers"][0]["seconds"] <= d["wall_seconds"]' info --format json "$tmp/t.dat"
holds "a pause" 'len(d["pauses"]) == 1 and d["pauses"][0]["text"] == "not this" and d["pauses"][0]["begin_seconds"] >= d["markers"][0]["seconds"] and d["pauses"][0]["end_seconds"] >= d["pauses"][0]["begin_seconds"] and d["gaps"] == [] and not d["paused"]' info --format json "$tmp/t.dat"
"$memtui" info "$tmp/t.dat" >"$tmp/text" && grep -q '^pauses  *1$' "$tmp/text" && ok "a pause within another is none" || not_ok "a pause within another is none" "$(grep pauses "$tmp/text")"
holds "what was paused" '(d["unrecorded_frees"], d["unknown_frees"], d["lost_events"], d["estimated_groups"]) == (1, 0, 0, 0)' info --format json "$tmp/t.dat"
holds "slack" 'd["usable_sizes"] and d["leaked_count"] == 1 and d["slack_bytes"] == 40 - 33' info --format json "$tmp/t.dat"
holds "who provides malloc" '"libc.so" in d["allocator"] and d["own_allocator"] == ""' info --format json "$tmp/t.dat"
holds "where blocks were freed" '[(s["count"], s["backtrace"][0]["function"]) for g in d if g["all"]["allocated_count"] == 10 for s in g["freed_by"]] == [(8, "free_here"), (2, "free_there")]' groups --format json "$tmp/t.dat"
"$memtui" timeline "$tmp/t.dat" | grep -q 'half way' && ok "a marker on the timeline" || not_ok "a marker on the timeline" "none"

# A child of vfork takes two blocks of its parent's pool and executes; the parent hands them out again: no event was lost.
cat >"$tmp/pool.c" <<'C'
#include "memtui.h"
#include <sys/wait.h>
#include <unistd.h>
static char area[4096];
int main(void)
{
	pid_t child = vfork();

	if (child == 0) {
		memtui_pool_alloc(area, area + 100, 10);
		memtui_pool_alloc(area, area + 200, 20);
		execl("/bin/true", "true", (char *)0);
		_exit(1);
	}
	waitpid(child, 0, 0);
	for (int i = 0; i < 2; i++) { /* an arena that is emptied at once */
		memtui_pool_alloc(area, area + 100, 30);
		memtui_pool_alloc(area, area + 200, 40);
	}
	memtui_pool_free(area, area + 100);
	return 0;
}
C
gcc -O1 -g -I"$here/../../preload" -o "$tmp/pool" "$tmp/pool.c" || not_ok pool "it does not compile"
"$memtui" record --force -o "$tmp/pool.dat" -- "$tmp/pool" 2>"$tmp/err"
told='(d["allocations"], d["frees"], d["leaked_bytes"], d["lost_events"], d["implied_frees"], d["estimated_groups"], d["counters"]["untold_frees"])'
holds "a pool that tells of no frees loses nothing" "$told == (6, 5, 40, 0, 0, 0, 4)" info --format json "$tmp/pool.dat"
head -c $(($(stat -c %s "$tmp/pool.dat") - 40)) "$tmp/pool.dat" >"$tmp/pool.cut"
holds "the same without an end" "$told == (6, 5, 40, 0, 0, 0, 4)" info --format json "$tmp/pool.cut"

# Several mappings in one mremap: the kernel has the last word on what is left, a list has two lines for each call.
"$memtui" record --force -o "$tmp/remaps.dat" -- "$tmp/remaps" >"$tmp/left" 2>"$tmp/err" || not_ok "record remaps" "$(cat "$tmp/err")"
left="(d['mapped_anonymous_bytes'], d['mapped_file_bytes'], d['implied_unmaps'], d['unmaps']) == ($(cat "$tmp/left"), 0, 1)"
holds "mremap of several" "$left" info --format json "$tmp/remaps.dat"
holds "mremap of several is one call" '[e["length"] // 4096 for e in d if e["kind"] == "mremap"][:6] == [10, 9, 10, 2, 4, 9]' mmaps --format json "$tmp/remaps.dat"
LD_PRELOAD=$build/libmemtui.so MEMTUI_OUTPUT=$tmp/remaps.mem "$tmp/remaps" >/dev/null
holds "stand-alone: mremap of several" "$left" info --format json "$tmp/remaps.mem"

at=$(asked "$memtui" info --format json "$tmp/t.dat" | python3 -c 'import json,sys; print("%.9f" % json.load(sys.stdin)["markers"][0]["seconds"])')
before=$(python3 -c "print('%.9fs' % ($at - 1e-6))") after=$(python3 -c "print('%.9fs' % ($at + 1e-6))")
{ "$memtui" timeline --to "$before" "$tmp/t.dat" && "$memtui" timeline --from "$after" "$tmp/t.dat"; } >"$tmp/text" && [ -s "$tmp/text" ] && ! grep -q 'half way' "$tmp/text" && "$memtui" timeline --from "$before" --to "$after" "$tmp/t.dat" | grep -q 'half way' && ok "a marker outside the range" || not_ok "a marker outside the range" "$(cat "$tmp/text")"

# The same out of a trace whose end is missing: by its events and its log.
head -c $(($(stat -c %s "$tmp/t.dat") - 40)) "$tmp/t.dat" >"$tmp/cut.dat"
holds "without an end" 'd["slack_bytes"] == 7 and len(d["markers"]) == 1 and d["unrecorded_frees"] == 1' info --format json "$tmp/cut.dat"

"$memtui" record --force -o "$tmp/plain.dat" -- "$tmp/beside" 2>"$tmp/err"
holds "no places of frees unless asked for" 'not any("freed_by" in g for g in d)' groups --format json "$tmp/plain.dat"

# Memory of the process, which is looked at once a second.
mkfifo "$tmp/in"
exec 9<>"$tmp/in"
"$memtui" record --force -o "$tmp/stay.dat" -- "$tmp/beside" stay <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
seen() { asked "$memtui" info --format json "$tmp/stay.dat" 2>/dev/null | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["arenas"] < 2)' 2>/dev/null; }
until_true seen && ok "two arenas" || not_ok "two arenas" "$("$memtui" info "$tmp/stay.dat" 2>&1 | grep -i arena)"
echo x >&9
wait $!
holds "memory of the process" '1000000 < d["arena_bytes"] < 64 << 20 and 1 << 20 < d["rss_bytes"] < 200 << 20 and d["pss_bytes"] <= d["rss_bytes"]' info --format json "$tmp/stay.dat"
holds "memory on the timeline" 'set("rss_bytes pss_bytes swap_bytes arena_bytes".split()) <= set(d) and max(x or 0 for x in d["arena_bytes"]) > 0' timeline --format json "$tmp/stay.dat"

# Stand-alone, without a recorder that could look.
LD_PRELOAD=$build/libmemtui.so MEMTUI_OUTPUT=$tmp/alone.mem "$tmp/beside" || not_ok "stand-alone" "status $?"
holds "stand-alone: maps" "$own[-1]['kind'] == 'mremap' and len($own) == 6" mmaps --format json "$tmp/alone.mem"
holds "stand-alone: the rest" 'd["slack_bytes"] == 7 and d["markers"][0]["text"] == "half way" and len(d["pauses"]) == 1 and d["unrecorded_frees"] == 1 and "libc.so" in d["allocator"]' info --format json "$tmp/alone.mem"

# A program with a malloc of its own, which its own calls reach past the tracer.
cat >"$tmp/own.c" <<'C'
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
__attribute__((visibility("protected"))) void *malloc(size_t n) { used = (used + 15) & ~15ul; used += n; return pool + used - n; }
__attribute__((visibility("protected"))) void free(void *p) { (void)p; }
__attribute__((visibility("protected"))) void *calloc(size_t n, size_t m) { return malloc(n * m); }
__attribute__((visibility("protected"))) void *realloc(void *p, size_t n) { char *to = malloc(n), *from = p; for (size_t i = 0; from && i < n; i++) to[i] = from[i]; return to; }
int main(void) { for (int i = 0; i < 100; i++) free(malloc(10)); return 0; }
C
gcc -O0 -fno-builtin -rdynamic -o "$tmp/own" "$tmp/own.c" || exit 1
"$memtui" record --no-patch --force -o "$tmp/own.dat" -- "$tmp/own" 2>"$tmp/own.err"
holds "a malloc of its own" 'd["own_allocator"].endswith("/own") or d["own_allocator"] == "the program"' info --format json "$tmp/own.dat"
grep -Eq 'not seen: (/.*/own|the program) has its own malloc' "$tmp/own.err" && "$memtui" info "$tmp/own.dat" | grep -Eq '^  not seen: (/.*/own|the program) has its own malloc' && ok "which is said" || not_ok "which is said" "$(cat "$tmp/own.err")"
"$memtui" check "$tmp/own.dat" >"$tmp/out" 2>&1
[ $? = 1 ] && grep -q '^UNKNOWN leaked' "$tmp/out" && grep -q 'has its own malloc' "$tmp/out" && ok "and no check passes by it" || not_ok "and no check passes by it" "$(cat "$tmp/out")"
