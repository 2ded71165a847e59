"""What 'memtui memory --format json' says, beside what the kernel and the program say. Prints what is wrong.
check.py JSON ROLLUP SMAPS [WORDS...]: truth FILE; unexplained PERCENT; unknown"""
import json
import sys

account = json.load(open(sys.argv[1]))
rollup = {l.split(":")[0]: int(l.split()[1]) * 1024 for l in open(sys.argv[2]) if l.endswith(" kB\n")}
asked = sys.argv[4:]
rows = account["rows"]


# The recorder gives pages of the rings back whenever it likes, also while the program stands still.
others = of_rings = 0
for line in open(sys.argv[3]):
    if "-" in line.split()[0]:
        of_rings = "/memfd:memtui" in line or "/alone.mem" in line
    elif not of_rings and line.startswith("Rss:"):
        others += int(line.split()[1]) * 1024


def total(key, *kinds):
    return sum(r[key] for r in rows if not kinds or r["what"] in kinds)


def wrong(text):
    print(text, end="; ")


def near(name, value, wanted, most):
    if abs(value - wanted) > most:
        wrong(f"{name}: {value}, not {wanted} or at most {most} beside it")


def equal(name, value, wanted):
    near(name, value, wanted, 0)


# ---- what holds of every account of a process that stands still ----
now = sum(r["bytes"] for r in rows if r["detail"] == "rings and tables")
equal("rss_bytes without the rings", account["rss_bytes"] - now, others)
if "unknown" in asked:
    equal("rss_bytes", account["rss_bytes"], rollup["Rss"])
equal("the sum of all rows", total("bytes"), account["rss_bytes"])
equal("swap", account["swap_bytes"], rollup["Swap"])
equal("changed_bytes", account["changed_bytes"], 0)
equal("huge_page_bytes", account["huge_page_bytes"],
      rollup["AnonHugePages"] + rollup["ShmemPmdMapped"] + rollup["FilePmdMapped"])
if "unknown" in asked:  # a recorder looks into the files of the program, too, and shares their pages with it
    equal("private", total("private_dirty_bytes") + total("private_clean_bytes"),
          rollup["Private_Clean"] + rollup["Private_Dirty"])
equal("explained_bytes", account["explained_bytes"], account["rss_bytes"] - total("bytes", "unexplained"))
for r in rows:
    parts = sum(r[k] for k in ("private_dirty_bytes", "private_clean_bytes", "shared_dirty_bytes", "shared_clean_bytes"))
    equal(f"the parts of {r['words']}", parts, r["bytes"])
    if r["bytes"] > r["size_bytes"]:
        wrong(f"{r['words']}: {r['bytes']} of {r['size_bytes']} bytes are resident")
sizes = [r["bytes"] for r in rows if r["what"] != "memtui"]
if sizes != sorted(sizes, reverse=True):
    wrong("rows are not sorted")

if "unexplained" in asked:
    most = float(asked[asked.index("unexplained") + 1]) / 100
    found = total("bytes", "unexplained")
    if found > most * rollup["Rss"]:
        wrong(f"unexplained: {found} of {rollup['Rss']}")
    if not account["blocks_known"] or account["unknown"] or not total("bytes", "memtui"):
        wrong(f"blocks are not known: {account['unknown']}")
if "unknown" in asked:
    if account["blocks_known"] or not account["unknown"] or total("bytes", "heap_blocks", "memtui", "mapped"):
        wrong("blocks of a process that is not recorded are known")

# ---- a program that says what its memory is for ----
if "truth" in asked:
    truth = {l.split()[0]: int(l.split()[1]) for l in open(asked[asked.index("truth") + 1]) if len(l.split()) == 2}
    recorded = "unknown" not in asked
    heap = truth["blocks"] + truth["slack"] + truth["holes"]
    slop = 400 << 10  # the C library's own blocks, tops of heaps, stdio
    if recorded:
        near("heap_blocks", total("bytes", "heap_blocks"), truth["blocks"], 100 << 10)
        near("heap_blocks, asked for", total("size_bytes", "heap_blocks"), truth["asked"], 100 << 10)
        near("slack", total("bytes", "slack"), truth["slack"], 4 << 10)
        near("free_chunks", total("bytes", "free_chunks"), truth["holes"], slop)
        mapped = {f["function"]: r["bytes"] for r in rows if r["what"] == "mapped" for f in r["backtrace"]}
        equal("map_anonymous", mapped.get("map_anonymous", 0), truth["anonymous"])
        equal("map_shared", mapped.get("map_shared", 0), truth["shared"])
    else:
        near("heap", total("bytes", "heap"), heap - (25 << 20), slop)
        near("unexplained", total("bytes", "unexplained"), truth["anonymous"] + (25 << 20), 100 << 10)
    near("thread_stacks", total("bytes", "thread_stacks"), truth["stack"], 32 << 10)
    files = [r for r in rows if r["what"] == "file" and r["detail"].endswith("/mapped")]
    if len(files) != 1 or not files[0]["detail"].startswith("rw-p "):
        wrong(f"rows of the mapped file: {files}")
    else:
        equal("file", files[0]["bytes"], truth["file"])
        if files[0]["private_dirty_bytes"] < truth["changed"]:
            wrong(f"file, changed: {files[0]['private_dirty_bytes']}, less than {truth['changed']}")
