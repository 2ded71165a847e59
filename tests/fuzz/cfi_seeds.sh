#!/usr/bin/env bash
# cfi_seeds.sh BUILD FOLDER: what lies from .eh_frame_hdr to the end of .eh_frame in some programs and libraries, with
# the 8 bytes that cfi_fuzz.c wants in front.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$2" || exit 2
gcc -O2 -w -pthread "$here/mutant.c" -o ../seed-mutant
python3 - ../seed-mutant "$1/libmemtui.so" "$1/bench/hot" <<'END'
import struct, sys
for path in sys.argv[1:]:
    data = open(path, 'rb').read()
    start, = struct.unpack_from('<Q', data, 40)
    size, number, names = struct.unpack_from('<HHH', data, 58)
    headers = [struct.unpack_from('<IIQQQQ', data, start + i * size) for i in range(number)]
    at = {}
    for name, _, _, _, offset, length in headers:
        text = data[headers[names][4] + name:].split(b'\0', 1)[0].decode()
        at[text] = (offset, length)
    begin, end = at['.eh_frame_hdr'][0], sum(at['.eh_frame'])
    with open(path.rsplit('/', 1)[-1], 'wb') as out:
        out.write(bytes((0, 0, 0, 1, 0, 1, 8, 40)) + data[begin:end][:60000])
END
