#!/usr/bin/env bash
# truth: whole recordings of programs whose numbers are known: from what they print, or from valgrind; and of
# programs that nobody here wrote, whose output and status must be those of an untraced run.
. "$(dirname "$0")/../suite.sh"
bench=$here/../bench

field() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(d[sys.argv[2]])' "$1" "$2"; }
# Sum of a field over all groups of a JSON list.
total() { python3 -c 'import json,sys; print(sum(g["all"][sys.argv[2]] for g in json.load(open(sys.argv[1]))))' "$1" "$2"; }

# workload NAME REGEX COMMAND...: counts and bytes over the workload's own functions equal the printed truth.
workload() {
	local name=$1 regex=$2 truth
	shift 2
	"$memtui" record -o "$tmp/$name.dat" --force -- "$@" 2>"$tmp/err" || { not_ok "$name" "status $?: $(tail -n 1 "$tmp/err")"; return; }
	truth=$(grep -o 'TRUTH.*' "$tmp/err")
	asked "$memtui" info --format json "$tmp/$name.dat" >"$tmp/info.json" &&
	asked "$memtui" groups --format json --function-regex "$regex" "$tmp/$name.dat" >"$tmp/groups.json" || { not_ok "$name" "cannot be read"; return; }
	local want have lost
	want="$(sed -n 's/.*allocs=\([0-9]*\).*/\1/p' <<<"$truth") $(sed -n 's/.* bytes=\([0-9]*\).*/\1/p' <<<"$truth") $(sed -n 's/.*leaked_count=\([0-9]*\).*/\1/p' <<<"$truth") $(sed -n 's/.*leaked_bytes=\([0-9]*\).*/\1/p' <<<"$truth")"
	have="$(total "$tmp/groups.json" allocated_count) $(total "$tmp/groups.json" size) $(total "$tmp/groups.json" leaked_count) $(total "$tmp/groups.json" leaked_size)"
	case $name in leak) want="$(cut -d' ' -f1 <<<"$want") $(sed -n 's/.*leaked_bytes=\([0-9]*\).*/\1/p' <<<"$truth") $(cut -d' ' -f3- <<<"$want" | sed 's/^ *//')" ;; esac
	lost=$(field "$tmp/info.json" lost_events)
	if [ "$(echo $want)" = "$(echo $have)" ] && [ "$lost" = 0 ]; then ok "$name"; else not_ok "$name" "want $want, have $have, lost $lost"; fi
}

workload hot1 '^(site|leaf|step)' "$build/bench/hot" 2000000 16 1
workload hot2 '^(site|leaf|step)' "$build/bench/hot" 2000000 16 2
workload hot4 '^(site|leaf|step)' "$build/bench/hot" 2000000 16 4
workload hot200 '^(site|leaf|step)' "$build/bench/hot" 200000 200 1
workload leak '^(site|descend)' "$build/bench/leak" 300000

# timeline NAME: what the recorder counted in each step is what a replay of the events counts, from a copy that ends behind them.
timeline() {
	python3 - "$tmp/$1.dat" "$tmp/events.dat" <<'PY'
import struct, sys
whole = open(sys.argv[1], "rb").read()
at, end = 32, 0
while whole[at:at + 4] == b"tblk":
    size, = struct.unpack_from("<H", whole, at + 6)
    stored, = struct.unpack_from("<I", whole, at + 12)
    end = at + size + stored if whole[at + 4] == 8 else end
    at += size + stored
open(sys.argv[2], "wb").write(whole[:end])
PY
	local whole events
	whole=$("$memtui" timeline --format csv "$tmp/$1.dat" | cut -d, -f2-6)
	events=$("$memtui" timeline --format csv "$tmp/events.dat" 2>/dev/null | cut -d, -f2-6)
	if [ "$(wc -l <<<"$events")" -gt 20 ] && [ "$events" = "$(head -n "$(wc -l <<<"$events")" <<<"$whole")" ]; then ok "timeline of $1"
	else not_ok "timeline of $1" "$(diff <(echo "$whole") <(echo "$events") | head -n 6)"; fi
}

timeline hot1
timeline hot2
timeline hot4

"$memtui" record -o "$tmp/tree.dat" --force -- "$build/bench/tree" 1 60000 2>"$tmp/err"
asked "$memtui" info --format json "$tmp/tree.dat" >"$tmp/info.json"
asked "$memtui" groups --format json --function-regex '^(main|top|Leaf|Inner|Outer|insert|name_of)' "$tmp/tree.dat" >"$tmp/groups.json"
if [ "$(total "$tmp/groups.json" leaked_count)" = 0 ] && [ "$(total "$tmp/groups.json" allocated_count)" -gt 200000 ] && [ "$(field "$tmp/info.json" lost_events)" = 0 ]; then
	ok "tree frees everything"
else not_ok "tree frees everything" "leaked $(total "$tmp/groups.json" leaked_count)"; fi

# leak: the top group names siteN, descend and main, with leak.c and the right lines.
asked "$memtui" groups --format json --sort leaked_size --count 1 "$tmp/leak.dat" >"$tmp/top.json"
python3 - "$tmp/top.json" "$bench/leak.c" <<'PY' && ok "leak is named" || not_ok "leak is named" "see above"
import json, re, sys
group = json.load(open(sys.argv[1]))[0]
lines = open(sys.argv[2]).read().split("\n")
frames = group["backtrace"]
names = [f["function"] for f in frames]
assert re.match(r"site[0-7]$", names[0]), names
assert names.count("descend") == 9 and "main" in names, names
for f in frames:
    if f["function"] in ("descend", "main") or f["function"].startswith("site"):
        assert f["source"].endswith("leak.c"), f
line = lambda name: lines[next(f["line"] for f in frames if f["function"] == name) - 1]
assert "LEAK(" in line(names[0]), line(names[0])
assert "descend(8, i)" in line("main"), line("main")
assert group["kind"] == "malloc"
PY

# same NAME COMMAND...: output and status as untraced, no stack cut, nothing lost; at least 100,000 allocations.
same() {
	local name=$1 status
	shift
	"$@" >"$tmp/want.out" 2>"$tmp/want.err" </dev/null
	status=$?
	sed -i 's/ns_per_pair=.*//' "$tmp/want.err" # the one thing that differs: how long it took
	"$memtui" record -o "$tmp/same.dat" --force -- "$@" >"$tmp/have.out" 2>"$tmp/have.err" </dev/null
	local have=$?
	grep -v '^memtui: ' "$tmp/have.err" | sed 's/ns_per_pair=.*//' >"$tmp/have.err2"
	if [ $have != $status ]; then not_ok "$name" "status $have, untraced $status"; return; fi
	if ! cmp -s "$tmp/want.out" "$tmp/have.out"; then not_ok "$name" "stdout differs"; return; fi
	if ! cmp -s "$tmp/want.err" "$tmp/have.err2"; then not_ok "$name" "stderr differs: $(diff "$tmp/want.err" "$tmp/have.err2" | head -n 3 | tr '\n' ' ')"; return; fi
	asked "$memtui" info --format json "$tmp/same.dat" >"$tmp/info.json" || { not_ok "$name" "cannot be read"; return; }
	local n
	n=$(( $(field "$tmp/info.json" allocations) + $(field "$tmp/info.json" reallocations) ))
	if [ "$n" -lt 100000 ]; then not_ok "$name" "only $n allocations"; return; fi
	if [ "$(field "$tmp/info.json" lost_events)" != 0 ]; then not_ok "$name" "lost events"; return; fi
	ok "$name ($n allocations)"
}

printf '#include <regex>\n#include <map>\nint f(const char *s) { return std::regex_match(s, std::regex("a.*b")); }\n' >"$tmp/r.cc"
g++ -std=c++17 -E "$tmp/r.cc" -o "$tmp/r.ii"
cc1plus=$(g++ -print-prog-name=cc1plus)
git init -q "$tmp/repo" && (cd "$tmp/repo" && for i in $(seq 1600); do seq $i $((i + 20)) >f$i; done && git add . && git -c user.name=t -c user.email=t@t commit -qm one)
export PYTHONHASHSEED=0 PERL_HASH_SEED=0
sed 's/range(16)/range(2)/' "$bench/parse.py" >"$tmp/parse.py"
sed 's/300000/60000/g' "$bench/table.sql" >"$tmp/table.sql"
sed 's/250000/25000/' "$bench/hash.pl" >"$tmp/hash.pl"
PYTHONMALLOC=malloc same python3 /usr/bin/python3 "$tmp/parse.py"
same sqlite3 sqlite3 :memory: ".read $tmp/table.sql"
same perl perl "$tmp/hash.pl"
same cc1plus "$cc1plus" -quiet -O1 "$tmp/r.ii" -o /dev/stdout
same bash bash -c 'for ((i = 0; i < 30000; i++)); do a[i]="x$i"; b=${a[i]/x/y}; done; echo ${#a[@]} $b'
same git git -C "$tmp/repo" log -p --stat
same 'C++ program' "$build/bench/tree" 1 30000
if command -v node >/dev/null; then
	same node node -e 'let a=[];for(let i=0;i<60000;i++){a.push(Buffer.allocUnsafeSlow(64+i%100));}let m=new Map();for(const b of a)m.set(b.length,b);console.log(m.size)'
else echo "skip node: not installed"; fi

# valgrind counts the same, where it is installed. Both tools add to the environment, and perl copies its environment
# into the heap; so both runs get the same variables with values of the same lengths, and the tracer is started from a
# folder whose name makes LD_PRELOAD as long as valgrind's.
bare() { env -i PATH="$PATH" PWD="$PWD" PERL_HASH_SEED=0 "$@"; }
variable() { bare "${@:2}" /usr/bin/env 2>/dev/null | sed -n "s/^$1=//p"; }
padding() { printf '%*s' "$1" '' | tr ' ' x; }
valgrind_equal() {
	local name=$1 line want have
	shift
	line=$(bare MEMTUI_SESSION="$session" valgrind --run-libc-freeres=no --run-cxx-freeres=no "$@" 2>&1 >/dev/null </dev/null |
		grep 'total heap usage' | tr -d ,)
	bare GLIBCPP_FORCE_NEW=1 GLIBCXX_FORCE_NEW=1 LD_LIBRARY_PATH="$library_path" \
		"$away/memtui" record --force -o "$tmp/vg.dat" -- "$@" >/dev/null 2>&1 </dev/null
	asked "$memtui" info --format json "$tmp/vg.dat" >"$tmp/info.json"
	want=$(sed 's/.*usage: \([0-9]*\) allocs [0-9]* frees \([0-9]*\) bytes.*/\1 \2/' <<<"$line")
	have="$(( $(field "$tmp/info.json" allocations) + $(field "$tmp/info.json" reallocations) )) $(field "$tmp/info.json" allocated_bytes)"
	if [ "$want" = "$have" ]; then ok "$name as valgrind: $have"; else not_ok "$name as valgrind" "valgrind $want, memtui $have"; fi
}
if command -v valgrind >/dev/null; then
	preload=$(variable LD_PRELOAD valgrind -q)
	library_path=$(variable LD_LIBRARY_PATH valgrind -q)
	away=$tmp/$(padding $((${#preload} - ${#tmp} - 14)))
	mkdir "$away" && cp "$memtui" "$build/libmemtui.so" "$away"
	session=$(variable MEMTUI_SESSION "$away/memtui" record --force -o "$tmp/vg.dat" --)
	session=$(padding ${#session})
	sed 's/60000/3000/g' "$tmp/table.sql" >"$tmp/small.sql"
	sed 's/25000/2500/' "$tmp/hash.pl" >"$tmp/small.pl"
	valgrind_equal sqlite3 sqlite3 :memory: ".read $tmp/small.sql"
	valgrind_equal perl perl "$tmp/small.pl"
else echo "skip valgrind: not installed"; fi
