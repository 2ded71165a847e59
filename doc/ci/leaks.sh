#!/bin/sh
# leaks.sh PROGRAM [ARGS]: runs a program or a test, and fails when it fails, or leaks what is not known.
#   MEMTUI   the memtui to use, else the one in PATH
#   KNOWN    suppressions for leaks that are known, else known-leaks.supp where it exists
#   BASELINE a trace of the main branch: leaks that it has too are known
#   LIMITS   further limits, such as '--max-peak 64M --max-allocations 100k'
#   ALL      1: whatever is not freed has leaked, also if the program has a pointer to it at its end
#   JUNIT    a file for the answer as JUnit XML
#   TRACES   a directory in which the trace is kept (an artifact of the build), else none is
set -eu
memtui=${MEMTUI:-memtui}
known=${KNOWN:-known-leaks.supp}
limits="--max-leaked 0 ${LIMITS:-}"
judge=--leak-check
if [ -n "${ALL:-}" ]; then
	judge=
fi
if [ -n "${TRACES:-}" ]; then
	mkdir -p "$TRACES"
	traces=$TRACES
else
	traces=$(mktemp -d)
	trap 'rm -rf "$traces"' EXIT
fi
if [ -f "$known" ]; then
	limits="$limits --suppressions $known"
fi
if [ -n "${BASELINE:-}" ]; then
	limits="$limits --baseline $BASELINE"
fi
trace=$traces/$(basename "$1").dat

# The exit status is the program's: with -e a test that fails ends here.
"$memtui" record $judge --force -o "$trace" -- "$@"

# shellcheck disable=SC2086 # limits are several words
if [ -n "${JUNIT:-}" ]; then
	"$memtui" check $judge $limits --format junit "$trace" >"$JUNIT" || true
fi
"$memtui" check $judge $limits "$trace"
