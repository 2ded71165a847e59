#!/usr/bin/env bash
# sizes: recordings with --record-min and --record-max are what a filter by size leaves of an exact recording, and count what they
# leave out.
. "$(dirname "$0")/../suite.sh"
build_programs -O1 -g -fno-builtin -pthread -- program

# compare NAME EXACT GATED FILTER... -- [FIELD...]: two traces
compare() {
	local name=$1 exact=$2 gated=$3 filter=()
	shift 3
	while [ "$1" != -- ]; do filter+=("$1"); shift; done
	shift
	{ printf '['; asked "$memtui" info --format json --no-builtin-suppressions "${filter[@]}" "$exact" 2>/dev/null; printf ','
		asked "$memtui" info --format json --no-builtin-suppressions "$exact" 2>/dev/null; printf ']'; } >exact.json
	asked "$memtui" info --format json --no-builtin-suppressions "$gated" >gated.json 2>/dev/null
	say "$name" "$(python3 "$here/compare.py" exact.json gated.json "$@" 2>&1)"
}
record() { # TRACE ARGUMENT...
	local trace=$1
	shift
	timeout 120 "$memtui" record --force -o "$trace" "$@" >/dev/null 2>err || not_ok "$trace" "status $?: $(tail -n 1 err)"
}
recorded() { # NAME FIELDS PROGRAM ARGUMENT...: exactly, and only 100 to 4096 bytes
	local name=$1 fields=$2
	shift 2
	record exact.trace "$@"
	record gated.trace --record-min 100 --record-max 4k "$@"
	compare "$name" exact.trace gated.trace --size-min 100 --size-max 4096 -- $fields
}
recorded mix peak_bytes ./program mix
cp gated.trace mix.trace
recorded reallocs peak_bytes ./program reallocs
recorded threads '' ./program threads
recorded 'signal handlers' peak_bytes ./program signals
recorded fork peak_bytes ./program fork 500
compare 'a forked child' exact.trace.[0-9]* gated.trace.[0-9]* --size-min 100 --size-max 4096 --
recorded 'more blocks than the table holds' peak_bytes ./program many 1000000
say 'its table was full' "$([ "$(field gated.trace unlisted_blocks)" -gt 0 ] || echo no)"

record exact.trace ./program fails
record gated.trace --record-min 100 ./program fails
compare 'reallocs that fail, without a largest size' exact.trace gated.trace --size-min 100 -- peak_bytes
record gated.trace --record-max 99 ./program mix
record exact.trace ./program mix
compare 'a largest size alone' exact.trace gated.trace --size-max 99 -- peak_bytes

# ---- a process that runs already, and leaks ----
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" != 0 ] && [ -z "$root" ]; then
	skip attach 'ptrace_scope forbids it'
else
	mkfifo go
	./program waits 50 <go >out &
	program=$!
	exec 9>go
	timeout 100 "$memtui" leaks --record-min 100 --record-max 4k -p $program --output leaks.trace --combined-only 60 1 \
		>leaks.out 2>err &
	leaks=$!
	if until_true grep -q Attaching leaks.out; then
		echo >&9
		until_true grep -q filled out
		timeout 60 "$memtui" leak-check $program >check.out 2>&1
		say 'a leak check is refused' "$(is $? 1)$(grep -q 'blocks of some sizes are not recorded' check.out || cat check.out)"
		timeout 60 "$memtui" leaks --record-min 5 -p $program 1 1 >again.out 2>&1
		say 'leaks beside a recording takes no sizes' "$(is $? 1)$(grep -q 'is recorded already; --record-min' again.out || cat again.out)"
		echo >&9
		wait $program
		wait $leaks
		say 'leaks and attach' "$(is "$(field leaks.trace record_min record_max unknown_frees)" '100 4096 0'
			[ "$(field leaks.trace left_out)" = 700 ] || field leaks.trace left_out)"
	else
		not_ok 'leaks and attach' "$(cat err leaks.out)"
		kill $program
	fi
	exec 9>&-
fi

# ---- said in every place ----
why=
"$memtui" info mix.trace >info
grep -q '^recorded sizes *100B to 4.0k$' info || why+="info: $(grep sizes info); "
grep -q '^temporary' info && why+="info has temporary blocks; "
sentence='not seen: [0-9,]* allocations ([0-9.]*M) of sizes below 100B or above 4.0k, which were not to be recorded'
grep -q "^  $sentence" info || why+="info: $(grep 'not seen' info); "
"$memtui" report mix.trace | grep -q "^  $sentence" || why+="report does not say it; "
record again.trace --record-min 100 --record-max 4k ./program mix
grep -q "$sentence" err || why+="the closing line: $(cat err); "
"$memtui" check --max-leaked 1G mix.trace >out
why+=$(is $? 1)
grep -q '^UNKNOWN' out && grep -q "$sentence" out || why+="check: $(cat out); "
"$memtui" check --max-leaked 1G --allow-unseen 'recorded sizes' mix.trace >out || why+="check --allow-unseen: $(cat out); "
"$memtui" check --max-temporary 1000000000 --allow-unseen 'recorded sizes' mix.trace >out
why+=$(is $? 1)
say 'said in every place' "$why"
record nothing.trace --record-min 0 --record-max 1G ./program mix 10
"$memtui" check --max-leaked 1G nothing.trace >out
say 'what left out nothing passes a check' "$(is $? 0)$(grep 'not seen' out)"

# ---- refused in words ----
refused() { # NAME PATTERN STATUS COMMAND...
	local name=$1 pattern=$2 status=$3 why=
	shift 3
	"$@" >out 2>&1
	why=$(is $? "$status")
	grep -q -- "$pattern" out || why+=$(head -n 2 out)
	say "$name" "$why"
}
refused 'a largest size of 0' '--record-max: 0 bytes are too few; give 1 or more' 2 "$memtui" record --record-max 0 ./program mix
refused 'the smallest above the largest' '--record-min is larger than --record-max' 2 \
	"$memtui" record --record-min 5k --record-max 4k ./program mix
refused 'a leak check at the end' '--leak-check: cannot be combined with --record-min' 2 \
	"$memtui" record --leak-check --record-min 5 ./program mix
refused 'leaks of a trace' '--record-min: a trace holds what was recorded; use --min-size' 2 "$memtui" leaks --record-min 5 mix.trace
refused 'invalid frees' 'blocks of some sizes were not recorded' 1 "$memtui" errors mix.trace

# ---- with --sample: both ----
record both.trace --record-min 100 --record-max 4k --sample 4k ./program mix
record exact.trace ./program mix
say 'sampled, too' "$(is "$(field both.trace left_out)" "$(field mix.trace left_out)"
	python3 - $(field both.trace allocated_bytes allocated_bytes_stderr unknown_frees) $(field mix.trace allocated_bytes) <<'PY'
import sys
estimate, error, unknown, truth = map(float, sys.argv[1:])
if abs(estimate - truth) > 6 * error or unknown or not 0 < error < truth / 10:
    print(f'estimated {estimate} with an error of {error}, truth {truth}, {unknown} unknown frees')
PY
)"

exit $bad
