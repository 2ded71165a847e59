#!/bin/sh
# layers.sh BUILD: the architecture's arrows, checked. Inside core a folder includes only itself and earlier ones;
# core includes nothing of tui and references no curses symbol; preload includes core/wire.h, core/rendezvous.h and core/sampler.h alone, its rooms build on each
# other, and it imports libc alone. Each tag names one struct.
set -u
build=$1
bad=0
names=$(mktemp)
trap 'rm -f "$names" "$names.used"' EXIT
fail() { echo "not ok layers: $*"; bad=1; }

order="base inject patch trace model capture symbol convert session recording query set leakcheck account triage export"
allowed="core/wire.h core/rendezvous.h core/sampler.h"
for folder in $order; do
	allowed="$allowed core/$folder/"
	for inc in $(grep -hoE '#include "[^"]+"' core/$folder/*.[ch] | sed 's/.*"\(.*\)"/\1/' | sort -u); do
		ok=0
		for a in $allowed; do case $inc in "$a"*) ok=1 ;; esac; done
		[ $ok = 1 ] || fail "core/$folder includes $inc"
	done
done
# The rooms of the tracer, from the lowest to the highest (doc/tracer.md): each includes itself and lower ones, and calls nothing
# that a higher one defines. What install/ defines and base/ declares is how it tells the others. Of arch/, headers include nothing
# of the tracer and can be included by all; its hooks in assembly jump to where they have to, without an include.
rooms="base symbols segment unwind process record hooks install"
told="mt_tracer mt_installed mt_real_syscall"
includes() { grep -hoE '#include "[^"]+"' "$@" | sed 's/.*"\(.*\)"/\1/' | sort -u; } # FILES
objects() { for source in preload/$1/*.c; do echo "$build/obj/${source%.c}.o"; done; } # ROOM: none that an old build has left
for room in $(ls preload/*/*.[ch] | cut -d / -f 2 | sort -u); do
	case " $rooms arch attached " in *" $room "*) ;; *) fail "preload/$room has no place among the rooms of the tracer" ;; esac
done
for inc in $(includes preload/*.h preload/arch/*/*.h); do fail "preload/memtui.h or preload/arch includes $inc"; done
for inc in $(includes preload/arch/*/*.c); do
	case $inc in core/wire.h | core/rendezvous.h | core/sampler.h | preload/base/*) ;; *) fail "preload/arch includes $inc" ;; esac
done
lower="core/wire.h core/rendezvous.h core/sampler.h preload/memtui.h preload/arch/"
later=$rooms
for room in $rooms; do
	lower="$lower preload/$room/"
	later=${later#"$room"} later=${later# }
	for inc in $(includes preload/$room/*.[ch]); do
		ok=0
		for a in $lower; do case $inc in "$a"*) ok=1 ;; esac; done
		[ $ok = 1 ] || fail "preload/$room includes $inc"
	done
	for higher in $later; do
		for name in $(nm $(objects $higher) | awk 'NF == 3 && $2 ~ /[A-Z]/ { print $3 }'); do
			echo "$name $higher"
		done
	done | sort >"$names"
	nm $(objects $room) | awk '$1 == "U" { print $2 }' | grep '^mt_' | sort -u | join "$names" - >"$names.used"
	while read -r name higher; do
		case " $told " in *" $name "*) ;; *) fail "preload/$room uses $name of preload/$higher" ;; esac
	done <"$names.used"
done
# attached/ stands in the place of install/. It is linked without what it does not have, imports nothing, has no thread-local storage,
# and its relocations need no symbol of another: it can be written into any process.
for inc in $(includes preload/attached/*.[ch]); do
	case $inc in preload/install/*) fail "preload/attached includes $inc" ;; esac
	case $inc in core/rendezvous.h | core/wire.h | preload/*) ;; *) fail "preload/attached includes $inc" ;; esac
done
imports=$(nm -D --undefined-only "$build/libmemtui-attached.so" | awk '$1 == "U" { print $2 }')
[ -z "$imports" ] || fail "libmemtui-attached.so imports" $imports
readelf -lW "$build/libmemtui-attached.so" | grep -q ' TLS ' && fail "libmemtui-attached.so has thread-local storage"
readelf -rW "$build/libmemtui-attached.so" | awk '$3 ~ /^R_/ && $3 !~ /RELATIVE|GLOB_DAT/ { print $3 }' | grep -q . &&
	fail "libmemtui-attached.so has relocations that need more than its address"
nm -u "$build/libcore.a" 2>/dev/null | grep -E ' (initscr|newterm|wrefresh|doupdate|mvw.*|waddn?w?str)$' && fail "core uses curses"
needed=$(readelf -d "$build/libmemtui.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
for lib in $needed; do
	case $lib in libc.so.6 | ld-linux-x86-64.so.2) ;; *) fail "libmemtui.so needs $lib" ;; esac
done
while read -r symbol; do
	grep -qx "$symbol" tests/preload-imports.txt || fail "libmemtui.so imports $symbol, which tests/preload-imports.txt does not name"
done <<LIST
$(nm -D --undefined-only "$build/libmemtui.so" | awk '{print $NF}' | sed 's/@.*//' | sort -u)
LIST
# A tag names one struct (enum, union) in all of the sources, so that a search for it finds one definition.
for tag in $(grep -rhoE '^[[:blank:]]*([a-z]+ )*(struct|enum|union) mt_[a-z0-9_]+ *(__attribute__.*)?\{' \
	--include='*.[ch]' core preload tui | sed -E 's/.*(struct|enum|union) (mt_[a-z0-9_]+).*/\2/' | sort | uniq -d); do
	fail "more than one definition of $tag:" $(grep -rnoE "(struct|enum|union) $tag *(__attribute__.*)?\{" --include='*.[ch]' \
		core preload tui | sed -E 's/:[^:]*$//')
done
# Every character that is not ASCII, as itself or as an escape, stands in the one table of glyphs.
strange=$(LC_ALL=C grep -nE "$(printf '[\200-\377]')|\\\\(x[c-fC-F][0-9a-fA-F]|[uU][0-9a-fA-F]{4}|3[0-7][0-7])" tui/*.[ch] tui/*/*.[ch] | grep -v '^tui/terminal/glyphs\.')
[ -z "$strange" ] || fail "a glyph outside tui/terminal/glyphs.h: $strange"
[ $bad = 0 ] && echo "ok layers"
exit $bad
