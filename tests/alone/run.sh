#!/usr/bin/env bash
# alone: recordings that programs write by themselves: complete after any death, on a full disk, beyond limits, out of
# reach; read while they grow; packed. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
mounted=
at_exit() { exec 9>&-; [ -n "$mounted" ] && umount $mounted; }
unset MEMTUI_SESSION MEMTUI_OUTPUT MEMTUI_DEPTH MEMTUI_DISABLED MEMTUI_CHECK MEMTUI_FREE_STACKS
export LC_ALL=C PYTHONHASHSEED=0 PERL_HASH_SEED=0

alone() { # FILE PROGRAM...
	pattern=$1; shift
	timeout 240 env LD_PRELOAD="$lib" MEMTUI_OUTPUT="$pattern" "$@"
}
field() { # FILE NAME...: of info
	file=$1; shift
	asked "$memtui" info --format json --no-builtin-suppressions "$file" 2>>field.err | python3 -c 'import json,sys
i = json.load(sys.stdin)
print(*[i[n] if n in i else i["counters"][n] for n in sys.argv[1:]])' "$@" 2>>field.err
}

for p in witness ways without leaves; do gcc -O1 -g -pthread -o $p "$here/$p.c" || { echo "not ok build"; exit 1; }; done
iberty=$(printf '#include <libiberty/demangle.h>\n' | gcc -E -x c - >/dev/null 2>&1 && echo -liberty)
gcc -std=gnu11 -D_GNU_SOURCE -O1 -g -I"$top" ${TEST_CFLAGS:-} -pthread -o fuzz "$here/fuzz.c" "$build/libcore.a" \
	-lzstd -lpcre2-8 -ldw -lelf -lm $iberty || { echo "not ok build"; exit 1; }

# ---- the same truth as a session's ----
all="allocations frees reallocations allocated_bytes leaked_count leaked_bytes"
truth() { # NAME PROGRAM...: what the program says of itself
	name=$1; shift
	alone $name.mem "$@" 2>truth.err >/dev/null || { say "truth of $name" "status $?"; return; }
	"$memtui" record -f -o $name.dat -- "$@" >/dev/null 2>&1
	[ "$(field $name.dat events)" -gt 0 ] || "$memtui" record -f -o $name.dat -- "$@" >/dev/null 2>&1 # too busy to answer
	say "truth of $name" "$(is "$(field $name.mem $all)" "$(field $name.dat $all)")$(is "$(field $name.mem lost_events map_failures cut_stacks)" "$(field $name.dat lost_events map_failures cut_stacks)")$(
		[ -z "${function:-}" ] || python3 - "$(grep -o TRUTH.* truth.err)" "$(asked "$memtui" info --format json --function-regex "$function" $name.mem)" <<'P'
import json, sys
truth = dict(w.split('=') for w in sys.argv[1].split() if '=' in w)
info = json.loads(sys.argv[2])
for mine, its in (('allocs', 'allocations'), ('bytes', 'allocated_bytes'), ('leaked_count', 'leaked_count'), ('leaked_bytes', 'leaked_bytes')):
    if mine in truth and int(truth[mine]) != info[its]:
        print(f'{its} {info[its]}, not {truth[mine]};')
P
)"
}
for t in 1 2 4; do function=^site truth hot$t "$build/bench/hot" 200000 16 $t; done
truth leak "$build/bench/leak"
truth tree "$build/bench/tree" 1 20000
same_count() { # NAME PROGRAM...: sizes differ with the environment, numbers do not
	name=$1; shift
	alone $name.mem "$@" >/dev/null 2>&1; "$memtui" record -f -o $name.dat -- "$@" >/dev/null 2>&1
	python3 - "$name" $(field $name.mem allocations unknown_frees cut_stacks) $(field $name.dat allocations) <<'P'
import sys
name, mine, unknown, cut, its = sys.argv[1], *map(int, sys.argv[2:])
print(f'ok {name}' if its and abs(mine - its) <= its // 100 and not unknown else f'not ok {name}: {mine} allocations, {its} in a session, {unknown} unknown frees')
P
}
same_count python3 "$(python3 -c 'import sys; print(sys.executable)')" -c 'import json; json.dumps([{str(i): i} for i in range(20000)])'
same_count perl perl -e 'my %h; $h{$_} = [$_] for 1..20000'

# ---- another installer: the rest of the tracer takes the real functions and the settings from whoever gives them ----
parts=$(cd "$top" && for source in preload/{base,symbols,segment,unwind,process,record,hooks}/*.c preload/install/allocator.c preload/arch/*/{differ,syscall}.c; do
	echo "$build/obj/${source%.c}.o"
done)
gcc -std=gnu11 -D_GNU_SOURCE -O1 -g -fPIC -fvisibility=hidden -fno-builtin -I"$top" -shared -Wl,-z,now -Wl,-z,nodelete -o installer.so \
	"$here/installer.c" $parts || { echo "not ok build"; exit 1; }
alone preload.mem "$build/bench/hot" 20000 16 2 >/dev/null 2>&1
timeout 240 env LD_PRELOAD="$tmp/installer.so" MEMTUI_OUTPUT=environment.mem MEMTUI_DEPTH=5 "$build/bench/hot" 20000 16 2 >/dev/null 2>&1
others="events lost_events map_failures cut_by_depth unknown_frees untraced_events"
say "another installer" "$([ "$(field installer.mem events)" -gt 0 ] 2>/dev/null || echo "it records nothing; ")$(
	is "$(field installer.mem $all $others)" "$(field preload.mem $all $others)")$(
	[ ! -e environment.mem ] || echo "it goes by the environment")"

# ---- the file ----
umask_is=$(umask); umask 0777
alone 'mode.%p.%e.%%.mem' ./ways churn 1000; umask "$umask_is"
f=$(echo mode.[0-9]*.ways.%.mem)
say "name and mode" "$([ -f "$f" ] || echo "no file of the name; $(ls)")$(is "$(stat -c %a "$f")" 600)"
for _ in 1 2 3; do alone same.mem ./ways churn 1000; alone 'n%n.mem' ./ways churn 1000; done
say "a name that is taken" "$(ls same.mem same.mem.1 same.mem.2 n1.mem n2.mem n3.mem 2>&1 >/dev/null)"
touch taken.mem taken.mem.{1..9} c{1..1000}.mem
often() { # PATTERN FIRST SECOND: the names that a shell and what it becomes get, before their process number
	pid=$(alone "$1" sh -c 'echo $$; exec ./ways churn 1000')
	ls -d "${2/PID/$pid}" "${3/PID/$pid}" 2>&1 >/dev/null
}
say "a name that is often taken" "$(often taken.mem taken.mem.PID.exec0 taken.mem.PID)$(often c%n.mem c1.mem.PID.exec0 c1.mem.PID)"
ln -s /nowhere link.mem; alone link.mem ./ways churn 1000
say "a symbolic link is not followed" "$([ -f link.mem.1 ] || echo "no other name")"
mkfifo pipe.mem; ln -s /dev/null null.mem
for f in pipe.mem null.mem; do
	alone $f ./ways churn 1000
	say "$f is no file" "$(is $? 0)$(ls -d $f.* 2>/dev/null)"
done
alone "$tmp/none/x.mem" ./ways churn 1000
say "a directory that is not there" "$(is $? 0)"
alone moved.mem ./ways directory >moved.out
say "the program changes its directory" "$(is "$(field moved.mem allocations map_failures)" "400001 0")"
say "16 bytes an event" "$([ $(($(stat -c %b moved.mem) * 512)) -lt $((800004 * 16 * 102 / 100 + (6 << 20))) ] || echo "$(stat -c %b moved.mem) blocks")"
MEMTUI_DEPTH=8 alone depth.mem "$build/bench/hot" 1000 100 1 2>/dev/null
for depth in 0 2 x 4x 65537 99999999999999999999 -1; do
	said=$(MEMTUI_DEPTH=$depth alone bad.mem "$build/bench/hot" 10 4 1 2>&1 >/dev/null | grep -v '^TRUTH\|pairs')
	say "MEMTUI_DEPTH=$depth: the recording says that it is none" "$(is "$(field bad.mem bad_depth 2>/dev/null)" 1)$(
		"$memtui" info bad.mem 2>/dev/null | grep -q '^ *1 invalid value of MEMTUI_DEPTH (a number from 4 to 65536)' || "$memtui" info bad.mem | tail -n 5)"
	rm -f bad.mem
done
for depth in 4 65536 ''; do
	MEMTUI_DEPTH=$depth alone good.mem "$build/bench/hot" 10 4 1 >/dev/null 2>&1
	say "MEMTUI_DEPTH='$depth' is taken" "$(is "$(field good.mem bad_depth)" 0)"
	rm -f good.mem
done
say "MEMTUI_DEPTH" "$([ "$(field depth.mem cut_stacks)" -gt 900 ] || echo "none cut")"
MEMTUI_DISABLED=1 alone disabled.mem "$build/bench/hot" 1000 10 1 2>/dev/null
say "MEMTUI_DISABLED" "$(is "$(field disabled.mem allocations)" 0)"
MEMTUI_CHECK=1 alone check.mem "$build/bench/tree" 1 2000 2>/dev/null
say "MEMTUI_CHECK" "$(is "$(field check.mem wrong_stacks)" 0)$([ "$(field check.mem checked_stacks)" -gt 1000 ] || echo "not checked")"

alone pass.mem ./ways pass
say "frees by other threads" "$(is "$(asked "$memtui" groups --format json --function-regex '^pass$' pass.mem | python3 -c 'import json,sys; g = json.load(sys.stdin); print(sum(x["all"]["allocated_count"] for x in g), sum(x["all"]["leaked_count"] for x in g))')" "800000 8")$(
	is "$(field pass.mem unknown_frees implied_frees invalid_records)" "0 0 0")"
"$memtui" record --force -o pass.dat -- ./ways pass >/dev/null 2>&1
say "frees by other threads, in a session" "$(is "$(field pass.dat unknown_frees implied_frees invalid_records lost_events)" "0 0 0 0")"

./without "$lib" zeroes.mem ./ways pass
say "a file system without fallocate" "$(is $? 0)$(is "$(field zeroes.mem allocations map_failures invalid_records)" "800004 0 0")"

# ---- the list of variables ----
say "the tracer reads what is documented" "$(diff <(strings "$lib" | grep -xE 'MEMTUI_[A-Z_]+' | grep -v SESSION | sort -u) \
	<("$memtui" help environment | grep -oE '^ +MEMTUI_[A-Z_]+=' | tr -d ' =' | grep -vE 'CACHE|TRIAGE' | sort -u))"
MEMTUI_OUTPUT=env.dat MEMTUI_DEPTH=8 "$memtui" record -- "$build/bench/hot" 1000 100 1 2>/dev/null
MEMTUI_DISABLED=1 "$memtui" record -o disabled.dat -- "$build/bench/hot" 1000 10 1 2>/dev/null
say "run and record go by the environment" "$(is "$(field disabled.dat allocations)" 0)$([ "$(field env.dat cut_stacks)" -gt 900 ] || echo "none cut, or another name")$(
	MEMTUI_DEPTH=many "$memtui" record -f -o env.dat -- true 2>&1 | grep -q 'environment variable MEMTUI_DEPTH' || echo "a bad value is taken")"

# ---- deaths ----
deaths() { # every prefix is readable, and is what had happened
	bad=
	for i in $(seq 31); do
		rm -f death.mem counters out
		mkfifo out 2>/dev/null
		LD_PRELOAD=$lib MEMTUI_OUTPUT=death.mem ./witness counters $((i % 3 + 1)) >out &
		pid=$!
		read -r _ <out
		[ $((i % 5)) = 0 ] || read -rt "0.0$((RANDOM % 5))$((RANDOM % 10))" <&9
		kill -KILL $pid
		wait $pid 2>/dev/null
		why=$(asked "$memtui" groups --format json --function-regex '^work$' death.mem 2>>field.err | python3 -c '
import json, struct, sys
groups = json.load(sys.stdin)
counters = open("counters", "rb").read()
threads = int(sys.argv[1])
allocated = sum(struct.unpack_from("Q", counters, 64 * i)[0] for i in range(threads))
freed = sum(struct.unpack_from("Q", counters, 64 * i + 8)[0] for i in range(threads))
mine = sum(g["all"]["allocated_count"] for g in groups)
live = sum(g["all"]["leaked_count"] for g in groups)
if not allocated <= mine <= allocated + threads: print(f"{mine} allocations, {allocated} had returned;")
if not freed <= mine - live <= freed + threads: print(f"{mine - live} frees, {freed} had returned;")
' $((i % 3 + 1)) 2>&1)
		why+=$(is "$(field death.mem lost_events unknown_frees implied_frees invalid_records)" "0 0 0 0")
		[ -z "$why" ] || bad="$bad round $i: $why"
		[ -z "$why" ] || cp --sparse=always death.mem "${KEEP:-/dev}/null" 2>/dev/null
	done 2>/dev/null
	say "killed at 31 moments" "$bad"
}
mkfifo pause; exec 9<>pause
deaths

# ---- times of a program that was killed ----
hurried() { LD_PRELOAD="$tmp/libhurried.so" asked "$memtui" "$@"; } # ARGS...: memtui where the clock runs twice as fast
between() { # FILE NANOSECONDS TIMES: the time from early() to late() is so many times the program's own, within 1 %
	hurried groups --format json --no-builtin-suppressions "$1" 2>>field.err | python3 -c '
import json, sys
at = {g["all"]["min_size"]: g["all"]["min_timestamp"] for g in json.load(sys.stdin)}
took, own = at[40] - at[24], int(sys.argv[1]) / 1e9 * float(sys.argv[2])
if not 0.99 * own < took < 1.01 * own + 0.02: print(f"{took} s between two allocations, {own} s by the program;")
' "$2" "$3" 2>&1
}
marked() { # FILE VALUE: whether its times are estimates, everywhere
	hurried info --format json "$1" 2>>field.err | python3 -c '
import json, sys
if (is_ := json.load(sys.stdin)["times_estimated"]) != (sys.argv[1] == "true"): print(f"times_estimated is {is_};")' "$2" 2>&1
	info=$(hurried info "$1" 2>>field.err)
	case $2 in
	true) grep -q '^recorded for *~\|^ran for *~' <<<"$info" && grep -q 'all times are estimates' <<<"$info" ;;
	*) ! grep -q 'ran for *~\|times are estimates' <<<"$info" ;;
	esac || echo "$info"
}
gcc -O1 -g -o times "$here/times.c" && gcc -O1 -DHURRIED -shared -fPIC -o libhurried.so "$here/times.c" || { echo "not ok build"; exit 1; }
mkfifo times.out
LD_PRELOAD=$lib MEMTUI_OUTPUT=times.mem ./times >times.out & pid=$!
read -r took <times.out
kill -KILL $pid; wait $pid 2>/dev/null
say "a killed program's times do not depend on the reader's clock" "$(between times.mem "$took" 1)$(marked times.mem false)"
cp --sparse=always times.mem rateless.mem
gcc -std=gnu11 -D_GNU_SOURCE -I"$top" -o one_anchor "$here/one_anchor.c" && ./one_anchor rateless.mem || { echo "not ok build"; exit 1; }
if "$memtui" info rateless.mem | grep -q 'times are estimates'; then
	say "times without a rate are marked" "$(between rateless.mem "$took" 2)$(marked rateless.mem true)"
	say "a limit on blocks chosen by such times is not decided" "$("$memtui" check --max-leaked=1k --lifetime-min=1ms rateless.mem >check.out 2>&1; is $? 1)$(
		grep -q '^UNKNOWN leaked' check.out && grep -q 'all times are estimates' check.out || cat check.out)$(
		"$memtui" check --max-leaked=1k rateless.mem >check.out 2>&1; is $? 0)"
	"$memtui" pack -f -o rateless.dat rateless.mem 2>>field.err
	say "a packed recording keeps the mark" "$(marked rateless.dat true)"
	say "CSV has a column for the mark" "$(for view in groups 'groups --by function' tree allocations timeline mmaps; do
		"$memtui" $view --format csv rateless.dat 2>>field.err | awk -F, -v view="$view" '$NF != (NR == 1 ? "times_estimated" : "true") { print view ": " $0; exit } END { if (NR < 1) print view ": nothing" }'
		"$memtui" $view --format csv times.mem 2>>field.err | grep -q times_estimated && echo "$view marks times that are known"
	done)"
elif grep -q tsc /sys/devices/system/clocksource/clocksource0/available_clocksource; then
	say "times without a rate are marked" "they are not: $("$memtui" info rateless.mem 2>&1)"
else
	echo "skip times without a rate: the tracer uses the system's clock here"
fi

# ---- processes ----
alone fork.mem ./ways fork >fork.out
child=$(ls fork.mem.* 2>/dev/null)
say "fork" "$(is "$(cat fork.out)" "child 5")$(is "$(asked "$memtui" info --format json --function-regex '^keep$' fork.mem | python3 -c 'import json,sys; print(json.load(sys.stdin)["allocations"])')" 301)$(
	[ -n "$child" ] && is "$(asked "$memtui" info --format json --function-regex '^keep$' "$child" | python3 -c 'import json,sys; print(json.load(sys.stdin)["allocations"])')" 500 || echo "no file of the child")$(is "$(field "$child" inherited_frees unknown_frees)" "1 0")"
alone exec.mem ./ways exec
say "exec" "$(is "$(asked "$memtui" info --format json --function-regex '^keep$' exec.mem.exec0 | python3 -c 'import json,sys; print(json.load(sys.stdin)["allocations"])')" 100)$(is "$(field exec.mem allocations)" 1000)"

# ---- faults: the program's output and status are as without a tracer ----
limits() {
	( ulimit -f 16384; ./ways limited >plain.out 2>&1 ); plain=$?
	( ulimit -f 16384; alone limited.mem ./ways limited >traced.out 2>&1 ); traced=$?
	say "RLIMIT_FSIZE" "$(is $traced $plain)$(cmp plain.out traced.out 2>&1)$(is "$(field limited.mem map_failures complete)" "1 False")$([ "$(field limited.mem allocations)" -gt 400000 ] || echo "too little was recorded")"
	( ulimit -f 16384; exec ./ways churn 600000 ); plain=$?
	( ulimit -f 16384; alone limited2.mem ./ways churn 600000 ); traced=$?
	say "RLIMIT_FSIZE, no handler" "$(is $traced $plain)"
	say "RLIMIT_FSIZE is named" "$("$memtui" info limited.mem 2>&1 | grep -q 'limit of file sizes (ulimit -f)' || "$memtui" info limited.mem 2>&1 | grep ended)"
	for kib in 8 100 8192; do
		( ulimit -f $kib; alone limited$kib.mem ./ways churn 1000 )
		say "RLIMIT_FSIZE of $kib KiB: a file that says why nothing was recorded" "$(is $? 0)$("$memtui" info limited$kib.mem >few.out 2>&1; is $? 1)$(
			grep -q 'nothing was recorded: the limit of file sizes (ulimit -f)' few.out || cat few.out)"
	done
	( ulimit -v 200000; alone space.mem ./ways churn 100000 )
	say "RLIMIT_AS" "$(is $? 0)$(is "$(field space.mem allocations)" 100000)"
}
limits
few() { prlimit --nofile=4:4 env LD_PRELOAD="$lib" MEMTUI_OUTPUT=few.mem ./ways churn 300000; }
few; say "one descriptor to spare" "$(is $? 0)$(is "$(field few.mem allocations map_failures complete)" "300000 0 True")"
alone descriptors.mem ./ways descriptors >traced.out; traced=$?
./ways descriptors >plain.out
say "closed descriptors" "$(is $traced 0)$(cmp plain.out traced.out 2>&1)$(is "$(field descriptors.mem allocations map_failures)" "500001 0")"
( ulimit -n 64; alone exhausted.mem ./ways exhausted >traced.out ); traced=$?
( ulimit -n 64; ./ways exhausted >plain.out )
say "no descriptor for a while" "$(is $traced 0)$(cmp plain.out traced.out 2>&1)$(is "$(field exhausted.mem map_failures complete)" "0 True")$(
	field exhausted.mem allocations lost_allocations lost_frees frees | awk '$2 < 100000 || $1 + $2 != 401001 || $3 + $4 < 400990 { print }')"
( ulimit -n 64; alone once.mem ./ways exhausted_once once.mem )
say "descriptors again" "$(is $? 0)$(is "$(asked "$memtui" groups --format json --function-regex '^keep$' once.mem | python3 -c 'import json,sys; print(sum(g["all"]["leaked_count"] for g in json.load(sys.stdin)))')" 100)"
if [ "$(id -u)" = 0 ]; then
	mkdir root; alone chroot.mem ./ways chroot root >chroot.out
	say "chroot" "$(is $? 0)$(is "$(cat chroot.out)" "still here")$(is "$(field chroot.mem complete map_failures)" "True 0")$([ "$(field chroot.mem allocations)" -ge 401100 ] || echo "too little was recorded")"
	for how in user user_closed; do # whether it keeps what descriptors it finds, or closes all
		./ways $how >plain.out; alone $how.mem ./ways $how >traced.out; traced=$?
		case $how in user) is="True 0" least=401000;; *) is="False 1" least=1000;; esac
		say "the program changes its user: $how" "$(is $traced 0)$(cmp plain.out traced.out 2>&1)$(is "$(field $how.mem complete map_failures)" "$is")$(
			[ "$(field $how.mem allocations)" -ge $least ] || echo "too little was recorded")"
	done
	say "why a recording ended" "$("$memtui" info user_closed.mem 2>&1 >/dev/null | grep -q 'the program lost the right to open the file' || echo "no word of the user; ")$(
		"$memtui" info limited.mem 2>&1 >/dev/null | grep -q 'limit of file sizes (ulimit -f)' || echo "no word of the limit")"
	mkdir small
	if mount -t tmpfs -o size=9m tmpfs small 2>/dev/null; then
		mounted=$tmp/small
		alone small/full.mem ./ways churn 600000
		say "full disk" "$(is $? 0)$(is "$(field small/full.mem map_failures complete)" "1 False")$([ "$(field small/full.mem allocations)" -gt 200000 ] || echo "too little was recorded: $(field small/full.mem allocations)")$(
			"$memtui" info small/full.mem 2>&1 >/dev/null | grep -q 'the disk.*was full' || echo "no word of the disk")"
		rm -f small/*; dd if=/dev/zero of=small/fill bs=64k >/dev/null 2>&1
		alone small/none.mem ./ways churn 1000
		say "no room at all" "$(is $? 0)$(ls small | grep -v fill)"
	fi
fi

# ---- growing ----
mkfifo in; exec 8<>in
alone grow.mem ./ways phases <in >grow.out & pid=$!
until grep -q one grow.out; do read -rt 0.01 <&9; done
first=$(field grow.mem leaked_count complete)
echo >&8
until grep -q two grow.out; do read -rt 0.01 <&9; done
second=$(field grow.mem allocations leaked_count complete)
"$memtui" pack -f -o early.dat grow.mem 2>early.err
echo >&8; wait $pid
say "a growing recording" "$(is "$first" "1001 False")$(is "$second" "401501 1501 False")$(is "$(field grow.mem leaked_count complete)" "1501 True")"
say "a growing recording is packed" "$(is "$(field early.dat allocations)" 401501)$(grep -q 'is still writing' early.err || echo "not said to grow")"

# ---- whose process goes on in another way ----
left() { # HOW: waits till it is ready; the end of its input lets it go on
	rm -f left.mem* left.out # or the last one's ready may be taken for this one's
	mkfifo left.in
	exec 7<>left.in
	alone left.mem ./leaves "$1" <left.in >left.out 7<&- & pid=$!
	until grep -qs ready left.out || ! kill -0 $pid 2>/dev/null; do read -rt 0.01 <&9; done
}
go_on() { exec 7<&-; wait $pid; rm -f left.in; }
left leader
before=$(field left.mem complete)
"$memtui" pack -f -o left.dat left.mem 2>left.err
go_on
say "its first thread has ended" "$(is "$before" False)$(grep -q 'is still writing' left.err || cat left.err)$([ "$(field left.mem leaked_count)" -ge 1500 ] || echo "less was recorded")$(is "$(field left.mem complete)" True)"
left exec
before=$(field left.mem.exec0 complete leaked_count)
"$memtui" pack -f -o left.dat left.mem.exec0 2>left.err
after=$(field left.mem complete)
go_on
say "it has executed something else" "$(is "$before" "True 1000")$(grep 'is still writing' left.err)$(is "$after" False)$(is "$(field left.mem complete leaked_count)" "True 1500")"
if [ "$(stat -Lc %i /proc/self/ns/pid)" = 4026531836 ] && unshare -rpf true 2>/dev/null; then
	mkfifo below.in; exec 7<>below.in
	unshare -rpf env LD_PRELOAD="$lib" MEMTUI_OUTPUT=below.mem ./ways phases <below.in >below.out 7<&- & pid=$!
	until grep -q one below.out; do read -rt 0.01 <&9; done
	before=$(field below.mem pid complete)
	echo >&7; echo >&7; wait $pid
	say "process 1 of another name space" "$(is "$before" "1 False")$(is "$(field below.mem leaked_count complete)" "1501 True")"
else
	echo "skip process 1 of another name space: there is none, or not below this one"
fi
left fork
child=$(grep -v ready left.out)
why=$("$memtui" attach "$child" 2>&1)
go_on
say "a child that has recorded nothing" "$(grep -q "^memtui: process $child has not allocated since it was forked" <<<"$why" || echo "$why; ")$(is "$(field left.mem leaked_count)" 1000)"

if printf '#include <vterm.h>\n' | gcc -E -x c - >/dev/null 2>&1; then
	gcc -std=gnu11 -D_GNU_SOURCE -DHAVE_LIBVTERM -O1 -g -I"$top" -o follow "$here/follow.c" "$top/tests/screens/harness.c" "$top/tui/view/program_repeats.c" -lvterm -lutil \
		&& timeout 240 ./follow "$memtui" "$lib" ./ways
fi

# ---- packed ----
packed() { # NAME
	"$memtui" pack -f $1.mem 2>pack.err || { cat pack.err; return; }
	for view in info groups tree timeline; do
		asked "$memtui" $view --format json $1.mem 2>/dev/null | sed 's/"file_bytes":[0-9]*//' >direct.json
		asked "$memtui" $view --format json $1.mem.dat 2>/dev/null | sed 's/"file_bytes":[0-9]*//' >packed.json
		[ -s direct.json ] && cmp direct.json packed.json 2>&1
	done
	is "$(stat -c %a $1.mem.dat)" 600
}
for name in hot1 hot4 leak tree python3 death; do say "pack $name" "$(packed $name)"; done
say "pack refuses" "$("$memtui" pack hot1.mem 2>&1 | grep -q 'already exists' || echo "an existing name is taken; ")$("$memtui" pack hot1.mem.dat -o x.dat 2>&1 | grep -q 'neither a recording that a program wrote.*opens elsewhere as it is' || echo "a trace is taken")"

gcc -O1 -Wall -D_GNU_SOURCE -shared -fPIC -o libfiles.so "$here/../programs/files.c" || { echo "not ok build"; exit 1; }
odd() { env ${signals:-} LD_PRELOAD="$tmp/libfiles.so" "$@"; } # VARIABLE=VALUE... PROGRAM...: where files behave as that source says
named() { # VARIABLE=VALUE...: a new trace gets its name, and one that is there keeps its own
	rm -f named.dat
	odd "$@" "$memtui" pack -o named.dat hot1.mem 2>pack.err || cat pack.err
	is "$(field named.dat allocations)" "$(field hot1.mem allocations)"
	is "$(stat -c '%a %h' named.dat)" "600 1"
	cp named.dat before.dat
	odd "$@" "$memtui" pack -o named.dat hot1.mem 2>pack.err && echo "one that is there is replaced;"
	cmp named.dat before.dat 2>&1
	rm -f named.dat
	odd "$@" STRUCK=.new APPEARS=named.dat "$memtui" pack -o named.dat hot1.mem 2>pack.err && echo "one that has come meanwhile is replaced;"
	grep -q 'named.dat: already exists' pack.err || cat pack.err
	[ -f named.dat ] && [ ! -s named.dat ] || echo "one that has come meanwhile is gone;"
	odd "$@" "$memtui" pack -f -o named.dat hot1.mem 2>pack.err || cat pack.err
	cmp named.dat before.dat 2>&1
	ls named.dat.* 2>/dev/null
}
say "pack names the trace" "$(named A=)"
say "pack where nothing is renamed without replacing" "$(named NO_RENAMEAT2=1)"
say "pack without hard links" "$(named NO_LINKS=1)"
say "pack with neither" "$(named NO_LINKS=1 NO_RENAMEAT2=1)"
ended() { # VARIABLE: what a signal leaves that arrives when a new file is OPENED, or WRITTEN to
	local signals=--default-signal # in the background SIGINT is ignored
	ulimit -c 0
	for number in 1 2 3 13 15; do # HUP INT QUIT PIPE TERM
		rm -f ended.dat*
		odd STRUCK=ended.dat "$1=$number" "$memtui" pack -o ended.dat hot1.mem 2>pack.err
		is "$?" $((128 + number))
		ls ended.dat* 2>/dev/null
		rm -f ended.dat*; cp before.dat ended.dat
		odd STRUCK=ended.dat "$1=$number" "$memtui" pack -f -o ended.dat hot4.mem 2>pack.err
		is "$?" $((128 + number))
		cmp ended.dat before.dat 2>&1
		ls ended.dat.* 2>/dev/null
	done 2>/dev/null
}
say "pack is ended as it begins to write" "$(ended OPENED)"
say "pack is ended while it writes" "$(ended WRITTEN)"
say "pack is ended by a limit" "$(rm -f ended.dat*; ulimit -c 0; (ulimit -f 4; exec "$memtui" pack -o ended.dat hot1.mem) 2>/dev/null; is $? 153; ls ended.dat* 2>/dev/null)"
say "pack goes on where signals are ignored" "$(trap '' HUP INT; rm -f ended.dat; odd STRUCK=.new WRITTEN=1 "$memtui" pack -o ended.dat hot1.mem 2>&1 >/dev/null | grep -v wrote
	odd STRUCK=.new OPENED=2 "$memtui" pack -f -o ended.dat hot1.mem 2>&1 >/dev/null | grep -v wrote; cmp ended.dat before.dat 2>&1)"
keeps() { # ARGS of pack...: the recording is named as the trace, or is standard output, and is left alone
	rm -rf own*; cp --sparse=always hot1.mem own.mem; ln own.mem own.mem.dat; ln -s own.mem own.link; mkdir own
	own=$(ls -i own*; cksum own.mem)
	"$memtui" pack "$@" >>${stdout:-pack.out} 2>pack.err
	is "$?" 1
	{ [ "$(wc -l <pack.err)" = 1 ] && grep -q ': is the input file' pack.err; } || cat pack.err
	is "$(ls -i own*; cksum own.mem)" "$own"
}
say "pack keeps the recording" "$(keeps -f -o own.mem own.mem; keeps -o own.mem own.mem; keeps -f -o own/../own.mem own.mem)"
say "pack keeps it by a hard link" "$(keeps -f own.mem; keeps -f -o own.mem.dat own.mem)"
say "pack keeps it by a symbolic link" "$(keeps -f -o own.link own.mem; keeps -f -o own.mem own.link)"
say "pack keeps it as standard output" "$(stdout=own.mem keeps -o - own.mem)"
mkdir -p temporary
say "no temporary file is left" "$(ulimit -c 0; signals=--default-signal TMPDIR=$tmp/temporary odd STRUCK=/temporary/ WRITTEN=2 "$memtui" allocations hot1.mem >/dev/null 2>&1; is $? 130; ls temporary)"
advised() { # WORDS ARGS...: memtui says once that there is no room, what helps, and nothing of what is not left
	words=$1; shift
	"$memtui" "$@" >/dev/null 2>pack.err && echo "status 0;"
	{ grep -q "No space left.*$words" pack.err && ! grep -q 'can be opened' pack.err && [ "$(wc -l <pack.err)" = 1 ]; } || cat pack.err
}
say "pack without room" "$(advised 'another place with -o' pack -o /dev/full hot1.mem)"
if [ "$(id -u)" = 0 ] && mkdir crowded && mount -t tmpfs -o size=64k crowded crowded 2>/dev/null; then
	mounted="$mounted $tmp/crowded"
	say "pack on a full disk" "$(advised 'another place with -o' pack -o crowded/full.dat hot1.mem; ls crowded)"
	say "a temporary file on a full disk" "$(TMPDIR=$tmp/crowded advised 'set TMPDIR' allocations hot1.mem; ls crowded)"
fi

# ---- hostile ----
timeout 240 ./fuzz fork.mem 4 >fuzz.out 2>&1; status=$?
say "damaged recordings" "$([ $status = 0 ] || tail -n 3 fuzz.out)"
