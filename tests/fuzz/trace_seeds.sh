#!/usr/bin/env bash
# trace_seeds.sh BUILD FOLDER: the blocks of small traces, unpacked, as trace_fuzz.c wants them.
set -u
command -v zstd >/dev/null || exit 0
cd "$2" || exit 2
export MEMTUI_CACHE= MEMTUI_TRIAGE=
"$1/memtui" record -f -o ../seed.dat -- "$1/bench/leak" 200 >/dev/null 2>&1
"$1/memtui" record -f -o ../seed-limited.dat --max-size 256k -- "$1/bench/leak" 100000 >/dev/null 2>&1
python3 - ../seed.dat ../seed-limited.dat <<'END'
import struct, subprocess, sys
for path in sys.argv[1:]:
    data, at, blocks = open(path, 'rb').read(), 32, []
    while at + 96 <= len(data) and data[at:at + 4] == data[32:36]:
        kind, flags = data[at + 4:at + 6]
        stored, events = struct.unpack_from('<II', data, at + 12)
        size, = struct.unpack_from('<H', data, at + 6)
        payload = data[at + size:at + size + stored]
        if flags & 1:
            payload = subprocess.run(['zstd', '-dcq'], input=payload, capture_output=True, check=True).stdout
        if len(payload) < 65536 and events < 65536:
            extension = data[at + 96:max(at + 96, at + size - 8)]
            kind |= 128 if kind == 8 and sum(b[0] & 63 == 8 for b in blocks) % 3 == 1 else 0
            blocks.append(struct.pack('<BHHH', kind, events, len(extension), len(payload)) + extension + payload)
        at += size + stored
    name = path.rsplit('/', 1)[-1]
    open(name, 'wb').write((b'\0' + b''.join(blocks))[:60000])
    for i, block in enumerate(blocks[:20]): # what defines it, and one block that uses it
        open('%s-%d' % (name, i), 'wb').write((b'\0' + b''.join(blocks[:8]) + block)[:60000])
END
