#!/bin/bash
# run.sh BUILD: a program with hostile names (functions, files, modules, threads, arguments, markers) is traced, and everything that memtui
# prints of it is looked through: no control character, no bidirectional override, no invalid UTF-8, no formula for a spreadsheet; formats
# that can name a character still tell it. Prints 'ok NAME', 'not ok NAME: why'.
. "$(dirname "$0")/../suite.sh"
work=$tmp

# ---- the program ----
evil=$'\x1b]0;x\a\xc2\x9b31m\xe2\x80\xaegpj'
mkdir "=dir$evil"
cat >hostile.c <<'C'
#include <memtui.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#define F(n, size) __attribute__((noinline)) void *f##n(void) { char *p = malloc(size); memset(p, 1, size); return p; }
F(1, 1001) F(2, 1020) F(3, 1300) F(4, 4000) F(5, 50000) F(6, 1007)
static void *thread(void *unused)
{
	prctl(PR_SET_NAME, "=t\033[2J\342\200\256x");
	for (int i = 0; i < 3; i++)
		f1();
	return unused;
}
int main(void)
{
	pthread_t t;
	memtui_marker("=mark\033[2J\302\233\342\200\256\377 end");
	memtui_pause("@pause\033[2J\342\200\256");
	memtui_resume("@resume\033[2J");
	mallopt(M_TOP_PAD, 65536);
	munmap(mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 8192);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	free(f6());
	free(realloc(f6(), 3000));
	return !f1() | !f2() | !f3() | !f4() | !f5();
}
C
cat >lines.c <<'C'
#include <stdlib.h>
void *placed(void)
C
printf '#line 7 "=src\\033[2J\\302\\233\\342\\200\\256.c"\n{ return malloc(777); }\n' >>lines.c
printf '__attribute__((constructor)) static void begin(void) { void *volatile p = placed(); (void)p; }\n' >>lines.c
cc -O0 -g -fno-omit-frame-pointer -shared -fPIC -o "=dir$evil/=lib$evil.so" lines.c &&
	cc -O1 -fno-omit-frame-pointer -I"$here/../../preload" -c -o hostile.o hostile.c && objcopy \
	--redefine-sym $'f1==cmd|\x27 /C calc\x27!A0' \
	--redefine-sym $'f2=-a;b\tc\nd\re,"' \
	--redefine-sym $'f3=\x01\x02\x1b[2J\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6' \
	--redefine-sym $'f4=@\xff\xc3(\xed\xa0\x80\xef\xbf\xbe' \
	--redefine-sym $'f5=+caf\xc3\xa9 \xf0\x9f\x90\x9f</title>&' hostile.o 2>err &&
	cc -pthread -o "=prog$evil" hostile.o -Wl,--no-as-needed "./=dir$evil/=lib$evil.so" -Wl,-rpath,"$work" || not_ok program "$(head -n 3 err)"
"$memtui" record -o t.dat "./=prog$evil" $'=arg\x1b[2J\xe2\x80\xae\xff' >out 2>record.text </dev/null || not_ok record "$(head -n 3 record.text)"
cp t.dat later.dat

# ---- what is printed of it ----
look() { # FILE NAME...: as look.py has it
	local name
	name=$(basename "$1")
	shift
	python3 "$here/look.py" "$name" "$@" 2>err && ok "$name" || not_ok "$name" "$(tail -n 1 err)"
}
# The names as a form of text has them; JSON has them as they are, but for bytes that are no UTF-8.
names() {
	case $1 in
	json) printf '%s\n' '=cmd|' '-a;b\tc\nd\re,"' '\x01\x02\x1b[2J\x7f\x9b\u202e\u2066' '@\ufffd\ufffd(\ufffd\ufffd\ufffd\ufffe' '+caf\xe9 \U0001f41f</title>&' ;;
	*) printf '%s\n' '=cmd|' '-a;b\\tc\\nd\\re,"' '\\x01\\x02\\x1b[2J\\x7f\\u009b\\u202e\\u2066' '@\\xff\\xc3(\\xed\\xa0\\x80\\ufffe' '+caf\xe9 \U0001f41f</title>&' ;;
	esac
}
print() { # NAME SUFFIX ALL COMMAND...: ALL: yes where all names must be there
	local file="$1.$2" kind=$2 all=$3 status expected=()
	shift 3
	"$memtui" "$@" >"$file" 2>"$file.stderr.text" </dev/null
	status=$?
	[ $status -lt 2 ] && [ -s "$file" ] || not_ok "$file" "status $status: $(head -n 1 "$file.stderr.text")"
	[ "$all" = yes ] && mapfile -t expected < <(names "$kind")
	look "$file" "${expected[@]}"
	python3 "$here/look.py" "$file.stderr.text" 2>err || not_ok "$file: standard error" "$(tail -n 1 err)"
}
look record.text
for format in text json csv; do
	print groups $format yes groups --format $format --count 0 t.dat
	for by in function line module thread; do print "groups by $by" $format no groups --by $by --format $format t.dat; done
	print tree $format yes tree --format $format t.dat
	print "tree inverted" $format yes tree --inverted --format $format t.dat
	print allocations $format no allocations --format $format --count 0 t.dat
	for view in mmaps mallopts info; do print $view $format no $view --format $format t.dat; done
	print timeline $format no timeline --format $format t.dat
	print "timeline stacked" $format no timeline --stacked --format $format t.dat
	print "timeline stacked by thread" $format no timeline --stacked --by thread --format $format t.dat
	print errors $format no errors --format $format t.dat
	print callers $format no callers --format $format main t.dat
	print diff $format no diff --format $format t.dat later.dat
done
for format in text json; do
	print check $format no check --format $format t.dat
	print chains $format no chains --format $format t.dat
	print histogram $format no histogram --format $format t.dat
done
print report text no report t.dat
print "check unmet, by rule" text no check --max-leaked 1 --suppressions /dev/null t.dat
print flamegraph xml no export --as flamegraph t.dat
"$memtui" export --as flamegraph t.dat | grep -q 'cmd|' && look flamegraph.xml '=cmd|' '-a;b\\tc\\nd\\re,"' '\\x01\\x02\\x1b[2J\\x7f\\u009b\\u202e\\u2066'
print collapsed text no export --as collapsed t.dat
look collapsed.text '=cmd|' '-a:b\\tc\\nd\\re,"' '\\x01\\x02\\x1b[2J\\x7f\\u009b\\u202e\\u2066' '@\\xff\\xc3(\\xed\\xa0\\x80\\ufffe'
for kind in speedscope dhat; do print $kind json yes export --as $kind t.dat; done
print pprof pprof yes export --as pprof t.dat
print heaptrack text yes export --as heaptrack t.dat
print massif text no export --as massif t.dat
for as in valgrind lsan; do print "suppress as $as" text no suppress --as $as t.dat; done

# A suppression that was made from hostile names means what it was made from.
"$memtui" suppress --as valgrind t.dat >rules 2>err && "$memtui" check --suppressions rules t.dat >out 2>err && ok "suppressions of hostile names" ||
	not_ok "suppressions of hostile names" "$(cat err out | head -n 5 | tr '\n' ' ')"

# ---- what is said of what cannot be read ----
printf 'leak:ok\n=bad\x1b[2J\xe2\x80\xae\xff\n' >"rules$evil"
for command in "groups $evil.dat" "check --suppressions rules$evil t.dat" "open $evil" "groups --function-regex ($evil t.dat" "export --as $evil t.dat" \
	"run ./$evil" "groups --$evil t.dat" "$evil" "help $evil"; do
	read -ra words <<<"$command"
	timeout 20 "$memtui" "${words[@]}" >said.text 2>&1 </dev/null
	python3 "$here/look.py" said.text 2>err && [ -s said.text ] || not_ok "a sentence about ${words[0]@Q}" "$(tail -n 1 err)"
done
ok "sentences"
exit $bad
