"""check.py KIND FILE INFO [STACK VALUE]: the export agrees with memtui info to the byte and the count, is well-formed, and holds
the stack (names, outermost first, joined by ';', as the end of a whole one) with this many leaked bytes. Raises where not."""
import csv, gzip, json, struct, sys
import xml.etree.ElementTree as ElementTree

METRICS = ("leaked_size", "leaked_count", "size", "allocated_count", "temporary_count", "at_peak_size")


def truth(path):
    info = json.load(open(path))
    return {"leaked_size": info["leaked_bytes"], "leaked_count": info["leaked_count"], "size": info["allocated_bytes"],
            "allocated_count": info["allocations"] + info["reallocations"], "temporary_count": info["temporary_count"],
            "at_peak_size": info["at_peak_size"]}


def collapsed(path):
    stacks = {}
    for line in open(path, encoding="utf-8", newline="\n"):
        assert line.endswith("\n"), line
        stack, number = line[:-1].rsplit(" ", 1)
        assert stack and all(stack.split(";")) and int(number) > 0, line
        stacks[stack] = stacks.get(stack, 0) + int(number)
    return {"leaked_size": sum(stacks.values())}, stacks


def flamegraph(path):
    space = "{http://www.w3.org/2000/svg}"
    root = ElementTree.parse(path).getroot()
    frames, stack, stacks, names = [], [], {}, []
    for g in root.iter(space + "g"):
        x, w, d = (int(g.get("data-" + c)) for c in "xwd")
        name = g.find(space + "title").text.split("\n")[0]
        label = g.find(space + "text").text or ""
        assert label == name or (label == "" or label.endswith("..") and name.startswith(label[:-2])), (name, label)
        rect = g.find(space + "rect")
        assert 0 <= float(rect.get("x")[:-1]) <= 100 and float(rect.get("width")[:-1]) <= 100.0001
        del stack[d:], names[d:]
        assert len(stack) == d, "a frame that nothing calls"
        if stack: # within its caller, and beside what else that calls
            assert stack[-1]["x"] + stack[-1]["used"] == x and x + w <= stack[-1]["x"] + stack[-1]["w"], name
            stack[-1]["used"] += w
        frame = {"x": x, "w": w, "used": 0, "names": names + [name]}
        stack.append(frame)
        names.append(name)
        frames.append(frame)
    for frame in frames:
        key = ";".join(frame["names"][1:])
        stacks[key] = stacks.get(key, 0) + frame["w"] - frame["used"]
    script = root.find(space + "script").text
    assert "frames" in script and not any(f["names"][-1] in script for f in frames if len(f["names"][-1]) > 12), "names in the script"
    return {"leaked_size": frames[0]["w"] if frames else 0}, stacks


def speedscope(path):
    data, sums, stacks = json.load(open(path)), {}, {}
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    words = {"bytes not freed": "leaked_size", "bytes live at the peak of the heap": "at_peak_size", "blocks not freed": "leaked_count",
             "total bytes allocated": "size", "total allocations": "allocated_count", "freed before the thread's next allocation": "temporary_count"}
    frames = data["shared"]["frames"]
    assert len({json.dumps(f) for f in frames}) == len(frames)
    for profile in data["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] in ("bytes", "none") and profile["startValue"] == 0
        assert len(profile["samples"]) == len(profile["weights"]) and sum(profile["weights"]) == profile["endValue"]
        sums[words[profile["name"]]] = profile["endValue"]
        for sample, weight in zip(profile["samples"], profile["weights"]):
            key = ";".join(frames[i]["name"] for i in sample)
            if profile["name"] == "bytes not freed":
                stacks[key] = stacks.get(key, 0) + weight
    assert data["profiles"][data["activeProfileIndex"]]["name"] == "bytes not freed"
    return sums, stacks


def fields(data):
    """(number, value) of a protocol buffer's message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            assert at + size <= len(data), "a field beyond its message"
            yield key >> 3, data[at:at + size]
            at += size
        else:
            raise AssertionError("wire type %d" % (key & 7))


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def pprof(path):
    parts = {}
    for number, value in fields(gzip.open(path).read()):
        parts.setdefault(number, []).append(value)
    strings = [s.decode("utf-8") for s in parts[6]]
    assert strings[0] == "" and len(set(strings)) == len(strings)
    types = [tuple(strings[v] for _, v in fields(t)) for t in parts[1]]
    assert types == [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
    assert strings[parts[14][0]] == "inuse_space"
    mappings = {dict(fields(m))[1]: dict(fields(m)) for m in parts.get(3, [])}
    functions = {dict(fields(f))[1]: strings[dict(fields(f))[2]] for f in parts.get(5, [])}
    locations = {}
    for location in parts.get(4, []):
        simple = dict((n, v) for n, v in fields(location) if n != 4)
        assert simple[1] not in locations, "a location twice"
        locations[simple[1]] = [functions[dict(fields(v))[1]] for n, v in fields(location) if n == 4]
        assert locations[simple[1]]
        if 2 in simple:
            assert mappings[simple[2]][2] <= simple[3] < mappings[simple[2]][3], "an address outside its mapping"
    sums, stacks = [0] * 4, {}
    for sample in parts.get(2, []):
        ids = [i for n, v in fields(sample) if n == 1 for i in varints(v)]
        values = [i for n, v in fields(sample) if n == 2 for i in varints(v)]
        labels = [dict(fields(v)) for n, v in fields(sample) if n == 3]
        assert ids and len(values) == 4 and [strings[l[1]] for l in labels] == ["kind"]
        sums = [a + b for a, b in zip(sums, values)]
        key = ";".join(name for i in reversed(ids) for name in reversed(locations[i]))
        stacks[key] = stacks.get(key, 0) + values[3]
    return dict(zip(("allocated_count", "size", "leaked_count", "leaked_size"), sums)), stacks


def dhat(path):
    data, stacks, seen = json.load(open(path)), {}, set()
    assert data["dhatFileVersion"] == 2 and data["mode"] == "heap" and data["ftbl"][0] == "[root]" and data["bkacc"] is False
    names = [f.split(": ", 1)[-1].rsplit(" (", 1)[0] for f in data["ftbl"]]
    for point in data["pps"]:
        assert tuple(point["fs"]) not in seen, "a program point twice"
        seen.add(tuple(point["fs"]))
        assert data["bklt"] and 0 <= point["tl"] <= point["tbk"] * data["te"], "no lifetimes"
        assert point["mb"] >= max(point["gb"], point["eb"]) and point["tbk"] >= point["mbk"]
        key = ";".join(names[i] for i in reversed(point["fs"][1:]))
        stacks[key] = stacks.get(key, 0) + point["eb"]
    total = lambda field: sum(p[field] for p in data["pps"])
    return {"size": total("tb"), "allocated_count": total("tbk"), "leaked_size": total("eb"), "leaked_count": total("ebk"),
            "at_peak_size": total("gb")}, stacks


def allocations(rows):
    assert [r["number"] for r in rows] == sorted({r["number"] for r in rows}), "not in their order, or twice"
    live = [r for r in rows if not r["ended"]]
    for r in rows:
        assert 1 <= r["position"] <= r["length"] and r["chain"] <= r["number"] and (r["position"] == 1) == (r["chain"] == r["number"])
    return {"leaked_size": sum(r["size"] for r in live), "leaked_count": len(live), "size": sum(r["size"] for r in rows),
            "allocated_count": len(rows)}, {}


def allocations_json(path):
    return allocations([dict(r, ended=r["deallocation"], position=r["position_in_chain"], length=r["chain_length"])
                        for r in json.load(open(path)) if r["usable_size"] >= r["size"]])


def allocations_csv(path):
    return allocations([dict(number=int(r["number"]), size=int(r["size"]), chain=int(r["chain"]), ended=r["deallocation_kind"],
                             position=int(r["position_in_chain"]), length=int(r["chain_length"]))
                        for r in csv.DictReader(open(path, newline=""))])


def groups_json(path):
    groups, stacks = json.load(open(path)), {}
    for group in groups:
        key = ";".join(f["function"] for f in reversed(group["backtrace"]))
        stacks[key] = stacks.get(key, 0) + group["only_matched"]["leaked_size"]
    return {m: sum(g["only_matched"][m] for g in groups) for m in METRICS}, stacks


def groups_csv(path):
    rows, stacks = list(csv.DictReader(open(path, encoding="utf-8", errors="replace", newline=""))), {}
    for row in rows:
        key = ";".join(reversed(row["backtrace"].split(";")))
        stacks[key] = stacks.get(key, 0) + int(row["leaked_size"])
    return {m: sum(int(r[m]) for r in rows) for m in METRICS}, stacks


def tree_json(path):
    stacks = {}

    def walk(node, names):
        stacks[";".join(names)] = stacks.get(";".join(names), 0) + node["self"]["leaked_size"]
        for child in node["children"]:
            walk(child, names + [child["function"]])
    root = json.load(open(path))
    walk(root, [])
    return {m: root["total"][m] for m in METRICS}, stacks


def main(kind, path, info, stack=None, value=None):
    sums, stacks = globals()[kind](path)
    want = truth(info)
    for metric, have in sums.items():
        assert have == want[metric], "%s: %d, info says %d" % (metric, have, want[metric])
    if stack is not None:
        have = sum(v for k, v in stacks.items() if (";" + k).endswith(";" + stack))
        assert have == int(value), "%s: %d, not %s" % (stack, have, value)


try:
    main(*sys.argv[1:])
except AssertionError as error:
    sys.exit("%s: %s" % (sys.argv[1], error or "a check failed: line %d" % error.__traceback__.tb_next.tb_next.tb_lineno))
