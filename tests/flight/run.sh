#!/usr/bin/env bash
# flight: recordings with a limit to the size of their traces. Sizes are watched while programs run; what such a trace says
# is compared with the trace of the same program without a limit, and with what the program counted itself. No sleeps: what
# is waited for is a line, a file or the end of a process.
. "$(dirname "$0")/../suite.sh"
mounted=
at_exit() { [ -z "$mounted" ] || umount "$mounted"; }
gcc -O1 -g -pthread -o "$tmp/flight" "$here/../programs/flight.c" || exit 1
mkfifo "$tmp/watched"

expect() { # NAME CONDITION-STATUS WHY
	if [ "$2" = 0 ]; then ok "$1"; else not_ok "$1" "$3"; fi
}
ended() { ! kill -0 "$1" 2>/dev/null; }
tell() { # TRACE: what it says, for same.py
	asked "$memtui" groups --no-builtin-suppressions --format json "$1" >"$1.groups" 2>"$1.said" &&
		asked "$memtui" info --no-builtin-suppressions --format json "$1" >"$1.info" 2>>"$1.said"
}
value() { # TRACE KEY
	python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + ".info"))[sys.argv[2]])' "$1" "$2"
}
same() { # NAME A B [peaks]
	tell "$2" && tell "$3"
	said=$(python3 "$here/same.py" "$2" "$3" ${4:-})
	[ "$said" = same ]
	expect "$1" $? "$said"
}
offset() { # TRACE TYPE: of the first, or with a third argument the last block of this type
	python3 "$here/blocks.py" "$1" | awk -v t="$2" -v last="${3:-}" '$2 == t { at = $1; if (!last) exit } END { print at + 0 }'
}
# What the recorder had written when its events had ended: as if it had been killed then.
without_end() { head -c "$(offset "$1" symbols)" "$1" >"$2"; }

# record NAME CAP OPTIONS -- ARGUMENTS of flight: in $tmp/NAME.d/t.dat; sizes seen in $seen. The program waits for as long as
# it takes: on a busy machine the recorder may get no processor for 0.2 s, and then it would lose events.
record() {
	local name=$1 cap=$2 options=()
	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	mkdir -p "$tmp/$name.d"
	trace=$tmp/$name.d/t.dat
	( read -r _ <"$tmp/watched"; exec "$memtui" record --on-full wait --max-size "$cap" -o "$trace" "${options[@]}" -- "$tmp/flight" "$@" >"$tmp/out" 2>"$tmp/err" ) &
	local front=$!
	seen=$(python3 "$here/watch.py" "$trace" $front "$tmp/watched")
	wait $front
	read -r largest together files gone <<<"$seen"
	tell "$trace"
}

# ---- a loop that compresses well keeps its history, if its blocks are less than the 64 MB that the recorder keeps of them ----
gcc -O1 -g -fno-builtin -pthread -o "$tmp/sleepers" "$here/../programs/sleepers.c" || exit 1
"$memtui" record -f -o "$tmp/loop.dat" -- "$tmp/sleepers" 1 1500000 </dev/null >"$tmp/out" 2>&1
"$memtui" record -f --max-size 1M -o "$tmp/loop-1M.dat" -- "$tmp/sleepers" 1 1500000 </dev/null >"$tmp/out" 2>&1
tell "$tmp/loop-1M.dat"
[ "$(stat -c %s "$tmp/loop.dat")" -lt 500000 ] && [ "$(value "$tmp/loop-1M.dat" history_from_seconds)" = 0.0 ]
expect "a trace that is small without a limit loses nothing below it" $? "$(stat -c %s "$tmp/loop.dat") bytes without, $(stat -c %s "$tmp/loop-1M.dat") with, history from $(value "$tmp/loop-1M.dat" history_from_seconds) s"

# ---- below the limit, and the same totals ----
rounds=600000 # of which each is one event, two or none
for case in "1 200" "1 8000" "4 300" "1 200 --free-stacks" "2 300 --slack"; do
	read -r threads keep option <<<"$case"
	name="$threads threads, $keep blocks${option:+, $option}"
	record capped 512K ${option:-} -- $rounds $threads $keep
	limit=524288
	[ "$largest" -le $limit ] && [ "$together" -le $limit ] && [ "$gone" = 0 ] && [ "$(stat -c %s "$trace")" -le $limit ]
	expect "below the limit: $name" $? "largest $largest, together $together, moments without a file $gone"
	[ "$(tail -n 1 "$tmp/out")" = "$("$tmp/flight" $rounds $threads $keep | tail -n 1)" ]
	expect "the program is undisturbed: $name" $? "$(cat "$tmp/out")"
	"$memtui" record -f --on-full wait -o "$tmp/whole.dat" ${option:-} -- "$tmp/flight" $rounds $threads $keep >/dev/null 2>&1
	if [ "$threads" = 1 ]; then same "totals: $name" "$trace" "$tmp/whole.dat" peaks; else same "totals: $name" "$trace" "$tmp/whole.dat"; fi
	without_end "$trace" "$tmp/cut.dat"
	same "totals by checkpoint and events: $name" "$trace" "$tmp/cut.dat" peaks
	# Of a recorder that was late, a step may hold what came in the one before; and of memory no event tells.
	for file in "$trace" "$tmp/cut.dat"; do
		"$memtui" timeline --format csv "$file" 2>/dev/null | awk -F, 'NR > 1 { a += $5; f += $6; live = $2 " " $3; if ($4 > max) max = $4 }
			END { print (NR > 10), live, max, a, f }'
	done >"$tmp/timelines"
	[ "$(sort -u "$tmp/timelines" | wc -l)" = 1 ] && grep -q '^1 ' "$tmp/timelines"
	expect "timeline by checkpoint and events: $name" $? "$(cat "$tmp/timelines")"
	rm -rf "$tmp/capped.d"
done

# ---- many exchanges, and what is said of them ----
record many 512K -- 3000000 1 300
history=$(value "$trace" history_from_seconds)
# a file is seen under its name as often as there were exchanges, if the look was quick enough; the trace itself knows better
exchanges=$(python3 -c 'import sys; print(int(sys.argv[1]) // (512 * 1024 // 4))' "$("$memtui" record -f --on-full wait -o "$tmp/whole.dat" -- \
	"$tmp/flight" 3000000 1 300 >/dev/null 2>&1; stat -c %s "$tmp/whole.dat")")
[ "$exchanges" -ge 10 ] && [ "$files" -ge 2 ]
expect "at least ten exchanges" $? "$exchanges by bytes, $files files seen"
python3 -c 'import sys; sys.exit(not 0 < float(sys.argv[1]))' "$history" && grep -q 'were dropped (--max-size' "$tmp/err"
expect "the closing line says which events are gone" $? "$history; $(cat "$tmp/err")"
"$memtui" timeline "$trace" | tail -n 1 | grep -q 'were dropped (--max-size)' && "$memtui" info "$trace" | grep -q '^single events *from'
expect "timeline and info say so" $? "$("$memtui" timeline "$trace" | tail -n 1)"
asked "$memtui" timeline --format json "$trace" | python3 -c 'import json,sys; sys.exit(json.load(sys.stdin)["history_from_seconds"] <= 0)'
expect "the timeline's JSON says so" $? "$(asked "$memtui" timeline --format json "$trace" | head -c 60)"
asked "$memtui" timeline --format json "$trace" >"$tmp/plain.json"
asked "$memtui" timeline --stacked=2 --format json "$trace" | python3 -c 'import json,sys; d = json.load(sys.stdin)
sys.exit([sum(x) for x in zip(d["other"], *[s["live_bytes"] for s in d["series"]])] != json.load(open(sys.argv[1]))["live_bytes"])' "$tmp/plain.json"
expect "stacked by function, it adds up" $? "$("$memtui" timeline --stacked=2 "$trace" | tail -n 5)"
! "$memtui" info "$tmp/whole.dat" | grep -q '^single events'
expect "a whole trace says nothing" $? "$("$memtui" info "$tmp/whole.dat")"
[ "$(ls "$tmp/many.d" | grep -vcE '^t\.dat(\.(groups|info|said))?$')" = 0 ]
expect "nothing is left beside it" $? "$(ls "$tmp/many.d")"
[ "$(stat -c %a "$trace")" = 600 ]
expect "nobody else may read it" $? "$(stat -c %a "$trace")"

# ---- damage ----
python3 - "$trace" "$tmp" "$here" <<'P'
import sys
sys.path.insert(0, sys.argv[3])
from blocks import blocks
data = open(sys.argv[1], "rb").read()
found = list(blocks(data))
data = data[:next(b[0] for b in found if b[1] == "symbols")]
points = [b for b in found if b[1] == "checkpoint"]
last_ns = points[-1][3]
def spoil(which, name):
    copy = bytearray(data)
    for at, _, size, _ in which:
        copy[at + size - 9] ^= 0x55
    open(f"{sys.argv[2]}/{name}.dat", "wb").write(copy)
spoil([b for b in points if b[3] == last_ns], "last")
spoil([b for b in points if b[3] == last_ns][-1:], "part")
spoil(points, "all")
P
without_end "$trace" "$tmp/cut.dat"
for d in last part; do
	same "a damaged checkpoint: $d" "$tmp/cut.dat" "$tmp/$d.dat" peaks
	grep -q 'the checkpoint at byte [0-9]* of .* was skipped' "$tmp/$d.dat.said"
	expect "a damaged checkpoint is named: $d" $? "$(cat "$tmp/$d.dat.said")"
done
"$memtui" info "$tmp/all.dat" >/dev/null 2>"$tmp/err"
status=$?
[ $status = 1 ] && grep -q 'none of its checkpoints can be read' "$tmp/err"
expect "no checkpoint is left" $? "status $status: $(cat "$tmp/err")"

# ---- the recorder's death ----
start() { # OPTIONS -- ARGUMENTS: flight with pauses; its input at descriptor 9
	rm -rf "$tmp/in" "$tmp/out" "$tmp/s.d" "$tmp/status"
	mkdir "$tmp/s.d"
	mkfifo "$tmp/in"
	exec 9<>"$tmp/in"
	trace=$tmp/s.d/t.dat
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	( "$memtui" record -o "$trace" "${options[@]}" -- "$tmp/flight" "$@" pauses <"$tmp/in" >"$tmp/out" 2>"$tmp/err"; echo $? >"$tmp/status" ) &
	until_true test -s "$trace" || return 1
	until_true pgrep -f "^$tmp/flight" >/dev/null || return 1
	program=$(pgrep -f "^$tmp/flight" | head -n 1)
	recorder=$(ps -o ppid= -p "$program" | tr -d ' ')
}
counted() { # lines of the program's
	[ "$(wc -l <"$tmp/out" 2>/dev/null || echo 0)" -ge "$1" ]
}
drained() { # the trace says what the program said last
	tell "$trace" && python3 - "$trace.info" "$(tail -n 1 "$tmp/out")" <<'P'
import json, sys
i, truth = json.load(open(sys.argv[1])), [int(w) for w in sys.argv[2].split()]
sys.exit([i["allocations"], i["frees"], i["reallocations"], i["leaked_count"], i["leaked_bytes"]] != truth)
P
}
start --max-size 512K -- 2000000 1 300 || not_ok start "the program did not start"
echo >&9
until_true counted 1
until_true drained
expect "a growing trace says what the program says" $? "$(tail -n 1 "$tmp/out"); $(cat "$trace.said")"
grep -q 'incomplete: it is still being recorded, or its recorder was killed' "$trace.said"
expect "a growing trace is not said to be dead" $? "$(cat "$trace.said")"
cp "$trace" "$tmp/before.dat"
tell "$tmp/before.dat"
kill -KILL "$recorder"
echo >&9
until_true test -s "$tmp/status"
drained() { # as above, of the first half
	tell "$trace" && python3 - "$trace.info" "$(head -n 1 "$tmp/out")" <<'P'
import json, sys
i, truth = json.load(open(sys.argv[1])), [int(w) for w in sys.argv[2].split()]
sys.exit([i["allocations"], i["frees"], i["reallocations"], i["leaked_count"], i["leaked_bytes"]] != truth)
P
}
drained
expect "after SIGKILL all is there that was written" $? "$(head -n 1 "$tmp/out"); $(cat "$trace.said")"
same "after SIGKILL nothing has changed" "$tmp/before.dat" "$trace" peaks
[ "$(python3 "$here/blocks.py" "$trace" | grep -c checkpoint)" -ge 1 ] && [ "$(cat "$tmp/status")" = 0 ]
expect "it begins at a checkpoint; the program goes on" $? "status $(cat "$tmp/status"): $(cat "$tmp/err")"

# In the midst of everything, again and again: what is there adds up.
for round in 1 2 3 4 5 6; do
	start --max-size 512K -- 6000000 $((round % 3 + 1)) 2000 || not_ok start "the program did not start"
	first=$(stat -c %i "$trace")
	echo >&9
	exchanged() { [ "$(stat -c %i "$trace" 2>/dev/null || echo "$first")" != "$first" ]; }
	until_true exchanged
	kill -KILL "$recorder"
	echo >&9
	until_true test -s "$tmp/status"
	tell "$trace" && python3 - "$trace" <<'P'
import json, sys
i = json.load(open(sys.argv[1] + ".info"))
g = json.load(open(sys.argv[1] + ".groups"))
sums = {f: sum(x["all"][f] for x in g) for f in g[0]["all"]}
fault = [n for n, x, y in [
    ("blocks", i["allocations"] - i["frees"], i["leaked_count"]),
    ("live blocks of groups", sums["leaked_count"], i["leaked_count"]),
    ("live bytes of groups", sums["leaked_size"], i["leaked_bytes"]),
    ("allocations of groups", sums["allocated_count"], i["allocations"] + i["reallocations"]),
    ("bytes of groups", sums["size"], i["allocated_bytes"]),
    ("shares of the peak", sums["at_peak_size"], i["peak_bytes"])] if x != y]
# threads may be within a realloc: up to one block each
sys.exit(bool([f for f in fault if f != "blocks"]) or abs(i["allocations"] - i["frees"] - i["leaked_count"]) > 3
         or i["allocations"] == 0)
P
	expect "killed in the midst, $round" $? "$(cat "$trace.said")"
done

# ---- what does not fit ----
record large 512K -- 1200000 1 100000
grep -qE 'the trace may exceed --max-size 512.0K: .* must hold them twice, .*give [0-9]+M or more$' "$tmp/err" &&
	[ "$(value "$trace" limits | grep -c 'may exceed --max-size')" = 1 ]
expect "a large live set exceeds the limit and says so" $? "$(cat "$tmp/err")"
"$memtui" record -f --on-full wait -o "$tmp/whole.dat" -- "$tmp/flight" 1200000 1 100000 >/dev/null 2>&1
same "a large live set: totals" "$trace" "$tmp/whole.dat" peaks
record stopped 512K --over-size stop -- 1200000 1 100000
grep -qE 'the recording was stopped: stacks and live blocks take .*give [0-9]+M or more$' "$tmp/err" && [ "$largest" -le 524288 ] && [ "$together" -le 524288 ]
expect "a large live set ends the recording" $? "largest $largest, together $together; $(cat "$tmp/err")"
[ "$(cat "$tmp/out")" = "$("$tmp/flight" 1200000 1 100000)" ] && [ "$(value "$trace" allocations)" -gt 1000 ] &&
	[ "$(value "$trace" complete)" = True ]
expect "the program goes on, and the trace is complete" $? "$(cat "$trace.said")"
without_end "$trace" "$tmp/cut.dat"
same "a stopped recording: totals by checkpoint and events" "$trace" "$tmp/cut.dat" peaks

# ---- no new file can be made ----
for policy in exceed stop; do
	start --max-size 512K --over-size $policy -- 2000000 1 300
	mkdir "$trace.$recorder.new"
	echo >&9
	until_true counted 1
	if [ $policy = exceed ]; then
		until_true drained
		[ "$(stat -c %s "$trace")" -gt 524288 ]
		expect "no new file can be made: the old one grows" $? "$(stat -c %s "$trace")"
	fi
	rmdir "$trace.$recorder.new"
	echo >&9
	until_true test -s "$tmp/status"
	grep -q "could not be reduced to --max-size 512.0K: cannot create $trace.*: File exists" "$tmp/err" && tell "$trace"
	expect "no new file can be made, $policy: said" $? "$(cat "$tmp/err")"
	[ "$(stat -c %s "$trace")" -le 524288 ] && [ "$(value "$trace" complete)" = True ]
	expect "no new file can be made, $policy: in the end it is below the limit" $? "$(stat -c %s "$trace")"
done
"$memtui" record -f --on-full wait -o "$tmp/whole.dat" -- "$tmp/flight" 2000000 1 300 >/dev/null 2>&1
start --max-size 512K -- 2000000 1 300
mv "$trace" "$tmp/moved.dat"
echo other >"$trace"
echo >&9
until_true counted 1
echo >&9
until_true test -s "$tmp/status"
[ "$(cat "$trace")" = other ]
expect "a file that has taken the name stays" $? "$(head -c 100 "$trace")"
same "the trace that was moved is whole" "$tmp/moved.dat" "$tmp/whole.dat" peaks

# A disk with room for the limit and hardly more: it never was too small.
mkdir "$tmp/disk"
if mount -t tmpfs -o size=540k tmpfs "$tmp/disk" 2>/dev/null; then
	mounted=$tmp/disk
	"$memtui" record --max-size 512K -o "$tmp/disk/t.dat" -- "$tmp/flight" 1800000 2 300 >/dev/null 2>"$tmp/err"
	tell "$tmp/disk/t.dat" 2>/dev/null
	grep -q 'were dropped' "$tmp/err" && ! grep -qE 'No space|could not' "$tmp/err"
	expect "both files fit onto a disk of the limit's size" $? "$(cat "$tmp/err")"
	rm -f "$tmp"/disk/*
	# Here the new one does not fit beside the old one.
	head -c 200000 /dev/zero >"$tmp/disk/filler"
	"$memtui" record --max-size 512K --over-size stop -o "$tmp/disk/t.dat" -- "$tmp/flight" 1800000 1 300 >"$tmp/out" 2>"$tmp/err"
	status=$?
	rm "$tmp/disk/filler"
	tell "$tmp/disk/t.dat"
	[ $status = 0 ] && grep -q 'could not be reduced.*No space left' "$tmp/err" && [ "$(value "$tmp/disk/t.dat" allocations)" -gt 1000 ]
	expect "full disk at the exchange" $? "status $status: $(cat "$tmp/err")"
	[ "$(ls "$tmp/disk" | grep -c new)" = 0 ]
	expect "full disk: nothing is left beside it" $? "$(ls "$tmp/disk")"
	umount "$tmp/disk" && mounted=
else
	echo "skip a disk that is too small: no tmpfs can be mounted here"
fi

# ---- what is left of history ----
found() { # TRACE OPTIONS: live blocks that match, by function
	local trace=$1
	shift
	asked "$memtui" groups --format json --lifetime only_leaked "$@" "$trace" 2>"$tmp/err" | python3 -c '
import json, sys
print(sorted((g["backtrace"][0]["function"], *(g["only_matched"][m] for m in ("leaked_count", "leaked_size", "at_peak_count", "at_peak_size")))
    for g in json.load(sys.stdin)))'
}
record chains 512K -- 1500000 1 10000
"$memtui" record -f --on-full wait -o "$tmp/whole.dat" -- "$tmp/flight" 1500000 1 10000 >/dev/null 2>&1
for question in "--chain-length-min 3 --first-size-max 100" "--position-in-chain-min 5" "--first-size-min 200" "--chain-length-max 1" "--size-min 300"; do
	want=$(found "$tmp/whole.dat" $question)
	have=$(found "$trace" $question)
	[ "$want" = "$have" ] && [ ${#want} -gt 20 ]
	expect "live blocks are known as if all history were there: $question" $? "$have instead of $want"
done
grep -q 'events of the first .* were dropped (--max-size)' "$tmp/err"
expect "a filter by single blocks says what is gone" $? "$(cat "$tmp/err")"

said() { # PATTERN NAME COMMAND...: on standard error
	local pattern=$1 name=$2
	shift 2
	"$memtui" "$@" >"$tmp/view" 2>"$tmp/err"
	grep -q "events of the first .* were dropped (--max-size): $pattern" "$tmp/err"
	expect "$name says what is gone" $? "$(cat "$tmp/err")"
}
missing="blocks freed before that time are missing"
for view in histogram "allocations --format json" chains "groups --by thread" "export --as heaptrack" errors; do
	said "$missing" "$view" $view "$trace"
done
said "blocks freed before that time count as others" "timeline --stacked" timeline --stacked --format csv "$trace"
said "lifetimes are left out" "export --as dhat" export --as dhat "$trace"
"$memtui" allocations "$tmp/whole.dat" -n 1 2>&1 >/dev/null | grep -q gone
expect "of a whole trace nothing is said to be gone" $((!$?)) "it is"
"$memtui" errors "$trace" 2>/dev/null | grep -q '^errors in the first .* are not known'
expect "errors before the history that is left cannot be said" $? "$("$memtui" errors "$trace" 2>&1)"
for view in errors histogram; do
	asked "$memtui" $view --format json "$trace" 2>/dev/null | python3 -c 'import json,sys; sys.exit(json.load(sys.stdin)["history_from_seconds"] <= 0)'
	expect "the JSON of $view says since when" $? "$(asked "$memtui" $view --format json "$trace" 2>&1 | head -c 200)"
done
# Group totals do not tell reallocs from allocations: of those whose events are gone a filter cannot, either, and says so.
calls() { asked "$memtui" info --format json "$@" 2>/dev/null | python3 -c 'import json, sys
d = json.load(sys.stdin); print(d["allocations"] + d["reallocations"], d["frees"] + d["reallocations"], d["reallocations"] > 0, d["calls_estimated"])'; }
want="$(calls --function-regex '^grow$' "$tmp/whole.dat" | sed 's/False$/True/') $(calls --function-regex '^shortly$' "$tmp/whole.dat") $(calls "$tmp/whole.dat")"
have="$(calls --function-regex '^grow$' "$trace") $(calls --function-regex '^shortly$' "$trace") $(calls "$trace")"
[ "$have" = "$want" ]
expect "of a filter reallocs before the history are estimated" $? "$have instead of $want"
[ "$("$memtui" info --function-regex '^grow$' "$trace" 2>/dev/null | grep -cE '^(allocations|frees|reallocations) +~')" = 3 ]
expect "and marked" $? "$("$memtui" info --function-regex '^grow$' "$trace" 2>&1 | head -n 8)"
unsure() { # RANGE: whether shares of its peak are marked, in text and JSON
	asked "$memtui" groups --format json --sort at_peak_size "$@" "$trace" 2>/dev/null | grep -q '"at_peak_estimated":true' && printf marked
	"$memtui" groups --sort only_matched.at_peak_size "$@" "$trace" 2>/dev/null | grep -q '  *~[0-9]' && printf ", marked"
}
history=$(value "$trace" history_from_seconds)
# All of the run, where its peak is gone; else what comes before the peak, and so in part before the history.
have=$(unsure --size-min 1 --to "$(python3 -c 'import sys
history, peak, end = map(float, sys.argv[1:])
print(end if peak < history else peak - 0.000001)' "$history" "$(value "$trace" peak_seconds)" "$(value "$trace" wall_seconds)")s")
[ "$have" = "marked, marked" ]
expect "shares of a peak in lost history are estimates" $? "$have"
have=$(unsure --from "$(python3 -c 'import sys; print(float(sys.argv[1]) + 0.000001)' "$history")s")
[ -z "$have" ]
expect "shares of a peak in the history that is left are none" $? "$have"

# ---- little to do ----
record short 512K -- 1000 1 10
python3 "$here/blocks.py" "$trace" | grep -q checkpoint
[ $? = 1 ] && [ "$(value "$trace" history_from_seconds)" = 0.0 ]
expect "a short run has no checkpoint, and its whole history" $? "$(python3 "$here/blocks.py" "$trace")"

# ---- processes, and what is refused ----
"$memtui" record --max-size 512K -o "$tmp/p.dat" -- sh -c "$tmp/flight 1800000 1 200 & $tmp/flight 1800000 1 300 & wait" >/dev/null 2>"$tmp/err"
large=$(find "$tmp" -name 'p.dat*' -size +512k | wc -l)
count=$(find "$tmp" -name 'p.dat*' | wc -l)
[ "$large" = 0 ] && [ "$count" -ge 3 ]
expect "each process has a limit of its own" $? "$(ls -l "$tmp"/p.dat*)"
refused() { # NAME PATTERN STATUS COMMAND...
	local name=$1 pattern=$2 want=$3
	shift 3
	"$@" >/dev/null 2>"$tmp/err"
	local status=$?
	[ $status = "$want" ] && grep -qE "$pattern" "$tmp/err"
	expect "refused: $name" $? "status $status: $(cat "$tmp/err")"
}
refused "standard output" 'give a file with --output' 2 "$memtui" record --max-size 1M -o - -- true
refused "too small" 'give 256K or more' 2 "$memtui" record --max-size 10K -o "$tmp/x.dat" -- true
refused "nothing" 'give 256K or more' 2 "$memtui" record --max-size 0 -o "$tmp/x.dat" -- true
refused "no size" 'expected a size such as 64M' 2 "$memtui" record --max-size some -o "$tmp/x.dat" -- true
refused "no limit" 'only with --max-size' 2 "$memtui" record --over-size stop -o "$tmp/x.dat" -- true
mkfifo "$tmp/pipe"
cat "$tmp/pipe" >/dev/null &
refused "a fifo" 'max-size needs a file' 1 "$memtui" record --max-size 1M -o "$tmp/pipe" -- true
exit 0
