#!/usr/bin/env bash
# leakcheck: the verdicts of 'memtui leak-check', case by case, beside LeakSanitizer's and valgrind's (doc/leak-check.md); and what is left
# of it in the program: nothing. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
[ "$(uname -m)" = x86_64 ] || { skip all "the leak check exists for x86-64 only"; exit 0; }
flags=(-O1 -g -fno-builtin -pthread -Wall -Wextra -Werror -Wno-unused-but-set-variable)
g++ "${flags[@]}" -o cases "$here/cases.cc" && gcc "${flags[@]}" -shared -fPIC -o library.so "$here/library.c" || {
	not_ok all "its program cannot be built"
	exit 1
}
children=()
at_exit() { [ ${#children[@]} = 0 ] || kill -KILL "${children[@]}" 2>/dev/null; }

begin() { # COMMAND...: starts it, reads what it says up to "ready" into truth; $front is its number
	rm -f in out
	mkfifo in out
	"$@" <in >out 2>front.err &
	front=$!
	children+=("$front")
	exec 6>in 7<out
	: >truth
	while read -rt 60 line <&7 && [ "$line" != ready ]; do echo "$line"; done >truth
	[ "$line" = ready ] || echo "the program did not begin: $(cat front.err)"
}
ends() { # STATUS NUMBER: of which process
	echo >&6
	wait "$2"
	why+=$(is "$?" "$1")
	children=()
	exec 6>&- 7<&-
}
verdict() { # NAME WHY...
	local name=$1
	shift
	for more; do why+=$more; done
	say "$name" "$why"
	why=
}
why=
# What the leak check must leave as it was: children, descriptors, mappings without the allocator's and those of threads.
picture() {
	cat /proc/"$process"/task/*/children
	ls /proc/"$process"/fd
	awk 'NF > 5 { print $2, $6 } NF == 5 && $2 ~ /x/ { print $2 }' /proc/"$process"/maps
}
judged() { # FILE LSAN VALGRIND OPTIONS...: what differs
	local file=$1 lsan=$2 valgrind=$3
	shift 3
	timeout 60 "$memtui" leak-check --show all --format json "$@" "$process" >"$file" 2>judged.err || echo "status $?: "
	cat judged.err
	python3 "$here/compare.py" truth "$file" "$lsan" "$valgrind" 2>&1
}

# ---- verdicts ----
lsan=- valgrind=-
if g++ "${flags[@]}" -DWITH_LSAN -fsanitize=leak -o cases.lsan "$here/cases.cc" 2>/dev/null; then
	LSAN_OPTIONS=max_leaks=0 timeout 60 ./cases.lsan ./library.so >/dev/null 2>lsan.txt
	lsan=lsan.txt
else
	skip "beside LeakSanitizer" "the compiler has none"
fi
if g++ "${flags[@]}" -DWITH_VALGRIND -o cases.valgrind "$here/cases.cc" 2>/dev/null; then
	timeout 120 valgrind --leak-check=full --show-leak-kinds=all --num-callers=30 ./cases.valgrind ./library.so \
		>/dev/null 2>valgrind.txt
	valgrind=valgrind.txt
else
	skip "beside valgrind" "it is not there"
fi
begin "$memtui" record -f -o t.dat -- ./cases ./library.so
process=$(pgrep -P "$(pgrep -P "$front" | head -n 1)" | head -n 1)
before=$(picture)
verdict "verdicts, with a copy" "$(judged copy.json "$lsan" "$valgrind")" \
	"$(grep -q '"copied":true' copy.json || echo "there was no copy: $(grep -o '"no_copy":[^,]*' copy.json)")"
verdict "verdicts, without a copy" "$(judged still.json - - --no-copy)" \
	"$(grep -q '"no_copy":"none was wanted"' still.json || echo "there was a copy")"
verdict "nothing is left in the program" "$(diff <(echo "$before") <(picture))"
"$memtui" leak-check --show lost -n 1 "$process" >text 2>&1
verdict "text" "$(grep -qE '^definitely lost +[0-9.]+M in [0-9]+ blocks$' text || cat text)" \
	"$(grep -q '^ *case_lost_large  .*cases.cc:[0-9]*$' text || cat text)" \
	"$(grep -qE '^[0-9]+ more; see them with --count$' text || cat text)"

# ---- killed at any moment ----
killed=
for round in 1 2 3 4 5 6 7 8 9 10; do
	"$memtui" leak-check "$process" >/dev/null 2>&1 &
	check=$!
	read -rt "0.0$((RANDOM % 90 + 10))" <&8
	kill -KILL "$check" 2>/dev/null
	wait "$check" 2>/dev/null
	kill -0 "$process" 2>/dev/null || killed+="the program has ended in round $round; "
done
verdict "killed" "$killed" "$(judged killed.json - -)" "$(diff <(echo "$before") <(picture))"
ends 5 "$front"
verdict "the program ends as alone"

# ---- attached: what older memory holds is never lost ----
rm -f in out
mkfifo in out
./cases ./library.so late <in >out 2>front.err &
process=$!
children+=("$process")
exec 6>in 7<out
"$memtui" record -p "$process" -f -o attached.dat 2>attached.err &
front=$!
children+=("$front")
has_begun() { grep -qs '^memtui: recording process' attached.err || ! kill -0 "$front" 2>/dev/null; }
until_true has_begun
echo >&6
while read -rt 60 line <&7 && [ "$line" != ready ]; do echo "$line"; done >truth
timeout 60 "$memtui" leak-check --format json --show all "$process" >attached.json 2>>attached.err
verdict "attached" "$(python3 - truth attached.json <<'END' 2>&1 || cat attached.err
import json, sys
truth = {l.split()[0]: list(map(int, l.split()[1:])) for l in open(sys.argv[1]) if l != "ready\n"}
found = lost = wrong = 0
for g in json.load(open(sys.argv[2]))["groups"]:
    case = next((f["function"] for f in g["backtrace"] if f["function"] in truth), None)
    n = g["definitely_lost"]["count"] + g["indirectly_lost"]["count"]
    if case and not truth[case][0] + truth[case][1]:
        wrong += n
    elif case:
        found += n
lost = sum(t[0] + t[1] for t in truth.values())
if wrong:
    print(f"{wrong} blocks that are held count as lost; ", end="")
if found < lost - 2:
    print(f"only {found} of {lost} lost blocks were found")
END
)"
kill -INT "$front"
wait "$front"
verdict "attached: the recording ends" "$(is "$?" 0)"
ends 5 "$process"
verdict "attached: the program ends as alone"

# ---- at the end of a program ----
sums() { # FILE: blocks that are definitely and indirectly lost, and their bytes
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(*[r[k][n] for n in ("count", "bytes") for k in ("definitely_lost", "indirectly_lost")])' "$1"
}
valgrinds() { # COMMAND...: the same
	timeout 120 valgrind --leak-check=full "$@" 2>&1 >/dev/null | sed -n 's/,//g; s/.*definitely lost: \([0-9]*\) bytes in \([0-9]*\) .*/d \1 \2/p
		s/.*indirectly lost: \([0-9]*\) bytes in \([0-9]*\) .*/i \1 \2/p' | tr '\n' ' ' | awk '{ print $3, $6, $2, $5 }'
}
at_end() { # NAME COMMAND...
	local name=$1
	shift
	timeout 60 "$memtui" leak-check --no-builtin-suppressions -f -o end.dat --outfile end.json --format json -- "$@" >/dev/null 2>end.err
	verdict "at the end of $name, as valgrind" "$(is "$?" 0)" "$(is "$(sums end.json)" "$(valgrinds "$@")")"
}
if [ $valgrind != - ]; then
	at_end tar tar cf /dev/null "$here/cases.cc" "$here/run.sh"
	at_end perl perl -e 'my %h; $h{$_} = [1 .. 10] for 1 .. 1000; print scalar keys %h'
	at_end bash bash -c 'declare -A a; for i in 1 2 3; do a[$i]=$i; done; echo ${#a[@]}'
fi
"$memtui" leak-check -f -o end.dat --error-exitcode 77 --suppressions /dev/null -- sh -c 'exit 4' >end.out 2>end.err
verdict "nothing lost: the program's own status" "$(is "$?" 4)" "$(cat end.out)" \
	"$(grep -qE '^definitely lost +0B in 0 blocks$' end.err || cat end.err)"
"$memtui" leak-check -f -o end.dat --error-exitcode 77 --outfile end.txt -- tar cf /dev/null "$here/run.sh" >end.out 2>end.err
verdict "lost: the status that was asked for" "$(is "$?" 77)" "$(cat end.out)" \
	"$(grep -qE '^definitely lost +[1-9][0-9]*B in 1 block$' end.txt || cat end.txt)"
timeout 60 "$memtui" leak-check -f -o end.dat -- sh -c 'kill -9 $$' >end.out 2>end.err
verdict "killed: not judged" "$(is "$?" 137)" "$(grep -q 'the program is not judged: it did not come to its end by itself' end.err || cat end.err)"

# ---- in the trace ----
cat >keeps.c <<'END'
#include <stdlib.h>
#include <unistd.h>
struct node { struct node *next; char rest[56]; };
void *kept[100];
char *inside;
static void *__attribute__((noinline)) lose(size_t n) { return malloc(n); }
static struct node *__attribute__((noinline)) chain(int n)
{
	struct node *head = NULL;

	while (n--) {
		struct node *next = malloc(sizeof *next);

		next->next = head;
		head = next;
	}
	return head;
}
static void __attribute__((noinline)) keep(int i) { kept[i] = malloc(24); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++)
		lose(100);
	chain(5);
	for (int i = 0; i < 100; i++)
		keep(i);
	inside = (char *)malloc(300) + 20;
	for (int i = 0; i < 1000; i++)
		free(malloc(10));
	if (argc > 1)
		_exit(argv[1][0] - '0');
	return 0;
}
END
build_here() { gcc -O1 -g -fno-builtin -Wno-unused-result -o "$1" "$1.c"; }
build_here keeps
"$memtui" record --leak-check -f -o keeps.dat -- ./keeps 2>keeps.err
verdict "the closing line" "$(grep -q 'lost 1.3k in 15 blocks (3.9k in 116 blocks not freed)' keeps.err || cat keeps.err)"
by_verdict() { "$memtui" allocations --verdict "$1" --format csv --count 0 keeps.dat | tail -n +2 | awk -F, -v v="$1" '$NF == v { n++; b += $3 } END { print n + 0, b + 0, NR }'; }
verdict "blocks by verdict" "$(is "$(by_verdict lost)" "11 1064 11")" "$(is "$(by_verdict indirect)" "4 256 4")" \
	"$(is "$(by_verdict possible)" "1 300 1")" "$(is "$(by_verdict reachable)" "100 2400 100")"
verdict "groups by verdict" "$("$memtui" groups --format json --filter verdict:lost keeps.dat | python3 -c '
import json, sys
g = json.load(sys.stdin)
if sum(x["only_matched"]["leaked_size"] for x in g) != 1064: print(g)')"
columns() { "$memtui" groups --format json --sort "$1" keeps.dat | python3 -c 'import json, sys; g = json.load(sys.stdin); print(g[0]["all"][sys.argv[1]], sum(x["all"][sys.argv[1]] for x in g))' "$1"; }
verdict "columns" "$(is "$(columns lost_size)" "1000 1064")" "$(is "$(columns lost_count)" "10 11")" "$(is "$(columns indirect_size)" "256 256")" \
	"$(is "$(columns possible_count)" "1 1")" "$(is "$(columns reachable_size)" "2400 2400")" \
	"$("$memtui" groups --filter 'lost_size>1' keeps.dat | grep -c malloc | xargs -I{} test {} = 2 || echo "not two groups lose")"
verdict "of the trace, as of the process" "$(is "$("$memtui" leak-check --format json keeps.dat >k.json && sums k.json)" "11 4 1064 256")" \
	"$("$memtui" leak-check --error-exitcode 9 keeps.dat >/dev/null; is $? 9)"
verdict "info" "$("$memtui" info --format json keeps.dat | python3 -c 'import json, sys
c = json.load(sys.stdin)["leak_check"]
if [c[k]["count"] for k in ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")] != [11, 4, 1, 100] or not c["at_end"]: print(c)')" \
	"$("$memtui" info keeps.dat | grep -q '^leak check .*definitely lost 1.0k in 11 blocks.*at its end$' || echo "no line in info")"
verdict "a limit on the trace's size" "$("$memtui" record --leak-check --max-size 256k -f -o small.dat -- ./keeps 2>&1 | grep -q 'lost 1.3k in 15' || echo "no verdicts")"
checked() { # STATUS LINE OPTIONS...
	local status=$1 line=$2
	shift 2
	"$memtui" check "$@" >checked.out 2>&1
	is $? "$status"
	head -n 1 checked.out | grep -qE "^$line" || cat checked.out
}
"$memtui" record -f -o without.dat -- ./keeps 2>/dev/null
echo 'leak:chain' >chain.supp
verdict "check --leak-check" "$(checked 1 'FAIL    leaked         1320, at most 0' --leak-check --exact keeps.dat)" \
	"$(checked 0 'PASS    leaked' --leak-check --max-leaked 1320 keeps.dat)" "$(checked 1 'FAIL    leaked' --leak-check --max-leaked 1319 keeps.dat)" \
	"$(checked 1 'FAIL    leaked         1000,' --leak-check --exact --suppressions chain.supp keeps.dat)" \
	"$(checked 1 'UNKNOWN leaked' --leak-check without.dat)" "$(checked 0 'PASS    leaked         0B' --leak-check --baseline keeps.dat keeps.dat)" \
	"$(checked 1 'UNKNOWN leaked' --leak-check --baseline without.dat keeps.dat)" "$(checked 1 'FAIL    leaked         3.9k' keeps.dat)" \
	"$(checked 1 'FAIL    leaked         1.3k' --leak-check --max-peak 1M keeps.dat)"
"$memtui" record --leak-check -f -o ended.dat -- ./keeps 7 2>/dev/null
verdict "check after _exit" "$(is $? 7)" "$(checked 1 'FAIL    leaked         1.3k' --leak-check ended.dat)"
"$memtui" record --leak-check -f -o killed.dat -- sh -c 'kill -9 $$' 2>/dev/null
verdict "check after a signal" "$(checked 1 UNKNOWN --leak-check killed.dat)"
for program in "bash -c :" "ls" "grep -q x /dev/null"; do
	"$memtui" record --leak-check -f -o pass.dat -- $program >/dev/null 2>&1
	verdict "check passes: $program" "$(checked 0 PASS --leak-check pass.dat)"
done
"$memtui" check --leak-check --max-allocations 1M --format junit keeps.dat >junit.xml
verdict "JUnit" "$(is $? 1)" "$(python3 -c 'import xml.etree.ElementTree as e
s = e.parse("junit.xml").getroot()
cases = [(c.get("name"), c.get("classname"), [(f.tag, f.get("message")) for f in c]) for c in s]
if (s.get("tests"), s.get("failures"), s.get("errors")) != ("2", "1", "0") or cases[0] != ("leaked at most 0B", "memtui.keeps", [("failure", "leaked 1.3k, at most 0B")]) or cases[1][2]:
	print(s.attrib, cases)' 2>&1)"
# A block that is indirectly lost goes with the one that leads to it, also if another function made it.
cat >led.c <<'END'
#include <stdlib.h>
static void *__attribute__((noinline)) inner(void) { return malloc(40); }
static void **__attribute__((noinline)) outer(void) { return malloc(8); }
int main(void)
{
	for (int i = 0; i < 3; i++)
		*outer() = inner();
	inner();
	for (int i = 0; i < 1000; i++) /* no register has them any more */
		free(malloc(500));
	return 0;
}
END
build_here led
"$memtui" record --leak-check -f -o led.dat -- ./led 2>/dev/null
echo 'leak:outer' >outer.supp
verdict "suppressed with its leader" "$(checked 1 'FAIL    leaked         40B' --leak-check --suppressions outer.supp led.dat)" \
	"$(grep -q 'suppressed 144B in 6 blocks' checked.out || cat checked.out)" \
	"$(is "$("$memtui" leak-check --suppressions outer.supp --format json led.dat | python3 -c 'import json, sys; print(json.load(sys.stdin)["suppressed"])')" "{'count': 6, 'bytes': 144}")"
refused_by() { # NAME STATUS WORDS COMMAND...
	local name=$1 status=$2 words=$3
	shift 3
	"$memtui" "$@" >refused.out 2>&1
	verdict "$name" "$(is $? "$status")" "$(grep -qF -- "$words" refused.out || cat refused.out)"
}
refused_by "a verdict that nobody gave" 1 "the recording has no leak check" groups --verdict lost without.dat
refused_by "a verdict on freed blocks" 1 "a leak check judges blocks that live at the end" groups --verdict lost --lifetime only_temporary keeps.dat
refused_by "single blocks and check" 2 "cannot be combined with a filter on single allocations" check --leak-check --size-min 1 keeps.dat
refused_by "a process that runs already" 2 "memtui leak-check" record --leak-check -p $$

# ---- what cannot be ----
refused() { # NAME STATUS WORDS ARGUMENTS...
	local name=$1 status=$2 words=$3
	shift 3
	timeout 20 "$memtui" leak-check "$@" >refused.out 2>&1
	verdict "$name" "$(is "$?" "$status")" "$(grep -qF -- "$words" refused.out || cat refused.out)"
}
refused "a process that nobody records" 1 "process $$ is not being recorded" "$$"
refused "neither a process nor a trace" 1 "abc" abc
refused "a copy of a trace" 2 "--no-copy: only with a process" --no-copy end.dat
refused "a trace without a leak check" 1 "the recording has no leak check" without.dat
refused "a process and a program" 2 "exclude each other" 1 -- true
refused "an extra word" 2 "extra argument '2'" 1 2
refused "no copy at the end" 2 "--no-copy: at its end" --no-copy -- true
refused "a trace of a process" 2 "--output: only with a program" --output x 1
refused "a program that is not there" 1 "nosuch" -- ./nosuch
refused "no verdict" 2 "--show: invalid verdict 'lots'" --show lost,lots 1

# ---- a program that does everything at once: MEMTUI_LEAKCHECK_CYCLES=1000 MEMTUI_LEAKCHECK_SEED=N for a long run ----
if g++ -std=gnu++17 -O1 -g -mno-red-zone -pthread -o busy "$here/../inject/target.cc"; then
	say cycles "$(python3 "$here/../attach/cycles.py" "$memtui leak-check" "$tmp/busy" "${MEMTUI_LEAKCHECK_CYCLES:-4}" 50 \
		"${MEMTUI_LEAKCHECK_SEED:-1}" "$memtui" record --no-follow --on-full drop -f -o "$tmp/busy.dat" -- 2>cycles.out)"
	grep ^cycles cycles.out
else
	not_ok cycles "its program cannot be built"
fi
exit $bad
