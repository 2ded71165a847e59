"""Copies of a trace that lack something: blocks of some types, or the end. drop.py FILE lists the blocks and the streams."""
import struct
import subprocess
import sys

HEADER, FIXED = 96, 32
EVENTS, SYMBOLS, TOTALS, INDEX = 8, 9, 10, 12
TYPES = dict(enumerate("? start strings modules threads pcs nodes groups events symbols totals info index log checkpoint blind domains functions".split()))
TYPES[128] = "live"


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
        size, = struct.unpack_from("<H", data, at + 6)
        stored, = struct.unpack_from("<I", data, at + 12)
        yield data[at + 4], data[at:at + size], data[at + size:at + size + stored]
        at += size + stored


def renumbered(header, sequence):
    extension = header[HEADER:]
    header = header[:20] + struct.pack("<I", sequence) + header[24:88]
    return header + check(header) + extension


def without(data, types, plain=False):
    """The trace without the blocks of these types, with an index and a trailer that fit. plain: without the extensions of headers."""
    out, index, count = bytearray(data[:FIXED]), bytearray(), 0
    for kind, header, payload in blocks(data):
        if kind in types or kind == INDEX:
            continue
        if plain:
            header = header[:6] + struct.pack("<H", HEADER) + header[8:HEADER]
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
    for kind, header, payload in blocks(data):
        at += len(header) + len(payload)
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


def streams(version, header, payload):
    """Lengths of the streams of an event block, by their ids in doc/trace-format.md."""
    if header[5] & 1:
        payload = subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout
    at, numbers, each = 0, [], 1 if version < 8 else 2
    while len(numbers) < 3 or len(numbers) < 3 + each * numbers[2]:
        value, at = varint(payload, at)
        numbers.append(value)
    if version < 8:
        return numbers[3:]
    lengths = {code >> 1: length for code, length in zip(numbers[3::2], numbers[4::2])}
    return [lengths.get(i, 0) for i in range(1 + max(lengths))]


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    for kind, header, payload in blocks(data):
        print(TYPES[kind], len(header) + len(payload), *(streams(data[16], header, payload) if kind == EVENTS else []))


if __name__ == "__main__":
    main()
