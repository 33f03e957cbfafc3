"""sections_studies.py - the paper's other studies: token lengths, hardware units, resources, the
sidecar, input sizes. In: result lines. Out: sections, each marked with what it repeats.
"""

from . import choose, svg
from .document import Plot, Section, Table
from .names import codecs, rate, title_of


def token_length(lines):
    section = Section("Decode rate against mean token length", "the paper's Figure 5")
    rates = choose.full_rates(lines)
    if not rates:
        return section.say("Not measured in this run: no GPU.")
    section.say(
        "Each point is a column with its best kernel of the family; lines are least squares, r the"
        " correlation."
    )
    for name in choose.in_order(choose.family(line) for line in rates):
        series, rows = [], []
        for number, codec in enumerate(codecs(rates)):
            points = []
            for column in choose.columns(rates):
                line = choose.best_by_family(lines, column=column, fastpair_codec=codec).get(name)
                if line:
                    points.append(
                        (
                            line["mean_token"],
                            line["gb_s"],
                            (
                                f"{column}: {line['gb_s']:.0f} GB/s, {line['mean_token']:.1f} bytes"
                                " per code"
                            ),
                        )
                    )
            if len(points) < 2:
                continue
            series.append({"name": title_of(codec), "points": points, "index": number})
            line = choose.fit([(x, y) for x, y, _ in points])
            if line:
                slope, offset, r = line
                low, high = min(p[0] for p in points), max(p[0] for p in points)
                series.append(
                    {
                        "name": f"fit, r = {r:.3f}",
                        "points": [(x, slope * x + offset) for x in (low, high)],
                        "line": True,
                        "markers": False,
                        "index": number,
                    }
                )
                rows.append(
                    [title_of(codec), str(len(points)), f"{slope:.1f}", f"{offset:.0f}", f"{r:.3f}"]
                )
        if series:
            section.add(
                Plot(
                    f"tokens-{name}",
                    svg.xy_plot(
                        f"{name} kernels",
                        "mean token length, bytes per code",
                        "decode rate, GB/s",
                        series,
                    ),
                )
            )
            if rows:
                section.add(
                    Table(
                        ["codec", "columns", "GB/s per byte", "offset, GB/s", "r"],
                        rows,
                        f"Fits, {name} kernels",
                    )
                )
    return section


def pipes(lines):
    section = Section("What the hardware is busy with", "the paper's Figure 7")
    found = choose.good(lines, "counters")
    if not found:
        return section.say("Not measured in this run: it needs ncu and the right to read counters.")
    section.say(
        "From ncu, over one decode call. Shares of what each unit can sustain; below, where the"
        " wavefronts of the L1 data pipe come from. The paper, Loghub Windows at OnPair-12: L1 pipe"
        " 99 % and device memory 24 to 60 % on B300, H100 and A100; shared-memory writes about 56 %"
        " of the wavefronts."
    )
    units = [
        ("l1_pipe", "L1 pipe"),
        ("dram", "device memory"),
        ("l2", "L2"),
        ("issue", "issue"),
        ("alu", "ALU"),
        ("lsu", "LSU"),
        ("occupancy", "occupancy"),
    ]
    units = [unit for unit in units if any(unit[0] in line for line in found)]
    name = lambda line: f"{line['kernel']}, {title_of(line['fastpair_codec'])}"  # noqa: E731
    section.add(
        Table(
            ["kernel", "column", *[title for _, title in units]],
            [
                [
                    name(line),
                    line["column"],
                    *[f"{line[key]:.0f} %" if key in line else "–" for key, _ in units],
                ]
                for line in found
            ],
        )
    )
    rows, groups = [], []
    kinds = ["shared stores", "shared loads", "other shared (shuffles, conflicts)", "global"]
    for line in found:
        if "wavefronts" not in line:
            continue
        store, load = line.get("wavefronts_shared_store", 0), line.get("wavefronts_shared_load", 0)
        parts = [
            store,
            load,
            max(0, line.get("wavefronts_shared", 0) - store - load),
            line["wavefronts"] - line.get("wavefronts_shared", 0),
        ]
        groups.append((name(line), [100 * part / line["wavefronts"] for part in parts]))
        rows.append(
            [
                name(line),
                f"{line['wavefronts'] / 1e6:.0f}",
                *[f"{part / 1e6:.0f}" for part in parts],
                *[f"{100 * part / line['wavefronts']:.0f} %" for part in parts[:1]],
            ]
        )
    if rows:
        section.add(
            Plot(
                "pipes",
                svg.bars(
                    "Wavefronts of the L1 data pipe",
                    "share of all wavefronts, %",
                    groups,
                    kinds,
                    stacked=True,
                ),
            )
        )
        section.add(Table(["kernel", "wavefronts, 10⁶", *kinds, "share of shared stores"], rows))
    return section


# Of kernels where model and driver differ, so many are shown.
MOST_DIFFERENT = 12


def resources(lines):
    section = Section("The resource model against the driver", "the paper's Section 3.3")
    found = choose.good(lines, "kernel")
    if not found:
        return section.say("Not measured in this run: no GPU.")
    grid = [line for line in found if line.get("table") == "grid"]
    every = list({line["kernel"]: line for line in found}.values())
    equal = sum(line["model_blocks"] == line["driver_blocks"] for line in every)
    section.say(
        "Blocks that a multiprocessor holds at once, by the model (the least of what shared memory,"
        f" registers and warp slots allow) and by the driver: equal for {equal} of {len(every)}"
        f" kernels{' of the whole grid' if grid else ''}. Kernels that keep a dictionary in shared"
        " memory: one of 4096 codes. Assembled kernels take the shared memory of a whole"
        " multiprocessor when they are launched, so one block fills it; the table has what they"
        " need before, which is none."
    )
    different = [line for line in every if line["model_blocks"] != line["driver_blocks"]]
    carried = [line for line in found if line.get("table") == "carried"]
    shown = list({line["kernel"]: line for line in carried + different[:MOST_DIFFERENT]}.values())
    if len(different) > MOST_DIFFERENT:
        section.say(
            f"Below, the kernels the library carries and {MOST_DIFFERENT} of the {len(different)}"
            " where the two differ."
        )
    slots = next((line["warps_per_multiprocessor"] for line in choose.good(lines, "device")), 64)
    counted = {
        line["kernel"]: f"{line['occupancy']:.0f} %"
        for line in choose.good(lines, "counters")
        if "occupancy" in line
    }
    rows = [
        [
            line["kernel"],
            str(line["registers"]),
            str(line["register_limit"]),
            str(line["spill_bytes"]),
            str(line["shared_bytes"]),
            str(line["model_blocks"]),
            str(line["driver_blocks"]),
            f"{100 * line['model_blocks'] * line['threads'] / 32 / slots:.0f} %",
            counted.get(line["kernel"], "–"),
        ]
        for line in shown
    ]
    return section.add(
        Table(
            [
                "kernel",
                "registers",
                "limit",
                "spilled bytes",
                "shared bytes",
                "blocks, model",
                "blocks, driver",
                "occupancy, model",
                "occupancy, ncu",
            ],
            rows,
        )
    )


def sidecar(lines):
    section = Section(
        "Reading the sidecar against regenerating positions", "the paper's Section 3.1"
    )
    found = choose.good(lines, "rate", study="sidecar")
    if not found:
        return section.say("Not measured in this run: no GPU.")
    section.say(
        "The kernel the library chooses, with output positions read from the file's sidecar, and"
        " with positions computed on the device in the same measurement. Sidecar: its share of"
        " codes, dictionary and sidecar. The paper: about 20 % slower, up to 35 % for short tokens;"
        " the sidecar costs about 1 %."
    )
    stated = {
        (line["column"], line["fastpair_codec"]): line for line in choose.good(lines, "column")
    }
    rows = []
    for column, codec in choose.in_order(
        (line["column"], line["fastpair_codec"]) for line in found
    ):
        mine = [
            line for line in found if (line["column"], line["fastpair_codec"]) == (column, codec)
        ]
        stored, made = (
            choose.best([line for line in mine if line["positions"] == how])
            for how in ("stored", "regenerated")
        )
        info = stated.get((column, codec))
        if stored and made:
            share = (
                f"{100 * info['sidecar_bytes'] / (info['bytes'] / info['ratio']):.2f} %"
                if info and info["ratio"]
                else "–"
            )
            rows.append(
                [
                    column,
                    title_of(codec),
                    f"{stored['mean_token']:.1f}",
                    stored["kernel"],
                    rate(stored["gb_s"]),
                    rate(made["gb_s"]),
                    f"{100 * (made['gb_s'] / stored['gb_s'] - 1):.0f} %",
                    share,
                ]
            )
    return section.add(
        Table(
            [
                "column",
                "codec",
                "bytes per code",
                "kernel",
                "stored, GB/s",
                "regenerated, GB/s",
                "change",
                "sidecar",
            ],
            rows,
        )
    )


def sizes(lines):
    section = Section("Small and large inputs")
    found = sorted(choose.good(lines, "rate", study="sizes"), key=lambda line: line["bytes"])
    if not found:
        return section.say("Not measured in this run: no GPU.")
    section.say(
        f"{found[0]['column']}, OnPair-12, the kernel the library chooses. Launches follow each"
        " other on the same data, so what fits in the L2 cache is read from it and written to it;"
        " launching is part of the time."
    )
    section.add(
        Plot(
            "sizes",
            svg.xy_plot(
                "Decode rate by size of the output",
                "decoded bytes (logarithmic)",
                "GB/s",
                [
                    {
                        "name": "least time",
                        "points": [(line["bytes"], line["gb_s"]) for line in found],
                        "line": True,
                    },
                    {
                        "name": "median time",
                        "points": [(line["bytes"], line["gb_s_median"]) for line in found],
                        "line": True,
                    },
                ],
                x_log=True,
            ),
        )
    )
    return section.add(
        Table(
            ["MB", "chunks", "kernel", "GB/s", "median", "µs"],
            [
                [
                    f"{line['bytes'] / 1e6:.1f}",
                    str(line["chunks"]),
                    line["kernel"],
                    rate(line["gb_s"]),
                    rate(line["gb_s_median"]),
                    f"{line['bytes'] / line['gb_s'] / 1e3:.1f}",
                ]
                for line in found
            ],
        )
    )
