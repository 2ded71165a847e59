"""The plot: what each tool adds per allocation, and memtui's share of what heaptrack adds. Plain SVG."""
import math
from xml.sax.saxutils import escape

from figures import QUIET_SHARE, RATIO_LIMITS, WORDS

COLOURS = {"forwarding": "#9aa5b1", "memtui": "#0b7a75", "heaptrack": "#d9822b", "heaptrack preload": "#eec591",
           "massif": "#8f6bb3", "uprobes": "#b0413e"}
RATIO_MARKS = {"wall": ("#0b7a75", "circle"), "cpu": ("#2f5d9b", "square"), "total_cpu": ("#b03a5b", "diamond")}
WIDTH, NAMES, GAP, VALUES, RIGHT = 1180, 150, 20, 64, 24
TOP, BAR, SPACE, BOTTOM = 92, 13, 16, 34
LEFT_END = 660  # of the left panel's scale


class Scale:
    """A logarithmic axis from x0 to x1."""
    def __init__(self, low, high, x0, x1):
        self.low, self.high, self.x0, self.x1 = low, high, x0, x1

    def at(self, value):
        value = min(max(value, self.low), self.high)
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.x0 + share * (self.x1 - self.x0)

    def ticks(self):
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0 ** power for power in range(first, last + 1)]


def text(x, y, words, size=12, anchor="start", colour="#1d2731", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def line(x0, y0, x1, y1, colour="#dfe3e8", width=1.0):
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def bar(x, y, width, height, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height}" fill="{colour}"/>'


def mark(x, y, colour, shape):
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" fill="{colour}"{turn}/>'


def axis(scale, top, bottom, form):
    out = []
    for value in scale.ticks():
        x = scale.at(value)
        out += [line(x, top, x, bottom), text(x, bottom + 16, format(value, form), 11, "middle", "#5b6770")]
    return out


def bars_of(row):
    return [(tool, row["tools"][tool]["extra_ns"]) for tool in COLOURS
            if row["tools"].get(tool, {}).get("extra_ns") is not None]


def draw_bars(name, bars, scale, y):
    out = [text(NAMES - 10, y + 11, name, 13, "end", weight="bold")]
    for tool, value in bars:
        x = scale.at(value)
        out += [bar(scale.x0, y, x - scale.x0, BAR - 2, COLOURS[tool]),
                text(x + 5, y + BAR - 3, f"{value:+,.0f}" if abs(value) >= 10 else f"{value:+.1f}", 11)]
        y += BAR
    return out


def draw_ratios(name, ratios, scale, y, height):
    step, out = height / (len(RATIO_MARKS) + 1), []
    for index, (what, (colour, shape)) in enumerate(RATIO_MARKS.items(), 1):
        at = y + index * step
        limit = next((value for workload, kind, value in RATIO_LIMITS if (workload, kind) == (name, what)), None)
        if limit:
            x = scale.at(limit)
            out.append(line(x, at - 7, x, at + 7, colour, 2))
        if what in ratios:
            x = scale.at(ratios[what])
            left = limit and x < scale.at(limit) < x + 40  # keep the words off the limit's mark
            side, anchor = (-9, "end") if left else (9, "start")
            out += [mark(x, at, colour, shape), text(x + side, at + 4, f"{ratios[what]:.2f}", 11, anchor, colour)]
    return out


def legend(left, right, shown):
    out, x = [], left.x0
    for tool, colour in ((tool, COLOURS[tool]) for tool in COLOURS if tool in shown):
        out += [bar(x, 58, 12, 12, colour), text(x + 17, 68, tool)]
        x += 36 + 6.6 * len(tool)
    x = right.x0
    for what, (colour, shape) in RATIO_MARKS.items():
        out += [mark(x + 5, 64, colour, shape), text(x + 16, 68, WORDS[what])]
        x += 36 + 6.6 * len(WORDS[what])
    return out + [line(x + 2, 57, x + 2, 71, "#1d2731", 2), text(x + 9, 68, "limit")]


def subtitle(rounds, share):
    words = f"wall time over the untraced run, logarithmic; medians of {rounds} interleaved rounds"
    return words + (f"; busy machine ({share:.0%} of a CPU)" if share and share <= QUIET_SHARE else "")


def draw(result, rounds, share):
    blocks = [(name, row, bars) for name, row in result.items() if (bars := bars_of(row))]
    heights = [max(len(bars) * BAR, 3 * BAR) + SPACE for _, _, bars in blocks]
    height = TOP + sum(heights) + BOTTOM
    most = max((value for _, _, bars in blocks for _, value in bars), default=10)
    left = Scale(1, max(most, 10) * 1.1, NAMES, LEFT_END)
    ratios = [value for _, row, _ in blocks for value in row["ratios"].values() if value > 0]
    right = Scale(min([0.05, *ratios]) / 1.3, max([1.5, *ratios]) * 1.1, LEFT_END + VALUES + GAP, WIDTH - RIGHT - 30)
    bottom = height - BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
           'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           text(left.x0, 26, "Added nanoseconds per allocation", 16, weight="bold"),
           text(left.x0, 45, subtitle(rounds, share), 12, colour="#5b6770"),
           text(right.x0, 26, "memtui / heaptrack", 16, weight="bold"),
           text(right.x0, 45, "ratio of what each adds, logarithmic; less is better", 12, colour="#5b6770"),
           *legend(left, right, {tool for _, _, bars in blocks for tool, _ in bars}),
           *axis(left, TOP - 8, bottom, ",.0f"), *axis(right, TOP - 8, bottom, "g"),
           line(right.at(1), TOP - 8, right.at(1), bottom, "#8a949e", 1.5)]
    y = TOP
    for (name, row, bars), block in zip(blocks, heights):
        out += draw_bars(name, bars, left, y) + draw_ratios(name, row["ratios"], right, y - SPACE / 2, block)
        y += block
        out.append(line(12, y - SPACE / 2, WIDTH - 12, y - SPACE / 2, "#eef1f4"))
    return "\n".join([*out, "</svg>"])
