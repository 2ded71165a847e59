#!/usr/bin/env bash
# live_list: what filters for leaks give by the LIVE block of a trace is what they give by a pass over all events, also where the block
# is damaged, lies, or is not there. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
build_programs -O1 -g -fno-builtin -pthread -- live_list
change=$here/change.py
kind() { python3 "$here/../golden/drop.py" "$1" 2>/dev/null | awk '{ print $1 }' | grep -c live; }

leaks=(--lifetime only_leaked)
commands=("groups --format json" "groups --format csv --size-min 100" "groups --format csv --lifetime-min 1ms" "groups --format json --from 30% --to 60%"
	"groups --format csv --from 99%" "groups --format json --function-regex grow" "groups --format csv --alive-at 50%"
	"groups --format csv --alive-at peak" "groups --format csv --mmapped yes" "tree --format json --min-percent 0" "timeline --format csv"
	"allocations --format csv" "allocations" "allocations --sort lifetime --format csv -n 30" "allocations --sort size --exact -n 7 --skip 3" "allocations --sort address --order desc --format json -n 40"
	"allocations --sort live --order asc --format csv -n 9" "allocations --order desc -n 60"
	"allocations --format csv --from 30% --to 60%" "allocations --format csv --from 42.5% --to 42.5%" "allocations --format csv --function-regex grow"
	"chains --format csv" "histogram --of lifetime --format csv" "diff --format csv --from 20% --to 70%")
# same NAME TRACE OTHER [COMMAND]...: both give the same
same() {
	local name=$1 one=$2 other=$3 why= words command copy
	shift 3
	for command in "$@"; do
		read -ra words <<<"$command"
		for copy in "$one" "$other"; do
			ln -sf "$copy" same.dat
			timeout 120 "$memtui" "${words[@]}" "${leaks[@]}" same.dat 2>"$copy.err" | sed 's/"file_bytes":[0-9]*//' >"$copy.out"
			[ "${PIPESTATUS[0]}" = 0 ] || why+="$command: $(head -n 1 "$copy.err"); "
		done
		cmp -s "$one.out" "$other.out" || why+="$command: $(diff "$one.out" "$other.out" | head -n 4); "
		[ -s "$one.out" ] || why+="$command: nothing; "
	done
	say "$name" "$why"
}
# compare NAME TRACE: the trace has the block, and answers as without
compare() {
	local least=${3:-1}
	"$memtui" groups --format csv --thread live_list "${leaks[@]}" "$2" >/dev/null 2>&1 && threads=("groups --format csv --thread live_list" "allocations --thread live_list --format csv -n 100") || threads=()
	[ "$(kind "$2")" -ge "$least" ] || { not_ok "$1" "the trace has $(kind "$2") LIVE blocks"; return; }
	python3 "$change" "$2" none.dat none && same "$1" "$2" none.dat "${commands[@]}" "${threads[@]}"
}

"$memtui" record -f -o threads.dat ./live_list threads >/dev/null 2>&1
compare "a program with threads" threads.dat
"$memtui" record -f -o crash.dat ./live_list crash >/dev/null 2>&1
compare "a program that crashed" crash.dat
"$memtui" record -f -o fork.dat ./live_list fork >/dev/null 2>&1
compare "a program with a child" fork.dat
child=$(ls fork.dat.* | head -n 1)
compare "its child" "${child:-none}"
"$memtui" record -f -o many.dat ./live_list many >/dev/null 2>&1
compare "a program that leaks many blocks" many.dat 3
MEMTUI_OUTPUT=alone.dat LD_PRELOAD=$lib ./live_list threads >/dev/null 2>&1
"$memtui" pack -f -o packed.dat alone.dat >/dev/null 2>&1 || "$memtui" pack -o packed.dat alone.dat >/dev/null 2>&1
compare "a packed recording" packed.dat
"$build/bench/make_trace" made.dat "${EVENTS:-200000}" 2>/dev/null
compare "an invented recording" made.dat

# Blocks that cannot be believed.
few=("groups --format json" "allocations --format csv" "allocations --format csv --from 0% --to 60%")
python3 "$change" threads.dat none.dat none
for how in same early parts part flag blocks "many blocks" next events twice far large group thread restores longer shorter; do
	python3 "$change" threads.dat lies.dat "$how" || { not_ok "$how" "no copy"; continue; }
	same "a block that says: $how" lies.dat none.dat "${few[@]}"
done
python3 "$change" threads.dat lies.dat "other number" && timeout 60 "$memtui" groups "${leaks[@]}" lies.dat >/dev/null 2>&1
say "a block with another number ends in an answer" "$(is $? 0)"
python3 "$change" threads.dat lies.dat damaged
why=
for command in "${few[@]}"; do
	read -ra words <<<"$command"
	for copy in lies none; do timeout 60 "$memtui" "${words[@]}" "${leaks[@]}" $copy.dat 2>$copy.err >$copy.out || why+="$command: $?; "; done
	cmp -s lies.out none.out || why+="$command: $(diff lies.out none.out | head -n 4); "
done
say "a damaged block" "$why"
python3 "$change" threads.dat lies.dat none && head -c $(($(stat -c %s none.dat) * 9 / 10)) threads.dat >cut.dat
timeout 60 "$memtui" groups "${leaks[@]}" cut.dat >/dev/null 2>&1
say "a cut trace" "$(is $? 0)"

# A recording with a limit has none: its events are few.
"$memtui" record -f --max-size 1M -o flight.dat ./live_list threads >/dev/null 2>&1
say "a recording with a limit" "$(is "$(kind flight.dat)" 0)$("$memtui" groups "${leaks[@]}" flight.dat 2>&1 >/dev/null | grep -v 'dropped\|suppressed')"

# The block is what answers: two blocks whose sizes it exchanges in part give another answer, and the same sum.
python3 "$change" threads.dat lies.dat sizes
why=
for command in "${few[@]}" "allocations --exact -n 1000000"; do
	read -ra words <<<"$command"
	for copy in lies none; do "$memtui" "${words[@]}" "${leaks[@]}" $copy.dat >$copy.out 2>&1; done
	cmp -s lies.out none.out && why+="$command: it was not read; "
done
say "the block is read" "$why"
exit $bad
