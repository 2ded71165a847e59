#!/usr/bin/env python3
"""blocks.py FILE: the blocks of a trace, one line each: offset, type, bytes in the file, first_ns."""
import struct, sys

TYPES = "? start strings modules threads pcs nodes groups events symbols totals info index log checkpoint".split()


def blocks(data):
    at = 32
    while at + 96 <= len(data) and data[at:at + 4] == b"tblk":
        kind = data[at + 4]
        size, = struct.unpack_from("<H", data, at + 6)
        stored, = struct.unpack_from("<I", data, at + 12)
        first, = struct.unpack_from("<Q", data, at + 24)
        if at + size + stored > len(data):
            break
        yield at, TYPES[kind], size + stored, first
        at += size + stored


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        for block in blocks(f.read()):
            print(*block)
