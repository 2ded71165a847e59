#!/bin/bash
# domains: a trace that defines a domain and functions of its own (tests/programs/toy_domain.c), read by the commands. run.sh BUILD
set -u
export MEMTUI_CACHE= MEMTUI_TRIAGE=
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
for how in totals events; do
	"$build/toy_domain" $how.dat $how || { echo "not ok domains: no trace with $how is written"; exit 1; }
done
MEMTUI=$build/memtui exec python3 "$here/read.py"
