#!/usr/bin/env bash
# names: recordings with and without the recorder's cache of names have the same names; where the cache is, and what it
# does where it cannot be. run.sh BUILD
set -u
. "$(dirname "$0")/../asked.sh"
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
mounted=
trap '[ -z "$mounted" ] || umount "$mounted"; rm -rf "$tmp"' EXIT
memtui=$build/memtui
unset XDG_CACHE_HOME MEMTUI_CACHE
export LC_ALL=C PYTHONHASHSEED=0 HOME=$tmp/home
mkdir "$HOME"
cd "$tmp" || exit 2

say() { # NAME WHY...: ok when there is no reason
	local name=$1
	shift
	[ -z "$*" ] && echo "ok names $name" || { echo "not ok names $name: $(echo "$*" | head -c 300)"; bad=1; }
}
bad=0

# Frames by place in a module, which is what a recording adds nothing to.
frames() { # TRACE
	asked "$memtui" groups --format json "$1" 2>"$1.err" | python3 -c '
import json, sys
places = {}
for group in json.load(sys.stdin):
    at = []
    for frame in group["backtrace"]:
        at.append([frame[k] for k in ("function", "raw_function", "source", "line", "inlined")])
        if not frame["inlined"]:
            places[(frame["module"].rsplit("/", 1)[-1], frame["offset"])] = at
            at = []
for place, at in sorted(places.items(), key=str):
    print(*place, at)'
	cat "$1.err"
}
record() { # TRACE PROGRAM...
	local trace=$1
	shift
	timeout 240 "$memtui" record --force -o "$trace" -- "$@" >/dev/null 2>"$trace.said" || head -1 "$trace.said"
}
kept() { find "$1" -name '*.names' 2>/dev/null | wc -l; }

same() { # NAME PROGRAM...
	local name=$1 cache=$tmp/cache.$1 cold
	shift
	MEMTUI_CACHE='' record off.dat "$@"
	MEMTUI_CACHE=$cache record cold.dat "$@"
	cold=$(cd "$cache" 2>/dev/null && stat -c '%n %i' *.names 2>&1)
	MEMTUI_CACHE=$cache record warm.dat "$@"
	frames off.dat >off
	frames cold.dat >cold
	frames warm.dat >warm
	say "$name: cold as without" "$([ -s off ] || echo nothing recorded)$(diff off cold)"
	say "$name: warm as without" "$(diff off warm)"
	[ "$name" = python3 ] || # it may have come to a place that the first run had not
		say "$name: nothing new, nothing written" "$(diff <(echo "$cold") \
			<(cd "$cache" 2>/dev/null && stat -c '%n %i' *.names 2>&1))"
}
same "C++" "$build/bench/tree" 1 200
say "C++ is kept" "$([ "$(kept cache.C++)" -gt 0 ] || echo no file)"
strip -o stripped "$build/bench/tree"
same stripped ./stripped 1 200
python=$(python3 -c 'import sys; print(sys.executable)')
same python3 "$python" -c 'import json; print(json.dumps(list(range(100))))'

# ---- where it is ----
tree="$build/bench/tree 1 200"
record a.dat $tree
say "in the home directory" "$([ "$(kept "$HOME/.cache/memtui")" -gt 0 ] || echo "nothing kept")$(
	find "$HOME" -mindepth 1 -type d ! -perm 700; find "$HOME" -type f ! -perm 600)"
rm -rf "$HOME/.cache"
mkdir xdg
XDG_CACHE_HOME=$tmp/xdg record a.dat $tree
say "in XDG_CACHE_HOME" "$([ "$(kept xdg/memtui)" -gt 0 ] || echo "nothing kept")$(ls -A "$HOME")"
MEMTUI_CACHE=beside record a.dat $tree
say "in a directory by a relative name" "$([ "$(kept beside)" -gt 0 ] || echo "nothing kept")"
MEMTUI_CACHE='' record a.dat $tree
timeout 240 "$memtui" record --no-cache --force -o a.dat -- $tree >/dev/null 2>&1
env -u HOME "$memtui" record --force -o a.dat -- $tree >/dev/null 2>&1
HOME=/proc record a.dat $tree
say "nowhere" "$(ls -A "$HOME")"

# ---- where it cannot be ----
frames cold.dat >/dev/null
MEMTUI_CACHE='' record off.dat $tree
frames off.dat >off
refused() { # NAME DIRECTORY
	MEMTUI_CACHE=$2 record a.dat $tree
	frames a.dat >a
	say "$1" "$(diff off a)$(grep "^memtui:" a.dat.said | grep -v " wrote ")$(ls -A "$2" 2>/dev/null)"
}
refused "a directory that cannot be made" /proc/memtui
mkdir -m 777 all
refused "a directory that all can write to" all
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=8k,mode=700 tmpfs full 2>/dev/null; then
	mounted=$tmp/full
	head -c 8192 /dev/zero >full/zeroes 2>/dev/null
	MEMTUI_CACHE=$tmp/full record a.dat $tree
	frames a.dat >a
	say "a full disk" "$(diff off a)$(grep "^memtui:" a.dat.said | grep -v " wrote ")$(ls -A full | grep -v zeroes)"
	mount -o remount,ro "$mounted"
	MEMTUI_CACHE=$tmp/full record a.dat $tree
	frames a.dat >a
	say "a read-only directory" "$(diff off a)$(grep "^memtui:" a.dat.said | grep -v " wrote ")"
else
	echo "skip names a full disk: cannot mount one here"
fi

# ---- the names that people write ----
export MEMTUI_CACHE=
cat >aliases.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
void *volatile kept;
static void *work(void *text)
{
	kept = strdup(text);
	return NULL;
}
int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, "text") != 0)
		return 1;
	return pthread_join(thread, NULL);
}
C
cc -O1 -g -pthread -fno-builtin -o aliases aliases.c || exit 1
record aliases.dat ./aliases
say "pthread_create is called so" "$([ "$(asked "$memtui" groups --format json --function-regex '^pthread_create$' aliases.dat 2>/dev/null |
	grep -o '"raw_function":"pthread_create"' | head -n 1)" ] || frames aliases.dat)"
say "strdup is called so" "$([ "$(asked "$memtui" groups --format json --function-regex '^strdup$' aliases.dat 2>/dev/null |
	grep -o '"function":"strdup"' | head -n 1)" ] || frames aliases.dat)"
say "no name has a default version" "$(frames aliases.dat | grep '@@')"

# ---- a program is called as it was executed, not as the file that a link leads to ----
mkdir links && cp aliases links/real && ln -s real links/called
called() { # TRACE: the modules that are the program
	asked "$memtui" groups --format json "$1" 2>/dev/null | grep -o '"module":"[^"]*/links/[^"]*"' | sort -u
}
record links.dat "$tmp/links/called"
say "a link" "$([ "$(called links.dat)" = "\"module\":\"$tmp/links/called\"" ] || called links.dat)"
(cd links && exec "$memtui" record -f -o ../links.dat ./called 2>/dev/null)
say "a link by a relative path" "$([ "$(called links.dat)" = "\"module\":\"$tmp/links/called\"" ] || called links.dat)"
printf '#!%s\n' "$tmp/links/called" >script && chmod +x script
record links.dat ./script
say "a script's interpreter" "$(called links.dat | grep -v "$tmp/links/real")"
MEMTUI_OUTPUT=links.mem LD_PRELOAD=$build/libmemtui.so links/called
say "a link, stand-alone" "$([ "$(called links.mem)" = "\"module\":\"$tmp/links/called\"" ] || called links.mem)"

# ---- a difference of recordings with and without names says why all is new and gone ----
mkdir here there && cp aliases here/prog && objcopy --strip-all --remove-section=.note.gnu.build-id aliases there/prog
record here.dat here/prog
record there.dat there/prog
say "a side without names" "$("$memtui" diff here.dat there.dat 2>&1 >/dev/null | grep -q "^memtui: there.dat lacks function names of prog that here.dat has: .*new and gone" ||
	"$memtui" diff here.dat there.dat 2>&1 >/dev/null)"
say "the other side without names" "$(asked "$memtui" diff --format json there.dat here.dat 2>&1 >/dev/null | grep -q "^memtui: there.dat lacks function names" || echo nothing)"
say "both sides with names" "$("$memtui" diff here.dat aliases.dat 2>&1 >/dev/null | grep 'lacks function')"
# the same build, on a machine that has its names and on one that has not: its places say which functions they are
mkdir same && strip -o same/prog aliases
record same.dat same/prog
say "the same build without names" "$("$memtui" diff here.dat same.dat 2>&1 | grep -E 'lacks function|[^0-9]0 same|[1-9][0-9]* (new|gone)')$(
	"$memtui" diff here.dat same.dat 2>/dev/null | grep -q '^groups: .* same' || echo "no line of groups")"
say "no side with names" "$("$memtui" diff there.dat there.dat 2>&1 >/dev/null | grep 'lacks function')"

# ---- .gnu_debuglink: beside the file, and in .debug/ there, with a build-id and without ----
for id in sha1 none; do
	for place in . .debug; do
		rm -rf link && mkdir -p link/.debug
		cc -O1 -g -pthread -fno-builtin -Wl,--build-id=$id -o link/prog aliases.c
		objcopy --only-keep-debug link/prog link/$place/prog.debug
		objcopy --strip-all --add-gnu-debuglink=link/$place/prog.debug link/prog
		record linked.dat link/prog
		say "debug information in $place, build-id $id" "$(frames linked.dat >linked; grep -q "'work'.*aliases.c" linked || cat linked)"
	done
done

# ---- debug information that this libdw cannot read is not passed over in silence ----
cp aliases squeezed
if objcopy --compress-debug-sections=zstd squeezed 2>/dev/null; then
	record squeezed.dat ./squeezed
	if frames squeezed.dat | grep -q "aliases.c"; then say "zstd is read" ""; else
		say "zstd that is not read is said" "$(grep -q "^memtui: .*/squeezed has debug information compressed with zstd" squeezed.dat.said || cat squeezed.dat.said)"
		say "and by a view" "$("$memtui" groups squeezed.dat 2>&1 >/dev/null | grep -q "compressed with zstd" || echo nothing)"
	fi
else
	echo "skip names zstd: objcopy does not know it"
fi
say "of others nothing is said" "$(grep 'elfutils' aliases.dat.said)"
# ---- split debug information: beside the program as .dwo, or packed as .dwp, which elfutils reads from 0.191 on ----
inlined() { # the frames of the program from malloc to outer_function, by the debug information that is there
	MEMTUI_CACHE='' record split.dat split/split
	"$memtui" groups --format json split.dat 2>split.err | python3 -c '
import json, sys
for group in json.load(sys.stdin):
    names = [f["function"] + ":" + str(f["line"]) for f in group["backtrace"]]
    at = [i for i, n in enumerate(names) if n.startswith("outer_function:")]
    if at: print(*names[:at[0] + 1])' | head -n 1
}
mkdir split && cp "$top/tests/programs/symbols_c.c" split/split.c
if (cd split && gcc -O2 -gdwarf-4 -gsplit-dwarf -o split split.c && timeout 60 dwp -e split -o split.dwp && mkdir away && mv split.dwp away) 2>build.err; then
	whole=$(inlined)
	say "split: inlined functions from .dwo files" "$([[ $whole = innermost:*\ middle:*\ outer_function:* ]] || echo "$whole")"
	mv split/*.dwo split/away
	mv split/away/split.dwp split
	packed=$(inlined)
	version=$(readlink -f "$(ldd "$memtui" | sed -n 's/.*libdw[^ ]* => \([^ ]*\).*/\1/p')" | sed -n 's/.*-0\.\([0-9]*\)\.so$/\1/p')
	if [ "${version:-0}" -ge 191 ]; then
		say "split: inlined functions from a .dwp file" "$([ "$packed" = "$whole" ] || echo "$packed, not $whole; $(cat split.dat.said split.err)")"
	else
		said="split has a \.dwp file, which elfutils 0\.$version cannot read, so inlined functions are missing"
		say "split: a .dwp file that elfutils cannot read is said" "$(grep -q "$said" split.dat.said || cat split.dat.said)$(grep -q "$said" split.err || cat split.err)$(
			[[ $packed = outer_function:[1-9]* ]] || echo "not even the line: $packed")"
		echo "skip names split: inlined functions from a .dwp file: elfutils is older than 0.191"
	fi
	rm split/split.dwp
	bare=$(inlined)
	say "split: without either the line is known" "$([[ $bare = outer_function:[1-9]* ]] || echo "$bare")"
else echo "skip names split: $(tail -n 1 build.err)"; fi
exit $bad
