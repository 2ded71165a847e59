# common.sh: what the matrix scripts share. Sourced with $build, $here and $tmp set.
memtui=$build/memtui
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
ulimit -c 0

say() { # NAME WHY...: ok when there is no reason
	local name=$1
	shift
	if [ -z "$*" ]; then echo "ok $name"; else echo "not ok $name: $*"; fi
}

build_c() { # NAME...: from NAME.c, without the compiler's knowledge of malloc
	for name in "$@"; do
		gcc -std=gnu11 -O1 -g -D_GNU_SOURCE -Wall -Wextra -Wno-deprecated-declarations -Wno-use-after-free -fno-builtin -pthread -o "$tmp/$name" "$here/$name.c" -ldl || return 1
	done
}
build_cc() {
	for name in "$@"; do
		g++ -std=c++17 -O1 -g -Wall -Wextra -fno-builtin -pthread -o "$tmp/$name" "$here/$name.cc" || return 1
	done
}

# Runs a program untraced and recorded: $want and $have are the statuses, $tmp/want and $tmp/have the outputs.
record() { # [OPTION... --] is in the array options; PROGRAM...
	timeout 60 "$@" >"$tmp/want" 2>"$tmp/want.err" </dev/null
	want=$?
	timeout 60 "$memtui" record --force -o "$tmp/t.dat" "${options[@]}" -- "$@" >"$tmp/have" 2>"$tmp/have.err" </dev/null
	have=$?
}
options=()

same() { # what differs between the two runs
	[ $want = $have ] || echo "status $have, untraced $want: $(tail -n 1 "$tmp/have.err"); "
	cmp -s "$tmp/want" "$tmp/have" || echo "output differs: $(diff "$tmp/want" "$tmp/have" | head -n 4 | tr '\n' ' '); "
	grep -v '^memtui: ' "$tmp/have.err" | cmp -s "$tmp/want.err" - || echo "stderr differs: $(diff "$tmp/want.err" "$tmp/have.err" | head -n 3 | tr '\n' ' '); "
}

compare() { python3 "$here/compare.py" "$memtui" "$tmp/t.dat" "$tmp/have" 2>&1 | tail -n 1; }
