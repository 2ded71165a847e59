#!/bin/bash
# run.sh BUILD: what is installed and what is packed: one version everywhere, the pkg-config file, the archive of 'make dist',
# no path of the build machine in the binaries. Prints 'ok NAME' or 'not ok NAME: why'.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
[ -x "$build/memtui" ] || { echo "not ok package: $build/memtui is not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MAKELEVEL
bad=0
ok() { echo "ok package $1"; }
not_ok() {
	echo "not ok package $1: $2"
	bad=1
}
# same NAME EXPECTED FOUND
same() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "expected '$2', found '$3'"; fi; }
cd "$top" || exit 1

# ---- one version ----
version=$(sed -n '1s/^memtui (\([^)-]*\).*/\1/p' debian/changelog)
[ -n "$version" ] || not_ok version "the first line of debian/changelog names none: $(head -n 1 debian/changelog)"
same "version: memtui --version" "memtui $version" "$("$build/memtui" --version)"
for page in doc/man/*; do
	head -n 1 "$page" | grep -qF " \"memtui $version\" " || not_ok "version: $page" "$(head -n 1 "$page"), expected memtui $version (make man)"
done
# The number stands nowhere else, so that a release changes the changelog and 'make man' does the rest.
others=$(grep -lF "$version" Makefile README.md preload/*.* preload/*/*.[ch] preload/arch/*/*.[ch] core/*/*.[ch] tui/*.[ch] tui/*/*.[ch] 2>/dev/null)
same "version: in one place" "" "$others"

# ---- who copies the lines that build the package has what they need ----
for page in README.md doc/packaging.md; do
	same "$page: apt-get build-dep comes before dpkg-buildpackage" "" \
		"$(awk '/apt-get build-dep \.\// { seen = 1 } /^ *dpkg-buildpackage/ && !seen' "$page")"
done

# ---- no path of this machine ----
for file in memtui libmemtui.so libmemtui-attached.so; do
	same "paths: none of the source directory in $file" 0 "$(grep -acF "$top" "$build/$file")"
done

# ---- make install with another prefix ----
# A copy of the objects, since another prefix compiles some of them again.
mkdir -p "$work/o/obj"
cp -a "$build/obj/core" "$build/obj/tui" "$build/obj/preload" "$build/obj/attached" "$work/o/obj/"
cp -a "$build/settings" "$build/flags" "$work/o/"
if make --no-print-directory O="$work/o" PREFIX=/opt/memtui DESTDIR="$work/stage" install >"$work/log" 2>&1; then
	ok install
else
	not_ok install "$(tail -n 3 "$work/log")"
fi
at=$work/stage/opt/memtui
same "install: nothing outside of the prefix" "$(printf 'opt\nopt/memtui')" "$(cd "$work/stage" && find * -maxdepth 1)"
for file in bin/memtui lib/memtui/libmemtui.so lib/memtui/libmemtui-attached.so share/memtui/themes/dark.theme share/man/man1/memtui-record.1 share/man/man3/memtui.h.3 \
	share/man/man5/memtui-keys.5 share/man/man7/memtui-filters.7 share/bash-completion/completions/memtui share/zsh/site-functions/_memtui \
	share/fish/vendor_completions.d/memtui.fish include/memtui.h share/pkgconfig/memtui.pc; do
	[ -s "$at/$file" ] || not_ok "install: $file" "it is missing or empty"
done
grep -aqF /opt/memtui "$at/bin/memtui" && ok "install: another prefix compiles anew" ||
	not_ok "install: another prefix compiles anew" "bin/memtui does not know its prefix /opt/memtui"
same "install: themes" "$(cd themes && printf '%s\n' *.theme | sed 's/\.theme$//' | LC_ALL=C sort)" \
	"$(XDG_CONFIG_HOME="$work" "$at/bin/memtui" help themes)"
pc() { PKG_CONFIG_PATH=$at/share/pkgconfig pkg-config "$@" memtui; }
same "pkg-config: version" "$version" "$(pc --modversion)"
same "pkg-config: flags" "-I/opt/memtui/include" "$(pc --cflags | sed 's/ *$//')"
same "pkg-config: nothing to link" "" "$(pc --libs | tr -d ' ')"
if gcc -o "$work/arena" tests/programs/arena.c $(pc --define-variable=prefix="$at" --cflags) 2>"$work/log" &&
	"$at/bin/memtui" record -o "$work/arena.dat" -- "$work/arena" >"$work/log" 2>&1; then
	pools=$("$at/bin/memtui" allocations --format json "$work/arena.dat" | grep -c '"kind":"pool"')
	[ "$pools" -gt 0 ] && ok "the installed memtui records the installed header" ||
		not_ok "the installed memtui records the installed header" "no block of a pool: $(cat "$work/log")"
else
	not_ok "the installed memtui records the installed header" "$(head -n 5 "$work/log")"
fi

# ---- make dist ----
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	head=$(git show HEAD:debian/changelog | sed -n '1s/^memtui (\([^)-]*\).*/\1/p')
	name=memtui-$head
	git clone -q . "$work/clone" 2>"$work/log" || not_ok "dist: clone" "$(cat "$work/log")"
	make --no-print-directory O="$work/d1" dist >"$work/log" 2>&1 || not_ok dist "$(cat "$work/log")"
	(umask 077 && TZ=Asia/Tokyo make --no-print-directory -C "$work/clone" O="$work/d2" dist >"$work/log" 2>&1) || not_ok dist "$(cat "$work/log")"
	if cmp "$work/d1/$name.tar.xz" "$work/d2/$name.tar.xz" >"$work/log" 2>&1; then ok "dist: the same bytes from another clone"; else
		not_ok "dist: the same bytes from another clone" "$(cat "$work/log")"
	fi
	same "dist: the committed files, in one directory" "$(git ls-tree -r --name-only HEAD | sed "s|^|$name/|" | LC_ALL=C sort)" \
		"$(tar tf "$work/d1/$name.tar.xz" | grep -v '/$' | LC_ALL=C sort)"
	same "dist: owner and time of the commit" "root/root $(TZ=UTC git log -1 --date=format-local:'%F %T' --format=%cd)" \
		"$(TZ=UTC tar tvf "$work/d1/$name.tar.xz" --full-time | awk '{ print $2, $4, $5 }' | sort -u)"
else
	echo "skip package dist: this is no git clone"
fi
exit $bad
