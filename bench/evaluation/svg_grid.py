"""svg_grid.py - small multiples: one small plot per part, in rows, with one scale and one legend. In:
parts of series of points, as svg.py's other plots have them. Out: one <svg> element.
"""

from .svg import COLOURS, Axis, axes, frame, marker, text

ACROSS = 4
WIDE, HIGH, LEFT, TOP, GAP_X, GAP_Y, LEGEND = 210, 170, 70, 62, 26, 52, 26


def mark(series, x, y, hint=""):
    """Ours have one colour, so that it stands for us, and differ in shape; others have the rest."""
    fill = COLOURS[0] if series["ours"] else COLOURS[1 + series["index"] % (len(COLOURS) - 1)]
    return marker(series["index"], x, y, fill, hint, series["ours"])


def grid(title, x_name, y_name, parts):
    """parts: (name, series); both axes are logarithmic. A series: name, points (x, y, title), ours,
    index, which counts ours and others apart.
    """
    points = [p for _, series in parts for s in series for p in s["points"]]
    if not points:
        return frame(100, 40, [text(10, 24, title)], title)
    across = min(ACROSS, max(2, len(parts)))
    down = -(-len(parts) // across)
    body = [text(LEFT, 18, title, size=13, extra='font-weight="bold"')]
    for number, (name, series) in enumerate(parts):
        left = LEFT + number % across * (WIDE + GAP_X)
        top = TOP + number // across * (HIGH + GAP_Y)
        first, last = number % across == 0, number + across >= len(parts)
        x = Axis(
            x_name if last else "", [p[0] for p in points], left, left + WIDE, True, from_zero=False
        )
        y = Axis(y_name if first else "", [p[1] for p in points], top + HIGH, top, True)
        axes(body, x, y, first)
        body.append(text(left + WIDE / 2, top - 8, name, "middle", 12, 'font-weight="bold"'))
        for s in sorted(series, key=lambda s: s["ours"]):
            for p in s["points"]:
                body.append(mark(s, x.at(p[0]), y.at(p[1]), p[2]))
    entries = list({s["name"]: s for _, series in parts for s in series}.values())
    bottom = TOP + down * (HIGH + GAP_Y) + 14
    for number, s in enumerate(entries):
        at = LEFT + number % across * (WIDE + GAP_X)
        height = bottom + 20 * (number // across)
        body += [mark(s, at + 13, height), text(at + 26, height + 4, s["name"], size=11)]
    width = LEFT + across * (WIDE + GAP_X)
    return frame(width, bottom + 20 * -(-len(entries) // across) + LEGEND, body, title)
