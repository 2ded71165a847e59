#!/usr/bin/env bash
# run.sh BUILD [fuzz]: hostile inputs for the readers, and programs with damaged call frame information, traced. Without
# `fuzz` all is the same each time, and short: each target's seeds, some inputs made of them, and MUTANTS programs. With
# it, libFuzzer runs each target for SECONDS_EACH seconds, from what it found last time. ONLY=NAME_fuzz: that target alone;
# RUNS=N SEED=N: at most N inputs, which are the same each time if the corpus is.
set -u
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
out=$build/fuzz
mkdir -p "$out" && cd "$out" || exit 2
export LC_ALL=C ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
bad=0

# seeds NAME: files in NAME.seeds
seeds() {
	mkdir -p "$1.seeds"
	[ ! -d "$here/$1.corpus" ] || cp "$here/$1.corpus/"* "$1.seeds"
	if [ -f "$here/${1%_fuzz}_seeds.sh" ] && ! bash "$here/${1%_fuzz}_seeds.sh" "$build" "$1.seeds"; then
		echo "not ok fuzz $1: seeds could not be made"
		bad=1
	fi
	[ -n "$(ls "$1.seeds")" ] && return
	echo "not ok fuzz $1: no seeds"
	bad=1
}

replay() { # NAME: inputs are made of the seeds for a few seconds
	local rounds=20000
	case $1 in
	trace_fuzz | report_fuzz) rounds=2000 ;; # each makes and reads a trace
	heaptrack_fuzz | symbol_fuzz) rounds=700 ;; # each makes or reads a whole file
	filter_fuzz | config_fuzz | keymap_fuzz) rounds=3000 ;; # each compiles patterns, or asks for each action
	esac
	timeout 300 "./replay-$1" "$1" $rounds "$1.seeds"/* >"$1.out" 2>"$1.err" && cat "$1.out" && return
	echo "not ok fuzz $1: $(grep -m 1 -E 'ERROR|replay:|runtime error' "$1.err" || echo "status $?"), see $out/$1.err"
	bad=1
}

invent() { # NAME: inputs that fail are kept in NAME.failed-*
	local asan=$ASAN_OPTIONS
	# their readers would end without a word to libFuzzer, which then keeps no input
	case $1 in trace_fuzz | report_fuzz) asan+=:allocator_may_return_null=0 ;; esac
	mkdir -p "$1.corpus"
	if ASAN_OPTIONS=$asan "./$1" -max_total_time="$SECONDS_EACH" -runs="${RUNS:--1}" -seed="${SEED:-0}" -timeout=300 -rss_limit_mb=2048 -max_len=65536 -artifact_prefix="$out/$1.failed-" \
		"$1.corpus" "$1.seeds" >"$1.err" 2>&1; then
		echo "ok fuzz $1: $(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) .*/\1 inputs in \2 s/p' "$1.err")"
	else
		echo "not ok fuzz $1: $(grep -m 1 ERROR "$1.err" || tail -n 1 "$1.err"), see $out/$1.err"
		bad=1
	fi
}

# The program is built without position, at addresses that are the same each time.
mutants() {
	gcc -O2 -g -fno-ipa-icf -fomit-frame-pointer -pthread -w "$here/mutant.c" -o mutant || return 1
	rm -rf mutants && mkdir mutants
	setarch -R python3 "$here/mutants.py" mutant "$build/libmemtui.so" mutants "${MUTANTS:-150}" "${SEED:-1}"
}

for target in "$here"/*_fuzz.c; do
	name=$(basename "$target" .c)
	[ -z "${ONLY-}" ] || [ "$ONLY" = "$name" ] || continue
	seeds "$name"
	if [ "${2:-}" = fuzz ]; then invent "$name"; else replay "$name"; fi
done
[ -n "${ONLY-}" ] || mutants || bad=1
exit $bad
