#!/usr/bin/env bash
# holders: what holds a block, and what it retains, compared with what programs say of their own graphs. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
[ "$(uname -m)" = x86_64 ] || { skip all "the leak check exists for x86-64 only"; exit 0; }
flags=(-O1 -g -fno-builtin -pthread -Wall -Wextra -Werror)
g++ "${flags[@]}" -o graphs "$here/graphs.cc" && gcc "${flags[@]}" -o random_graph "$here/random_graph.c" \
	&& gcc "${flags[@]}" -o untouched "$here/untouched.c" || {
	not_ok all "its programs cannot be built"
	exit 1
}
children=()
at_exit() { [ ${#children[@]} = 0 ] || kill -KILL "${children[@]}" 2>/dev/null; }
options=()
begin() { # COMMAND...: records it with the options, reads what it says up to "ready" into truth; $process is its number
	rm -f in out
	mkfifo in out
	"$memtui" record "${options[@]}" -f -o t.dat -- "$@" <in >out 2>front.err &
	front=$!
	children+=("$front")
	exec 6>in 7<out
	: >truth
	while read -rt 60 line <&7 && [ "$line" != ready ]; do echo "$line"; done >truth
	[ "$line" = ready ] || echo "the program did not begin: $(cat front.err)"
	process=$(pgrep -P "$(pgrep -P "$front" | head -n 1)" | head -n 1)
}
ends() {
	echo >&6
	wait "$front"
	why+=$(is "$?" 0)
	children=()
	exec 6>&- 7<&-
}
why=
verdict() { # NAME WHY...
	local name=$1
	shift
	for more; do why+=$more; done
	say "$name" "$why"
	why=
}
block_of() { awk -v name="$1" '$1 == name { print $3 }' truth; }
pages() { python3 "$here/pages.py" "$process"; }

# ---- ways, and what is retained ----
begin ./graphs
verdict "ways" "$(timeout 200 python3 "$here/ways.py" "$memtui" "$process" truth 2>&1)"
verdict "ways, without a copy" "$(timeout 200 python3 "$here/ways.py" "$memtui" "$process" truth --no-copy 2>&1)"
timeout 20 "$memtui" holders "$process" "$(block_of list-end)" >text 2>&1
verdict "text" "$(grep -qE '^ +variable list, data of .*/graphs\+0x[0-9a-f]+$' text || cat text)" \
	"$(grep -qE '^ +99 blocks of 64B each at \+8  make_node  .*graphs.cc:[0-9]+$' text || cat text)" \
	"$(grep -qE '^retains 64B in 1 block: ' text || cat text)"
timeout 20 "$memtui" holders "$process" "$(block_of of-stack)" >text 2>&1
verdict "the frame of a stack" "$(grep -qE '^ +stack of thread [0-9]+ \(stack holder\), in holds_on_stack  .*graphs.cc:[0-9]+$' text || cat text)"
refused() { # NAME STATUS WORDS ARGUMENTS...
	local name=$1 status=$2 words=$3
	shift 3
	timeout 20 "$memtui" holders "$@" >refused.out 2>&1
	verdict "$name" "$(is "$?" "$status")" "$(grep -qF -- "$words" refused.out || cat refused.out)"
}
refused "a block that nobody knows" 1 "no block that lives has the address 0x10" "$process" 0x10
refused "a group that is not there" 1 "there is no group 4000000" "$process" 4000000
refused "neither an address nor a group" 2 "invalid address or group 'abc'" "$process" abc
refused "a process that nobody records" 1 "process $$ " "$$" 0x10
refused "too few words" 2 "ADDRESS|GROUP" "$process"
ends
verdict "the program ends as alone"

# ---- of a trace ----
refused "a check of a program that ran on" 1 "its leak check was made while the program ran" t.dat 0x10
options=(--leak-check)
begin ./graphs
ends
options=()
verdict "ways, of a trace" "$(timeout 200 python3 "$here/ways.py" "$memtui" t.dat truth 2>&1)"
timeout 20 "$memtui" holders t.dat "$(block_of list-end)" >text 2>&1
verdict "text, of a trace" "$(grep -qE '^ +99 blocks of 64B each at \+8  make_node  .*graphs.cc:[0-9]+$' text || cat text)" \
	"$(grep -qE '^what it retains, only the running process tells$' text || cat text)"
"$memtui" record -f -o without.dat -- true 2>/dev/null
refused "a trace without a leak check" 1 "the recording has no leak check" without.dat 0x10
refused "no copy of a trace" 2 "--no-copy: only with a process" --no-copy t.dat 0x10

# ---- pages that nobody has touched are not read ----
begin ./untouched
before=$(pages)
timeout 60 "$memtui" holders --no-copy --format json "$process" "$(awk '{ print $2 }' truth)" >untouched.json 2>&1
verdict "the program's memory does not grow" "$(is "$(pages)" "$before")" \
	"$(python3 -c 'import json; a = json.load(open("untouched.json")); print(len(a["blocks"][0]["path"]) - 2000 or "")')"
ends

# ---- graphs at random: MEMTUI_HOLDERS_SEEDS=1..100 for a long run ----
seeds=${MEMTUI_HOLDERS_SEEDS:-1..2}
for ((seed = ${seeds%..*}; seed <= ${seeds#*..}; seed++)); do
	begin ./random_graph "$seed" 1000
	verdict "a random graph, seed $seed" "$(timeout 200 python3 "$here/random_graph.py" "$memtui" "$process" truth "$seed" 2>graph.err || cat graph.err)"
	ends
done

# ---- planted leaks: at least 99 % are found, at most 1 % of what counts as lost is not planted ----
g++ -std=gnu++17 "${flags[@]}" -I "$here" -o planted "$here/planted.cc" && gcc "${flags[@]}" -I "$here" -shared -fPIC -o planted.so "$here/planted.c" || {
	not_ok "planted leaks" "the programs cannot be built"
	exit 1
}
judged() { # of $process: complains
	timeout 100 "$memtui" leak-check --no-builtin-suppressions --show all --format json "$process" >judged.json 2>judged.err || cat judged.err
	python3 "$here/planted.py" judged.json 2>judged.txt || cat judged.txt
	echo "$suite: planted in $1: $(tail -n 1 judged.txt)" >&2
}
begin ./planted
verdict "planted in C++" "$(judged C++)"
ends
cat >planted.py.run <<'END'
import collections, ctypes, json, re, sys
kept = [json.loads(json.dumps({"a": list(range(50)), "b": {"c": "text " * 20}})) for _ in range(500)]
trees = collections.deque(re.compile("(a|b)+%d" % i) for i in range(100))
buffers = [bytearray(5000) for _ in range(200)]
big = {i: "x" * 1000 for i in range(2000)}
lib = ctypes.CDLL(sys.argv[1])  # its constructor loses the blocks
print("ready", flush=True)
sys.stdin.readline()
END
begin python3 planted.py.run ./planted.so
verdict "planted in Python" "$(judged Python)"
ends
if command -v redis-server >/dev/null; then
	rm -f in out
	LD_PRELOAD=./planted.so "$memtui" record -f -o redis.dat -- redis-server --port 0 --unixsocket "$tmp/redis.sock" --save "" --daemonize no \
		>redis.out 2>&1 &
	front=$!
	children+=("$front")
	answers() { [ "$(redis-cli -s "$tmp/redis.sock" ping 2>/dev/null)" = PONG ]; }
	until_true answers
	process=$(redis-cli -s "$tmp/redis.sock" info server | sed -n 's/^process_id:\([0-9]*\).*/\1/p')
	redis-cli -s "$tmp/redis.sock" eval 'for i = 1, 5000 do redis.call("set", "key" .. i, string.rep("v", i % 300)); redis.call("hset", "h" .. i % 50, "f" .. i, i)
		redis.call("zadd", "z", i, "m" .. i); redis.call("rpush", "l" .. i % 20, "e" .. i) end' 0 >/dev/null
	verdict "planted in redis" "$(judged redis)"
	redis-cli -s "$tmp/redis.sock" shutdown nosave >/dev/null 2>&1
	wait "$front"
	children=()
else
	skip "planted in redis" "redis-server is not there"
fi
exit $bad
