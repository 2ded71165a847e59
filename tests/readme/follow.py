"""follow.py TOP BUILD DOCUMENT: does what a document says, in the present directory.

A block that begins with ```sh holds commands. They run one after another in one bash, as somebody would type them, and each
must end with status 0. What needs a terminal gets one; q and Enter end it. The block behind it that begins with ``` alone
shows what they print: each line of it must be there, whatever the numbers are. A line of ... stands for some
lines, an ellipsis (…) within a line for any text.
"""
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time

PATIENCE = 120
HOME = "/home/me/memtui"  # where a document's reader is
# What cannot run in a test. Only its syntax is looked at.
ELSEWHERE = re.compile(r"\b(sudo|dpkg-buildpackage|ssh|scp|git|pip)\b")
NEEDS_TERMINAL = re.compile(r"^(build/)?memtui (run|open|attach)\b(?!.*--headless)")
SETTLED = b"\x1b]7770;"  # what memtui says when it has answered everything (MEMTUI_TEST_IDLE)


def blocks(text):
    """Yields (kind, lines, number of the first line) for each fenced block."""
    kind, start, lines = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if kind is None and line.startswith("```"):
            kind, start, lines = line[3:].strip(), number + 1, []
        elif line.startswith("```"):
            yield kind, lines, start
            kind = None
        elif kind is not None:
            lines.append(line)


def commands(lines, start):
    """Yields (command, line number): a here-document and lines that end in \\ belong together."""
    whole, end, first = "", None, 0
    for number, line in enumerate(lines, start):
        first = first if whole else number
        whole += line + "\n"
        here = re.search(r"<<'(\w+)'", line)
        end = here.group(1) if here else end
        if end:
            end = None if line == end else end
            if end:
                continue
        if not line.endswith("\\"):
            if whole.strip():
                yield whole.strip("\n"), first
            whole = ""


class Shell:
    def __init__(self):
        self.process = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)

    def run(self, command):
        """Returns the status and what was printed."""
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\036%d\\n' $?\n".encode())
        self.process.stdin.flush()
        out, until = b"", time.monotonic() + PATIENCE
        while not (done := re.search(rb"\x1e(\d+)\n", out)):
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                self.process.kill()
                return 1, out.decode(errors="replace") + f"no end after {PATIENCE} s"
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                return 1, out.decode(errors="replace") + "the shell ended"
            out += part
        return int(done.group(1)), out[:done.start()].decode(errors="replace")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def play(command):
    """Runs in a terminal, and quits when there is a picture. Runs in a process of its own: follow.py --play COMMAND."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", MEMTUI_TEST_IDLE="1")
        os.execvp("bash", ["bash", "-c", f"stty rows 30 cols 100; exec {command}"])
    out, seen, keys, until = b"", 0, [b"\r", b"q"], time.monotonic() + PATIENCE
    # The key bar; and of a program that has just begun a place in its source, so that something is recorded.
    ready = re.compile(rb"(?s)(?=.*F10).*\.cc?:\d" if command.split()[1] == "run" else b"F10")
    while select.select([terminal], [], [], max(0, until - time.monotonic()))[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        out += part
        if keys and ready.search(out) and out.find(SETTLED, seen) >= 0:
            seen = len(out)
            os.write(terminal, keys.pop())
    else:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == 128 + signal.SIGTERM and command.split()[1] == "run":
        status = 0  # Enter ends the program by SIGTERM, and memtui passes that on
    if status:
        sys.stdout.buffer.write(out[-300:])
    sys.exit(status)


def masked(text):
    """Without numbers, units, and more than one blank in a row: lines that can be compared."""
    text = re.sub(r"[-+]?\d[\d.,:]*[\w.:-]*%?", "#", text.replace(os.getcwd(), HOME))
    return [" ".join(line.split()) for line in text.splitlines()]


def shown(line, printed):
    """Returns true if some printed line is this one. An ellipsis stands for any text."""
    pattern = re.compile(".*".join(re.escape(part) for part in line.split("…")))
    return any(pattern.fullmatch(other) for other in printed)


def tried(shell, top, build, command):
    bare = re.sub(r"\s+#\s.*", "", command)
    if ELSEWHERE.search(bare):
        return shell.run(f"bash -n -c {shlex.quote(command)}")
    if bare.startswith("make"):
        return shell.run(f"make -n --no-print-directory -C {shlex.quote(top)} O={shlex.quote(build)} {bare[4:]} >/dev/null")
    if NEEDS_TERMINAL.match(bare):
        # others may record beside the test, where a reader has one recording
        played = '"memtui attach $!"' if bare == "memtui attach" else shlex.quote(bare)
        return shell.run(f"python3 {shlex.quote(os.path.abspath(__file__))} --play {played}")
    status, out = shell.run(command)
    log = re.search(r">(\S+) &$", bare)
    while log and not (os.path.exists(log.group(1)) and os.path.getsize(log.group(1))):  # it runs when it has printed something
        status, more = shell.run("kill -0 $!")
        out += more
        if status:
            break
    return status, out


def main():
    if sys.argv[1] == "--play":
        play(sys.argv[2])
    top, build, document = sys.argv[1:]
    with open(os.path.join(top, document), encoding="utf-8") as file:
        text = file.read()
    shell, printed, failed, count = Shell(), [], 0, 0
    for kind, lines, start in blocks(text):
        if kind == "sh":
            printed = []
            for command, number in commands(lines, start):
                status, out = tried(shell, top, build, command)
                printed += masked(out)
                count += 1
                if status:
                    why = " ".join(out[-400:].split())
                    print(f"not ok readme {document}:{number}: '{command}' ended with status {status}: {why}")
                    failed += 1
        elif not kind:
            missing = [line for line in masked("\n".join(lines)) if line and "..." != line and not shown(line, printed)]
            if missing:
                print(f"not ok readme {document}:{start}: not printed: '{missing[0]}'; but: {' | '.join(printed)[:600]}")
                failed += 1
    shell.close()
    if not failed:
        print(f"ok readme {document}: its {count} commands do what it says")
    sys.exit(failed != 0)


main()
