"""bombs.py DIRECTORY: small files that unpack to half a gigabyte and more, as somebody might send them.
bombs.py run MOST COMMAND...: runs it, and fails if it took more than MOST megabytes of memory."""
import lzma, os, resource, struct, subprocess, sys, zlib

SIZE = 600 << 20
PIECE = bytes(1 << 20)


def packed(make):
    out = b"".join(make.compress(PIECE) for _ in range(SIZE // len(PIECE)))
    return out + make.flush()


def section(data, wanted):
    """Where the section header of this name lies in an ELF file of 64 bits."""
    at, size, count, names = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HHH", data, 0x3A)
    offset = struct.unpack_from("<Q", data, at + names * size + 0x18)[0]
    for i in range(count):
        name = offset + struct.unpack_from("<I", data, at + i * size)[0]
        if data[name:data.index(b"\0", name)] == wanted:
            return at + i * size


def swell(path, name):
    """The compressed section gets SIZE zeroes."""
    data = bytearray(open(path, "rb").read())
    header = section(data, name)
    body = struct.pack("<IIQQ", 1, 0, SIZE, 1) + packed(zlib.compressobj(9))
    struct.pack_into("<QQ", data, header + 0x18, len(data), len(body))
    struct.pack_into("<Q", data, header + 8, struct.unpack_from("<Q", data, header + 8)[0] | 0x800)
    open(path, "wb").write(data + body)


def main(directory):
    os.chdir(directory)
    open("bomb.c", "w").write("#include <stdlib.h>\nvoid *kept;\n__attribute__((noinline)) void leak(void) { kept = malloc(100); }\nint main(void) { leak(); return 0; }\n")
    subprocess.run(["cc", "-O1", "-g", "-gz", "-fno-builtin", "-o", "sections", "bomb.c"], check=True)
    subprocess.run(["cc", "-O1", "-s", "-fno-builtin", "-o", "plain", "bomb.c"], check=True)
    swell("sections", b".debug_str")
    open("small.xz", "wb").write(packed(lzma.LZMACompressor(lzma.FORMAT_XZ)))
    subprocess.run(["objcopy", "--add-section", ".gnu_debugdata=small.xz", "plain", "debugdata"], check=True)
    head = b"v 10400 3\nX ./x\nI 1000 10000\ns 1 a\ni 1000 1 1\nt 1 0\na 1 1\n"
    make = zlib.compressobj(9, zlib.DEFLATED, 31)
    lines = [b"a 1 1\n" * 65536] * 250 # 24 bytes each, and as many again to double the array
    open("heaptrack.gz", "wb").write(make.compress(head) + b"".join(map(make.compress, lines)) + make.flush())


if sys.argv[1] != "run":
    main(sys.argv[1])
else:
    status = subprocess.run(sys.argv[3:], stdin=subprocess.DEVNULL).returncode
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    if took > int(sys.argv[2]):
        sys.exit("took %d MB" % took)
    sys.exit(status)
