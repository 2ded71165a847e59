#!/usr/bin/env bash
# follow: what a recorded program executes is recorded, whatever it makes of the environment and of its root; what cannot
# be recorded is noted; and neither shows in its output. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
export MEMTUI_CACHE=$tmp/.names # what is recorded is the question here, not how its functions are called
unset LD_PRELOAD XDG_RUNTIME_DIR
mounted=()
at_exit() { for m in "${mounted[@]}"; do umount -l "$m"; done; }
flags="-Wall -Wextra -Werror -D_GNU_SOURCE -O1 -g -fno-builtin -pthread"
gcc $flags -o ways "$here/ways.c" && gcc $flags -o leaf "$here/leaf.c" && gcc $flags -static -o static "$here/leaf.c" \
	&& gcc -std=gnu11 -D_GNU_SOURCE -O1 -I"$top" -o drain "$top/tests/tracer/drain.c" \
	|| { echo "not ok follow: its programs cannot be built"; exit 1; }

# The same output, errors and status as untraced, and so many traces, of which the last process's (of the leaf) holds its
# 1,000 blocks.
differences() { # TRACES COMMAND...
	local traces=$1 plain traced
	shift
	rm -f t.dat*
	timeout 60 "$@" >plain.out 2>plain.err </dev/null
	plain=$?
	timeout 60 "$memtui" record ${option:-} -o t.dat -- "$@" >traced.out 2>traced.err </dev/null
	traced=$?
	grep -v '^memtui: ' traced.err >rest.err
	[ $plain = $traced ] || echo "status $traced, not $plain;"
	cmp plain.out traced.out 2>&1 || cat traced.out
	cmp plain.err rest.err 2>&1 || cat rest.err
	[ "$(ls t.dat* 2>/dev/null | wc -l)" = "$traces" ] || echo "$(ls t.dat* | wc -l) traces, not $traces: $(cat traced.err)"
}
leaves() { # how many traces hold the blocks of the leaf
	local n=0 f
	for f in t.dat*; do
		[ "$(asked "$memtui" info --format json --function-regex '^keep$' $f 2>/dev/null |
			python3 -c 'import json,sys; print(json.load(sys.stdin)["allocations"])')" != 1000 ] || n=$((n + 1))
	done
	echo $n
}
same() { # NAME TRACES LEAVES COMMAND...
	local name=$1 traces=$2 leaves=$3 why
	shift 3
	why=$(differences "$traces" "$@")
	[ "$(leaves)" = "$leaves" ] || why+=" $(leaves) recorded leaves, not $leaves"
	say "$name" "$why"
}

# ---- each function that executes, with each kind of environment ----
leaf=$tmp/leaf
: >closed
for how in execve execv execvp execvpe execl execlp execle fexecve fexecve-path execveat syscall syscall-at handler-execve \
	handler-execlp fails-execve; do
	why=
	for kind in own none empty read many; do
		[[ $how != fexecve* || $kind != none ]] || continue # EINVAL, by glibc
		said=$(differences 1 ./ways $how $kind "$leaf" a b c)
		[ "$(leaves)" = 1 ] || said+=" not recorded"
		[ -z "$said" ] || why+=" $kind: $said"
	done
	say "$how" "$why"
done
for how in spawn spawnp vfork-execve vfork-execvp fork-execve fork-execv; do
	why=
	for kind in own none empty read many; do
		said=$(differences 2 ./ways $how $kind "$leaf" a b c)
		[ "$(leaves)" = 1 ] || said+=" not recorded"
		[ -z "$said" ] || why+=" $kind: $said"
	done
	say "$how" "$why"
done
same "a signal after every instruction of an exec" 1 1 ./ways stepped-execve read "$leaf" a b
same "8 threads execute at once" 9 8 ./ways threads-execve empty "$leaf" a
same "an error is the kernel's own" 1 0 ./ways fexecve none "$leaf"

# ---- programs that change the environment ----
same "env -i" 2 1 env -i "$leaf"
same "env -i, four times over" 5 1 env -i env -i env -i env -i "$leaf"
same "env -u LD_PRELOAD" 2 1 env -u LD_PRELOAD "$leaf"
same "env -u MEMTUI_SESSION" 2 1 env -u MEMTUI_SESSION "$leaf"
same "an LD_PRELOAD of its own" 2 1 env LD_PRELOAD=libjemalloc.so.2 "$leaf"
same "two of them with a space" 2 1 env "LD_PRELOAD=libjemalloc.so.2 libdl.so.2" "$leaf"
same "one in front of the tracer" 3 1 sh -c "exec env LD_PRELOAD=libjemalloc.so.2:\$LD_PRELOAD $leaf"
same "a session that is named empty is left alone" 1 0 env MEMTUI_SESSION= "$leaf"
option=--no-follow same "--no-follow" 1 0 env -i "$leaf"
option=--no-follow same "--no-follow with the environment as it was" 2 1 env A=b "$leaf"
rm -f t.dat* inner.dat*
"$memtui" record -o t.dat -- "$memtui" record -o inner.dat -- "$leaf" >out 2>err
say "a recording within a recording" "$([ $? = 7 ] && [ -f inner.dat ] || cat err)$(mv inner.dat t.dat; [ "$(leaves)" = 1 ] || echo "the inner one is empty")"

# ---- what cannot be recorded is noted, and says nothing; tests/tracer/drain.c lists the notes ----
notes() { # COMMAND...: runs it below a recorder in miniature: its output, then the notes
	timeout 60 ./drain -l "$lib" ${option:-} -o drained "$@" 2>&1 </dev/null
	sed -n 's/^BLIND //p' drained
}
say "a static program is noted" "$(is "$(notes ./ways execve own "$tmp/static")" "$tmp/static
static: $tmp/static, 1")"
printf '#!%s/static x\n' "$tmp" >script
printf '#!%s/script\n' "$tmp" >script2
chmod +x script script2
say "and the interpreter of a script of a script" "$(is "$(notes ./ways spawn own "$tmp/script2")" "$tmp/static x $tmp/script $tmp/script2
static: $tmp/static, 1")"
say "and one that is found by PATH" "$(is "$(PATH=/nowhere:$tmp:$PATH notes ./ways execlp own static)" "static
static: $tmp/static, 1")"
say "and one that a descriptor leads to" "$(is "$(notes ./ways fexecve-path own static)" "static
static: $tmp/static, 1")"
cp static closed-static # it is static and cannot be executed
printf '\0' | dd of=closed-static bs=1 seek=18 conv=notrunc 2>/dev/null # of no machine
say "a note of an exec that fails is taken back" "$(is "$(notes ./ways execve own "$tmp/closed-static" | sed 's/^word.*, 0$/taken back/')" "taken back")"
say "notes of children are counted" "$(is "$(notes ./ways threads-execve empty "$tmp/static" | sort | uniq -c | sed 's/^ *//')" "8 $tmp/static
1 static: $tmp/static, 8")"
option=-F
say "--no-follow is noted" "$(is "$(notes ./ways execve empty "$leaf")" "$leaf
environment cleared: $leaf, 1")"
say "but not where the environment is as it was" "$(is "$(notes ./ways execve own "$leaf")" "$leaf")"
option=
if [ $root ]; then
	cp leaf other-user; chown 65534 other-user; chmod u+s other-user
	say "a setuid program is noted" "$(is "$(notes ./ways execve empty "$tmp/other-user")" "$tmp/other-user
setuid: $tmp/other-user, 1")"
	chown 0 other-user; chmod u+s other-user
	say "but not one of the same user" "$(is "$(notes ./ways execve empty "$tmp/other-user")" "$tmp/other-user")"
else
	echo "skip setuid programs: needs root"
fi

# ---- other dynamic linkers ----
if as --32 -o environ32.o "$here/environ32.s" 2>/dev/null && ld -m elf_i386 -o loader32 environ32.o \
	&& as --32 -o none32.o /dev/null && ld -m elf_i386 -shared -o libnone32.so none32.o \
	&& ld -m elf_i386 -pie --dynamic-linker "$tmp/loader32" -o narrow environ32.o libnone32.so && ./narrow >/dev/null; [ $? = 7 ]; then
	said=$(notes ./ways execve own "$tmp/narrow")
	say "a 32-bit program gets no library and is noted" "$(echo "$said" | grep -q '^MEMTUI_SESSION=' || echo "no session;")$(echo "$said" | grep -a libmemtui)$(
		is "$(echo "$said" | tail -n 1)" "word size: $tmp/narrow, 1")"
	option=; why=$(differences 0 ./ways execve read "$tmp/narrow" | grep -v -e differ -e LD_PRELOAD=/nowhere -e 1c1)
	LD_PRELOAD=libjemalloc.so.2 KEPT=1 ./drain -l "$lib:libjemalloc.so.2" -o drained ./ways execve own "$tmp/narrow" >out 2>&1
	say "what else is in its LD_PRELOAD stays" "$(is "$(grep LD_PRELOAD out)" "LD_PRELOAD=libjemalloc.so.2")"
else
	echo "skip 32-bit programs: cannot be linked or run here"
fi
loader=$(readelf -lW leaf | sed -n 's/.*interpreter: \(.*\)]/\1/p')
needed=$(objdump -T "$lib" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)
say "the tracer knows which glibc it needs" "$(grep -q "LIBC_NEEDED \"$needed\"" "$top/preload/process/exec_target.c" || echo "$needed, not as in preload/process/exec_target.c")"
as -o environ64.o "$here/environ64.s" && ld -o loader64 environ64.o && gcc $flags -Wl,--dynamic-linker="$tmp/loader64" -o old "$here/leaf.c"
said=$(notes ./ways execve own "$tmp/old")
say "a program of another or an older libc gets no library and is noted" "$(echo "$said" | grep -q '^MEMTUI_SESSION=' || echo "no session;")$(
	echo "$said" | grep -a libmemtui)$(is "$(echo "$said" | tail -n 1)" "other libc: $tmp/old, 1")"
cp "$loader" new-loader
gcc $flags -Wl,--dynamic-linker="$tmp/new-loader" -o new "$here/leaf.c"
same "a dynamic linker of its own that is as new" 1 1 ./ways execve empty "$tmp/new"
same "a dynamic linker that is given a program" 2 1 env -i "$loader" "$leaf"
if command -v musl-gcc >/dev/null; then
	cat >musl-runs.c <<'C'
#include <unistd.h>
int main(int argc, char **argv) { (void)argc; execv(argv[1], argv + 1); return 126; }
C
	musl-gcc -o musl-runs musl-runs.c
	say "a program for musl is noted, what it starts is recorded" "$(is "$(notes ./ways execve empty "$tmp/musl-runs" "$leaf")" "$leaf
other libc: $tmp/musl-runs, 1")$(is "$(grep -c ^IMAGE drained)" 2)"
else
	echo "skip programs for musl: no musl-gcc"
fi

# ---- other roots and namespaces ----
make_root() { # DIRECTORY: the leaf, and what it needs
	mkdir -p "$1/proc"
	cp leaf ways "$1"
	for f in $(ldd leaf ways | grep -o '/[^ ]*lib[^ ]*' | sort -u); do
		mkdir -p "$1$(dirname "$f")"
		cp -L "$f" "$1$f"
	done
}
[ ! $root ] || make_root bare
if [ $root ] && unshare -mn true 2>/dev/null; then
	make_root whole
	mount -t proc proc whole/proc && mounted+=("$tmp/whole/proc")
	same "chroot with /proc" 2 1 chroot whole /leaf a b
	same "chroot with /proc, and env -i in it" 2 1 chroot whole /ways execve empty /leaf a b
	same "chroot without /proc" 1 0 chroot bare /leaf a b
	say "is noted" "$(is "$(notes chroot bare /leaf)" "/leaf
no library in its root: /leaf, 1")"
	mkdir -p "copied/$(dirname "$lib")"
	make_root copied
	cp "$lib" "copied/$lib"
	same "chroot with a copy of the library" 2 1 chroot copied /leaf
	same "unshare -n" 2 1 unshare -n "$leaf"
	same "unshare -n, env -i and chroot at once" 4 1 env -i "$(command -v unshare)" -n "$(command -v chroot)" whole /leaf
	same "unshare -m with the library hidden" 4 1 unshare -m sh -c "mount -t tmpfs none $build && exec $leaf"
	same "unshare -p" 3 1 unshare -fp env -i "$leaf"
	same "unshare -p --mount-proc" 3 1 unshare -fp --mount-proc env -i "$leaf"
	# The recorder is killed while a program goes on that has the library from its descriptor.
	mkfifo go
	rm -f err # what stands there was said by the program before
	cp /bin/sh whole/sh
	for f in $(ldd /bin/sh | grep -o '/[^ ]*lib[^ ]*'); do mkdir -p "whole$(dirname "$f")"; cp -L "$f" "whole$f"; done
	"$memtui" record -o gone.dat -- chroot whole /sh -c 'echo "$MEMTUI_SESSION $LD_PRELOAD" >&2; read x; exec /leaf' <go >out 2>err & front=$!
	exec 7>go
	until_true grep -q ' /.*libmemtui\|/fd/' err
	read -r recorder library <<<"$(sed -n 's/^[^ ]*:0*\([0-9]*\)\.[0-9]*\.[0-9]*[^ ]* /\1 /p' err)"
	kill -9 $recorder
	while kill -0 $recorder 2>/dev/null; do :; done
	echo >&7
	exec 7>&-
	wait $front
	say "nothing is said of the library of a recorder that is gone" "$(is "$library" /proc/$recorder/fd/${library##*/})$(is "$(cat out)" /leaf)$(sed 1d err | grep -v ^memtui:)"
else
	echo "skip other roots and namespaces: needs root"
fi

# ---- user namespaces: who is in another one may not look at the recorder's descriptors ----
blind() { # COMMAND that runs the leaf: what was not seen; and what a check says that does not know of it
	local f seen
	rm -f t.dat*
	timeout 60 "$memtui" record -o t.dat -- "$@" >traced.out 2>traced.err </dev/null
	is "status $?" "status 7"
	for f in t.dat*; do
		seen=$("$memtui" info --format json $f 2>/dev/null | python3 -c 'import json,sys
for b in json.load(sys.stdin)["blind"]: print(b["reason"] + ": " + b["path"] + ", " + str(b["count"]))')
		[ -n "$seen" ] || continue
		echo "$seen"
		"$memtui" check --max-leaked 1G $f >check.out
		grep -q ^UNKNOWN check.out || cat check.out
	done
}
if unshare -Urmn true 2>/dev/null; then
	same "unshare -r" 2 1 unshare -r "$leaf"
	same "unshare -rm" 2 1 unshare -rm "$leaf"
	same "unshare -rn" 2 1 unshare -rn "$leaf"
	same "unshare -Un, without a name for the user" 2 1 unshare -Un "$leaf"
	same "unshare -rmn, and env -i" 3 1 unshare -rmn env -i "$leaf"
	same "unshare -rpn" 3 1 unshare -rpfn --mount-proc "$leaf"
	say "unshare -rmn with the socket hidden is noted" "$(is "$(blind unshare -rmn sh -c 's=${MEMTUI_SESSION##*:}; mount -t tmpfs none "${s%/*}" && exec "$0"' "$leaf")" "recorder out of reach: $leaf, 1")$(
		is "$(cat traced.out)" "$leaf")"
	[ ! -d bare ] || say "unshare -rn with a root of its own is noted" "$(is "$(blind unshare -rn chroot bare /leaf)" "no library in its root: /leaf, 1")"
	if [ $root ]; then
		mkdir -m 777 other
		cp leaf other
		chmod 755 "$tmp"
		(cd other && timeout 60 setpriv --reuid 1000 --regid 1000 --clear-groups "$memtui" record -o t.dat -- unshare -rn ./leaf >../out 2>../err </dev/null)
		rm -f t.dat*; mv other/t.dat* . 2>/dev/null
		say "unshare -rn of another user" "$(is "$(leaves)" 1)$(is "$(cat out)" ./leaf)$(grep -v ^memtui: err)"
	fi
else echo "skip user namespaces: there are none to be had"; fi
if command -v bwrap >/dev/null && bwrap --dev-bind / / --unshare-all true 2>/dev/null; then
	same "bwrap" 3 1 bwrap --dev-bind / / "$leaf"
	same "bwrap --unshare-all" 3 1 bwrap --dev-bind / / --unshare-all "$leaf"
	same "bwrap --unshare-all, nothing to be written" 3 1 bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all "$leaf"
	say "bwrap with the socket hidden is noted" "$(is "$(blind bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all --tmpfs /tmp --ro-bind "$tmp" "$tmp" \
		--ro-bind "$build" "$build" "$leaf")" "recorder out of reach: $leaf, 1")"
else echo "skip bwrap: it is not there"; fi

# ---- the second socket's file goes with the recorder, or with the next one of the user ----
mkdir -m 700 run
session() { XDG_RUNTIME_DIR=$tmp/run "$memtui" record -f -o socket.dat -- "$@"; }
session sh -c 'echo "$MEMTUI_SESSION"; ls -ld "$XDG_RUNTIME_DIR"/*; ls -l "$XDG_RUNTIME_DIR"/*/' >out 2>err
say "the socket is its user's alone" "$(grep -q "^[^:]*:[0-9a-f]*:[0-9.]*:$tmp/run/memtui-....../s$" out && grep -q '^drwx------.*/run/memtui-' out && grep -q '^srw-------.* s$' out || cat out)"
say "nothing is left of it" "$(ls run)"
session /nowhere/at/all >out 2>err
say "nor where the program cannot be started" "$(ls run)"
mkfifo wait
session sh -c 'echo "$MEMTUI_SESSION"; read x; echo "and $x"' <wait >out 2>err & front=$!
exec 7>wait
until_true grep -q memtui out
kill -9 "$(sed -n 's/^[^ ]*:0*\([0-9]*\)\..*/\1/p' out)"
echo on >&7
exec 7>&-
wait $front
left=$(ls -d run/*/s)
mkdir run/memtui-empty0 run/memtui-notour; touch run/memtui-notour/file
session true >/dev/null 2>&1
say "a socket that was left may be one that begins" "$([ -S "$left" ] || echo "$left is gone")"
touch -d '2 minutes ago' "$left" run/memtui-*
session true >/dev/null 2>&1
say "the next recorder removes what a killed one has left" "$(is "$(ls run) $(ls run/*)" "memtui-notour file")$(is "$(tail -n 1 out)" "and on")"

# ---- stand-alone ----
alone() { # NAME FILES COMMAND...
	local name=$1 files=$2
	shift 2
	rm -f t.dat* m.mem*
	LD_PRELOAD=$lib MEMTUI_OUTPUT=$tmp/m.mem "$@" >out 2>err
	for f in m.mem*; do [ ! -e $f ] || mv $f t.dat${f#m.mem}; done
	say "$name" "$(is "$(ls t.dat* 2>/dev/null | wc -l) $(leaves)" "$files")$(cat err)"
}
alone "stand-alone: env -i" "2 1" env -i "$leaf"
alone "stand-alone: an LD_PRELOAD of its own" "2 1" env LD_PRELOAD=libjemalloc.so.2 "$leaf"
alone "stand-alone: an empty MEMTUI_OUTPUT is left alone" "1 0" env MEMTUI_OUTPUT= "$leaf"
export MEMTUI_NO_FOLLOW=1
alone "stand-alone: MEMTUI_NO_FOLLOW" "1 0" env -i "$leaf"
unset MEMTUI_NO_FOLLOW
[ ! $root ] || alone "stand-alone: chroot" "1 0" chroot bare /leaf

# ---- allocations that pass by the name malloc ----
gcc $flags -o names "$here/names.c" && gcc $flags -DPROGRAM -O2 -o own "$here/on_libc.c" && gcc $flags -O2 -fPIC -shared -o wrap.so "$here/on_libc.c" \
	&& sed 's/^void \*malloc/#ifdef PROGRAM_DEFINES\n&/; s/^#ifdef PROGRAM$/#endif\n\nextern void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t); extern void free(void *);\n&/' "$here/on_libc.c" >plain.c \
	&& gcc $flags -DPROGRAM -O2 -o plain plain.c || { echo "not ok follow: its programs cannot be built"; exit 1; }
counts() { # COMMAND...: allocations and frees below keep, reallocs, all of unknown blocks
	rm -f t.dat*
	"$memtui" record -o t.dat -- "$@" >out 2>&1 || echo "status $?: $(cat out)"
	asked "$memtui" info --format json --function-regex '^keep$' t.dat | python3 -c 'import json,sys
i = json.load(sys.stdin)
print(i["allocations"], i["reallocations"], i["frees"], i["leaked_count"])'
}
for how in libc handle version early default; do
	say "names: $how" "$(is "$(counts ./names $how)" "1000 0 0 1000")"
done
say "a plain program" "$(is "$(counts ./plain)" "1100 100 100 1000")"
say "a program's own malloc on __libc_malloc" "$(is "$(counts ./own)" "1100 100 100 1000")"
say "a library's is counted once" "$(is "$(LD_PRELOAD=$tmp/wrap.so counts ./plain)" "1100 100 100 1000")"
say "glibc's names beside jemalloc" "$(is "$(LD_PRELOAD=libjemalloc.so.2 counts ./names libc)" "1000 0 0 1000")"
say "libc's malloc by its handle beside jemalloc" "$(is "$(LD_PRELOAD=libjemalloc.so.2 counts ./names handle)" "1000 0 0 1000")"
