"""bench.py BUILD [ROUNDS]: what recording costs the program, beside heaptrack, in one interleaved run.

Prints one table of medians (extra nanoseconds per malloc+free pair, by the program's own clock, over the untraced
run) and writes it as BUILD/bench.json. heaptrack runs under a memory limit: it can outgrow a machine.
"""
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

build = sys.argv[1]
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
hot = os.path.join(build, "bench/hot")
WORKLOADS = {
    "hot 4": [hot, "2000000", "4", "1"],
    "hot 16": [hot, "2000000", "16", "1"],
    "hot 48": [hot, "2000000", "48", "1"],
    "hot 16, 2 threads": [hot, "2000000", "16", "2"],
    "hot 16, 4 threads": [hot, "2000000", "16", "4"],
    "tree": [os.path.join(build, "bench/tree"), "2"],
}


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def run(tool, command, scratch):
    if tool == "memtui":
        command = [os.path.join(build, "memtui"), "record", "--force", "-o", scratch + "/t.dat", "--"] + command
    elif tool == "heaptrack":
        command = ["heaptrack", "-o", scratch + "/h"] + command
    done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                          preexec_fn=limited if tool == "heaptrack" else None)
    found = re.search(r"ns_per_pair=([\d.]+) cpu_ns_per_pair=([\d.]+)", done.stderr + done.stdout)
    if not found:
        sys.exit(f"bench: {tool} on {command}: no figures; it said: {done.stderr[-300:]}")
    return float(found[1]), float(found[2])


def main():
    tools = ["untraced", "memtui"] + (["heaptrack"] if shutil.which("heaptrack") else [])
    result = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, command in WORKLOADS.items():
            figures = {tool: [] for tool in tools}
            for _ in range(rounds):
                for tool in tools:
                    figures[tool].append(run(tool, command, scratch))
            result[name] = {tool: [statistics.median(v[i] for v in values) for i in (0, 1)]
                            for tool, values in figures.items()}
    print(f"extra ns per malloc+free pair over the untraced run, medians of {rounds} interleaved runs")
    print(f"{'workload':20} {'untraced':>9} {'memtui':>8} {'cpu':>7} {'heaptrack':>10} {'cpu':>7} {'wall ratio':>11}")
    for name, row in result.items():
        base = row["untraced"]
        mine = [row["memtui"][i] - base[i] for i in (0, 1)]
        line = f"{name:20} {base[0]:9.1f} {mine[0]:+8.1f} {mine[1]:+7.1f}"
        if "heaptrack" in row:
            peer = [row["heaptrack"][i] - base[i] for i in (0, 1)]
            line += f" {peer[0]:+10.1f} {peer[1]:+7.1f} {mine[0] / peer[0]:11.3f}"
            row["ratio"] = mine[0] / peer[0]
        print(line)
    with open(os.path.join(build, "bench.json"), "w", encoding="utf-8") as out:
        json.dump({"rounds": rounds, "unit": "ns per pair: wall, cpu", "workloads": result}, out, indent=1)


main()
