# common.sh: what the matrix scripts share. Sourced with $build, $here and $tmp set.
memtui=$build/memtui
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
ulimit -c 0

say() { # NAME WHY...: ok when there is no reason
	local name=$1
	shift
	if [ -z "$*" ]; then echo "ok $name"; else echo "not ok $name: $*"; fi
}

# NAME [LINKER OPTION...]: from NAME.c or NAME.cc, without the compiler's knowledge of malloc
flags="-O1 -g -D_GNU_SOURCE -Wall -Wextra -Wno-deprecated-declarations -Wno-use-after-free -fno-builtin -pthread"
build_c() { gcc -std=gnu11 $flags -o "$tmp/$1" "$here/$1.c" "${@:2}"; }
build_cc() { g++ -std=c++17 $flags -o "$tmp/$1" "$here/$1.cc" "${@:2}"; }

# Runs a program untraced and recorded: $want and $have are the statuses, $tmp/want and $tmp/have the outputs.
record() { # PROGRAM...; the array options holds those of memtui
	export TRUTH=/dev/null
	{ timeout 240 "$@" >"$tmp/want" 2>"$tmp/want.err"; } </dev/null 2>/dev/null
	want=$?
	TRUTH=$tmp/truth
	{ timeout 240 "$memtui" record --force -o "$tmp/t.dat" "${options[@]}" -- "$@" >"$tmp/have" 2>"$tmp/have.err"; } </dev/null
	have=$?
}
options=()

same() { # what differs between the two runs
	[ $want = $have ] || echo "status $have, untraced $want: $(tail -n 1 "$tmp/have.err"); "
	cmp -s "$tmp/want" "$tmp/have" || echo "output differs: $(diff "$tmp/want" "$tmp/have" | head -n 4 | tr '\n' ' '); "
	grep -v '^memtui: ' "$tmp/have.err" | cmp -s "$tmp/want.err" - || echo "stderr differs: $(diff "$tmp/want.err" "$tmp/have.err" | head -n 3 | tr '\n' ' '); "
}

compare() { python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/have" 2>&1 | tail -n 1; }
