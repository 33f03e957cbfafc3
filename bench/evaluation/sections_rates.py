"""sections_rates.py - what a reader looks for first: rates and ratios of columns, beside the
peers'. In: result lines. Out: sections of the report.
"""

from . import choose, paper, svg
from .document import Plot, Section, Table
from .names import FAMILIES, called, codecs, peer_name, rate, title_of
from .standing import against, best_peer, cpu_fastest, standing


def overview(lines):
    """Every codec of fastpair, nvCOMP's Zstd, and the fastest peer that halves the column at
    least.
    """
    present, peers_found = codecs(lines), choose.good(lines, "gpu_peer")
    names = [f"fastpair {title_of(codec)}" for codec in present] + (
        ["nvCOMP zstd", "fastest peer, ratio ≥ 2"] if peers_found else []
    )
    groups = []
    for column in choose.columns(choose.full_rates(lines)):
        mine = [line for line in peers_found if line["column"] == column]
        found = [choose.best_rate(lines, column=column, fastpair_codec=codec) for codec in present]
        if peers_found:
            found += [
                choose.best([line for line in mine if line["codec"] == "zstd"]),
                best_peer(mine, 2),
            ]
        groups.append((column, [line["gb_s"] if line else None for line in found]))
    return Plot(
        "overview",
        svg.bars("Decode rate on the GPU", "GB/s", groups, names),
        "The paper has its GPU's decompression engine here, which only later GPUs have; nvCOMP uses"
        " it where there is one.",
    )


def fastest_on_gpu(lines):
    return lambda column, codec: choose.best_rate(lines, column=column, fastpair_codec=codec)


def beside_peers(lines):
    """Two bars per column: the picture in README.md."""
    groups = [
        (one.column, [one.ours["gb_s"], one.peer["gb_s"] if one.peer else None])
        for one in standing(lines, fastest_on_gpu(lines), "gpu_peer")
    ]
    title = "Decode rate on the GPU, beside nvCOMP at an equal or better compression ratio"
    names = ["fastpair", "nvCOMP's fastest"]
    return Plot("standing", svg.bars(title, "GB/s", groups, names, values_shown=True))


def summary(lines):
    section = Section("Where fastpair stands", "with the paper's Figure 1")
    has_gpu, has_cpu = choose.good(lines, "rate"), choose.good(lines, "cpu")
    if has_gpu:
        section.say(
            "On the GPU, from device memory to device memory. fastpair: the codec that auto takes,"
            " or where that was not measured the fastest for the column; best kernel, codes packed"
            " and sidecar as in the file."
        )
        section.add(against(lines, fastest_on_gpu(lines), "gpu_peer", "GB/s"))
        if choose.good(lines, "gpu_peer"):
            section.add(beside_peers(lines))
        section.add(overview(lines))
    if has_cpu:
        section.say("On the CPU, one thread.")
        section.add(against(lines, cpu_fastest(lines), "cpu_peer", "GB/s"))
    if not has_gpu and not has_cpu:
        section.say("Nothing was measured.")
    return section


def table_2(lines):
    section = Section("Columns and compression ratios", "the paper's Table 2")
    section.say(
        "Codes: distinct ones that occur. Length: mean decoded bytes per code. ≤ 8 B: share of the"
        " codes whose token has at most 8 bytes. Ratio: decoded bytes over codes, dictionary and"
        " sidecar, as the paper counts; total: over the whole file, row lengths included. In"
        " brackets the paper's figures, for columns of that name."
    )
    stated = choose.good(lines, "column")
    for codec in codecs(stated):
        rows = []
        for line in [line for line in stated if line["fastpair_codec"] == codec]:
            theirs = paper.TABLE_2.get(paper.same_column(line["column"]), {}).get(codec)
            share = "–" if line["share_le8"] is None else f"{100 * line['share_le8']:.0f} %"
            cells = [
                str(line["tokens_in_use"]),
                f"{line['mean_token']:.1f}",
                share,
                f"{line['ratio']:.2f}",
            ]
            if theirs:
                told = [
                    str(theirs[0]),
                    f"{theirs[1]}",
                    f"{theirs[2]} %" if theirs[2] is not None else "",
                    f"{theirs[3]}",
                ]
                cells = [f"{cell} ({other})" if other else cell for cell, other in zip(cells, told)]
            rows.append(
                [line["column"], f"{line['bytes'] / 1e6:.1f}", *cells, f"{line['ratio_total']:.2f}"]
            )
        section.add(
            Table(
                ["column", "MB", "codes", "length", "≤ 8 B", "ratio", "total"],
                rows,
                title_of(codec),
            )
        )
    peers = choose.good(lines, "gpu_peer") + choose.good(lines, "cpu_peer")
    if peers:
        kinds = choose.in_order((line["library"], line["codec"]) for line in peers)
        rows = []
        for column in choose.columns(peers):
            cells = []
            for library, codec in kinds:
                mine = [
                    line
                    for line in peers
                    if (line["column"], line["library"], line["codec"]) == (column, library, codec)
                ]
                fast, dense = choose.best(mine), max((line["ratio"] for line in mine), default=None)
                cells.append(f"{fast['ratio']:.2f} / {dense:.2f}" if mine else "–")
            rows.append([column, *cells])
        names = [
            f"{library.split('.')[0]} {codec}" if library == "nvCOMP" else library.split(".")[0]
            for library, codec in kinds
        ]
        section.add(
            Table(
                ["column", *names],
                rows,
                "Peers: ratio of the configuration that decodes fastest / best ratio found",
            )
        )
    return section


def with_offsets(lines):
    """What an engine gets, beside bytes alone: the same kernel in the same step. None where it was
    not measured.
    """
    rows = []
    for line in choose.rates_with_offsets(lines):
        same = ("column", "fastpair_codec", "kernel", "study", "positions")
        bare = choose.best(choose.full_rates(lines, **{name: line.get(name) for name in same}))
        if bare:
            rows.append(
                [
                    line["column"],
                    called(line),
                    f"{line['bytes_per_row']:.1f}",
                    rate(bare["gb_s"]),
                    rate(line["gb_s"]),
                    f"{100 * (1 - line['gb_s'] / bare['gb_s']):.1f} %",
                    "yes" if "validity" in line["outputs"] else "–",
                ]
            )
    headers = ["column", "codec", "bytes per row", "bytes, GB/s"]
    headers += ["bytes and offsets, GB/s", "less by", "and validity"]
    title = "With 32-bit row offsets: the library's choice; GB/s of decoded bytes, offsets not counted"
    return Table(headers, rows, title) if rows else None


def families(lines):
    section = Section("Decode rates by kernel family")
    rates = choose.full_rates(lines)
    if not rates:
        return section.say("Not measured in this run: no GPU.")
    section.say(
        "GB/s of decoded output, 10⁹ bytes, least time of the launches; every byte verified. The"
        " best kernel of each family; staged is the paper's decoder. Timed is the decode call, from"
        " packed codes and the file's sidecar in device memory; uploads are not in it."
    )
    for codec in codecs(rates):
        rows, groups = [], []
        present = choose.in_order(
            choose.family(line) for line in rates if line["fastpair_codec"] == codec
        )
        names = [name for name in FAMILIES if name in present] + [
            name for name in present if name not in FAMILIES
        ]
        for column in choose.columns(rates):
            found = choose.best_by_family(lines, column=column, fastpair_codec=codec)
            if not found:
                continue
            staged = found.get("staged")
            cells = []
            for name in names:
                line = found.get(name)
                cells += [
                    rate(line["gb_s"]) if line else "–",
                    line["kernel"].split(" ", 1)[1] if line else "–",
                ]
                if name != "staged":
                    cells.append(f"{line['gb_s'] / staged['gb_s']:.2f}" if line and staged else "–")
            chosen = choose.best(
                [
                    line
                    for line in choose.full_rates(lines, column=column, fastpair_codec=codec)
                    if line["chosen"]
                ]
            )
            rows.append(
                [
                    column,
                    f"{choose.best(found.values())['mean_token']:.1f}",
                    *cells,
                    f"{chosen['kernel']}: {rate(chosen['gb_s'])}" if chosen else "–",
                ]
            )
            groups.append(
                (column, [found[name]["gb_s"] if name in found else None for name in names])
            )
        headers = ["column", "bytes per code"]
        for name in names:
            headers += [f"{name}, GB/s", "kernel"] + (["× staged"] if name != "staged" else [])
        section.add(Table(headers + ["the library's choice"], rows, title_of(codec)))
        section.add(
            Plot(
                f"families-{codec}",
                svg.bars(f"Decode rate, {title_of(codec)}", "GB/s", groups, names),
            )
        )
    offsets = with_offsets(lines)
    if offsets:
        section.add(offsets)
    return section


def rate_against_ratio(lines):
    section = Section("Decode rate against compression ratio", "the paper's Figure 6")
    rates = choose.full_rates(lines)
    if not rates:
        return section.say("Not measured in this run: no GPU.")
    section.say(
        "The envelope is, at each ratio, the highest rate any peer reaches at that ratio or a"
        " better one, on the same column."
    )
    for column in choose.columns(rates):
        series = []
        for codec in codecs(rates):
            line = choose.best_rate(lines, column=column, fastpair_codec=codec)
            if line:
                series.append(
                    {
                        "name": f"fastpair {title_of(codec)}",
                        "ours": True,
                        "points": [
                            (
                                line["ratio"],
                                line["gb_s"],
                                f"{line['kernel']}: {line['gb_s']:.0f} GB/s at {line['ratio']:.2f}",
                            )
                        ],
                    }
                )
        mine = choose.good(lines, "gpu_peer", column=column)
        for codec in choose.in_order(line["codec"] for line in mine):
            series.append(
                {
                    "name": f"nvCOMP {codec}",
                    "points": [
                        (line["ratio"], line["gb_s"], peer_name(line))
                        for line in mine
                        if line["codec"] == codec
                    ],
                }
            )
        outline = choose.envelope([(line["ratio"], line["gb_s"]) for line in mine])
        if outline:
            steps = []
            for ratio, value in outline:
                if steps:
                    steps.append((steps[-1][0], value))
                steps.append((ratio, value))
            series.append(
                {
                    "name": "envelope of the peers",
                    "points": steps,
                    "line": True,
                    "markers": False,
                    "index": 6,
                }
            )
        section.add(
            Plot(
                f"ratio-{column}",
                svg.xy_plot(
                    f"{column}",
                    "compression ratio",
                    "decode rate, GB/s (logarithmic)",
                    series,
                    y_log=True,
                ),
            )
        )
    return section
