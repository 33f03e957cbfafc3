"""sections_host.py - from host memory to decoded bytes on the device, where the ratio decides; and
what auto takes beside the paper's codecs. In: result lines. Out: sections of the report, and their
tables for documents that quote them.
"""

from . import choose, svg
from .document import Plot, Section, Table
from .names import called, codecs, peer_name, rate, title_of
from .standing import ours_of

PAPER = ("onpair16", "onpair12", "fsst12")
LEAST_RATE = 0.95  # of the paper's codec, that auto should reach at a ratio no lower
EQUAL = 0.999  # ratios this close are the same


def pinned(lines, **wanted):
    """Our rates from pinned host memory."""
    return choose.good(lines, "host", memory="pinned", how="fastpair", **wanted)


def pinned_peers(lines, **wanted):
    return choose.good(lines, "host_peer", memory="pinned", **wanted)


def link_rate(lines):
    """GB/s of a plain copy from pinned memory; None if it was not measured."""
    sent = [line["pinned_to_device_gb_s"] for line in choose.good(lines, "device")]
    sent += [line["gb_s"] for line in choose.good(lines, "host", memory="pinned", how="raw")]
    return max(sent, default=None)


class EndToEnd:
    """A column from pinned host memory: our line, the same codec's from device memory, and nvCOMP's
    fastest setting. None for what was not measured.
    """

    def __init__(self, lines, column):
        fastest = lambda name, codec: choose.best(  # noqa: E731
            pinned(lines, column=name, fastpair_codec=codec)
        )
        self.column, self.ours = column, ours_of(column, codecs(lines), fastest)
        self.peer = choose.best(pinned_peers(lines, column=column))
        self.decode = self.ours and choose.best_rate(
            lines, column=column, fastpair_codec=self.ours["fastpair_codec"]
        )
        both = self.ours and self.peer
        self.factor = self.ours["gb_s"] / self.peer["gb_s"] if both else None


def end_to_end_rows(lines, columns):
    return [one for one in (EndToEnd(lines, column) for column in columns) if one.ours]


def end_to_end_table(found):
    headers = ["column", "codec", "ratio", "decode, GB/s", "end to end, GB/s"]
    headers += ["nvCOMP's fastest end to end", "ratio", "GB/s", "×"]
    return Table(
        headers,
        [
            [
                one.column,
                called(one.ours),
                f"{one.ours['ratio']:.2f}",
                rate(one.decode["gb_s"] if one.decode else None),
                rate(one.ours["gb_s"]),
                peer_name(one.peer).replace("nvCOMP ", "") if one.peer else "–",
                f"{one.peer['ratio']:.2f}" if one.peer else "–",
                rate(one.peer["gb_s"] if one.peer else None),
                f"{one.factor:.2f}" if one.factor else "–",
            ]
            for one in found
        ],
    )


def end_to_end_plot(lines):
    """A mark per column and codec, theirs and ours, and what the link allows at a ratio."""
    named = [
        (f"fastpair {title_of(codec)}", True, pinned(lines, fastpair_codec=codec))
        for codec in codecs(lines)
    ]
    others = pinned_peers(lines)
    for codec in choose.in_order(line["codec"] for line in others):
        # Of several settings the one that arrives first.
        mine = [line for line in others if line["codec"] == codec]
        best = [
            choose.best([line for line in mine if line["column"] == column])
            for column in choose.columns(mine)
        ]
        named.append((f"nvCOMP {codec}", False, best))
    series = [
        {
            "name": name,
            "ours": ours,
            "points": [
                (
                    line["ratio"],
                    line["gb_s"],
                    f"{line['column']}, {called(line) if ours else peer_name(line)}:"
                    f" {line['gb_s']:.0f} GB/s at {line['ratio']:.2f}",
                )
                for line in found
            ],
        }
        for name, ours, found in named
    ]
    link, ratios = link_rate(lines), [point[0] for s in series for point in s["points"]]
    if link:
        series.append(
            {
                "name": f"ratio × {link:.1f} GB/s",
                "points": [(ratio, ratio * link) for ratio in (min(ratios), max(ratios))],
                "line": True,
                "markers": False,
                "index": 6,
            }
        )
    return Plot(
        "end-to-end",
        svg.xy_plot(
            "From pinned host memory to decoded bytes on the GPU",
            "compression ratio (logarithmic)",
            "end to end, GB/s (logarithmic)",
            series,
            x_log=True,
            y_log=True,
        ),
        "Each mark is a column; the line is what the link allows at a ratio.",
    )


def end_to_end(lines):
    section = Section("End to end: from pinned host memory")
    found = end_to_end_rows(lines, choose.columns(lines))
    if not found:
        return section.say("Not measured in this run: no GPU.")
    section.say(
        "GB/s of decoded output by the host's clock, until the last byte is decoded in device"
        " memory; how each is sent is said below, under pageable and pinned memory. fastpair: the"
        " codec that auto takes, or where that was not measured the fastest. nvCOMP: of all"
        " settings measured from host memory on that column the fastest, whatever its ratio."
    )
    compared = [one for one in found if one.factor]
    if compared:
        ahead = [one for one in compared if one.factor > 1]
        settings = {
            (line["codec"], line["level"], line["chunk_bytes"]) for line in pinned_peers(lines)
        }
        least = min(compared, key=lambda one: one.factor)
        section.say(
            f"fastpair is ahead of every nvCOMP codec on {len(ahead)} of {len(compared)} columns"
            f" measured with both ({len(settings)} settings of"
            f" {len({codec for codec, _, _ in settings})} codecs); the least factor is"
            f" {least.factor:.2f}, on {least.column}."
        )
    return section.add(end_to_end_plot(lines)).add(end_to_end_table(found))


class AgainstPaper:
    """auto on a column, beside the paper's codec of the best ratio and the fastest of them; each
    codec with its fastest kernel.
    """

    def __init__(self, lines, column):
        of = lambda codec: choose.best_rate(  # noqa: E731
            lines, column=column, fastpair_codec=codec
        )
        theirs = [line for line in (of(codec) for codec in PAPER) if line]
        self.column, self.ours, self.fastest = column, of("auto"), choose.best(theirs)
        self.densest = max(theirs, key=lambda line: line["ratio"], default=None)

    def quotients(self, other):
        """Of ratios, and of rates."""
        return self.ours["ratio"] / other["ratio"], self.ours["gb_s"] / other["gb_s"]

    def reaches(self, other):
        ratio, speed = self.quotients(other)
        return ratio >= EQUAL and speed >= LEAST_RATE

    def verdict(self):
        missed = [
            name
            for name, other in (("the densest", self.densest), ("the fastest", self.fastest))
            if not self.reaches(other)
        ]
        return f"not {' nor '.join(missed)}" if missed else "yes"


def against_paper_rows(lines, columns):
    found = [AgainstPaper(lines, column) for column in columns]
    return [one for one in found if one.ours and one.densest]


def against_paper_table(found):
    rows = []
    for one in found:
        dense, fast = one.quotients(one.densest), one.quotients(one.fastest)
        rows.append(
            [
                one.column,
                called(one.ours),
                f"{one.ours['ratio']:.2f}",
                rate(one.ours["gb_s"]),
                title_of(one.densest["fastpair_codec"]),
                f"{one.densest['ratio']:.2f}",
                rate(one.densest["gb_s"]),
                f"{dense[0]:.2f}",
                f"{dense[1]:.2f}",
                title_of(one.fastest["fastpair_codec"]),
                f"{one.fastest['ratio']:.2f}",
                rate(one.fastest["gb_s"]),
                f"{fast[0]:.2f}",
                f"{fast[1]:.2f}",
                one.verdict(),
            ]
        )
    headers = ["column", "auto takes", "ratio", "GB/s"]
    for which in ("densest of the paper's", "fastest of the paper's"):
        headers += [which, "ratio", "GB/s", "ratio, ×", "rate, ×"]
    return Table([*headers, "reached"], rows)


def against_paper(lines):
    section = Section("What auto takes, against the paper's codecs")
    found = against_paper_rows(lines, choose.columns(lines))
    if not found:
        return section.say("Not measured in this run: no GPU, or auto was not among the codecs.")
    dense = sum(one.reaches(one.densest) for one in found)
    both = sum(one.verdict() == "yes" for one in found)
    section.say(
        "Decode rates from device memory, each codec with its fastest kernel. The paper's codecs:"
        f" {', '.join(title_of(codec) for codec in PAPER)}. Reached is a ratio no lower (within"
        f" {1 - EQUAL:.1%}) and at least {LEAST_RATE:.2f} of the rate: against the densest of the"
        f" paper's codecs on {dense} of {len(found)} columns, against the densest and the fastest"
        f" on {both}."
    )
    return section.add(against_paper_table(found))


def from_host(lines):
    section = Section("From pageable and pinned host memory to decoded bytes on the device")
    ours = choose.good(lines, "host")
    if not ours:
        return section.say("Not measured in this run: no GPU.")
    others = choose.good(lines, "host_peer")
    larger = ", or in parts four times as large where that is faster"
    section.say(
        "GB/s of decoded output by the host's clock. fastpair: lays out the job, sends tables,"
        " codes and sidecar in parts on two streams, decodes each part after its upload. nvCOMP:"
        " the same parts and streams"
        + (larger if any("part_bytes" in line for line in others) else "")
        + ", pointers already on the device. Raw: the decoded bytes sent by one copy. Not timed:"
        " allocating memory, opening files. Measured on"
        f" {len(choose.columns(ours))} of {len(choose.columns(lines))} columns."
    )
    rows = []
    for column in choose.columns(ours):
        entries = [
            (
                (
                    f"fastpair {called(line)}"
                    if line["how"] == "fastpair"
                    else "raw"
                ),
                line,
            )
            for line in ours
            if line["column"] == column
        ]
        entries += [
            (peer_name(line), line)
            for line in others
            if line["column"] == column
        ]
        for name in choose.in_order(name for name, _ in entries):
            cells = [
                choose.best([line for n, line in entries if n == name and line["memory"] == memory])
                for memory in ("pageable", "pinned")
            ]
            ratio = next((line["ratio"] for line in cells if line), None)
            rows.append(
                [
                    column,
                    name,
                    "1.00" if name == "raw" else f"{ratio:.2f}",
                    *[rate(line["gb_s"]) if line else "–" for line in cells],
                ]
            )
    section.add(Table(["column", "how", "ratio", "pageable, GB/s", "pinned, GB/s"], rows))
    return section
