#!/usr/bin/env bash
# attach: recording processes that run already (doc/attach.md): refusals, exact counts, and each way in which it ends. The process
# always runs on, with the output and status that it has alone. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
[ "$(uname -m)" = x86_64 ] || { skip all "attaching exists for x86-64 only"; exit 0; }
build_programs -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-builtin -pthread -Wall -Wextra -Werror -- target
children=()
at_exit() { [ ${#children[@]} = 0 ] || kill -KILL "${children[@]}" 2>/dev/null; }

# ---- processes ----
begin() { # COMMAND...: starts it with what it reads and says as FIFOs; its number is $process, and it is ready
	rm -f in out
	mkfifo in out
	"$@" <in >out 2>process.err &
	process=$!
	children+=("$process")
	exec 6>in 7<out
	read -rt 60 line <&7
}
tell() { # LETTERS: $heard is what it has said, a word for each
	local word
	heard=
	for ((i = 0; i < ${#1}; i++)); do
		printf %s "${1:i:1}" >&6
		read -rt 60 word <&7 || word=nothing
		heard+="$word "
	done
}
# These add to $why what is not as it should be.
ends() { # as if it ran alone
	local status
	tell wq
	wait "$process"
	status=$?
	children=()
	exec 6>&- 7<&-
	why+="$(is "$heard" "worked end ")$(is "$status" 5)$(cat process.err)"
}
has_begun() { grep -qs '^memtui: recording process' record.err; }
begun_or_over() { has_begun || ! kill -0 "$front" 2>/dev/null; }
record() { # OPTIONS...: $front is its number; it is recording
	rm -f t.dat* record.err
	"$memtui" record -p "$process" -o t.dat "$@" 2>record.err </dev/null &
	front=$!
	children+=("$front")
	until_true begun_or_over
	has_begun || why+=$(cat record.err)
}
awaits_front() { # STATUS
	wait "$front"
	why+=$(is "$?" "$1")
}
verdict() { # NAME WHY...
	local name=$1
	shift
	for more; do why+=$more; done
	say "$name" "$why"
	why=
}
why=
# What info says of rounds of w: calls, frees and reallocs are those that the process has made since, and nothing else is
# missing. ROUNDS [PAIRS]
counts() {
	local pairs=${2:-0}
	is "$(field t.dat allocations frees reallocations leaked_count freed_before_attach origin)" \
		"$(($1 * 1000 + pairs)) $(($1 * 600 + pairs)) $(($1 * 20)) $(($1 * 400)) $(($1 * 10)) attach"
	is "$(field t.dat lost_events unknown_frees inherited_frees implied_frees invalid_records complete)" "0 0 0 0 0 True"
}

# ---- what is refused ----
refuses() { # NAME STATUS WORDS COMMAND...: in one sentence, and without a file
	local name=$1 status=$2 words=$3 got why=
	shift 3
	rm -f t.dat*
	timeout 60 "$@" >refused.out 2>&1 </dev/null
	got=$?
	grep -qF -- "$words" refused.out || why="$(cat refused.out)"
	say "$name" "$(is "$got" "$status")$why$(is "$(wc -l <refused.out)" 1)$(ls t.dat* 2>/dev/null)"
}
refuses absent 1 "process 4194304 does not exist" "$memtui" record -p 4194304 -o t.dat
refuses itself 1 "is memtui itself" sh -c 'exec "$1" record -p $$ -o t.dat' sh "$memtui"
[ ! -e /proc/2/stat ] || ! grep -q kthreadd /proc/2/comm ||
	refuses kernel 1 "process 2 is a kernel thread" "$memtui" record -p 2 -o t.dat
for how in zombie traced; do
	begin ./target $how
	words="has ended; its parent has not read its exit status"
	[ $how = zombie ] || words="is traced by target (process $process): detach it first"
	refuses $how 1 "$words" "$memtui" record -p "$line" -o t.dat
	printf q >&6
	wait "$process"
	say "$how lives on" "$(is $? 0)"
done
if gcc -m32 -O1 -o narrow -x c - 2>/dev/null <<<'int main(void) { for (;;) __builtin_ia32_pause(); }'; then
	./narrow &
	narrow=$!
	refuses narrow 1 "runs a 32-bit program" "$memtui" record -p $narrow -o t.dat
	kill -KILL $narrow
else
	skip narrow "gcc -m32 is not there"
fi
begin ./target
if [ "$root" ] && command -v setpriv >/dev/null; then
	refuses other 1 "belongs to another user (uid 0)" \
		setpriv --reuid 65534 --regid 65534 --clear-groups "$memtui" record -p "$process" -o /tmp/t.dat
else
	skip other "needs root and setpriv"
fi
kill -STOP "$process"
stopped() { grep -q '^State:.T' "/proc/$process/status"; }
until_true stopped
refuses stopped 1 "is stopped by a signal: continue it first" "$memtui" record -p "$process" -o t.dat
kill -CONT "$process"
refuses operand 2 "extra argument 'ls': with --pid no program is started" "$memtui" record -p "$process" ls
refuses number 2 "--pid: invalid value 'x'" "$memtui" record -p x
for option in no-follow no-patch disabled slack check-stacks; do
	refuses "$option" 2 "--$option: " "$memtui" record -p "$process" --$option
	refuses "attach --$option" 2 "--$option: " "$memtui" attach "$process" --$option
done
refuses "no screen" 1 "not a terminal" "$memtui" attach "$process"
refuses "attach absent" 1 "process 4194304 does not exist" "$memtui" attach 4194304
refuses "detach unrecorded" 1 "is not being recorded" "$memtui" detach "$process"
refuses "detach what" 2 "invalid process 'x'" "$memtui" detach x
refuses "detach nothing" 2 "missing PID" "$memtui" detach
echo older >exists.dat
refuses exists 1 "exists" "$memtui" record -p "$process" -o exists.dat
say "the old file" "$(is "$(cat exists.dat)" older)"
ends
verdict "refused, it runs as before"

begin "$memtui" record -o run.dat ./target
run=$(pgrep -P "$(pgrep -P "$process")")
refuses recorded 1 "is being recorded already; 'memtui attach $run' shows it" "$memtui" record -p "$run" -o t.dat
refuses "detach run" 1 "was started by memtui, so its recording ends with it" "$memtui" detach "$run"
printf q >&6
wait "$process"
children=()

# ---- behind a filter of system calls ----
number() { printf '#include <sys/syscall.h>\n%s\n' "SYS_$1" | gcc -E -P - | tail -n 1; }
begin ./target filter "$(number memfd_create)"
answer=$("$memtui" record -p "$process" -o t.dat 2>&1 </dev/null)
case $answer in
*"only root"*) skip filters "they cannot be read here" ;;
*)
	say "a filter kills" "$([[ $answer == *"would not survive memfd_create"* ]] || echo "$answer")$(ls t.dat* 2>/dev/null)"
	ends
	verdict "and nothing has been called"
	begin ./target filter "$(number vfork)"
	record
	tell w
	kill -INT "$front"
	awaits_front 0
	verdict "a filter lets through what is needed" "$(counts 1)"
	;;
esac
ends
verdict "behind a filter, it runs on"

# ---- musl: as the program's C library, and inside a static program ----
musl() { # NAME FLAGS...
	local name=$1
	shift
	musl-gcc "$@" -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-builtin -pthread -idirafter /usr/include \
		-idirafter "/usr/include/$(gcc -dumpmachine)" -o musl "$here/target.c" 2>musl.err ||
		{ not_ok "$name" "$(head -n 3 musl.err)" && return; }
	begin ./musl
	tell wt
	record
	tell wtw
	kill -INT "$front"
	awaits_front 0
	verdict "$name" "$(is "$heard" "worked threads worked ")$(counts 2 80000)"
	record
	tell w
	kill -INT "$front"
	awaits_front 0
	verdict "$name, again" "$(counts 1)"
	ends
	verdict "$name runs on"
}
if command -v musl-gcc >/dev/null; then
	musl musl
	musl "a static program" -static
else
	skip musl "musl-gcc is not there"
fi

# ---- how it ends ----
begin ./target
tell wt # from now on the C library has stacks for the threads, and allocates nothing for them
record
[ -z "$why" ] || { verdict begins; exit 1; }
tell wtw
kill -INT "$front"
kill -INT "$front" 2>/dev/null
awaits_front 0
verdict interrupt "$(is "$heard" "worked threads worked ")$(counts 2 80000)" \
	"$(grep -q "keeps running, no longer recorded" record.err || cat record.err)"
say "no sure leaks" "$(is "$(field t.dat leaks_known exit_status)" "False None")"
tell w
record
tell w
kill -TERM "$front"
awaits_front 0
verdict "again, and a termination" "$(counts 1)"
record
tell w
"$memtui" detach "$process" >detach.out 2>&1
why+="$(is $? 0)$(counts 1)"
awaits_front 0
verdict detach "$(grep -qF "process $process keeps running, no longer recorded; the recording is $tmp/t.dat" detach.out || cat detach.out)"
record --duration 0.2
awaits_front 0
verdict duration "$(counts 0)"
record
tell w
kill -KILL "$front"
wait "$front" 2>/dev/null
tell w
"$memtui" detach "$process" >detach.out 2>&1
verdict "without a front" "$(is $? 0)$(counts 2)"
record
tell w
kill -KILL "$(pgrep -P "$front")"
awaits_front 1
verdict "the recorder is killed" "$(grep -q "the recorder was killed" record.err || cat record.err)"
tell w
say "and it works on" "$(is "$heard" "worked ")"
record
tell w
kill -INT "$front"
awaits_front 0
verdict "and is attached anew" "$(counts 1)"
record -o /dev/full --force
awaits_front 1
verdict "a full disk" "$(grep -q "cannot write to /dev/full" record.err && grep -q "keeps running, no longer" record.err || cat record.err)"
tell w
echo older >older.dat
record -o older.dat --force
tell w
kill -INT "$front"
awaits_front 0
mv older.dat t.dat
verdict "an old file is replaced" "$(counts 1)"
ends
verdict "the process runs on"

begin ./target
record
ends
awaits_front 0
verdict "it ends while it is recorded" "$(counts 1)$(is "$(field t.dat leaks_known)" True)"
begin ./target
record
tell w
kill -KILL "$process"
awaits_front 0
verdict "it is killed while it is recorded" "$(counts 1)$(is "$(field t.dat leaks_known)" True)"
wait "$process" 2>/dev/null
children=()

# ---- on a screen ----
screen() { # STEPS COMMAND...
	local steps=$1
	shift
	python3 "$here/screen.py" "$@" <<<"$steps" >screen.out 2>&1
	why+=$(is "$?" 0)
	grep -q "never shown" screen.out && why+=$(tail -n 20 screen.out)
}
begin ./target
rm -f t.dat
screen $'attached at|q\ndetach, keep the recording|\\r' "$memtui" attach "$process" -o t.dat
verdict "it begins on a screen, and Enter detaches" "$(counts 0)$(grep -q "keeps running, no longer recorded" screen.out || cat screen.out)"
mkdir kept unsaved
export XDG_CACHE_HOME=$tmp/unsaved
cd kept || exit 1
screen $'attached at|q\nkeep recording it|k' "$memtui" attach "$process"
tell w
refuses "what is recorded has its options" 1 "is being recorded already, so options of a recording have no effect" \
	"$memtui" attach "$process" -o other.dat
screen $'attached at|q\nEnter: k|s' "$memtui" attach "$process"
for file in *.dat; do mv "$file" t.dat; done
verdict "it is kept, and saved by who joins it" "$(counts 1)"
cd .. || exit 1
unset XDG_CACHE_HOME
ends
verdict "and runs on after that"
for f in 1 2; do
	"$memtui" record -f -o list$f.dat sleep 1000 2>/dev/null &
	children+=($!)
done
listed() { [ "$("$memtui" attach 2>/dev/null </dev/null | grep -c "sleep 1000")" -ge 2 ]; }
until_true listed
screen $'choose a recording or a process|\nrecorded|q' "$memtui" attach
verdict "a list without a process"
kill -TERM "${children[@]}"
wait "${children[@]}"
children=()

# ---- while threads allocate ----
# Threads that get no processor do not stop in time; then it is said, and nothing has happened.
begin ./target
tell b
attached=0
for round in 1 2 3 4 5; do
	record --on-full wait
	case $why in *"does not stop"*) why=; wait "$front"; continue ;; esac
	attached=$((attached + 1))
	kill -INT "$front" 2>/dev/null
	awaits_front 0
	why+=$(is "$(field t.dat lost_events unknown_frees implied_frees invalid_records complete)" "0 0 0 0 True")
done
ends
[ $attached != 0 ] || skip "busy threads are recorded" "the machine has no processor for them"
verdict "busy threads"
# ---- again and again, killed half of the time: MEMTUI_ATTACH_CYCLES=1000 MEMTUI_ATTACH_SEED=N for a long run ----
if g++ -std=gnu++17 -O1 -g -mno-red-zone -pthread -o busy "$here/../inject/target.cc"; then
	say cycles "$(python3 "$here/cycles.py" "$memtui record -f -o t.dat -p" "$tmp/busy" "${MEMTUI_ATTACH_CYCLES:-10}" 50 \
		"${MEMTUI_ATTACH_SEED:-1}" 2>cycles.out)"
	cat cycles.out
else
	not_ok cycles "its program cannot be built"
fi
exit $bad
