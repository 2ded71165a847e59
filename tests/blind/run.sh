#!/bin/bash
# run.sh BUILD: what was not seen is said in every place, and passes no check (doc/blind-spots.md).
# Prints 'ok NAME' or 'not ok NAME: why'.
. "$(dirname "$0")/../suite.sh"
work=$tmp
at_exit() { touch "$work/end"; }

for kind in PLAIN OWN_MALLOC PASSES_ON BUNDLED; do
	gcc -O1 -g -fno-builtin -D$kind -o ${kind,,} "$here/programs.c" ||
		{ echo "not ok blind: its programs cannot be built"; exit 1; }
done
gcc -O1 -g -fno-builtin -static -o static "$here/programs.c" 2>build.err || rm -f static

reasons() { asked "$memtui" info --format json "$1" | python3 -c 'import json, sys
print(",".join(sorted(b["reason"] for b in json.load(sys.stdin)["blind"])))'; }

# said_everywhere TRACE REASON: by JSON, info, report, and check, which is UNKNOWN with status 1
said_everywhere() {
	local why= got
	got=$(reasons "$1")
	[ "$got" = "$2" ] || why+=" JSON says '$got', expected '$2';"
	"$memtui" info "$1" | grep -q '^  not seen: ' || why+=" info does not say it;"
	"$memtui" report "$1" | grep -q '^  not seen: ' || why+=" report does not say it;"
	"$memtui" report "$1" | grep -q 'nothing was lost' && why+=" report says that nothing was lost;"
	"$memtui" check --max-leaked 1G "$1" >check.out
	[ $? = 1 ] || why+=" check has status $?;"
	grep -q '^UNKNOWN' check.out || why+=" check says $(head -n 1 check.out);"
	grep -q '^not seen: ' check.out || why+=" check does not say what was not seen;"
	echo "$why"
}
recorded() { # NAME REASON [OPTION...] PROGRAM
	local name=$1 reason=$2 why=
	shift 2
	"$memtui" record -f -o t.dat "$@" >/dev/null 2>err || why="status $?: $(cat err);"
	grep -q '^memtui: not seen: ' err || why+=" the closing lines do not say it;"
	say "$name" "$why$(said_everywhere t.dat "$reason")"
}
recorded "a malloc of the executable's own" "own allocator" --no-patch ./own_malloc
recorded "an allocator inside the executable" "bundled allocator" --no-patch ./bundled

clean() { # NAME PROGRAM...: nothing is blind, and check passes
	local name=$1 why=
	shift
	"$memtui" record -f -o t.dat -- "$@" >/dev/null 2>err || why="status $?: $(cat err);"
	grep -q 'not seen' err && why+=" the closing lines say $(grep 'not seen' err);"
	[ -z "$(reasons t.dat)" ] || why+=" JSON says $(reasons t.dat);"
	"$memtui" check t.dat >check.out || why+=" check says $(cat check.out);"
	say "$name" "$why"
}
clean "a malloc of the executable's own that calls the next one is seen" ./passes_on

"$memtui" record -f -o none.dat -- ./plain nothing 2>err
"$memtui" check none.dat >check.out
[ $? = 1 ] && grep -q '^UNKNOWN' check.out && why= || why="check says $(cat check.out)"
[ -z "$why" ] && ! grep -q 'no allocation was recorded' check.out && why="it does not say why"
say "no allocation at all passes no check" "$why"

"$memtui" record -f -o t.dat --no-patch -- ./bundled 2>err
"$memtui" check --allow-unseen bundled t.dat >check.out
[ $? = 1 ] && grep -q '^UNKNOWN' check.out && why= || why="check says $(cat check.out)"
say "--allow-unseen makes no pass of a recording without allocations" "$why"

# ---- found while it runs ----
says() { reasons "$1" 2>/dev/null | grep -qx "$2"; }
"$memtui" record -f -o grow.dat -- ./plain grow end >/dev/null 2>err &
until_true says grow.dat "unseen growth" && why= || why="a trace of $(reasons grow.dat) after a minute"
touch end
wait
rm -f end
say "memory that no hook sees: while it grows" "$why"
say "memory that no hook sees: at the end" "$(said_everywhere grow.dat "unseen growth")"

started() { # NAME REASON EXECUTABLE
	"$memtui" record -f -o start.dat -- ./plain start end "$3" >/dev/null 2>err &
	until_true says start.dat "$2" && why= || why="a trace of '$(reasons start.dat)' after a minute"
	touch end
	wait
	rm -f end
	say "$1: while it runs" "$why"
	say "$1: at the end" "$(said_everywhere start.dat "$2")"
	"$memtui" check --allow-unseen "$(basename "$3")" start.dat >check.out && why= ||
		why="check says $(cat check.out)"
	say "$1: accepted by --allow-unseen" "$why"
}
started "a child past the hooks, with an empty environment" "environment cleared" ./passes_on
if [ -x static ]; then
	started "a static child past the hooks" static ./static
else
	echo "skip blind a static child: libc is not there as an archive"
fi

# ---- noted before the exec ----
child() { # NAME REASON PROGRAM...: the closing lines, the root's trace and check tell of it, however short it lives
	recorded "$@"
}
[ -x static ] && {
	child "a static child of sh" static sh -c './static nothing; :'
	child "a static child of bash, which forks first" static bash -c './static nothing; :'
	child "a static program in place of the root" static env ./static nothing
	child "a static child without an environment" static env -i sh -c './static nothing; :'
	"$memtui" record -f -o two.dat -- sh -c './static nothing; ./static nothing; ./static nothing' 2>err
	count=$(asked "$memtui" info --format json two.dat | python3 -c 'import json, sys
print(sum(b["count"] for b in json.load(sys.stdin)["blind"]))')
	[ "$count" = 3 ] && why= || why="$count of 3 processes"
	say "each static child is counted once" "$why"
	# a static root: it is refused in words that say what can be done, and that is so
	cat >starter.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
	int status = argc;
	pid_t child = fork();
	if (!child)
		_exit(execve(argv[1], argv + 1, environ));
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}
C
	gcc -static -o starter starter.c || say "a static root" "its program cannot be built"
	"$memtui" record -o root.dat -- ./starter ./plain >/dev/null 2>err
	[ $? = 1 ] && [ ! -e root.dat ] && grep -q 'is statically linked and cannot be recorded.*programs that it starts: env .*starter$' err && why= || why="$(cat err)"
	"$memtui" record -o root.dat -- $(sed 's/.*: env /env /' err) ./plain >/dev/null 2>err || why+=" with env: status $?: $(cat err)"
	[ "$(cat root.dat.* >/dev/null && "$memtui" info --format json root.dat.* | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["command"], d["allocations"] > 0)')" = "['./plain'] True" ] || why+=" its child is not recorded: $(ls root.dat*)"
	say "a static root" "$why$(said_everywhere root.dat static)"
}
cp plain privileged && chown 65534 privileged 2>/dev/null && chmod 4755 privileged &&
	child "a setuid child" setuid sh -c './privileged nothing; :'
# an executable of 32 bits: its header alone, which the kernel refuses or runs, as it likes
python3 - <<'P'
import struct
e = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
p = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 96, 96, 5, 4096)
code = bytes([0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80])  # exit(0)
open("small", "wb").write((e + p + code).ljust(4096, b"\0"))
P
chmod 755 small
if ./small 2>/dev/null; then
	child "a 32-bit child" "word size" sh -c './small; :'
else
	echo "skip blind a 32-bit child: this kernel runs none"
fi
if command -v musl-gcc >/dev/null; then
	musl-gcc -O1 -fno-builtin -o for_musl "$here/programs.c" 2>build.err &&
		child "a child for another C library" "other libc" sh -c './for_musl nothing; :'
fi

# ---- followed: nothing is blind ----
clean "a child whose environment was cleared" env -i ./passes_on
clean "a child with a library of its own preloaded" env LD_PRELOAD=libc.so.6 ./passes_on
unshare -n true 2>/dev/null && clean "a child in another network namespace" unshare -n ./passes_on
