#!/usr/bin/env bash
# sampling: sampled recordings of programs whose truth is known.
. "$(dirname "$0")/../suite.sh"
build_programs -O1 -g -fno-builtin -pthread -- program
g++ -std=c++17 -O1 -g -o operators "$here/operators.cc" || { echo "not ok $suite: operators cannot be built"; exit 1; }

compare() { # NAME TRACE: what was estimated with what the program printed
	asked "$memtui" info --format json "$2" >info.json && asked "$memtui" groups --format json "$2" >groups.json ||
		{ not_ok "$1" "cannot be read"; return; }
	say "$1" $(python3 "$here/compare.py" info.json groups.json truth 2>&1)
}
refused() { # NAME PATTERN STATUS COMMAND...
	local name=$1 pattern=$2 status=$3 why=
	shift 3
	"$@" >out 2>&1
	why=$(is $? "$status")
	grep -q -- "$pattern" out || why+=$(head -n 2 out)
	say "$name" "$why"
}
# sampled NAME SIZE PROGRAM ARGUMENT...
sampled() { sampled_by "$1" "--sample=$2" "${@:3}"; }
# sampled_by NAME OPTION PROGRAM ARGUMENT...
sampled_by() {
	local name=$1 option=$2
	shift 2
	timeout 100 "$memtui" record --force "$option" -o "$name.trace" "$@" >truth 2>err ||
		{ not_ok "$name" "status $?: $(tail -n 1 err)"; return; }
	compare "$name" "$name.trace"
}

sampled frees 64k ./program frees
sampled leaks 64k ./program leaks
cp info.json leaks.json
sampled 'a small interval' 4k ./program leaks 200000
sampled 'a large interval' 16M ./program leaks 200000
sampled realloc 32k ./program realloc
sampled threads 64k ./program threads
sampled fork 64k ./program fork
# the child has drawn for itself, and frees of its parent's blocks are no events
echo 'site_small 1000000 80000000 0 0' >truth
compare 'a forked child' fork.trace.[0-9]*
say 'frees in a forked child' "$(is "$(field fork.trace.[0-9]* inherited_frees)" 0)"
sampled operators 16k ./operators

# ---- one of N allocations ----
sampled_by 'every 100 frees' --every=100 ./program frees
sampled_by 'every 50 leaks' --every=50 ./program leaks
cp info.json every.json
sampled_by 'every 2 leaks' --every=2 ./program leaks 100000
sampled_by 'every 30 reallocs' --every=30 ./program grow
sampled_by 'every 100 threads' --every=100 ./program threads
# dense enough for pairs of several threads, one after the other
sampled_by 'every 2 threads' --every=2 ./program threads 400000
sampled_by 'every 1000 leaks' --every=1000 ./program leaks
sampled_by 'every 20 operators' --every=20 ./operators
say 'every N is said' "$(is "$(python3 -c 'import json; i = json.load(open("every.json")); print(i["sample_every"], "sample_bytes" in i)')" '50 False'
	"$memtui" report 'every 50 leaks.trace' >report
	grep -q 'sampled, one in 50 allocations on average: .* biased upward' report || grep sampled report
	grep -q '^leaked     ~[0-9.]*M ±[0-9.]*% in ~' report || grep ^leaked report)"
timeout 100 "$memtui" leaks -s 50 --output every.trace -- ./program leaks 200000 >truth 2>err
grep '^site_' truth >truth.lines && mv truth.lines truth
compare 'leaks -s' every.trace
checked_every() { # NAME STATUS PATTERN OPTION...
	local name=$1 status=$2 pattern=$3 why
	shift 3
	"$memtui" check "$@" >out 2>&1
	why=$(is $? "$status")
	grep -q -- "$pattern" out || why+="no $pattern in $(cat out)"
	say "$name" "$why"
}
checked_every 'every: few samples bound the blocks' 0 '^PASS.*leaked' --max-leaked-count 1000 'every 100 frees.trace'
checked_every 'every: but not the bytes' 1 '^UNKNOWN.*leaked' --max-leaked 1G 'every 100 frees.trace'

# ---- a program that runs already ----
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" != 0 ] && [ -z "$root" ]; then
	skip attach 'ptrace_scope forbids it'
else
	mkfifo go
	./program waits <go >truth &
	program=$!
	exec 9>go
	"$memtui" record --force --sample 64k -o attach.trace --pid $program >/dev/null 2>err &
	recorder=$!
	if until_true grep -q 'recording process' err; then
		echo >&9
		until_true grep -q filled truth
		refused 'a leak check' 'the recording is sampled: most blocks of the process are not known' 1 \
			timeout 60 "$memtui" leak-check $program
		echo >&9
		wait $program
		wait $recorder
		compare attach attach.trace
	else
		not_ok attach "$(cat err)"
		kill $program
	fi
	exec 9>&-
fi

# ---- the marks: each estimate has a '~' and its error, wherever it is shown ----
"$memtui" report leaks.trace >report
"$memtui" info leaks.trace >info
why=
grep -q '^allocated  ~[0-9.]*M ±[0-9.]*% in ~[0-9.]*[kM] ±[0-9.]*% blocks' report || why+="report: $(grep ^allocated report); "
grep -q '^leaked     ~[0-9.]*M ±[0-9.]*% in ~' report || why+="report: $(grep ^leaked report); "
grep -q '^peak       ~[0-9.]*M ±' report || why+="report: $(grep ^peak report); "
grep -q 'leaked 10.0M ([0-9.]*%) in 1 of 1 block,' report || why+="a block that is sure: $(grep 'in 1 of' report); "
grep -q 'sampled, one in 64.0k on average: .* biased upward' report || why+="no sentence; "
grep -q 'temporary,\|of them temporary' report && why+="temporary blocks; "
grep -q '^temporary' info && why+="info has temporary blocks; "
grep -q '^leaked  *~[0-9.]*M ±' info || why+="info: $(grep ^leaked info); "
"$memtui" record --force --sample 64k -o marks.trace ./program leaks 1000 >/dev/null 2>err
grep -q 'wrote .*: ~[0-9,]* allocations, peak ~[0-9.]*M, leaked ~[0-9.]*M in ~' err || why+="closing line: $(cat err); "
"$memtui" record --force -o exact.trace ./program leaks 1000 >/dev/null 2>&1
"$memtui" report exact.trace | grep -q '~\|±\|sampled' && why+="an exact recording has marks; "
asked "$memtui" info --format json exact.trace | grep -q 'stderr\|sample' && why+="an exact recording has errors; "
say marks "$why"

# ---- few samples: no error ----
"$memtui" record --force --sample 4M -o few.trace ./program leaks 1000 >/dev/null 2>&1
"$memtui" groups few.trace >few
say 'few samples' "$(grep -q '(few samples)' few || cat few)"

# ---- the same trace without its totals comes to the same, from its events ----
python3 - leaks.trace events.trace <<'PY'
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
"$memtui" groups --format csv leaks.trace >whole.csv
"$memtui" groups --format csv events.trace >events.csv 2>/dev/null
say replay "$(cmp whole.csv events.csv 2>&1; is "$(wc -l <events.csv)" "$(wc -l <whole.csv)")"

# ---- check: a limit holds, fails, or is in doubt ----
checked() { # NAME STATUS PATTERN OPTION...
	local name=$1 status=$2 pattern=$3 why
	shift 3
	"$memtui" check "$@" >out 2>&1
	why=$(is $? "$status")
	grep -q -- "$pattern" out || why+="no $pattern in $(cat out)"
	say "$name" "$why"
}
checked 'a limit that holds' 0 '^PASS.*leaked' --max-leaked 100M leaks.trace
checked 'a limit that fails' 1 '^FAIL.*leaked' --max-leaked 10M leaks.trace
near=$(python3 -c 'import json; i = json.load(open("leaks.json")); print(int(i["leaked_bytes"] + i["leaked_bytes_stderr"]))')
checked 'a limit in doubt' 1 '^UNKNOWN.*leaked' --max-leaked "$near" leaks.trace
checked 'no leaks at all cannot be told' 1 '^UNKNOWN.*leaked' --max-leaked 0 frees.trace
checked 'few samples bound the bytes' 0 '^PASS.*leaked' --max-leaked 1M frees.trace
checked 'but not the blocks' 1 '^UNKNOWN.*leaked blocks' --max-leaked-count 1000 frees.trace
checked 'temporary blocks' 1 '^UNKNOWN.*temporary' --max-temporary 1000000000 leaks.trace

# ---- refused in words ----
refused 'an interval of 0' '--sample: 0 bytes are too few; give 1K or more' 2 "$memtui" record --sample 0 -o x.trace ./program frees
refused 'too large an interval' '--sample: .* are too many; give 64G or less' 2 "$memtui" record --sample 1T -o x.trace ./program frees
refused 'stacks of frees' '--sample: cannot be combined with --free-stacks' 2 "$memtui" record --sample 64k --free-stacks -o x.trace ./program frees
refused 'bytes and allocations' '--sample and --every exclude each other' 2 \
	"$memtui" record --sample 64k --every 10 -o x.trace ./program frees
refused 'too many allocations' '--every' 2 "$memtui" record --every 1000001 -o x.trace ./program frees
refused 'every and stacks of frees' '--every: cannot be combined with --free-stacks' 2 \
	"$memtui" record --every 10 --free-stacks -o x.trace ./program frees
refused 'leaks -s of a trace' '--sample-rate: a trace holds what was recorded' 2 "$memtui" leaks -s 10 leaks.trace
refused 'invalid frees' 'the recording is sampled: .* invalid frees are not known' 1 "$memtui" errors leaks.trace
refused "heaptrack's format" 'the recording is sampled: a heaptrack file consists of all blocks' 1 \
	"$memtui" export --as heaptrack -o x.gz leaks.trace

exit $bad
