#!/usr/bin/env bash
# processes: every process of a session with exact counts: forks of every kind, exec, daemons, other rights, other roots,
# kills; and a real build. No sleeps: what is waited for is a line, a file or the end of a process.
. "$(dirname "$0")/../suite.sh"
chmod 755 "$tmp" # for processes that become somebody else
flags="-O1 -g -D_GNU_SOURCE -fno-builtin -pthread"
gcc $flags -o tree "$here/tree.c" || { echo "not ok processes: its programs cannot be built"; exit 1; }

compare() { python3 "$here/compare.py" "$memtui" "$@" 2>&1 | tail -n 3; }
field() { asked "$memtui" info --format json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"; }

# ---- exact counts, whatever the kind of process ----
options=()
truth() { # NAME FILES PROGRAM...: ends well, FILES traces, each as its process's TRUTH line says
	local name=$1 files=$2 why=
	shift 2
	rm -f t.dat*
	timeout 240 "$memtui" record "${options[@]}" -o t.dat -- "$@" >out 2>err || why="status $?: $(tail -n 1 err); "
	grep -h '^TRUTH' err >>out
	why+=$(compare out t.dat*)
	[ "$(ls t.dat* | wc -l)" = "$files" ] || why+=" $(ls t.dat* | wc -l) files"
	say "$name" "$why"
}
truth "three generations" 40 ./tree tree
truth "forks while other threads allocate" 221 ./tree threads 200
on_terminal() { # COLUMNS: the longest line that record writes there, whether all file names still differ, and the heading before "command"
	python3 - "$1" "$memtui" record -f -o a_trace_with_a_long_name.dat -- ./tree kinds <<'P'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
try:
    while data := os.read(fd, 65536):
        text += data
except OSError:
    pass
os.waitpid(pid, 0)
lines = text.decode().replace("\r", "").split("what each process did, program by program:\n")[1].splitlines()
print(max(map(len, lines)), len({l.split()[-1].split("..")[-1] for l in lines}) == len(lines), lines[0].split()[-3])
P
}
for columns in 80 100; do
	read -r longest differ before <<<"$(on_terminal $columns)"
	say "lines about processes fit $columns columns" "$([ "$longest" -le $columns ] && [ $differ = True ] || echo "longest $longest, files differ: $differ")"
	say "resident memory stands there where 100 columns have room: $columns" "$([ $columns = 80 -a "$before" = leaked -o $columns = 100 -a "$before" = rss ] || echo "before the command stands: $before")"
done
rm -f a_trace*
truth "vfork, posix_spawn, system, popen, clone, exec" 10 ./tree kinds
truth "a chain of exec" 6 ./tree chain 5
truth "300 children in turn" 301 ./tree serial 300
truth "50 children at once" 51 ./tree crowd 50
options=(--on-full wait) # others may keep the recorder from running
truth "40 children whose rings are full" 41 ./tree busy 40
options=()
truth "pthread_atfork handlers that allocate" 2 ./tree atfork
truth "a killed child" 2 ./tree killed
truth "an environment that is cleared" 2 ./tree clear
[ "$(id -u)" != 0 ] || truth "setuid and chroot" 4 ./tree root

# ---- --force: the earlier recording of the name goes as a whole, and nothing else ----
rm -f t.dat*
"$memtui" record -o t.dat -- ./tree chain 3 >out 2>err
"$memtui" record -f -o t.dat -- ./tree chain 1 >out 2>err
say "--force takes the images of the earlier recording along" "$([ "$(echo t.dat*)" = "t.dat t.dat.exec0" ] || echo t.dat*)"
rm -f t.dat*
"$memtui" record -o t.dat -- ./tree crowd 4 >out 2>err
old=$(echo t.dat.*)
child=${old%% *}
"$memtui" record -o other.dat -- ./tree crowd 1 >out 2>err
foreign=$(echo other.dat.*)
# Copies that somebody keeps, another recording's trace, what has no end, and what is no trace.
cp t.dat t.dat.1 && cp "$child" "$child.kept" && cp "$child" t.dat.kept && cp "$foreign" "t.dat.${foreign##*.}"
head -c 600 "$child" >"$child.7" && echo text >t.dat.99 && mkdir t.dat.98 && mkfifo t.dat.97
keep=$(ls -d t.dat.1 t.dat.kept "$child.kept" "$child.7" "t.dat.${foreign##*.}" t.dat.99 t.dat.98 t.dat.97 | sort)
"$memtui" record -f -o t.dat -- ./nothing >out 2>err
why=$([ "$(ls -d $old $keep t.dat | sort)" = "$(ls -d t.dat* | sort)" ] || echo "a program that cannot be started took: $(echo t.dat*); ")
"$memtui" record -f -o t.dat -- ./tree chain 0 >out 2>err
say "--force takes the processes of the earlier recording along, and nothing else" "$why$([ "$(ls -d $keep t.dat | sort)" = "$(ls -d t.dat* | sort)" ] || echo t.dat*)"
rm -rf t.dat* other.dat*

# ---- programs with a malloc library of their own that wants to be the first: options of theirs stay in force ----
export ASAN_OPTIONS=detect_leaks=0 LSAN_OPTIONS=detect_leaks=0
for sanitizer in address leak thread; do
	gcc $flags -fsanitize=$sanitizer -o tree-$sanitizer "$here/tree.c" 2>gcc.err || { echo "not ok -fsanitize=$sanitizer: $(tail -n 1 gcc.err)"; continue; }
	# ThreadSanitizer allocates in tree() as well
	[ $sanitizer = thread ] || truth "-fsanitize=$sanitizer: three generations" 40 ./tree-$sanitizer tree
	truth "-fsanitize=$sanitizer: a chain of exec" 6 ./tree-$sanitizer chain 5
done
printf 'const char *__asan_default_options(void) { return ""; }\nint main(void) { return 0; }\n' >own.c
gcc -fsanitize=address -o own own.c
"$memtui" record -o never.dat -- ./own 2>err
say "-fsanitize=address: with defaults of its own" "$([ $? = 1 ] && grep -q 'AddressSanitizer.*ASAN_OPTIONS=verify_asan_link_order=0' err || cat err)"
unset ASAN_OPTIONS LSAN_OPTIONS

# ---- fork in a signal handler: what a handler does inside an event may go unseen, but is counted ----
for how in fork _Fork SYS_fork SYS_clone SYS_clone3 "SYS_clone3 later"; do
rm -f t.dat*
timeout 240 "$memtui" record -o t.dat -- ./tree signal $how >out 2>err || echo "not ok signals: status $?"
why=$(python3 - "$memtui" t.dat* <<'PY'
import json, subprocess, sys
memtui, *traces = sys.argv[1:]
ask = lambda view, *more: json.loads(subprocess.run([memtui, view, "--format", "json", *more], capture_output=True, check=True).stdout)
for trace in traces:
    info = ask("info", trace)
    if info["invalid_records"] or info["unknown_frees"] or info["lost_events"] > info["counters"]["untraced_events"] or info["counters"]["untraced_events"] > 2:
        print(trace, info["invalid_records"], info["unknown_frees"], info["lost_events"], info["counters"]["untraced_events"], end="; ")
    kept = sum(g["all"]["leaked_count"] for g in ask("groups", "--function-regex", "^keep$", trace))
    if info["origin"] == "fork" and kept != 25:
        print(trace, "kept", kept, end="; ")
if len(traces) != 61:
    print(len(traces), "traces")
PY
)
say "$how in a signal handler" "$why"
done
for how in fork SYS_fork; do
	timeout 240 "$memtui" record -f -o t.dat -- ./tree signal $how sealed >out 2>err || echo "not ok signals: status $?"
	say "$how in a signal handler, behind a filter" "$(asked "$memtui" info --format json t.dat | python3 -c '
import json, sys
info = json.load(sys.stdin)
# a fork between two instructions may still set the ring back, by a dozen records where the machine is busy
if info["invalid_records"] > 40 or info["unknown_frees"] > 4 or info["leaked_count"] > 5 or not info["counters"]["sealed"]:
    print(info["invalid_records"], info["unknown_frees"], info["leaked_count"])')"
done
timeout 240 "$memtui" record -f -o t.dat -- ./tree signal fork closed >out 2>err # which its children do not all like
say "fork in a signal handler, without descriptors" "$(asked "$memtui" info --format json t.dat | python3 -c '
import json, sys
info = json.load(sys.stdin)
if info["forked_children"] != 400:
    print(info["forked_children"], "children")')"
truth "forks under a flood of signals" 31 ./tree flood 30
rm -f t.dat*
why=
MEMTUI_OUTPUT=$tmp/t.dat LD_PRELOAD=$build/libmemtui.so timeout 240 ./tree flood 60 >out 2>err || why="status $?: $(tail -n 1 err); "
sed -i 's/^\(TRUTH [0-9]*\) [0-9]*/\1 0/' out # a file says nothing of the parent
say "forks under a flood of signals, stand-alone" "$why$(compare out t.dat*)"
truth "100 forks while another thread asks for a segment" 201 ./tree meanwhile 100
truth "100 children whose first events are two threads'" 101 ./tree first 100
rm -f t.dat*
timeout 240 "$memtui" record -o t.dat -- ./tree unseen 100 >out 2>err || echo "not ok unseen threads: status $?"
why=$(sed -n 's/^TRUTH \([0-9]*\).*/\1/p' out | while read -r pid; do
	asked "$memtui" info --format json --function-regex '^keep_many$' "t.dat.$pid" 2>err || echo '{}'
done | python3 -c '
import json, sys
decoder, text, at, children, lost = json.JSONDecoder(), sys.stdin.read().strip(), 0, 0, 0
while at < len(text):
    info, end = decoder.raw_decode(text[at:])
    at += end + len(text[at + end:]) - len(text[at + end:].lstrip())
    children += 1
    untraced = info["counters"]["untraced_events"]
    lost += untraced
    if info["allocations"] + untraced != 2000:
        print(info["pid"], info["allocations"], "and untraced", untraced, end="; ")
if children != 100 or not lost:
    print(children, "children, untraced", lost)
')
say "events while another thread asks are counted" "$why"
truth "1,500 threads of thrd_create in turn" 1 ./tree thrd 1500
truth "1,500 threads of a timer in turn" 1 ./tree timer 1500

# ---- what a forked child takes over: its parent's own pause, as it was then; a segment that its vfork child did not ask for ----
gcc $flags -I"$here/../.." -o inherit "$here/inherit.c" || echo "not ok inherit: cannot be built"
inherits() { # NAME PARENT CHILD ARGUMENT...: what is to be said of each, in a session and of files
	local name=$1 parent=$2 child=$3 why
	shift 3
	rm -f t.dat* t.mem*
	timeout 240 "$memtui" record -o t.dat -- ./inherit "$@" >out 2>err || echo "not ok $name: status $?"
	MEMTUI_OUTPUT=t.mem LD_PRELOAD=$build/libmemtui.so ./inherit "$@"
	why=$(python3 - "$memtui" "$parent" "$child" t.dat* t.mem* <<'PY'
import json, subprocess, sys
memtui, parent, child, *traces = sys.argv[1:]
for trace in traces:
    d = json.loads(subprocess.run([memtui, "info", "--format", "json", trace], capture_output=True, check=True).stdout)
    d["untraced"] = d["counters"]["untraced_events"]
    wanted = child if d["origin"] == "fork" else parent
    if not eval(wanted, d):
        print(trace, "not", wanted, {k: d[k] for k in ("allocations", "frees", "paused", "pauses", "lost_events", "untraced")}, end="; ")
if len(traces) != (4 if child else 2):
    print(*traces)
PY
)
	say "$name" "$why"
}
inherits "a pause after the fork is not the child's" 'allocations == 10 and len(pauses) == 1 and paused' \
	'allocations == 35 and not pauses and not paused' pause before
inherits "a pause before the fork is the child's" 'allocations == 17 and len(pauses) == 1 and not paused' \
	'allocations == 0 and len(pauses) == 1 and paused and unknown_frees == 0' pause during
inherits "a child ends its own pause" 'allocations == 17 and len(pauses) == 1' \
	'allocations == 5 and len(pauses) == 1 and not paused and pauses[0]["begin_seconds"] == 0' pause ends
inherits "a child's first word ends its pause" 'allocations == 17' \
	'allocations == 35 and len(pauses) == 1 and not paused' pause first
inherits "a child's first word is a pause" 'allocations == 10 and paused' \
	'allocations == 0 and len(pauses) == 1 and paused' pause before_both
MEMTUI_DISABLED=1 inherits "a child of a program that has asked to be recorded" 'allocations == 17 and not paused' \
	'allocations == 35 and not paused' pause on
inherits "a child's vfork child asks for nothing" 'allocations == 1' 'allocations == 50 and untraced == 2 == lost_events' vfork
inherits "threads whose first events are a vfork child's" 'lost_events == 0 and allocations >= 13200' '' threads 1200

# ---- children that can open no socket, or take no descriptor from it: each is counted once ----
for limit in 3 4; do
	rm -f t.dat*
	timeout 240 "$memtui" record -o t.dat -- python3 -c "import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, ($limit, $limit))
for i in range(3):
    pid = os.fork()
    if pid == 0:
        os._exit(len(bytearray(1000 + i)) < 1000)
    os.waitpid(pid, 0)" >out 2>err
	say "children with $limit descriptors" "$([ "$(field t.dat forked_children)" = 3 ] || echo "$(field t.dat forked_children) counted: $(cat err)")"
done

# ---- and one that executes what is not recorded either: it has no trace, so its parent's tells of both ----
rm -f t.dat* go
( timeout 240 "$memtui" record --no-follow -o t.dat -- ./tree leaves "$tmp" 8>&- >out 2>err; echo $? >status ) &
both_told() { [ "$(field t.dat forked_children 2>/dev/null)" = 2 ]; }
until_true both_told
touch go
wait
say "a child without a trace that goes on untraced" "$(both_told || echo "$(field t.dat forked_children) counted; ")$([ "$(cat status)" = 0 ] || echo "status $(cat status)")"

# ---- names ----
rm -f t.dat* p*.dat
"$memtui" record -o p%p.dat -- sh -c '/bin/ls / >/dev/null; /bin/ls / >/dev/null; :' 2>err
say "names with %p" "$([ "$(ls p*.dat | wc -l)" = 3 ] || ls p*.dat)"
touch t.dat.keep
"$memtui" record -o - -- sh -c '/bin/ls / >/dev/null; :' >s.dat 2>err
say "standard output holds the root alone" "$([ "$(field s.dat complete)" = True ] || echo "not complete")$([ "$(field s.dat forked_children)" -ge 1 ] || echo "nothing counted")"

for single in /dev/null ff; do
	[ $single = ff ] && { mkfifo ff; cat ff >ff.dat & }
	timeout 240 "$memtui" record -o $single -- sh -c '/bin/ls / | wc; exec /bin/ls /' >out 2>err
	status=$?
	wait
	why=$([ $status = 0 ] || echo "status $status; ")
	for f in /dev/null.* ff.[0-9]* ff.exec*; do [ ! -e "$f" ] || why+="$f is there; "; done
	[ $single = /dev/null ] || [ "$(field ff.dat complete) $(field ff.dat forked_children)" = "True 3" ] || why+="$("$memtui" info ff.dat 2>&1 | tail -n 3); "
	say "$single holds the root alone" "$why"
done
name=$(printf 'n%.0s' {1..252}) # .exec0 makes it too long
rm -f t.dat*
echo mine >t.dat.exec0
"$memtui" record -o t.dat -- sh -c 'exec /bin/ls /' >out 2>err
why=$([ "$(cat t.dat.exec0)" = mine ] || echo "t.dat.exec0 is gone; ")
[ "$(field t.dat.exec1 complete) $(field t.dat.exec1 exit_status)" = "True None" ] || why+="no t.dat.exec1 without a status; "
[ "$(field t.dat complete) $(field t.dat exit_status)" = "True 0" ] || why+="no t.dat; "
"$memtui" record -o $name -- sh -c 'exec /bin/ls /' >out 2>err
grep -q 'cannot rename .*: File name too long' err || why+="said $(head -n 1 err | tail -c 100); "
[ "$(field $name complete) $(field $name.1 complete)" = "True True" ] || why+="not two images"
say "a name for what was before exec" "$why"
why=
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	rm -f t.dat* o
	eval "sh -c 'ls /proc/self/fd >o' $closed"
	open=$(grep -c '^[012]$' o)
	eval "'$memtui' record -o t.dat -- sh -c 'ls /proc/self/fd >o; :' $closed" >out 2>err
	[ "$(grep -c '^[012]$' o)" = "$open" ] || why+="$closed: open are $(tr '\n' ' ' <o); "
	[ "$(ls t.dat* | wc -l) $(field t.dat complete)" = "2 True" ] || why+="$closed: not recorded; "
done
say "closed standard descriptors" "$why"
rm -f t.dat*
"$memtui" record --disabled -o t.dat -- sh -c 'for i in 1 2 3 4 5; do /bin/ls -l /; done' >out 2>err
why=$(asked "$memtui" info --format json t.dat* | python3 -c 'import json,sys; print(*(i["unknown_frees"] for i in json.load(sys.stdin)))')
say "frees of what came in a pause" "$([ "$why" = "0 0 0 0 0 0" ] || echo "unknown: $why")"

# ---- a daemon outlives the command ----
rm -f t.dat* go
timeout 240 "$memtui" record -o t.dat -- ./tree daemon "$tmp" >out 2>err
status=$?
why=$([ $status = 5 ] || echo "status $status; ")
grep -q 'still recording 1 other process' err || why+="said: $(tail -n 1 err); "
grep -q TRUTH out && why+="it was waited for; "
touch go
until_true grep -q TRUTH out
daemon=$(sed -n 's/^TRUTH \([0-9]*\).*/\1/p' out)
whole() { [ -e "t.dat.$daemon" ] && [ "$(field "t.dat.$daemon" complete 2>/dev/null)" = True ]; }
until_true whole || why+="its trace has no end; "
say "a daemon" "$why$(compare out t.dat.$daemon)"

# ---- children that say what they are by their title ----
rm -rf t.dat* go end
mkdir -p end
timeout 240 "$memtui" record -o t.dat -- ./tree titles "$tmp" >out 2>err
listed() { [ "$("$memtui" attach 2>&1 | grep -c "$1")" = 2 ]; }
until_true listed "tree titles $tmp\$" && why= || why="not listed as they began; "
touch go
until_true listed ' worker: [01]$' || why+="not listed by their titles; "
touch end/go
commands() { asked "$memtui" info --format json t.dat.* 2>/dev/null | python3 -c 'import json, sys; print(*sorted(i["command"] for i in json.load(sys.stdin) if i["complete"]))'; }
as_named() { [ "$(commands)" = "['worker: 0'] ['worker: 1']" ]; }
until_true as_named || why+="commands: $(commands)"
say "titles of forked children" "$why"
rm -rf end

# ---- a recorder that stands still: its program does not, and what it misses it tells ----
rm -f t.dat* go
( timeout 240 "$memtui" record -o t.dat -- ./tree later "$tmp" >out 2>err; echo $? >status ) &
until_true grep -q ready out || echo "not ok recorder stopped: the program did not start"
recorder=$(ps -o ppid= -p "$(pgrep -f "^./tree later $tmp" | head -n 1)" | tr -d ' ')
stands() { [ "$(sed -s 's/.*) //' /proc/"$recorder"/task/*/stat | cut -c1 | sort -u)" = T ]; } # all its threads do
kill -STOP "$recorder"
until_true stands
said=$("$memtui" record -o other.dat -- "$memtui" attach 2>/dev/null)
say "a list of recordings of which one does not answer" "$([ "$(echo "$said" | grep -cE "(^ +\? +\? +$recorder  \(does not answer)| $memtui attach$")" = 2 ] || echo "$said")"
said=$("$memtui" attach 999999999 2>&1)
say "attach says which recorder does not answer" "$(echo "$said" | grep -q "recorder [0-9]* does not" || echo "$said")"
touch go
until_true grep -q 'done' out && why= || why="the program waits; "
kill -CONT "$recorder"
wait
why+=$([ "$(cat status)" = 0 ] || echo "status $(cat status); ")
why+=$(grep -q '^memtui: 5 processes not recorded' err || echo "said: $(tail -n 1 err); ")
say "children while the recorder is stopped" "$why"

# ---- who is not root learns that a zombie ended with 0 only once its parent has reaped it ----
mkdir -p z/reap z/end
cp "$memtui" "$build/libmemtui.so" tree z
as_nobody=
[ "$(id -u)" != 0 ] || { chown -R 65534:65534 z; as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"; }
( cd z && $as_nobody timeout 240 ./memtui record -o %p.dat -- ./tree zombies "$tmp/z" >out 2>err; echo $? >../status ) &
until_true grep -qs ready z/out || echo "not ok zombies: they did not end"
recorder=$(ps -o ppid= -p "$(pgrep -f "^./tree zombies $tmp/z" | head -n 1)" | tr -d ' ')
ends_seen() { [ "$(sed -n 's/.* \([0-9]*\) .*memfd:memtui-segment.*/\1/p' "/proc/$recorder/maps" | sort -u | wc -l)" = 1 ]; }
until_true ends_seen || echo "not ok zombies: their ends were not seen"
if [ -n "$as_nobody" ]; then
	said=$("$memtui" attach "$(pgrep -f "^./tree zombies $tmp/z" | tail -n 1)" 2>&1)
	say "attach to another user's recording" "$(echo "$said" | grep -q "is being recorded by .* (user 65534)" || echo "$said")"
fi
touch z/reap/go
statuses() { asked "$memtui" info --format json z/*.dat 2>/dev/null | python3 -c 'import collections, json, sys; print(dict(collections.Counter(i["exit_status"] for i in json.load(sys.stdin) if i["complete"])))'; }
all_known() { [ "$(statuses)" = "{0: 30}" ]; }
until_true all_known && why= || why="statuses: $(statuses)"
touch z/end/go
wait
say "statuses of children that are reaped late" "$why$([ "$(cat status)" = 0 ] || echo " status $(cat status)")"

# ---- a parent that reaps at once: before the recorder looks, while it looks, and behind ----
rm -f z/*.dat
( cd z && $as_nobody timeout 240 ./memtui record -o %p.dat -- ./tree quick >/dev/null 2>err; echo $? >../status )
why=$(is "$(statuses)" "{0: 201}")$(is "status $(cat status)" "status 0")
say "statuses of children that are reaped at once" "$why"

said=$(unshare -rn "$memtui" attach 2>&1) # where no session can be seen
say "attach without a session names the form that needs none" "$(echo "$said" | grep -qE "^unshare|'memtui attach PID'" || echo "$said")"
# The only session, also while its recorder completes the trace of a program that has ended: memtui's own has many names.
said=$(unshare -rn sh -c '"$0" record -f -o alone.dat -- "$0" help >/dev/null 2>&1 & while kill -0 $! 2>/dev/null; do "$0" attach; done' "$memtui" 2>&1)
say "attach finds the only session to its end" "$(echo "$said" | grep -A1 -m1 -E 'has ended|several processes' || echo "$said" | grep -qE "^unshare|not a terminal" || echo "$said")"

# ---- kills ----
rm -f t.dat* go
( timeout 240 "$memtui" record -o t.dat -- ./tree wait "$tmp" >out 2>err; echo $? >status ) &
three() { [ "$(grep -c ready out)" = 3 ]; }
until_true three || echo "not ok recorder killed: the children did not start"
root=$(pgrep -f "^./tree wait $tmp" | sort -n | head -n 1)
recorder=$(ps -o ppid= -p "$root" | tr -d ' ')
seen() { [ "$(ls t.dat* | wc -l)" -ge 4 ]; }
until_true seen
kill -KILL "$recorder"
touch go
wait
why=$([ "$(cat status)" = 6 ] || echo "status $(cat status); ")
for f in t.dat*; do "$memtui" info "$f" >/dev/null 2>&1 || why+="$f cannot be read; "; done
say "the recorder killed with children alive" "$why"

# ---- environments ----
cat >preload.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int mark(void) { return 42; }
__attribute__((constructor)) static void here(void) { if (getenv("TELL")) puts("preloaded"); }
C
gcc -shared -fPIC -o libuser.so preload.c
rm -f t.dat*
LD_PRELOAD=$tmp/libuser.so "$memtui" record -o t.dat -- sh -c 'TELL=1 ./tree leaf 3; exec ./tree leaf 4' >out 2>err
say "the user's own preloads" "$(grep -c preloaded out | grep -qx 1 || echo "$(cat out)")$(compare out t.dat*)"
rm -f t.dat* go
( timeout 240 "$memtui" record --no-follow -o t.dat -- sh -c "env -i /bin/sh -c 'while [ ! -e $tmp/go ]; do :; done'; exit 3" >out 2>err; echo $? >status ) &
counted() { for f in t.dat.*; do [ "$(field "$f" forked_children 2>/dev/null)" = 1 ] && return; done; return 1; }
until_true counted || why="not counted"
touch go
wait
say "a child without an environment" "$(counted || echo "not counted")$([ "$(cat status)" = 3 ] || echo " status $(cat status)")"

if command -v musl-gcc >/dev/null && musl-gcc -O1 -o musl "$here/musl.c"; then
	rm -f t.dat*
	command='./musl; echo $?'
	sh -c "$command" >want 2>&1
	"$memtui" record -o t.dat -- sh -c "$command" 2>&1 | grep -v '^memtui: ' >have
	LD_PRELOAD=$build/libmemtui.so MEMTUI_OUTPUT=$tmp/musl.mem ./musl >alone 2>&1
	say "a child that is built for musl" "$(diff want have | head -3)$(sed '$d' want | diff - alone | head -3)"
else echo "skip a child that is built for musl: no musl-gcc"; fi

cat >spawn.c <<'C'
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
int main(int argc, char **argv)
{
	char *none[] = {0}, *arguments[] = {"sh", "-c", argv[argc - 1], 0};
	pid_t child[2];
	free(malloc(100));
	for (int i = 0; i < 2; i++)
		if (posix_spawn(&child[i], "/bin/sh", 0, 0, arguments, none))
			return 1;
	for (int i = 0; i < 2; i++)
		waitpid(child[i], 0, 0);
	return 3;
}
C
gcc $flags -o spawn spawn.c || echo "not ok a spawning program: cannot be built"
rm -f t.dat*
mkfifo gate
( timeout 240 "$memtui" record --no-follow -o t.dat -- ./spawn "(read x <$tmp/gate) & read x <$tmp/gate; wait" >out 2>err; echo $? >status ) &
all_counted() { [ "$(field t.dat forked_children 2>/dev/null)" = 4 ]; }
until_true all_counted
timeout 240 sh -c "printf '\\n\\n\\n\\n' >gate"
wait
say "spawned without an environment, and their children" "$(all_counted || echo "$(field t.dat forked_children) counted; ")$(grep -q '^memtui: 4 processes not recorded' err || tail -n 1 err)$([ "$(cat status)" = 3 ] || echo " status $(cat status)")"

rm -f t.dat* go
( timeout 240 "$memtui" record --no-follow -o t.dat -- env -i sh -c "while [ ! -e $tmp/go ]; do :; done; exit 3" >out 2>err; echo $? >status ) &
left() { [ "$(field t.dat forked_children 2>/dev/null)" = 1 ]; }
until_true left
touch go
wait
say "a root that goes on untraced" "$(left || echo "not counted; ")$(grep -qE 'another program, which is not recorded|not seen: .* environment' err || echo "not said; ")$([ "$(cat status)" = 3 ] || echo "status $(cat status)")"

# ---- between an exec and the request ----
cat >slow.c <<'C'
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void load(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "stops"))
		raise(SIGSTOP);
	close(open("go", O_RDONLY)); /* a fifo: until somebody has it open for writing */
}
C
# before any library is mapped that the environment names
cat >hold.c <<'C'
#include <fcntl.h>
#include <link.h>
#include <unistd.h>
unsigned la_version(unsigned version)
{
	close(open("go", O_RDONLY));
	return version;
}
C
cat >late.c <<'C'
#include <stdlib.h>
int main(void) { for (int i = 0; i < 7; i++) free(malloc(10)); }
C
cat >starter.c <<'C'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
enum { HELD = -1 };
static pid_t start(char **arguments, char **environment, int options)
{
	pid_t pid = fork();
	if (pid == 0) {
		free(malloc(10));
		if (options == HELD)
			setenv("LD_AUDIT", "./libhold.so", 1), environment = environ;
		execve(arguments[0], arguments, environment);
		_exit(1);
	}
	if (options == WUNTRACED)
		waitpid(pid, NULL, options);
	return pid;
}
int main(void)
{
	char *none[] = {NULL}, *stops[] = {"./late", "stops", NULL}, *spins[] = {"./late", NULL};
	char *clear[] = {"/bin/sh", "-c", ": <go", NULL};
	pid_t stopped = start(stops, environ, WUNTRACED), spinning = start(spins, environ, 0);
	pid_t held = start(spins, environ, HELD);
	printf("%d %d %d %d\n", stopped, spinning, held, start(clear, none, 0));
	fflush(stdout);
	close(open("go", O_RDONLY));
	kill(stopped, SIGCONT);
	while (wait(NULL) > 0)
		;
}
C
{ gcc -shared -fPIC -o libslow.so slow.c && gcc -D_GNU_SOURCE -shared -fPIC -o libhold.so hold.c && gcc -fno-builtin -o late late.c -L. -Wl,--no-as-needed -lslow -Wl,-rpath,"$tmp" && gcc -fno-builtin -o starter starter.c; } || echo "not ok programs that are slow to be loaded: cannot be built"
rm -f t.dat* go
mkfifo go
( timeout 240 "$memtui" record --no-follow -o t.dat -- ./starter >out 2>err; echo $? >status ) &
looked() { read -r stops spins held clear <out && [ "$(field "t.dat.$clear" forked_children 2>/dev/null)" = 1 ]; }
until_true looked && why= || why="the last is not counted; "
exec 7<>go # and it stays open for those that come later
wait
exec 7>&-
for pid in $stops $spins $held; do
	[ "$(field "t.dat.$pid" allocations)" = 7 ] && [ "$(field "t.dat.$pid.exec0" forked_children)" = 0 ] || why+="$(echo t.dat."$pid"*); "
done
say "programs that are slow to be loaded, or stopped" "$why$(grep -q '^memtui: 1 process not recorded' err || tail -n 1 err)$([ "$(cat status)" = 0 ] || echo "status $(cat status)")"

# Nothing is known of what was spawned before it asks. Alone with it the recorder takes a look in 20 ms: it is let go
# after three times as many as others get.
cat >leaves.c <<'C'
#include <spawn.h>
#include <unistd.h>
int main(void)
{
	char *late[] = {"./late", "orphan", NULL};
	return posix_spawn(&(pid_t){0}, *late, NULL, NULL, late, environ);
}
C
gcc $flags -o leaves leaves.c || echo "not ok a program that leaves another: cannot be built"
rm -f t.dat*
( timeout 240 "$memtui" record -o t.dat -- ./leaves >out 2>err; echo $? >status ) &
orphan() { recorder=$(ps -o ppid= "$(pgrep -f '^./late orphan$')" 2>/dev/null | tr -d ' ') && grep -qs '^memtui$' "/proc/$recorder/comm"; }
until_true orphan || echo "not ok loaded slowly: it has not lost its parent"
looks() { cat /proc/"$recorder"/task/*/status 2>/dev/null | awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n + 0 }'; }
before=$(looks)
looked_on() { [ ! -d "/proc/$recorder" ] || [ "$(looks)" -gt $((before + 100)) ]; }
until_true looked_on
exec 7<>go
wait
gone() { [ ! -d "/proc/$recorder" ]; }
until_true gone
exec 7>&-
rm go
say "a program that is loaded slowly when its parent has ended" "$([ "$(field t.dat.* allocations 2>&1)" = 7 ] || echo "$(echo t.dat*); $(tail -n 1 err)")"

# ---- where the system refuses pidfds and waits for many words ----
gcc $flags -o filter "$here/filter.c" || echo "not ok a filter of system calls: cannot be built"
rm -f t.dat*
timeout 240 ./filter "$memtui" record -o t.dat -- ./tree crowd 5 >out 2>err
status=$?
all_whole() { for f in t.dat*; do [ "$(field "$f" complete 2>/dev/null)" = True ] || return 1; done; }
until_true all_whole
say "without pidfds" "$([ $status = 0 ] || echo "status $status; ")$(all_whole || echo "traces without an end; ")$([ "$(ls t.dat* | wc -l)" = 6 ] || ls t.dat*)"

# ---- a real build ----
mkdir plain traced
for i in $(seq 30); do printf '#include <stdio.h>\n#include <stdlib.h>\nint f%d(int x) { int *p = malloc(sizeof *p); *p = x * %d; x = *p; free(p); return x; }\n' $i $i >plain/f$i.c; done
{ echo '#include <stdio.h>'; for i in $(seq 30); do echo "int f$i(int);"; done; echo 'int main(void) { int s = 0;'
for i in $(seq 30); do echo "s += f$i(s + 1);"; done; echo 'return printf("%d\n", s) < 0; }'; } >plain/main.c
printf 'OBJ := $(patsubst %%.c,%%.o,$(wildcard *.c))\nall: prog\n\t@./prog\nprog: $(OBJ)\n\t@gcc -o $@ $(sort $^)\n%%.o: %%.c\n\t@gcc -O1 -c -o $@ $<\n' >plain/Makefile
cp plain/* traced
(cd plain && make -s -j4 >../plain.out 2>../plain.err)
rm -f t.dat*
(cd traced && timeout 240 "$memtui" record -o ../t.dat -- make -s -j4 >../traced.out 2>../traced.err2)
status=$?
grep -v '^memtui: ' traced.err2 >traced.err
why=$([ $status = 0 ] || echo "status $status; ")
cmp -s plain.out traced.out || why+="output differs; "
cmp -s plain.err traced.err || why+="stderr differs: $(head -n 2 traced.err); "
grep -q '^memtui: .* cc1 -quiet .*\.\.  t\.dat' traced.err2 || why+="cc1 is not told from its directory; "
for f in plain/*.o plain/prog; do cmp -s "$f" "traced/${f#plain/}" || why+="$f differs; "; done
why+=$(asked "$memtui" info --format json t.dat* | python3 -c '
import collections, json, sys
infos = json.load(sys.stdin)
names = collections.Counter(i["command"][0].rsplit("/", 1)[-1] for i in infos if i["origin"] == "exec")
for name, least in {"make": 1, "gcc": 32, "cc1": 31, "as": 31, "collect2": 1, "ld": 1, "prog": 1}.items():
    if names[name] < least: print(f"{names[name]} of {name}, not {least};", end=" ")
for i in infos:
    if not i["complete"] or i["lost_events"] or i["invalid_records"] or i["forked_children"] or i["unknown_frees"]:
        print(i["command"][:1], i["pid"], i["complete"], i["lost_events"], i["invalid_records"], i["forked_children"], i["unknown_frees"], end="; ")
    if i["exit_status"] != 0: print(i["command"][:1], "status", i["exit_status"], end="; ")
')
say "make -j4 ($(ls t.dat* | wc -l) traces)" "$why"
