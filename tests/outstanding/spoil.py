#!/usr/bin/env python3
"""spoil.py FILE: damages a trace in its place, also one that is being written: a byte of the payload of its middle event block, which is neither the
first nor the last one. Once more, and it is as before."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
import drop

data = bytearray(open(sys.argv[1], "rb").read())
at, places = drop.FIXED, []
for kind, header, payload in drop.blocks(bytes(data)):
    if kind == drop.EVENTS:
        places.append((at + len(header), len(payload)))
    at += len(header) + len(payload)
middle, length = places[len(places) // 2]
assert len(places) > 2, f"the trace has {len(places)} event blocks"
with open(sys.argv[1], "r+b", buffering=0) as file:
    file.seek(middle + length // 2)
    file.write(bytes([data[middle + length // 2] ^ 255]))
