#!/usr/bin/env python3
"""What memtui leaks printed, against what the program says of itself.

compare.py live REPORT TRUTH [blocks]   the last report of REPORT has exactly what TRUTH (the program's last answer) says; blocks: and its addresses
compare.py since REPORT TRUTH           the same of what the last step of TRUTH has added; what is grown was allocated anew
compare.py ages REPORTS ALLOCATIONS START OLDER AT...   of a trace: each report is what its allocations (JSON) say of the moment AT (ns)
compare.py calls LINES TRUTH            as many calls, each address of a live block among those that are not freed
Prints what differs; nothing: all is right."""
import json
import re
import sys

HEAD = re.compile(r"^\[\d\d:\d\d:\d\d\] Top (\d+) stacks with outstanding allocations:$")
BLOCK = re.compile(r"^\taddr = ([0-9a-f]+) size = (\d+)$")
STACK = re.compile(r"^\t(~?)(\d+) bytes in (~?)(\d+) allocations from stack$")
FRAME = re.compile(r"^\t\t\S.*$")


def reports(path):
    """A list of (top, stacks); a stack is (bytes, count, frames, blocks). Every line must be of the form."""
    out, blocks = [], []
    for number, line in enumerate(open(path, errors="surrogateescape").read().split("\n")[:-1]):
        if HEAD.match(line):
            out.append((int(HEAD.match(line).group(1)), []))
        elif BLOCK.match(line):
            blocks.append((int(BLOCK.match(line).group(1), 16), int(BLOCK.match(line).group(2))))
        elif STACK.match(line):
            m = STACK.match(line)
            out[-1][1].append((int(m.group(2)), int(m.group(4)), [], blocks))
            blocks = []
        elif FRAME.match(line):
            out[-1][1][-1][2].append(line[2:])
        elif line and not (number == 0 and re.match(r"^Attaching to pid \d+, Ctrl\+C to quit\.$", line)):
            print(f"line {number + 1} is of no known form: {line!r}; ", end="")
    for _, stacks in out:
        if stacks != sorted(stacks, key=lambda s: s[0]):
            print("the stacks are not in the order of bytes; ", end="")
    return out


def truth(path, which=-1):
    answers = [a for a in open(path).read().split("end\n") if a.strip()]
    lines = [line.split() for line in answers[which].splitlines()]
    places = {w[0]: (int(w[1]), int(w[2]), int(w[3], 16)) for w in lines if len(w) == 4}
    blocks = sorted((int(w[1], 16), int(w[2])) for w in lines if w[0] == "addr")
    calls = [int(w[1]) for w in lines if w[0] == "calls"]
    return places, blocks, calls[0] if calls else 0


def holds(stacks, place):
    """The sums of the stacks that go through a function, its offsets and its blocks."""
    mine = [s for s in stacks if any(re.match(rf"{place}(\+| |$)", f) for f in s[2])]
    offsets = {int(m.group(1), 16) for s in mine for f in s[2] if (m := re.match(rf"{place}\+0x([0-9a-f]+) \[\S+\] \S*holder\.c:\d+$", f))}
    return sum(s[1] for s in mine), sum(s[0] for s in mine), offsets, sorted(b for s in mine for b in s[3])


def live(report, said, blocks=None):
    last = reports(report)[-1][1]
    places, addresses, _ = truth(said)
    for place, (count, size, offset) in places.items():
        have = holds(last, place)
        if have[:2] != (count, size):
            print(f"{place}: {have[:2]}, not {(count, size)}; ", end="")
        if offset and count and have[2] != {offset}:
            print(f"{place}: offsets {[hex(o) for o in have[2]]}, not {offset:#x}; ", end="")
    if blocks and holds(last, "large")[3] != addresses:
        print(f"the blocks of large are {holds(last, 'large')[3][:3]}, not {addresses[:3]}; ", end="")
    if not blocks and any(s[3] for s in last):
        print("there are addresses without -a; ", end="")


def since(report, said):
    last = reports(report)[-1][1]
    (now, _, _), (before, _, _) = truth(said), truth(said, -2)
    for place, (count, size, _) in now.items():
        want = (count, size) if place == "grow" else (count - before[place][0], size - before[place][1])
        if holds(last, place)[:2] != want:
            print(f"{place}: {holds(last, place)[:2]}, not {want}; ", end="")


def ages(path, allocations, older, *moments):
    have = reports(path)
    rows = json.load(open(allocations))
    if len(have) != len(moments):
        print(f"{len(have)} reports, not {len(moments)}; ", end="")
    for (_, stacks), at in zip(have, map(int, moments)):
        groups = {}
        for r in rows:
            born, end = round(r["timestamp"] * 1e9), r["deallocation"] and round(r["deallocation"]["timestamp"] * 1e9)
            if born <= at - int(older) and (end is None or end > at):
                g = groups.setdefault(r["group"], [0, 0])
                g[0] += r["size"]
                g[1] += 1
        if sorted(map(tuple, groups.values())) != sorted(s[:2] for s in stacks):
            print(f"at {at}: {sorted(s[:2] for s in stacks)}, not {sorted(map(tuple, groups.values()))}; ", end="")


def calls(path, said):
    _, addresses, count = truth(said)
    own, live_now = 0, {}
    for line in open(path):
        m = re.match(r"^\S+-\d+ \d+\.\d{6}: (?:alloc exited, size = (\d+), result = ([0-9a-f]+)|free entered, address = ([0-9a-f]+), size = (\d+))$", line)
        if not m:
            continue
        size = int(m.group(1) or m.group(4))
        own += size in (16, 24) or 1000 <= size < 1010 or size % 3000 == 0
        if m.group(1):
            live_now[int(m.group(2), 16)] = size
        elif live_now.pop(int(m.group(3), 16), None) != size:
            print(f"a free of what was not allocated, or of another size: {line.strip()}; ", end="")
    if own != count:
        print(f"{own} calls, not {count}; ", end="")
    large = sorted((a, s) for a, s in live_now.items() if 1000 <= s < 1010)
    if large != addresses:
        print(f"what is not freed is {large[:3]}, not {addresses[:3]}; ", end="")


{"live": live, "since": since, "ages": ages, "calls": calls}[sys.argv[1]](*sys.argv[2:])
