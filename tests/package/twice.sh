#!/bin/bash
# twice.sh: builds the sources twice, in directories, time zones, locales and at file times that differ, with make and as Debian
# packages, and compares the results byte by byte; lintian reads the packages. Prints 'ok NAME' or 'not ok NAME: why'.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MAKELEVEL SOURCE_DATE_EPOCH
bad=0
ok() { echo "ok twice $1"; }
not_ok() {
	echo "not ok twice $1: $2"
	bad=1
}
cd "$top" || exit 1
first=$work/a/memtui second="$work/another-directory-that-is-longer/memtui"
# The files as they are here, committed or not, without what was built.
copy() {
	mkdir -p "$1"
	if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard
	else
		find . \( -path './build*' -o -path ./debian/build \) -prune -o -type f -print0
	fi | tar c --null --ignore-failed-read -T - 2>/dev/null | tar x -C "$1"
}
# build NAME DIRECTORY COMMAND...
build() {
	local name=$1 directory=$2
	shift 2
	(cd "$directory" && "$@") >"$work/log" 2>&1 && return
	not_ok "$name" "$(tail -n 5 "$work/log")"
	exit 1
}
compare() { # NAME FILE FILE
	local difference
	difference=$(cmp "$2" "$3" 2>&1) && ok "$1" && return
	command -v diffoscope >/dev/null && difference=$(diffoscope --max-report-size 2000 "$2" "$3" 2>&1)
	not_ok "$1" "$difference"
}
copy "$first"
copy "$second"
find "$second" -exec touch -h -d '2001-02-03 04:05:06 UTC' {} +

build make "$first" make -j2 all
build make "$second" env TZ=Asia/Tokyo LC_ALL=C.UTF-8 make -j1 O=out/of/place all
for file in memtui libmemtui.so libcore.a; do
	compare "make: $file" "$first/build/$file" "$second/out/of/place/$file"
done
if ! command -v dh >/dev/null || ! command -v dpkg-buildpackage >/dev/null; then
	echo "skip twice packages: debhelper or dpkg-dev is not installed"
	exit $bad
fi
export DEB_BUILD_OPTIONS="nocheck parallel=2"
build dpkg-buildpackage "$first" dpkg-buildpackage -us -uc -b
build dpkg-buildpackage "$second" env TZ=Asia/Tokyo LC_ALL=C.UTF-8 sh -c 'umask 077 && exec dpkg-buildpackage -us -uc -b'
for file in "$work"/a/*.deb; do
	compare "package: $(basename "$file")" "$file" "${second%/*}/$(basename "$file")"
done
if command -v lintian >/dev/null; then
	said=$(lintian --allow-root -I --pedantic --show-overrides "$work"/a/*.changes 2>&1)
	said=$(grep -v -e '^O: ' -e '^N: ' -e '^N:$' <<<"$said")
	[ -z "$said" ] && ok "lintian has nothing to say" || not_ok lintian "$said"
else
	echo "skip twice lintian: it is not installed"
fi
exit $bad
