#!/usr/bin/env python3
"""mutants.py PROGRAM LIBRARY FOLDER COUNT [SEED [FIRST]]: changes random bytes of the program's .eh_frame and .eh_frame_hdr
COUNT times, and runs each mutant alone, traced, and traced in check mode. Status and output must be the same. A
mutant that differs is described, and left in FOLDER; SEED and FIRST make it again."""
import multiprocessing, os, random, struct, subprocess, sys

program, library, folder, count = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3], int(sys.argv[4])
seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
first = int(sys.argv[6]) if len(sys.argv) > 6 else 0
SECTIONS = (b'.eh_frame_hdr', b'.eh_frame')
BYTES = (0, 1, 0x0a, 0x0b, 0x0c, 0x0f, 0x10, 0x16, 0x1b, 0x3b, 0x40, 0x7f, 0x80, 0x9b, 0xff)
original = open(program, 'rb').read()


def find_sections():
    start, = struct.unpack_from('<Q', original, 40)
    size, number, names = struct.unpack_from('<HHH', original, 58)
    headers = [struct.unpack_from('<IIQQQQ', original, start + i * size) for i in range(number)]
    name_at = headers[names][4]
    found = {}
    for name, _, _, _, offset, length in headers:
        text = original[name_at + name:original.index(b'\0', name_at + name)]
        if text in SECTIONS:
            found[text.decode()] = (offset, length)
    assert len(found) == 2, found
    return found


sections = find_sections()


def mutate(index):
    """The bytes of a mutant, and its changes in words."""
    rng = random.Random(f'{seed} {index}')
    data, changes = bytearray(original), []
    for _ in range(1 if rng.random() < 0.5 else rng.randint(2, 8)):
        name = rng.choice(list(sections))
        offset, length = sections[name]
        at = rng.randrange(min(length, 16) if rng.random() < 0.2 else length)
        kind = rng.randrange(5)
        if kind == 0:
            new = bytes([rng.randrange(256)])
        elif kind == 1:
            new = bytes([rng.choice(BYTES)])
        elif kind == 2:
            new = bytes([data[offset + at] ^ 1 << rng.randrange(8)])
        elif kind == 3:
            new = struct.pack('<I', rng.choice((0, 1, 0xffffffff, 0x7fffffff, 0x80000000, rng.getrandbits(32))))
        else:
            source = rng.randrange(length)
            new = original[offset + source:offset + source + rng.randint(1, 12)]
        new = new[:length - at]
        old = bytes(data[offset + at:offset + at + len(new)])
        data[offset + at:offset + at + len(new)] = new
        changes.append(f'{name}+{at}: {old.hex()} -> {new.hex()}')
    return bytes(data), changes


def run(path, environment):
    try:
        done = subprocess.run([path], env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return 'has not ended in 60 s', b'', b''
    return f'status {done.returncode}', done.stdout, done.stderr


def attempt(index):
    """None, or why the mutant fails."""
    mine = os.path.join(folder, f'mutant-{os.getpid()}')
    recording = mine + '.mem'
    data, changes = mutate(index)
    with open(mine, 'wb') as file:
        file.write(data)
    os.chmod(mine, 0o755)
    alone = run(mine, {})
    for words, more in (('traced', {}), ('traced in check mode', {'MEMTUI_CHECK': '1'})):
        if os.path.exists(recording):
            os.unlink(recording)
        traced = run(mine, {'LD_PRELOAD': library, 'MEMTUI_OUTPUT': recording, **more})
        why = ''
        if traced != alone:
            why = f'{words}: {traced[0]}, alone {alone[0]}'
            if traced[1:] != alone[1:]:
                why += f', output {traced[1:]} in place of {alone[1:]}'
        elif not os.path.exists(recording):
            why = f'{words}: not recorded'
        if why:
            kept = os.path.join(folder, f'failed-{seed}-{index}')
            os.rename(mine, kept)
            return f'mutant {index} of seed {seed} {why}; ' + '; '.join(changes)
    return None


def main():
    failures = []
    with multiprocessing.Pool(2) as pool:
        for why in pool.imap_unordered(attempt, range(first, first + count), 8):
            if why:
                failures.append(why)
    for why in failures[:10]:
        print(f'not ok mutants: {why}')
    if failures:
        print(f'not ok mutants: {len(failures)} of {count} run otherwise when they are traced')
    else:
        print(f'ok mutants: {count} programs with damaged call frame information run the same alone, traced, and checked')
    return 1 if failures else 0


sys.exit(main())
