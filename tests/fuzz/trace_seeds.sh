#!/usr/bin/env bash
# trace_seeds.sh BUILD FOLDER: small traces of the newest version and of the one before it, as trace_input.h wants them:
# whole, without totals and names, and cut down to a few events, so that an input takes little time.
set -u
command -v zstd >/dev/null || exit 0
golden=$(cd "$(dirname "$0")/../golden" && pwd)
programs=$(cd "$(dirname "$0")/../programs" && pwd)
cd "$2" || exit 2
traces=../trace-seeds
rm -rf $traces && mkdir $traces
export MEMTUI_CACHE= MEMTUI_TRIAGE=
flags=(-O1 -g -fno-builtin -pthread -w "-I$golden/../..")
gcc "${flags[@]}" -o $traces/blocks "$golden/programs/blocks.c"
gcc "${flags[@]}" -o $traces/churn "$programs/flight.c"
record() { # NAME ARGUMENT...
	local name=$1
	shift
	"$1/memtui" record -f -o "$traces/$name.dat" "${@:2}" >/dev/null 2>&1
}
record blocks "$1" -- $traces/blocks
record frees "$1" --free-stacks -- $traces/blocks
record churn "$1" --max-size 256K -- $traces/churn 20000 2 40
record leak "$1" -- "$1/bench/leak" 50
"$1/toy_domain" $traces/domain.dat totals
"$1/toy_domain" $traces/domain-events.dat events
cp "$golden"/traces/v7-{blocks,child,churn,threads}.trace $traces
python3 - $traces/*.dat $traces/*.trace <<'END'
import struct, subprocess, sys

INDEX, EVENTS, TOTALS, SYMBOLS, STRINGS = 12, 8, 10, 9, 2
TOLD, SKIPPABLE, NEWEST = 1, 2, 8

def blocks(data):
    at = 32
    while at + 96 <= len(data) and data[at:at + 4] == data[32:36]:
        kind, flags, size = struct.unpack_from('<BBH', data, at + 4)
        stored, events = struct.unpack_from('<II', data, at + 12)
        payload = data[at + size:at + size + stored]
        if flags & 1:
            payload = subprocess.run(['zstd', '-dcq'], input=payload, capture_output=True, check=True).stdout
        extension, told = data[at + 96:max(at + 96, at + size - 8)], data[at + 24:at + 80]
        at += size + stored
        if kind != INDEX:
            head = struct.pack('<BBHHH', kind, TOLD | (SKIPPABLE if flags & 2 else 0), events & 65535, len(extension),
                               len(payload) & 65535)
            yield kind, len(payload), head + told + extension + payload

for path in sys.argv[1:]:
    data = open(path, 'rb').read()
    name, version = path.rsplit('/', 1)[-1], data[16]
    all_of = list(blocks(data))

    def write(suffix, flags, chosen):
        whole = bytes([NEWEST - version | flags]) + b''.join(block for _, _, block in chosen)
        if len(whole) < 20000 and all(size < 65536 for _, size, _ in chosen):
            open(name + suffix, 'wb').write(whole)

    bare = [b for b in all_of if b[0] not in (TOTALS, SYMBOLS)]
    events = [i for i, b in enumerate(bare) if b[0] == EVENTS]
    write('-whole', 64, all_of)
    write('-packed', 64 | 128, all_of)
    write('-bare', 0, bare)
    if len(events) > 2:
        write('-few', 0, bare[:events[1] + 1])
END
