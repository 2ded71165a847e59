#!/usr/bin/env bash
# report_seeds.sh BUILD FOLDER: those of trace_fuzz.
exec bash "$(dirname "$0")/trace_seeds.sh" "$@"
