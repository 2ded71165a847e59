"""check.py MEMTUI OUT RECORDING...: compares what memtui says of stored recordings with tests/golden/expected.

Prints 'ok NAME' or 'not ok NAME: why' for each. GENERATE=1 writes what is expected anew. Where something differs, OUT has
NAME.expected and NAME.got, for diff.
"""
import concurrent.futures
import gzip
import itertools
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import drop
import protobuf

HERE = os.path.dirname(os.path.abspath(__file__))
HEADING = "==> "
SHOWN = 4  # commands that differ, and lines of each
WIDTH = 240
MANY_EVENTS = "churn"


def commands():
    """The lines of each section."""
    sections, lines = {}, None
    with open(os.path.join(HERE, "commands"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if re.fullmatch(r"\[\w+\]", line):
                lines = sections.setdefault(line[1:-1], [])
            elif line and not line.startswith("#"):
                lines.append(line)
    return sections


def readable(output):
    """Text of what a command printed: pprof's bytes field by field, and a flame graph without its script."""
    if output.startswith(b"\x1f\x8b"):
        return protobuf.text(gzip.decompress(output))
    text = output.decode("utf-8", "backslashreplace")
    return re.sub(r"(<script.*?>).*?(</script>)", r"\1 the script \2", text, flags=re.S)


class Recording:
    """One that is stored, unpacked in a directory of its own for each of its forms."""

    def __init__(self, memtui, path, scratch):
        self.memtui = memtui
        self.name = re.sub(r"\.(mem\.tar\.xz|trace|zst|gz)$", "", os.path.basename(path))
        self.program = re.search(r"blocks|threads|operators|churn|family|child", self.name).group()
        self.scratch = os.path.join(scratch, self.name)
        self.path = path
        other = os.path.join(HERE, "traces", f"v7-{self.program}.trace")
        self.files = {"OTHER": other, "PROGRAM": self.program}
        version = subprocess.run([memtui, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.version = version.split()[-1]
        self.trace = path.endswith(".trace")

    def place(self, form, data):
        directory = os.path.join(self.scratch, form)
        os.makedirs(directory, exist_ok=True)
        shutil.copyfile(self.files["OTHER"], os.path.join(directory, "other.dat"))
        if os.path.exists(self.path + ".exec0"):  # the process's earlier image
            shutil.copyfile(self.path + ".exec0", os.path.join(directory, "trace.dat.exec0"))
        if data is not None:
            with open(os.path.join(directory, "trace.dat"), "wb") as file:
                file.write(data)
        return directory

    def forms(self):
        """(form, sections, directory, name of the recording there)"""
        sections = ["lossy", "whole"] + ([] if self.program == MANY_EVENTS else ["small"])
        if self.trace:
            with open(self.path, "rb") as file:
                data = file.read()
            for form, what, made in (("stored", sections, data),
                                     ("no totals", sections, drop.without(data, {drop.TOTALS})),
                                     ("no totals, no names", ["lossy"], drop.without(data, {drop.TOTALS, drop.SYMBOLS})),
                                     ("no end", ["lossy"], drop.cut_behind_events(data)),
                                     ("half", ["lossy"], data[:len(data) // 2]),
                                     ("nine tenths", ["lossy"], data[:len(data) * 9 // 10])):
                yield form, what, self.place(form, made), "trace.dat"
            return
        directory = self.place("stored", None)
        if self.path.endswith(".tar.xz"):
            subprocess.run(["tar", "-xJSf", self.path, "-C", directory], check=True)
            name = self.program + ".mem"
            os.rename(os.path.join(directory, os.path.basename(self.path)[:-len(".tar.xz")]), os.path.join(directory, name))
        else:
            name = "recording"  # of zstd or gzip: what is said is the same
            shutil.copyfile(self.path, os.path.join(directory, name))
        subprocess.run([self.memtui, "pack", "-f", "-o", "packed.dat", name], cwd=directory, stderr=subprocess.DEVNULL, check=False)
        yield "stored", sections, directory, name
        yield "packed", ["packed"], directory, "packed.dat"

    def run(self, line, directory, trace):
        """What a command prints, behind a heading."""
        words = {"T": trace, "OTHER": "other.dat", "PROGRAM": self.program}
        arguments = [words.get(word, word) for word in shlex.split(line)]
        done = subprocess.run([self.memtui, *arguments], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        text = readable(done.stdout).replace(f"memtui {self.version}", "memtui VERSION")
        if not self.trace:  # its size is the file system's or the compressor's matter
            text = re.sub(r'("file_bytes": ?)\d+', r"\1SIZE", re.sub(r"(?m)^(file  +).*", r"\1SIZE", text))
        said = done.stderr.decode("utf-8", "backslashreplace")
        if text and not text.endswith("\n"):
            text += "\n[no end of line]\n"
        return text + "".join(f"[stderr] {line}\n" for line in said.splitlines()) + f"[status {done.returncode}]\n"

    def sections(self, pool):
        """[(heading, output)]"""
        lines, known = [], commands()
        for form, what, directory, trace in self.forms():
            for line in [line for section in what for line in known[section]]:
                lines.append((f"{form}: memtui {line}", pool.submit(self.run, line, directory, trace)))
        return [(heading, made.result()) for heading, made in lines]


def parse(text):
    """The sections of a stored file: no output has a line that begins with the heading's mark."""
    parts = text.split("\n" + HEADING)
    return [tuple(part.split("\n", 1)) for part in parts[1:]]


def differing_part(line, other):
    """A line that is too long, from a little before where it begins to differ from the other."""
    same = len(os.path.commonprefix([line, other]))
    start = max(0, same - WIDTH // 3) if len(line) > WIDTH else 0
    return ("..." if start else "") + line[start:start + WIDTH]


def first_difference(expected, got):
    expected, got = expected.splitlines(), got.splitlines()
    at = next((i for i, (a, b) in enumerate(zip(expected, got)) if a != b), min(len(expected), len(got)))
    pairs = list(itertools.zip_longest(expected, got, fillvalue="(no such line)"))[at:]
    lines = [f"  line {at + 1}, and {sum(a != b for a, b in pairs) - 1} further ones"]
    for sign, side in (("-", 0), ("+", 1)):
        lines += [f"  {sign} {differing_part(pair[side], pair[1 - side])}" for pair in pairs[:SHOWN] if pair[0] != pair[1]]
    return lines


def compare(name, expected, got, out):
    """A reason, and the lines that show it; None where nothing differs."""
    before, after = dict(expected), dict(got)
    changed = [h for h, text in got if h in before and before[h] != text]
    new, gone = [h for h, _ in got if h not in before], [h for h, _ in expected if h not in after]
    if not changed and not new and not gone:
        return None
    for ending, sections in (("expected", expected), ("got", got)):
        with open(os.path.join(out, f"{name}.{ending}"), "w", encoding="utf-8") as file:
            file.write(join(sections))
    shown = []
    for heading in changed[:SHOWN]:
        shown += [f"'{heading}' (- expected, + got):", *first_difference(before[heading], after[heading])]
    if len(changed) > SHOWN:
        shown.append(f"and of {len(changed) - SHOWN} further commands; see diff {out}/{name}.expected {out}/{name}.got")
    shown += [f"'{h}' is not in the stored file; write it with GENERATE=1" for h in new[:SHOWN]]
    shown += [f"'{h}' is no longer asked; write the file with GENERATE=1" for h in gone[:SHOWN]]
    first = (changed + new + gone)[0]
    return f"{len(changed)} of {len(got)} outputs differ, {len(new)} are new, {len(gone)} are gone; first '{first}'", shown


def join(sections):
    return "".join(f"\n{HEADING}{heading}\n{text}" for heading, text in sections)


def main():
    memtui, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    failed = False
    workers = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for path in sys.argv[3:]:
            recording = Recording(memtui, os.path.abspath(path), scratch)
            got = recording.sections(pool)
            shutil.rmtree(recording.scratch)
            stored = os.path.join(HERE, "expected", recording.name + ".xz")
            if os.environ.get("GENERATE", "") not in ("", "0"):
                with open(stored, "wb") as file:
                    file.write(lzma.compress(join(got).encode(), preset=9 | lzma.PRESET_EXTREME))
                print(f"ok golden {recording.name}: written", flush=True)
                continue
            with open(stored, "rb") as file:
                expected = parse(lzma.decompress(file.read()).decode())
            fault = compare(recording.name, expected, got, out)
            failed |= fault is not None
            if fault:
                print(f"not ok golden {recording.name}: {fault[0]}", *fault[1], sep="\n", flush=True)
            else:
                print(f"ok golden {recording.name}: {len(got)} outputs", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
