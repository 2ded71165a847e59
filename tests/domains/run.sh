#!/bin/bash
# domains: a trace that defines a domain and functions of its own (tests/programs/toy_domain.c), read by the commands, and a program
# with blocks of two domains at one address (pool.c), recorded in both ways. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
for how in totals events; do
	"$build/toy_domain" $how.dat $how || { echo "not ok domains: no trace with $how is written"; exit 1; }
done
build_programs -O0 -g -fno-builtin "-I$top" -- pool
for options in "" "--free-stacks"; do
	"$memtui" record -f -o "pool$options.dat" $options -- ./pool >"pool$options.truth" || [ $? = 3 ] || not_ok "record $options" "status $?"
done
env LD_PRELOAD="$lib" MEMTUI_OUTPUT="$tmp/alone.mem" ./pool >alone.truth
"$memtui" pack -f -o alone.dat alone.mem >/dev/null || not_ok pack "status $?"
MEMTUI=$memtui python3 "$here/read.py" || bad=1
exit $bad
