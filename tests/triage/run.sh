#!/bin/bash
# run.sh BUILD: what was said about a program's leaks, on real programs and screens: the next build still knows it, what was fixed
# and leaks again is flagged, two screens lose nothing of each other, damage and missing permissions lose nothing either.
set -u
export MEMTUI_CACHE= # names are looked up anew, and none are left behind
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
memtui=$build/memtui
cc=${CC:-cc}
if ! printf '#include <vterm.h>\n' | $cc -E -x c - >/dev/null 2>&1; then
	echo "ok triage # skipped: no libvterm"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
$cc -std=gnu11 -D_GNU_SOURCE -DHAVE_LIBVTERM -O1 -I"$top" -o drive "$here/drive.c" "$top/tests/screens/harness.c" "$top/tui/view/program_repeats.c" -lvterm -lutil || exit 1
mkdir -p one two three
$cc -O0 -g -o one/server "$here/server.c" && $cc -O0 -g -DFIXED -o two/server "$here/server.c" || exit 1
{ for i in 1 2 3 4 5 6 7; do echo "/* moved $i */"; done; cat "$here/server.c"; } >three/copied.c
$cc -O2 -g -DMOVED -o three/server three/copied.c || exit 1

ok() { echo "ok triage $1"; }
not_ok() {
	echo "not ok triage $1: $2"
	bad=1
}
# has NAME FILE PATTERN..: each pattern is in the file
has() {
	local name=$1 file=$2 pattern
	shift 2
	for pattern; do
		grep -qE -- "$pattern" "$file" || { not_ok "$name" "no '$pattern' in: $(head -c 2500 "$file")"; return; }
	done
	ok "$name"
}
hasnt() { if grep -qE -- "$3" "$2"; then not_ok "$1" "'$3' is in: $(head -c 2500 "$2")"; else ok "$1"; fi; }
record() { timeout 240 "$memtui" record -f -o "$1" -- "$2" >record.log 2>&1 || { cat record.log; exit 1; }; }
# screen KEYS.. : of $trace with the sidecar $MEMTUI_TRIAGE, into the file screen
screen() { timeout 240 ./drive 24 80 "$@" -- "$memtui" open "$trace" >screen 2>&1 || echo "drive failed" >>screen; }

record one.dat one/server
export MEMTUI_TRIAGE=$work/server.triage
trace=one.dat
screen 7 tl aowner\ is\ ann$'\r' tf 7
has "what was said is on the screen" screen 'N untriaged +1 +19' 'L leak +1 +97' 'F fixed +1 +48' ' L .*parse' ' F .*cache_fill .*owner is ann'
has "the file has a line for each" "$MEMTUI_TRIAGE" $'^[0-9a-f]{16}\tleak\t[0-9]+\t100000\tparse\t$' \
	$'^[0-9a-f]{16}\tfixed\t[0-9]+\t50000\tcache_fill\towner is ann$'
[ "$(stat -c %a "$MEMTUI_TRIAGE")" = 600 ] && ok "the file is the user's alone" || not_ok "the file is the user's alone" "$(stat -c %a "$MEMTUI_TRIAGE")"
screen 7
has "it is there the next time" screen ' L .*parse' ' F .*cache_fill .*owner is ann'

# ---- other builds; a run is later when its second is ----
now=$(date +%s)
until [ "$(date +%s)" -gt $((now + 1)) ]; do read -rt 0.02 <> <(:) || true; done
record two.dat two/server
record three.dat three/server
trace=two.dat screen 7
has "in a run where it is fixed it does not leak" screen ' L .*parse'
hasnt "nothing came back there" screen 'came back|cache_fill'
trace=three.dat screen 7
has "a build with moved lines, inlined, from elsewhere is known" screen ' L .*parse'
has "what was fixed and leaks again is flagged" screen '! came back +1 +48' ' ! .*cache_fill'
hasnt "nothing else came back" screen ' ! .*parse'
trace=three.dat screen 2 /cache_fill$'\r' $'\r'
has "its detail says so" screen '! fixed, came back, judged 20.*owner is ann'
trace=one.dat screen 7
hasnt "the run before it was fixed is no news" screen 'came back'

# ---- hidden, undone ----
trace=three.dat
screen 2 /arena$'\r' tx
has "what is suppressed is hidden" screen 'arena_init: suppressed'
hasnt "its line is gone" screen '20000|19\.5k'
screen 2 X
has "X shows it" screen 'X .*arena_init'
screen 2 X U /arena$'\r' tl ti tu
has "undo takes the last step back" screen ' L .*arena_init' 'undone: 1 group'
grep -q $'\tsuppressed\t' "$MEMTUI_TRIAGE" && not_ok "undo is in the file" "$(cat "$MEMTUI_TRIAGE")" || ok "undo is in the file"
screen 2 $'  ' ti
has "marked groups are judged at once" screen ' I .*parse' ' I .*cache_fill'
screen 2 tu
has "undo does not reach into another session" screen 'nothing to undo'

# ---- reports ----
screen 7 /arena$'\r' tx w$'\x15'report.md$'\r' w$'\x15'known.supp$'\r'
has "a report in Markdown" report.md '^# Leaks of three/server' '^\| suppressed \| 1 ' '^## 1\. ' '^> owner is ann' \
	'    #[0-9] .*cache_fill.*copied\.c:[0-9]+' 'leak:\^arena_init\$'
has "rules of what is suppressed" known.supp '^leak:\^arena_init\$'
hasnt "and of nothing else" known.supp 'parse'
screen 7 w$'\x15'report.md$'\r'
has "no file is written over" screen 'report\.md cannot be written: File exists'
timeout 240 "$memtui" report --suppressions known.supp three.dat >report.out 2>&1
has "memtui reads the rules" report.out 'suppressed +19\.5k in 1 block by 1 rule'

# ---- damage ----
cp "$MEMTUI_TRIAGE" before
{ sed -n 1,2p before; echo "0123 nonsense"; sed -n '3,$p' before; } >"$MEMTUI_TRIAGE"
screen
has "a line without sense is reported by its number" screen 'server\.triage: line 3 is invalid'
has "the others hold" screen ' I .*parse'
screen 7 /parse$'\r' tl
has "it is kept as it is" "$MEMTUI_TRIAGE" '^0123 nonsense$' $'\tleak\t[0-9]+\t100000\tparse'

# ---- two screens ----
cp before "$MEMTUI_TRIAGE"
screen 2 /parse$'\r' "!./drive 24 80 2 /cache_fill$(printf '\r') tl -- $memtui open three.dat >other" tf
has "what the other screen said is there" screen ' F .*parse' ' L .*cache_fill'
has "and in the file" "$MEMTUI_TRIAGE" $'\tfixed\t[0-9]+\t[0-9]+\tparse' $'\tleak\t[0-9]+\t[0-9]+\tcache_fill'

# ---- nowhere to write ----
MEMTUI_TRIAGE=$work/none/file screen 2 tl
has "what cannot be written is said" screen 'not saved: .*none/file cannot be written: No such file'
has "and known all the same" screen ' L .*parse'
MEMTUI_TRIAGE=$work/none/file screen 2 tl Q
has "and told once more at the end" screen 'judgements of 1 leak were not saved: .*none/file'
MEMTUI_TRIAGE=$work/none/file screen 2 tl "!mkdir $work/none" tf
has "the next change saves it" "$work/none/file" $'\tfixed\t'

# ---- where it lies ----
in_state() { timeout 240 ./drive 24 80 "$@" -- /usr/bin/env -u MEMTUI_TRIAGE XDG_STATE_HOME="$work/state" "$memtui" open one.dat >screen 2>&1; }
in_state 2 tl
[ "$(cd state && stat -c '%a %n' memtui/triage memtui/triage/server | tr '\n' ' ')" = "700 memtui/triage 600 memtui/triage/server " ] &&
	ok "by the program's name in the user's state" || not_ok "by the program's name in the user's state" "$(ls -lR state)"
rm -rf state && mkdir -p state/memtui elsewhere && ln -s "$work/elsewhere" state/memtui/triage
in_state 2 tl
has "not through a link" screen 'not saved: .*not your directory'
[ -z "$(ls elsewhere)" ] && ok "nothing is written there" || not_ok "nothing is written there" "$(ls elsewhere)"
exit $bad
