"""Copies of a trace that lack something: blocks of some types, or the end. drop.py FILE lists the blocks and the streams."""
import struct
import subprocess
import sys

HEADER, FIXED = 96, 32
EVENTS, SYMBOLS, TOTALS, INDEX = 8, 9, 10, 12
TYPES = "? start strings modules threads pcs nodes groups events symbols totals info index log checkpoint blind".split()


def check(data):
    """FNV-1a, as in core/trace/block.h."""
    h = 14695981039346656037
    for byte in data:
        h = (h ^ byte) * 1099511628211 & 0xffffffffffffffff
    return struct.pack("<Q", h)


def blocks(data):
    """(type, header, payload as stored) of each block."""
    at = FIXED
    while data[at:at + 4] == b"tblk":
        stored, = struct.unpack_from("<I", data, at + 12)
        yield data[at + 4], data[at:at + HEADER], data[at + HEADER:at + HEADER + stored]
        at += HEADER + stored


def renumbered(header, sequence):
    header = header[:20] + struct.pack("<I", sequence) + header[24:88]
    return header + check(header)


def without(data, types):
    """The trace without the blocks of these types, with an index and a trailer that fit."""
    out, index, count = bytearray(data[:FIXED]), bytearray(), 0
    for kind, header, payload in blocks(data):
        if kind in types or kind == INDEX:
            continue
        header = renumbered(header, count)
        index += struct.pack("<Q", len(out)) + header
        out += header + payload
        count += 1
    place = len(out)
    header = b"tblk" + struct.pack("<BBHIIII", INDEX, 0, HEADER, len(index), len(index), 0, 0) + bytes(56) + check(index)
    out += renumbered(header + bytes(8), count) + index
    trailer = b"tracend\n" + struct.pack("<QQ", place, len(out) + 32)
    return bytes(out + trailer + check(trailer))


def cut_behind_events(data):
    """The trace as far as the recorder had written it when the program ended."""
    at, end = FIXED, FIXED
    for kind, _, payload in blocks(data):
        at += HEADER + len(payload)
        if kind == EVENTS:
            end = at
    return data[:end]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def streams(header, payload):
    """Lengths of the streams of an event block, in the order of doc/trace-format.md."""
    if header[5] & 1:
        payload = subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout
    at, numbers = 0, []
    while len(numbers) < 3 or len(numbers) < 3 + numbers[2]:
        value, at = varint(payload, at)
        numbers.append(value)
    return numbers[3:]


def main():
    with open(sys.argv[1], "rb") as file:
        for kind, header, payload in blocks(file.read()):
            print(TYPES[kind], HEADER + len(payload), *(streams(header, payload) if kind == EVENTS else []))


if __name__ == "__main__":
    main()
