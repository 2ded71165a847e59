#!/usr/bin/env bash
# resident: what recording costs a program with many threads in memory, and what is said of the program's own. No sleeps:
# what is waited for is a line, or what /proc says of the program and of its recorder.
. "$(dirname "$0")/../suite.sh"
program=0
at_exit() { exec 9>&-; }
gcc -O1 -g -fno-builtin -pthread -o "$tmp/sleepers" "$here/../programs/sleepers.c" || exit 1

expect() { # NAME CONDITION-STATUS WHY
	if [ "$2" = 0 ]; then ok "$1"; else not_ok "$1" "$3"; fi
}
status() { # FIELD of the program: kB
	awk -v name="$1:" '$1 == name { n = $2 } END { print n == "" ? 999999999 : n }' "/proc/$program/status" 2>/dev/null
}
said() { [ "$(grep -c "^$1" "$tmp/out" 2>/dev/null || true)" -ge "$2" ] 2>/dev/null; }

# start COMMAND... :: ARGUMENTS of sleepers: its input is descriptor 9, its output $tmp/out.
start() {
	local command=()
	while [ "$1" != :: ]; do command+=("$1"); shift; done
	shift
	rm -f "$tmp/in" "$tmp/out"
	mkfifo "$tmp/in"
	( exec 8<&-; exec "${command[@]}" "$tmp/sleepers" "$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" ) &
	front=$!
	exec 9>"$tmp/in"
}
find_program() { program=$(pgrep -f "^$tmp/sleepers $1" | head -n 1); [ -n "$program" ]; }
finish() {
	exec 9>&-
	wait $front
}
# How often threads of the recorder have slept of their own accord: of the onlooker, or of all others. Each time is the end
# of a look at the program's memory, or at all its rings.
sleeps() { # onlooker | others
	for task in /proc/"$(status PPid)"/task/*; do
		[ "$(cat $task/comm 2>/dev/null)" = onlooker ] && name=onlooker || name=others
		[ $name = $1 ] && cat $task/status 2>/dev/null
	done | awk '$1 == "voluntary_ctxt_switches:" { s += $2 } END { print s + 0 }'
}
sleeps_are() { [ "$(sleeps $1)" -ge "$2" ]; }
# After it the recorder has looked at the program's memory and its rings, and at its resident size again.
has_looked() {
	until_true sleeps_are onlooker $(($(sleeps onlooker) + 4)) && until_true sleeps_are others $(($(sleeps others) + 60))
}
at_most() { [ "$(status "$1")" -le "$2" ]; }
value() { # KEY of info in $tmp/t.dat
	asked "$memtui" info --format json "$tmp/t.dat" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}
pairs() { echo "$(value allocations) $(value lost_events)"; }

# ---- what threads cost, and what is shown ----
for case in "1 30" "200 30" "200 20000" "1000 30" "1000 5000"; do
	read -r threads events <<<"$case"
	start :: $threads $events
	until_true said ready 1 && find_program "$case" || not_ok "$case runs" "$(cat "$tmp/err")"
	alone=$(status VmRSS)
	finish
	start "$memtui" record -f -o "$tmp/t.dat" -- :: $threads $events
	until_true said ready 1 && find_program "$case" || not_ok "$case is recorded" "$(cat "$tmp/err")"
	# Light threads give all of their rings back; of those that were busy the first 64 keep what they have claimed.
	shared=$((events < 64 ? 400 : 3000 + threads * 4))
	until_true at_most RssShmem $shared
	expect "$threads threads, $events pairs: rings go back" $? "$(status RssShmem) kB of the segment are resident, more than $shared"
	# The bound above leaves rings some pages that they may yet give back.
	most=$((1024 + threads * (events < 64 ? 5 : 10) + (events < 64 ? 0 : 2048)))
	until_true at_most VmRSS $((alone + most))
	expect "$threads threads, $events pairs: cost at most $most kB" $? "$(($(status VmRSS) - alone)) kB ($(grep '^Rss' /proc/$program/status | tr -s '\t\n' ' '))"
	has_looked || not_ok "$case: the recorder goes on" "$(sleeps onlooker) and $(sleeps others) looks"
	recorded=$(grep '^Rss' /proc/$program/status | tr -s '\t\n' ' ')
	finish
	shown=$(($(value rss_bytes) / 1024)) off=$((alone / 50 > 300 ? alone / 50 : 300))
	[ $((shown - alone)) -le $off ] && [ $((alone - shown)) -le $off ]
	expect "$threads threads, $events pairs: the RSS shown is the program's own" $? "shown $shown kB, shared $(value shared_bytes) B; alone $alone kB; recorded $recorded"
	[ $(($(value peak_rss_bytes) / 1024)) -ge $shown ] && [ $(($(value peak_rss_bytes) / 1024 - alone)) -le $((2 * off)) ]
	expect "$threads threads, $events pairs: the peak is the program's own" $? "peak $(value peak_rss_bytes) B, alone $alone kB"
	[ "$(value lost_events)" = 0 ]
	expect "$threads threads, $events pairs: nothing is lost" $? "$(value lost_events) events"
done

# ---- rings that gave their pages back go on ----
start "$memtui" record -f -o "$tmp/t.dat" -- :: 40 3000
until_true said ready 1 && find_program "40 3000"
for ((round = 2; round <= 6; round++)); do
	until_true at_most RssShmem 3200 || break
	echo again >&9
	until_true said ready $round || break
done
finish
[ $round = 7 ]
expect "threads wake up again" $? "round $round, $(cat "$tmp/err")"
wanted=$(awk '/pairs/ { print $1 }' "$tmp/out")
counted=$(asked "$memtui" groups --format json --function-regex '^pair$' "$tmp/t.dat" | python3 -c 'import json, sys; print(sum(g["all"]["allocated_count"] for g in json.load(sys.stdin)))')
[ "$wanted" = "$counted" ] && [ "$(value invalid_records) $(value unknown_frees) $(value lost_events)" = "0 0 0" ]
expect "each pair is there once" $? "$counted of $wanted, invalid $(value invalid_records), unknown $(value unknown_frees), lost $(value lost_events)"

# ---- memory that is not in the heap ----
start "$memtui" record -f -o "$tmp/t.dat" -- :: 1 10 elsewhere
until_true said filled 1 && find_program "1 10" && has_looked || not_ok "memory elsewhere" "$(cat "$tmp/err")"
echo >&9
until_true said ready 1 && until_true at_most VmRSS 20000 && has_looked
finish
last=$(value rss_bytes) peak=$(value peak_rss_bytes)
[ $((peak - last)) -ge 60000000 ] && [ $peak -ge 67108864 ] && [ $peak -le 76000000 ]
expect "the peak of what is resident" $? "peak $peak, last $last"
asked "$memtui" info --format json "$tmp/t.dat" | python3 -c 'import json, sys; d = json.load(sys.stdin); sys.exit(not 0 < d["peak_rss_seconds"] < d["wall_seconds"])'
expect "its moment" $? "$(value peak_rss_seconds) of $(value wall_seconds) s"
[ "$(value mapped_reserved_bytes)" = 1073741824 ] && [ "$(value mapped_peak_bytes)" -lt 70000000 ]
expect "reserved address space is no memory" $? "reserved $(value mapped_reserved_bytes), mapped at most $(value mapped_peak_bytes)"
"$memtui" info "$tmp/t.dat" >"$tmp/info" && grep -q '^resident at most  6[0-9]\..*M at ' "$tmp/info" && grep -q '^mapped, reserved  1.0G' "$tmp/info"
expect "info says both" $? "$(cat "$tmp/info")"
sentence='The heap held at most [0-9.]*[kB]* of 6[0-9.]*M resident; most of the memory is not in malloc.'
"$memtui" report "$tmp/t.dat" >"$tmp/report" && grep -q "^$sentence" "$tmp/report" && grep -q "$sentence" "$tmp/info"
expect "the report says that the heap is not where the memory is" $? "$(head -n 12 "$tmp/report")"
"$memtui" record -f -o "$tmp/t.dat" -- "$tmp/sleepers" 1 10 </dev/null >"$tmp/out" 2>&1
"$memtui" report "$tmp/t.dat" >"$tmp/report" && ! grep -q 'not in malloc' "$tmp/report"
expect "a small program says nothing of it" $? "$(cat "$tmp/report")"
