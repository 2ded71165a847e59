#!/usr/bin/env bash
# images: the programs that one process runs one after another are one recording: check judges them together. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
build_programs -Wall -Wextra -Werror -O1 -g -fno-builtin -- chain
judge() { "$memtui" check --no-builtin-suppressions "$@" >out 2>err; }
exits() { # STATUS CHECK-ARGS...: what is wrong
	local want=$1
	shift
	judge "$@"
	is "status $?" "status $want"
}
says() { for w; do grep -qE -- "$w" out || echo "no '$w' in: $(head -c 500 out err)"; done; }
value() { judge --format json "$@"; python3 -c 'import json,sys; d = json.load(open("out")); print(*[l["value"] for l in d["limits"]], d["holds"], len(d["images"]), d["missing_images"])' 2>&1 | tail -n 1; }
record() { rm -f t.dat*; "$memtui" record -o t.dat -- "$@" >record.out 2>record.err; }
all=(--max-leaked 0 --max-leaked-count 0 --max-peak 1G --max-allocations 1M --max-allocated 1G --max-temporary 1M)

# ---- leaks are those of the last program; peaks the highest; the rest a sum ----
record ./chain 100:50:7 300:1000:5 20:30:0
say "every program has a trace" "$(is "$(echo t.dat*)" "t.dat t.dat.exec0 t.dat.exec1")"
say "numbers of one process" "$(is "$(value "${all[@]}" t.dat)" "0 0 300000 420 305600 3 True 2 0")"
say "it passes, and says with what" "$(exits 0 "${all[@]}" t.dat)$(
	says '^judged together with 2 programs .*: t.dat.exec0, t.dat.exec1$' '^not counted as leaked: 5.2k in 12 blocks ')"
say "a peak of an earlier program fails, and is named" "$(exits 1 --max-peak 200k t.dat)$(
	says '^FAIL +peak +293k, at most 200k$' '^ +293k in t.dat.exec1$' 'memtui report --sort at_peak_size t.dat.exec1 ')$(
	grep -q 'in t.dat$\|in t.dat.exec0$' out && echo "blames others: $(cat out)")"
say "allocations add up, and each one's are named" "$(exits 1 --max-allocations 419 t.dat)$(
	says '^FAIL +allocations +420, ' '^ +100 in t.dat.exec0$' '^ +300 in t.dat.exec1$' '^ +20 in t.dat$')"
say "--this-image" "$(exits 0 --this-image --max-allocations 20 t.dat)$(is "$(value --this-image --max-allocations 20 t.dat)" "20 True 0 0")"
say "a filter holds for each" "$(is "$(value --max-allocations 1 --size-min 1000 t.dat)" "300 False 2 0")"
say "an earlier program by its own name" "$(exits 1 t.dat.exec1)$(says '^FAIL +leaked +4.9k')$(exits 0 --max-allocations 300 t.dat.exec1)"
record ./chain 100:50:0 10:500:3
say "the last program's leak fails" "$(exits 1 t.dat)$(says '^FAIL +leaked +1.5k')$(is "$(value t.dat)" "1500 False 1 0")"
say "info and report name the one before" "$(for v in info report; do "$memtui" $v t.dat | grep -q 'ran 1 other program before this one: t.dat.exec0 is its trace' || echo "$v does not; "; done)"
record ./chain 10:50:0 10:50:0 10:50:0
say "a middle one names the first alone" "$("$memtui" info t.dat.exec1 | grep -q 'ran 1 other program before this one: t.dat.exec0 is' || "$memtui" info t.dat.exec1 | grep other)"

# ---- FAIL before UNKNOWN before PASS ----
unknown() { # NAME WORDS: t.dat cannot be judged, unless it fails or only what is there is asked for
	say "$1 is UNKNOWN" "$(exits 1 --max-peak 1M t.dat)$(says '^UNKNOWN +peak' "$2" '^--this-image ')$(
		exits 1 t.dat)$(says '^UNKNOWN +leaked')$(exits 0 --this-image --max-peak 1M t.dat)$(exits 0 --allow-incomplete --max-peak 1M t.dat)"
	say "$1: what fails still fails" "$(exits 1 --max-allocations 9 t.dat)$(says '^FAIL +allocations')"
}
mv t.dat.exec0 kept
unknown "a missing first one" '^t.dat.exec0: not found: '
mv kept t.dat.exec0; mv t.dat.exec1 kept
unknown "a missing second one" '^t.dat.exec1: not found: '
mv t.dat.exec0 other
unknown "without any of them" '^t.dat.exec0 and 1 more traces: not found: '
mv other t.dat.exec0
echo text >t.dat.exec1
unknown "one that is no trace" '^not judged: t.dat.exec1 is not a memtui trace'
cp t.dat t.dat.exec1
unknown "a copy of the last one" '^not judged: t.dat.exec1: is not of this process'
"$memtui" record -f -o other.dat -- ./chain 1:1:0 >/dev/null 2>&1
cp other.dat t.dat.exec1
unknown "another process's" '^not judged: t.dat.exec1: is not of this process'
head -c $(($(stat -c %s kept) / 2)) kept >t.dat.exec1
unknown "one that is cut" '^t.dat.exec1: the trace is incomplete'
mkfifo pipe; rm t.dat.exec1; mv pipe t.dat.exec1
say "a FIFO hangs nothing" "$(timeout 20 "$memtui" check t.dat >out 2>err; is $? 1)$(says '^not judged: ')"
rm t.dat.exec1; mv kept t.dat.exec1
mkdir far && ln -s ../t.dat far/link && say "a link leads to them" "$(is "$(value far/link)" "0 True 2 0")"
"$memtui" record -f -o t.dat -- sh -c "exec 3<&1; exec ./chain 10:50:0 10:60:0" >/dev/null 2>&1
say "a shell before them" "$(exits 0 t.dat)$(is "$(echo t.dat*)" "t.dat t.dat.exec0 t.dat.exec1")"

# ---- recordings without a recorder have the same names ----
alone() { rm -f ./*.mem*; LD_PRELOAD=$lib MEMTUI_OUTPUT=$1 "${@:2}" >alone.out 2>alone.err || echo "status $?: $(head -c 300 alone.err); "; }
say "stand-alone: every program has a file, the last one the name" "$(alone a.mem ./chain 100:50:7 300:1000:5 20:30:0)$(
	is "$(echo a.mem*)" "a.mem a.mem.exec0 a.mem.exec1")$(is "$(value "${all[@]}" a.mem)" "0 0 300000 420 305600 3 True 2 0")$(
	is "$(field a.mem.exec0 allocations) $(field a.mem.exec1 images_before)" "100 1")"
say "stand-alone: names of functions" "$("$memtui" groups a.mem.exec1 2>&1 | grep -q 'in step\|step ' || "$memtui" groups a.mem.exec1 2>&1 | head -c 300)"
say "stand-alone: with the process's number" "$(alone a_%p.mem ./chain 10:1:0 20:1:0)$(is "$(echo a_*.mem*)" "$(set -- a_*.mem; echo "$1 $1.exec0")")"
say "stand-alone: a forked child that executes" "$(alone a.mem sh -c '(./chain 1:1:1 2:2:2 3:3:3); exec ./chain 9:9:9')$(
	is "$(echo a.mem* | sed -E 's/mem\.[0-9]+/mem.N/g')" "a.mem a.mem.N a.mem.N.exec0 a.mem.N.exec1 a.mem.N.exec2 a.mem.exec0")$(is "$(field a.mem allocations images_before)" "9 1")"
say "stand-alone: what others have stays" "$(alone a.mem true; echo text >a.mem; echo text >a.mem.exec0; cp a.mem kept
	LD_PRELOAD=$lib MEMTUI_OUTPUT=a.mem ./chain 1:1:0 2:2:0 >alone.out 2>&1; cmp a.mem kept 2>&1; cmp a.mem.exec0 kept 2>&1
	is "$(echo a.mem*)" "a.mem a.mem.1 a.mem.1.exec0 a.mem.exec0")"
say "stand-alone: an earlier recording of the name stays" "$(alone a.mem ./chain 1:1:0; cp a.mem kept
	LD_PRELOAD=$lib MEMTUI_OUTPUT=a.mem ./chain 1:1:0 2:2:0 >alone.out 2>&1; cmp a.mem kept 2>&1
	is "$(echo a.mem*)" "a.mem a.mem.1 a.mem.1.exec0")"
# The same number as the process has now, by a clock that says it began before the process did: another one's.
gcc -O1 -I"$top" -o earlier -x c - <<'C' || { echo "not ok images earlier cannot be built"; exit 1; }
#define _GNU_SOURCE
#include <core/wire.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) /* FILE SECONDS PROGRAM...: FILE, as if begun by this process so long ago */
{
	int fd = argc > 3 ? open(argv[1], O_RDWR) : -1;
	struct mt_wire_header h;
	uint64_t ns = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000000000ull : 0;

	if (fd < 0 || pread(fd, &h, sizeof h, 0) != sizeof h)
		return 2;
	h.pid = (uint32_t)getpid();
	h.start_unix_ns -= ns;
	if (pwrite(fd, &h, sizeof h, 0) != sizeof h)
		return 2;
	setenv("LD_PRELOAD", getenv("LIBRARY"), 1);
	setenv("MEMTUI_OUTPUT", argv[1], 1);
	execv(argv[3], argv + 3);
	return 3;
}
C
for ago in 0 3600; do
	rm -f a.mem*
	want="a.mem a.mem.1"; [ $ago != 0 ] || want="a.mem a.mem.exec0"
	say "stand-alone: a file of its number that began $ago s before" "$(
		LIBRARY=$lib sh -c "LD_PRELOAD=$lib MEMTUI_OUTPUT=a.mem ./chain 1:1:0; exec ./earlier a.mem $ago ./chain 2:2:0" 2>&1; is "$(echo a.mem*)" "$want")"
done
say "stand-alone: an exec that fails loses nothing" "$(alone a.mem "$(python3 -c 'import sys; print(sys.executable)')" -c 'import os
try: os.execv("/nowhere", ["x"])
except OSError: [bytearray(100000) for i in range(100)]')$(is "$(echo a.mem*) $(field a.mem complete)" "a.mem True")"

# ---- what an earlier program did not show ----
gcc -O1 -static -o static -x c - <<<'int main(void) { return 0; }' 2>build.err
if [ -x static ]; then
	record sh -c "./static; exec ./chain 10:50:0"
	say "a blind spot of an earlier program is UNKNOWN" "$(exits 1 t.dat)$(says '^UNKNOWN' 'not seen: .*static ' '^--allow-unseen')$(exits 0 --allow-unseen static t.dat)"
else skip "a blind spot of an earlier program is UNKNOWN" "no static libc"; fi
