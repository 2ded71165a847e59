#!/usr/bin/env bash
# cost.sh BUILD [BEFORE]: instructions that the tracer and the recorder take an event, by callgrind, bytes an event in the trace,
# and the recorder's largest resident memory. BEFORE is the build directory of another version, which is compared with BUILD.
#
# Each figure is that of a long run less that of a short one, by the difference of their events, so that starting, ending and
# symbols do not count. Tracer: the program with the stand-alone tracer, less the program alone. Recorder: `memtui pack` of a
# stand-alone recording made at full speed; both versions pack the same file, if BEFORE can read it. There are no limits here:
# two builds of one version differ by less than 0.2 % in instructions and bytes, and by up to 1 % in memory. Two runs, which make new
# recordings, differ by 3 % on tree.
set -eu
build=$(cd "${1:?usage: cost.sh BUILD [BEFORE]}" && pwd)
before=${2:+$(cd "$2" && pwd)}
bench=$(cd "$(dirname "$0")/../bench" && pwd)
export LC_ALL=C MEMTUI_CACHE='' MEMTUI_TRIAGE='' PERL_HASH_SEED=0
unset MEMTUI_SESSION MEMTUI_OUTPUT
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
for needed in valgrind perl python3; do
	command -v $needed >/dev/null || { echo "cost.sh: $needed is not installed" >&2; exit 1; }
done
perl=$(readlink -f "$(command -v perl)")
# Both lie at paths of one length: the environment's size moves the stack, which costs the tracer up to 1 % on tree.
mkdir new old
cp "$build/memtui" "$build/libmemtui.so" new
[ -z "$before" ] || cp "$before/memtui" "$before/libmemtui.so" old

# program WORKLOAD PAIRS: sets ${command[@]} to one that allocates and frees about as many blocks
program() {
	case $1 in
	'hot 16') command=("$build/bench/hot" "$2" 16) ;;
	'four threads') command=("$build/bench/hot" "$2" 16 4) ;;
	tree) command=("$build/bench/tree" 1 $(($2 / 4))) ;;
	perl)
		sed "s/250000/$(($2 / 8))/" "$bench/hash.pl" >"hash-$2.pl"
		command=("$perl" "hash-$2.pl")
		;;
	esac
}
quiet() { # COMMAND...: its output is shown if it fails
	"$@" >quiet.out 2>&1 || { echo "cost.sh: failed: $*" >&2; tail -n 5 quiet.out >&2; exit 1; }
}
instructions() { # VARIABLE=VALUE... COMMAND...
	quiet setarch -R valgrind --tool=callgrind --trace-children=yes --callgrind-out-file=callgrind.%p env "$@"
	# env itself makes no file: it becomes the command
	awk '$1 == "summary:" || $1 == "totals:" { if ($2 > most) most = $2 } END { print most }' callgrind.*
	rm -f callgrind.*
}
events() { # TRACE, of either version
	"$tmp/new/memtui" info --format json "$1" 2>/dev/null |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["events"])'
}
record() { # BUILD FILE: ${command[@]}, alone
	quiet setarch -R env MEMTUI_OUTPUT="$2" LD_PRELOAD="$1/libmemtui.so" "${command[@]}"
}
ratio() { # LONG SHORT EVENTS-LONG EVENTS-SHORT
	awk -v a="$1" -v b="$2" -v c="$3" -v d="$4" 'BEGIN { printf "%.2f", (a - b) / (c - d) }'
}

alone() { # WORKLOAD PAIRS: instructions without a tracer
	program "$1" "$2"
	local file="alone $1 $2"
	[ -s "$file" ] || instructions "${command[@]}" >"$file"
	cat "$file"
}
tracer() { # BUILD WORKLOAD
	local taken=() events=() pairs times=1
	case $2 in 'four threads' | tree) times=4 ;; esac # there more is by chance
	for pairs in $((61440 * times)) $((20480 * times)); do
		program "$2" $pairs
		rm -f traced.mem*
		taken+=($(($(instructions MEMTUI_OUTPUT="$tmp/traced.mem" LD_PRELOAD="$1/libmemtui.so" "${command[@]}") - $(alone "$2" $pairs))))
		# valgrind itself is traced before; its recording is traced.mem.exec0, and in older versions traced.mem
		[ ! -s traced.mem.1 ] || mv traced.mem.1 traced.mem
		quiet "$1/memtui" pack -f -o traced.dat traced.mem
		events+=("$(events traced.dat)")
	done
	ratio "${taken[@]}" "${events[@]}"
}
recorder() { # BUILD WORKLOAD: instructions and bytes an event
	local taken=() bytes=() events=() pairs file
	for pairs in 400000 100000; do
		program "$2" $pairs
		file="$2 $pairs.mem"
		[ -s "$file" ] || record "$tmp/new" "$file"
		if ! "$1/memtui" info "$file" >/dev/null 2>&1; then # its own, which the next look finds anew
			file=other.mem
			rm -f other.mem*
			record "$1" other.mem
		fi
		taken+=("$(instructions "$1/memtui" pack -f -o packed.dat "$file")")
		bytes+=("$(stat -c %s packed.dat)")
		events+=("$(events packed.dat)")
	done
	echo "$(ratio "${taken[@]}" "${events[@]}") $(ratio "${bytes[@]}" "${events[@]}")"
}
resident() { # BUILD: KiB of the recorder, which is one of the processes of memtui; the median of three runs
	program perl 2000000
	for _ in 1 2 3; do
		python3 -c 'import glob, os, re, subprocess, sys, time
memtui, most = os.path.realpath(sys.argv[1]), 0
run = subprocess.Popen([memtui, *sys.argv[2:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while run.poll() is None:
    for status in glob.glob("/proc/[0-9]*/status"):
        try:
            if os.readlink(os.path.dirname(status) + "/exe") == memtui:
                most = max(most, int(re.search(r"VmHWM:\s+(\d+)", open(status).read()).group(1)))
        except (OSError, AttributeError):
            pass  # it has ended
    time.sleep(0.005)
print(most)
sys.exit(run.returncode)' "$1/memtui" record -f -o perl.dat -- "${command[@]}"
	done | sort -n | sed -n 2p
}

row() { # NAME NUMBER NUMBER-BEFORE
	if [ -n "$before" ]; then
		awk -v name="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%-42s %10s %10s %+9.2f %%\n", name, b, a, (a - b) / b * 100 }'
	else
		printf '%-42s %10s\n' "$1" "$2"
	fi
}
if [ -n "$before" ]; then
	printf '%-42s %10s %10s %11s\n' '' before now difference
else
	printf '%-42s %10s\n' '' now
fi
for workload in 'hot 16' 'four threads' tree perl; do
	row "tracer, instructions an event: $workload" "$(tracer "$tmp/new" "$workload")" "${before:+$(tracer "$tmp/old" "$workload")}"
done
for workload in 'hot 16' 'four threads' tree perl; do
	read -r taken bytes <<<"$(recorder "$tmp/new" "$workload")"
	read -r taken_before bytes_before <<<"${before:+$(recorder "$tmp/old" "$workload")}"
	row "recorder, instructions an event: $workload" "$taken" "$taken_before"
	row "bytes an event: $workload" "$bytes" "$bytes_before"
done
row 'recorder, KiB resident at most: perl' "$(resident "$tmp/new")" "${before:+$(resident "$tmp/old")}"
