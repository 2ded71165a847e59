#!/bin/bash
# run.sh BUILD: the built memtui on real traces: exit statuses, one-line errors, JSON, CSV, manual pages.
# Prints 'ok NAME' or 'not ok NAME: why'.
. "$(dirname "$0")/../suite.sh"
work=$tmp
at_exit() { chmod -R u+rwx "$work"; }

# check NAME COMMAND...: it succeeds
check() {
	local name=$1
	shift
	if "$@" >check.out 2>check.err; then ok "$name"; else not_ok "$name" "status $?: $(head -c 300 check.err)"; fi
}
# json NAME CHECK ARGS...: memtui's output is JSON for which the Python expression on d holds
json() {
	local name=$1 expression=$2
	shift 2
	if ! "$memtui" "$@" >json.out 2>json.err; then
		not_ok "$name" "status $?: $(head -c 300 json.err)"
	elif ! python3 -m json.tool <json.out >/dev/null 2>json.err; then
		not_ok "$name" "no JSON: $(head -c 200 json.err)"
	elif ! python3 -c 'import json, sys
d = json.load(open("json.out"))
sys.exit(0 if eval(sys.argv[1]) else 1)' "$expression" 2>json.err; then
		not_ok "$name" "$expression does not hold $(tail -n 1 json.err)"
	else
		ok "$name"
	fi
}
# A suite that is given no JSON says what memtui said, and its status: alone, behind half an answer, and from Python.
asks() { # NAME SCRIPT
	local why
	why=$(asked sh -c "$2" 2>/dev/null | python3 -c 'import json, sys; json.load(sys.stdin)' 2>&1 | tail -n 1)
	case $why in *"status 3, memtui: a reason"*) ok "$1" ;; *) not_ok "$1" "$why" ;; esac
}
asks "no JSON: the reason is told" 'echo "memtui: a reason" >&2; exit 3'
asks "half an answer: the reason is told" 'echo "{ \"a\": "; echo "memtui: a reason" >&2; exit 3'
why=$(asked sh -c 'echo "[1]"; echo "memtui: a warning" >&2; exit 1' 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin))' 2>&1)
[ "$why" = "[1]" ] && ok "JSON with status 1 is read" || not_ok "JSON with status 1 is read" "$why"
why=$(python3 -c 'import subprocess, sys; subprocess.run(["sh", "-c", "echo memtui: a reason >&2; exit 3"], capture_output=True, check=True)' 2>&1 | tail -n 1)
case $why in *"exit status 3. memtui: a reason"*) ok "Python tells the reason" ;; *) not_ok "Python tells the reason" "$why" ;; esac

# fails NAME STATUS WORDS ARGS...: exits with the status, says one line on stderr that has the words, nothing on stdout
fails() {
	local name=$1 status=$2 words=$3
	shift 3
	timeout 240 "$memtui" "$@" >fails.out 2>fails.err </dev/null
	local got=$?
	if [ $got != "$status" ]; then
		not_ok "$name" "status $got, expected $status: $(head -c 300 fails.err)"
	elif [ "$(wc -l <fails.err)" != 1 ]; then
		not_ok "$name" "$(wc -l <fails.err) lines: $(head -c 300 fails.err)"
	elif ! grep -q '^memtui: ' fails.err || ! grep -qiE -- "$words" fails.err; then
		not_ok "$name" "said: $(cat fails.err)"
	elif [ -s fails.out ]; then
		not_ok "$name" "wrote to stdout: $(head -c 100 fails.out)"
	else
		ok "$name"
	fi
}

# ---- a program whose heap is known ----
cat >known.c <<'C'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *keep(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
__attribute__((noinline)) void drop(int n) { for (int i = 0; i < n; i++) { volatile char *p = malloc(100); *p = 1; free((void *)p); } }
__attribute__((noinline)) void *deep(int n) { void *p = n ? deep(n - 1) : keep(1000); __asm__ volatile("" : "+r"(p)); return p; }
void *kept[64];
int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++)
		kept[i] = keep(4096);
	drop(50);
	kept[10] = deep(5);
	kept[11] = calloc(3, 7);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return argc > 1 ? atoi(argv[1]) : 0;
}
C
cc -O1 -g -fno-omit-frame-pointer -o known known.c || exit 1

# ---- record ----
check record "$memtui" record -o t.dat ./known
if grep -qE '^memtui: wrote .*t.dat: 62 allocations, peak 41.0k, leaked 41.0k in 12 blocks, 0 events lost$' check.err; then
	ok "record: closing line"
else
	not_ok "record: closing line" "$(cat check.err)"
fi
# ---- what lives where a recording ends has leaked only where its program has ended, too ----
cat >waits.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char *p = malloc(4096), c;
	if (argc > 1 && *argv[1] == 'f')
		free(p);
	return (int)read(0, &c, 1);
}
C
cc -O0 -g -o waits waits.c || exit 1
mkfifo hold.fifo
# stops RECORDING COMMAND...: a recording that stops while its program goes on (a second: a busy machine takes its time to start it)
stops() {
	local trace=$1 recorder
	shift
	"$memtui" record --duration 1s -o "$trace" "$@" <hold.fifo 2>"$trace.err" &
	recorder=$!
	exec 7>hold.fifo
	for ((i = 0; i < 3000; i++)); do
		asked "$memtui" info --format json "$trace" 2>/dev/null | grep -q '"complete":true' && break
	done
	exec 7>&-
	wait "$recorder"
}
stops kept.dat ./waits
stops none.dat ./waits f
"$memtui" record -o whole.dat ./waits </dev/null 2>/dev/null
if grep -q 'live at its end 4.0k in 1 block' kept.dat.err; then ok "stopped: closing line"; else not_ok "stopped: closing line" "$(cat kept.dat.err)"; fi
stops family.dat sh -c './waits; true'
grep -qE ' peak +live +resident ' family.dat.err && ok "stopped: the list of processes is headed live" || not_ok "stopped: the list of processes is headed live" "$(cat family.dat.err)"
if [ "$(grep -c '(it went on: live, not leaked)$' family.dat.err)" = 2 ]; then ok "stopped: closing line of each process"; else not_ok "stopped: closing line of each process" "$(cat family.dat.err)"; fi
json "stopped: leaks are not known" 'd["complete"] and not d["leaks_known"] and d["leaked_bytes"] == 4096' info --format json kept.dat
json "ended: leaks are known" 'd["complete"] and d["leaks_known"]' info --format json whole.dat
head -c $(($(stat -c %s whole.dat) - 9)) whole.dat >torn.dat
json "torn: leaks are not known" 'not d["complete"] and not d["leaks_known"]' info --format json torn.dat
for trace in kept torn; do
	for view in info report 'report --sort size' groups tree 'groups --by function'; do
		"$memtui" $view $trace.dat >said.out 2>/dev/null
		if grep -qiE '^ *(group +)?live' said.out && ! grep -qi leaked <(grep -v 'by leaked_size' said.out); then ok "$trace: $view says live"; else
			not_ok "$trace: $view says live" "$(grep -E 'leaked|live' said.out)"
		fi
	done
done
"$memtui" check kept.dat >said.out
if [ $? = 1 ] && grep -q '^UNKNOWN leaked *~4.0k' said.out && grep -q 'stopped before the program ended' said.out && grep -q '1 place may leak; the largest' said.out; then
	ok "stopped: check cannot say that it leaks"
else
	not_ok "stopped: check cannot say that it leaks" "$(cat said.out)"
fi
check "stopped: check knows that nothing leaks" "$memtui" check none.dat
"$memtui" suppress none.dat >said.out
if grep -q '^# all live blocks at the end of the recording' said.out; then ok "stopped: suppress"; else not_ok "stopped: suppress" "$(cat said.out)"; fi
# one block, one backtrace: nothing is said of it in the plural
printf '#include <stdlib.h>\nvoid *kept;\nint main(void) { kept = malloc(100); return !kept; }\n' >one.c
cc -O0 -g -o one one.c || exit 1
"$memtui" record --report=count -o one.dat ./one >one.txt 2>&1
printf 'leak:main\n' >one.supp
for command in info report groups tree allocations chains histogram errors timeline suppress check 'report --suppressions one.supp' \
	'groups --suppressions one.supp' 'check --max-leaked 0' 'info --from 0 --to 100%'; do
	"$memtui" $command one.dat >>one.txt 2>&1
done
plural='(^|[^0-9.,:])~?1 (blocks|allocations|calls|groups|rules|events|frees|times|frames|places|bytes|processes|traces|backtraces|leaks)'
if grep -qE "$plural" one.txt || ! grep -q ' 1 block,' one.txt || ! grep -q 'in 1 block by 1 rule' one.txt; then
	not_ok "plurals" "$(grep -E "$plural" one.txt | head -n 5)"
else
	ok "plurals"
fi
head -c 100 "$(command -v ls)" >short-program
sed 's|/lib64/ld-linux-x86-64.so.2|/lib64/ld-linux-x86-64.so.9|' "$(command -v ls)" >foreign-program
chmod +x short-program foreign-program
fails "truncated program" 1 'its program headers are incomplete' record -o never.dat -- ./short-program
fails "missing dynamic linker" 1 'its dynamic linker /lib64/ld-linux-x86-64.so.9' record -o never.dat -- ./foreign-program
echo 'int main(void) { return 0; }' >other.c
echo '#include <stdlib.h>
int main(void) { for (int i = 0; i < 1000; i++) if (!malloc(77)) return 1; return 3; }' >given.c
gcc -g -fno-builtin -o given given.c
"$memtui" record -o given.dat -- /lib64/ld-linux-x86-64.so.2 ./given 2>given.err
status=$?
[ $status = 3 ] && "$memtui" groups given.dat | grep -qE ' 1000 .* main( |$)' && "$memtui" groups --module-regex '/given$' given.dat | grep -q 1000 \
	&& ok "the dynamic linker as the program" || not_ok "the dynamic linker as the program" "status $status: $(tail -n 1 given.err) $("$memtui" groups given.dat | tail -n 1)"
if unshare -rpfm true 2>/dev/null; then
	unshare -rpf "$memtui" record -o space.dat -- ./given >space.out 2>&1
	[ $? = 1 ] && grep -q '/proc belongs to another PID namespace' space.out && [ ! -e space.dat ] \
		&& ok "/proc of another name space" || not_ok "/proc of another name space" "$(tail -n 1 space.out)"
	unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$0" record -o space.dat -- ./given' "$memtui" >space.out 2>&1
	[ $? = 1 ] && grep -q '/proc is not mounted' space.out && ok "no /proc" || not_ok "no /proc" "$(tail -n 1 space.out)"
else
	echo "skip cli /proc of another name space: none can be made"
fi
ln -s /lib64/ld-linux-x86-64.so.2 ld-musl-x86_64.so.1
gcc -o musl-program -Wl,--dynamic-linker="$PWD/ld-musl-x86_64.so.1" other.c
fails "program for musl" 1 'is built for musl' record -o never.dat -- ./musl-program
if [ "$(id -u)" = 0 ] && gcc -o secret other.c && chmod 4711 secret && chmod 755 .; then
	setpriv --reuid 65534 --clear-groups "$memtui" record -o /tmp/never.dat -- "$work/secret" 2>secret.err
	[ $? = 1 ] && grep -q 'runs with another user' secret.err && ok "setuid, not to be read" || not_ok "setuid, not to be read" "$(cat secret.err)"
fi
(ulimit -s 64; "$memtui" record -o stack.dat -- ./known >/dev/null 2>stack.err)
grep -q 'wrote .*, 0 events lost' stack.err && ok "a small stack" || not_ok "a small stack" "$(cat stack.err)"
if ! ldd "$memtui" | grep -q libasan; then # which takes more than that for itself
	(ulimit -d 20000; fails "little memory to be written to" 1 'data limit of 20000 KiB' record -o never.dat -- ./known)
	(ulimit -Sd 20000; "$memtui" record -o data.dat -- sh -c 'ulimit -d; ulimit -s' >data.out 2>data.err; ulimit -d; ulimit -s) >data.want
	grep -q 'wrote' data.err && cmp -s data.out data.want && ok "limits are the program's alone" || not_ok "limits are the program's alone" "$(cat data.err data.out)"
fi
fails "depth out of range" 2 'depth.*from 4 to 65536' record --depth 0 -o never.dat -- true
"$memtui" help >/dev/full 2>full.err
[ $? = 1 ] && grep -q 'standard output' full.err && ok "help to a full disk" || not_ok "help to a full disk" "$(cat full.err)"

fails "record: existing file" 1 'exist.*force' record -o t.dat ./known
check "record: --force" "$memtui" record --force --output=t.dat -- ./known
ln known own-name.dat; fails "record: over the program" 1 'own-name.dat: is the program itself' record --force -o own-name.dat ./known
check "record: the program stays" cmp known own-name.dat
"$memtui" record -o status.dat ./known 7 2>/dev/null
status=$?
[ $status = 7 ] && ok "record: exit status" || not_ok "record: exit status" "$status"
"$memtui" record -o signal.dat ./known abort 2>signal.err
status=$?
if [ $status = 134 ] && grep -q 'signal 6' signal.err; then ok "record: signal"; else not_ok "record: signal" "$status $(cat signal.err)"; fi
for of in status.dat:7 'signal.dat:by signal 6, SIGABRT'; do
	"$memtui" info ${of%%:*} >exit.out 2>&1
	grep -qE "^exit status +${of#*:}$" exit.out && ok "info: exit status ${of#*:}" || not_ok "info: exit status ${of#*:}" "$(grep status exit.out)"
done
ln -s t.dat link.dat
fails "record: through a link to an existing file" 1 't.dat: already exists' record -o link.dat ./known
[ -L link.dat ] && ok "record: the link is left" || not_ok "record: the link is left" "$(ls -l link.dat)"
"$memtui" record -o - sh -c './known; ./known; true' 2>family.err >family.dat
grep -q '^memtui: 2 processes not recorded: a stream has' family.err && ok "record -o -: who is not in it" || not_ok "record -o -: who is not in it" "$(cat family.err)"
mkfifo fifo
cat fifo >fifo.dat &
"$memtui" record -o fifo sh -c './known; true' 2>fifo.err
wait $!
grep -q '^memtui: 1 process not recorded: a stream has' fifo.err && [ "$(echo fifo*)" = "fifo fifo.dat fifo.err" ] && ok "record into a fifo: nothing beside it" || not_ok "record into a fifo: nothing beside it" "$(echo fifo*) $(cat fifo.err)"
json "record into a fifo" 'd["complete"] and d["command"][0] == "sh"' info --format json fifo.dat
"$memtui" record -o - ./known >stream.dat 2>/dev/null
json "record -o -" 'd["allocations"] == 62' info --format json stream.dat
json "stdin" 'd["allocations"] == 62' info --format json - <stream.dat
check "record: default name" "$memtui" record ./known
ls memtui_known_*_*.dat >/dev/null 2>&1 && ok "record: name pattern" || not_ok "record: name pattern" "$(ls)"
check "run --headless" "$memtui" run --headless -f -o t.dat ./known

# ---- what is over at once was seen; an argument of several lines stays in its line ----
"$memtui" record -f -o lines.dat ./known $'two\nlines\tof text' >lines.out 2>&1
json "info: sizes of what is over at once" 'd["rss_bytes"] > 100000 and 100e6 > d["vss_bytes"] > d["rss_bytes"] > d["shared_bytes"] > 0' info --format json lines.dat
json "info: the argument as it is" 'd["command"] == ["./known", "two\nlines\tof text"]' info --format json lines.dat
for view in info report "info t.dat"; do
	# shellcheck disable=SC2086
	"$memtui" $view lines.dat 2>&1 | grep -qF './known two\nlines\tof text' && ok "$view: an argument of several lines" ||
		not_ok "$view: an argument of several lines" "$("$memtui" $view lines.dat | head -3)"
done

# ---- what nobody has sampled is not known ----
MEMTUI_OUTPUT=alone.dat LD_PRELOAD=$build/libmemtui.so ./known
json "info: no sample" 'd["rss_bytes"] is None and d["allocations"] == 62' info --format json alone.dat
json "timeline: no sample" 'set(d["rss_bytes"]) == {None}' timeline --format json alone.dat
check "timeline: no sample, text" "$memtui" timeline alone.dat
awk 'NR > 1 && $7 != "-" { bad = 1 } END { exit bad || NR < 2 }' check.out || not_ok "timeline: no sample, text" "$(head -n 2 check.out)"

# ---- views ----
json info 'd["format_version"] == 1 and d["complete"] and d["command"] == ["./known"] and d["allocations"] == 62 and d["frees"] == 50 and d["leaked_count"] == 12 and d["leaked_bytes"] == 41981 and d["lost_events"] == 0 and d["temporary_count"] == 50' info --format json t.dat
json "info: contract" 'not set("format_version complete command pid start_time wall_seconds allocations frees reallocations allocated_bytes leaked_count leaked_bytes peak_bytes peak_seconds temporary_count groups threads modules events lost_events cut_stacks unknown_frees inherited_frees ambiguous file_bytes".split()) - set(d)' info --format=json t.dat
json "groups" 'len(d) == 4 and d[0]["all"]["leaked_size"] == 40960 and d[0]["kind"] == "malloc" and [f["function"] for f in d[0]["backtrace"]][:2] == ["keep", "main"] and d[0]["backtrace"][0]["line"] == 3' groups --format json t.dat
json "groups: contract" 'all(not set("allocated_count size leaked_count leaked_size temporary_count at_peak_size at_peak_count own_peak_size own_peak_count min_timestamp max_timestamp min_size max_size".split()) - set(g[part]) for g in d for part in ("all", "only_matched")) and all(not set("function raw_function source line module offset inlined".split()) - set(f) for g in d for f in g["backtrace"])' groups --format json t.dat
json "groups: order" '[g["all"]["leaked_size"] for g in d] == [0, 21, 1000, 40960]' groups --order asc --format json t.dat
json "groups: dsc, skip, count" '[g["all"]["leaked_size"] for g in d] == [1000, 21]' groups --order dsc --skip 1 --count 2 --format json t.dat
json "groups: sort" 'd[0]["all"]["allocated_count"] == 50' groups --sort all.allocated_count --format json t.dat
json "groups: sort prefix" 'd[0]["all"]["size"] == 40960' groups --sort only_matched.size --form json t.dat
json "groups: filter" 'len(d) == 1 and d[0]["all"]["size"] == 1000' groups --function-regex '^deep$' --format json t.dat
json "groups: negative filter" 'len(d) == 2' groups --negative-function-regex=keep --format json t.dat
# A set of blocks has a peak of its own, when the whole heap was not at its.
cat >sets.c <<'C'
#include <stdlib.h>
#include <string.h>
#define N __attribute__((noinline))
N void *early(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
N void *late(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
N void *grow(void *o, size_t n) { char *p = realloc(o, n); memset(p, 1, n); return p; }
void *volatile kept;
int main(void)
{
	free(early(5000));
	kept = early(10);
	kept = late(9000);
	kept = grow(grow(kept, 12000), 30);
	kept = grow(early(1), 40);
	return 0;
}
C
cc -O1 -g -fno-builtin -o sets sets.c && check "record: sets" "$memtui" record -o sets.dat ./sets
totals() { # NAME 'allocations reallocations frees leaked peak' ARGS...
	local name=$1 want=$2
	shift 2
	json "info: $name" "[d[k] for k in ('allocations', 'reallocations', 'frees', 'leaked_bytes', 'peak_bytes')] == [${want// /, }] and 0 < d['peak_seconds']" info --format json "$@" sets.dat
}
totals "everything" '4 3 1 80 12010'
totals "of a group" '3 0 2 10 5000' --function-regex early
totals "of groups with reallocs" '2 2 0 70 12000' --function-regex 'late|grow'
totals "of blocks" '3 0 0 80 80' --lifetime only_leaked
# Where a group is: the caller of the wrappers, of the usual ones and of those that the user names.
cc -O0 -g -fno-builtin -o wrappers "$here/../programs/wrappers.c" || exit 1
"$memtui" record -o wrappers.dat ./wrappers 2>/dev/null
own='[g["backtrace"][g["where"]]["function"] for g in d]'
json "groups: where" "$own == ['house_get', 'keep_buffer', 'keep_names'] and d[0]['backtrace'][0]['function'] == 'xmalloc'" groups --format json wrappers.dat
json "groups: where, with a wrapper" "$own == ['keep_table', 'keep_buffer', 'keep_names']" groups --wrapper '^house_(get|make)$' --format json wrappers.dat
json "groups: where, with two" "$own == ['keep_table', 'main', 'keep_names']" groups --wrapper '^house_' --wrapper keep_b --format json wrappers.dat
json "groups: where, all are wrappers" "$own == ['_start'] * 3" groups --wrapper . --format json wrappers.dat
"$memtui" groups --wrapper '^house_' wrappers.dat >own.out 2>&1
grep -qF '... < keep_table < main' own.out && grep -qF '... < keep_buffer < main' own.out && ok "groups: text from where on" || not_ok "groups: text from where on" "$(cat own.out)"
"$memtui" check --max-leaked 0 --wrapper '^house_' wrappers.dat >own.out 2>&1
grep -q 'keep_table' own.out && ! grep -q house_ own.out && ok "check: where, with a wrapper" || not_ok "check: where, with a wrapper" "$(cat own.out)"
fails "bad regex of a wrapper" 2 '--wrapper: ' groups --wrapper '(' t.dat

# Events that are gone do not make totals of whole groups smaller.
cat >often.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) void *often(size_t n) { void *volatile p = malloc(n); return p; }
__attribute__((noinline)) void *other(size_t n) { void *volatile p = malloc(n); return p; }
int main(void) { free(other(50)); for (int i = 0; i < 1000000; i++) free(often(10 + i % 1000)); free(other(9)); return !often(7); }
C
# A gate that measured nothing says so, and where it could have missed something does not pass.
"$memtui" record --disabled -o paused.dat ./known 2>/dev/null
"$memtui" check --max-peak 1M paused.dat >check.out 2>&1
[ $? = 1 ] && [ "$(head -n 1 check.out)" = "UNKNOWN peak           ~0B, at most 1.0M" ] && grep -qx 'no allocation was recorded: the recording was paused' check.out &&
	"$memtui" check --max-peak 1M --allow-incomplete paused.dat >check.out && grep -q '^PASS' check.out && ok "check: paused throughout" || not_ok "check: paused throughout" "$(cat check.out)"
echo 'int main(void) { return 0; }' >nothing.c && cc -o nothing nothing.c && "$memtui" record -o nothing.dat ./nothing 2>/dev/null
"$memtui" check nothing.dat >check.out 2>&1
[ $? = 1 ] && grep -q '^UNKNOWN' check.out && grep -qx 'no allocation was recorded' check.out && ok "check: no allocation" || not_ok "check: no allocation" "$(cat check.out)"
cc -O1 -g -fno-builtin -o often often.c && check "record: often" "$memtui" record --max-size 256K -o often.dat ./often
json "info: of a group, events gone" 'd["history_from_seconds"] > 0 and [d[k] for k in ("allocations", "frees", "leaked_bytes", "allocated_bytes")] == [1000001, 1000000, 7, 509500007]' info --format json --function-regex often often.dat
# checked NAME 'OUTCOME...' ARGS...: the outcomes of the limits but that on what leaks
checked() {
	local name=$1 want=$2
	shift 2
	"$memtui" check --max-leaked 1k "$@" often.dat >checked.out 2>checked.err
	[ "$(awk '/, at most/ && $2 != "leaked" {print $1}' checked.out | xargs)" = "$want" ] && ok "check: $name" ||
		not_ok "check: $name" "$(cat checked.out)"
}
checked "allocations of a group, events gone" PASS --max-allocations 1000001 --function-regex often
checked "too many of them" FAIL --max-allocations 1000000 --function-regex often
checked "bytes and temporaries of a group" "PASS PASS FAIL" --max-allocations 2M --max-allocated 509500007 --max-temporary 999998 \
	--function-regex often
checked "a group's peak, as far as it is known" "UNKNOWN" --max-peak 1010 --function-regex often
checked "a group's peak, more than it can be" "PASS" --max-peak 1100 --function-regex often
checked "what events alone tell" UNKNOWN --max-allocations 2M --lifetime only_temporary
grep -q 'were dropped (--max-size): limits that need them cannot be decided' checked.out && ok "check: why not" || not_ok "check: why not" "$(cat checked.out)"
"$memtui" report --to 50% t.dat >ranged.out 2>&1
grep -qE '^range +0s to ' ranged.out && [ "$(grep -cE '^(allocated|peak|leaked) .* in the range' ranged.out)" = 3 ] &&
	! "$memtui" report --size-min 1 t.dat | grep -q 'in the range' && ok "report: numbers of a range" || not_ok "report: numbers of a range" "$(head -8 ranged.out)"
json "groups by function" '[(r["function"], r["groups"], r["all"]["leaked_size"]) for r in d][:2] == [("keep", 2, 41960), ("main", 1, 21)]' groups --by function --format json t.dat
json "groups by kind" 'sum(r["groups"] for r in d) == 4 and {r["kind"] for r in d} >= {"malloc"}' groups --by kind --format json t.dat
json "groups by line, filtered" '[r["line"].split("/")[-1] for r in d] == ["known.c:3"] and d[0]["groups"] == 2' groups --by line --function-regex keep --format json t.dat
json "callers" '[(c["function"], c["total"]["leaked_size"]) for c in d["callers"]] == [("main", 40960), ("deep", 1000)] and [c["function"] for c in d["callees"]] == ["[allocated here]"] and d["total"]["leaked_size"] == 41960 == d["self"]["leaked_size"]' callers keep t.dat --format json
fails "callers of nobody" 1 "no backtrace has a function.*nobody" callers nobody t.dat
json "diff: the same" 'len(d) == 4 and all(e["state"] == "same" and e["change"] == 0 for e in d)' diff t.dat t.dat --format json
json "diff: instants" ' sum(e["change"] for e in d) == 41981 and all(e["state"] == "new" for e in d)' diff t.dat --format json
cp known other && check "diff: record another" "$memtui" record -f -o other.dat ./other
json "diff: a thread that is gone" 'len(d) == 4 and {e["state"] for e in d} == {"gone"}' diff --thread known t.dat other.dat --format json
json "diff: a thread that is new" 'len(d) == 4 and {e["state"] for e in d} == {"new"}' diff --thread other t.dat other.dat --format json
fails "diff: a thread of neither" 1 "no thread 'nobody'" diff --thread nobody t.dat other.dat
fails "diff: a thread of no instant" 1 "no thread 'other'" diff --thread other t.dat
"$memtui" check --thread other --baseline t.dat other.dat >check.out 2>check.err
[ $? = 1 ] && grep -q '^FAIL' check.out && ok "check: a thread that the baseline lacks" || not_ok "check: a thread that the baseline lacks" "$(head -c 200 check.err)"
fails "diff: normalise of instants" 2 "needs two traces" diff t.dat --normalise time
json "groups by thread" 'len(d) == 1 and d[0]["only_matched"]["allocated_count"] == 62 and "own_peak_size" not in d[0]["only_matched"] and d[0]["thread"].endswith(" known")' groups --by thread --format json t.dat
json "allocations" 'len(d) == 62 and sum(a["size"] for a in d) == 46981 and [a["number"] for a in d] == list(range(62)) and sum(a["deallocation"] is None for a in d) == 12 and not set("address size usable_size timestamp thread kind group chain deallocation".split()) - set(d[0])' allocations t.dat --format json
json "allocations: by size" '[(a["size"], a["number"]) for a in d] == [(4096, n) for n in range(1, 10)] + [(1000, 60)]' allocations t.dat --sort size --skip 1 --count 10 --format json
json "allocations: by address" '[a["address"] for a in d] == sorted(a["address"] for a in d) and len(d) == 62' allocations t.dat --sort address --format json
json "allocations: filtered" '[a["size"] for a in d] == [1000, 21]' allocations t.dat --lifetime only_leaked --size-max 1000 --format json
json "histogram of sizes" 'd["unit"] == "bytes" and [(b["least"], b["most"], b["allocated_count"]) for b in d["buckets"] if b["allocated_count"]] == [(16, 31, 1), (64, 127, 50), (512, 1023, 1), (4096, 8191, 10)]' histogram t.dat --format json
json "histogram of lifetimes" 'sum(b["allocated_count"] for b in d["buckets"]) == 62 and d["buckets"][-1]["least"] is None and d["buckets"][-1]["leaked_count"] == 12' histogram --of lifetime t.dat --format json
json "chains: none" 'd == []' chains t.dat --format json
fails "allocations: order" 2 "timestamp.address.size.lifetime" allocations t.dat --sort weight
cat >maps.c <<'C'
#include <malloc.h>
#include <sys/mman.h>
__attribute__((noinline)) void *large(void) { return mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void) { void *p = large(), *q = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); munmap(p, 1 << 20); malloc_trim(0); return !q; }
C
cc -O1 -g -fno-omit-frame-pointer -o maps maps.c && "$memtui" record -o maps.dat ./maps 2>/dev/null
json "mmaps" '[(m["kind"], m["length"]) for m in d] == [("mmap", 1 << 20), ("mmap", 8192), ("munmap", 1 << 20)]' mmaps --format json maps.dat
json "mmaps: by stack" '[m["kind"] for m in d] == ["mmap"]' mmaps --function-regex '^large$' --format json maps.dat
json "mmaps: by size" '[m["length"] for m in d] == [8192]' mmaps --size-max 64k --format json maps.dat
json "mallopts: by time" 'd == []' mallopts --to 0% --format json maps.dat
fails "mmaps: lifetime" 1 "lifetime: selects blocks of the heap" mmaps --lifetime only_leaked maps.dat
json "groups: words" 'len(d) == 1' groups --filter 'keep -deep source:known.c' --format json t.dat
json "groups: no match" 'd == []' groups --module-regex nowhere --format json t.dat
json "info: filter" 'd["leaked_bytes"] == 1000 and d["groups"] == 1' info --function-regex '^deep$' --format json t.dat
json "tree" 'd["total"]["leaked_size"] == 41981 and sum(c["total"]["leaked_size"] for c in d["children"]) == 41981 and set(d) >= {"function", "self", "total", "children"}' tree --format json t.dat
json "tree: inverted" '[(c["function"], c["self"]["leaked_size"]) for c in d["children"]][0] == ("keep", 41960)' tree --inverted --format json t.dat
json "tree: levels" 'all(not c["children"] for c in d["children"])' tree --levels 1 --format json t.dat
# What is too small to matter is left out, and it is said how much that is.
cat >many.c <<'C'
#include <stdlib.h>
#define F(n) __attribute__((noinline)) void *f##n(void) { void *p = malloc(10); __asm__ volatile("" : "+r"(p)); return p; }
F(1) F(2) F(3)
__attribute__((noinline)) void *large(void) { void *p = malloc(100000); __asm__ volatile("" : "+r"(p)); return p; }
void *kept[4];
int main(void) { kept[0] = f1(); kept[1] = f2(); kept[2] = f3(); kept[3] = large(); return 0; }
C
cc -O1 -g -fno-omit-frame-pointer -o many many.c && "$memtui" record -o many.dat ./many 2>/dev/null
walked='lambda d: (lambda f: f(f, d))(lambda f, n: [n] + [x for c in n["children"] for x in f(f, c)])'
json "tree: small functions are left out" '(lambda nodes: [n["omitted"]["functions"] for n in nodes if "omitted" in n] == [3] and [n["omitted"]["total"]["leaked_size"] for n in nodes if "omitted" in n] == [30] and "f1" not in [n["function"] for n in nodes] and "large" in [n["function"] for n in nodes] and d["min_percent"] == 0.5 and d["all_omitted"]["functions"] == 3 and d["all_omitted"]["total"]["leaked_size"] == 30)(('"$walked"')(d))' tree --format json many.dat
json "tree: all functions" '{"f1", "f2", "f3", "large"} <= {n["function"] for n in ('"$walked"')(d)} and d["min_percent"] == 0 and d["all_omitted"]["functions"] == 0' tree --min-percent 0 --format json many.dat
json "tree: larger functions alone" '"large" in {n["function"] for n in ('"$walked"')(d)} and d["min_percent"] == 99' tree --min-percent 99% --format json many.dat
json "export: small functions of the tree" 'd["all_omitted"]["functions"] == 3' export --as json --what tree many.dat
json "export: all functions of the tree" 'd["all_omitted"]["functions"] == 0' export --as json --what tree --min-percent 0 many.dat
json "tree: by what does not add up, the share is one of bytes" 'd["all_omitted"]["functions"] == 3' tree --sort max_size --format json many.dat
json "tree: what does not leak is not left out" '"drop" in [n["function"] for n in ('"$walked"')(d)]' tree --min-percent 1 --function-regex '^drop$' --format json t.dat
check "tree: left out, in words" "$memtui" tree many.dat
grep -qE '^ +30B +30B +0\.0%  +\.\.\. 3 smaller$' check.out || not_ok "tree: left out, in words" "$(cat check.out)"
check "tree: rows that a limit leaves out" "$memtui" tree --count 1 --min-percent 0 many.dat
grep -q '\.\.\. 3 smaller$' check.out || not_ok "tree: rows that a limit leaves out" "$(cat check.out)"
check "tree: left out, in csv" "$memtui" tree --format csv many.dat
python3 -c 'import csv
rows = list(csv.DictReader(open("check.out")))
assert [r["leaked_size"] for r in rows if r["function"] == "[3 omitted]"] == ["30"] and sum(int(r["self_leaked_size"]) for r in rows) == 100030' || not_ok "tree: left out, in csv" "$(cut -c 1-60 check.out)"
fails "tree: no percentage" 2 'min-percent.*from 0 to 100' tree --min-percent 101 many.dat
fails "export: no tree" 2 'min-percent.*--what tree' export --as json --min-percent 1 many.dat
# ---- long command lines ----
"$memtui" record -o long.dat sh -c "exit 0 # $(printf 'x%.0s' {1..900})é" $(seq -f 'argument-%g' 1 400) 2>/dev/null
check "a long command line" "$memtui" info long.dat
grep -qE '^ *command +sh -c exit 0 # x+\.\.\.x+é argument-1 .*\.\.\. \([0-9]+ more arguments\) \.\.\. .*argument-399 argument-400$' check.out && [ "$(wc -L <check.out)" -lt 400 ] ||
	not_ok "a long command line" "$(grep command check.out)"
count=$(($(sed -n 's/.*(\([0-9]*\) more arguments.*/\1/p' check.out) + $(grep -o 'argument-[0-9]*' check.out | wc -l)))
[ "$count" = 400 ] || not_ok "a long command line: arguments left out" "$count"
json "a long command line, whole" 'len(d["command"]) == 403 and len(d["command"][2]) == 910' info --format json long.dat
check "a long command line in the report" "$memtui" report long.dat
[ "$(head -n 1 check.out | wc -c)" -lt 300 ] || not_ok "a long command line in the report" "$(head -n 1 check.out)"
check "a long command line in a list" "$memtui" info long.dat t.dat
grep -qE 'long.dat  sh -c .*more argument.*argument-400$' check.out || not_ok "a long command line in a list" "$(cat check.out)"
# ---- one group, by its number ----
group=$("$memtui" groups --format json t.dat | python3 -c 'import json, sys; print([g["id"] for g in json.load(sys.stdin) if g["backtrace"][0]["function"] == "keep" and g["backtrace"][1]["function"] == "main"][0])')
json "group: groups" '[g["id"] for g in d] == ['"$group"']' groups --group "$group" --format json t.dat
json "group: words" '[g["id"] for g in d] == ['"$group"']' groups --filter "group:$group" --format json t.dat
json "group: allocations" 'len(d) == 10 and {a["group"] for a in d} == {'"$group"'}' allocations --group "$group" --format json t.dat
json "group: tree" 'd["total"]["leaked_size"] == 40960' tree --group "$group" --format json t.dat
json "group: histogram" 'sum(b["allocated_count"] for b in d["buckets"]) == 10' histogram --group "$group" --format json t.dat
json "group: timeline" 'd["live_bytes"][-1] == 40960 and sum(d["allocations"]) == 10' timeline --group "$group" --format json t.dat
json "group: export" '[g["id"] for g in d] == ['"$group"']' export --as json --group "$group" t.dat
json "group: two instants" 'len(d) <= 1' diff --group "$group" --format json t.dat
json "group: info" 'd["leaked_bytes"] == 40960 and d["groups"] == 1' info --group "$group" --format json t.dat
check "group: report" "$memtui" report --group "$group" t.dat
grep -q "^1. group $group: leaked 40.0k (97.6%) in 10 of 10 blocks, by malloc" check.out && ! grep -q '^2\.' check.out || not_ok "group: report" "$(cat check.out)"
fails "group: not there" 1 'there is no group 999 ' groups --group 999 t.dat
fails "group: no number" 2 'invalid group number' groups --group first t.dat
fails "group: no range" 2 'invalid group number' groups --group '<3' t.dat
fails "group: of two traces" 2 'different numbers' diff --group 1 t.dat many.dat
fails "group: of two traces, in words" 2 'different numbers' diff --filter group:1 t.dat many.dat
# ---- shares of the total ----
json "percent" 'abs(sum(g["percent"] for g in d) - 100) < 0.01 and all(abs(g["percent"] - g["all"]["leaked_size"] / 419.81) < 0.01 for g in d)' groups --format json t.dat
json "percent: of what matched" '[abs(g["percent"] - 100) < 0.01 for g in d] == [True]' groups --group "$group" --sort only_matched.leaked_size --format json t.dat
json "percent: of the whole" '[abs(g["percent"] - 97.57) < 0.01 for g in d] == [True]' groups --group "$group" --format json t.dat
json "percent: of rows" 'abs(sum(r["percent"] for r in d) - 100) < 0.01' groups --by function --format json t.dat
json "percent: of what does not add up" '{g["percent"] for g in d} == {None}' groups --sort max_size --format json t.dat
check "percent: text" "$memtui" groups t.dat
grep -qE '^GROUP +LEAKED +% ' check.out && grep -qE "^ +$group +40.0k +97.6 " check.out || not_ok "percent: text" "$(head -n 2 check.out)"
check "percent: text of what does not add up" "$memtui" groups --sort max_size t.dat
head -n 1 check.out | grep -q % && not_ok "percent: text of what does not add up" "$(head -n 1 check.out)"
json "timeline" 'len({len(d[k]) for k in "seconds live_bytes live_count allocations frees rss_bytes".split()}) == 1 and sum(d["allocations"]) == 62 and sum(d["frees"]) == 50 and d["live_bytes"][-1] == 41981' timeline --format json t.dat
asked "$memtui" timeline --format json t.dat >plain.json
json "timeline: columns" 'len(d["seconds"]) == min(7, len(json.load(open("plain.json"))["seconds"])) and sum(d["allocations"]) == 62' timeline --columns 7 --format json t.dat
json "timeline: columns are pairs of time and value of the recording" 'set(zip(d["seconds"], d["live_bytes"])) <= set(zip(*(json.load(open("plain.json"))[k] for k in ("seconds", "live_bytes"))))' timeline --columns 3 --format json t.dat
for range in '--to 50%' '--from 20% --to 90%'; do
	asked "$memtui" groups $range --format json t.dat >groups.json
	json "timeline: as groups, $range" 'sum(d["allocations"]) == sum(g["only_matched"]["allocated_count"] for g in json.load(open("groups.json"))) and d["live_bytes"][-1] == sum(g["only_matched"]["range_live_size"] for g in json.load(open("groups.json")))' timeline $range --columns 4 --format json t.dat
done
check "timeline: whose memory" "$memtui" timeline --to 50% t.dat
grep -q 'PROCESS RSS' check.out || not_ok "timeline: whose memory" "$(head -n 1 check.out)"
for by in function line source module kind thread backtrace; do
	asked "$memtui" timeline --format json t.dat >plain.json
	json "timeline: stacked by $by" 'len(d["series"]) in (1, 2) and [sum(x) for x in zip(d["other"], *[s["live_bytes"] for s in d["series"]])] == json.load(open("plain.json"))["live_bytes"] and d["by"] == "'$by'"' timeline --stacked=2 --by $by --format json t.dat
done
json "timeline: stacked, what" 'd["series"][0]["function"] == "keep" and d["series"][0]["live_bytes"][-1] == 41960 and d["metric"] == "live_bytes" and len(d["seconds"]) == len(d["other"]) == len(d["series"][0]["max_bytes"])' timeline --stacked=1 --format json t.dat
json "timeline: stacked, filter, columns" '[s["function"] for s in d["series"]] == ["keep"] and d["series"][0]["live_count"][-1] == 1 and set(d["other"]) == {0} and len(d["other"]) == min(5, len(json.load(open("plain.json"))["seconds"]))' timeline --stacked --function-regex '^deep$' --metric count --columns 5 --format json t.dat
check "timeline: stacked, text" "$memtui" timeline --stacked t.dat
grep -q 'AT SHOWN PEAK' check.out && grep -q '^A .* keep$' check.out && grep -q ' AAAA' check.out && grep -q '^\. .*all others' check.out || not_ok "timeline: stacked, text" "$(tail -n 4 check.out)"
check "timeline: stacked, csv" "$memtui" timeline --stacked=1 --format csv t.dat
[ "$(head -n 1 check.out)" = seconds,keep,other ] || not_ok "timeline: stacked, csv" "$(head -n 1 check.out)"
fails "timeline: stacked by 0" 2 "from 1 to 52" timeline --stacked=0 t.dat
fails "timeline: by without stacked" 2 "by: only with --stacked" timeline --by line t.dat
for view in info groups tree timeline; do
	check "$view: text" "$memtui" $view t.dat
	[ -s check.out ] || not_ok "$view: text" "nothing on stdout"
	check "$view: exact" "$memtui" $view --exact t.dat
	"$memtui" $view --format csv t.dat >csv.out 2>csv.err
	if python3 -c 'import csv
rows = list(csv.reader(open("csv.out")))
assert len(rows) > 1 and len({len(r) for r in rows}) == 1' 2>>csv.err; then ok "$view: csv"; else not_ok "$view: csv" "$(tail -n 1 csv.err)"; fi
done
check report "$memtui" report --top 2 t.dat
if grep -q 'nothing was lost' check.out && grep -q 'keep .*known.c:3' check.out && grep -q '^2 of 4 groups' check.out; then
	ok "report: contents"
else
	not_ok "report: contents" "$(head -c 400 check.out)"
fi
if "$memtui" groups t.dat >/dev/full 2>full.err; then not_ok "full disk" "succeeded"; else
	[ "$(wc -l <full.err)" = 1 ] && ok "full disk" || not_ok "full disk" "$(cat full.err)"
fi

# ---- a trace that ends too early ----
size=$(stat -c %s t.dat)
head -c $((size * 2 / 3)) t.dat >short.dat
asked "$memtui" info --format json short.dat >short.out 2>short.err
status=$?
if [ $status = 1 ] || { [ $status = 0 ] && python3 -c 'import json; assert not json.load(open("short.out"))["complete"]'; }; then
	[ "$(wc -l <short.err)" = 1 ] && ok "truncated trace" || not_ok "truncated trace" "$(cat short.err)"
else
	not_ok "truncated trace" "status $status"
fi

# ---- wrong inputs ----
: >empty
mkdir directory
echo 'hello, world' >text
printf '\177ELF' >elf
echo '#!/nonexistent/interpreter' >script
echo 'not a program' >notexec
chmod 755 script
for view in info groups report; do
	fails "$view: empty file" 1 'empty' $view empty
	fails "$view: directory" 1 'directory' $view directory
	fails "$view: text file" 1 text $view text
	fails "$view: missing file" 1 'nowhere.dat' $view nowhere.dat
	fails "$view: a program" 1 'known' $view known
done
fails "open: missing file" 1 'nowhere.dat|terminal' open nowhere.dat
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$work"
	cp t.dat secret.dat
	chmod 000 secret.dat
	setpriv --reuid 65534 --clear-groups "$memtui" info secret.dat >fails.out 2>fails.err
	status=$?
	if [ $status = 1 ] && [ "$(wc -l <fails.err)" = 1 ] && grep -qi permission fails.err; then ok "no permission"
	elif [ $status -ge 126 ]; then echo "skip cli no permission: $build is closed to others"
	else not_ok "no permission" "$status $(cat fails.err)"; fi
else
	cp t.dat secret.dat
	chmod 000 secret.dat
	[ -r secret.dat ] || fails "no permission" 1 'permission' info secret.dat
fi
fails "no command" 2 "missing command; try 'memtui run PROG'"
fails "unknown command" 2 "did you mean 'memtui groups'" gruops t.dat
fails "unknown command, a file" 2 'memtui open t.dat' t.dat
fails "unknown option" 2 "did you mean --sort" groups --srot size t.dat
fails "unknown option, no idea" 2 "has no option --xyzzyplugh; 'memtui groups --help' lists them" groups --xyzzyplugh t.dat
fails "unknown letter" 2 'has no option -Z' groups -Z t.dat
fails "ambiguous prefix" 2 'ambiguous: --format or --filter' groups --f json t.dat
fails "missing value" 2 'missing value; write --sort=METRIC' groups t.dat --sort
fails "value not wanted" 2 'takes no value' groups --exact=1 t.dat
fails "bad metric" 2 "did you mean 'leaked_size'" groups --sort leaked_sise t.dat
fails "bad format" 2 'text.json.csv' groups --format xml t.dat
fails "bad order" 2 'asc' groups --order up t.dat
fails "bad number" 2 'whole number' groups --count -3 t.dat
fails "bad number, empty" 2 'whole number' groups --count= t.dat
fails "no value, size" 2 "^memtui: --size-min: invalid value ''; expected a size such as 4096" groups --size-min= t.dat
fails "no value, time" 2 "^memtui: --from: invalid value ''; expected a time such as" groups --from= t.dat
fails "no value, choice" 2 "^memtui: --lifetime: invalid value ''; expected all.only_leaked" groups --lifetime= t.dat
fails "a metric far from any" 2 "unknown metric 'foo'; nearest are 'age', " groups --sort foo t.dat
fails "a metric's words in another order" 2 "nearest are 'leaked_size', .*'memtui help metrics' lists all" groups --sort all.size-leaked t.dat
fails "an option that needs another" 2 '^memtui: --alive-at-2: needs --alive-at too: ' groups --alive-at-2 1s t.dat
fails "a field that needs another" 2 '^memtui: alive_at_2: needs alive_at too: ' groups --filter alive_at_2:1s t.dat
fails "open: no such theme" 2 "unknown theme 'nosuch'; expected one of .*dark" open --theme nosuch t.dat
fails "run: no such theme" 2 "unknown theme 'nosuch'" run --theme nosuch ./known
fails "attach: no such theme" 2 "unknown theme 'nosuch'" attach --theme nosuch 1
fails "open: no picture a second" 2 "--fps: invalid value '0'; expected a whole number from 1 to 60" open --fps 0 t.dat
fails "open: too many a second" 2 "expected a whole number from 1 to 60" open --fps 61 t.dat
# the screen says of a file that is not there what everybody says
for command in report info open pack; do
	script -qec "\"$memtui\" $command nowhere.dat; echo status \$?" /dev/null </dev/null 2>&1 | tr -d '\r' >said.out
	if [ "$(cat said.out)" = "memtui: cannot open nowhere.dat: No such file or directory
status 1" ]; then ok "$command: no such file"; else not_ok "$command: no such file" "$(head -c 300 said.out)"; fi
done
script -qec "\"$memtui\" open --theme ./nowhere.theme t.dat; echo status \$?" /dev/null </dev/null 2>&1 | tr -d '\r' >said.out
if grep -q './nowhere.theme: cannot read the theme: No such file' said.out && grep -q '^status 1$' said.out; then ok "a theme's file that is not there"; else not_ok "a theme's file that is not there" "$(head -c 300 said.out)"; fi
fails "bad time" 2 'time' record --duration soon ./known
fails "bad regex" 2 "character 5.*expected '\)'" groups --function-regex '(abc' t.dat
fails "bad regex in words" 2 'expected' groups --filter 'source:[a' t.dat
fails "bad words" 2 "unknown field 'fnuction'" groups --filter 'fnuction:a' t.dat
fails "bad regex before a run" 2 'expected' record --filter '(' -o never.dat ./known
[ ! -e never.dat ] && ok "bad regex starts nothing" || not_ok "bad regex starts nothing" "never.dat"
fails "control characters in an error" 2 'has no option --xyzzy.nplugh' groups $'--xyzzy\nplugh' t.dat
fails "too many operands" 2 "extra argument 't.dat'; usage: memtui allocations" allocations t.dat t.dat
json "info: several traces" 'len(d) == 2 and all(t["allocations"] == 62 and t["origin"] == "exec" for t in d)' info --format json t.dat t.dat
check "info: several traces as text" "$memtui" info t.dat t.dat
[ "$(wc -l <check.out)" = 3 ] || not_ok "info: several traces as text" "$(cat check.out)"
awk 'NR == 1 && $7 == "resident" { next } NR > 1 && $7 ~ /^[0-9.]+[kM]$/ { next } { exit 1 }' check.out && ok "info: the resident memory of several traces" ||
	not_ok "info: the resident memory of several traces" "$(cat check.out)"
# On a terminal each trace has one line, with the end of its path and the beginning of its command.
deep=deep/$(printf 'directory%.0s' {1..9})
mkdir -p "$deep" && cp t.dat "$deep"
for width in 80 120; do
	script -qec "stty cols $width; \"$memtui\" info long.dat $deep/t.dat t.dat 2>info.err" /dev/null </dev/null | tr -d '\r' >check.out
	[ "$(wc -l <check.out) $(($(wc -L <check.out) <= width))" = "4 1" ] && grep -qE ' long.dat  sh -c exit' check.out &&
		grep -qE ' \.\.\.[a-z/]*y/t.dat  ' check.out && ok "info: several traces on a terminal of $width columns" ||
		not_ok "info: several traces on a terminal of $width columns" "$(cat check.out)"
	grep -c "suppressed" info.err | grep -q "^[01]$" || not_ok "info: one sentence about suppressions" "$(cat info.err)"
done
"$memtui" info --format json t.dat sets.dat >json.out 2>&1
"$memtui" info --format csv t.dat sets.dat >check.out 2>&1
[ "$(python3 -c 'import csv, json; print([int(r["peak_rss_bytes"]) for r in csv.DictReader(open("check.out"))] == [t["peak_rss_bytes"] for t in json.load(open("json.out"))])' 2>&1)" = True ] &&
	ok "info: the resident memory as CSV and JSON" || not_ok "info: the resident memory as CSV and JSON" "$(cat check.out)"
check "info: several traces, filtered" "$memtui" info --function-regex '^deep$' t.dat sets.dat
[ "$(awk 'NR > 1 {print $4, $6}' check.out)" = "$(printf '1 1000B\n0 0B')" ] || not_ok "info: several traces, filtered" "$(cat check.out)"
check "info: several traces, filtered, as CSV" "$memtui" info --format csv --lifetime only_leaked sets.dat t.dat
[ "$(cut -d, -f5-8 check.out)" = "$(printf 'allocations,peak_bytes,leaked_bytes,file\n3,80,80,sets.dat\n12,41981,41981,t.dat')" ] ||
	not_ok "info: several traces, filtered, as CSV" "$(cat check.out)"
asked "$memtui" info --format json missing.dat t.dat missing.dat signal.dat >several.out 2>several.err
status=$?
if [ $status = 1 ] && python3 -c 'import json; d = json.load(open("several.out")); assert [t["allocations"] for t in d] == [62, 62]' 2>/dev/null; then
	ok "info: several traces, some missing"
else
	not_ok "info: several traces, some missing" "status $status: $(head -c 200 several.out)"
fi
fails "bad regex of an option" 2 '--function-regex: ' groups --function-regex '(' t.dat
fails "bad regex of a word" 2 '!source: ' groups --filter '!source:(' t.dat
fails "no operand" 2 'missing TRACE.PID...; usage: memtui info TRACE.PID...' info
fails "no second operand" 2 'missing TRACE.PID[.]*; usage: memtui callers FUNCTION TRACE.PID' callers main
fails "no trace to open" 2 'missing TRACE; usage: memtui open TRACE .TRACE_B.' open
fails "no program" 2 'missing PROG; usage: memtui record PROG' record
fails "no program after --" 2 'missing PROG' record --
fails "missing program" 1 'nowhere' record -o no1.dat ./nowhere
fails "missing program in PATH" 1 'nowhere-at-all' record -o no2.dat nowhere-at-all
fails "program is a directory" 1 'directory' record -o no3.dat ./directory
fails "program without permission" 1 'notexec' record -o no4.dat ./notexec
fails "script without interpreter" 1 'script|interpreter' record -o no5.dat ./script
fails "output in no directory" 1 'nodir' record -o nodir/x.dat ./known
fails "report of a stream" 2 "needs a trace file" record --report -o - ./known
fails "attach: no such process" 1 'does not exist' attach 999999999
fails "attach: no number" 2 "invalid process 'abc'" attach abc
mkfifo attach.fifo
"$memtui" record -o attach.dat -- sh -c 'read line <attach.fifo' >/dev/null 2>&1 &
front=$!
for try in $(seq 1000); do
	"$memtui" attach "$(pgrep -P $front)" 2>&1 | grep -q "not a terminal" && break
done
for pid in $front $(pgrep -P $front); do
	fails "attach: a memtui that records, for want of a terminal alone" 1 'not a terminal' attach $pid
done
echo >attach.fifo
wait $front
ls no?.dat >/dev/null 2>&1 && not_ok "a program that did not start leaves no trace" "$(ls no?.dat)" || ok "a program that did not start leaves no trace"

# ---- help, manual pages ----
check version "$memtui" --version
grep -q '^memtui [0-9]' check.out || not_ok version "$(cat check.out)"
check help "$memtui" help
for command in run record open report pack attach info groups tree callers diff allocations chains histogram errors timeline mmaps \
	mallopts check suppress export help; do
	check "help $command" "$memtui" help $command
	awk 'length > 100 { bad = 1 } END { exit bad }' check.out || not_ok "help $command" "lines too long"
	check "$command --help" "$memtui" $command --help
	"$memtui" help --man $command >page.1
	if command -v groff >/dev/null; then
		groff -man -ww -Tascii -P-c -P-b -P-u page.1 >page.txt 2>page.err
		if [ -s page.err ] || ! grep -q SYNOPSIS page.txt; then not_ok "manual $command" "$(head -n 2 page.err)"; else ok "manual $command"; fi
	else
		grep -q '^.SH SYNOPSIS' page.1 && ok "manual $command" || not_ok "manual $command" "no synopsis"
	fi
done
# Filters and metrics are told once; what is left of a command's help is short.
for command in run record attach open report info groups tree callers diff allocations chains histogram errors timeline mmaps mallopts check \
	suppress export; do
	lines=$("$memtui" help $command | wc -l)
	[ "$lines" -le 100 ] || not_ok "help $command is short" "$lines lines"
	for page in "help $command" "help --man $command"; do
		"$memtui" $page >page.txt
		grep -qE -e '--chain-lifetime-min|chain.*lifetime.*min|own_peak_count' page.txt && not_ok "$page: filters and metrics stand elsewhere" "$(grep -nE 'chain|own_peak' page.txt | head -n 1)"
		grep -qE 'filters' page.txt || not_ok "$page: filters" "it does not say where they are"
	done
done
for filter in function-regex group lifetime-min chain-lifetime-max temporary-threshold filter; do
	"$memtui" help filters | grep -qE -e "^ +--$filter=" || not_ok "help filters: $filter" "it is not there"
	"$memtui" help --man filters | tr -d '\\' | grep -qF -- "--$filter" || not_ok "manual filters: $filter" "it is not there"
done
"$memtui" help metrics | grep -q '^  own_peak_count ' && "$memtui" help --man memtui | grep -q own_peak_count && ok "filters and metrics are told once" ||
	not_ok "help metrics" "own_peak_count is not there"
"$memtui" help --man filters >page.1
if command -v groff >/dev/null; then check "manual filters" sh -c '[ -z "$(groff -man -ww -Tascii page.1 2>&1 >/dev/null)" ]'; fi
check "help fits 80 columns" sh -c '[ "$("$0" help | wc -L)" -le 80 ]' "$memtui"
check "manual memtui" "$memtui" help --man memtui
fails "help of nothing" 2 "did you mean 'memtui record'" help recrod
# What is compiled in only where a library is there: make finds out that it is not, and the rest builds without.
env -u MAKEFLAGS make --no-print-directory -C "$here/../.." -Bns V=1 O="$work/o" CC="gcc -nostdinc" all >make.out 2>&1
grep -q -e '-lzstd' make.out && ! grep -qE 'HAVE_LIB|-lvterm|-liberty' make.out && ok "make without libvterm and libiberty" ||
	not_ok "make without libvterm and libiberty" "$(grep -oE 'HAVE_LIB[A-Z]*|-lvterm|-liberty' make.out | sort -u | tr '\n' ' ')"
optional() { (cd "$here/../.." && grep -l HAVE_LIB tui/*/*.c core/*/*.c | xargs -n 1 gcc -std=gnu11 -D_GNU_SOURCE -DMT_VERSION=\"\" -I. -fsyntax-only -Wall -Werror -x c); }
check "sources without libvterm and libiberty" optional
repeats=$work/o/obj/tui/view/program_repeats.o
again() { env -u MAKEFLAGS make --no-print-directory -C "$here/../.." O="$work/o" HAVE_LIBVTERM="$1" "$repeats" 2>&1 | grep -c ' CC '; }
[ "$(again ''; again ''; again 1)" = $'1\n0\n1' ] && ok "a library that has come is used" || not_ok "a library that has come is used" "$(again 1)"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	# what lies in /tmp is hidden there: this directory, and perhaps the build
	outside=$(mktemp -d -p /var/tmp) && cp "$memtui" "$build/libmemtui.so" "$here/homeless.py" "$outside"
	(cd "$outside" && unshare -m sh -c 'mount -t tmpfs -o mode=1777 none /tmp && exec python3 "$@"' sh \
		"$outside/homeless.py" "$outside/memtui") || bad=1
	rm -rf "$outside"
else echo "skip cli run without a home: needs root and a mount namespace"; fi
check "make test: ^C ends all of it" python3 "$here/interrupted.py" "$here/../run.sh"
exit $bad
