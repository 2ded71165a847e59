#!/bin/sh
# packages.sh NAME...: installs the Debian packages that are missing, as root or by sudo; else names them.
set -u
missing=
for p in "$@"; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "memtui: this system has no apt-get; install what corresponds to:$missing" >&2
	exit 1
fi
if [ "$(id -u)" = 0 ]; then as=; elif command -v sudo >/dev/null; then as=sudo; else
	echo "memtui: packages are missing and this is neither root nor is there sudo; as root run: apt-get update && apt-get install$missing" >&2
	exit 1
fi
echo "installing:$missing"
$as apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as apt-get install -y -qq --no-install-recommends $missing >/dev/null || {
	echo "memtui: could not install:$missing" >&2
	exit 1
}
