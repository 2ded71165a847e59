#!/bin/sh
# worker.sh BUILD LOGS SUITE...: runs each suite (NAME_test: a unit test) that no other worker with the same LOGS has taken, and prints
# 'SUITE STATUS SECONDS' when it has ended. What the suite prints is in LOGS/SUITE/log.
build=$1 logs=$2
shift 2
for suite; do
	mkdir "$logs/$suite" 2>/dev/null || continue
	began=$(date +%s)
	case $suite in
	*_test) "$build/tests/$suite" ;;
	*) bash "tests/$suite/run.sh" "$build" ;;
	esac >"$logs/$suite/log" 2>&1
	echo "$suite $? $(($(date +%s) - began))"
done
