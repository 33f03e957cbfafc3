"""compare(): ratio and speed of every codec on a column, as a table and a plot."""
import builtins
import html
import random
import time

from . import _show
from ._column import Column, open
from ._write import compress

CODECS = ("auto", "onpair12", "onpair:14", "onpair16", "onpair:16:32", "fsst12", "stored", "cold")
_COLUMNS = (("codec", "{}"), ("ratio", "{:.2f}"), ("write MB/s", "{:.0f}"), ("decode GB/s", "{:.2f}"),
            ("take µs/row", "{:.2f}"), ("chosen", "{}"))


class Picture:
    """An SVG picture. Notebooks show it; save() writes it to a file."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def save(self, path):
        with builtins.open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


class Comparison:
    """What compare() found: a list of dicts in `results`, best looked at as a table or with plot()."""

    def __init__(self, results, rows, nbytes):
        self.results, self.rows, self.nbytes = results, rows, nbytes

    def __iter__(self):
        return iter(self.results)

    def __len__(self):
        return len(self.results)

    def __getitem__(self, codec):
        """The result of a codec."""
        return next(result for result in self.results if result["codec"] == codec)

    def _cells(self):
        return [[form.format(result[key]) for key, form in _COLUMNS] for result in self.results]

    def __repr__(self):
        table = [[key for key, _ in _COLUMNS]] + self._cells()
        widths = [max(len(row[i]) for row in table) for i in range(len(_COLUMNS))]
        lines = ["  ".join(cell.ljust(width) if i in (0, 5) else cell.rjust(width)
                           for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in table]
        return "\n".join([f"{_show.number(self.rows)} rows, {_show.size(self.nbytes)}, one thread", *lines])

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(key)}</th>" for key, _ in _COLUMNS)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                       for row in self._cells())
        return (f"<div>{_show.number(self.rows)} rows, {_show.size(self.nbytes)}, one thread"
                f"<table><tr>{head}</tr>{body}</table></div>")

    def plot(self):
        """Ratio across, decode rate upwards: a Picture. Right and up is better."""
        return Picture(_plot(self.results))


def _scale(values, length):
    """A number of units of a round size that hold all values, and the size."""
    step = 10.0
    for candidate in (0.1, 0.2, 0.5, 1, 2, 5):
        if max(values) / candidate <= 8:
            step = candidate
            break
    count = int(max(values) / step) + 1
    return count, step, length / (count * step)


def _plot(results):
    left, top, width, height = 60, 20, 480, 300
    columns, x_step, x_scale = _scale([r["ratio"] for r in results], width)
    lines, y_step, y_scale = _scale([r["decode GB/s"] for r in results], height)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 60} {top + height + 50}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="#fafafa" stroke="#999"/>']
    for i in range(columns + 1):
        x = left + i * x_step * x_scale
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + height}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{top + height + 16}" text-anchor="middle">{i * x_step:g}</text>')
    for i in range(lines + 1):
        y = top + height - i * y_step * y_scale
        out.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{i * y_step:g}</text>')
    for result in results:
        x = left + result["ratio"] * x_scale
        y = top + height - result["decode GB/s"] * y_scale
        name = html.escape(result["codec"])
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1f6feb"/>')
        out.append(f'<text x="{x + 7:.1f}" y="{y + 4:.1f}">{name}</text>')
    middle = top + height / 2
    out.append(f'<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle">ratio</text>')
    out.append(f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">decode GB/s</text>')
    return "\n".join(out + ["</svg>"])


def _least(times, call):
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def _measure(rows, codec, nbytes):
    cold = codec == "cold"
    begin = time.perf_counter()
    image = compress(rows, codec="auto" if cold else codec, cold=cold, threads=1)
    written = time.perf_counter() - begin
    column = open(image, threads=1)
    some = sorted(random.Random(1).randrange(len(column)) for _ in range(min(1000, len(column))))
    column.take(some)
    decode = _least(3, lambda: column._decode(0))
    take = _least(3, lambda: column.take(some))
    return {"codec": codec, "ratio": nbytes / len(image), "write MB/s": nbytes / written / 1e6,
            "decode GB/s": nbytes / decode / 1e9, "take µs/row": take / len(some) * 1e6,
            "compressed_bytes": len(image), "chosen": _show.codec(column.info)}


def compare(column, *, codecs=CODECS, max_bytes=32_000_000):
    """Compresses a column with every codec and measures each: a Comparison.

    `column` is a Column or whatever write() takes. Of a long one the first rows are looked at, some
    `max_bytes` of them. One thread works, so that figures can be compared. 'cold' is auto with cold=True.
    """
    if not isinstance(column, Column):
        column = open(compress(column, codec="stored"))
    if not len(column):
        raise ValueError("a column without rows cannot be compared")
    if column.nbytes > max_bytes:
        column = column[:max(1, len(column) * max_bytes // column.nbytes)]
    # Decoded once, so that every codec starts from the same rows in memory.
    rows, nbytes = column._decode(0), column.nbytes
    return Comparison([_measure(rows, codec, nbytes) for codec in codecs], len(column), nbytes)
