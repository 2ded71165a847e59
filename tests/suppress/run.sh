#!/bin/bash
# run.sh BUILD: suppressions and memtui check on real programs: LeakSanitizer's and valgrind's files, the program's own rules, rules
# made from groups, limits and exit statuses, and the example for build servers in doc/ci. Prints 'ok NAME' or 'not ok NAME: why'.
. "$(dirname "$0")/../suite.sh"
work=$tmp

# exits NAME STATUS ARGS...: memtui check exits with the status
exits() {
	local name=$1 status=$2
	shift 2
	timeout 240 "$memtui" check "$@" >check.out 2>check.err
	local got=$?
	if [ $got = "$status" ]; then ok "$name"; else not_ok "$name" "status $got, expected $status: $(head -c 300 check.out check.err)"; fi
}
# says NAME WORDS: the last check printed a line that has them
says() {
	if grep -qE -- "$2" check.out; then ok "$1"; else not_ok "$1" "said: $(head -c 400 check.out)"; fi
}
# json NAME EXPRESSION ARGS...: memtui's output is JSON for which the Python expression on d holds, whatever it exits with
json() {
	local name=$1 expression=$2
	shift 2
	timeout 240 "$memtui" "$@" >json.out 2>json.err
	if python3 -c 'import json, sys
d = json.load(open("json.out"))
sys.exit(0 if eval(sys.argv[1]) else 1)' "$expression" 2>>json.err; then
		ok "$name"
	else
		not_ok "$name" "$expression does not hold: $(head -c 300 json.out) $(tail -n 1 json.err)"
	fi
}

# ---- a program whose leaks are known: 3000 bytes in 3 blocks by known(), 500 in one by fresh(), when asked ----
cat >leak.c <<'C'
#include <stdlib.h>
#include <string.h>
void *volatile sink;
#ifdef OWN
const char *__lsan_default_suppressions(void) { return "# known since ever\nleak:^known$\n"; }
#endif
#ifdef POINTER
const char *const rules = "leak:^known$\n";
const char *const *volatile where = &rules;
const char *__lsan_default_suppressions(void) { return rules; }
#endif
#ifdef CLEVER
const char *__lsan_default_suppressions(void) { return getenv("RULES") ? "leak:known" : ""; }
#endif
__attribute__((noinline)) void known(void) { sink = malloc(1000); __asm__ volatile(""); }
__attribute__((noinline)) void fresh(void) { sink = calloc(1, 500); __asm__ volatile(""); }
__attribute__((noinline)) void good(void) { sink = malloc(100000); free(sink); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	good();
	for (int i = 0; i < 3; i++)
		known();
	if (argc > 1 && !strcmp(argv[1], "fresh"))
		fresh();
	sink = NULL;
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return argc > 1 && !strcmp(argv[1], "fail") ? 3 : 0;
}
C
cc -O1 -g -o leak leak.c || exit 1
record() { "$memtui" record -f -o "$@" >record.out 2>&1; }
record plain.dat ./leak
record fresh.dat ./leak fresh

# ---- limits and exit statuses ----
exits "nothing may leak without a limit" 1 plain.dat
exits "a limit that holds" 0 --max-leaked 3000 plain.dat
exits "a limit that does not" 1 --max-leaked 2999 plain.dat
says "the line of a broken limit" '^FAIL +leaked +2\.9k, at most 2\.9k'
says "the function and line that leak" 'known +/.*leak\.c:[0-9]+'
exits "sizes have units" 0 --max-leaked 3k --max-peak 101k plain.dat
exits "a count" 1 --max-leaked-count 2 plain.dat
exits "a count that holds" 0 --max-leaked-count 3 --max-allocations 4 --max-temporary 1 --max-allocated 103000 plain.dat
exits "a peak" 1 --max-peak 99999 --max-leaked 1M plain.dat
says "one limit holds, one does not" '^PASS +leaked'
exits "too many allocations" 1 --max-allocations 3 plain.dat
exits "too many temporaries" 1 --max-temporary 0 plain.dat
exits "a filter narrows" 0 --function-regex '^good$' plain.dat
exits "a bad limit is a question not understood" 2 --max-leaked much plain.dat
exits "so is an unknown option" 2 --max-leakage 1 plain.dat
exits "no such trace" 1 nowhere.dat
json "check in JSON" 'd["holds"] is False and d["exact"] and d["complete"] and d["limits"] == [{"name": "max-leaked", "limit": 1, "value": 3000, "holds": False, "outcome": "fail", "exact": True}, {"name": "max-peak", "limit": 1048576, "value": 100000, "holds": True, "outcome": "pass", "exact": True}] and sum(l["leaked_size"] for l in d["leaks"]) == 3000' check --format json --max-leaked 1 --max-peak 1M plain.dat

# ---- a trace without an end cannot be judged ----
head -c $(($(stat -c %s plain.dat) * 2 / 3)) plain.dat >torn.dat
exits "a torn trace" 1 --max-leaked 100M torn.dat
says "a torn trace is said to be unknown" '^UNKNOWN +leaked'
exits "a torn trace by what is there" 0 --allow-incomplete --max-leaked 100M torn.dat
json "unknown in JSON" 'd["limits"][0]["outcome"] == "unknown" and not d["holds"] and not d["exact"] and not d["complete"]' \
	check --format json --max-leaked 100M torn.dat

# ---- files of both syntaxes ----
printf '# mine\nleak:^known$\nleak:nobody\n' >lsan.supp
exits "LeakSanitizer's file" 0 --suppressions lsan.supp plain.dat
says "what is suppressed is shown" 'suppressed 2\.9k in 3 blocks by 1 rule'
says "a rule that matches nothing" 'lsan\.supp:3: leak:nobody'
exits "what it does not name" 1 --suppressions lsan.supp fresh.dat
says "the one that is left" 'calloc in fresh'
printf '{\n   known\n   Memcheck:Leak\n   match-leak-kinds: definite\n   fun:malloc\n   fun:kno*\n   ...\n   obj:*/leak\n}\n' >valgrind.supp
exits "valgrind's file" 0 --suppressions valgrind.supp plain.dat
printf 'leak:^fresh$\n' >fresh.supp
exits "two files" 0 --suppressions valgrind.supp --suppressions fresh.supp fresh.dat
exits "a file that does not parse" 2 --suppressions leak.c plain.dat
if grep -q 'leak\.c:3:1: .*expected' check.err; then ok "says where and what was expected"; else not_ok "says where" "$(cat check.err)"; fi
printf 'leak:^known$\nrace:x\nleak:^fresh$\n{\n broken\n Memcheck:Leak\n}\n' >faulty.supp
exits "what is no rule is skipped, the rest counts" 0 --suppressions faulty.supp fresh.dat
[ "$(grep -c 'faulty\.supp:[27]:.*; ignored$' check.err)" = 2 ] && ok "each line that is no rule is said once" ||
	not_ok "each line that is no rule is said once" "$(head -c 400 check.err)"
exits "what is no rule does not make others pass" 1 --suppressions faulty.supp --max-peak 1 fresh.dat
exits "a file that is not there" 2 --suppressions nowhere.supp plain.dat
json "groups, less what is suppressed" 'sum(g["all"]["leaked_size"] for g in d) == 500 and sum(g["suppressed_bytes"] for g in d) == 3000 and sum(g["all"]["allocated_count"] for g in d) == 5' groups --format json --suppressions lsan.supp fresh.dat
json "info, less what is suppressed" 'd["leaked_bytes"] == 500 and d["suppressed_bytes"] == 3000 and d["suppressed_count"] == 3' \
	info --format json --suppressions lsan.supp fresh.dat
json "info shows all unless asked" 'd["leaked_bytes"] == 3500 and d["suppressed_bytes"] == 0' info --format json fresh.dat
json "the tree, less what is suppressed" 'd["total"]["leaked_size"] == 500' tree --format json --suppressions lsan.supp fresh.dat
"$memtui" report --suppressions lsan.supp fresh.dat >report.out 2>&1
if grep -q '^suppressed 2.9k in 3 blocks by 1 rule' report.out && grep -q '^leaked *500B' report.out; then ok "report"; else
	not_ok report "$(head -c 400 report.out)"; fi

# ---- rules made from groups suppress these groups and no others ----
for syntax in valgrind lsan; do
	"$memtui" suppress --as $syntax --function-regex '^known$' fresh.dat >made.supp
	exits "$syntax: made from a group, read back" 0 --suppressions made.supp plain.dat
	exits "$syntax: the other group stays" 1 --suppressions made.supp fresh.dat
	json "$syntax: it alone" 'd["suppressed_bytes"] == 3000 and d["limits"][0]["value"] == 500' \
		check --format json --suppressions made.supp fresh.dat
	"$memtui" suppress --as $syntax fresh.dat >all.supp
	exits "$syntax: made from all" 0 --suppressions all.supp fresh.dat
done
id=$(asked "$memtui" groups --format json --function-regex '^fresh$' fresh.dat | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])')
"$memtui" suppress --group "$id" fresh.dat >one.supp
json "by the group's number" 'd["suppressed_bytes"] == 500' check --format json --suppressions one.supp fresh.dat
if "$memtui" suppress --group 999999 fresh.dat >/dev/null 2>&1; then not_ok "no such group" "status 0"; else ok "no such group"; fi

# what valgrind itself makes and reads
if command -v valgrind >/dev/null 2>&1; then
	valgrind -q --leak-check=full --show-leak-kinds=all --gen-suppressions=all ./leak fresh 2>&1 | grep -v '^==' >theirs.supp
	exits "valgrind's own suppressions" 0 --suppressions theirs.supp fresh.dat
	"$memtui" suppress fresh.dat >ours.supp
	if valgrind -q --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --error-exitcode=9 --suppressions=ours.supp \
		./leak fresh >valgrind.out 2>&1; then ok "valgrind reads ours"; else not_ok "valgrind reads ours" "$(head -c 400 valgrind.out)"; fi
	if [ -f /usr/libexec/valgrind/default.supp ]; then
		exits "valgrind's default file" 1 --suppressions /usr/libexec/valgrind/default.supp plain.dat
	fi
else
	echo "skip suppress valgrind: it is not installed"
fi

# ---- a run before ----
exits "as the baseline" 0 --baseline plain.dat plain.dat
exits "more than the baseline" 1 --baseline plain.dat fresh.dat
says "what leaks more" '^FAIL +leaked +500B, at most 0B'
says "where" '500B in 1 block by calloc in fresh.*; new$'
exits "less than the baseline" 0 --baseline fresh.dat plain.dat
exits "limits are for what is beyond" 0 --baseline plain.dat --max-leaked 500 --max-leaked-count 1 fresh.dat
json "beyond the baseline, in JSON" 'len(d["leaks"]) == 1 and d["leaks"][0]["state"] == "new" and d["leaks"][0]["baseline_leaked_size"] == 0 and d["limits"][0]["value"] == 500 and d["leaks"][0]["leaked_count"] == 1' \
	check --format json --baseline plain.dat fresh.dat
exits "a baseline without an end" 1 --baseline torn.dat plain.dat
exits "no such baseline" 1 --baseline nowhere.dat plain.dat

# ---- the program's own, found without calling anything ----
for how in "-O0" "-O2" "-O2 -no-pie" "-O0 -no-pie" "-O1 -fcf-protection" "-O2 -rdynamic -s"; do
	# shellcheck disable=SC2086
	cc -g $how -DOWN -o own leak.c || exit 1
	record own.dat ./own
	exits "own suppressions, built with $how" 0 own.dat
done
mv own gone
exits "they are in the trace: the program is gone" 0 own.dat
exits "without them" 1 --no-builtin-suppressions own.dat
cc -O0 -g -DPOINTER -o pointer leak.c && record pointer.dat ./pointer
exits "own suppressions behind a pointer" 0 pointer.dat
cc -O0 -g -DCLEVER -o clever leak.c && record clever.dat ./clever
exits "own suppressions that are no constant" 1 clever.dat
if grep -q 'more than return' check.err; then ok "are said to be unknown"; else not_ok "are said to be unknown" "$(cat check.err)"; fi

# ---- the built-in ones ----
if command -v c++ >/dev/null 2>&1; then
	printf '#include <cstdio>\nint main() { try { throw 1; } catch (int) { std::puts("caught"); } }\n' >pool.cc
	c++ -o pool pool.cc && record pool.dat ./pool
	exits "what libstdc++ and stdio keep is no leak" 0 pool.dat
	exits "unless asked" 1 --no-builtin-suppressions pool.dat
	if c++ -static-libstdc++ -o static pool.cc 2>/dev/null; then
		record static.dat ./static
		exits "libstdc++ linked statically" 0 static.dat
	fi
else
	echo "skip suppress libstdc++: there is no C++ compiler"
fi

# ---- the report at exit ----
# reported NAME WORDS: the last report has a line like that
reported() {
	if grep -qE -- "$2" exit.out; then ok "$1"; else not_ok "$1" "said: $(head -c 400 exit.out)"; fi
}
"$memtui" record -f -o exit.dat --report ./leak fresh >exit.out 2>exit.err
reported "report at exit: count, size, age" '^[0-9]+\. count/peak 1/1  size/peak 1000B/1000B  age [0-9.]+[a-z]+  by malloc$'
reported "frames with address, offset, module" '^ +0x[0-9a-f]{12}  known  .*leak\.c:[0-9]+  \+0x[0-9a-f]+ .*/leak$'
reported "number of backtraces" '^backtraces +4$'
reported "traced size" '^traced size +3\.4k in 4 blocks$'
reported "what the system gave, though it was soon over" '^process, VSS/RSS/shared +[0-9.]+M/[0-9.]+[kM]/[0-9.]+[kM] \(as last seen\)$'
if grep -m1 'size/peak' exit.out | grep -q 1000B; then ok "the largest first"; else not_ok "the largest first" "$(head -5 exit.out)"; fi
"$memtui" record -f -o exit.dat --report=count --top 2 --ignore '^fresh$' --outfile exit.out ./leak fresh >stdout 2>exit.err
if [ ! -s stdout ] && [ "$(grep -c size/peak exit.out)" = 2 ] && grep -q 'by count$' exit.out; then ok "into a file, the first two"; else
	not_ok "into a file" "$(cat exit.err; head -5 exit.out)"; fi
reported "ignored stacks are not in it" '^backtraces +3$'
"$memtui" record -f -o exit.dat --report --outfile exit.out ./leak >/dev/null 2>exit.err
"$memtui" record -o other.dat --report --outfile exit.out ./leak >/dev/null 2>exit.err
if [ $? = 1 ] && grep -q 'already exists' exit.err && [ ! -e other.dat ]; then ok "a report is not written over another"; else
	not_ok "not over another" "$(cat exit.err)"; fi
printf '#include <stdlib.h>\nint main(void) { void *volatile p = malloc(9); free(p); }\n' >clean.c
cc -g -o clean clean.c
"$memtui" record -f -o exit.dat --report ./clean >exit.out 2>exit.err
if [ ! -s exit.out ]; then ok "nothing when all was freed"; else not_ok "nothing when all was freed" "$(head -3 exit.out)"; fi
for words in '--top 3' '--ignore x' '--outfile x' '--report=most' "--report --ignore ("; do
	# shellcheck disable=SC2086
	"$memtui" record -f -o exit.dat $words ./leak >/dev/null 2>exit.err
	if [ $? = 2 ] && [ "$(wc -l <exit.err)" = 1 ]; then ok "refused: $words"; else not_ok "refused: $words" "$(head -3 exit.err)"; fi
done
# the sizes of the process, seen while it lives: its arena is resident where it was touched
cat >touch.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	char *kept[200];
	for (int i = 0; i < 200; i++)
		memset(kept[i] = malloc(50000), 1, 50000);
	for (char c; read(0, &c, 1) > 0;)
		;
	return kept[0][0] != 1;
}
C
cc -g -o touch touch.c && mkfifo hold
"$memtui" record -f -o touch.dat --report ./touch <hold >exit.out 2>exit.err &
exec 8>hold
known() { asked "$memtui" info --format json touch.dat 2>/dev/null | python3 -c 'import json, sys
d = json.load(sys.stdin)
sys.exit(not (d["arena_resident_bytes"] and 9900000 < d["arena_resident_bytes"] <= d["arena_bytes"] and d["rss_bytes"] >
	d["shared_bytes"] > 0 and d["vss_bytes"] > d["rss_bytes"]))' 2>/dev/null; }
for _ in $(seq 600); do known && break; sleep 0.1; done
exec 8>&-
wait
if known; then ok "sizes of allocator and process"; else not_ok "sizes of allocator and process" "$(tail -n 5 exit.out; "$memtui" info touch.dat | grep -iE 'resident|arena|size')"; fi
reported "are in the report" '^allocator, resident +(9|10)\.[0-9]M$'

# ---- the example for build servers ----
ci() { MEMTUI=$memtui ALL=${ALL-1} timeout 240 sh "$top/doc/ci/leaks.sh" "$@" >ci.out 2>&1; }
KNOWN=made.supp ci ./leak
if [ $? = 0 ]; then ok "the build passes without a new leak"; else not_ok "the build passes" "$(head -c 300 ci.out)"; fi
KNOWN=made.supp ci ./leak fresh
if [ $? = 1 ] && grep -q '^FAIL' ci.out; then ok "the build fails on a new leak"; else not_ok "the build fails" "$(head -c 300 ci.out)"; fi
KNOWN=none.supp ALL= JUNIT=ci.xml ci ./leak
if [ $? = 1 ] && grep -q '^FAIL' ci.out && grep -q 'failures="1"' ci.xml; then ok "the build fails on what is lost"; else not_ok "lost" "$(head -c 300 ci.out)"; fi
ALL= ci true
if [ $? = 1 ] && grep -q '^UNKNOWN' ci.out; then ok "a program that allocates nothing does not pass"; else not_ok "nothing" "$(head -c 300 ci.out)"; fi
ALL= ci ls /
if [ $? = 0 ] && grep -q '^PASS' ci.out; then ok "the build passes with blocks that are reachable"; else not_ok "reachable" "$(head -c 300 ci.out)"; fi
KNOWN=none.supp ci ./leak
if [ $? = 1 ]; then ok "the build fails on any leak where none is known"; else not_ok "any leak" "$(head -c 300 ci.out)"; fi
KNOWN=made.supp ci ./leak fail
if [ $? = 3 ]; then ok "the build fails when the program does"; else not_ok "a failing program" "$(head -c 300 ci.out)"; fi
KNOWN=made.supp LIMITS='--max-peak 50k' ci ./leak
if [ $? = 1 ] && grep -q '^FAIL *peak' ci.out; then ok "the build fails on a higher peak"; else not_ok "a peak" "$(head -c 300 ci.out)"; fi
KNOWN=made.supp TRACES=kept ci ./leak && [ -s kept/leak.dat ] && ok "the trace is kept" || not_ok "the trace is kept" "$(head -c 300 ci.out)"
if python3 -c 'import yaml' 2>/dev/null; then
	if python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))["jobs"]["leaks"]["steps"]' "$top/doc/ci/github.yml"; then
		ok "the workflow is YAML"; else not_ok "the workflow is YAML" "it does not load"; fi
fi

# ---- a server in C++: templates, and threads that begin in a frame of libstdc++ without a name ----
cat >threads.cc <<'C'
#include <map>
#include <string>
#include <thread>
#include <vector>
static std::map<std::string, std::string> *known = new std::map<std::string, std::string>{{"a", std::string(100, 'a')}};
template <typename F> std::string with_request(F handle, bool forget)
{
	std::vector<char> *scratch = new std::vector<char>;
	scratch->resize(2048);
	std::string answer = handle(*scratch);
	if (!forget)
		delete scratch;
	return answer;
}
int main(int argc, char **)
{
	std::thread([=] {
		for (int i = 0; i < 400; i++)
			with_request([](std::vector<char> &v) { return std::string(v.size(), 'x') + known->begin()->second; },
				argc > 1 && i % 100 == 99);
	}).join();
}
C
c++ -g -O1 -pthread -o threads threads.cc || exit 1
"$memtui" record -f -o whole.dat -- ./threads >/dev/null 2>&1
"$memtui" record -f -o forgets.dat -- ./threads forget >/dev/null 2>&1
"$memtui" suppress whole.dat >threads.supp 2>/dev/null
exits "the rules of a C++ program hold" 0 --suppressions threads.supp whole.dat
if grep -q 'match nothing' check.out; then not_ok "no rule is written twice" "$(head -c 400 check.out)"; else ok "no rule is written twice"; fi
exits "a new leak in a thread fails" 1 --suppressions threads.supp forgets.dat
says "and is no doubt, though a frame has no name" '^FAIL    leaked'
says "templates have short names" '8.0k in 4 blocks by new in with_request<…>(\(…\))?  .*threads.cc:'
# a terminal gets lines that do not wrap, with the number of the line; a pipe gets names whole
for command in "report --top 1" "tree" "groups"; do
	script -qec "stty cols 80; \"$memtui\" $command forgets.dat" terminal.out </dev/null >/dev/null 2>&1
	tr -d '\r' <terminal.out | grep -E 'with_request' >lines.out
	if [ -s lines.out ] && ! grep -q '.\{81\}' lines.out && ! grep -q 'with_request<main' lines.out; then
		ok "$command: names fit a terminal"; else not_ok "$command: names fit a terminal" "$(head -c 400 lines.out)"; fi
	"$memtui" $command forgets.dat 2>/dev/null | grep -q 'with_request<main' &&
		ok "$command: a pipe gets them whole" || not_ok "$command: a pipe gets them whole" "$("$memtui" $command forgets.dat 2>&1 | head -c 400)"
done
# sentences go on in a further line; nothing of them is lost
words() { tr -d '\r' | tr -s ' \n' '\n\n' | grep -v '^$'; }
for command in info "check --max-leaked 1k" "timeline --columns 4" "report --top 0 --function-regex nothing"; do
	"$memtui" $command forgets.dat >whole.out 2>whole.err
	script -qec "stty cols 60; \"$memtui\" $command forgets.dat 2>/dev/null" /dev/null </dev/null >lines.out 2>&1
	why=
	tr -d '\r' <lines.out | grep -q '.\{61\}' && why+="wraps: $(tr -d '\r' <lines.out | grep '.\{61\}'); "
	[[ $command = timeline* || "$(words <lines.out)" = "$(words <whole.out)" ]] || why+="other words: $(head -c 400 lines.out)"
	[ -z "$why" ] && ok "$command: lines fit a terminal" || not_ok "$command: lines fit a terminal" "$why"
done
script -qec "stty cols 60; \"$memtui\" record -f -o closing.dat -- ./threads" /dev/null </dev/null 2>&1 | tr -d '\r' >lines.out
if [ "$(wc -l <lines.out)" -gt 1 ] && ! grep -q '.\{61\}' lines.out && ! tail -n +2 lines.out | grep -v '^        [^ ]'; then
	ok "record: its closing line fits a terminal"; else not_ok "record: its closing line fits a terminal" "$(cat lines.out)"; fi
exit $bad
