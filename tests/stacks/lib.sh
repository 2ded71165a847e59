# What the scripts of this folder share. here: this folder; out: where programs are built.
. "$here/../asked.sh"

# compile TARGET SOURCES FLAGS...: again when a source is newer
compile() {
	local target=$1 sources=$2 compiler=gcc
	shift 2
	case $sources in *.cc*) compiler=g++ ;; esac
	[ -n "$(find $sources -newer "$target" 2>/dev/null)" ] || [ ! -x "$target" ] || return 0
	$compiler -g -w -pthread "$@" $sources -o "$target" -ldl || echo "not ok stacks $target: does not compile"
}

# compile_lines: lines of "compile ..." from standard input, two at a time
compile_lines() {
	xargs -P 2 -d '\n' -n 1 bash -c
}

plugin_lines() {
	echo "compile reload $here/reload.c -O2"
	echo "compile jit $here/jit.c -O2"
	for n in 24 200 4000; do
		echo "compile plugin$n.so $here/plugin.c -O2 -fPIC -shared -DFRAME=$n"
	done
}

# counts MEMTUI FILE: allocations (reallocs too), checked, wrong, checked otherwise, wrong otherwise, not comparable,
# cut, lost
counts() {
	asked "$1" info --format json "$2" | python3 -c 'import json, sys
d = json.load(sys.stdin)
c = d["counters"]
print(d["allocations"] + d["reallocations"], c["checked_stacks"] + c["nested_events"], c["wrong_stacks"],
	c["checked_otherwise"], c["wrong_otherwise"], c["not_comparable"], d["cut_stacks"], d["lost_events"])'
}
export -f compile counts
