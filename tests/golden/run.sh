#!/usr/bin/env bash
# golden: what every reader says of stored recordings: traces of each version that is read, some without their totals, their names
# or their end, stand-alone recordings and one of heaptrack. run.sh BUILD; GENERATE=1 writes tests/golden/expected anew.
# record.sh made the recordings; commands has what is asked. BUILD/golden has what differs.
. "$(dirname "$0")/../suite.sh"
export TZ=UTC LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
unset COLUMNS MEMTUI_OUTPUT
gzip -c <(zstd -dcq "$here/traces/heaptrack-operators.zst") >heaptrack-operators.gz || exit 1
rm -rf "$build/golden"
python3 "$here/check.py" "$memtui" "$build/golden" "$here"/traces/*.{tar.xz,zst,trace} "$tmp/heaptrack-operators.gz"
