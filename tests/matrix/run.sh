#!/usr/bin/env bash
# matrix: every allocation function in every way it can go, every way to die, every fault: exact counts, and the
# program's output, status and errno as without a tracer.
set -u
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$here/common.sh"

build_c api && build_cc api_cc || { echo "not ok matrix: its programs cannot be built"; exit 1; }

# ---- the functions ----
python3 -c 'for i in range(1000): print("x" * (i * i % 3001))' >"$tmp/lines"
matrix() { # NAME PROGRAM...
	local name=$1
	shift
	record "$@"
	say "$name" "$(same)$(compare)"
}
matrix "functions of C" "$tmp/api" "$tmp/lines"
matrix "functions that libc allocates in" "$tmp/api" "$tmp/lines" libc
matrix "cfree" "$tmp/api" "$tmp/lines" cfree
matrix "operators of C++" "$tmp/api_cc"
