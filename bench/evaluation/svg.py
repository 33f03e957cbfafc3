"""svg.py - plots as SVG text. In: series of points or bars, with names and units. Out: one <svg>
element that needs nothing else. Colours are those of Okabe and Ito, which people with any colour
blindness can tell apart; series differ in shape or dash, too.
"""

import math
from html import escape

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00"]
DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4", "5 5"]
WIDTH, LEGEND, PLOT_HEIGHT = 760, 190, 300
LEFT, TOP, BOTTOM = 66, 36, 50
TALL = 460


def colour(index):
    return COLOURS[index % len(COLOURS)]


def text(x, y, content, anchor="start", size=12, extra=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
        f" {extra}>{escape(str(content))}</text>"
    )


def marker(shape, x, y, fill, title="", ours=False):
    """Six shapes, so that colour is not all that tells series apart; ours are larger, with an
    outline.
    """
    r = 6.5 if ours else 4.5
    is_cross = shape % 6 == 5  # its lines are a stroke already, and have no inside
    outline = ' stroke="#000" stroke-width="1.5"' if ours and not is_cross else ""
    shapes = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"',
        f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}"',
        f'<path d="M{x:.1f} {y - r - 1:.1f}l{r + 1} {2 * r + 1}h{-2 * r - 2}z"',
        f'<path d="M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}z"',
        f'<path d="M{x:.1f} {y + r + 1:.1f}l{r + 1} {-2 * r - 1}h{-2 * r - 2}z"',
        (
            f'<path d="M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}"'
            f' stroke="{fill}" stroke-width="2.5"'
        ),
    ]
    return (
        f'{shapes[shape % len(shapes)]} fill="{fill}"{outline}><title>{escape(title)}</title>'
        + ["</circle>", "</rect>", "</path>", "</path>", "</path>", "</path>"][shape % len(shapes)]
    )


def nice_ticks(low, high, about=6):
    if high <= low:
        high = low + 1
    raw = (high - low) / about
    power = 10 ** math.floor(math.log10(raw))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= raw * 0.999)
    first = math.floor(low / step) * step
    count = math.ceil((high - first) / step - 1e-9)
    return [first + i * step for i in range(count + 1)]


def log_ticks(low, high):
    """1, 2 and 5 times powers of ten that enclose low and high."""
    ticks = [
        m * 10.0**e
        for e in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
        for m in (1, 2, 5)
    ]
    first = max(i for i, tick in enumerate(ticks) if tick <= low * 1.001)
    last = min(i for i, tick in enumerate(ticks) if tick >= high * 0.999)
    return ticks[first : max(last, first + 1) + 1]


def label(value):
    if value == 0:
        return "0"
    if abs(value) >= 1e9:
        return f"{value / 1e9:g} G"
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value:g}"


class Axis:
    def __init__(self, name, values, start, end, log=False, from_zero=True):
        self.name, self.log = name, log
        values = list(values) or [0, 1]
        low, high = min(values), max(values)
        if log:
            self.ticks = log_ticks(low, high)
        else:
            self.ticks = nice_ticks(0 if from_zero and low >= 0 else low, high)
        self.low, self.high, self.start, self.end = self.ticks[0], self.ticks[-1], start, end
        if log and len(self.ticks) > 9:  # too many to label: powers of ten alone
            self.ticks = [tick for tick in self.ticks if f"{tick:e}".startswith("1.0")]

    def at(self, value):
        if self.log:
            share = (math.log(value) - math.log(self.low)) / (
                math.log(self.high) - math.log(self.low)
            )
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def frame(width, height, body, title):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" font-family="Helvetica, Arial, sans-serif"'
        f' fill="#222"><title>{escape(title)}</title><rect width="{width}" height="{height}"'
        f' fill="#fff"/>{"".join(body)}</svg>'
    )


def axes(body, x, y, y_labels=True):
    """Grid, ticks and names."""
    for tick in y.ticks:
        body.append(
            f'<line x1="{x.start}" x2="{x.end}" y1="{y.at(tick):.1f}" y2="{y.at(tick):.1f}"'
            ' stroke="#ddd"/>'
        )
        if y_labels:
            body.append(text(x.start - 6, y.at(tick) + 4, label(tick), "end", 11))
    for tick in x.ticks:
        body.append(
            f'<line x1="{x.at(tick):.1f}" x2="{x.at(tick):.1f}" y1="{y.start}" y2="{y.start + 4}"'
            ' stroke="#222"/>'
        )
        body.append(text(x.at(tick), y.start + 17, label(tick), "middle", 11))
    body.append(f'<path d="M{x.start} {y.end}V{y.start}H{x.end}" fill="none" stroke="#222"/>')
    body.append(text((x.start + x.end) / 2, y.start + 36, x.name, "middle", 12))
    body.append(
        text(
            x.start - 50,
            (y.start + y.end) / 2,
            y.name,
            "middle",
            12,
            f'transform="rotate(-90 {x.start - 50} {(y.start + y.end) / 2:.1f})"',
        )
    )


def legend(body, entries, x, y):
    """entries: (name, index, draws a line, draws markers, is ours)"""
    for row, (name, index, has_line, has_marker, ours) in enumerate(entries):
        at = y + 20 * row
        if has_line:
            body.append(
                f'<line x1="{x}" x2="{x + 26}" y1="{at}" y2="{at}" stroke="{colour(index)}"'
                f' stroke-width="2" stroke-dasharray="{DASHES[index % len(DASHES)]}"/>'
            )
        if has_marker:
            body.append(marker(index, x + 13, at, colour(index), ours=ours))
        body.append(text(x + 32, at + 4, name, size=11))


def xy_plot(title, x_name, y_name, series, x_log=False, y_log=False, from_zero=True):
    """series: dicts with name, points (x, y[, title]), line, markers; the index of a series
    gives colour and shape.
    """
    series = [s for s in series if s["points"]]
    height = max(TOP + PLOT_HEIGHT + BOTTOM, TOP + 20 * len(series) + 20)
    xs = [p[0] for s in series for p in s["points"]]
    ys = [p[1] for s in series for p in s["points"]]
    x = Axis(x_name, xs, LEFT, WIDTH - LEGEND - 14, x_log, from_zero and not x_log)
    y = Axis(y_name, ys, TOP + PLOT_HEIGHT, TOP, y_log)
    body, entries = [], []
    axes(body, x, y)
    for number, s in enumerate(series):
        index = s.get("index", number)
        line, markers = s.get("line", False), s.get("markers", True)
        if line:
            path = " ".join(f"{x.at(p[0]):.1f},{y.at(p[1]):.1f}" for p in s["points"])
            body.append(
                f'<polyline points="{path}" fill="none" stroke="{colour(index)}" stroke-width="2" '
                f'stroke-dasharray="{DASHES[index % len(DASHES)]}"/>'
            )
        if markers:
            for p in s["points"]:
                hint = p[2] if len(p) > 2 else f"{s['name']}: {label(p[0])}, {p[1]:.4g}"
                body.append(
                    marker(index, x.at(p[0]), y.at(p[1]), colour(index), hint, s.get("ours", False))
                )
        entries.append((s["name"], index, line, markers, s.get("ours", False)))
    legend(body, entries, WIDTH - LEGEND, TOP + 8)
    body.append(text(LEFT, 18, title, size=13, extra='font-weight="bold"'))
    return frame(WIDTH, height, body, title)


def panels(title, x_name, y_name, parts, x_ticks=None):
    """Small multiples side by side with one scale. parts: (name, series)."""
    parts = [(name, [s for s in series if s["points"]]) for name, series in parts]
    parts = [part for part in parts if part[1]]
    ys = [p[1] for _, series in parts for s in series for p in s["points"]]
    xs = [p[0] for _, series in parts for s in series for p in s["points"]]
    names = list(dict.fromkeys(s["name"] for _, series in parts for s in series))
    room = (WIDTH + 120 - LEGEND - LEFT) / max(1, len(parts))
    body = []
    for number, (name, series) in enumerate(parts):
        start = LEFT + number * room
        x = Axis(x_name, xs, start, start + room - 26, from_zero=False)
        if x_ticks:
            x.ticks, x.low, x.high = x_ticks, x_ticks[0], x_ticks[-1]
        y = Axis(y_name if number == 0 else "", ys, TOP + 18 + 230, TOP + 18)
        axes(body, x, y, number == 0)
        body.append(text((x.start + x.end) / 2, TOP + 10, name, "middle", 12))
        for s in series:
            index = names.index(s["name"])
            path = " ".join(f"{x.at(p[0]):.1f},{y.at(p[1]):.1f}" for p in s["points"])
            body.append(
                f'<polyline points="{path}" fill="none" stroke="{colour(index)}" stroke-width="2" '
                f'stroke-dasharray="{DASHES[index % len(DASHES)]}"/>'
            )
            for p in s["points"]:
                body.append(
                    marker(
                        index,
                        x.at(p[0]),
                        y.at(p[1]),
                        colour(index),
                        f"{s['name']}, {p[0]}: {p[1]:.4g}",
                    )
                )
    legend(
        body,
        [(name, i, True, True, False) for i, name in enumerate(names)],
        WIDTH + 120 - LEGEND + 10,
        TOP + 20,
    )
    body.append(text(LEFT, 16, title, size=13, extra='font-weight="bold"'))
    return frame(WIDTH + 120, TOP + 18 + 230 + BOTTOM, body, title)


def bars(title, y_name, groups, names, stacked=False, reference=None, values_shown=False):
    """Horizontal bars. groups: (name, values), a value for each of `names`, None where there is
    none.
    """
    depth = 1 if stacked else len(names)
    # Many bars are thinner, so that more of them are seen together.
    each = 15 if depth * len(groups) <= 48 else 9
    step = each * depth + 9
    widest = max([len(name) for name, _ in groups] + [4])
    left = min(330, 24 + 6.6 * widest)
    height = TOP + step * len(groups) + BOTTOM + 4
    totals = [
        sum(v or 0 for v in values) if stacked else max([v or 0 for v in values] or [0])
        for _, values in groups
    ]
    x = Axis(y_name, totals + ([reference] if reference else []), left, WIDTH - LEGEND - 14)
    body, bottom = [], TOP + step * len(groups)
    for tick in x.ticks:
        body.append(
            f'<line x1="{x.at(tick):.1f}" x2="{x.at(tick):.1f}" y1="{TOP}" y2="{bottom}"'
            ' stroke="#ddd"/>'
        )
        body.append(text(x.at(tick), bottom + 16, label(tick), "middle", 11))
        if bottom > TALL:  # the axis below is out of sight
            body.append(text(x.at(tick), TOP - 4, label(tick), "middle", 11))
    body.append(text((x.start + x.end) / 2, bottom + 36, y_name, "middle", 12))
    for row, (name, values) in enumerate(groups):
        top = TOP + row * step + 4
        body.append(text(left - 6, top + each * depth / 2 + 4, name, "end", 11))
        at = x.low
        for index, value in enumerate(values):
            if value is None:
                continue
            y = top if stacked else top + each * index
            begin = at if stacked else x.low
            body.append(
                f'<rect x="{x.at(begin):.1f}" y="{y}"'
                f' width="{max(0.5, x.at(begin + value) - x.at(begin)):.1f}" '
                f'height="{each - (2 if each > 10 else 1)}" fill="{colour(index)}" stroke="#fff"'
                ' stroke-width="0.5">'
                f'<title>{escape(f"{name}, {names[index]}: {value:.4g}")}</title></rect>'
            )
            at += value
            if values_shown:
                body.append(text(x.at(begin + value) + 4, y + each - 4, f"{value:.0f}", size=10))
    if reference is not None:
        body.append(
            f'<line x1="{x.at(reference):.1f}" x2="{x.at(reference):.1f}" y1="{TOP}" y2="{bottom}"'
            ' stroke="#222" stroke-dasharray="4 3"/>'
        )
    body.append(f'<line x1="{left}" x2="{left}" y1="{TOP}" y2="{bottom}" stroke="#222"/>')
    for index, name in enumerate(names):
        y = TOP + 8 + 20 * index
        body.append(
            f'<rect x="{WIDTH - LEGEND}" y="{y - 6}" width="14" height="12"'
            f' fill="{colour(index)}"/>'
        )
        body.append(text(WIDTH - LEGEND + 20, y + 4, name, size=11))
    body.append(text(14, 16, title, size=13, extra='font-weight="bold"'))
    return frame(WIDTH, max(height, TOP + 20 * len(names) + 20), body, title)
