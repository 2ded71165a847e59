#!/usr/bin/env bash
# run.sh BUILD: stacks, exact on every event. Programs that nobody here wrote, and some made to be hard to
# unwind, are recorded in check mode: no stack may differ from a full walk, none from libgcc's unwinder, every event must
# have been compared with the one and enough of them with the other, and output and status must be those of an untraced run.
set -u
export MEMTUI_CACHE= # names are looked up anew, and none are left behind
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
out=$build/stacks-tests
mkdir -p "$out" && cd "$out" || exit 2
memtui=$build/memtui
export LC_ALL=C PYTHONMALLOC=malloc PYTHONHASHSEED=0 PERL_HASH_SEED=0 MEMTUI_CHECK=1
export memtui out
. "$here/lib.sh"

# one NAME CUT COMMAND: CUT is how many stacks must be cut, and then how many of those that were compared with libgcc's
# must have been so only in part or not at all; - for any number. LIMIT:CUT to record with that limit.
one() {
	local name=$1 cut=$2 command=$3 file=$out/${1// /-} limit= part status traced
	case $cut in *:*) limit="--depth ${cut%:*}" cut=${cut#*:} ;; esac
	part=${cut#* } cut=${cut% *}
	timeout 240 bash -c "$command" >"$file.want" 2>&1 </dev/null
	status=$?
	timeout 240 bash -c "exec \"$memtui\" record --force $limit -o $file.dat -- $command" >"$file.out" 2>"$file.err" </dev/null
	traced=$?
	sed '/^memtui: /d' "$file.err" >>"$file.out"
	local n checked wrong otherwise wrong_otherwise partly cuts lost why=
	read -r n checked wrong otherwise wrong_otherwise partly cuts lost < <(counts "$memtui" "$file.dat")
	[ $status = $traced ] || why="status $traced, untraced $status; "
	cmp -s "$file.want" "$file.out" || why+="output differs: $(diff "$file.want" "$file.out" | head -n 3 | tr '\n' ' '); "
	[ "${n:-0}" -ge 10000 ] || why+="only ${n:-no} allocations; "
	[ "${checked:-0}" -ge "${n:-1}" ] || why+="only ${checked:-0} of ${n:-0} stacks checked; "
	[ "${otherwise:-0}" -ge $((n / 1000)) ] && [ "${otherwise:-0}" -ge 10000 ] || why+="only ${otherwise:-0} by libgcc's unwinder; "
	[ "${wrong:-1}" = 0 ] || why+="$wrong stacks differ from a full walk; "
	[ "${wrong_otherwise:-1}" = 0 ] || why+="$wrong_otherwise stacks differ from libgcc's; "
	[ "${lost:-1}" = 0 ] || why+="$lost events lost; "
	[ "$cut" = - ] || [ "$cuts" = "$cut" ] || why+="$cuts stacks cut, not $cut; "
	[ "$part" = - ] || [ "$partly" = "$part" ] || why+="$partly not or in part comparable, not $part; "
	if [ -n "$why" ]; then echo "not ok stacks $name: $why"
	else echo "ok stacks $name: $checked checked, $otherwise by libgcc's unwinder, $partly of them not or in part, $cuts cut"; fi
	rm -f "$file.want" "$file.out" "$file.err"
}
export -f one

# ---- the programs ----

variants=(O0 O1 O2 O3)
declare -A flags=([pointer]=-fno-omit-frame-pointer [none]=-fomit-frame-pointer [cet]=-fcf-protection=full)

compile_all() {
	{
		for o in "${variants[@]}"; do
			for f in "${!flags[@]}"; do
				for p in frames.c jumps.c stepped.c exceptions.cc; do
					echo "compile ${p%.*}-$o-$f $here/$p -$o ${flags[$f]}"
				done
			done
		done
		echo "compile frames-Os $here/frames.c -Os -fstack-clash-protection -fstack-protector-all"
		echo "compile deep $here/deep.c -O1"
		echo "compile edges $here/edges.c -O1 -pthread"
		echo "compile leaderless $here/leaderless.c -O1 -pthread"
		echo "compile nocfi '$here/nocfi.c $here/nocfi.S' -O1 -fno-omit-frame-pointer"
		echo "compile goroutine '$here/goroutine.c $here/goroutine.S' -O1"
		echo "compile torture $here/../tracer/torture.cc -O2"
		plugin_lines
	} | compile_lines
}

# Lines of NAME, CUT and COMMAND, with tabs between.
own_programs() {
	local o f p plugins="$PWD/plugin24.so $PWD/plugin200.so $PWD/plugin4000.so"
	for o in "${variants[@]}"; do
		for f in "${!flags[@]}"; do
			for p in 'frames 0 0' 'jumps 0 0' 'exceptions 0 -' 'stepped - -'; do
				printf '%s\t%s\t%s\n' "${p%% *} -$o ${flags[$f]}" "${p#* }" "./${p%% *}-$o-$f"
			done
		done
	done
	printf '%s\t%s\t%s\n' 'frames -Os' '0 0' ./frames-Os \
		'assembly without CFI' '8000 -' ./nocfi \
		'stacks of goroutines' '4000 -' ./goroutine \
		'stacks that end or are gone' '- -' ./edges \
		'a coroutine when main has ended' '0 -' ./leaderless \
		'deep recursion' '0 0' ./deep 'depth limit 512' '512:23808 0' ./deep 'depth limit 64' '64:34560 0' ./deep \
		'depth limit 2000' '2000:0 0' ./deep \
		'plug-ins at one address' '0 0' "./reload 0 $plugins" \
		'plug-ins at one address, with threads' '0 0' "./reload 2 $plugins" \
		'a plug-in where code was made' '0 -' "./jit $PWD/plugin200.so" \
		torture '- 0' './torture 300 4'
}

real_programs() {
	local cc1plus python
	cc1plus=$(g++ -print-prog-name=cc1plus)
	python=$(python3 -c 'import sys; print(sys.executable)')
	[ -f r.ii ] || { printf '#include <regex>\n#include <map>\nint f(const char *s) { return std::regex_match(s, std::regex("a.*b")); }\n' >r.cc
		g++ -std=c++17 -E r.cc -o r.ii; }
	sed 's/range(16)/range(2)/' "$top/tests/bench/parse.py" >parse.py
	sed 's/300000/60000/g' "$top/tests/bench/table.sql" >table.sql
	sed 's/250000/25000/' "$top/tests/bench/hash.pl" >hash.pl
	[ -d repo ] || { git init -q repo && (cd repo && for i in $(seq 1600); do seq $i $((i + 20)) >f$i; done &&
		git add . && git -c user.name=t -c user.email=t@t commit -qm one); }
	echo "cc1plus	0 0	$cc1plus -quiet -O1 r.ii -o /dev/stdout"
	echo "python3	0 0	$python parse.py"
	echo "sqlite3	0 0	sqlite3 :memory: '.read table.sql'"
	echo "perl	0 0	perl hash.pl"
	echo "git	0 0	git -C repo log -p --stat"
	if command -v node >/dev/null; then
		echo 'node	- -	node -e "let a=[];for(let i=0;i<40000;i++){a.push(Buffer.allocUnsafeSlow(64+i%100));}console.log(a.length)"'
	else echo "skip stacks node: not installed" >&2; fi
	if [ -x cgo/cgo ]; then echo 'cgo	- -	cgo/cgo'
	else echo "skip stacks cgo: no Go that builds it" >&2; fi
}

compile_cgo() {
	mkdir -p cgo && cp "$here/cgo.go" cgo/main.go || return
	[ cgo/cgo -nt "$here/cgo.go" ] || (cd cgo && { [ -f go.mod ] || go mod init cgo; } && CGO_ENABLED=1 go build -o cgo .) >/dev/null 2>&1
}

# A library that ends with its call frame information (BOLT): the page in which it ends is read, too.
last_segment() {
	local why=
	cat >last_library.c <<'END'
#include <stdlib.h>
__attribute__((noipa)) static void *inner(int n) { return malloc((size_t)n + 100); }
void *outer(int n);
__attribute__((noipa)) void *outer(int n) { char room[200]; room[n & 127] = 1; void *volatile p = inner(n + room[n & 127]); return p; }
END
	echo 'void *outer(int); int main(void) { return outer(5) == 0; }' >last_main.c
	gcc -O1 -g -fomit-frame-pointer -fPIC -shared -nostartfiles "-Wl,-T,$here/last_segment.ld" -o liblast.so last_library.c 2>last.err &&
		gcc -O1 -g -o last_main last_main.c -L. -llast "-Wl,-rpath,$PWD" 2>>last.err || why="cannot be built: $(tail -n 1 last.err)"
	[ "$why" ] || "$memtui" record --force -o last.dat -- ./last_main >/dev/null 2>last.err || why="status $?: $(tail -n 1 last.err)"
	[ "$why" ] || "$memtui" groups last.dat | grep -q 'inner < outer < main < ' || why="$("$memtui" groups last.dat | tail -n 1)"
	[ "$why" ] && echo "not ok stacks a library that ends with its frames: $why" || echo "ok stacks a library that ends with its frames"
}
# Where linkers have made no search table, .eh_frame is found by the section headers of the file: the same stacks. Where
# there is none at all stacks are cut, and the reason is counted.
headerless() {
	local flags="-O2 -g -w -pthread -fno-ipa-icf -fomit-frame-pointer $top/tests/fuzz/mutant.c" p
	gcc $flags -o tables && gcc $flags -Wl,--no-eh-frame-hdr -o no-table && objcopy --remove-section .eh_frame_hdr tables removed &&
		gcc $flags -fno-asynchronous-unwind-tables -fno-unwind-tables -o no-cfi || return 1
	for p in tables no-table removed no-cfi; do
		"$memtui" record --force -o $p.dat -- ./$p >/dev/null 2>&1
		asked "$memtui" groups --format json $p.dat >$p.json
		asked "$memtui" info --format json $p.dat >$p.info
	done
	python3 -c 'import json, sys
def read(name):
	info = json.load(open(name + ".info"))
	groups = sorted((g["all"]["allocated_count"], g["all"]["max_size"], [f["function"] for f in g["backtrace"]])
		for g in json.load(open(name + ".json")))
	return info["counters"]["cut_stacks"], info["counters"]["cut_without_cfi"], groups
cut, reason, whole = read("tables")
assert (cut, reason) == (0, 0) and len(whole) > 1000, (cut, reason, len(whole))
for name in "no-table", "removed":
	cut, reason, groups = read(name)
	assert (cut, reason) == (0, 0), f"{name}: {cut} stacks cut"
	assert groups == whole, f"{name}: other stacks than with a table"
cut, reason, groups = read("no-cfi")
assert cut == reason > 1000, f"no-cfi: {cut} stacks cut, {reason} of them counted as without call frame information"
' 2>headerless.err && echo "ok stacks modules without a search table" ||
		echo "not ok stacks modules without a search table: $(tail -n 1 headerless.err)"
}

# Two roots of one recursion that is 600, and 3,000, frames deep are told apart.
roots() {
	gcc -O1 -g -w "$here/roots.c" -o roots && "$memtui" record --force -o roots.dat -- ./roots >/dev/null 2>&1
	asked "$memtui" groups --format json roots.dat | python3 -c 'import json, sys
found = {}
for g in json.load(sys.stdin):
	names = [f["function"] for f in g["backtrace"]]
	if "recurse" in names:
		root = names[names.index("main") - 1] if "main" in names else names[-1]
		found[root, names.count("recurse")] = g["all"]["leaked_size"]
want = {("root_a", 600): 100, ("root_b", 600): 200, ("root_a", 3000): 300, ("root_b", 3000): 400}
assert found == want, f"{found}, not {want}"' 2>roots.err && echo "ok stacks roots of a deep recursion" ||
		echo "not ok stacks roots of a deep recursion: $(tail -n 1 roots.err)"
}

# With a small --depth their innermost frames are kept: every view that makes one group of them says how many were cut.
shallow() {
	local why=
	"$memtui" record --force -o shallow.dat --depth 64 -- ./roots >/dev/null 2>&1
	"$memtui" info --format json shallow.dat | python3 -c 'import json, sys
c = json.load(sys.stdin)["counters"]
assert c["cut_by_depth"] == c["cut_stacks"] == 4, c' 2>shallow.err || why="not 4 counted: $(tail -n 1 shallow.err)"
	for view in groups tree "callers recurse" report check; do
		"$memtui" ${view%% *} ${view#"${view%% *}"} shallow.dat 2>&1 >/dev/null | grep -q "^memtui: 4 stacks of .*shallow.dat are deeper than its --depth: .*'callers main'.*--depth" ||
			why="$why${why:+; }$view does not say that 4 were cut"
	done
	"$memtui" report shallow.dat 2>/dev/null | grep -q '4 stacks deeper than --depth: ' || why="$why${why:+; }report does not list them"
	"$memtui" groups roots.dat 2>&1 >/dev/null | grep -q 'deeper than' && why="$why${why:+; }said where none was cut"
	[ -z "$why" ] && echo "ok stacks deeper than --depth are said" || echo "not ok stacks deeper than --depth are said: $why"
}

run_all() {
	tr '\t' '\n' | xargs -P 2 -d '\n' -n 3 bash -c 'one "$@"' one
}

# What the trace says of code without call frame information: whole where it keeps a frame pointer, else cut.
marks() {
	asked "$memtui" groups --format json assembly-without-CFI.dat | python3 -c 'import json, sys
stacks = {(g["all"]["max_size"], tuple((f["function"], f["by_frame_pointer"]) for f in g["backtrace"][:5]))
	for g in json.load(sys.stdin) if g["all"]["max_size"] in (1000, 2000)}
end = (("main", False), ("__libc_start_call_main", False))
cut = ("[stack cut here]", False)
assert {(size, stack[:len(stack) if size == 2000 else 4]) for size, stack in stacks} == {
	(1000, (("followed", False), ("framed", True)) + end),
	(1000, (("followed", False), ("framed", True), ("twice", False), ("framed", True))),
	(2000, (("lost", False), ("zeroed", True), cut)),
	(2000, (("lost", False), ("clobbered", True), cut))}, stacks' 2>marks.err && echo "ok stacks marks of assembly without CFI" ||
		echo "not ok stacks marks of assembly without CFI: $(tail -n 1 marks.err)"
}

# A goroutine that calls C is followed on its own stack, unless that moved while C had called back.
goroutines() {
	asked "$memtui" groups --format json stacks-of-goroutines.dat | python3 -c 'import json, sys
stacks = [(g["all"]["max_size"], g["all"]["allocated_count"], tuple(f["function"] for f in g["backtrace"]))
	for g in json.load(sys.stdin) if g["all"]["max_size"] in (1000, 2000, 3000)]
seen = sorted(set((size, stack) for size, count, stack in stacks))
counts = {size: sum(c for s, c, _ in stacks if s == size) for size in (1000, 2000, 3000)}
whole = ("goroutine_call", "goroutine_handle", "goroutine_serve", "goroutine_run")
assert counts == {1000: 8000, 2000: 2000, 3000: 2000} and seen == [(1000, ("allocate", "plain") + whole),
	(2000, ("allocate", "moves") + whole), (3000, ("allocate", "moves", "goroutine_call", "[stack cut here]"))], stacks' 2>goroutines.err &&
		echo "ok stacks goroutines on their own stacks" ||
		echo "not ok stacks goroutines on their own stacks: $(tail -n 1 goroutines.err)"
	[ -x cgo/cgo ] || return 0
	asked "$memtui" groups --format json --function-regex '^main.handle$' cgo.dat | python3 -c 'import json, sys
whole = sum(g["all"]["allocated_count"] for g in json.load(sys.stdin) if g["backtrace"][-1]["function"] == "runtime.goexit")
assert whole == 40000, whole' 2>cgo.err && echo "ok stacks C that Go calls" || echo "not ok stacks C that Go calls: $(tail -n 1 cgo.err)"
}

# The same without a recorder.
stand_alone() {
	local n checked wrong otherwise wrong_otherwise rest
	rm -f alone.raw
	MEMTUI_OUTPUT=$PWD/alone.raw LD_PRELOAD=$build/libmemtui.so ./jumps-O2-none >/dev/null
	read -r n checked wrong otherwise wrong_otherwise rest < <(counts "$memtui" alone.raw)
	if [ "${n:-0}" -ge 100000 ] && [ "$checked" -ge "$n" ] && [ "$otherwise" -ge 10000 ] && [ "$wrong$wrong_otherwise" = 00 ]; then
		echo "ok stacks stand-alone: $checked checked, $otherwise by libgcc's unwinder"
	else echo "not ok stacks stand-alone: ${n:-no} allocations, $checked checked, $wrong wrong, $otherwise, $wrong_otherwise wrong"; fi
}

compile_all
compile_cgo
{ { real_programs; own_programs; } | run_all; marks; headerless; last_segment; roots; shallow; goroutines; stand_alone; } 2>&1 | tee results
! grep -q '^not ok' results
