#!/usr/bin/env bash
# patch: entries of functions that lead to hooks (doc/entry-patches.md), executed; and every function of large libraries,
# of which each is refused or repeated faithfully. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
[ "$(uname -m)" = x86_64 ] || { skip all "entries can be patched on x86-64 only"; exit 0; }
flags=(-std=gnu11 -D_GNU_SOURCE -O1 -g -I"$top" ${TEST_CFLAGS:-})
gcc "${flags[@]}" -pthread -rdynamic -o self "$here/self.c" "$here/forms.S" "$build/libcore.a" -lZydis &&
	gcc "${flags[@]}" -o corpus "$here/corpus.c" "$build/libcore.a" -lZydis -lelf ||
	{ echo "not ok patch: its programs cannot be built"; exit 1; }

# runs NAME COMMAND...: ok with its last line if it succeeds, else with what was wrong
runs() {
	local name=$1
	shift
	if "$@" >"$name.out" 2>&1; then ok "$name: $(tail -n 1 "$name.out")"; else not_ok "$name" "status $?: $(grep -m 3 wrong "$name.out" || tail -n 2 "$name.out")"; fi
}
# library NAME: the file that the dynamic linker would take
library() { /sbin/ldconfig -p | sed -n "s/.*[[:space:]]$1 (.*x86-64.*=> //p" | head -n 1; }

export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192 # jemalloc and mimalloc, opened late, need room for thread-local data
runs forms ./self forms
family="malloc free calloc realloc memalign posix_memalign aligned_alloc malloc_usable_size"
with() { for f in $family; do echo "$1$f"; done; }
# file, prefix of its functions, and the functions that must be patched
each() {
	local name=$1 prefix=$2 file
	shift 2
	file=$(library "$name")
	[ "$file" ] || { skip "$name" "it is not installed"; return; }
	[ "$prefix" = - ] || runs "calls-$name${prefix:+-$prefix}" ./self "$name" "$prefix"
	runs "corpus-$name" ./corpus "$file" "$@"
}
each libc.so.6 "" $(with "")
each libjemalloc.so.2 "" $(with "") mallocx dallocx rallocx sdallocx
each libmimalloc.so.2 mi_ $(with "") mi_malloc mi_free mi_calloc mi_realloc
each libtcmalloc_minimal.so.4 tc_ $(with "") tc_malloc tc_free tc_calloc tc_realloc
each libstdc++.so.6 - _Znwm _ZdlPv _Znam _ZdaPv
python=$(python3 -c 'import os, sys, sysconfig
shared = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
print(shared if sysconfig.get_config_var("Py_ENABLE_SHARED") and os.path.exists(shared) else sys.executable)' 2>/dev/null)
if [ "$python" ]; then runs corpus-python3 ./corpus "$python" PyObject_Malloc PyObject_Free PyMem_RawMalloc; else skip corpus-python3 "there is no python3"; fi
musl=/usr/lib/x86_64-linux-musl/libc.so
if [ -f "$musl" ]; then runs corpus-musl ./corpus "$musl" malloc free calloc realloc aligned_alloc; else skip corpus-musl "musl is not installed"; fi
exit "$bad"
