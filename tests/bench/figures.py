"""From samples to figures: medians, what a tool adds to the untraced run, and how that compares with heaptrack."""
import math
import statistics

from workloads import BEFORE, HEAPTRACK_PRELOAD, HOT_PAIRS as PAIRS, START

MB = 1e6
RATIOS = ("wall", "cpu", "total_cpu")


def median_of(samples, value):
    found = [value(s) for s in samples if s is not None]
    return statistics.median(found) if found else None


def extra(samples, base, value):
    """The median over the rounds of what the tool added in that round: drift of the machine cancels out."""
    pairs = [value(s) - value(b) for s, b in zip(samples, base) if s is not None and b is not None]
    return statistics.median(pairs) if pairs else None


def tool_figures(samples, base, events, allocations):
    """One tool on one workload; base: the untraced samples of the same rounds. Without events: no figures by them."""
    row = {
        "runs": sum(s is not None for s in samples),
        "wall": median_of(samples, lambda s: s["wall"]),
        "cpu": median_of(samples, lambda s: s["cpu"]),
        "total_cpu": median_of(samples, lambda s: s["total_cpu"]),
        "rss_mb": median_of(samples, lambda s: s["rss_kib"] * 1024 / MB),
        "helper_cpu": median_of(samples, lambda s: s["total_cpu"] - s["cpu"]),
    }
    if samples is base:
        return row
    row |= {
        "extra_wall": extra(samples, base, lambda s: s["wall"]),
        "extra_cpu": extra(samples, base, lambda s: s["cpu"]),
        "extra_total_cpu": extra(samples, base, lambda s: s["total_cpu"]),
        "extra_rss_mb": extra(samples, base, lambda s: s["rss_kib"] * 1024 / MB),
    }
    if "idle_rss_kib" in next(s for s in samples if s is not None):
        row["extra_idle_rss_mb"] = extra(samples, base, lambda s: s["idle_rss_kib"] * 1024 / MB)
    if "own_ns" in next(s for s in samples if s is not None):
        row["extra_ns"] = extra(samples, base, lambda s: s["own_ns"])
    elif allocations and row["extra_wall"] is not None:
        row["extra_ns"] = row["extra_wall"] / allocations * 1e9
    if allocations and row["extra_cpu"] is not None:
        row["extra_cpu_ns"] = row["extra_cpu"] / allocations * 1e9
    files = median_of(samples, lambda s: s["file_bytes"])
    if events and files:
        row["bytes_per_event"] = files / events
    return row


def workload_figures(workload, samples, failures):
    mine = [s for s in samples.get("memtui", []) if s is not None]
    events, allocations, nodes = (median_of(mine, lambda s, name=name: s[name])
                                   for name in ("events", "allocations", "nodes"))
    if not workload.per_event:
        events = allocations = None
    if workload.pairs:
        events, allocations = 2 * workload.pairs, workload.pairs
    base = samples["untraced"]
    tools = {name: tool_figures(rows, base, events, allocations)
             for name, rows in samples.items() if any(rows)}
    row = {"threads": workload.threads, "events": events, "allocations": allocations, "nodes": nodes,
           "lost_events": sum(s["lost_events"] for s in mine), "tools": tools, "failures": failures}
    if mine and events:
        tools["memtui"]["recorder_ns_per_event"] = tools["memtui"]["helper_cpu"] / events * 1e9
    compare(row)
    return row


def compare(row):
    """memtui's extra over that of heaptrack, or of its preload library where its pipeline died."""
    peers = [name for name in ("heaptrack", HEAPTRACK_PRELOAD) if name in row["tools"] and name not in row["failures"]]
    peer = peers[0] if peers else None
    row["peer"], row["ratios"] = peer, {}
    if not peer or "memtui" not in row["tools"]:
        return
    # Its preload alone has no interpreter, so that there is nothing to compare the recorder with.
    for what in RATIOS if peer == "heaptrack" else ("wall", "cpu"):
        ours, theirs = (row["tools"][name]["extra_" + what] for name in ("memtui", peer))
        if ours is not None and theirs and theirs > 0:
            row["ratios"][what] = ours / theirs


QUIET_SHARE = 0.95


def processor_share(result):
    """How much of a processor the untraced programs of one thread got: up to QUIET_SHARE the machine was busy."""
    shares = [row["tools"]["untraced"]["cpu"] / row["tools"]["untraced"]["wall"] for row in result.values()
              if row["threads"] == 1 and row["events"] and "untraced" in row["tools"]]
    return statistics.median(shares) if shares else None


# ---- limits ----------------------------------------------------------------------------------------------

THREADED = {"hot 16, 2 threads": "hot 16, 2 copies", "hot 16, 4 threads": "hot 16, 4 copies"}
REAL = ("python3", "sqlite3", "perl")
SERIES = ("hot 16", *THREADED, *THREADED.values())
RATIO_LIMITS = [(name, "wall", 1 / 6) for name in ("hot 4", "hot 16", "hot 48", "hot 200", *THREADED)] + [
    (name, "cpu", 0.1) for name in THREADED] + [("tree", "wall", 0.37)] + [
    (name, "wall", 0.3) for name in REAL] + [(name, "total_cpu", 1 / 3) for name in REAL] + [("cc1plus", "wall", 0.5)]
WORDS = {"wall": "extra wall", "cpu": "extra target CPU", "total_cpu": "extra total CPU"}
CHANGES = {"wall": "wall", "cpu": "target CPU", "total_cpu": "all CPU", "rss_kib": "target RSS", "file_bytes": "file"}
RECORDER_NS = 30
RSS_MB, RSS_MB_A_THREAD, RSS_BYTES_A_NODE = 20, 0.5, 48


def interval(values):
    """Where the median of what these are samples of lies, with 95% (of the order of the samples, by the sign test)."""
    values, n = sorted(values), len(values)
    outside, least = 0.0, 0
    while outside + math.comb(n, least) / 2**n <= 0.025:
        outside += math.comb(n, least) / 2**n
        least += 1
    return (values[least - 1], values[n - least]) if least else (-math.inf, math.inf)


def added_ns(samples, index, pairs):
    """CPU that recording adds to a pair, in one round."""
    recorded, alone = samples["memtui"][index], samples["untraced"][index]
    return (recorded["cpu"] - alone["cpu"]) / pairs * 1e9


def compared(series, name, other, pairs):
    """What recording adds to a pair of one workload beyond what it adds to one of the other, round by round."""
    count = len(series[name]["memtui"])
    return [added_ns(series[name], i, pairs) - added_ns(series[other], i, pairs) for i in range(count)]


def series_limits(series, pairs):
    rows = []
    for name, copies in THREADED.items():
        for other, text in (("hot 16", "one thread's"), (copies, "as many processes'")):
            if name not in series or other not in series:
                continue
            values = compared(series, name, other, pairs)
            low, high = interval(values)
            rows.append((f"{name}: extra target CPU a pair, beyond {text}", statistics.median(values), 0, "ns", low, high))
    return rows


def share_limits(result):
    """What threads take of heaptrack's extra CPU beside what one thread takes of it: a processor that is shared makes both
    tools slower, and drops out."""
    shares = {name: result.get(name, {}).get("ratios", {}).get("cpu") for name in ("hot 16", *THREADED)}
    return [(f"{name}: share of heaptrack's extra CPU / one thread's share", shares[name] / shares["hot 16"], 1, "x")
            for name in THREADED if shares[name] is not None and shares["hot 16"]]


def limits(result, series):
    """Every limit that this run can judge. One that compares two workloads has an interval, too: where that holds the
    limit, the two cannot be told apart in this run."""
    rows = []
    for name, what, limit in RATIO_LIMITS:
        ratio = result.get(name, {}).get("ratios", {}).get(what)
        if ratio is not None:
            rows.append((f"{name}: {WORDS[what]} / that of {result[name]['peer']}", ratio, limit, "x"))
    rows += share_limits(result)
    started = result.get(START, {}).get("tools", {}).get("memtui", {}).get("helper_cpu")
    recorded = {name: row["tools"]["memtui"] for name, row in result.items() if "memtui" in row["tools"]}
    rows += series_limits(series, PAIRS)
    for name, mine in recorded.items():
        if name.startswith("hot") and name not in THREADED.values() and "recorder_ns_per_event" in mine:
            rows.append((f"{name}: recorder's CPU an event", mine["recorder_ns_per_event"], RECORDER_NS, "ns"))
            if started is not None:
                value = (mine["helper_cpu"] - started) / result[name]["events"] * 1e9
                rows.append((f"{name}: the same without start, end and symbols", value, RECORDER_NS, "ns"))
    for name, mine in recorded.items():
        if mine.get("extra_idle_rss_mb") is not None:
            rows.append((f"{name}: target RSS grows by, after a second of idleness", mine["extra_idle_rss_mb"],
                         RSS_MB, "MB"))
        elif mine["extra_rss_mb"] is not None:
            limit = RSS_MB + RSS_MB_A_THREAD * result[name]["threads"] + RSS_BYTES_A_NODE * result[name]["nodes"] / MB
            rows.append((f"{name}: target RSS grows by", mine["extra_rss_mb"], limit, "MB"))
    return [verdict(*row) for row in rows]


def changes(samples):
    """What this version takes beyond another one (BEFORE), in percent of it: each the median over the rounds, in which the
    two ran one after another, with its interval."""
    rows = []
    for name, tools in samples.items():
        pairs = [(mine, other) for mine, other in zip(tools.get("memtui", []), tools.get(BEFORE, [])) if mine and other]
        for what, text in CHANGES.items():
            values = [(mine[what] / other[what] - 1) * 100 for mine, other in pairs if other[what]]
            if values:
                low, high = interval(values)
                rows.append({"workload": name, "what": text, "percent": statistics.median(values), "low": low, "high": high,
                             "rounds": len(values)})
    return rows


def verdict(what, value, limit, unit, low=None, high=None):
    row = {"limit": what, "value": value, "at_most": limit, "unit": unit, "holds": value <= limit}
    if low is not None:
        row |= {"low": low, "high": high, "told_apart": not low <= limit <= high}
    return row
