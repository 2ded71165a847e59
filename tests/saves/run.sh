#!/usr/bin/env bash
# saves: what memtui writes is there whole, or not at all and with a word why: on a full disk, without permission, in a directory
# that is gone; through the user's own symbolic links, and through nobody else's. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
unset XDG_RUNTIME_DIR
mounted=
at_exit() { [ -z "$mounted" ] || umount "$mounted"; }
cat >prog.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
static void work(int n)
{
	for (int i = 0; i < n; i++) {
		kept = malloc(100 + (unsigned)rand() % 64);
		if (i % 3)
			free(kept);
	}
}
int main(int argc, char **argv) /* N [wait [M]]: allocates, says so, waits for the end of its input, allocates */
{
	char byte;
	work(argc > 1 ? atoi(argv[1]) : 100);
	puts("ready");
	fflush(stdout);
	while (argc > 2 && read(0, &byte, 1) > 0)
		;
	work(argc > 3 ? atoi(argv[3]) : argc > 1 ? atoi(argv[1]) : 100);
	return 7;
}
C
gcc -O1 -g -fno-builtin -o prog prog.c && "$memtui" record -o known.dat -- ./prog >/dev/null 2>&1
MEMTUI_OUTPUT=known.mem LD_PRELOAD=$lib ./prog >/dev/null
[ -s known.dat ] && [ -s known.mem ] || { echo "not ok saves: its traces cannot be made"; exit 1; }
kinds=$("$memtui" export --as nothing known.dat 2>&1 | sed -n 's/.*expected one of //p' | tr '|' ' ')
[ "$(wc -w <<<"$kinds")" -gt 5 ] || { echo "not ok saves: which kinds of export there are is not known"; exit 1; }

# fails NAME FILE COMMAND...: the command says in one sentence that FILE cannot be written, ends with status 1 (record, whose program
# has run: the program's 7), and leaves the directory of FILE as it was.
fails() {
	local name=$1 file=$2 before status why=
	local directory=${file%/*}
	shift 2
	before=$(ls -A "$directory" 2>&1)
	timeout 60 "${as[@]}" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	[ $status = 1 ] || { [ $status = 7 ] && [[ " $* " = *" record "* ]] && grep -q ready "$tmp/out"; } || why+="status $status; "
	grep -qE "^memtui: .*${file##*/}.*: .*($reason)" "$tmp/err" || why+="no word of ${file##*/} and why; "
	[ "$(ls -A "$directory" 2>&1)" = "$before" ] || why+="left behind: $(ls -A "$directory") "
	[ -z "$why" ] || why+="$(head -c 300 "$tmp/err")"
	say "$name" "$why"
}
as=()
each() { # WHERE FILE: every command that writes a file
	local kind bad=
	fails "$1: record" "$2" "$memtui" record -o "$2" -- "$tmp/prog" 3000
	fails "$1: record --max-size" "$2" "$memtui" record --max-size 256K -o "$2" -- "$tmp/prog" 3000
	fails "$1: record --report --outfile" "$2" "$memtui" record -f -o "${scratch:-$tmp}/other.dat" --report --outfile "$2" -- "$tmp/prog"
	fails "$1: pack" "$2" "$memtui" pack -o "$2" "$tmp/known.mem"
	for kind in $kinds; do fails "$1: export --as $kind" "$2" "$memtui" export --as $kind -o "$2" "$tmp/known.dat"; done
}

# ---- a directory that is not there ----
reason='No such file or directory'
each "no directory" nowhere/file
mkdir gone && cd gone && rmdir ../gone
each "a directory that was removed" ./file
cd "$tmp" || exit 1

# ---- no permission ----
mkdir -m 555 closed
mkdir -m 777 open
chmod 755 "$tmp"
chmod a+r known.mem
scratch=$tmp/open
[ ! $root ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod a+r known.dat
reason='Permission denied'
# The build may lie below a directory that only root can enter.
built=$memtui
mkdir bin && cp "$memtui" "$lib" bin && memtui=$tmp/bin/memtui
each "no permission" closed/file
as=() scratch= memtui=$built

mkfifo in
running() { # FILE [M]: record writes it, its program waits, and then makes M allocations
	: >out
	"$memtui" record -o "$1" -- ./prog 3000 wait "${2:-100}" <in >out 2>err & front=$!
	exec 7>in
	until_true grep -q ready out
}
holds() { [ "$(field "$1" allocations)" -ge 3000 ] 2>/dev/null; }
goes_on() { exec 7>&-; wait $front; }

# ---- a full disk ----
mkdir small
if [ $root ] && mount -t tmpfs -o size=64k saves small 2>/dev/null; then
	mounted=$tmp/small
	head -c 1M /dev/zero >small/filler 2>/dev/null
	reason='No space left on device'
	each "a full disk" small/file
	rm small/filler
	# A recording cannot be made again: what was written of it up to then stays, if it can be read at all.
	running small/long.dat 3000000
	until_true holds small/long.dat
	goes_on; status=$?
	say "a disk that becomes full keeps what can be read of a recording" "$(is $status 7)$(grep -q '^memtui: cannot write to .*No space left' err || cat err)$(
		grep -q 'wrote .*long.dat, incomplete: ' err || cat err)$(holds small/long.dat || echo "nothing can be read; ")$(
		is "$(ls small)" long.dat)"
	rm small/long.dat
	"$memtui" record -o big.dat -- ./prog 60000 >out 2>err
	MEMTUI_OUTPUT=big.mem LD_PRELOAD=$lib ./prog 60000 >out
	fails "a disk that becomes full: pack" small/file "$memtui" pack -o small/file big.mem
	fails "a disk that becomes full: export" small/file "$memtui" export --as heaptrack -o small/file big.dat
	umount small
	mounted=
else echo "skip saves a full disk: no tmpfs can be mounted here"; fi
bad=
for view in info report groups "groups --format json" "groups --format csv" tree timeline suppress allocations errors mmaps mallopts check; do
	"$memtui" $view known.dat >/dev/full 2>err
	[ $? = 1 ] && grep -q '^memtui: .*standard output.*No space left' err || bad+="$view: $(head -c 200 err); "
done
say "results to a full disk" "$bad"

# ---- gone while it is written ----
mkdir leaves
running leaves/file.dat
rm -r leaves
goes_on; status=$?
say "a directory that goes meanwhile is said" "$(is $status 7)$(grep -q '^memtui: .*leaves/file.dat: is gone: ' err || echo "said: $(cat err)")$(grep wrote err)$(ls -d leaves 2>/dev/null)"
running file.dat
mv file.dat moved.dat
goes_on; status=$?
say "a trace that is moved is said" "$(is $status 7)$(grep -q '^memtui: .*/file.dat: is gone: ' err || echo "said: $(cat err)")$(is "$(field moved.dat complete)" True)"
running file.dat
rm file.dat; cp known.dat file.dat
goes_on; status=$?
say "another file of the name is not taken for it" "$(is $status 7)$(grep -q '^memtui: .*/file.dat: is gone: ' err || echo "said: $(cat err)")$(grep wrote err)$(cmp file.dat known.dat 2>&1)"
rm file.dat

# ---- links: one's own lead where they lead, to a file or to none yet; others' nowhere ----
by_export() { "$memtui" export --as csv "$@" known.dat >out 2>err; }
by_pack() { "$memtui" pack "$@" known.mem >out 2>err; }
by_record() { # the program's status says that it has run
	"$memtui" record "$@" -- ./prog 10 >out 2>err
	case $? in 7) return 0 ;; 0) return 3 ;; *) return 1 ;; esac
}
mkdir far
for how in export pack record; do
	rm -rf far/* link* theirs* chain dangling
	ln -s far/file link
	ln -s "$tmp/link" link2
	say "$how through one's own links, to a new file" "$(by_$how -o link2 || cat err)$(is "$(ls far)" file)$(
		[ -L link ] && [ -L link2 ] && [ -s far/file ] || ls -l link link2 far)"
	cp far/file first
	say "$how replaces nothing without --force" "$(by_$how -o link && echo "it is replaced; ")$(grep -q 'already exists' err || cat err)$(cmp far/file first 2>&1)"
	echo old >far/file
	say "$how --force replaces what the link names" "$(by_$how -f -o link || cat err)$([ -L link ] && ! grep -q old far/file || ls -l link far)$(is "$(ls far)" file)"
	ln -s /dev/null null-$how
	say "$how through a link to a device" "$(by_$how -o null-$how || cat err)$([ -L null-$how ] || echo "the link is gone")"
	[ $root ] || continue
	echo mine >far/file
	ln -s far/file theirs; ln -s theirs chain; ln -s far/none dangling
	chown -h 65534 theirs dangling
	for to in theirs chain dangling; do
		for force in -f ""; do
			say "$how ${force:+--force }through somebody else's link: $to" "$(by_$how $force -o $to; is "status $?" "status 1")$(
				grep -qE "^memtui: .*(theirs|dangling): is another user's symbolic link" err || cat err)$(
				is "$(cat far/file; ls far)" "mine
file")$([ -L theirs ] && [ -L chain ] && [ -L dangling ] || ls -l)"
		done
	done
done
[ $root ] || echo "skip saves through somebody else's link: needs root to make one"
# What one process after another writes has names beside the file itself.
rm -rf far/* link
ln -s far/file link
"$memtui" record -o link -- sh -c './prog 10; exec ./prog 10' >out 2>err
say "a recording through a link: its other files stand beside the file" "$(is "$(ls far | sed -E 's/file\.[0-9]+/file.N/' | tr '\n' ' ')" "file file.N file.exec0 ")$([ -L link ] || echo "the link is gone")$("$memtui" check --max-leaked 1G link | grep -q 'judged together with 1 program' || "$memtui" check --max-leaked 1G link)"
# The tracer alone cannot say why it refuses: a link counts as a name that is taken.
rm -rf far/* link*
ln -s far/file link
MEMTUI_OUTPUT=link LD_PRELOAD=$lib ./prog 10 >out 2>err
say "stand-alone: through no link" "$(is "$(ls far) $(ls link*)" " link
link.1")$(cat err)$(field link.1 allocations >/dev/null || echo "link.1 is no recording")"
