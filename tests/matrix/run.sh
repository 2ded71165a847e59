#!/usr/bin/env bash
# matrix: every allocation function in every way it can go, every way to die, every fault: exact counts, and the
# program's output, status and errno as without a tracer.
set -u
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$here/common.sh"

build_all() {
	gcc -O1 -g -shared -fPIC -o "$tmp/libdeath.so" "$here/death_library.c" &&
		build_c death -L"$tmp" -ldeath -Wl,-rpath,"$tmp" && build_cc death_cc && build_c api && build_cc api_cc && build_c fault
}
build_all || { echo "not ok matrix: its programs cannot be built"; exit 1; }
exec 2>"$tmp/noise" # the shell's words on each process that was killed

# ---- the functions ----
python3 -c 'for i in range(1000): print("x" * (i * i % 3001))' >"$tmp/lines"
matrix() { # NAME PROGRAM...
	local name=$1
	shift
	record "$@"
	say "$name" "$(same)$(compare)"
}
matrix "functions of C" "$tmp/api" "$tmp/lines"
matrix "functions that libc allocates in" "$tmp/api" "$tmp/lines" libc
matrix "cfree" "$tmp/api" "$tmp/lines" cfree
matrix "operators of C++" "$tmp/api_cc"

# ---- the ways to die ----
for how in return exit _exit _Exit quick_exit abort segv kill term assert overflow overflow_handled exec_fails main_ends \
	thread_exits threads_killed fork vfork vfork_exec posix_spawn tls atexit at_quick_exit library cancel; do
	matrix "dies by $how" "$tmp/death" $how
done
for how in throws terminate thread_local; do matrix "dies by $how" "$tmp/death_cc" $how; done
# exec: the image that was replaced has a trace of its own
for how in exec threads_exec; do
	rm -f "$tmp"/t.dat*
	record "$tmp/death" $how
	why=$(same)
	grep -v case_late "$tmp/have" >"$tmp/before"
	grep case_late "$tmp/have" >"$tmp/after"
	first=$(ls "$tmp"/t.dat.exec* 2>/dev/null | head -n 1)
	why+=$(python3 "$here/compare.py" "$memtui" "${first:-none}" "$tmp/before" 2>&1 | tail -n 1)
	say "dies by $how" "$why$(python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/after" 2>&1 | tail -n 1)"
done

# ---- faults of the program's making: it must not see that it is traced, and the counts are exact ----
fault() { # NAME ARGUMENT...
	local name=$1
	shift
	record "$tmp/fault" "$@"
	say "$name" "$(same)$(python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/truth" 2>&1 | tail -n 1)"
}
fault "5,000 threads in waves of 50" threads 5000 50
fault "200 threads at once" threads 200 200
fault "address space full" full
for how in 0 3 close_range fcloseall; do fault "closes descriptors: $how" descriptors $how; done
for what in nofile fsize nproc stack core memlock data sigpending cpu; do fault "sets limit: $what" limits $what; done
for how in prctl syscall syscall_prctl tsync listener; do
	for policy in kill eperm bad; do fault "system-call filter: $how, $policy" sealed $how $policy 100000; done
done
fault "system-call filter: strict" sealed strict "" 100000
fault "time-stamp counter forbidden" sealed tsc "" 100000
for how in prctl syscall; do fault "system-call filter: children after $how" sealed_children $how; done
if [ "$(id -u)" = 0 ]; then
	fault "drops its rights" rights keep
	fault "chroot" rights chroot "$here"
else echo "skip drops its rights, chroot: not root"; fi
