"""bench.py BUILD: what recording costs the program, beside heaptrack and massif, in one interleaved run.

Prints one table of medians and which limits hold, and writes BUILD/bench.json and BUILD/bench.svg. It never fails
because of a figure: machines differ, and a run beside other work says little.
"""
import argparse
import json
import os
import sys

import figures
import measure
import plot
import table
import workloads

QUICK = "hot 16,hot 16, 2 threads,tree,perl"
SERIES_ROUNDS = 21  # of workloads that are compared with each other: they differ by less than rounds do


def choose(every, wanted, what):
    """Those named in a list; a name may hold a comma itself."""
    if not wanted:
        return every
    known = sorted((e.name for e in every), key=len, reverse=True)
    names, rest = [], wanted + ","
    while rest:
        name = next((n for n in known if rest.startswith(n + ",")), None)
        if not name:
            sys.exit(f"bench: {rest.rstrip(',')}: no such {what}; there are: {'; '.join(e.name for e in every)}")
        names.append(name)
        rest = rest[len(name) + 1:].lstrip()
    return [e for e in every if e.name in names]


def arguments():
    environment = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", metavar="BUILD")
    parser.add_argument("--quick", action="store_true", default=environment("QUICK", "") not in ("", "0"),
                        help="few workloads, 3 rounds, neither massif nor uprobes (QUICK=1)")
    parser.add_argument("--rounds", type=int, default=int(environment("ROUNDS") or 0), help="ROUNDS=")
    parser.add_argument("--on", default=environment("ON"), help="workloads, separated by commas (ON=)")
    parser.add_argument("--tools", default=environment("TOOLS"), help="beside untraced, separated by commas (TOOLS=)")
    parser.add_argument("--before", default=environment("BEFORE"), metavar="BUILD",
                        help="the build directory of another version, which runs beside this one (BEFORE=)")
    return parser.parse_args()


def usable(items, missing):
    """Splits into what can run and why the rest cannot."""
    reasons = {item.name: why for item in items if (why := missing(item))}
    return [item for item in items if item.name not in reasons], reasons


def main():
    given = arguments()
    rounds = given.rounds or (3 if given.quick else 5)
    chosen = choose(workloads.all_workloads(given.build), given.on or (QUICK if given.quick else None), "workload")
    chosen, skipped = usable(chosen, lambda w: w.missing() and f"{w.missing()} is missing")
    known = workloads.all_tools(given.build, given.before)
    wanted = given.tools and "untraced," + given.tools + (f",{workloads.BEFORE}" if given.before else "")
    tools = choose(known, wanted, "tool")
    if given.quick and not given.tools:
        tools = [t for t in tools if not t.once]
    tools, no_tools = usable(tools, lambda t: t.name not in ("untraced",) and not t.needs and t.missing)

    def say(text):
        print(text, file=sys.stderr, flush=True)

    runner = measure.Runner(given.build, say)
    samples, failures = runner.rounds(chosen, tools, rounds)
    series = runner.series(chosen, tools, figures.SERIES, max(rounds, SERIES_ROUNDS if not given.quick else 0))
    result = {w.name: figures.workload_figures(w, samples[w.name], failures[w.name]) for w in chosen}
    limits, share = figures.limits(result, series), figures.processor_share(result)
    skipped |= no_tools
    print(table.table(result, skipped, rounds))
    print("The recorder's cache of names is empty at the start and warm from the second round on: "
          + (f"with {rounds} rounds the medians are with a warm one." if rounds > 2
             else "the medians are with a cold one, too."))
    print(table.quiet(share))
    print(table.limit_table(limits))
    changes = figures.changes(samples)
    print(table.change_table(changes))
    everything = {"rounds": rounds, "processor_share": share, "workloads": result, "limits": limits, "changes": changes,
                  "skipped": skipped, "samples": samples,
                  "series": series}
    write(given.build, "bench.json", json.dumps(everything, indent=1))
    write(given.build, "bench.svg", plot.draw(result, rounds, share))


def write(build, name, text):
    path = os.path.join(build, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
