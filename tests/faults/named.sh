#!/usr/bin/env bash
# named: debug information names files that are none, or that its owner may not read: memtui neither waits for them nor
# opens them, and says so. named.sh BUILD
set -u
export MEMTUI_CACHE= MEMTUI_TRIAGE=
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
memtui=$build/memtui
unset MEMTUI_SESSION MEMTUI_OUTPUT
export LC_ALL=C
cd "$tmp" || exit 1
chmod 755 "$tmp"

say() { # NAME WHY...: ok when there is no reason
	local name=$1
	shift
	if [ -z "$*" ]; then echo "ok $name"; else echo "not ok $name: $*" | head -c 600; echo; fi
}
words="refers to debug files that are not regular or not readable"

# Only what waits without end comes to the limit.
judge() { # NAME WORDS: recorder and reader look up the names of ./prog
	local why=
	rm -f t.dat* alone.dat*
	timeout -s KILL 60 "$memtui" record -f -o t.dat -- ./prog >out 2>err
	[ $? = 7 ] || why+="record: status $?: $(tail -n 1 err); "
	timeout -s KILL 60 "$memtui" info t.dat >out 2>err || why+="info: status $?: $(tail -n 1 err); "
	LD_PRELOAD=$build/libmemtui.so MEMTUI_OUTPUT=$tmp/alone.dat ./prog >/dev/null 2>&1
	mv prog kept && { [ -z "${replace:-}" ] && mv kept prog || $replace; }
	timeout -s KILL 60 "$memtui" report --sort allocated_count alone.dat >out 2>err || why+="report: status $?: $(tail -n 1 err); "
	if [ -n "$2" ]; then grep -q "$2" err; else [ ! -s err ]; fi || why+="report said: $(cat err); "
	grep -q "${function:-work}" out || why+="no names: $(head -n 5 out); "
	say "$1" "$why"
}
compile() { # FLAGS...
	rm -rf prog prog.* .debug ./*.dwo
	gcc -O1 -g -fno-builtin -pthread "$@" -o prog "$here/subject.c" || echo "not ok named: the program cannot be built"
}

compile -gsplit-dwarf
rm -f ./*.dwo
mkfifo prog-subject.dwo
judge "a .dwo file that is a FIFO" "$words"

compile -gsplit-dwarf
ln -s /dev/zero prog.dwp
judge "a .dwp file that is a device" "$words"

compile
{ printf 'prog.alt\0'; head -c 20 /dev/zero; } >link
objcopy --add-section .gnu_debugaltlink=link --set-section-flags .gnu_debugaltlink=readonly prog
mkfifo prog.alt
judge "a .gnu_debugaltlink to a FIFO" "$words"

compile -Wl,--build-id=none
objcopy --only-keep-debug prog prog.debug
strip --strip-debug prog
objcopy --add-gnu-debuglink=prog.debug prog
rm prog.debug
mkfifo prog.debug
judge "a .gnu_debuglink to a FIFO" "$words"

compile -Wl,--build-id=none
replace="mkfifo prog" function=prog+0x judge "a program that is a FIFO by now" "is not regular or not readable"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	# nobody's program names a file of root's
	compile -gsplit-dwarf
	chmod 600 prog-subject.dwo
	chown nobody prog
	judge "root takes the rights of another user's program" "$words"
	chmod 644 prog-subject.dwo
	function=subject.c: judge "and opens what that user may read" ""
fi
