#!/usr/bin/env bash
# ranges: what a range of time gives when a reader decodes only the event blocks that it needs is what a pass over all events gives.
# The pass over all is over a copy of the trace whose block headers do not say which blocks that are. run.sh BUILD
. "$(dirname "$0")/../suite.sh"
"$memtui" record -f -o tree.dat -- "$build/bench/tree" 1 60000 >/dev/null 2>&1
sed 's/250000/60000/' "$top/tests/bench/hash.pl" >hash.pl
"$memtui" record -f --free-stacks -o perl.dat -- perl hash.pl >/dev/null 2>&1
"$build/bench/make_trace" made.dat "${EVENTS:-800000}" >/dev/null || echo "not ok ranges: make_trace failed"

commands=("groups --format json" "tree --format json --min-percent 0" "timeline --format csv" "histogram --format csv" "histogram --of lifetime --format csv"
	"allocations --format csv -n 5000" "allocations --sort live --format csv -n 50 --temporary-threshold 5" "report --exact" "export --as csv" "export --as heaptrack"
	"groups --format json --lifetime only_leaked" "groups --format csv --lifetime-min 1ms" "groups --format csv --lifetime only_temporary --temporary-threshold 3"
	"groups --format csv --size-min 100" "info --format json --size-min 30" "chains --format csv -n 40" "groups --format csv --alive-at peak"
	"diff --format csv")
for trace in tree perl made; do
	python3 "$here/plain.py" $trace.dat plain.dat || { not_ok "$trace" "no copy"; continue; }
	mv $trace.dat whole.dat
	for range in "30 31" "50 75" "97 100" "42.5 42.5"; do
		read -r a b <<<"$range"
		limits=(--from "$a%" --to "$b%")
		why=
		for command in "${commands[@]}"; do
			read -ra words <<<"$command"
			for copy in whole plain; do
				ln -sf $copy.dat same.dat
				timeout 120 "$memtui" "${words[@]}" "${limits[@]}" same.dat 2>&1 | sed 's/"file_bytes":[0-9]*//' >$copy.out
				[ "${PIPESTATUS[0]}" = 0 ] || why+="$command: $(head -n 1 $copy.out); "
			done
			cmp -s whole.out plain.out || why+="$command: $(diff whole.out plain.out | head -n 4); "
		done
		say "$trace, $a % to $b %" "$why"
	done
done
exit $bad
