#!/usr/bin/env bash
# outstanding: 'memtui leaks' says of a program exactly what the program says of itself, while it runs and afterwards, in memleak's form.
# run.sh BUILD
. "$(dirname "$0")/../suite.sh"
build_programs -O1 -g -fno-builtin -fno-omit-frame-pointer -pthread -- holder
pids=()
at_exit() { for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null; done; }

child= holder=holder
has_said() { [ -e "$name.said" ] && [ "$(grep -c '^end$' "$name.said")" -ge "$1" ]; }
# begin NAME THREADS COMMAND...: a recorder of COMMAND, with a holder that says what it does; the recorder is $recorder, the holder $pid
begin() {
	name=$1 said=1
	local threads=$2
	shift 2
	mkfifo "$name.in"
	exec 7<>"$name.in"
	"$@" ./"$holder" "$threads" "$name.in" "$name.said" $child >"$name.log" 2>&1 7>&- 8>&- &
	recorder=$!
	pids+=("$recorder")
	until_true has_said 1 || { not_ok "$name" "the program does not begin: $(head -n 1 "$name.log")"; exit 1; }
	pid=$(sed -n 's/^pid //p' "$name.said")
	pids+=("$pid")
}
step() { # once more; what is true then is said
	said=$((said + 1))
	echo step >&7
	until_true has_said "$said" || { not_ok "$name" "the program does not answer"; exit 1; }
}
finish() {
	echo quit >&7
	exec 7>&-
	wait "$recorder"
	recorded=$?
}
compare() { python3 "$here/compare.py" "$@" 2>&1; }
leaks() { timeout 60 "$memtui" leaks "$@" 7>&- 8>&-; }

# ---- while it runs ----
begin running 0 "$memtui" record -o running.dat --
step
step
why=
leaks -o 0 -p "$pid" 0.1 2 >two 2>err || why+="status $?: $(head -n 1 err); "
why+=$(compare live two running.said)
why+=$(is "$(grep -c '^\[' two)" 2)
why+=$(is "$(head -n 1 two)" "Attaching to pid $pid, Ctrl+C to quit.")
say "COUNT reports, exact" "$why"
why=
leaks -ao 0 -T 2 -p "$pid" 100ms 1 >blocks 2>err || why+="status $?: $(head -n 1 err); "
grep -q '^\[..:..:..\] Top 2 stacks' blocks || why+="the heading does not say 2; "
why+=$(is "$(grep -c 'allocations from stack' blocks)" 2)
leaks -ap "$pid" -o 0 100ms 1 >blocks 2>err || why+="status $?: $(head -n 1 err); "
say "addresses are the program's" "$why$(compare live blocks running.said blocks)"
why=
leaks -o 600000 -p "$pid" 0.1 1 >none 2>err || why+="status $?: $(head -n 1 err); "
why+=$(is "$(grep -c allocations none)" 1)
say "nothing is older than the program" "$why"
leaks -p "$pid" -o 0 -z 1000 -Z 1004 0.1 1 >sized 2>&1
say "sizes have both bounds" "$(is "$(grep 'bytes in' sized | tr -d '\t')" "$(python3 - <<'PY'
said = [a for a in open("running.said").read().split("end\n") if a.strip()][-1]
sizes = [int(l.split()[2]) for l in said.splitlines() if l.startswith("addr") and 1000 <= int(l.split()[2]) <= 1004]
print(f"{sum(sizes)} bytes in {len(sizes)} allocations from stack")
PY
)")"
leaks --combined-only --wa-missing-free -p "$pid" 0.1 1 >combined 2>&1
say "combined statistics" "$(compare live combined running.said)"

# A watcher beside others: a second report, and totals; none of them changes what another sees.
"$memtui" leaks -o 0 -p "$pid" 50ms >beside 2>&1 7>&- 8>&- &
other=$!
pids+=("$other")
"$memtui" leaks --combined-only -p "$pid" 50ms >totals 2>&1 7>&- 8>&- &
totals=$!
pids+=("$totals")
step
reports() { [ "$(grep -c '^\[' "$1")" -ge "$2" ]; }
until_true reports totals $(($(grep -c '^\[' totals) + 2))
until_true reports beside $(($(grep -c '^\[' beside) + 2))
kill -INT "$other" "$totals"
wait "$other"
why=$(is $? 0)
wait "$totals"
why+=$(is $? 0)
say "several watch at once, and ^C brings the last report" "$why$(compare live beside running.said)$(compare live totals running.said)"
kill -0 "$pid" 2>/dev/null || not_ok "the program goes on" "it has ended"
"$memtui" leaks -o 0 -p "$pid" 30 >waits 2>&1 7>&- 8>&- &
waits=$!
pids+=("$waits")
until_true grep -q Attaching waits
kill -INT "$waits"
wait "$waits"
say "^C does not wait for the interval" "$(is $? 0)$(is "$(grep -c '^\[' waits)" 1)$(compare live waits running.said)"
leaks -t -o 0 -p "$pid" 0.1 1 >calls 2>&1
say "each call, in order" "$(compare calls calls running.said)"
leaks -o 0 -p "$pid" 30 >end 2>&1 &
ending=$!
until_true grep -q Attaching end
step
finish
wait "$ending"
say "the end of the program is the last report" "$(is $? 0)$(is "$recorded" 7)$(is "$(grep -c '^\[' end)" 1)$(compare live end running.said)"

# ---- a trace ----
leaks -a -o 0 running.dat >trace 2>err
say "a trace" "$(is $? 0)$(is "$(grep -c '^\[' trace)" 1)$(compare live trace running.said blocks)"
leaks -t running.dat >calls 2>err
say "each call of a trace" "$(compare calls calls running.said)"
"$memtui" allocations --format json running.dat >allocations.json 2>err
wall=$("$memtui" info --format json running.dat | python3 -c 'import json,sys; print(round(json.load(sys.stdin)["wall_seconds"] * 1e9))')
moments=() step_ns=$((wall * 2 / 9 / 1000000 * 1000000)) # the last step of the program is behind the last interval
interval=$((step_ns / 1000000))ms
for ((at = step_ns; at < wall; at += step_ns)); do moments+=("$at"); done
for older in 0 1 $((wall / 3000000)); do
	leaks -T 1000 -o $older running.dat "$interval" >intervals 2>err
	say "each interval of a trace, older than $older ms" "$(is $? 0)$(compare ages intervals allocations.json "${older}000000" "${moments[@]}" "$wall")"
	leaks -T 1000 -o $older running.dat >trace 2>err
	say "its end, older than $older ms" "$(compare ages trace allocations.json "${older}000000" "$wall")"
done
leaks -o 0 running.dat "$interval" 2 >two 2>err
say "COUNT of a trace" "$(is "$(grep -c '^\[' two)" 2)"
leaks -o 0 - <running.dat >trace 2>err
say "a trace from a pipe" "$(compare live trace running.said)"

# A report of the end needs the headers of event blocks, not their events: one of which is damaged is not read.
cp running.dat spoilt.dat
python3 "$here/spoil.py" spoilt.dat
leaks -o 0 running.dat >trace 2>err
leaks -o 0 spoilt.dat >again 2>err
why=$(cmp trace again 2>&1)
leaks -T 1000 -o 1 running.dat >trace 2>err
leaks -T 1000 -o 1 spoilt.dat >again 2>err
why+=$(cmp trace again 2>&1)
leaks -o 0 spoilt.dat "$interval" >again 2>err && why+="the damage was not met by who needs the events; "
say "events that nobody asks for are not read" "$why"

# ---- other recordings ----
begin threads 4 "$memtui" record -o threads.dat --
for i in 1 2 3; do
	step
	leaks -o 0 -p "$pid" 50ms 1 >blocks 2>&1 # ends an event block, too
done
step
leaks -ao 0 -p "$pid" 50ms 3 >blocks 2>err
say "threads" "$(compare live blocks threads.said blocks)"
python3 "$here/spoil.py" threads.dat || not_ok "threads" "the trace cannot be damaged"
leaks -ao 0 -p "$pid" 50ms 1 >blocks 2>err
why=$(is $? 0)$(compare live blocks threads.said blocks)
leaks -p "$pid" -o 600000 50ms 1 >none 2>err
why+=$(is $? 0)$(is "$(wc -l <none)" 2)
python3 "$here/spoil.py" threads.dat
say "the recorder lists what lives: events are not read" "$why"
finish
begin limited 4 "$memtui" record --max-size 256K -o limited.dat --
for i in 1 2 3; do step; done
leaks -ao 0 -p "$pid" 50ms 2 >blocks 2>err
say "a recording with a limit to its size" "$(is $? 0)$(compare live blocks limited.said blocks)"
finish
child=fork begin child 0 "$memtui" record -o child.dat --
step
leaks -ao 0 -p "$pid" 50ms 1 >blocks 2>err
say "a child" "$(is $? 0)$(compare live blocks child.said blocks)"
finish
begin alone 0 env LD_PRELOAD="$lib" MEMTUI_OUTPUT="$tmp/alone.mem"
step
leaks -ao 0 -p "$pid" 50ms 1 >blocks 2>err
say "a program that records itself" "$(is $? 0)$(compare live blocks alone.said blocks)"
finish
mkfifo stream.out
cat stream.out >/dev/null 7>&- 8>&- &
begin stream 0 "$memtui" record -o stream.out --
step
leaks -p "$pid" 50ms 1 >out 2>err
why=$(is $? 1)
grep -q 'is a stream, so only its totals are known (--combined-only)' err || why+="$(head -n 1 err); "
leaks --combined-only -p "$pid" 50ms 1 >out 2>err
say "a stream has only totals" "$why$(is $? 0)$(compare live out stream.said)"
finish

mkfifo go
begin exec 0 "$memtui" record -o exec.dat -- bash -c 'echo "pid $$" >exec.said; echo end >>exec.said; read -r _ <go; exec "$@"' bash
"$memtui" leaks -t -o 0 -p "$pid" 50ms >calls 2>err 7>&- 8>&- &
watcher=$!
until_true reports calls 2
echo >go
step
until_true reports calls $(($(grep -c '^\[' calls) + 2))
step
finish
wait "$watcher"
why=$(is $? 0)
grep -v '^[^[\t].*: \(alloc exited\|free entered\), ' calls >report
grep '^holder-' calls >own
say "an executed program" "$why$(compare live report exec.said)$(compare calls own exec.said)"

begin killed 0 "$memtui" record -o killed.dat --
step
"$memtui" leaks -o 0 -p "$pid" 30 >last 2>err 7>&- 8>&- &
watcher=$!
until_true grep -q Attaching last
step
leaks -o 0 -p "$pid" 50ms 1 >out 2>&1 # now the trace has all
kill -KILL "$(ps -o ppid= -p "$pid" | tr -d ' ')"
wait "$watcher"
why=$(is $? 0)
grep -q "the recorder of process $pid is gone: the last report is of what it has written" err || why+="it says: $(head -n 1 err); "
say "a recorder that is killed" "$why$(compare live last killed.said)"
finish

# Nobody records it until then: what it held before is not known, and it is left as it was.
begin late 0 env
step
"$memtui" leaks -o 0 -p "$pid" 50ms >late 2>err 7>&- 8>&- &
watcher=$!
if until_true reports late 1; then
	step
	until_true reports late $(($(grep -c '^\[' late) + 2))
	kill -INT "$watcher"
	wait "$watcher"
	why=$(is $? 0)$(compare since late late.said)
	step
	finish
	say "a process that nobody recorded" "$why$(is "$recorded" 7)"
else
	skip "a process that nobody recorded" "it cannot be attached to: $(head -n 1 err)"
	finish
fi

# ---- a command ----
mkfifo command.in
exec 7<>command.in
echo step >&7
echo quit >&7
leaks -c "./holder 0 command.in command.said" -o 0 --output command.dat 0.1 >out 2>err
why=$(is $? 7)
grep -q '^memtui: wrote .*command.dat: ' err || why+="nothing says what was written: $(head -n 1 err); "
say "a command: its end, its status, its trace" "$why$(compare live out command.said)$(leaks -o 0 command.dat >trace 2>&1; compare live trace command.said)"
echo quit >&7
leaks -o 0 --output words.dat 5 -- ./holder 0 command.in 'a name' >out 2>err
say "-- PROG has words of its own" "$(is $? 7)$(is "$(ls 'a name')" 'a name')"
leaks -c "./holder 0 command.in counted.said" -o 0 --output counted.dat 0.1 2 >out 2>err
why=$(is $? 0)
pid=$(sed -n 's/^pid //p' counted.said)
pids+=("$pid")
kill -0 "$pid" 2>/dev/null || why+="the program has ended; "
grep -q "the program goes on, and so does its recording: 'memtui attach $pid' watches it" err || why+="$(head -n 1 err); "
echo quit >&7
gone() { ! kill -0 "$pid" 2>/dev/null; }
until_true gone || why+="the program does not end; "
say "after COUNT reports the program goes on" "$why$(is "$(grep -c '^\[' out)" 2)"
leaks -c "./holder 0 command.in piped.said" -o 0 --output piped.dat 0.05 2>err | head -n 1 >first
until_true grep -q ^pid piped.said
pid=$(sed -n 's/^pid //p' piped.said)
why=$(is "$(cat first)" "Attaching to pid $pid, Ctrl+C to quit.")
kill -0 "$pid" 2>/dev/null || why+="the program has ended with the pipe; "
echo quit >&7
until_true gone || why+="the program does not end; "
say "a broken pipe ends the reports, not the program" "$why"
exec 7>&-

# ---- names ----
hostile=$'hold\e[31m\ner'
cp holder "$hostile"
holder=$hostile begin hostile 0 "$memtui" record -o hostile.dat --
step
leaks -o 0 -p "$pid" 50ms 1 >out 2>err
leaks -o 0 hostile.dat >>out 2>err
why=$(LC_ALL=C tr -d '\n\t -~' <out | wc -c | tr -d '0')
grep -qF '[hold\x1b[31m\ner]' out || why+="the name is not told; "
say "names are made safe" "$why"
finish

# ---- refusals ----
refused() { # STATUS TEXT ARGUMENTS...
	local status=$1 text=$2 why=
	shift 2
	leaks "$@" >out 2>err </dev/null
	why=$(is $? "$status")
	why+=$(is "$(wc -l <err)" 1)
	grep -qF -- "$text" err || why+="it says: $(head -n 1 err); "
	[ ! -s out ] || why+="it prints: $(head -n 1 out); "
	say "refused: $*" "$why"
}
refused 1 "process 4194303 does not exist" -p 4194303
refused 2 "the kernel's allocations cannot be watched yet" 
refused 2 "the kernel's allocations cannot be watched yet" 5 3
refused 2 "exclude each other" -p 1 -c ./holder
refused 2 "exclude each other" -c ./holder -- ./holder
refused 2 "there is no program in it" -c ' '
refused 2 "--pid: invalid value 'x'" -p x
refused 2 "--older: invalid value '-1'" -o -1 running.dat
refused 2 "--top: invalid value '0'" -T 0 running.dat
refused 2 "--min-size: invalid size 'many'" -z many running.dat
refused 2 "--max-size" -z 10 -Z 5 running.dat
refused 2 "invalid interval 'soon'" running.dat soon
refused 2 "invalid interval '0'" running.dat 0
refused 2 "invalid count '0'" running.dat 1 0
refused 2 "invalid count '2.5'" running.dat 1 2.5
refused 2 "extra argument '9'" running.dat 1 2 9
refused 2 "--combined-only and --show-allocs exclude each other" -a --combined-only running.dat
refused 2 "--sample-rate: a trace holds what was recorded" -s 10 running.dat
refused 2 "a trace holds what was recorded" -O libc.so.6 running.dat
refused 2 "--output: only with --command" --output x.dat running.dat
refused 2 "has no option -y" -y running.dat
refused 1 "cannot open none.dat" none.dat
refused 1 "./nothing: No such file or directory" -c ./nothing
[ $bad = 0 ]
