# For suites that read memtui's JSON with Python: a test that fails over bad JSON has to give memtui's own reason.
# asked COMMAND...: prints what COMMAND prints, and passes its standard error and its status on. If COMMAND fails or prints no
# JSON, a last line behind a record separator tells both; Python's json takes it off, and tells it where the rest is bad JSON
# (python/sitecustomize.py).
PYTHONPATH=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH

asked() {
	local answer said status first
	answer=$(mktemp) && said=$(mktemp) || return 1
	"$@" >"$answer" 2>"$said"
	status=$?
	cat "$said" >&2
	cat "$answer"
	first=$(head -c 1 "$answer" | tr -d '\0')
	[ $status = 0 ] && [[ $first = [[{] ]] || printf '\036%s: status %d, %s' "${*:1:2}" $status "$(tr '\n' ' ' <"$said")"
	rm -f "$answer" "$said"
	return $status
}
export -f asked
