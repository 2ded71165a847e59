"""random_graph.py MEMTUI PROCESS ADDRESSES SEED: the twin of random_graph.c. Computes from the seed which blocks are reached, by how many
steps, and what each group and some blocks retain, and prints what memtui says otherwise."""
import json, subprocess, sys
from collections import deque

memtui, process, addresses_file, seed = sys.argv[1:]
GROUPS, ROOTS = 8, 10
addresses = [int(l, 16) for l in open(addresses_file) if l.startswith("0x")]
count = len(addresses)
state = int(seed)


def next_below(below):
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 33) % below


words = [1 + next_below(12) for _ in range(count)]
edges = [{} for _ in range(count)]
for i in range(count):
    for k in range(words[i]):
        if next_below(8) == 0:
            edges[i][k] = next_below(count)
roots = [next_below(count) for _ in range(ROOTS)]


def reached(without=frozenset()):
    level = {}
    todo = deque()
    for r in roots:
        if r not in level and r not in without:
            level[r] = 0
            todo.append(r)
    while todo:
        i = todo.popleft()
        for target in edges[i].values():
            if target not in level and target not in without:
                level[target] = level[i] + 1
                todo.append(target)
    return level


def ask(what):
    done = subprocess.run([memtui, "holders", "--format", "json", process, str(what)], capture_output=True, text=True, timeout=60)
    if done.returncode:
        print(done.stderr)
        sys.exit(1)
    return json.loads(done.stdout)


level = reached()
index = {a: i for i, a in enumerate(addresses)}
bad = []
for group in range(GROUPS):
    blocks = frozenset(range(group, count, GROUPS))
    number = ask(hex(addresses[group]))["group"]
    answer = ask(number)
    rest = reached(blocks)
    retained = sum(8 * words[i] for i in level if i not in rest)
    if answer["retained"]["bytes"] != retained or answer["retained"]["count"] != len(level) - len(rest):
        bad.append(f"group {group} retains {answer['retained']}, not {retained} in {len(level) - len(rest)}")
    live = sum(i in level for i in blocks)
    if answer["still_reachable"]["count"] != live:
        bad.append(f"of group {group}, {answer['still_reachable']['count']} blocks are reachable, not {live}")
    lost = answer["definitely_lost"]["count"] + answer["indirectly_lost"]["count"]
    if lost != len(blocks) - live:
        bad.append(f"of group {group}, {lost} blocks are lost, not {len(blocks) - live}")
for i in range(0, count, count // 15):
    answer = ask(hex(addresses[i]))
    path = answer["blocks"][0]["path"]
    if i not in level:
        if answer["blocks"][0]["verdict"] not in ("lost", "indirect"):
            bad.append(f"block {i} is {answer['blocks'][0]['verdict']}, and no root reaches it")
        continue
    if len(path) != level[i] + 1:
        bad.append(f"the way to block {i} has {len(path) - 1} blocks, not {level[i]}")
    chain = [index.get(s["address"]) for s in path[1:]] + [i]
    offsets = [s["offset"] for s in path[1:]]
    if path[0].get("variable") != "roots" or roots[path[0]["variable_offset"] // 8] != chain[0]:
        bad.append(f"the root of block {i} is {path[0]}")
    for a, offset, b in zip(chain, offsets, chain[1:]):
        if edges[a].get(offset // 8) != b:
            bad.append(f"block {a} has no pointer to block {b} at {offset}")
    rest = reached({i})
    retained = sum(8 * words[k] for k in level if k not in rest)
    if answer["retained"]["bytes"] != retained:
        bad.append(f"block {i} retains {answer['retained']['bytes']}, not {retained}")
print("\n".join(bad[:5]), end="")
print(f"seed {seed}: {count} blocks, {len(level)} reached, the furthest by {max(level.values())} steps", file=sys.stderr)
