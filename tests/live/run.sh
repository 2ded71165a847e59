#!/usr/bin/env bash
# live: the ways in which a program, its recorder or its front process can end, and limits that the program sets for
# itself. No sleeps: what is waited for is a line, a file or the end of a process.
. "$(dirname "$0")/../suite.sh"
program=0 recorder=0 front=0
for p in ends limits; do gcc -O1 -g -o "$tmp/$p" "$here/../programs/$p.c" || exit 1; done

kept() { # TRACE: number and bytes of live blocks under keep()
	asked "$memtui" groups --format json --function-regex '^keep$' "$1" |
		python3 -c 'import json,sys; g=json.load(sys.stdin); print(sum(x["all"]["leaked_count"] for x in g), sum(x["all"]["leaked_size"] for x in g))'
}
truth="1000 599500"

for how in return:0 exit:3 _exit:4 quick_exit:5 abort:134 segv:139 kill:137; do
	want=${how#*:} how=${how%:*}
	"$memtui" record --force -o "$tmp/t.dat" -- "$tmp/ends" $how >/dev/null 2>"$tmp/err"
	status=$?
	have=$(kept "$tmp/t.dat")
	if [ $status = $want ] && [ "$have" = "$truth" ]; then ok "ends by $how"; else not_ok "ends by $how" "status $status (want $want), kept $have: $(tail -n1 "$tmp/err")"; fi
done

# Starts "ends wait" under record: program output to $tmp/out, standard input from a fifo at descriptor 9.
start() {
	rm -f "$tmp/in" "$tmp/out" "$tmp/t.dat" "$tmp/status"
	mkfifo "$tmp/in"
	exec 9<>"$tmp/in"
	( setsid "$memtui" record --force -o "$tmp/t.dat" -- "$tmp/ends" wait <"$tmp/in" >"$tmp/out" 2>"$tmp/err"; echo $? >"$tmp/status" ) &
	until_true grep -q ready "$tmp/out" 2>/dev/null || return 1
	program=$(pgrep -f "^$tmp/ends wait" | head -n 1)
	recorder=$(ps -o ppid= -p "$program" | tr -d ' ')
	front=$(ps -o ppid= -p "$recorder" | tr -d ' ')
}
ended() { ! kill -0 "$1" 2>/dev/null; }
saved() { [ -n "$(kept "$tmp/t.dat" 2>/dev/null | grep "^$truth\$")" ]; }

start || not_ok "start" "the program did not start"
until_true saved && ok "a growing trace can be read" || not_ok "a growing trace can be read" "$(kept "$tmp/t.dat" 2>&1 | tail -n 1)"
kill -KILL "$recorder"
echo x >&9
until_true test -s "$tmp/status"
status=$(cat "$tmp/status" 2>/dev/null)
have=$(kept "$tmp/t.dat" 2>/dev/null)
if [ "$status" = 7 ] && [ "$have" = "$truth" ]; then ok "recorder killed"; else not_ok "recorder killed" "status $status, kept $have"; fi

start || not_ok "start" "the program did not start"
kill -KILL "$front"
kill -0 "$program" 2>/dev/null && kill -0 "$recorder" 2>/dev/null || not_ok "front killed" "took the others along"
echo x >&9
until_true ended "$recorder"
until_true test -s "$tmp/status" # the front's, or the next one's would be taken for it
have=$(kept "$tmp/t.dat" 2>/dev/null)
complete=$(asked "$memtui" info --format json "$tmp/t.dat" | python3 -c 'import json,sys; print(json.load(sys.stdin)["complete"])')
if [ "$have" = "$truth" ] && [ "$complete" = True ]; then ok "front killed"; else not_ok "front killed" "kept $have, complete $complete"; fi

# As systemd and a shutdown do it: nobody waits for anybody.
start || not_ok "start" "the program did not start"
kill -TERM "$recorder" "$program" "$front"
until_true test -s "$tmp/status"
status=$(cat "$tmp/status" 2>/dev/null)
have=$(kept "$tmp/t.dat" 2>/dev/null)
end=$(asked "$memtui" info --format json "$tmp/t.dat" | python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["complete"], d["exit_status"])')
if [ "$status $have $end" = "143 $truth True 15" ]; then ok "SIGTERM to all at once"; else not_ok "SIGTERM to all at once" "status $status, kept $have, complete and status $end"; fi

for what in as fsize mlockall closeall; do
	"$tmp/limits" $what >"$tmp/want" 2>&1
	want=$?
	"$memtui" record --force -o "$tmp/t.dat" -- "$tmp/limits" $what >"$tmp/have" 2>"$tmp/err"
	status=$?
	named=$(asked "$memtui" groups --format json --function-regex '^churn$' "$tmp/t.dat" |
		python3 -c 'import json,sys; print(sum(g["all"]["allocated_count"] for g in json.load(sys.stdin)) // 200000)')
	if [ $status = $want ] && cmp -s "$tmp/want" "$tmp/have" && [ "$named" -ge 1 ]; then ok "limits: $what"; else not_ok "limits: $what" "status $status (want $want), stacks $named: $(diff "$tmp/want" "$tmp/have" | head -n 3 | tr '\n' ' ')$(tail -n 1 "$tmp/err")"; fi
done

# A disk that fills up: the program ends as ever, the root's trouble is said before that of its children, which are
# counted, and no line says of a trace that it is there when it is not.
mkdir "$tmp/full"
cat >"$tmp/fill" <<'END'
mount -t tmpfs -o size=24k none "$2/full" || exit 77
"$1" record -o "$2/full/f.dat" -- bash -c 'for ((i = 0; i < 10; i++)); do "$0" return; done; exit 3' "$2/ends"
END
unshare -rm sh "$tmp/fill" "$memtui" "$tmp" >/dev/null 2>"$tmp/err"
status=$?
if ! grep -q '^memtui' "$tmp/err"; then
	ok "full disk # skipped: no file system of our own"
elif [ $status = 3 ] && grep -q '^memtui: cannot write to .*/f.dat: No space.*(and [0-9]* more)$' "$tmp/err" && grep -q 'wrote .*f.dat, incomplete' "$tmp/err" &&
	grep -q '(not written to its end)$' "$tmp/err" && grep -q '(not written)$' "$tmp/err"; then
	ok "full disk"
else
	not_ok "full disk" "status $status: $(head -n 2 "$tmp/err" | tr '\n' ' ')"
fi
