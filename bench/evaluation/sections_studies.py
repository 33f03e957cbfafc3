"""sections_studies.py - the paper's studies of its kernels. In: result lines. Out: sections, each marked with what of the paper it repeats."""

import re

from . import choose, paper, svg
from .document import Plot, Section, Table
from .sections_rates import codecs, rate, title_of

MISSING = "Not measured in this run: it needs a GPU and fastpair-measure-grid (cmake -DFASTPAIR_GRID=ON)."


def parameters(kernel):
    """{'K': 6, 'W': 8...} from a name."""
    return {letter: int(value) for letter, value in re.findall(r"\b([A-Z])(\d+)", kernel)}


def staged(lines, wanted):
    """Rates of staged kernels in one study: {(K, W, H, T, B): line}."""
    found = {}
    for line in choose.good(lines, "rate"):
        if line["kernel"].startswith("staged ") and any(line.get("study", "").startswith(name) for name in wanted):
            p = parameters(line["kernel"])
            found[p["K"], p["W"], p["H"], p["T"], p["B"]] = line
    return found


def resident(lines):
    """kernel name: its line about what it needs."""
    return {line["kernel"]: line for line in choose.good(lines, "kernel")}


def launch_parameters(lines):
    section = Section("Codes a lane, threads a block, blocks asked for: K × T × B", "the paper's Figure 2")
    found = {key: line for key, line in staged(lines, ["launch"]).items() if key[1] == 8 and key[2] == 1}
    if not found:
        return section.say(MISSING)
    example, needs = next(iter(found.values())), resident(lines)
    section.say(f"{example['column']}, OnPair-12, W = 8, H = 1. Rates in GB/s; in brackets resident blocks a multiprocessor by the driver, and * where registers spill.")
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
                mark = f" ({need['driver_blocks']}{'*' if need['spill_bytes'] else ''})" if need else ""
                cells.append(rate(line["gb_s"]) + mark if line else "–")
            rows.append([str(t), str(b), *cells])
        parts.append((f"T = {t}", series))
    section.add(Plot("launch", svg.panels("Decode rate by K, T and B", "K, codes a lane", "GB/s", parts, ks)))
    return section.add(Table(["T", "B", *[f"K = {k}" for k in ks]], rows))


def hoist(lines):
    section = Section("Reads started early: K × H", "the paper's Figure 3")
    found = {key: line for key, line in staged(lines, ["launch", "hoist"]).items() if key[1] == 8 and key[3] == 256}
    if not any(key[2] != 1 for key in found):
        return section.say(MISSING)
    example = next(iter(found.values()))
    section.say(f"{example['column']}, OnPair-12, W = 8, T = 256. Rates in GB/s.")
    ks, hs = sorted({key[0] for key in found}), sorted({key[2] for key in found})
    rows, parts = [], []
    for b in sorted({key[4] for key in found}):
        parts.append((f"B = {b}", [{"name": f"H = {h}", "line": True,
                                    "points": [(k, found[k, 8, h, 256, b]["gb_s"]) for k in ks if (k, 8, h, 256, b) in found]} for h in hs]))
        for h in hs:
            rows.append([str(b), str(h), *[rate(found[k, 8, h, 256, b]["gb_s"]) if (k, 8, h, 256, b) in found else "–" for k in ks]])
    section.add(Plot("hoist", svg.panels("Decode rate by K and H, T = 256", "K, codes a lane", "GB/s", parts, ks)))
    return section.add(Table(["B", "H", *[f"K = {k}" for k in ks]], rows))


def widths(lines):
    section = Section("Split reads against whole ones: W = 8 and W = 16", "the paper's Figure 4")
    found = [line for line in choose.good(lines, "rate", study="widths")]
    if not found:
        return section.say(MISSING)
    section.say("Best rate of W = 8 over best rate of W = 16, over K = 4 to 8 with T = 256, B = 4; columns by the share of their codes whose token has at most 8 bytes. Above 1 the split read is faster.")
    shares = {(line["column"], line["fastpair_codec"]): line["share_le8"] for line in choose.good(lines, "column")}
    rows, groups = [], []
    keys = choose.in_order((line["column"], line["fastpair_codec"]) for line in found)
    for column, codec in sorted(keys, key=lambda key: shares.get(key) or 0):
        mine = [line for line in found if (line["column"], line["fastpair_codec"]) == (column, codec)]
        narrow, whole = (choose.best([line for line in mine if parameters(line["kernel"])["W"] == w]) for w in (8, 16))
        if narrow and whole:
            quotient = narrow["gb_s"] / whole["gb_s"]
            rows.append([column, title_of(codec), f"{100 * (shares.get((column, codec)) or 0):.0f} %", rate(narrow["gb_s"]), narrow["kernel"],
                         rate(whole["gb_s"]), whole["kernel"], f"{quotient:.2f}"])
            groups.append((f"{column}, {title_of(codec)}", [quotient]))
    section.add(Plot("widths", svg.bars("Rate with W = 8 over rate with W = 16", "quotient; the dashed line is 1", groups, ["W = 8 / W = 16"], reference=1)))
    return section.add(Table(["column", "codec", "≤ 8 B", "W = 8, GB/s", "kernel", "W = 16, GB/s", "kernel", "quotient"], rows))


def shared_dictionaries(lines):
    section = Section("Dictionaries in shared memory", "the paper's Section 4.4")
    rows = []
    counted = {(line["kernel"], line["fastpair_codec"]): line for line in choose.good(lines, "counters")}
    for codec in codecs(lines):
        for column in choose.columns(choose.good(lines, "rate", study="shared")):
            found = choose.best_by_family(lines, column=column, fastpair_codec=codec)
            if "shared" not in found or "staged" not in found:
                continue
            for name in ("staged", "shared", *[other for other in found if other not in ("staged", "shared")]):
                line, counters = found[name], counted.get((found[name]["kernel"], codec), {})
                rows.append([column, title_of(codec), line["kernel"], rate(line["gb_s"]), f"{100 * (line['gb_s'] / found['staged']['gb_s'] - 1):+.0f} %",
                             f"{counters['global_load_sectors'] / 1e6:.1f}" if "global_load_sectors" in counters else "–",
                             f"{counters['bank_conflicts'] / 1e6:.1f}" if "bank_conflicts" in counters else "–",
                             f"{counters['occupancy']:.0f} %" if "occupancy" in counters else "–", f"{counters['l1_pipe']:.0f} %" if "l1_pipe" in counters else "–"])
    if not rows:
        return section.say(MISSING)
    section.say("Best kernel of each family: staged gathers through L1, shared copies the dictionary into each block's shared memory. The paper, Loghub Windows on a B300: −26 % at OnPair-12 (1131 against 1527 GB/s), "
                "−54 % at FSST-12 (643 against 1409).")
    return section.add(Table(["column", "codec", "kernel", "GB/s", "against staged", "global load sectors, 10⁶", "bank conflicts, 10⁶", "occupancy", "L1 pipe"], rows))


def token_length(lines):
    section = Section("Decode rate against mean token length", "the paper's Figure 5")
    rates = choose.full_rates(lines)
    if not rates:
        return section.say("Not measured in this run: no GPU.")
    section.say("Each point is a column with its best kernel of the family; lines are least squares, r the correlation.")
    for name in choose.in_order(choose.family(line) for line in rates):
        series, rows = [], []
        for number, codec in enumerate(codecs(rates)):
            points = []
            for column in choose.columns(rates):
                line = choose.best_by_family(lines, column=column, fastpair_codec=codec).get(name)
                if line:
                    points.append((line["mean_token"], line["gb_s"], f"{column}: {line['gb_s']:.0f} GB/s, {line['mean_token']:.1f} bytes a code"))
            if len(points) < 2:
                continue
            series.append({"name": title_of(codec), "points": points, "index": number})
            line = choose.fit([(x, y) for x, y, _ in points])
            if line:
                slope, offset, r = line
                low, high = min(p[0] for p in points), max(p[0] for p in points)
                series.append({"name": f"fit, r = {r:.3f}", "points": [(x, slope * x + offset) for x in (low, high)], "line": True, "markers": False, "index": number})
                rows.append([title_of(codec), str(len(points)), f"{slope:.1f}", f"{offset:.0f}", f"{r:.3f}"])
        if series:
            section.add(Plot(f"tokens-{name}", svg.xy_plot(f"{name} kernels", "mean token length, bytes a code", "decode rate, GB/s", series)))
            if rows:
                section.add(Table(["codec", "columns", "GB/s a byte", "offset, GB/s", "r"], rows, f"Fits, {name} kernels"))
    return section


def pipes(lines):
    section = Section("What the hardware is busy with", "the paper's Figure 7")
    found = choose.good(lines, "counters")
    if not found:
        return section.say("Not measured in this run: it needs ncu and the right to read counters.")
    section.say("From ncu, over one decode call. Shares of what each unit can sustain; below, where the wavefronts of the L1 data pipe come from. The paper, Loghub Windows at OnPair-12: L1 pipe 99 % and device memory "
                "24 to 60 % on B300, H100 and A100; shared-memory writes about 56 % of the wavefronts.")
    units = [("l1_pipe", "L1 pipe"), ("dram", "device memory"), ("l2", "L2"), ("issue", "issue"), ("alu", "ALU"), ("lsu", "LSU"), ("occupancy", "occupancy")]
    units = [unit for unit in units if any(unit[0] in line for line in found)]
    name = lambda line: f"{line['kernel']}, {title_of(line['fastpair_codec'])}"  # noqa: E731
    section.add(Table(["kernel", "column", *[title for _, title in units]],
                      [[name(line), line["column"], *[f"{line[key]:.0f} %" if key in line else "–" for key, _ in units]] for line in found]))
    rows, groups = [], []
    kinds = ["shared stores", "shared loads", "other shared (shuffles, conflicts)", "global"]
    for line in found:
        if "wavefronts" not in line:
            continue
        store, load = line.get("wavefronts_shared_store", 0), line.get("wavefronts_shared_load", 0)
        parts = [store, load, max(0, line.get("wavefronts_shared", 0) - store - load), line["wavefronts"] - line.get("wavefronts_shared", 0)]
        groups.append((name(line), [100 * part / line["wavefronts"] for part in parts]))
        rows.append([name(line), f"{line['wavefronts'] / 1e6:.0f}", *[f"{part / 1e6:.0f}" for part in parts], *[f"{100 * part / line['wavefronts']:.0f} %" for part in parts[:1]]])
    if rows:
        section.add(Plot("pipes", svg.bars("Wavefronts of the L1 data pipe", "share of all wavefronts, %", groups, kinds, stacked=True)))
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
    section.say(f"Blocks a multiprocessor holds at once, by the model (the least of what shared memory, registers and warp slots allow) and by the driver: equal for {equal} of {len(every)} kernels"
                f"{' of the whole grid' if grid else ''}. Kernels that keep a dictionary in shared memory: one of 4096 codes. Assembled kernels take the shared memory of a whole multiprocessor when they are launched, so one block fills it; the table has what they need before, which is none.")
    different = [line for line in every if line["model_blocks"] != line["driver_blocks"]]
    carried = [line for line in found if line.get("table") == "carried"]
    shown = list({line["kernel"]: line for line in carried + different[:MOST_DIFFERENT]}.values())
    if len(different) > MOST_DIFFERENT:
        section.say(f"Below, the kernels the library carries and {MOST_DIFFERENT} of the {len(different)} where the two differ.")
    slots = next((line["warps_per_multiprocessor"] for line in choose.good(lines, "device")), 64)
    counted = {line["kernel"]: f"{line['occupancy']:.0f} %" for line in choose.good(lines, "counters") if "occupancy" in line}
    rows = [[line["kernel"], str(line["registers"]), str(line["register_limit"]), str(line["spill_bytes"]), str(line["shared_bytes"]), str(line["model_blocks"]),
             str(line["driver_blocks"]), f"{100 * line['model_blocks'] * line['threads'] / 32 / slots:.0f} %", counted.get(line["kernel"], "–")] for line in shown]
    return section.add(Table(["kernel", "registers", "limit", "spilled bytes", "shared bytes", "blocks, model", "blocks, driver", "occupancy, model", "occupancy, ncu"], rows))


def sidecar(lines):
    section = Section("Storing the sidecar against making it", "the paper's Section 3.1")
    found = choose.good(lines, "rate", study="sidecar")
    if not found:
        return section.say("Not measured in this run: no GPU.")
    section.say("The kernel the library chooses, with output positions read from the file's sidecar, and with positions computed on the device in the same measurement. Sidecar: its share of codes, dictionary and sidecar. "
                "The paper: about 20 % slower, up to 35 % for short tokens; the sidecar costs about 1 %.")
    stated = {(line["column"], line["fastpair_codec"]): line for line in choose.good(lines, "column")}
    rows = []
    for column, codec in choose.in_order((line["column"], line["fastpair_codec"]) for line in found):
        mine = [line for line in found if (line["column"], line["fastpair_codec"]) == (column, codec)]
        stored, made = (choose.best([line for line in mine if line["positions"] == how]) for how in ("stored", "regenerated"))
        info = stated.get((column, codec))
        if stored and made:
            share = f"{100 * info['sidecar_bytes'] / (info['bytes'] / info['ratio']):.2f} %" if info and info["ratio"] else "–"
            rows.append([column, title_of(codec), f"{stored['mean_token']:.1f}", stored["kernel"], rate(stored["gb_s"]), rate(made["gb_s"]),
                         f"{100 * (made['gb_s'] / stored['gb_s'] - 1):.0f} %", share])
    return section.add(Table(["column", "codec", "bytes a code", "kernel", "stored, GB/s", "made, GB/s", "change", "sidecar"], rows))


def sizes(lines):
    section = Section("Small and large inputs")
    found = sorted(choose.good(lines, "rate", study="sizes"), key=lambda line: line["bytes"])
    if not found:
        return section.say("Not measured in this run: no GPU.")
    section.say(f"{found[0]['column']}, OnPair-12, the kernel the library chooses. Launches follow each other on the same data, so what fits in the L2 cache is read from it and written to it; launching is part of the time.")
    section.add(Plot("sizes", svg.xy_plot("Decode rate by size of the output", "decoded bytes (logarithmic)", "GB/s",
                                          [{"name": "least time", "points": [(line["bytes"], line["gb_s"]) for line in found], "line": True},
                                           {"name": "median time", "points": [(line["bytes"], line["gb_s_median"]) for line in found], "line": True}], x_log=True)))
    return section.add(Table(["MB", "chunks", "kernel", "GB/s", "median", "µs"],
                             [[f"{line['bytes'] / 1e6:.1f}", str(line["chunks"]), line["kernel"], rate(line["gb_s"]), rate(line["gb_s_median"]),
                               f"{line['bytes'] / line['gb_s'] / 1e3:.1f}"] for line in found]))


# Of the peak bandwidth that decoding reaches on devices whose memory limits it, by the paper.
REACHED_BANDWIDTH = 0.9


def predicted(lines):
    section = Section("Predicted rates for the paper's GPUs", "the paper's Figure 8, by a model")
    devices, runs = choose.good(lines, "device"), choose.good(lines, "run")
    rates = choose.full_rates(lines)
    clock = next((run["gpu"]["clocks.max.sm"] for run in runs if "gpu" in run), None)
    if not devices or not rates or not clock:
        return section.say("Not measured in this run: no GPU.")
    here = devices[0]
    mhz = next((line["sm_mhz"] for line in choose.good(lines, "clocks")), float(clock.split()[0]))
    section.say("A model, not a measurement. It needs clocks, which the paper does not state: those in the first row are assumptions about each GPU's boost clock, least certain for B300 and RTX PRO 6000-SE, and where the pipe is the limit "
                "an error in a clock is the same error in the rate.")
    section.say(f"Where the L1 pipe limits decoding, the rate goes with multiprocessors × clock; it cannot exceed {REACHED_BANDWIDTH:.0%} of the memory bandwidth, for compressed bytes in and decoded bytes out. "
                f"From rates measured here ({here['gpu']}: {here['multiprocessors']} multiprocessors, {mhz:.0f} MHz) with kernels of the staged family, the paper's decoder. Where the table says memory, bandwidth is the limit. "
                "It knows nothing of cache sizes or of how many blocks fit.")
    for codec in [codec for codec in codecs(rates) if codec in ("onpair12", "onpair16", "fsst12")]:
        rows = [["assumed clock, MHz", *[str(gpu["clock"]) for gpu in paper.GPUS]],
                ["the paper's own", *[paper.RATES.get(gpu["name"], {}).get(codec, "not stated") for gpu in paper.GPUS]]]
        for column in choose.columns(rates):
            line = choose.best_by_family(lines, column=column, fastpair_codec=codec).get("staged")
            if not line:
                continue
            cells = []
            for gpu in paper.GPUS:
                pipe = line["gb_s"] * gpu["multiprocessors"] * gpu["clock"] / (here["multiprocessors"] * mhz)
                memory = REACHED_BANDWIDTH * gpu["bandwidth"] * 1e3 / (1 + 1 / line["ratio"])
                cells.append(f"{rate(min(pipe, memory))}{' (memory)' if memory < pipe else ''}")
            rows.append([column, *cells])
        section.add(Table(["GB/s", *[gpu["name"] for gpu in paper.GPUS]], rows, title_of(codec)))
    return section
