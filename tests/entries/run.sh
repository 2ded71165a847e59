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
groups = [g["all"] for g in json.load(sys.stdin) if g["backtrace"] and g["backtrace"][0]["function"] in ("main", "work")]
print("allocated", sum(g["allocated_count"] for g in groups), sum(g["size"] for g in groups))
print("live", sum(g["leaked_count"] for g in groups), sum(g["leaked_size"] for g in groups))'
}
blind() { "$memtui" info --format json "$1" | python3 -c 'import json, sys
print(",".join(b["reason"] for b in json.load(sys.stdin)["blind"]))'; }

number=0
for options in "-O0" "-O1 -fcf-protection=full" "-O2" "-O3 -fcf-protection=none" "-Os -fno-pie -no-pie"; do
	number=$((number + 1))
	gcc -g $options -fno-builtin -pthread -o bundled$number "$here/bundled.c" || { not_ok "$options" "cannot be built"; continue; }
	rm -f t.dat*
	"$memtui" record -f -o t.dat -- ./bundled$number truth truth.child >out 2>err || not_ok "$options" "status $?: $(cat err)"
	say "$options: equal to the program's own counts" "$(is "$(seen t.dat)" "$(cat truth)")"
	say "$options: nothing was hidden" "$(is "$(blind t.dat)" "")$(grep "not seen" err)"
	say "$options: a forked child goes on" "$(is "$(seen t.dat.* | grep alloc)" "$(cat truth.child)")"
done

gcc -g -O2 -fno-builtin -pthread -o bundled "$here/bundled.c"
"$memtui" record -f -o t.dat -- sh -c './bundled truth; :' >out 2>err
say "an executed child" "$(is "$(seen t.dat.*)" "$(cat truth)")"
"$memtui" record -f --no-patch -o t.dat -- ./bundled truth >out 2>err
say "--no-patch leaves the program alone" "$(is "$(seen t.dat)" "allocated 0 0
live 0 0")$(is "$(blind t.dat)" "bundled allocator")"
printf 'static void je_free(void *p) { (void)p; }\nvoid another(void *p);\nvoid another(void *p) { je_free(p); }\n' >another.c
gcc -g -O0 -fno-builtin -pthread -o ambiguous "$here/bundled.c" another.c
rm -f t.dat.*
"$memtui" record -f -o t.dat -- ./ambiguous truth >out 2>err
say "two functions with one name: none is patched" "$(is "$(seen t.dat)" "allocated 0 0
live 0 0")$(is "$(blind t.dat)" "bundled allocator")"
exit $bad
