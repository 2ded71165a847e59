#!/usr/bin/env python3
"""watch.py FILE PID FIFO: looks at FILE and what stands beside it under FILE.* again and again until process PID has ended,
which begins when a line comes by FIFO.
Prints the largest size of FILE, the largest of all together, how many files stood under the name, and faults: moments at
which there was no file."""
import os, sys

path, pid = sys.argv[1], int(sys.argv[2])
folder, name = os.path.split(path)
largest = together = gone = 0
inodes = set()


def look():
    global largest, together, gone
    total = 0
    try:
        status = os.stat(path)
        largest = max(largest, status.st_size)
        inodes.add(status.st_ino)
        total = status.st_size
    except FileNotFoundError:
        gone += 1 if inodes else 0
    beside = 0
    for entry in os.listdir(folder):
        if entry.startswith(name + "."):
            try:
                beside += os.stat(os.path.join(folder, entry)).st_size
            except FileNotFoundError:
                pass
    # one that took the name meanwhile may be counted twice: only what both looks agree on counts
    try:
        if os.stat(path).st_ino == status.st_ino:
            together = max(together, total + beside)
    except (FileNotFoundError, NameError):
        pass


def lives():
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


with open(sys.argv[3], "w") as begin:
    begin.write("\n")
while lives():
    look()
look()
print(largest, together, len(inodes), gone)
