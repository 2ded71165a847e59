#!/usr/bin/env python3
"""spoil.py FROM TO: a copy of a trace in which the payload of one event block is damaged: of the middle one, but not of the first or the last."""
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
data[middle + length // 2] ^= 255
open(sys.argv[2], "wb").write(data)
