"""sections_rest.py - columns at rest: cold and warm files beside zstd, Parquet and nvCOMP. In: result
lines. Out: a section of the report, and its table for documents that quote it.
"""

from . import choose
from .document import Section, Table
from .names import peer_name, rate

OTHERS = ["zstd -3", "zstd -9", "zstd -19", "Parquet + zstd"]


def line_of(lines, column, how):
    return choose.best(choose.good(lines, "rest", column=column, how=how))


def from_host(lines, column, codec):
    return choose.best(
        choose.good(
            lines, "host", memory="pinned", how="fastpair", column=column, fastpair_codec=codec
        )
    )


def cells(line):
    return [f"{line['ratio']:.2f}", rate(line["gb_s"])] if line else ["–", "–"]


def rest_table(lines, columns):
    headers = ["column", "cold: ratio", "GB/s", "to the GPU", "warm: ratio", "GB/s", "to the GPU"]
    for how in OTHERS:
        headers += [f"{how}: ratio", "GB/s"]
    headers += ["nvCOMP's fastest to the GPU", "ratio", "GB/s"]
    rows = []
    for column in columns:
        row = [column]
        for how, codec in (("cold", "cold"), ("warm", "auto")):
            host = from_host(lines, column, codec)
            row += [*cells(line_of(lines, column, how)), rate(host["gb_s"] if host else None)]
        for how in OTHERS:
            row += cells(line_of(lines, column, how))
        peer = choose.best(choose.good(lines, "host_peer", memory="pinned", column=column))
        row += [
            peer_name(peer).replace("nvCOMP ", "") if peer else "–",
            *cells(peer),
        ]
        rows.append(row)
    return Table(headers, rows)


def smaller(lines, columns, how, share):
    """Columns on which the cold file has at most this share of another's bytes."""
    found = [(line_of(lines, column, "cold"), line_of(lines, column, how)) for column in columns]
    found = [(cold, other) for cold, other in found if cold and other]
    return sum(cold["ratio"] * share >= other["ratio"] for cold, other in found), len(found)


def rest(lines):
    section = Section("At rest: cold files, warm files and others")
    columns = choose.columns(choose.good(lines, "rest"))
    if not columns:
        return section.say("Not measured in this run.")
    at_most, of = smaller(lines, columns, "zstd -3", 1.02)
    text = (
        "Ratio: bytes of the text, with a separator after each row, over the whole file. GB/s: from"
        " memory to memory, one thread, in one process and in turns; ours to bytes, zstd to the"
        " text, Parquet (pyarrow, default level) to an array of strings. To the GPU: from pinned"
        " host memory to decoded bytes on the device; cold files are unpacked by all threads of the"
        f" CPU on the way. Cold files are at most 2 % larger than zstd -3 on {at_most} of"
        f" {of} columns"
    )
    less, measured = smaller(lines, columns, "Parquet + zstd", 0.9)
    if measured:
        text += f", and at least 10 % smaller than Parquet on {less} of {measured}"
    section.say(text + ".")
    return section.add(rest_table(lines, columns))
