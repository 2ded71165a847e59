#!/usr/bin/env bash
# inject: calls in running processes from outside (doc/inject.md). Half of the injectors are killed at a random moment.
# run.sh BUILD; MEMTUI_INJECT_ROUNDS=1500 MEMTUI_INJECT_KILLED=100 MEMTUI_INJECT_SEED=N for a long run.
. "$(dirname "$0")/../suite.sh"
[ "$(uname -m)" = x86_64 ] || { skip all "the code that is injected exists for x86-64 only"; exit 0; }
rounds=${MEMTUI_INJECT_ROUNDS:-160} killed=${MEMTUI_INJECT_KILLED:-50} seed=${MEMTUI_INJECT_SEED:-1}
cd "$top" && gcc -std=gnu11 -D_GNU_SOURCE -O1 -g -I. -o "$tmp/injector" tests/inject/injector.c "$build/libcore.a" -ldw -lelf &&
	g++ -std=gnu++17 -O1 -g -mno-red-zone -pthread -o "$tmp/target" tests/inject/target.cc ||
	{ echo "not ok inject: its programs cannot be built"; exit 1; }
cd "$tmp" || exit 1
children=()
at_exit() { [ ${#children[@]} = 0 ] || kill -KILL "${children[@]}" 2>/dev/null; }

# held MODE [LINES]: starts target MODE, and waits until it has said so many times that it is ready; its number is $held
held() {
	local line
	rm -f said && mkfifo said
	./target "$1" >said </dev/null &
	held=$!
	children+=("$held")
	exec 7<said
	for ((i = 0; i < ${2:-1}; i++)); do read -r line <&7; done
}
ends() { kill -KILL "$held"; wait "$held" 2>/dev/null; children=(); }
# asks NAME WANTED COMMAND...: the answer of the injector begins with, or holds, what is wanted
asks() {
	local name=$1 wanted=$2 answer
	shift 2
	answer=$(./injector "$@" 2>&1)
	case $answer in *"$wanted"*) ok "$name" ;; *) not_ok "$name" "'$answer', not '$wanted'" ;; esac
}

# ---- what is refused ----
asks absent "process 4194305 does not exist" open 4194305
held idle
refusal=$(./injector open "$held" 2>&1)
case $refusal in *ptrace*) ends && skip all "$refusal" && exit "$bad" ;; esac
asks opens opened open "$held"
asks calls "borrow 1" borrow "$held"
kill -STOP "$held"
stopped() { grep -q '^State:.T' "/proc/$held/status"; }
until_true stopped
asks stopped "is stopped by a signal: continue it first" open "$held"
kill -CONT "$held"
if [ "$root" ] && command -v setpriv >/dev/null; then
	chmod 755 "$tmp" injector
	answer=$(setpriv --reuid 65534 --regid 65534 --clear-groups ./injector open "$held" 2>&1)
	case $answer in *"belongs to another user (uid 0)"*) ok other-user ;; *) not_ok other-user "$answer" ;; esac
else
	skip other-user "needs root and setpriv"
fi
ends
held leader
asks leaderless opened open "$held"
asks leaderless-calls "borrow 1" borrow "$held"
for t in /proc/"$held"/task/*; do [ "${t##*/}" = "$held" ] || thread=${t##*/}; done
asks thread "$thread is a thread of process $held" open "$thread"
ends
held seccomp
asks seccomp "has a system-call filter (seccomp)" open "$held"
ends
held idle
python3 - "$held" <<'END_PYTHON' >traced 2>&1
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
assert libc.ptrace(0x4206, pid, None, None) == 0, os.strerror(ctypes.get_errno())
said = subprocess.run(['./injector', 'open', str(pid)], capture_output=True, text=True).stdout
print(said if f'traced by python3 (process {os.getpid()})' not in said else 'ok')
END_PYTHON
say traced "$(is "$(cat traced)" ok)"
ends
python3 - <<'END_PYTHON' >zombie 2>&1
import os, subprocess
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
said = subprocess.run(['./injector', 'open', str(pid)], capture_output=True, text=True).stdout
print('ok' if '(zombie)' in said else said)
END_PYTHON
say zombie "$(is "$(cat zombie)" ok)"
kernel=$(grep -lz '' /proc/[0-9]*/stat 2>/dev/null | while read -r f; do
	read -r line 2>/dev/null <"$f" || continue
	set -- ${line##*)}
	[ $(($7 & 0x200000)) = 0 ] || { f=${f%/stat} && echo "${f##*/}"; break; }
done)
if [ "$kernel" ]; then asks kernel-thread "process $kernel is a kernel thread" open "$kernel"; else skip kernel-thread "none is seen here"; fi

# ---- which threads are borrowed ----
held held
asks pc "is in held_here" borrow "$held" held_here
asks return-address "is in held_below" borrow "$held" held_below
asks elsewhere "borrow 1" borrow "$held" injected
ends
held handler
until_true grep -q '^State:.R' "/proc/$held/status"
asks signal-handler "is in a signal handler" borrow "$held"
ends
held epoll
in_epoll() { read -r number rest <"/proc/$held/syscall" && [ "$number" = 232 ]; }
until_true in_epoll
asks epoll "cannot be continued (epoll_wait)" borrow "$held"
asks stops-epoll "stop 1" stop "$held"
ends

# ---- vfork ----
mkfifo input
./target vfork <input >said &
held=$!
children+=("$held")
exec 6>input 7<said
read -r line <&7
in_vfork() { [ -s "/proc/$held/task/$held/children" ] || [ "$(cut -d' ' -f1 "/proc/$held/syscall")" = 58 ]; }
until_true in_vfork
asks vfork "vfork" stop "$held"
echo >&6
read -r line <&7
asks after-vfork "stop 1" stop "$held"
ends

# ---- all at once ----
say parked "$(./injector parked "$tmp/target" $((rounds / 8)) "$seed" >out 2>&1 || tail -c 700 out)"
cat out
say rounds "$(./injector rounds "$tmp/target" "$rounds" "$killed" "$seed" >out 2>&1 || tail -c 700 out)"
cat out
# A figure to read. No test depends on a time.
./injector measure "$tmp/target" 500
exit $bad
