"""The table that a person reads."""
import math

from figures import QUIET_SHARE

COLUMNS = (  # heading, width, key, factor, format
    ("ns/alloc", 9, "extra_ns", 1, "+.1f"), ("CPU ns", 8, "extra_cpu_ns", 1, "+.1f"),
    ("wall s", 8, "wall", 1, ".3f"), ("CPU s", 8, "cpu", 1, ".3f"), ("all CPU s", 10, "total_cpu", 1, ".3f"),
    ("RSS MB", 8, "rss_mb", 1, ".1f"), ("B/event", 8, "bytes_per_event", 1, ".2f"),
    ("rec ns/ev", 10, "recorder_ns_per_event", 1, ".1f"))
RATIO_COLUMNS = (("wall", 7, "wall"), ("CPU", 7, "cpu"), ("all CPU", 8, "total_cpu"))
NAME_WIDTH = 19
LEGEND = """ns/alloc, CPU ns: what the tool adds to the untraced run per allocation, in wall time (hot, tree, leak: by
  the program's own clock) and in the target's CPU; wall, CPU, RSS: of the target process; all CPU: with recorder or
  interpreter; rec ns/ev: CPU outside the target per event; memtui / heaptrack: ratio of what each adds.
  Medians of {rounds} interleaved rounds."""


def cell(row, width, key, factor, form):
    value = row.get(key)
    return f"{'-' if value is None else format(value * factor, form):>{width}}"


def tool_line(name, row, ratios):
    line = f"  {name:{NAME_WIDTH - 2}}" + "".join(cell(row, *column[1:]) for column in COLUMNS)
    if ratios:
        line += "  |" + "".join(cell(ratios, width, key, 1, ".3f") for _, width, key in RATIO_COLUMNS)
    return line


def table(result, skipped, rounds):
    lines = [" " * NAME_WIDTH + " " * sum(c[1] for c in COLUMNS) + "  |  memtui / heaptrack",
             " " * NAME_WIDTH + "".join(f"{c[0]:>{c[1]}}" for c in COLUMNS)
             + "  |" + "".join(f"{c[0]:>{c[1]}}" for c in RATIO_COLUMNS)]
    for name, row in result.items():
        events = f"{row['events']:,.0f} events" if row["events"] else ""
        lost = f", {row['lost_events']:,} LOST" if row["lost_events"] else ""
        peer = f", against {row['peer']}" if row["peer"] not in (None, "heaptrack") else ""
        lines.append(f"{name:{NAME_WIDTH}} {events}{lost}{peer}")
        lines += [tool_line(tool, figures, row["ratios"] if tool == "memtui" else None)
                  for tool, figures in row["tools"].items()]
        lines += [f"  {tool:{NAME_WIDTH - 2}}{'-':>9}  {why}" for tool, why in row["failures"].items()]
    lines += [f"{name:{NAME_WIDTH}} skipped: {why}" for name, why in skipped.items()]
    return "\n".join([*lines, "", LEGEND.format(rounds=rounds)])


def quiet(share):
    """A word on the machine, without which the figures cannot be judged."""
    if share is None:
        return ""
    verdict = "quiet" if share > QUIET_SHARE else "BUSY: the wall times of this run say little, CPU times more"
    return f"The untraced programs got {share:.0%} of a processor; the machine was {verdict}.\n"


def limit_table(limits):
    def line(row):
        form = ".3f" if row["unit"] == "x" else ".1f"
        value, limit = (f"{row[key]:{form}}" for key in ("value", "at_most"))
        verdict = "holds" if row["holds"] else "DOES NOT HOLD"
        if "low" in row:
            verdict = verdict if row["told_apart"] else "not told apart"
            verdict += f" ({row['low']:+.1f} to {row['high']:+.1f} with 95%)"
        return f"  {row['limit']:68}{value:>9} {row['unit']:3}{limit:>9}   {verdict}"

    held = sum(row["holds"] for row in limits)
    near = sum(not row["holds"] and not row.get("told_apart", True) for row in limits)
    text = f"  limits: {held} of {len(limits)} hold in this run" + (f", {near} may" if near else "")
    heading = f"{text:70}{'value':>9}    {'at most':>9}"
    return "\n".join([heading, *map(line, sorted(limits, key=lambda row: row["holds"]))])


def change_table(rows):
    """This version beside another one, or nothing where none ran."""
    if not rows:
        return ""
    def line(row):
        text = f"  {row['workload']:{NAME_WIDTH + 1}}{row['what']:12}{row['percent']:+9.1f} %"
        if not math.isfinite(row["low"]):
            return text + "   too few rounds for an interval"
        return text + f"   {row['low']:+9.1f} to {row['high']:+.1f} with 95%"

    heading = f"  this version beside the one before, medians of {rows[0]['rounds']} rounds"
    return "\n".join(["", heading, *map(line, rows)])
