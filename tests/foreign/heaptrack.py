#!/usr/bin/env python3
"""What heaptrack's data say, by other means than memtui's.

heaptrack.py read FILE    from the interpreted text itself: the slow and obvious reader
heaptrack.py print FILE   by heaptrack_print: its words for counts, the sums of its flame graphs and histogram for bytes
"""
import json
import re
import subprocess
import sys
import tempfile


def text_of(path):
    head = open(path, "rb").read(4)
    program = {b"\x28\xb5\x2f\xfd": ["zstd", "-dc"], b"\x1f\x8b": ["gzip", "-dc"]}
    command = program.get(head) or program.get(head[:2]) or ["cat"]
    return subprocess.run(command, stdin=open(path, "rb"), capture_output=True, check=True).stdout.decode(errors="replace")


def read(path):
    infos, live, last, previous, printed_last = [], {}, None, None, 0
    calls = size = peak = now = temporary = adjacent = as_printed = unknown = rss = page = 0
    for line in text_of(path).split("\n"):
        mode, words = line[:1], line[2:].split(" ")
        if mode == "a":
            infos.append((int(words[0], 16), words[1]))
        elif mode == "+":
            index = int(words[0], 16)
            bytes_of = infos[index][0]
            calls, size, now = calls + 1, size + bytes_of, now + bytes_of
            peak = max(peak, now)
            live[infos[index]] = live.get(infos[index], 0) + 1
            last = previous = printed_last = index
        elif mode == "-":
            index = int(words[0], 16)
            as_printed += printed_last == index  # also of the file's first allocation behind another free
            printed_last = 0
            if not live.get(infos[index]):
                unknown += 1
                continue
            live[infos[index]] -= 1
            now -= infos[index][0]
            adjacent += previous == index
            previous = None
            temporary += last == index
            if last == index:
                last = None
        elif mode == "I":
            page = int(words[0], 16)
        elif mode == "R":
            rss = max(rss, int(words[0], 16) * page)
    return dict(calls=calls, bytes=size, peak=peak, leaked=now, temporary=temporary, adjacent=adjacent, as_printed=as_printed,
                unknown=unknown,
                blocks=sum(live.values()), rss=rss)


def printed(path):
    with tempfile.TemporaryDirectory() as work:
        def run(*more):
            return subprocess.run(["heaptrack_print", "--disable-builtin-suppressions", *more, path],
                                  capture_output=True, check=True).stdout.decode(errors="replace")

        def flame(cost):
            run("-F", f"{work}/{cost}", "--flamegraph-cost-type", cost)
            return sum(int(line.rsplit(" ", 1)[1]) for line in open(f"{work}/{cost}", errors="replace"))
        words = run("-H", f"{work}/sizes")
        pairs = [line.split() for line in open(f"{work}/sizes")]
        return dict(calls=int(re.search(r"calls to allocation functions: (\d+)", words)[1]),
                    temporary=int(re.search(r"temporary memory allocations: (\d+)", words)[1]),
                    bytes=sum(int(s) * int(n) for s, n in pairs),
                    peak=flame("peak"), leaked=flame("leaked"), peak_words=re.search(r"peak heap.*: (\S+)", words)[1])


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[2]) if sys.argv[1] == "read" else printed(sys.argv[2])))
