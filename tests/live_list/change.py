#!/usr/bin/env python3
"""change.py FROM TO HOW: a copy of a trace whose LIVE block is not there (none), or says what is not true. All checksums are right."""
import os, struct, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
import drop

LIVE = 128


def put(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def numbers(payload):
    at, out = 0, []
    while at < len(payload):
        value, at = drop.varint(payload, at)
        out.append(value)
    return out


def unpacked(header, payload):
    return subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout if header[5] & 1 else payload


def lie(values, how):
    """Of the last part. values: part, 1 in the last part, blocks of the part, their columns; blocks of all parts, next number, event blocks, restores."""
    count = values[2]
    number, size, key, group, thread, usable, rest = (3 + count * i for i in range(7))
    if how == "parts":
        values[1] = 0
    elif how == "flag":
        values[1] = 2
    elif how == "part":
        values[0] += 1
    elif how == "blocks":
        values[rest] += 1
    elif how == "many blocks":
        values[2] = values[rest] = 1 << 60
    elif how == "next":
        values[rest + 1] = 1
    elif how == "events":
        values[rest + 2] += 1
    elif how == "twice":
        values[number + 1] = 0
    elif how == "far":
        values[number + count - 1] = 1 << 63
    elif how == "large":
        values[size] += 16
    elif how == "sizes":
        most = max(range(count), key=lambda i: values[size + i])
        values[size + most] -= 8
        values[size + (most == 0)] += 8
    elif how == "group":
        values[group] = 1 << 31
    elif how == "thread":
        values[thread] = 1 << 20
    elif how == "restores":
        values[rest + 3] = 1 << 40
    elif how == "longer":
        values.append(0)
    elif how == "shorter":
        values.pop()
    elif how == "other number": # of a block that was freed: no list can be believed blindly, but this must not crash
        values[number] += values[number + 1] - 1
        values[number + 1] = 1
    else:
        sys.exit("how?")
    return values


def blocks(data, how):
    last, part = (max(i for i, (kind, _, _) in enumerate(drop.blocks(data)) if kind == of) for of in (drop.EVENTS, LIVE))
    for i, (kind, header, payload) in enumerate(drop.blocks(data)):
        if kind == drop.INDEX or (kind == LIVE and how in ("none", "early")):
            continue
        if kind == LIVE and how == "damaged":
            payload = payload[:20] + bytes([payload[20] ^ 255]) + payload[21:]
        elif i == part and how not in ("same", "early"):
            payload = b"".join(map(put, lie(numbers(unpacked(header, payload)), how)))
            header = header[:5] + bytes([2]) + header[6:8] + struct.pack("<II", len(payload), len(payload)) + header[16:80] + drop.check(payload) + bytes(8)
        if i == last and how == "early": # the recording went on
            yield from ((h, p) for k, h, p in drop.blocks(data) if k == LIVE)
        yield header, payload


def main(source, to, how):
    with open(source, "rb") as file:
        data = file.read()
    out, index, count = bytearray(data[:drop.FIXED]), bytearray(), 0
    for header, payload in blocks(data, how):
        header = drop.renumbered(header, count)
        index += struct.pack("<Q", len(out)) + header
        out += header + payload
        count += 1
    place = len(out)
    header = b"tblk" + struct.pack("<BBHIIII", drop.INDEX, 0, drop.HEADER, len(index), len(index), 0, 0) + bytes(56) + drop.check(index)
    out += drop.renumbered(header + bytes(8), count) + index
    trailer = b"tracend\n" + struct.pack("<QQ", place, len(out) + 32)
    with open(to, "wb") as file:
        file.write(out + trailer + drop.check(trailer))


main(*sys.argv[1:])
