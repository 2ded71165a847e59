#!/usr/bin/env python3
"""plain.py FROM TO: a copy of a trace whose block headers say nothing of their events, so that a reader must read all of them."""
import os, struct, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
import drop

with open(sys.argv[1], "rb") as file:
    data = file.read()
with open(sys.argv[2], "wb") as file:
    file.write(drop.without(data, (), plain=True))
