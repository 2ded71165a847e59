"""pages.py PROCESS: how many pages the process's heap has, those of zeroes too, which no count of the kernel's tells of."""
import struct, sys

pages = 0
with open(f"/proc/{sys.argv[1]}/pagemap", "rb", buffering=0) as pagemap:
    for line in open(f"/proc/{sys.argv[1]}/maps"):
        if "[heap]" not in line:
            continue
        low, high = (int(x, 16) for x in line.split()[0].split("-"))
        pagemap.seek(low // 4096 * 8)
        words = pagemap.read((high - low) // 4096 * 8)
        pages += sum(w >> 63 for w in struct.unpack(f"{len(words) // 8}Q", words))
print(pages)
