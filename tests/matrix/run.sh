#!/usr/bin/env bash
# matrix: every allocation function in every way it can go, every way to die, every fault: exact counts, and the
# program's output, status and errno as without a tracer.
set -u
export MEMTUI_CACHE= # names are looked up anew, and none are left behind
. "$(dirname "$0")/../asked.sh"
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$here/common.sh"

build_all() {
	gcc -O1 -g -shared -fPIC -o "$tmp/libdeath.so" "$here/death_library.c" &&
		build_c death -L"$tmp" -ldeath -Wl,-rpath,"$tmp" && build_cc death_cc && build_c api && build_cc api_cc && build_c fault
}
build_all || { echo "not ok matrix: its programs cannot be built"; exit 1; }
exec 2>"$tmp/noise" # the shell's words on each process that was killed

# ---- the functions ----
python3 -c 'for i in range(1000): print("x" * (i * i % 3001))' >"$tmp/lines"
matrix() { # NAME PROGRAM...
	local name=$1
	shift
	record "$@"
	say "$name" "$(same)$(compare)"
}
matrix "functions of C" "$tmp/api" "$tmp/lines"
matrix "functions that libc allocates in" "$tmp/api" "$tmp/lines" libc
matrix "cfree" "$tmp/api" "$tmp/lines" cfree
matrix "operators of C++" "$tmp/api_cc"

# ---- the ways to die ----
for how in return exit _exit _Exit quick_exit abort segv kill term assert overflow overflow_handled exec_fails main_ends \
	thread_exits threads_killed fork vfork vfork_exec posix_spawn tls atexit at_quick_exit library cancel; do
	matrix "dies by $how" "$tmp/death" $how
done
for how in throws terminate thread_local; do matrix "dies by $how" "$tmp/death_cc" $how; done
# exec: the image that was replaced has a trace of its own
for how in exec threads_exec; do
	rm -f "$tmp"/t.dat*
	record "$tmp/death" $how
	why=$(same)
	grep -v case_late "$tmp/have" >"$tmp/before"
	grep case_late "$tmp/have" >"$tmp/after"
	first=$(ls "$tmp"/t.dat.exec* 2>/dev/null | head -n 1)
	why+=$(python3 "$here/compare.py" "$memtui" "${first:-none}" "$tmp/before" 2>&1 | tail -n 1)
	say "dies by $how" "$why$(python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/after" 2>&1 | tail -n 1)"
done

# ---- faults of the program's making: it must not see that it is traced, and the counts are exact ----
fault() { # NAME ARGUMENT...
	local name=$1 why
	shift
	options=(--on-full wait) # a busy machine may keep the recorder from running for more than 0.2 s
	record "$tmp/fault" "$@"
	options=()
	why="$(same)$(python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/truth" 2>&1 | tail -n 1)"
	say "$name" "$why"
}
fault "5,000 threads in waves of 50" threads 5000 50
fault "70,000 threads in waves of 50" threads 70000 50
fault "1,000 threads at once" threads 1000 1000
fault "address space full" full
for how in 0 3 close_range fcloseall; do fault "closes descriptors: $how" descriptors $how; done
for what in nofile fsize nproc stack core memlock data sigpending cpu; do fault "sets limit: $what" limits $what; done
fault "a child without descriptors is counted" descriptors_of_child
fault "limits that fail, allow all, or are a child's" no_limits
for how in prctl syscall syscall_prctl tsync listener; do
	for policy in kill eperm bad; do fault "system-call filter: $how, $policy" sealed $how $policy 100000; done
done
fault "system-call filter: strict" sealed strict "" 100000
fault "time-stamp counter forbidden" sealed tsc "" 100000
fault "time-stamp counter forbidden behind a filter" sealed then_tsc loose 100000
for how in prctl syscall; do fault "system-call filter: children after $how" sealed_children $how; done
if [ "$(id -u)" = 0 ]; then
	fault "drops its rights" rights keep
	fault "chroot" rights chroot "$here"
else echo "skip drops its rights, chroot: not root"; fi

# ---- faults of the recorder ----
mkfifo "$tmp/never"
exec 8<>"$tmp/never" # a read from it with a time limit is the pause between two looks
until_true() { # COMMAND: polls for at most 60 s
	for ((i = 0; i < 6000; i++)); do
		"$@" && return 0
		read -rt 0.01 <&8
	done
	return 1
}
said() { grep -q "^$1" "$tmp/have" 2>/dev/null; }
state() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1; }
is() { [ "$(state "$1")" = "$2" ]; }
ended() { [ ! -e "/proc/$1" ] || is "$1" Z; }

# Starts fault under record: standard input from a fifo at descriptor 9; $program and $recorder are known afterwards.
start() { # NAME ARGUMENT...; the array options holds those of memtui
	rm -f "$tmp/in" "$tmp/have" "$tmp/status" "$tmp"/t.dat*
	mkfifo "$tmp/in"
	exec 9<>"$tmp/in"
	export TRUTH=$tmp/truth
	(setsid "$memtui" record --force -o "$tmp/t.dat" "${options[@]}" -- "$tmp/fault" "$@" <"$tmp/in" >"$tmp/have" 2>"$tmp/have.err"; echo $? >"$tmp/status") &
	until_true said ready || { say "$*" "the program did not start"; return 1; }
	program=$(pgrep -f "^$tmp/fault $1" | head -n 1)
	recorder=$(ps -o ppid= -p "$program" | tr -d ' ')
}
go_on() { echo x >&9; }
finish() { # NAME WHY...: compares when the program and its recorder have ended
	local name=$1
	shift
	until_true test -s "$tmp/status"
	[ "$(cat "$tmp/status")" = 7 ] || set -- "$@" "status $(cat "$tmp/status"): $(tail -n 1 "$tmp/have.err")"
	say "$name" "$*$(python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/truth" 2>&1 | tail -n 1)"
}
events() { asked "$memtui" info --format json "$tmp/t.dat" 2>/dev/null | grep -o '"events":[0-9]*' | cut -d: -f2; } # written so far
has_read() { [ "$(events)" -ge "$1" ] 2>/dev/null; }
# Stopped with all its threads: kill does not wait for that, and one that runs may go on reading.
stopped() { [ "$(sed -s 's/.*) //' /proc/"$1"/task/*/stat | cut -c1 | sort -u)" = T ]; }
stop() { kill -STOP "$1"; until_true stopped "$1"; }
goes_on() { said burst || echo "the program stands still; "; is "$recorder" T || echo "the recorder was not stopped; "; }

for how in block drop; do
	options=(--on-full $how)
	if start burst 300000; then
		stop "$recorder"
		go_on
		until_true said burst
		why=$(goes_on)
		kill -CONT "$recorder"
		go_on
		echo "COUNTER lost_allocations=1 lost_frees=1" >>"$tmp/truth" # before the program's own: it appends
		finish "recorder stopped, $how" $why
	fi
	if start burst 300000; then
		stop "$recorder"
		go_on
		go_on
		until_true ended "$program"
		why=$(goes_on; ended "$program" || echo "the program has not ended")
		kill -CONT "$recorder"
		finish "program ends while its recorder is stopped, $how" $why
	fi
	if start burst 2000000; then
		go_on
		for ((n = 0; n < 20; n++)); do
			kill -STOP "$recorder"
			read -rt 0.03 <&8
			kill -CONT "$recorder"
			read -rt 0.01 <&8
		done
		go_on
		[ $how = drop ] && echo "ZERO ring_waits" >>"$tmp/truth"
		finish "recorder slow, $how"
	fi
done
# A program that waits for as long as it takes loses nothing: this is five times as long as it would wait else.
options=(--on-full wait)
if start burst 300000; then
	stop "$recorder"
	go_on
	read -rt 1 <&8
	why=$(! said burst || echo "the program did not wait")
	kill -CONT "$recorder"
	until_true said burst
	go_on
	echo "ZERO lost_allocations lost_frees" >>"$tmp/truth"
	finish "recorder stopped, wait" $why
fi
options=()
if start reuse 2000; then
	stop "$recorder" # else it may read a few records more, and the ring be full while no block lives
	go_on
	until_true said burst
	before=$(events)
	kill -CONT "$recorder"
	until_true has_read $((before + 1000)) # or the ring may still be full, and the next burst be lost whole
	go_on
	finish "another block at the place of one whose free was lost"
fi
exact_saved() { python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/truth" 2>/dev/null | grep -q "^complete is False, not True$"; }
if start burst 3000000; then
	until_true exact_saved || echo "not ok recorder killed: the trace does not grow"
	go_on
	kill -KILL "$recorder"
	go_on
	echo "ANY complete ambiguous leaked_count allocated_bytes" >"$tmp/truth.more"
	until_true test -s "$tmp/status"
	grep CASE "$tmp/truth" >>"$tmp/truth.more"
	why=$([ "$(cat "$tmp/status")" = 7 ] || echo "status $(cat "$tmp/status")"; said done || echo "output")
	say "recorder killed under load" "$why$(python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/truth.more" 2>&1 | tail -n 1)"
fi

# ---- no room for the trace ----
partial() { # NAME TRACE SENTENCE PROGRAM...: status and output stay, it is said, and what was written can be read
	local name=$1 trace=$2 sentence=$3 why
	shift 3
	"$@" >"$tmp/want" 2>/dev/null
	want=$?
	"$memtui" record --force -o "$trace" -- "$@" >"$tmp/have" 2>"$tmp/have.err"
	have=$?
	why=$([ $want = $have ] || echo "status $have, untraced $want; "; cmp -s "$tmp/want" "$tmp/have" || echo "output differs; ")
	grep -q "$sentence" "$tmp/have.err" || why+="says $(tail -n 1 "$tmp/have.err"); "
	[ ! -f "$trace" ] || asked "$memtui" info --format json "$trace" 2>/dev/null | grep -q '"complete":false' || why+="what was written cannot be read"
	say "$name" "$why"
}
partial "a trace without room: /dev/full" /dev/full "No space left" "$tmp/fault" noise 100000
mkdir "$tmp/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=200k memtui-test "$tmp/small" 2>/dev/null; then
	partial "a trace without room: a full disk" "$tmp/small/t.dat" "No space left.*can be opened" "$tmp/fault" noise 400000
	umount "$tmp/small"
else echo "skip a full disk: cannot mount one"; fi
(ulimit -f 17000 && partial "a trace without room: RLIMIT_FSIZE" "$tmp/limited.dat" "File too large.*can be opened" "$tmp/fault" noise 9000000)

# ---- signals that allocate within malloc and free ----
gcc $flags -w -o "$tmp/nested" "$here/../tracer/nested.c" && gcc $flags -w -shared -fPIC -o "$tmp/libbump.so" "$here/../tracer/nested_bump.c"
LD_PRELOAD=$tmp/libbump.so "$memtui" record --force -o "$tmp/t.dat" -- "$tmp/nested" >"$tmp/have" 2>"$tmp/have.err"
have=$?
n=$(sed -n 's/.*TRUTH allocs=\([0-9]*\).*/\1/p' "$tmp/have.err")
why=$(asked "$memtui" info --format json "$tmp/t.dat" | python3 -c 'import json, sys
i = json.load(sys.stdin)
c, n = i["counters"], int(sys.argv[1])
if i["allocations"] + c["lost_allocations"] != n or c["nested_events"] < 10 or c["abandoned"] or i["invalid_records"]:
    print(i["allocations"], c, "of", n)' "${n:-0}" 2>&1)
say "allocations in signal handlers" "$([ $have = 0 ] || echo "status $have; ")$why"
