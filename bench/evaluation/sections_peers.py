"""sections_peers.py - the peers in detail, and the CPU. In: result lines. Out: sections of the
report.
"""

from . import choose
from .document import Section, Table
from .names import codecs, peer_name, rate, title_of
from .standing import best_peer


def settings_measured(lines, found):
    """How many settings columns have, and where some have more than others whether that matters."""
    setting = lambda line: (line["codec"], line["level"], line["chunk_bytes"])  # noqa: E731
    of = {
        column: {setting(line) for line in found if line["column"] == column}
        for column in choose.columns(found)
    }
    common = set.intersection(*of.values())
    more = [column for column in of if of[column] > common]
    if not more:
        return f"Every column has the same {len(common)} settings."
    ours = {column: choose.best_rate(lines, column=column) for column in more}
    same = [
        column
        for column in more
        if ours[column]
        and best_peer([line for line in found if line["column"] == column], ours[column]["ratio"])
        == best_peer(
            [line for line in found if line["column"] == column and setting(line) in common],
            ours[column]["ratio"],
        )
    ]
    return (
        f"Every column has {len(common)} settings; {', '.join(more)}"
        f" {'has' if len(more) == 1 else 'have'} up to {max(len(of[column]) for column in more)}."
        " With those alone that every column has, the best peer at an equal or better ratio would"
        f" be the same on {len(same)} of {len(more)} of these columns."
    )


def peers(lines):
    section = Section("nvCOMP beside fastpair")
    found = choose.good(lines, "gpu_peer")
    if not found:
        return section.say(
            "Not measured in this run: nvCOMP was not given (--nvcomp), or there is no GPU."
        )
    section.say(
        f"nvCOMP {found[0]['version']}, opened at run time. For each codec the configuration"
        " (level, chunk size) with the best rate, and the one with the best ratio. Compressed"
        " chunks and pointers lie in device memory; timed is the decompression call."
    )
    section.say(settings_measured(lines, found))
    for column in choose.columns(found):
        rows = []
        for codec in codecs(lines):
            line = choose.best_rate(lines, column=column, fastpair_codec=codec)
            if line:
                rows.append(
                    [
                        f"fastpair {title_of(codec)}",
                        line["kernel"],
                        rate(line["gb_s"]),
                        f"{line['ratio']:.2f}",
                        "",
                        "",
                        "",
                    ]
                )
        for codec in choose.in_order(line["codec"] for line in found):
            mine = [line for line in found if line["column"] == column and line["codec"] == codec]
            if mine:
                fast, dense = choose.best(mine), max(
                    mine, key=lambda line: (line["ratio"], line["gb_s"])
                )
                rows.append(
                    [
                        f"nvCOMP {codec}",
                        peer_name(fast).split(", ", 1)[1],
                        rate(fast["gb_s"]),
                        f"{fast['ratio']:.2f}",
                        peer_name(dense).split(", ", 1)[1],
                        rate(dense["gb_s"]),
                        f"{dense['ratio']:.2f}",
                    ]
                )
        section.add(
            Table(["", "fastest", "GB/s", "ratio", "densest", "GB/s", "ratio"], rows, column)
        )
    return section


def cpu(lines):
    section = Section("Decoding and encoding on the CPU")
    found = choose.good(lines, "cpu")
    if not found:
        return section.say("Not measured in this run.")
    threads = found[0]["threads"]
    section.say(
        f"Median rates in MB/s of decoded bytes, with instructions up to {found[0]['cpu']}, from"
        " packed codes in memory to bytes and row offsets, the whole column per call. Ratio:"
        " decoded bytes over codes, dictionary and sidecar; total: over the whole file. Reference:"
        " the paper's Listing 1 on codes already widened, one thread, in turns with ours. Encode:"
        f" training, parsing and writing with {threads} threads. Made by `fastpair -b --json`."
    )
    rows = [
        [
            line["column"],
            title_of(line["fastpair_codec"]),
            f"{line['ratio']:.2f}",
            f"{line['ratio_total']:.2f}",
            f"{line['mean_token']:.2f}",
            f"{line['encode_mb_s']:.0f}",
            f"{line['cpu_decode_1_mb_s']:.0f}",
            f"{line['cpu_reference_mb_s']:.0f}",
            f"{line['cpu_decode_1_mb_s'] / line['cpu_reference_mb_s']:.2f}",
            f"{line['cpu_decode_mb_s']:.0f}",
        ]
        for line in found
    ]
    section.add(
        Table(
            [
                "column",
                "codec",
                "ratio",
                "total",
                "bytes per code",
                "encode",
                "decode, 1 thread",
                "reference",
                "×",
                f"decode, {threads} threads",
            ],
            rows,
        )
    )
    peers_found = choose.good(lines, "cpu_peer")
    if peers_found:
        rows = []
        for column in choose.columns(peers_found):
            for codec in choose.in_order(line["library"] for line in peers_found):
                mine = [
                    line
                    for line in peers_found
                    if line["column"] == column and line["library"] == codec
                ]
                if mine:
                    fast, dense = choose.best(mine), max(
                        mine, key=lambda line: (line["ratio"], line["gb_s"])
                    )
                    rows.append(
                        [
                            column,
                            codec.split(".")[0],
                            peer_name(fast).split(", ", 1)[1],
                            f"{1e3 * fast['gb_s']:.0f}",
                            f"{fast['ratio']:.2f}",
                            peer_name(dense).split(", ", 1)[1],
                            f"{1e3 * dense['gb_s']:.0f}",
                            f"{dense['ratio']:.2f}",
                        ]
                    )
        section.add(
            Table(
                ["column", "library", "fastest", "MB/s", "ratio", "densest", "MB/s", "ratio"],
                rows,
                "Other libraries, one thread, bytes in chunks (level, chunk size)",
            )
        )
    return section
