#!/usr/bin/env bash
# running: what commands say of a process that is being recorded is what its trace says up to then. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
build_programs -O1 -g -fno-builtin -pthread -- busy
programs=()
at_exit() { kill -9 "${programs[@]}" 2>/dev/null; }

stands() { # PID: each of its threads has stopped
	! grep -hE '^State:' /proc/"$1"/task/*/status 2>/dev/null | grep -qv 'T (stopped)'
}
recorder_of() { "$memtui" attach 2>/dev/null </dev/null | awk -v pid="$1" '$1 == pid { print $3 }'; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
is_listed() { # sets pid: the parent of the child, which is known once the recorder has seen it
	pid=$("$memtui" attach 2>/dev/null </dev/null | awk -v child="$child" '$1 == child { print $2 }')
	[ "${pid:-0}" != 0 ]
}
# start NAME COMMAND...: records it into NAME.dat; pid: of the program that says "ready CHILD", and child
start() {
	local name=$1
	shift
	rm -f said && mkfifo said
	"$memtui" record -f -o "$name.dat" "$@" >said 2>"$name.err" </dev/null &
	read -r -t 60 word child <said || { not_ok "$name" "it did not begin: $(tail -n 2 "$name.err")"; return 1; }
	if [ "$1" = perl ]; then
		pid=$child child=
	else
		until_true is_listed || not_ok "$name" "its child is not recorded"
	fi
	programs+=("$pid" ${child:+"$child"})
}
# The rest of a question is its options. Those of the first kind give no time of the end, which is later in what the recorder told
# than in the trace that it was killed over.
questions=("groups --format json" "groups --format csv --sort at_peak_size" "groups --by thread --format csv" "groups --format json --size-min 1k --lifetime only_leaked --function-regex work"
	"groups --format csv --filter size>=1k" "groups --by function --format csv --lifetime only_temporary --lifetime-max 1ms" "groups --sort only_matched.size --format csv --size-max 100" "tree --format json --min-percent 0"
	"tree --format json --function-regex leak" "allocations --format csv -n 500" "allocations --sort size --lifetime only_leaked --format csv -n 50"
	"allocations --format csv --chain-length-min 3 -n 40" "chains --format csv" "histogram --format csv" "histogram --of size --format csv --lifetime only_leaked" "mmaps --format csv" "mallopts --format csv" "errors --format json"
	"export --as collapsed -o -" "export --as heaptrack -o -" "export --as speedscope -o -")
# On standard output, without what is counted up to the end: lifetimes of what lives, and the last look at resident memory.
answers() { # OPERAND QUESTION
	local words
	read -ra words <<<"$2"
	if [ "${words[0]}" = callers ]; then words=("${words[0]}" "${words[1]}" "$1" "${words[@]:2}"); else words+=("$1"); fi
	timeout 120 "$memtui" "${words[@]}" 2>question.err >question.out || echo "status $?: $(tail -n 1 question.err)"
	case ${words[0]} in
	chains) awk -F, -v OFS=, '$7 == "true" { $6 = "" } 1' question.out ;;
	export) grep -v '^[Rc] ' question.out ;;
	*) cat question.out ;;
	esac
}
ask() { # DIR OPERAND: a file an answer
	mkdir "$1"
	for ((q = 0; q < ${#questions[@]}; q++)); do
		answers "$2" "${questions[q]}" >"$1/$q"
	done
}
differ() { # ONE OTHER: of which questions the answers differ, or say nothing
	for ((q = 0; q < ${#questions[@]}; q++)); do
		cmp -s "$1/$q" "$2/$q" || echo "${questions[q]}: $(diff "$1/$q" "$2/$q" | head -n 4); "
		[ -s "$1/$q" ] || echo "${questions[q]}: no answer; "
		! grep -q '^status' "$1/$q" || echo "${questions[q]}: $(cat "$1/$q"); "
	done
}
# whole NAME COMMAND...: stop the program, ask, kill the recorder, ask its trace
whole() {
	local name=$1 recorder trace
	shift
	start "$name" "$@" || return
	recorder=$(recorder_of "$pid")
	for process in "$pid" $child; do kill -STOP "$process"; done
	for process in "$pid" $child; do
		until_true stands "$process" || not_ok "$name" "process $process does not stop"
	done
	for process in "$pid" $child; do ask "$name.$process" "$process"; done
	read -r least < <(field "$pid" allocated_count)
	say "$name: info says that it is running" "$("$memtui" info "$pid" 2>/dev/null | grep -q '^recorded for .*, and it is running$' || "$memtui" info "$pid" 2>&1)$(
		"$memtui" info --format json "$pid" 2>/dev/null | grep -q '"complete":false,"running":true' || echo "not in JSON")"
	kill -9 "$recorder"
	until_true is_gone "$recorder" || not_ok "$name" "the recorder lives"
	trace=$name.dat
	for process in "$pid" $child; do
		[ "$process" = "$pid" ] || trace=$(ls "$name.dat".*"$process"* 2>/dev/null | head -n 1)
		ask "$name.$process.trace" "$trace"
		say "$name: $([ "$process" = "$pid" ] && echo 'a process' || echo 'its child')" "$(differ "$name.$process" "$name.$process.trace")"
	done
	say "$name: much was recorded" "$([ "${least:-0}" -gt 5000 ] || echo "${least:-nothing}")"
	kill -9 "$pid" $child
}
whole "4 threads" ./busy 4
whole "64 threads" ./busy 64
if type perl >/dev/null 2>&1; then
	whole perl perl -e '$| = 1; my (@a, %h); for my $i (1 .. 20000) { push @a, "x" x ($i % 900) if $i % 7 == 0; $h{$i % 500} = [1 .. $i % 9] }
		print "ready $$\n"; while (1) { $h{rand 500} = "y" x rand 300; push @a, "z" if rand() < 0.01; select undef, undef, undef, 0.001 }'
else
	skip perl "it is not there"
fi

# While it goes on, and others look at it all the time: totals and events are of one moment.
start "goes on" ./busy 4
"$memtui" leaks -p "$pid" 10ms >/dev/null 2>&1 &
watcher=$!
why=
for ((i = 0; i < 25; i++)); do
	timeout 60 "$memtui" groups --format json --size-min 0 --sort allocated_count "$pid" >one.json 2>one.err || why+="$(tail -n 1 one.err); "
	why+=$(python3 - one.json <<'PY'
import json, sys
for g in json.load(open(sys.argv[1])):
    for name in ("allocated_count", "size", "leaked_count", "leaked_size"):
        if g["all"][name] != g["only_matched"][name]:
            print(f"{name} of a group: {g['all'][name]} in all, {g['only_matched'][name]} by events", end="; ")
PY
)
done
kill "$watcher"
say "totals and events are of one moment" "$why"
# Whoever is asked later knows more, and nothing is lost over it.
first=$(field "$pid" allocated_count)
more() { [ "$(field "$pid" allocated_count)" -gt "$first" ]; }
say "the next answer is a later one" "$(until_true more || echo "always $first")$(is "$(field "$pid" lost_events)" 0)"
say "check does not know yet" "$("$memtui" check "$pid" >check.out 2>&1 && echo "it passes"; grep -q '^the program is still running: its live blocks may be freed later$' check.out || cat check.out)"
say "report" "$("$memtui" report "$pid" 2>&1 | grep -q '^live .* blocks, now$' || "$memtui" report "$pid" 2>&1 | head -n 12)"
# A run beside a run: what lives now against what lives in a trace.
"$memtui" ctl "$pid" snapshot before.dat >/dev/null 2>&1
say "diff of a trace and a process" "$("$memtui" diff --format json before.dat "$pid" >diff.json 2>diff.err || cat diff.err; python3 -c 'import json; json.load(open("diff.json"))' 2>&1)"
ln -s /dev/null 4711 2>/dev/null
say "a file whose name is a number" "$("$memtui" groups 4711 2>&1 | grep -q '4711.*\(no\|empty\|not\)' || "$memtui" groups 4711 2>&1)"
words() { # NAME STATUS SENTENCE COMMAND...
	local name=$1 status=$2 sentence=$3 said
	shift 3
	said=$("$memtui" "$@" 2>&1)
	say "$name" "$(is "$? $said" "$status memtui: $sentence")"
}
words open 2 "there is no file '$pid'; 'memtui attach $pid' shows process $pid" open "$pid"
words pack 1 "there is no file '$pid'; 'memtui ctl $pid snapshot FILE' writes a trace of process $pid" pack "$pid"
words "a process that nobody records" 1 "process $$ is not being recorded; 'memtui attach' lists the recordings" groups $$
words "a process that is not there" 1 "process 2147483647 does not exist; 'memtui attach' lists the recordings" tree 2147483647
words "a number that no process has" 1 "cannot open 2147483648: No such file or directory" tree 2147483648
kill -9 "$pid" "$child"

# A stream has totals.
"$memtui" record -o - ./busy 2 2>/dev/null | cat >stream &
stream=$!
streams() { pid=$("$memtui" attach 2>/dev/null </dev/null | awk '/busy 2/ && $2 == 0 { print $1 }'); [ -n "$pid" ] && [ "$(field "$pid" allocated_count 2>/dev/null || echo 0)" -gt 2000 ] 2>/dev/null; }
until_true streams || not_ok "a stream" "it is not there"
say "totals of a stream" "$("$memtui" groups --format csv "$pid" 2>stream.err | grep -q ',leak' || echo "no groups; ")$(
	grep -q "the recording of process $pid is a stream, so only its totals are known" stream.err || cat stream.err)"
say "events of a stream" "$("$memtui" allocations "$pid" >/dev/null 2>stream.err && echo "it lists them"; grep -q 'only totals' stream.err || cat stream.err)"
kill -9 "$pid"
wait $stream

# A program that records itself.
rm -f said && mkfifo said
MEMTUI_OUTPUT=$tmp/alone.dat LD_PRELOAD=$lib ./busy 2 >said &
pid=$!
read -r -t 60 word child <said
programs+=("$pid" "$child")
say "a program that records itself" "$("$memtui" groups --format csv --size-min 1 "$pid" 2>alone.err | grep -q ',leak' || cat alone.err)$(
	"$memtui" info --format json "$pid" 2>/dev/null | grep -q '"running":true' || echo "info does not say that it runs")"
kill -9 "$pid" "$child"
exit $bad
