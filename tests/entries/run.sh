#!/bin/bash
# entries: allocators that a program carries inside itself, recorded by entries of their functions that lead to the tracer
# (doc/entry-patches.md). The programs count their own calls. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
[ "$(uname -m)" = x86_64 ] || { skip all "entries are patched on x86-64 only"; exit 0; }
scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)
most=2
[ -z "$root" ] || most=3
[ "$scope" -lt $most ] || { skip all "ptrace is forbidden here (kernel.yama.ptrace_scope=$scope)"; exit 0; }

# What the trace says of blocks that main and its threads asked for themselves, in the words of the program
seen() { # TRACE
	"$memtui" groups --format json "$1" 2>err | python3 -c 'import json, sys
groups = [g["all"] for g in json.load(sys.stdin) if g["backtrace"] and g["backtrace"][0]["function"] in ("main", "work", "free_of_size")]
print("allocated", sum(g["allocated_count"] for g in groups), sum(g["size"] for g in groups))
print("live", sum(g["leaked_count"] for g in groups), sum(g["leaked_size"] for g in groups))'
}
blind() { "$memtui" info --format json "$1" | python3 -c 'import json, sys
print(",".join(b["reason"] for b in json.load(sys.stdin)["blind"]))'; }

number=0
for options in "-O2 -DOWN" "-Os -DOWN -no-pie -fno-pie" "-O0" "-O1 -fcf-protection=full" "-O2" "-O3 -fcf-protection=none" "-O2 -DEXPORTED -rdynamic" "-Os -fno-pie -no-pie"; do
	number=$((number + 1))
	gcc -g $options -fno-builtin -pthread -o bundled$number "$here/bundled.c" || { not_ok "$options" "cannot be built"; continue; }
	rm -f t.dat*
	"$memtui" record -f -o t.dat -- ./bundled$number truth truth.child >out 2>err || not_ok "$options" "status $?: $(cat err)"
	say "$options: equal to the program's own counts" "$(is "$(seen t.dat)" "$(cat truth)")"
	say "$options: nothing was hidden" "$(is "$(blind t.dat)" "")$(grep "not seen" err)"
	say "$options: a forked child goes on" "$(is "$(seen t.dat.* | grep alloc)" "$(cat truth.child)")"
done

# Stripped: the symbols are in a separate file, by name or by build-id, which lies beside the program here and in .debug there
gcc -g -O2 -fno-builtin -pthread -o bundled "$here/bundled.c"
for how in beside .debug/; do
	[ $how = beside ] && place= || place=$how
	mkdir -p stripped/$place
	objcopy --only-keep-debug bundled stripped/${place}bundled.debug
	(cd stripped/$place. && objcopy --strip-all --add-gnu-debuglink=bundled.debug "$tmp/bundled" "$tmp/stripped/bundled")
	rm -f t.dat*
	"$memtui" record -f -o t.dat -- stripped/bundled truth >out 2>err || not_ok "stripped, $how" "status $?: $(cat err)"
	say "stripped, with a debug file $how: equal to the program's own counts" "$(is "$(seen t.dat)" "$(cat truth)")$(is "$(blind t.dat)" "")"
	rm -rf stripped
done
mkdir stripped
objcopy --strip-all bundled stripped/bundled
rm -f t.dat*
"$memtui" record -f -o t.dat -- stripped/bundled truth >out 2>err
say "stripped, without a debug file: nothing is seen" "$(is "$(field t.dat patched_functions)" 0)"
"$memtui" record -f -o t.dat -- sh -c './bundled truth; :' >out 2>err
say "an executed child" "$(is "$(seen t.dat.*)" "$(cat truth)")"
"$memtui" record -f --no-patch -o t.dat -- ./bundled truth >out 2>err
say "--no-patch leaves the program alone" "$(is "$(seen t.dat)" "allocated 0 0
live 0 0")$(is "$(blind t.dat)" "bundled allocator")"

# Allocations, reallocations and leaks of each function that main called, most leaked first; then the errors
functions() {
	"$memtui" groups --format json t.dat 2>err | python3 -c 'import json, sys
print(*(f"""{g["kind"]} {g["all"]["allocated_count"]} {g["all"]["leaked_size"]};""" for g in json.load(sys.stdin)
        if any(f["function"] == "main" for f in g["backtrace"])))'
	"$memtui" errors t.dat | head -n 3 | awk '{ print $1 }' | tr '\n' ' '
}
for options in "-O0" "-O2" "-O2 -DOPERATORS"; do
	g++ -g $options -fno-builtin -o own_malloc "$here/own_malloc.cc" 2>build.err || { not_ok "own_malloc $options" "cannot be built"; continue; }
	"$memtui" record -f -o t.dat -- ./own_malloc >out 2>err
	say "own malloc below operators, $options: each call is one block" "$(is "$(functions)" "new 100 50000; new[] 100 15000; malloc 10 0;
0 0 0 ")$(is "$(blind t.dat)" "")"
done
for library in jemalloc tcmalloc_minimal; do
	archive=$(g++ -print-file-name=lib$library.a)
	[ -f "$archive" ] || { skip "$library" "lib$library.a is not installed"; continue; }
	g++ -g -O1 -fno-builtin -pthread -DLIBRARY -o with_$library "$here/own_malloc.cc" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -ldl -lm \
		2>build.err || { not_ok "$library" "cannot be linked: $(head -n 2 build.err)"; continue; }
	"$memtui" record -f -o t.dat -- ./with_$library >out 2>err
	# where delete and free are one function under two names, all are taken for the plain family
	got=$(functions) why=
	[ "$got" = "malloc 100 50000; malloc 100 15000; malloc 10 0;
0 0 0 " ] || why=$(is "$got" "new 100 50000; new[] 100 15000; malloc 10 0;
0 0 0 ")
	say "$library linked in" "$why$(is "$(blind t.dat)" "")"
done
# Functions that only have such names, with more arguments than an allocator's have: they are left alone.
cat >named.c <<'END'
#include <stdio.h>
static __attribute__((noipa, noinline)) long free_(long a, long b, long c, long d, long e, long f) { return a + b + c + d + e + f; }
static long mallocx(long a, long b, long c, long d, long e, long f) __attribute__((noipa, noinline));
static long mallocx(long a, long b, long c, long d, long e, long f) { return free_(a, b, c, d, e, f) * 2; }
void *je_malloc(unsigned long size);
static char memory[4096];
__attribute__((noipa)) void *je_malloc(unsigned long size) { static unsigned long used; used += size; return memory + used - size; }
int main(void) { printf("%ld %d\n", mallocx(1, 2, 3, 4, 5, 6), je_malloc(10) == memory); return 0; }
END
gcc -O1 -g -o named named.c || not_ok "named" "cannot be built"
"$memtui" record -f -o t.dat -- ./named >out 2>err
say "a local function with a common name is left alone" "$(is "$(cat out)" "42 1")$(is "$(blind t.dat)" "")"
# The service looks at programs from the recorder's first moment on.
failed=
for ((i = 0; i < 150; i++)); do
	rm -f t.dat
	"$memtui" record -f -o t.dat -- /bin/true >/dev/null 2>err || failed="status $?: $(cat err)"
	[ -s t.dat ] || failed="$(cat err)"
done
say "150 programs that ask at once" "$failed"
printf 'static void je_free(void *p) { (void)p; }\nvoid another(void *p);\nvoid another(void *p) { je_free(p); }\n' >another.c
gcc -g -O0 -fno-builtin -pthread -o ambiguous "$here/bundled.c" another.c
rm -f t.dat.*
"$memtui" record -f -o t.dat -- ./ambiguous truth >out 2>err
say "two functions with one name: none is patched" "$(is "$(seen t.dat)" "allocated 0 0
live 0 0")$(is "$(blind t.dat)" "bundled allocator")"

# ---- Rust: mimalloc as the global allocator; with jemalloc it takes minutes to build (MEMTUI_RUST=jemalloc) ----
of_work() { # TRACE
	"$memtui" groups --format json --no-builtin-suppressions "$1" 2>err | python3 -c 'import json, sys
groups = [g["all"] for g in json.load(sys.stdin) if any(f["function"] == "work" for f in g["backtrace"] or [])]
print("allocated", sum(g["allocated_count"] for g in groups), sum(g["size"] for g in groups))
print("live", sum(g["leaked_count"] for g in groups))'
}
for feature in ${MEMTUI_RUST:-mimalloc}; do
	command -v cargo >/dev/null || { skip "rust $feature" "cargo is not installed"; continue; }
	mkdir -p own && cp "$here/own.rs" "$here/Cargo.toml" own
	(cd own && cargo build -q --release --offline --features $feature --target-dir "$build/tests/rust-$feature") 2>build.err || {
		skip "rust $feature" "cannot be built from cargo's registry: $(grep -m 1 error build.err)"
		continue
	}
	rm -f t.dat*
	"$memtui" record -f -o t.dat -- "$build/tests/rust-$feature/release/own" >out 2>err
	say "rust $feature" "$(is "$(of_work t.dat)" "$(cat out)")$(is "$(blind t.dat)" "")"
done

# ---- libraries: loaded at the start, opened, closed and opened again; several at once; other names ----
library() { # NAME FLAGS...: lib NAME.so
	local name=$1
	shift
	gcc -g -O1 -fPIC -shared -fno-builtin "$@" -o "lib$name.so" "$here/library.c" || not_ok "$name" "cannot be built"
}
library one
library two -O2
library three -O0 -fcf-protection=full
library four
library named -DNAMED
gcc -g -O1 -pthread -o host "$here/host.c" -ldl
# one that is there at the start begins before the tracer does: its constructor would not be seen
library quiet -DQUIET
gcc -g -O1 -pthread -DLINKED -o linked "$here/host.c" ./libquiet.so
counted() { # TRACE: what the trace says of the libraries
	"$memtui" groups --format json --no-builtin-suppressions "$1" 2>err | python3 -c 'import json, sys
groups = [g["all"] for g in json.load(sys.stdin) if g["backtrace"] and any(f["function"] in ("work", "begin") for f in g["backtrace"])]
print("allocated", sum(g["allocated_count"] for g in groups), sum(g["size"] for g in groups))
print("live", sum(g["leaked_count"] for g in groups))'
}
library_case() { # NAME BLIND PROGRAM...
	local name=$1 reasons=$2
	shift 2
	rm -f t.dat*
	timeout 60 "$memtui" record -f -o t.dat "${extra[@]}" -- "$@" >out 2>err || not_ok "$name" "status $?: $(cat err)"
	say "$name" "$(is "$(counted t.dat)" "$(cat out)")$(is "$(blind t.dat)" "$reasons")"
}
extra=()
library_case "a library that is loaded at the start" "" ./linked
library_case "libraries that are opened, while threads run" "" ./host ./libone.so ./libtwo.so ./libthree.so
library_case "a library that is closed and opened again" "" ./host ./libone.so - ./libone.so - ./libtwo.so - ./libone.so - \
	./libthree.so - ./libfour.so
library_case "a library beside one that was there" "" ./linked ./libtwo.so
rm -f t.dat*
"$memtui" record -f -o t.dat -- ./host ./libone.so ./libtwo.so ./libthree.so ./libfour.so >out 2>err
say "one library more than there are hooks for: it is said" "$(is "$(blind t.dat)" "bundled allocator")"
extra=(--allocator-functions "malloc=arena_get calloc=arena_zero realloc=arena_grow free=arena_put usable_size=arena_size")
library_case "functions that are named, in a library" "" ./host ./libnamed.so
extra=(--allocator-functions "prefix=arena_ malloc=arena_get free=arena_put realloc=arena_grow object=named")
library_case "functions of a library that is named" "" ./host ./libone.so ./libnamed.so
objcopy --only-keep-debug libnamed.so libnamed.so.debug && objcopy --strip-all --add-gnu-debuglink=libnamed.so.debug libnamed.so
library_case "functions that only the debug file names" "" ./host ./libnamed.so
"$memtui" record -f -o t.dat --allocator-functions "malloc=arena_get free=no_such" -- ./host ./libnamed.so >out 2>err
say "a function that is missing: none is patched, and it is said" "$(is "$(counted t.dat)" "allocated 0 0
live 0")$(is "$(blind t.dat)" "bundled allocator")$("$memtui" info t.dat | grep -qF "has no function no_such, which" || "$memtui" info t.dat)"
"$memtui" record -f -o t.dat --allocator-functions "malloc=nowhere free=no_such" -- ./host ./libone.so >out 2>err
say "functions that no module has: it is said" "$(is "$(blind t.dat)" "functions not found")"

outstanding() { # OPTIONS...: what leaks says of the library's blocks
	rm -f l.dat
	"$memtui" leaks --combined-only --output l.dat "$@" -- ./host ./libnamed.so >leaks.out 2>leaks.err
	counted l.dat | sed -n 2p
}
want=$(./host ./libnamed.so | sed -n 2p)
say "leaks --allocator-functions" "$(is "$(outstanding "${extra[@]}")" "$want")"
library prefixed -DNAMED -Darena_get=pre_malloc -Darena_put=pre_free -Darena_zero=pre_calloc -Darena_grow=pre_realloc
mv libprefixed.so libnamed.so
say "leaks -O --symbols-prefix" "$(is "$(outstanding -O named --symbols-prefix pre_)" "$want")"
say "leaks -O of another library" "$(is "$(outstanding -O other --symbols-prefix pre_)" "live 0")"
library named -DNAMED

# ---- the same in processes that run ----
attached_case() { # NAME PROGRAM...: the program says that it is ready, and waits
	local name=$1 process line why=
	shift
	rm -f t.dat* in out2
	mkfifo in out2
	"$@" <in >out2 2>process.err &
	process=$!
	exec 6>in 7<out2
	read -rt 60 line <&7
	"$memtui" record -f -p "$process" -o t.dat "${extra[@]}" >err 2>&1 </dev/null &
	front=$!
	has_begun() { grep -qs '^memtui: recording process' err || ! kill -0 "$front" 2>/dev/null; }
	until_true has_begun
	echo >&6
	cat <&7 >out
	exec 6>&- 7<&-
	wait "$process" || why="the program ended with $?; "
	wait "$front" || why+="the recording ended with $?: $(cat err)"
	say "$name" "$why$(is "$($what t.dat)" "$(cat out)")$(is "$(blind t.dat)" "")"
}
what=counted
library quiet_named -DQUIET -DNAMED
gcc -g -O1 -pthread -DLINKED -o linked_named "$here/host.c" ./libquiet_named.so
extra=()
attached_case "attached: a library with an allocator" ./linked -w
extra=(--allocator-functions "malloc=arena_get calloc=arena_zero realloc=arena_grow free=arena_put usable_size=arena_size")
attached_case "attached: functions that are named" ./linked_named -w
extra=() what=of_work
for feature in ${MEMTUI_RUST:-mimalloc}; do
	own=$build/tests/rust-$feature/release/own
	[ ! -x "$own" ] || attached_case "attached: rust $feature" "$own" -w
done
extra=(--allocator-functions "malloc=arena_get free=arena_put")
sleep 1000 &
sleeper=$!
"$memtui" record -f -p $sleeper -o t.dat "${extra[@]}" >err 2>&1
say "attached: functions that no module has are refused" "$(is $? 1)$(grep -qF "no module of the process has the functions" err || cat err)"
kill $sleeper
exit $bad
