"""compare.py BUILD TRACE CLOSING [OPTIONS...]: every place that states a total of the trace states the same one, or names the part
that is suppressed. CLOSING: a file with what record said at its end, or - for none. OPTIONS: of filters and suppressions, for
all commands alike. Prints a line for each pair of places that differ, and 'same' with the number of statements if none do."""
import collections, csv, io, json, os, re, subprocess, sys, tempfile

build, trace, closing, options = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
filtered = any(o.startswith(("--function", "--size", "--from", "--filter")) for o in options)
said = collections.defaultdict(dict)  # by number: what each place says
# the options for what shows the heap, not the leaks
heap = [o for i, o in enumerate(options) if "suppressions" not in o and (i == 0 or options[i - 1] != "--suppressions")]


def memtui(*arguments, stderr=False):
    done = subprocess.run([f"{build}/memtui", *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"memtui {' '.join(arguments)}: {done.stderr}")
    return done.stderr if stderr else done.stdout


def say(place, **numbers):
    for number, value in numbers.items():
        if value is not None:
            said[number][place] = value


def integer(text):
    return int(text.replace(",", "").lstrip("~"))


def of_info():
    info = json.loads(memtui("info", "--format", "json", *options, trace))
    names = dict(calls="allocations", frees="frees", reallocations="reallocations", begun="allocated_count", ended="freed_count",
        bytes="allocated_bytes", leaked="leaked_bytes", blocks="leaked_count", peak="peak_bytes", temporary="temporary_count",
        suppressed="suppressed_bytes", suppressed_blocks="suppressed_count")
    say("info, JSON", **{number: info.get(name) for number, name in names.items()})
    say("allocations and reallocations of info", begun=info["allocations"] + info["reallocations"])
    say("frees and reallocations of info", ended=info["frees"] + info["reallocations"])
    if not info["inherited_frees"]:
        say("blocks that began and did not end", live=info["allocations"] - info["frees"])
        say("leaked and suppressed of info", live=info["leaked_count"] + info["suppressed_count"])
    rows = dict(csv.reader(io.StringIO(memtui("info", "--format", "csv", *options, trace))))
    say("info, CSV", **{number: int(rows[name]) for number, name in names.items() if name in rows})
    text = {}
    for line in memtui("info", "--exact", *options, trace).splitlines():
        if re.fullmatch("~?[0-9]+", line[18:]):
            text[line[:18].rstrip()] = integer(line[18:])
    leaked = "leaked" if "leaked" in text else "live"
    say("info, text", calls=text["allocations"], frees=text["frees"], reallocations=text["reallocations"],
        begun=text.get("blocks allocated"), ended=text.get("blocks freed"), bytes=text["allocated in total"], leaked=text[leaked],
        blocks=text[leaked + " blocks"], peak=text["peak"], temporary=text["temporary"], suppressed=text.get("suppressed", 0),
        suppressed_blocks=text.get("suppressed blocks", 0))
    return info


def of_report():
    text = memtui("report", "--exact", *options, trace)
    match = re.search(r"^allocated +(\d+) in (\d+) (\w+)(?: in the range)?(?: \((\d+) allocations?, (\d+) reallocations?\))?, "
        r"(\d+) of them temporary$", text, re.M)
    if not match:
        sys.exit("report has no totals: " + text[:400])
    say("report", bytes=int(match[1]), temporary=int(match[6]))
    say("report", **{"begun" if match[3].startswith("block") else "calls": int(match[2])})
    if match[4]:
        say("report", calls=int(match[4]), reallocations=int(match[5]))
    match = re.search(r"^(?:leaked|live) +~?(\d+) in ~?(\d+) block", text, re.M)
    say("report", leaked=int(match[1]), blocks=int(match[2]))
    match = re.search(r"^suppressed (\d+) in (\d+) block", text, re.M)
    say("report", suppressed=int(match[1]) if match else 0, suppressed_blocks=int(match[2]) if match else 0)
    if not filtered:
        say("report", peak=int(re.search(r"^peak +(\d+) at", text, re.M)[1]))


def of_metrics(place, metrics):
    say(place, begun=int(metrics["allocated_count"]), bytes=int(metrics["size"]), leaked=int(metrics["leaked_size"]),
        blocks=int(metrics["leaked_count"]), temporary=int(metrics["temporary_count"]))


def total(rows):
    sums = collections.Counter()
    for row in rows:
        for name in ("allocated_count", "size", "leaked_size", "leaked_count", "temporary_count"):
            sums[name] += int(row[name])
    return collections.defaultdict(int, sums)


def of_groups():
    groups = json.loads(memtui("groups", "--format", "json", *options, trace))
    of_metrics("groups, JSON", total(g["only_matched"] for g in groups))
    say("groups, JSON", suppressed=sum(g.get("suppressed_bytes", 0) for g in groups),
        suppressed_blocks=sum(g.get("suppressed_count", 0) for g in groups))
    of_metrics("groups, CSV", total(csv.DictReader(io.StringIO(memtui("groups", "--format", "csv", *options, trace)))))
    by = json.loads(memtui("groups", "--by", "function", "--format", "json", *options, trace))
    of_metrics("groups by function", total(g["only_matched"] for g in by))
    for turned in ([], ["--inverted"]):
        tree = json.loads(memtui("tree", "--levels", "1", *turned, "--format", "json", *options, trace))
        of_metrics("tree" + "".join(turned), tree["total"])
    match = re.search(r"suppressed: ([0-9,]+) bytes? in ([0-9,]+) block", memtui("groups", *options, trace, stderr=True))
    say("groups, in words", suppressed=integer(match[1]) if match else 0, suppressed_blocks=integer(match[2]) if match else 0)


def of_check():
    limits = ["--max-leaked", "0", "--max-leaked-count", "0", "--max-peak", "0", "--max-allocations", "0", "--max-allocated", "0",
        "--max-temporary", "0"]
    check = json.loads(memtui("check", "--this-image", "--format", "json", *limits, *options, trace))
    values = {limit["name"]: limit["value"] for limit in check["limits"]}
    say("check", leaked=values["max-leaked"], blocks=values["max-leaked-count"], peak=values["max-peak"],
        calls=values["max-allocations"], bytes=values["max-allocated"], temporary=values["max-temporary"],
        suppressed=check["suppressed_bytes"], suppressed_blocks=check["suppressed_count"])


def of_timeline(info):
    timeline = json.loads(memtui("timeline", "--format", "json", *heap, trace))
    say("timeline", begun=sum(timeline["allocations"]), ended=sum(timeline["frees"]), peak=max(timeline["max_bytes"]),
        live=timeline["live_count"][-1], live_bytes=timeline["live_bytes"][-1])
    say("leaked and suppressed of info", live_bytes=info["leaked_bytes"] + info["suppressed_bytes"])


def of_exports(info):
    for metric, number in (("leaked_size", "leaked"), ("leaked_count", "blocks"), ("size", "bytes"), ("allocated_count", "begun"),
            ("temporary_count", "temporary")):
        lines = memtui("export", "--as", "collapsed", "--metric", metric, *options, trace).splitlines()
        say("collapsed", **{number: sum(int(line.rsplit(" ", 1)[1]) for line in lines)})
    words = {"bytes not freed": "leaked", "blocks not freed": "blocks", "total bytes allocated": "bytes", "total allocations": "begun"}
    for profile in json.loads(memtui("export", "--as", "speedscope", *options, trace))["profiles"]:
        if profile["name"] in words:
            say("speedscope", **{words[profile["name"]]: profile["endValue"]})
    of_metrics("JSON export", total(g["only_matched"] for g in json.loads(memtui("export", "--as", "json", *options, trace))))
    massif = memtui("export", "--as", "massif", *heap, trace)
    say("massif, at the end", live_bytes=int(re.findall(r"mem_heap_B=(\d+)", massif)[-1]))
    if not filtered:
        say("massif, largest", peak=max(map(int, re.findall(r"mem_heap_B=(\d+)", massif))))
    if not re.search(r"^single events", memtui("info", trace), re.M):  # else those of the first part are gone
        points = json.loads(memtui("export", "--as", "dhat", *heap, trace))["pps"]
        say("dhat", begun=sum(p["tbk"] for p in points), bytes=sum(p["tb"] for p in points), live=sum(p["ebk"] for p in points),
            live_bytes=sum(p["eb"] for p in points))


def of_closing():
    if closing == "-":
        return
    text = open(closing).read()
    match = re.search(r"wrote \S+: (?:[\d.]+[kMG]?B?, )?([0-9,]+) allocations?(?: and ([0-9,]+) reallocations?)?, peak \S+, "
        r"(?:leaked|live at its end) (\S+) in ~?([0-9,]+) blocks?(?: \((\S+) in ([0-9,]+) blocks? suppressed\))?", text)
    if not match:
        sys.exit("there is no closing line: " + text)
    say("closing line", calls=integer(match[1]), reallocations=integer(match[2] or "0"), blocks=integer(match[4]),
        suppressed_blocks=integer(match[6] or "0"), short_leaked=match[3].lstrip("~"), short_suppressed=match[5] or "0B")
    short = dict(re.findall(r"^(leaked|live|suppressed) +~?(\S+)$", memtui("info", *options, trace), re.M))
    say("info, text", short_leaked=short.get("leaked", short.get("live")), short_suppressed=short.get("suppressed", "0B"))


def parse(text):
    return float(text.rstrip("kMGB")) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)


def of_screen(info):
    """The heap as a whole, with what is suppressed."""
    shown = subprocess.run([f"{build}/tests/numbers/screen", f"{build}/memtui", "open", *heap, trace], capture_output=True, text=True)
    match = re.search(r"(heap|filtered) (?:at the end )?(\S+)(?: \(\S+ suppressed\))?   peak (\S+) at \S+   (?:live )?blocks (\S+)   allocs/s (\S+)   frees/s (\S+)",
        shown.stdout)
    if shown.returncode or not match:
        sys.exit("the screen shows no numbers: " + shown.stdout)
    if match[1] == "heap":  # a filter that groups alone answer leaves the graph of the whole heap, which is called so
        heap.clear()
        info = json.loads(memtui("info", "--format", "json", trace))
    lost = (re.search(r"lost (\S+)", shown.stdout.splitlines()[0]) or ("", "0"))[1]  # said only if something was lost
    if parse(lost) != info["lost_events"] and info["lost_events"] < 10000:
        said["lost"] = {"the screen's title": lost, "info": info["lost_events"]}
    text = memtui("info", *heap, "--no-builtin-suppressions", trace)
    short = dict(re.findall(r"^(leaked|live|peak|leaked blocks|live blocks) +~?(\S+)$", text, re.M))
    left = "leaked" if "leaked" in short else "live"
    say("the screen", short_live=match[2], short_peak=match[3], short_blocks=match[4])
    say("info, with what is suppressed", short_live=short[left], short_peak=short["peak"], short_blocks=short[left + " blocks"])
    seconds = info["wall_seconds"]
    for word, shown_rate, count in (("allocs/s", match[5], info["allocations"] + info["reallocations"]),
            ("frees/s", match[6], info["frees"] + info["reallocations"])):
        if abs(parse(shown_rate) - count / seconds) > 1 + 0.06 * count / seconds:
            said[word] = {"the screen": shown_rate, "info's blocks over its seconds": count / seconds}


info = of_info()
of_report()
of_groups()
of_check()
of_timeline(info)
of_exports(info)
of_closing()
if os.access(f"{build}/tests/numbers/screen", os.X_OK):
    of_screen(info)
different = False
for number, places in said.items():
    values = collections.defaultdict(list)
    for place, value in places.items():
        values[value].append(place)
    if len(values) > 1:
        different = True
        print(f"{number}: " + "; ".join(f"{value} by {', '.join(where)}" for value, where in values.items()))
if not different:
    print("same", sum(map(len, said.values())))
