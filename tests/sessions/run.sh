#!/usr/bin/env bash
# sessions: what memtui run leaves in the cache is listed, with files that are damaged or planted (doc/sessions.md). run.sh BUILD
. "$(dirname "$0")/../suite.sh"
build_programs -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-builtin -Wall -Wextra -Werror -- family
export XDG_CACHE_HOME=$tmp/cache HOME=$tmp
place=$tmp/cache/memtui
children=()
mounted=
root_user=$root # suite.sh's: whether this is root; below, root is a trace's name
at_exit() {
	[ -z "$mounted" ] || umount "$mounted"
	[ ${#children[@]} = 0 ] || kill -KILL "${children[@]}" 2>/dev/null
}

# ---- making them ----
begin() { # COMMAND...: a screen that records it; $front is the screen, $name the session's name, $pid the program
	rm -f say hear
	mkfifo say hear
	python3 "$here/left.py" "$memtui" run "$@" <say >hear &
	driver=$!
	exec 6>say 7<hear
	read -rt 60 front <&7
	children+=("$front" "$driver")
	until_true is_listed
}
is_listed() { # the newest one in the cache runs, and has a child that has ended
	read -r name pid recorder <<<"$("$memtui" sessions --format json | python3 -c 'import json, sys
for s in json.load(sys.stdin)["sessions"]:
    if s["name"] and s["state"] == "running" and s["processes"] == 2 and all(f["state"] == "ended" for f in s["files"][1:]):
        print(s["name"], s["pid"], s["recorder"])')"
	[ -n "$name" ]
}
leave() { # [SIGNAL]: ends the screen; what it has started goes on. $shown is what was on the terminal last
	echo "${1:-9}" >&6
	read -rt 60 shown <&7
	wait "$driver"
	exec 6>&- 7<&-
	children=()
}
# says WORDS: they are in err, whose lines may be wrapped
says() { tr -s '\n ' ' ' <"$tmp/err" | grep -qF -- "$1" || { echo "not said: $1; "; cat "$tmp/err"; }; }
look() { "$memtui" sessions --format json 2>"$tmp/look.err" | python3 "$here/look.py" "$@"; }
state_is() { [ "$(look "$1" state)" = "$2" ]; }
# copy FROM TO: a session with the same files
copy() { cp -rp "$place/unsaved_$1" "$place/unsaved_$2"; }

# ---- nothing ----
# Other suites may record something: their sockets are not seen from another network namespace.
nothing="nothing: one sentence says where they would be"
if unshare -rn true 2>/dev/null; then
	XDG_CACHE_HOME=$tmp/none unshare -rn "$memtui" sessions >out 2>err
	say "$nothing" "$(is $? 0)$(cat out)$(says "there are no recordings: 'memtui run' without -o writes them to $tmp/none/memtui")"
else
	skip "$nothing" "there are no namespaces"
fi
say "a list makes no directory" "$(ls -d none cache 2>/dev/null)"

# ---- one that runs, is left, is complete ----
mkfifo gate
begin ./family gate
dir=$place/unsaved_$name
say "one that runs" "$(is "$(look "$pid" 's["state"]' 's["name"]' 's["directory"]' 's["processes"]' 's["leaked_bytes"]' 's["peak_bytes"]' 's["command"]')" \
	"running $name $dir 2 100000 100000 ./family gate")"
leave
say "one whose screen was killed runs on" "$(is "$(look "$pid" state)" running)"
printf x 1<>gate
until_true state_is "$pid" complete
complete=$name
say "a complete one" "$(is "$(look "$pid" 's["state"]' 's["name"]' 's["processes"]' 's["leaked_bytes"]' 's["peak_bytes"]' 'len(s["files"])' 's["command"]')" \
	"complete $name 2 2000 2500 3 ./family")$(is "$(look "$name" 'sorted(f["leaked_bytes"] for f in s["files"])')" "[1000, 2000, 100000]")$(
	is "$(look "$name" 's["file_bytes"]')" "$(cat "$dir"/* | wc -c)")$(is "$(look "$name" 's["start_time"][:2], s["wall_seconds"] > 0, s["error"], s["strange"]')" "('20', True, None, [])")"
"$memtui" sessions >out 2>err
say "as text" "$(grep -qE "^ *$pid +[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}  complete +2\.0k +[0-9.]+k +2\.4k .* 2  \./family$" out || cat out)$(cat err)"
say "list is the default" "$("$memtui" sessions list | grep -q "^ *$pid " || "$memtui" sessions list)"

# ---- whose recorder was killed ----
begin ./family gate
"$memtui" ctl "$pid" flush 2>/dev/null
kill -KILL "$recorder"
leave
printf x 1<>gate
broken=$name broken_pid=$pid
say "its recorder was killed: what was written counts" "$(until_true state_is "$name" incomplete || look "$name" state)$(
	is "$(look "$name" 's["processes"] > 0' 's["pid"]' 's["leaked_bytes"]' 's["strange"]')" "True $pid 100000 []")"

# ---- names ----
copy "$complete" twice1
first_pid=$(look "$complete" pid)
say "two of one process have names" "$(is "$(look "$complete" session) $(look twice1 session)" "$complete twice1")"
rm -r "$place/unsaved_twice1"
mkdir "$place/unsaved_seven77" "$place/other" && : >"$place/unsaved_file12"
say "other directories do not count" "$(is "$(look even77 state) $(look other state)" "absent absent")"
rm -r "$place/unsaved_seven77" "$place/other" "$place/unsaved_file12"

# ---- damage ----
copy "$complete" damage
root=$(basename "$(look damage 'next(f["file"] for f in s["files"] if f["pid"] == s["pid"] and f["file"].endswith(".dat"))')")
file=$place/unsaved_damage/$root
: >"$file"
say "an empty file" "$(is "$(look damage 's["state"]' 'sum(f["state"] == "unreadable" for f in s["files"])')" "complete 1")$(
	"$memtui" sessions 2>err >out; says "$root")"
for f in "$place/unsaved_damage"/*; do head -c 300 /dev/urandom >"$f"; done
say "files of random bytes" "$(is "$(look damage 's["session"]' 's["state"]' 's["pid"]' 's["leaked_bytes"]' 'all(f["error"] for f in s["files"])')" \
	"damage unreadable None None True")"
rm -r "$place/unsaved_damage"
copy "$complete" damage
python3 - "$file" <<'P'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in range(200, len(data) - 200, 97):
    data[at] ^= 0x5A
open(sys.argv[1], "wb").write(data)
P
damaged() { timeout 20 "$memtui" sessions "$@" >out 2>err; local s=$?; [ $s -le 1 ] || echo "status $s; "; }
say "a trace with wrong bytes" "$(damaged)$(damaged --format json)$(is "$(look damage 's["state"] in ("damaged", "unreadable", "incomplete", "complete")')" True)"
head -c $(($(stat -c %s "$dir/$root") / 2)) "$dir/$root" >"$file"
say "half a trace" "$(damaged)$(is "$(look damage 's["state"]' 's["pid"]' 's["leaked_bytes"] is None')" "incomplete $first_pid False")"
rm -r "$place/unsaved_damage"

# ---- planted ----
copy "$complete" links1
mkdir outside && cp "$dir/$root" outside/memtui_evil_1_2.dat
ln -s "$tmp/outside/memtui_evil_1_2.dat" "$place/unsaved_links1/memtui_evil_1_2.dat"
mkfifo "$place/unsaved_links1/memtui_fifo_1_3.dat"
mkdir "$place/unsaved_links1/memtui_dir_1_4.dat"
echo mine >"$place/unsaved_links1/notes.txt"
echo mine >"$place/unsaved_links1/memtui_p_1_5.dat;x"
ln -s "$tmp/outside" "$place/unsaved_outsid"
"$memtui" sessions >out 2>err
say "links, FIFOs, directories and other names are strange" "$(is "$(look links1 'len(s["files"])' 'sorted(s["strange"])')" \
	"3 ['memtui_dir_1_4.dat', 'memtui_evil_1_2.dat', 'memtui_fifo_1_3.dat', 'memtui_p_1_5.dat;x', 'notes.txt']")$(
	says "unsaved_links1/notes.txt: was not written by memtui, which leaves it alone")"
say "a link in place of a session leads nowhere" "$(is "$(look outsid 's["state"]' 'len(s["files"])')" "unreadable 0")"
rm "$place/unsaved_outsid"
printf -v evil 'memtui_\e[31m\n_5_6.dat'
cp "$dir/$root" "$place/unsaved_links1/x" && mv "$place/unsaved_links1/x" "$place/unsaved_links1/$evil"
echo no >"$place/unsaved_links1/$evil"
"$memtui" sessions >out 2>err
say "names are made safe" "$(LC_ALL=C grep -c $'\e' out err | grep -v ':0')$(grep -qF '\x1b[31m' err || cat err)"

# ---- no permission ----
copy "$complete" closed
chmod 000 "$place/unsaved_closed"
as=()

if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp"
	cp -r "$(dirname "$memtui")/memtui" bin.memtui 2>/dev/null
	chown -R 65534 "$tmp/cache"
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
asked=$memtui
[ ${#as[@]} = 0 ] || asked=$tmp/bin.memtui
"${as[@]}" "$asked" sessions --format json >out 2>err
say "a session without permission is listed with the reason" "$(is "$(python3 "$here/look.py" closed 's["state"]' '"Permission denied" in s["error"]' <out)" "unreadable True")$(
	is "$(python3 "$here/look.py" "$broken" state <out)" incomplete)"
chmod 000 "$place"
"${as[@]}" "$asked" sessions >out 2>err
status=$?
say "a cache without permission" "$(is $status 1)$(says "$place cannot be read: Permission denied")"
chmod 700 "$place"
[ ${#as[@]} = 0 ] || { "$memtui" sessions --format json >out; say "somebody else's cache is not looked into" "$(is "$(python3 "$here/look.py" "$broken" state <out)" absent)"; chown -R 0 "$tmp/cache"; }
chmod 700 "$place/unsaved_closed"
rm -r "$place/unsaved_closed" "$place/unsaved_links1"

# ---- path ----
say "path" "$(is "$("$memtui" sessions path "$complete")" "$dir/$root")$(is "$(field "$("$memtui" sessions path "$complete")" leaked_bytes)" 2000)"
"$memtui" sessions path none77 >out 2>err
say "path: one that is not there" "$(is $? 1)$(says "no session 'none77'")$(cat out)"

# ---- keep ----
keep() { # STATUS WORDS ARGUMENT...: prints what is not as it should be
	local status=$1 words=$2
	shift 2
	timeout 20 "$memtui" sessions keep "$@" >"$tmp/out" 2>"$tmp/err"
	is $? "$status"
	says "$words"
	cat "$tmp/out"
}
sums() { (cd "$1" && sha256sum * | sort | sha256sum); }
together() { "$memtui" check --max-leaked 1G "$1" 2>&1 | grep -q 'judged together with 1 program' || echo "$1 lacks the program before exec; "; }
whole=$(sums "$dir")
mkdir work && cd work || exit 1
copy "$complete" keep01
say "keep: into this directory" "$(keep 0 "kept $root and 2 other files beside it, " keep01)$(says "'memtui open $root' shows it")$(is "$(sums .)" "$whole")$(
	ls -d "$place/unsaved_keep01" 2>/dev/null)$(together "$root")"
copy "$complete" keep02
say "keep: not over a file" "$(keep 1 ": already exists; choose another name or use --force" keep02)$(is "$(look keep02 state)" complete)$(is "$(sums .)" "$whole")"
rm ./* && echo mine >"$root.exec0"
say "keep: not over one of its files; no other is left" "$(keep 1 "$root.exec0: already exists" keep02)$(is "$(ls "$root" 2>&1 | grep -c cannot) $(cat "$root.exec0")" "1 mine")$(is "$(sums "$place/unsaved_keep02")" "$whole")"
say "keep --force" "$(keep 0 "kept $root and 2 other files" --force keep02)$(is "$(sums .)" "$whole")"
copy "$complete" keep03
mkdir deep
say "keep: into a directory" "$(keep 0 "kept deep/$root and 2 other files" keep03 deep)$(is "$(sums deep)" "$whole")"
rm -r ./*
copy "$complete" keep04
child=$(look keep04 'next(f["pid"] for f in s["files"] if f["pid"] != s["pid"])')
say "keep: to a name" "$(keep 0 "'memtui open leak.dat' shows it" keep04 leak.dat)$(is "$(echo *)" "leak.dat leak.dat.$child leak.dat.exec0")$(together leak.dat)$(
	is "$(field leak.dat leaked_bytes) $(field leak.dat.exec0 leaked_bytes) $(field "leak.dat.$child" leaked_bytes)" "2000 100000 1000")"
copy "$complete" keep05
say "keep: to a place that is not there" "$(keep 1 "none/x.dat" keep05 none/x.dat)$(keep 1 "none/: there is no such directory" keep05 none/)$(is "$(sums "$place/unsaved_keep05")" "$whole")"
say "keep: to where it is" "$(keep 1 "lies in the session itself" --force keep05 "$place/unsaved_keep05")$(is "$(sums "$place/unsaved_keep05")" "$whole")"
ln -s "$place/unsaved_keep05/$root" leads
say "keep: to a link to where it is" "$(keep 1 "lies in the session itself" --force keep05 leads)$(is "$(sums "$place/unsaved_keep05")" "$whole")"
say "keep: one that is not there" "$(keep 1 "no session 'none77'" none77)"
other=$(mktemp -d /dev/shm/memtui-sessions-XXXXXX 2>/dev/null)
if [ "$other" ] && [ "$(stat -c %d "$other")" != "$(stat -c %d .)" ]; then
	say "keep: to another file system" "$(keep 0 "kept $other/$root and 2 other files" keep05 "$other")$(is "$(sums "$other")" "$whole")$(ls -d "$place/unsaved_keep05" 2>/dev/null)"
	rm -r "$other"
else skip "keep: to another file system" "there is no other one in /dev/shm"; fi
mkdir full
copy "$complete" keep06
if [ $root_user ] && mount -t tmpfs -o size=16k sessions full 2>/dev/null; then
	mounted=$tmp/work/full
	head -c 8k /dev/zero >full/filler
	say "keep: to a full disk leaves all where it was" "$(keep 1 "No space left on device" keep06 full)$(is "$(ls -A full)" filler)$(is "$(sums "$place/unsaved_keep06")" "$whole")"
	umount full
	mounted=
else skip "keep: to a full disk" "no tmpfs can be mounted here"; fi
ln -s "$tmp/outside" "$place/unsaved_keep06/memtui_evil_1_2.dat"
say "keep: what memtui has not written stays" "$(keep 1 "the directory $place/unsaved_keep06 stays: " keep06)$(is "$(sums .  2>/dev/null | wc -l)" 1)$(is "$(ls "$place/unsaved_keep06")" memtui_evil_1_2.dat)$(
	[ -L "$root" ] || [ -s "$root" ] || ls -l)$(ls memtui_evil* 2>/dev/null)"
rm -r "$place/unsaved_keep06" ./*
cd "$tmp" || exit 1

# ---- remove ----
remove() { # STATUS WORDS ARGUMENT...: prints what is not as it should be
	local status=$1 words=$2
	shift 2
	timeout 20 "$memtui" sessions remove "$@" >out 2>err
	is $? "$status"
	says "$words"
	cat out
}
have() { (cd "$place" && echo unsaved_*); }
copy "$complete" gone01
copy "$complete" gone02
copy "$complete" stays1
say "remove: one by its name" "$(remove 0 "removed 1 session, " gone01)$(ls -d "$place/unsaved_gone01" 2>/dev/null)"
say "remove: one by its directory" "$(remove 0 "removed 1 session, " "$place/unsaved_gone02")$(ls -d "$place/unsaved_gone02" 2>/dev/null)"
say "remove: one that is not there" "$(remove 1 "no session 'gone01' in $place; 'memtui sessions' lists those that are there" gone01)"
say "remove: none if one of them is not there" "$(remove 1 "no session 'gone01'" stays1 gone01)$(is "$(look stays1 state)" complete)"
say "remove: a number of several" "$(remove 1 "several sessions are of a process $first_pid; give the name of one: " "$first_pid")$(says stays1)$(is "$(look stays1 state)" complete)"
say "remove: one that is named twice" "$(remove 0 "removed 1 session, " stays1 stays1)"
say "remove: a number" "$(remove 0 "removed 1 session, " "$broken_pid")$(is "$(look "$broken" state)" absent)"
copy "$complete" links2
ln -s "$tmp/outside" "$place/unsaved_links2/memtui_evil_1_2.dat"
ln -s "$tmp/outside" "$place/unsaved_outsid"
echo mine >"$place/unsaved_links2/notes.txt"
say "remove: what memtui has not written stays" "$(remove 1 "the directory $place/unsaved_links2 stays: " links2)$(is "$(ls "$place/unsaved_links2" | tr '\n' ' ')" "memtui_evil_1_2.dat notes.txt ")$(
	is "$(ls outside)" memtui_evil_1_2.dat)"
say "remove: through no link" "$(remove 1 "unsaved_outsid cannot be read: it is no directory of memtui's" outsid)$(is "$(ls outside)" memtui_evil_1_2.dat)"
rm -r "$place/unsaved_outsid" "$place/unsaved_links2"

begin ./family gate
say "keep: not one that is recorded" "$(keep 1 "process $pid is being recorded into $place/unsaved_$name; 'memtui ctl $pid stop' ends the recording" "$pid")"
say "remove: not one that is recorded" "$(remove 1 "process $pid is being recorded into $place/unsaved_$name; 'memtui ctl $pid stop' ends the recording" "$pid")$(
	is "$(look "$pid" state)" running)"
printf x 1<>gate
until_true state_is "$pid" complete
say "keep: not one that a screen shows" "$(keep 1 "another program has it open" "$pid")"
say "remove: not one that a screen shows" "$(remove 1 "another program has it open" "$pid")$(is "$(look "$pid" state)" complete)"
copy "$complete" older1
touch -d '3 days ago' "$place/unsaved_older1"/* "$place/unsaved_older1"
say "remove --older-than" "$(remove 0 "removed 1 session, " --older-than 2d)$(is "$(look older1 state) $(look "$complete" state)" "absent complete")"
say "remove --older-than: none is" "$(remove 0 "there was nothing to remove" --older-than 2d)"
copy "$complete" held01
: >"$place/unsaved_held01/memtui_p_1_2.dat"
exec 5>>"$place/unsaved_held01/memtui_p_1_2.dat"
mkdir "$place/unsaved_fresh1"
say "one that an unknown program writes" "$(is "$(look held01 state)" "being written")"
say "remove --all passes over what is used, and over a new one" "$(remove 0 "removed 1 session, " --all)$(says "another program has it open")$(
	says "memtui_p_1_2.dat: another program writes it")$(says "unsaved_fresh1: is new and empty")$(
	is "$(have)" "$(cd "$place" && echo unsaved_{"$name",fresh1,held01} | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')")"
exec 5>&-
touch -d '2 minutes ago' "$place/unsaved_fresh1"
leave 15
say "a screen that is ended says where the recording stays" "$(grep -qF "the recording stays in $place/unsaved_$name; 'memtui sessions' lists it" <<<"$shown" || echo "$shown")"
say "remove --all, once nobody uses them" "$(remove 0 "removed 3 sessions, " --all)$(is "$(have)" "unsaved_*")"

# ---- the last eight ----
# A new session removes older ones, but for those that somebody has open.
for i in 1 2 3 4 5 6 7 8 9; do
	mkdir -p "$place/unsaved_eight$i"
	: >"$place/unsaved_eight$i/memtui_p_1_$i.dat"
	touch -d "$((20 - i)) hours ago" "$place/unsaved_eight$i/memtui_p_1_$i.dat" "$place/unsaved_eight$i"
done
exec 5<"$place/unsaved_eight1/memtui_p_1_1.dat"
begin ./family gate
say "a new session leaves what a screen shows" "$(is "$(have)" "$(cd "$place" && echo unsaved_eight{1,3,4,5,6,7,8,9} "unsaved_$name" | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')")"
exec 5<&-
leave
printf x 1<>gate

# ---- usage ----
usage() { # WORDS ARGUMENT...
	local words=$1
	shift
	timeout 20 "$memtui" sessions "$@" >out 2>err
	say "usage: $*" "$(is $? 2)$(says "$words")"
}
usage "unknown verb 'liss'; did you mean 'list'?" liss
usage "extra argument 'x'; usage: memtui sessions list" list x
usage "missing SESSION; usage: memtui sessions path SESSION" path
usage "extra argument 'y'" path a y
usage "missing SESSION; usage: memtui sessions keep SESSION [FILE|DIR]" keep
usage "extra argument 'y'" keep a x y
usage "--force: only with keep" remove --force x
usage "missing SESSION; usage: memtui sessions remove SESSION...|--all|--older-than=TIME" remove
usage "--all and --older-than exclude each other" remove --all --older-than 1d
usage "extra argument 'x'" remove --all x
usage "--older-than: invalid value 'soon'; expected a time such as" remove --older-than soon
usage "--all: only with remove" --all
usage "--format: only with list" remove --all --format json
"$memtui" open >out 2>err
say "open names it" "$(is $? 2)$(says "missing TRACE; usage: memtui open TRACE [TRACE_B]...; 'memtui sessions' lists recordings that nobody has named")"
usage "--format: invalid value 'csv'; expected text|json" --format csv
exit $bad
