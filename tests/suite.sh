# suite.sh: what suites of real programs have in common. A suite sources it with BUILD as its first argument, and is then in an
# empty directory of its own, $tmp, which goes with it. Lines begin with 'ok NAME', 'not ok NAME: why' or 'skip NAME: why'.
set -u
export MEMTUI_CACHE= # names are looked up anew, and none are left behind
export MEMTUI_TRIAGE=
unset MEMTUI_SESSION MEMTUI_OUTPUT MEMTUI_NO_FOLLOW
. "$(dirname "$0")/../asked.sh"
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
suite=$(basename "$here")
build=$(cd "$1" && pwd) || { echo "not ok $suite: there is no build directory $1"; exit 1; }
memtui=$build/memtui lib=$build/libmemtui.so
[ -x "$memtui" ] || { echo "not ok $suite: $memtui is not built"; exit 1; }
tmp=$(mktemp -d)
at_exit() { :; } # a suite that has more to clear away defines its own
trap 'at_exit; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
mkfifo .pause
exec 8<>.pause # a read from it with a time limit is the pause between two looks
root= bad=0
[ "$(id -u)" != 0 ] || root=1

ok() { echo "ok $suite $1"; }
not_ok() {
	echo "not ok $suite $1: ${2:0:800}"
	bad=1
}
skip() { echo "skip $suite $1: $2"; }
say() { # NAME WHY...: ok when there is no reason
	local name=$1
	shift
	if [ -z "$*" ]; then ok "$name"; else not_ok "$name" "$*"; fi
}
is() { [ "$1" = "$2" ] || echo "$1, not $2; "; }
until_true() { # COMMAND: polls for at most 60 s
	for ((i = 0; i < 3000; i++)); do
		"$@" && return 0
		read -rt 0.02 <&8
	done
	return 1
}
# build_programs FLAGS -- NAME...: each from NAME.c beside the suite
build_programs() {
	local flags=()
	while [ "$1" != -- ]; do flags+=("$1"); shift; done
	shift
	for p; do
		gcc "${flags[@]}" -o "$p" "$here/$p.c" || { echo "not ok $suite: $p cannot be built"; exit 1; }
	done
}
field() { # FILE NAME...: of info
	local file=$1
	shift
	"$memtui" info --format json --no-builtin-suppressions "$file" 2>field.err | python3 -c 'import json,sys
i = json.load(sys.stdin)
print(*[i[n] if n in i else i["counters"][n] for n in sys.argv[1:]])' "$@" 2>>field.err
}
