#!/usr/bin/env bash
# ctl: memtui ctl on recordings of real programs (doc/control.md): what each verb does to the trace, when it returns, and what is
# refused. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
build_programs -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-builtin -pthread -Wall -Wextra -Werror -- target
children=()
group=
at_exit() {
	[ ${#children[@]} = 0 ] || kill -KILL "${children[@]}" 2>/dev/null
	[ -z "$group" ] || rmdir "$group" 2>/dev/null
}
why= launcher=
verdict() { say "$1" "$why"; why=; }

# ---- a recording whose program does what it is told ----
begin() { # OPTIONS...: $front, $process; it is ready
	rm -f in out t.dat* record.err
	mkfifo in out
	$launcher "$memtui" record "$@" ./target <in >out 2>record.err &
	front=$!
	children=("$front")
	exec 6>in 7<out
	hear
	until_true has_process
	children+=("$process")
}
has_process() { process=$(pgrep -x -P "$(pgrep -P "$front" | tr '\n' ,)0" target | head -n 1); [ -n "$process" ]; }
hear() { heard=; read -rt 60 heard <&7 || heard=nothing; }
tell() { printf %s "$1" >&6; hear; }
ends() { # STATUS: the program's, which record passes on
	local status
	tell q
	exec 6>&- 7<&-
	wait "$front"
	status=$?
	children=()
	why+="$(is "$status" "${1:-5}")"
}
ctl() { # WORDS...: of the program that is recorded; what it says is in ctl.out
	timeout 100 "$memtui" ctl "$process" "$@" >ctl.out 2>ctl.err </dev/null
}
does() { # WORDS...: and no message is an error
	ctl "$@" || why+="$*: status $?: $(cat ctl.err); "
}
refuses() { # STATUS SENTENCE WORDS...
	local status=$1 sentence=$2 got
	shift 2
	ctl "$@"
	got=$?
	grep -qF -- "$sentence" ctl.err || why+="$*: $(cat ctl.err); "
	why+="$(is "$got" "$status")$(is "$(wc -l <ctl.err)" 1)$(cat ctl.out)"
}
grown() { # FILE: blocks that grow has allocated, and those that live
	"$memtui" groups --format json --function-regex '^grow$' "$1" 2>grown.err |
		python3 -c 'import json,sys; g=json.load(sys.stdin)
print(sum(x["all"]["allocated_count"] for x in g), sum(x["all"]["leaked_count"] for x in g))' 2>>grown.err
}
whole() { # FILE...: complete, undamaged, and the totals are those of the events
	for file; do
		"$memtui" info --strict "$file" >whole.out 2>whole.err || why+="$file: $(cat whole.err); "
		why+=$(is "$(field "$file" complete lost_events unknown_frees invalid_records)" "True 0 0 0")
		# a filter on single blocks, which all of them match, goes over the events
		why+=$(is "$("$memtui" groups --format csv --size-min 0 --lifetime all "$file" 2>/dev/null | cut -d, -f1-8 | md5sum)" \
			"$("$memtui" groups --format csv "$file" 2>/dev/null | cut -d, -f1-8 | md5sum)")
	done
}

# ---- pause and resume ----
begin -o t.dat
tell a
does pause
tell a
tell a
does resume
tell a
ends
why+=$(is "$(grown t.dat)" "200 200")$(is "$(field t.dat unknown_frees lost_events complete)" "0 0 True")
verdict pause_and_resume

# ---- markers ----
begin -o t.dat
tell a
does marker "first of all"
tell a
does marker --format json second
why+=$(is "$(python3 -c 'import json; a=json.load(open("ctl.out")); print(a["verb"], a["pid"])')" "marker $process")
tell a
ends
why+=$(is "$("$memtui" groups --format json --function-regex '^grow$' --marker 'first of all' t.dat |
	python3 -c 'import json,sys; print(sum(x["only_matched"]["allocated_count"] for x in json.load(sys.stdin)))')" 100)
verdict markers

# ---- snapshots ----
begin -o t.dat
tell a
does snapshot one
why+=$(is "$(cat ctl.out)" "$tmp/one")
tell a
does snapshot --format json "two-%p"
why+=$(is "$(python3 -c 'import json,os; a=json.load(open("ctl.out"))
print(a["file"], a["file_bytes"] == os.stat(a["file"]).st_size, 0 < a["seconds"] < 1000)')" "$tmp/two-$process True True")
does snapshot
beside=$(cat ctl.out)
case $beside in "$tmp/t.dat.snapshot-at-"*.*s) ;; *) why+="$beside is not beside the trace; " ;; esac
refuses 1 "one: already exists" snapshot one
refuses 1 "cannot create" snapshot nowhere/one
tell a
ends
why+=$(is "$(grown one) $(grown "two-$process") $(grown "$beside") $(grown t.dat)" "100 100 200 200 200 200 300 300")
whole one "two-$process" "$beside" t.dat
why+=$(is "$(field one exit_status leaked_count)" "None $(field one leaked_count)")
"$memtui" info one | grep -q "the program went on" || why+="a snapshot does not say that the program went on; "
why+=$(is "$(ls ./*.new 2>/dev/null)" "")
verdict snapshots

begin -o t.dat --free-stacks
tell s
for n in 1 2 3 4 5; do does snapshot "busy$n"; done
tell x
ends
whole busy1 busy2 busy3 busy4 busy5 t.dat
verdict snapshots_of_busy_threads

begin -o t.dat --max-size 256k
tell s
for n in 1 2; do does snapshot "kept$n"; done
tell x
ends
for n in kept1 kept2 t.dat; do
	why+=$(is "$("$memtui" info --strict $n >info.out 2>&1 && echo read)" read)$(is "$(field $n complete)" True)
done
verdict snapshots_below_a_size

# ---- a child, by its own number ----
begin -o t.dat
tell a
tell c
parent=$process process=${heard#child }
does snapshot child
does flush --format json
why+=$(is "$(python3 -c 'import json; a=json.load(open("ctl.out")); print(a["pid"], a["file"])')" "$process $tmp/t.dat.$process")
process=$parent
tell x
ends
whole child
why+=$(is "$(grown child) $(field child pid)" "100 100 $(field "t.dat.${heard:+$(ls t.dat.* | sed 's/.*\.//' | head -n 1)}" pid)")
verdict child

# ---- flush, report ----
begin -o t.dat
tell a
does flush
cp t.dat flushed
does report --top 1
grep -q "live 97.7k .* in 100 of 100 blocks, by malloc" ctl.out || why+="$(cat ctl.out)"
grep -q "grow  .*target.c" ctl.out || why+="the report has no names; "
does report --sort allocated_count --format json
why+=$(is "$(python3 -c 'import json; print(json.load(open("ctl.out"))[0]["all"]["allocated_count"])')" 100)
why+=$(is "$(grown flushed)" "100 100")
ends
verdict flush_and_report

# ---- stop ----
begin -o t.dat
tell a
does stop --format json
whole t.dat
why+=$(is "$(python3 -c 'import json; a=json.load(open("ctl.out")); print(a["file"], a["complete"])')" "$tmp/t.dat True")
why+=$(is "$(grown t.dat)" "100 100")
for verb in pause resume snapshot flush report; do refuses 1 "no longer being recorded" $verb; done
refuses 1 "no longer being recorded" marker x
does stop
tell a
ends
why+=$(is "$(grown t.dat)" "100 100")
grep -q "live at its end" record.err || why+="$(cat record.err)"
verdict stop

# ---- conditions ----
snapshots() { ls t.dat.$1-at-*s 2>/dev/null; } # LABEL, which may be a pattern
taken() { [ "$(snapshots "$1" | wc -l)" = "$2" ]; }
awaits() { until_true taken "$1" "$2" || why+="$(snapshots "$1" | wc -l) snapshots of $1, not $2; "; }
rm -f t.dat.*
begin -o t.dat --snapshot-when 'live > 50M' --snapshot-when 'rss>50M' --snapshot-when 'heap>60G'
tell a
does flush # a condition has been looked at
taken '*' 0 || why+="a snapshot of nothing: $(ls t.dat.*); "
tell m
awaits live-over-50M 1
awaits rss-over-50M 1
tell a
does flush # still true: once per crossing
tell f
does flush
tell m
awaits live-over-50M 2
ends
for n in $(snapshots '*'); do
	whole "$n"
	why+=$(is "$([ "$(field "$n" leaked_bytes)" -gt $((50 << 20)) ] && echo more)" more)
done
why+=$(is "$(snapshots heap-over-60G)" "")
first=$(snapshots live-over-50M | head -n 1)
grep -q "^memtui: live>50M after [0-9.]* s: wrote $tmp/$first\$" record.err || why+=$(cat record.err)
why+=$(is "$("$memtui" groups --format json --marker 'live>50M' t.dat >marker.out 2>&1; echo $?)" 0)
verdict conditions

begin -o t.dat --snapshot-when 'growth>10M/s'
tell g
awaits growth-over-10M-per-s 1
tell x
ends
verdict growth

# a control group with a memory limit: $group; false and a reason in $none where there can be none
make_group() { # BYTES
	none=
	for at in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/unified; do
		[ -w "$at/cgroup.procs" ] || continue
		group=$at/memtui-test-$$
		mkdir "$group" 2>/dev/null || continue
		for limit in memory.limit_in_bytes memory.max; do
			[ -e "$group/$limit" ] && echo "$1" >"$group/$limit" 2>/dev/null && return 0
		done
		rmdir "$group"
	done
	none="there is no memory controller in which a control group can be made"
	return 1
}
in_group() { # COMMAND...
	exec sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}
remove_group() {
	until_true rmdir "$group" 2>/dev/null || why+="$group stays; "
	group=
}
if make_group $((200 << 20)); then
	rm -f t.dat.*
	launcher="in_group"
	begin -o t.dat --snapshot-when 'live>25%'
	tell a
	does flush
	taken '*' 0 || why+="a snapshot of nothing: $(ls t.dat.*); "
	tell m
	awaits live-over-25-percent 1
	ends
	launcher=
	remove_group
	verdict percent_of_a_limit
else
	skip percent_of_a_limit "$none"
fi

# ---- killed by the kernel for want of memory ----
is_killed() { # LETTER
	printf %s "$1" >&6
	exec 6>&- 7<&-
	wait "$front" 2>/dev/null
	why+=$(is "$?" 137)
	children=()
}
oom() { "$memtui" info --format json t.dat | python3 -c 'import json,sys
i=json.load(sys.stdin); o=i.get("oom_killed"); print(i["exit_status"], o and (o["certain"], o["limit_bytes"], o["group_bytes"] > 50 << 20))'; }
if make_group $((100 << 20)); then
	launcher="in_group"
	begin -o t.dat
	tell a
	is_killed o
	why+=$(is "$(oom)" "9 (True, 104857600, True)")
	words="OOM-killed at 100M; most was held by grow (group [0-9]*): [0-9.]*M in [0-9]* blocks"
	grep -q "^memtui: $words" record.err || why+=$(cat record.err)
	"$memtui" report t.dat | grep -q "^$words" || why+="report does not say it; "
	"$memtui" info t.dat | grep -q "^exit status .*SIGKILL, OOM-killed at 100M" || why+="info does not say it; "
	whole t.dat
	verdict oom_killed
	# in the same group, which has had a kill long before this recording
	begin -o t.dat
	tell a
	is_killed k
	why+=$(is "$(oom)" "9 None")
	grep -q OOM record.err && why+=$(cat record.err)
	launcher=
	remove_group
	verdict plain_kill_in_a_group
else
	skip oom_killed "$none"
	skip plain_kill_in_a_group "$none"
fi
begin -o t.dat
tell a
is_killed k
why+=$(is "$(oom)" "9 None")
grep -q OOM record.err && why+=$(cat record.err)
verdict plain_kill
"$memtui" record -o refused.dat --snapshot-when 'live>90%' true 2>refused.err
[ "$?" = 0 ] || grep -q "is in no control group with a memory limit that can be seen; give a size" refused.err ||
	why+=$(cat refused.err)
for wrong in 'rss>' rss '>2G' 'foo>2G' 'growth>10M' 'growth>9%' 'live>101%' 'rss>2X' 'rss<2G'; do
	"$memtui" record -o refused.dat --snapshot-when "$wrong" true 2>refused.err
	why+="$(is "$?" 2)$(is "$(wc -l <refused.err)" 1)"
	grep -q "^memtui: --snapshot-when: .*; expected" refused.err || why+=$(cat refused.err)
done
"$memtui" record -o - --snapshot-when 'rss>2G' true 2>refused.err >refused.dat
why+="$(is "$?" 2)"
verdict refused_conditions

# ---- a stream ----
rm -f in out
mkfifo in out
"$memtui" record -o - ./target <in 2>out >stream &
front=$!
children=("$front")
exec 6>in 7<out
hear
until_true has_process
tell a
refuses 1 "is a stream, of which no snapshot can be taken" snapshot
does flush
does report --top 1
grep -q "in 100 of 100 blocks" ctl.out || why+="$(cat ctl.out)"
ends
verdict stream

# ---- a process that ran already ----
if [ "$(uname -m)" = x86_64 ]; then
	begin -o t.dat
	refuses 1 "was started by memtui" detach
	ends
	rm -f in out t.dat*
	mkfifo in out
	./target <in >out &
	process=$!
	exec 6>in 7<out
	hear
	for verb in detach stop; do
		rm -f t.dat record.err
		"$memtui" record -p "$process" -o t.dat 2>record.err </dev/null &
		front=$!
		children=("$process" "$front")
		has_begun() { grep -qs '^memtui: recording process' record.err; }
		until_true has_begun || why+=$(cat record.err)
		tell a
		does snapshot "attached-$verb"
		tell a
		does $verb
		wait "$front" || why+="record: $?; "
		tell a
		why+=$(is "$(grown t.dat) $(grown "attached-$verb")" "200 200 100 100")
	done
	tell q
	exec 6>&- 7<&-
	wait "$process"
	why+=$(is "$?" 5)
	children=()
	verdict attached
else
	skip attached "attaching exists for x86-64 only"
fi

# ---- signals to the program ----
rm -f t.dat.*
begin -o t.dat --signal-report USR1 --signal-report-count USR2 --signal-toggle HUP
tell a
kill -USR1 "$process"
awaits report-by-size 1
kill -USR2 "$process"
awaits report-by-count 1
kill -HUP "$process"
tell a
kill -HUP "$process"
tell a
tell h
kill -USR1 "$process"
hear
why+=$(is "$heard" mine)
ends
why+=$(is "$(grown t.dat)" "200 200")$(is "$(snapshots 'report-by-*' | wc -l)" 2)
grep -q "in 100 of 100 blocks, by malloc" "$(snapshots report-by-size)" || why+=$(cat "$(snapshots report-by-size)")
grep -q "by leaked_size:" "$(snapshots report-by-size)" || why+="the report is not by size; "
grep -q "by leaked_count:" "$(snapshots report-by-count)" || why+="the report is not by count; "
grep -q "^memtui: SIGUSR1 after [0-9.]* s: wrote $tmp/t.dat.report-by-size" record.err || why+=$(cat record.err)
why+=$(is "$(ls ./*.new ./*.txt 2>/dev/null)" "")
verdict signals

ignoring() { exec sh -c 'trap "" USR1; exec "$0" "$@"' "$@"; }
launcher=ignoring
begin -o t.dat --signal-report USR1
launcher=
kill -USR1 "$process"
tell a
ends
grep -q "process $process handles or ignores SIGUSR1 itself, so memtui leaves it alone" record.err || why+=$(cat record.err)
why+=$(is "$(snapshots report-by-size | wc -l)" 0)
verdict ignored_signal

for disabled in 0 1; do
	rm -f in out alone.mem
	mkfifo in out
	LD_PRELOAD=$lib MEMTUI_OUTPUT=alone.mem MEMTUI_SIGNAL_TOGGLE=USR2 MEMTUI_DISABLED=$disabled ./target <in >out &
	process=$!
	children=("$process")
	exec 6>in 7<out
	hear
	tell a
	kill -USR2 "$process"
	tell a
	kill -USR2 "$process"
	tell a
	tell q
	exec 6>&- 7<&-
	wait "$process"
	why+=$(is "$?" 5)$(is "$(grown alone.mem)" "$((200 - disabled * 100)) $((200 - disabled * 100))")
done
children=()
verdict toggle_without_a_recorder
process=$$
for options in "--signal-report USR3" "--signal-toggle KILL"; do
	"$memtui" record -o refused.dat $options true 2>refused.err
	why+=$(is "$?" 2)
	grep -q "expected USR1|USR2|HUP|WINCH" refused.err || why+=$(cat refused.err)
done
"$memtui" record -o refused.dat --signal-report USR1 --signal-toggle USR1 true 2>refused.err
why+=$(is "$?" 2)
grep -q -- "--signal-toggle: USR1 is given to --signal-report already" refused.err || why+=$(cat refused.err)
"$memtui" record -o refused.dat --signal-report USR1 -p $$ 2>refused.err
why+=$(is "$?" 2)
grep -q "keeps its signals; use 'memtui ctl $$ report'" refused.err || why+=$(cat refused.err)
verdict refused_signals

# ---- files at the end ----
host=$(uname -n)
begin -o "host-%h.dat" --flame-graph peak.svg --report --outfile report.txt
tell a
does snapshot "snapshot-%h"
ends
why+=$(is "$(ls host-* snapshot-*)" "$(printf '%s\n' "host-$host.dat" "snapshot-$host")")
grep -q "<svg" peak.svg && grep -q "grow" peak.svg || why+="no flame graph: $(head -c 200 peak.svg) $(cat record.err)"
grep -q "grow" report.txt || why+="no report: $(cat report.txt)"
LD_PRELOAD=$lib MEMTUI_OUTPUT="alone-%h.mem" ./target </dev/null >out.txt
why+=$(is "$(ls alone-*)" "alone-$host.mem")
"$memtui" record -o - --flame-graph x.svg true >refused.dat 2>refused.err
why+=$(is "$?" 2)
grep -q -- "--flame-graph: needs a trace file" refused.err || why+=$(cat refused.err)
verdict names_and_flame_graph

if [ -n "$root" ]; then
	begin -o t.dat --chown 65534:65533
	tell a
	tell c
	child=${heard#child }
	does snapshot given
	tell x
	ends
	why+=$(is "$(stat -c %u:%g t.dat given "t.dat.$child" | tr '\n' ' ')" "65534:65533 65534:65533 65534:65533 ")
	begin -o t.dat --max-size 256k --chown 65534:65533
	tell s
	tell x
	ends
	why+=$(is "$(stat -c %u:%g t.dat)" 65534:65533)
	verdict owner
else
	skip owner "needs root"
fi
for wrong in 1000 me:us 1:2x -1:2 1:; do
	"$memtui" record -o refused.dat --chown "$wrong" true 2>refused.err
	why+=$(is "$?" 2)
	grep -q -- "--chown: invalid owner" refused.err || why+=$(cat refused.err)
done
verdict refused_owners

# ---- what is refused ----
process=4194304
refuses 1 "process 4194304 does not exist" pause
process=$$
refuses 1 "process $$ is not being recorded" pause
refuses 2 "unknown verb 'paus'; did you mean 'pause'? (pause, resume, snapshot" paus
refuses 2 "unknown verb 'xyzzy'; expected pause, resume, snapshot, marker, report, flush, detach, stop" xyzzy
refuses 2 "missing VERB; usage: memtui ctl PID VERB"
refuses 2 "missing TEXT; usage: memtui ctl PID marker TEXT" marker
refuses 2 "missing TEXT" marker ""
refuses 2 "extra argument 'x'; usage: memtui ctl PID pause" pause x
refuses 2 "the text has 65 bytes; at most 64" marker "$(printf '%65s' x)"
refuses 2 "--sort: only with report" pause --sort size
process=word
refuses 2 "invalid process 'word'" pause
verdict refusals

begin -o t.dat
recorder=$(pgrep -P "$front")
kill -STOP "$recorder"
refuses 1 "does not answer and may be stopped: kill -CONT" pause # there may be other recorders
kill -CONT "$recorder"
does pause
"$memtui" ctl "$recorder" resume 2>/dev/null || why+="by the recorder's number: $?; "
"$memtui" ctl "$front" pause 2>/dev/null || why+="by the number of memtui: $?; "
kill -KILL "$recorder"
gone() { ! kill -0 "$recorder" 2>/dev/null; }
until_true gone
refuses 1 "process $process is not being recorded" pause
ends
verdict recorder_that_is_gone

if [ -n "$root" ] && setpriv --reuid 65534 --regid 65534 --clear-groups "$memtui" --version >/dev/null 2>&1; then
	begin -o t.dat
	setpriv --reuid 65534 --regid 65534 --clear-groups "$memtui" ctl "$process" pause >ctl.out 2>ctl.err
	why+=$(is "$?" 1)
	grep -q "process $process is being recorded by root (user 0); only that user can watch or control it" ctl.err ||
		why+=$(cat ctl.err)
	ends
	verdict another_users
else
	skip another_users "needs root, and a build that another user may execute"
fi

# ---- the one table ----
"$memtui" help ctl >help.out
"$memtui" help --man ctl >man.out
for verb in pause resume snapshot marker report flush detach stop; do
	grep -q "^  $verb" help.out || why+="$verb is not in the help; "
	grep -q "$verb" man.out || why+="$verb is not in the manual page; "
	"$memtui" help --completion fish | grep ctl | grep -q "$verb" || why+="$verb is not completed; "
done
verdict table
exit $bad
