"""sections_kernels.py - the paper's studies of its kernel parameters. In: result lines. Out:
sections, each marked with the figure of the paper that it repeats.
"""

import re

from . import choose, svg
from .document import Plot, Section, Table
from .names import codecs, rate, title_of

MISSING = (
    "Not measured in this run: it needs a GPU and fastpair-measure-grid (cmake -DFASTPAIR_GRID=ON)."
)


def parameters(kernel):
    """{'K': 6, 'W': 8...} from a name."""
    return {letter: int(value) for letter, value in re.findall(r"\b([A-Z])(\d+)", kernel)}


def staged(lines, wanted):
    """Rates of staged kernels in one study: {(K, W, H, T, B): line}."""
    found = {}
    for line in choose.good(lines, "rate"):
        if line["kernel"].startswith("staged ") and any(
            line.get("study", "").startswith(name) for name in wanted
        ):
            p = parameters(line["kernel"])
            found[p["K"], p["W"], p["H"], p["T"], p["B"]] = line
    return found


def resident(lines):
    """kernel name: its line about what it needs."""
    return {line["kernel"]: line for line in choose.good(lines, "kernel")}


def launch_parameters(lines):
    section = Section(
        "Codes per lane, threads per block, blocks asked for: K × T × B", "the paper's Figure 2"
    )
    found = {
        key: line for key, line in staged(lines, ["launch"]).items() if key[1] == 8 and key[2] == 1
    }
    if not found:
        return section.say(MISSING)
    example, needs = next(iter(found.values())), resident(lines)
    section.say(
        f"{example['column']}, OnPair-12, W = 8, H = 1. Rates in GB/s; in brackets resident blocks"
        " per multiprocessor by the driver, and * where registers spill."
    )
    ks = sorted({key[0] for key in found})
    rows, parts = [], []
    for t in sorted({key[3] for key in found}):
        series = []
        for b in sorted({key[4] for key in found}):
            points = [(k, found[k, 8, 1, t, b]["gb_s"]) for k in ks if (k, 8, 1, t, b) in found]
            series.append({"name": f"B = {b}", "points": points, "line": True})
            cells = []
            for k in ks:
                line = found.get((k, 8, 1, t, b))
                need = needs.get(line["kernel"]) if line else None
                mark = (
                    f" ({need['driver_blocks']}{'*' if need['spill_bytes'] else ''})"
                    if need
                    else ""
                )
                cells.append(rate(line["gb_s"]) + mark if line else "–")
            rows.append([str(t), str(b), *cells])
        parts.append((f"T = {t}", series))
    section.add(
        Plot(
            "launch",
            svg.panels("Decode rate by K, T and B", "K, codes per lane", "GB/s", parts, ks),
        )
    )
    return section.add(Table(["T", "B", *[f"K = {k}" for k in ks]], rows))


def hoist(lines):
    section = Section("Reads started early: K × H", "the paper's Figure 3")
    found = {
        key: line
        for key, line in staged(lines, ["launch", "hoist"]).items()
        if key[1] == 8 and key[3] == 256
    }
    if not any(key[2] != 1 for key in found):
        return section.say(MISSING)
    example = next(iter(found.values()))
    section.say(f"{example['column']}, OnPair-12, W = 8, T = 256. Rates in GB/s.")
    ks, hs = sorted({key[0] for key in found}), sorted({key[2] for key in found})
    rows, parts = [], []
    for b in sorted({key[4] for key in found}):
        parts.append(
            (
                f"B = {b}",
                [
                    {
                        "name": f"H = {h}",
                        "line": True,
                        "points": [
                            (k, found[k, 8, h, 256, b]["gb_s"])
                            for k in ks
                            if (k, 8, h, 256, b) in found
                        ],
                    }
                    for h in hs
                ],
            )
        )
        for h in hs:
            rows.append(
                [
                    str(b),
                    str(h),
                    *[
                        rate(found[k, 8, h, 256, b]["gb_s"]) if (k, 8, h, 256, b) in found else "–"
                        for k in ks
                    ],
                ]
            )
    section.add(
        Plot(
            "hoist",
            svg.panels("Decode rate by K and H, T = 256", "K, codes per lane", "GB/s", parts, ks),
        )
    )
    return section.add(Table(["B", "H", *[f"K = {k}" for k in ks]], rows))


def widths(lines):
    section = Section("Split reads against whole ones: W = 8 and W = 16", "the paper's Figure 4")
    found = [line for line in choose.good(lines, "rate", study="widths")]
    if not found:
        return section.say(MISSING)
    section.say(
        "Best rate of W = 8 over best rate of W = 16, over K = 4 to 8 with T = 256, B = 4; columns"
        " by the share of their codes whose token has at most 8 bytes. Above 1 the split read is"
        " faster."
    )
    shares = {
        (line["column"], line["fastpair_codec"]): line["share_le8"]
        for line in choose.good(lines, "column")
    }
    rows, groups = [], []
    keys = choose.in_order((line["column"], line["fastpair_codec"]) for line in found)
    for column, codec in sorted(keys, key=lambda key: shares.get(key) or 0):
        mine = [
            line for line in found if (line["column"], line["fastpair_codec"]) == (column, codec)
        ]
        narrow, whole = (
            choose.best([line for line in mine if parameters(line["kernel"])["W"] == w])
            for w in (8, 16)
        )
        if narrow and whole:
            quotient = narrow["gb_s"] / whole["gb_s"]
            rows.append(
                [
                    column,
                    title_of(codec),
                    f"{100 * (shares.get((column, codec)) or 0):.0f} %",
                    rate(narrow["gb_s"]),
                    narrow["kernel"],
                    rate(whole["gb_s"]),
                    whole["kernel"],
                    f"{quotient:.2f}",
                ]
            )
            groups.append((f"{column}, {title_of(codec)}", [quotient]))
    section.add(
        Plot(
            "widths",
            svg.bars(
                "Rate with W = 8 over rate with W = 16",
                "quotient; the dashed line is 1",
                groups,
                ["W = 8 / W = 16"],
                reference=1,
            ),
        )
    )
    return section.add(
        Table(
            [
                "column",
                "codec",
                "≤ 8 B",
                "W = 8, GB/s",
                "kernel",
                "W = 16, GB/s",
                "kernel",
                "quotient",
            ],
            rows,
        )
    )


def shared_dictionaries(lines):
    section = Section("Dictionaries in shared memory", "the paper's Section 4.4")
    rows = []
    counted = {
        (line["kernel"], line["fastpair_codec"]): line for line in choose.good(lines, "counters")
    }
    for codec in codecs(lines):
        for column in choose.columns(choose.good(lines, "rate", study="shared")):
            found = choose.best_by_family(lines, column=column, fastpair_codec=codec)
            if "shared" not in found or "staged" not in found:
                continue
            for name in (
                "staged",
                "shared",
                *[other for other in found if other not in ("staged", "shared")],
            ):
                line, counters = found[name], counted.get((found[name]["kernel"], codec), {})
                rows.append(
                    [
                        column,
                        title_of(codec),
                        line["kernel"],
                        rate(line["gb_s"]),
                        f"{100 * (line['gb_s'] / found['staged']['gb_s'] - 1):+.0f} %",
                        (
                            f"{counters['global_load_sectors'] / 1e6:.1f}"
                            if "global_load_sectors" in counters
                            else "–"
                        ),
                        (
                            f"{counters['bank_conflicts'] / 1e6:.1f}"
                            if "bank_conflicts" in counters
                            else "–"
                        ),
                        f"{counters['occupancy']:.0f} %" if "occupancy" in counters else "–",
                        f"{counters['l1_pipe']:.0f} %" if "l1_pipe" in counters else "–",
                    ]
                )
    if not rows:
        return section.say(MISSING)
    section.say(
        "Best kernel of each family: staged gathers through L1, shared copies the dictionary into"
        " each block's shared memory. The paper, Loghub Windows on a B300: −26 % at OnPair-12 (1131"
        " against 1527 GB/s), −54 % at FSST-12 (643 against 1409)."
    )
    return section.add(
        Table(
            [
                "column",
                "codec",
                "kernel",
                "GB/s",
                "against staged",
                "global load sectors, 10⁶",
                "bank conflicts, 10⁶",
                "occupancy",
                "L1 pipe",
            ],
            rows,
        )
    )
