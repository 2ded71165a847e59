"""Groups, frees, mismatches, an export and check of a trace with a domain of its own. Run by run.sh, which has made the traces."""
import json
import os
import subprocess

MEMTUI = os.environ["MEMTUI"]


def tell(name, good, why=""):
    print(f"ok domains {name}" if good else f"not ok domains {name}: {why}")


def run(*arguments):
    done = subprocess.run([MEMTUI, *arguments], capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout, done.stderr.strip()


def load(*arguments):
    status, out, err = run(*arguments)
    try:
        return json.loads(out)
    except ValueError:
        raise RuntimeError(f"{' '.join(arguments)}: status {status}: {err}")


for trace in "totals.dat", "events.dat":
    of = trace[:-4]
    found = {g["kind"]: g["all"] for g in load("groups", "--format", "json", trace)}
    wanted = {"gpu_take": (5, 500, 2, 200), "malloc": (5, 200, 3, 120)}
    seen = {kind: (g["allocated_count"], g["size"], g["leaked_count"], g["leaked_size"]) for kind, g in found.items()}
    tell(f"groups with {of} name the function and count its blocks", seen == wanted, seen)

    blocks = load("allocations", "--format", "json", trace)
    ends = sorted((b["kind"], b["deallocation"]["kind"]) for b in blocks if b["deallocation"])
    tell(f"frees with {of} name their function, whose id takes two bytes", ends == [
        ("gpu_take", "free"), ("gpu_take", "gpu_give"), ("gpu_take", "gpu_give"), ("malloc", "free"),
        ("malloc", "gpu_give")], ends)

    errors = load("errors", "--format", "json", trace)
    pairs = sorted((e["allocation"]["kind"], e["free"]["kind"]) for e in errors["errors"])
    tell(f"errors with {of} are the two frees of the other domain", pairs == [
        ("gpu_take", "free"), ("malloc", "gpu_give")], pairs)

    for option, kinds in (("--domain gpu", ["gpu_take"]), ("--domain heap", ["malloc"]), ("--domain heap,gpu", ["gpu_take", "malloc"]),
                          ("--allocated-by gpu_take", ["gpu_take"]), ("--allocated-by other_299", [])):
        seen = sorted(g["kind"] for g in load("groups", "--format", "json", *option.split(), trace))
        tell(f"{option} with {of} selects the groups", seen == kinds, seen)

    status, out, err = run("export", trace, "--as", "collapsed", "-o", "-")
    lines = out.splitlines()
    tell(f"an export with {of} has both sites", status == 0 and len(lines) == 2, (status, out, err))
    status, out, err = run("check", "--max-leaked", "320", trace)
    tell(f"check with {of} counts the leaks of both domains", status == 0, (status, out, err))
    status, out, err = run("check", "--max-leaked", "319", trace)
    tell(f"check with {of} fails below their sum", status == 1 and "gpu_take" in out, (status, out, err))


def pool(of):
    """The blocks and the wrong frees of pool.c, as the program itself tells them."""
    trace = of + ".dat"
    lines = [line.split(" ", 3) for line in open(of + ".truth").read().splitlines()]
    told = sorted((int(a), int(size), *rest.replace("pool free", "pool_free").split()) for a, size, *more in
                  (line for line in lines if line[0].isdigit()) for rest in [" ".join(more)])
    wrong = {line[0]: int(line[1]) for line in lines if not line[0].isdigit()}
    blocks = load("allocations", "--format", "json", trace)
    mine = {size for _, size, *_ in told}
    seen = sorted((b["address"], b["size"], b["kind"],
                   b["deallocation"]["kind"].replace("pool free", "pool_free") if b["deallocation"] else "live")
                  for b in blocks if b["size"] in mine)
    tell(f"{of}: each block is at the address that the program used, and ends by its own free", seen == told, (seen, told))
    chunk = max(told, key=lambda b: b[1])[0]
    at_once = [b for b in blocks if b["address"] == chunk and b["size"] in (4000, 100, 10)]
    tell(f"{of}: three blocks live at one address at once", len(at_once) == 3 and max(b["timestamp"] for b in at_once)
         <= min(b["deallocation"]["timestamp"] for b in at_once), at_once)
    seen = sorted(b["size"] for b in load("allocations", "--format", "json", "--domain", "pool", trace))
    tell(f"{of}: --domain pool selects its blocks", seen == [10, 50, 60, 100], seen)
    seen = {b["kind"] for b in load("allocations", "--format", "json", "--address-min", str(chunk), "--address-max", str(chunk), trace)}
    tell(f"{of}: an address selects the block of the heap", seen == {"malloc"}, seen)

    errors = load("errors", "--format", "json", trace)
    seen = sorted((e["type"], e["address"], e["allocation"]["kind"], e["free"]["kind"]) for e in errors["errors"])
    tell(f"{of}: errors are the free in the wrong domain and the double free", seen == [
        ("double_free", wrong["double"], "pool", "pool free"), ("mismatch", wrong["wrong"], "malloc", "pool free")], seen)
    status, out, err = run("errors", trace)
    wanted = "allocated by malloc in the domain heap, freed by pool free in the domain pool, which ended no block: 1 time, address "
    tell(f"{of}: the report names both domains", wanted + hex(wrong["wrong"]) in out, (status, out, err))


for recording in "pool", "pool--free-stacks", "alone":
    pool(recording)
