"""sections_rates.py - what a reader looks for first: rates and ratios of columns, beside the peers'. In: result lines. Out: sections."""

from . import choose, paper, svg
from .document import Plot, Section, Table

CODEC_TITLES = {"onpair16": "OnPair-16", "onpair12": "OnPair-12", "fsst12": "FSST-12", "onpair14x8": "OnPair-14, 8 B"}


# The order of kernel families in tables and plots: the paper's, ours, and what was studied beside them.
FAMILIES = ["staged", "assembled", "shared"]


def title_of(codec):
    return CODEC_TITLES.get(codec, codec)


def rate(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def codecs(lines):
    present = choose.in_order(line["fastpair_codec"] for line in lines if line.get("fastpair_codec"))
    return [codec for codec in CODEC_TITLES if codec in present] + [codec for codec in present if codec not in CODEC_TITLES]


def peer_name(line):
    size = line["chunk_bytes"]
    chunks = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
    return f"{line.get('library', '')} {line['codec']}, {line['level']}, {chunks}".replace(".so.1", "").replace(".so.0", "")


def best_peer(peers, ratio):
    """The fastest peer at an equal or better ratio; None if there is none."""
    return choose.best([line for line in peers if line["ratio"] >= ratio])


class Standing:
    """A column: our fastest codec, the best peer at an equal or better ratio (None with the reason in no_peer), the fastest peer of all."""

    def __init__(self, column, ours, peers):
        self.column, self.ours, self.peer, self.any_peer = column, ours, best_peer(peers, ours["ratio"]), choose.best(peers)
        self.no_peer = f"no peer reaches {ours['ratio']:.2f} (best {max(line['ratio'] for line in peers):.2f})" if peers else "no peer was measured"


def standing(lines, fastest_of, kind):
    """Of every column with a rate of ours."""
    found = []
    for column in choose.columns(lines):
        ours = choose.best([line for line in (fastest_of(column, codec) for codec in codecs(lines)) if line])
        if ours:
            found.append(Standing(column, ours, choose.good(lines, kind, column=column)))
    return found


def against(lines, fastest_of, kind, unit):
    """One row a column: fastpair's fastest codec, and the best peer at an equal or better ratio."""
    rows = []
    for found in standing(lines, fastest_of, kind):
        ours, peer, any_peer = found.ours, found.peer, found.any_peer
        rows.append([found.column, title_of(ours["fastpair_codec"]), rate(ours["gb_s"]), f"{ours['ratio']:.2f}", peer_name(peer) if peer else found.no_peer,
                     rate(peer["gb_s"]) if peer else "–", f"{peer['ratio']:.2f}" if peer else "–", f"{ours['gb_s'] / peer['gb_s']:.1f}" if peer else "–",
                     f"{peer_name(any_peer)}: {rate(any_peer['gb_s'])} at {any_peer['ratio']:.2f}" if any_peer else "–"])
    return Table(["column", "fastpair", f"{unit}", "ratio", "best peer at an equal or better ratio", f"{unit}", "ratio", "×",
                  "fastest peer at any ratio"], rows)


def cpu_fastest(lines):
    def of(column, codec):
        found = [dict(line, gb_s=line["cpu_decode_1_mb_s"] / 1e3) for line in choose.good(lines, "cpu", column=column, fastpair_codec=codec)]
        return choose.best(found)
    return of


def overview(lines):
    """Every codec of fastpair, nvCOMP's Zstd, and the fastest peer that halves the column at least."""
    present, peers_found = codecs(lines), choose.good(lines, "gpu_peer")
    names = [f"fastpair {title_of(codec)}" for codec in present] + (["nvCOMP zstd", "fastest peer, ratio ≥ 2"] if peers_found else [])
    groups = []
    for column in choose.columns(choose.full_rates(lines)):
        mine = [line for line in peers_found if line["column"] == column]
        found = [choose.best_rate(lines, column=column, fastpair_codec=codec) for codec in present]
        if peers_found:
            found += [choose.best([line for line in mine if line["codec"] == "zstd"]), best_peer(mine, 2)]
        groups.append((column, [line["gb_s"] if line else None for line in found]))
    return Plot("overview", svg.bars("Decode rate on the GPU", "GB/s", groups, names),
                "The paper has its GPU's decompression engine here, which only later GPUs have; nvCOMP uses it where there is one.")


def summary(lines):
    section = Section("Where fastpair stands", "with the paper's Figure 1")
    has_gpu, has_cpu = choose.good(lines, "rate"), choose.good(lines, "cpu")
    if has_gpu:
        section.say("On the GPU, from device memory to device memory. fastpair: its fastest codec for the column, best kernel, codes packed and sidecar as in the file.")
        section.add(against(lines, lambda column, codec: choose.best_rate(lines, column=column, fastpair_codec=codec), "gpu_peer", "GB/s"))
        section.add(overview(lines))
    if has_cpu:
        section.say("On the CPU, one thread.")
        section.add(against(lines, cpu_fastest(lines), "cpu_peer", "GB/s"))
    if not has_gpu and not has_cpu:
        section.say("Nothing was measured.")
    return section


def table_2(lines):
    section = Section("Columns and compression ratios", "the paper's Table 2")
    section.say("Codes: distinct ones that occur. Length: mean decoded bytes a code. ≤ 8 B: share of the codes whose token has at most 8 bytes. Ratio: decoded bytes over codes, "
                "dictionary and sidecar, as the paper counts; total: over the whole file, row lengths included. In brackets the paper's figures, for columns of that name.")
    stated = choose.good(lines, "column")
    for codec in codecs(stated):
        rows = []
        for line in [line for line in stated if line["fastpair_codec"] == codec]:
            theirs = paper.TABLE_2.get(paper.same_column(line["column"]), {}).get(codec)
            share = "–" if line["share_le8"] is None else f"{100 * line['share_le8']:.0f} %"
            cells = [str(line["tokens_in_use"]), f"{line['mean_token']:.1f}", share, f"{line['ratio']:.2f}"]
            if theirs:
                told = [str(theirs[0]), f"{theirs[1]}", f"{theirs[2]} %" if theirs[2] is not None else "", f"{theirs[3]}"]
                cells = [f"{cell} ({other})" if other else cell for cell, other in zip(cells, told)]
            rows.append([line["column"], f"{line['bytes'] / 1e6:.1f}", *cells, f"{line['ratio_total']:.2f}"])
        section.add(Table(["column", "MB", "codes", "length", "≤ 8 B", "ratio", "total"], rows, title_of(codec)))
    peers = choose.good(lines, "gpu_peer") + choose.good(lines, "cpu_peer")
    if peers:
        kinds = choose.in_order((line["library"], line["codec"]) for line in peers)
        rows = []
        for column in choose.columns(peers):
            cells = []
            for library, codec in kinds:
                mine = [line for line in peers if (line["column"], line["library"], line["codec"]) == (column, library, codec)]
                fast, dense = choose.best(mine), max((line["ratio"] for line in mine), default=None)
                cells.append(f"{fast['ratio']:.2f} / {dense:.2f}" if mine else "–")
            rows.append([column, *cells])
        names = [f"{library.split('.')[0]} {codec}" if library == "nvCOMP" else library.split(".")[0] for library, codec in kinds]
        section.add(Table(["column", *names], rows, "Peers: ratio of the configuration that decodes fastest / best ratio found"))
    return section


def families(lines):
    section = Section("Decode rates by kernel family")
    rates = choose.full_rates(lines)
    if not rates:
        return section.say("Not measured in this run: no GPU.")
    section.say("GB/s of decoded output, 10⁹ bytes, least time of the launches; every byte verified. The best kernel of each family; staged is the paper's decoder. "
                "Timed is the decode call, from packed codes and the file's sidecar in device memory; uploads are not in it.")
    for codec in codecs(rates):
        rows, groups = [], []
        present = choose.in_order(choose.family(line) for line in rates if line["fastpair_codec"] == codec)
        names = [name for name in FAMILIES if name in present] + [name for name in present if name not in FAMILIES]
        for column in choose.columns(rates):
            found = choose.best_by_family(lines, column=column, fastpair_codec=codec)
            if not found:
                continue
            staged = found.get("staged")
            cells = []
            for name in names:
                line = found.get(name)
                cells += [rate(line["gb_s"]) if line else "–", line["kernel"].split(" ", 1)[1] if line else "–"]
                if name != "staged":
                    cells.append(f"{line['gb_s'] / staged['gb_s']:.2f}" if line and staged else "–")
            chosen = choose.best([line for line in choose.full_rates(lines, column=column, fastpair_codec=codec) if line["chosen"]])
            rows.append([column, f"{choose.best(found.values())['mean_token']:.1f}", *cells,
                         f"{chosen['kernel']}: {rate(chosen['gb_s'])}" if chosen else "–"])
            groups.append((column, [found[name]["gb_s"] if name in found else None for name in names]))
        headers = ["column", "bytes a code"]
        for name in names:
            headers += [f"{name}, GB/s", "kernel"] + (["× staged"] if name != "staged" else [])
        section.add(Table(headers + ["the library's choice"], rows, title_of(codec)))
        section.add(Plot(f"families-{codec}", svg.bars(f"Decode rate, {title_of(codec)}", "GB/s", groups, names)))
    return section


def settings_measured(lines, found):
    """How many settings columns have, and where some have more than others whether that matters."""
    setting = lambda line: (line["codec"], line["level"], line["chunk_bytes"])  # noqa: E731
    of = {column: {setting(line) for line in found if line["column"] == column} for column in choose.columns(found)}
    common = set.intersection(*of.values())
    more = [column for column in of if of[column] > common]
    if not more:
        return f"Every column has the same {len(common)} settings."
    ours = {column: choose.best_rate(lines, column=column) for column in more}
    same = [column for column in more if ours[column] and
            best_peer([line for line in found if line["column"] == column], ours[column]["ratio"]) ==
            best_peer([line for line in found if line["column"] == column and setting(line) in common], ours[column]["ratio"])]
    return (f"Every column has {len(common)} settings; {', '.join(more)} {'has' if len(more) == 1 else 'have'} up to {max(len(of[column]) for column in more)}. "
            f"With those alone that every column has, the best peer at an equal or better ratio would be the same on {len(same)} of {len(more)} of these columns.")


def peers(lines):
    section = Section("nvCOMP beside fastpair")
    found = choose.good(lines, "gpu_peer")
    if not found:
        return section.say("Not measured in this run: nvCOMP was not given (--nvcomp), or there is no GPU.")
    section.say(f"nvCOMP {found[0]['version']}, opened at run time. For each codec the configuration (level, chunk size) with the best rate, and the one with the best ratio. "
                "Compressed chunks and pointers lie in device memory; timed is the decompression call.")
    section.say(settings_measured(lines, found))
    for column in choose.columns(found):
        rows = []
        for codec in codecs(lines):
            line = choose.best_rate(lines, column=column, fastpair_codec=codec)
            if line:
                rows.append([f"fastpair {title_of(codec)}", line["kernel"], rate(line["gb_s"]), f"{line['ratio']:.2f}", "", "", ""])
        for codec in choose.in_order(line["codec"] for line in found):
            mine = [line for line in found if line["column"] == column and line["codec"] == codec]
            if mine:
                fast, dense = choose.best(mine), max(mine, key=lambda line: (line["ratio"], line["gb_s"]))
                rows.append([f"nvCOMP {codec}", peer_name(fast).split(", ", 1)[1], rate(fast["gb_s"]), f"{fast['ratio']:.2f}",
                             peer_name(dense).split(", ", 1)[1], rate(dense["gb_s"]), f"{dense['ratio']:.2f}"])
        section.add(Table(["", "fastest", "GB/s", "ratio", "densest", "GB/s", "ratio"], rows, column))
    return section


def rate_against_ratio(lines):
    section = Section("Decode rate against compression ratio", "the paper's Figure 6")
    rates = choose.full_rates(lines)
    if not rates:
        return section.say("Not measured in this run: no GPU.")
    section.say("The envelope is, at each ratio, the highest rate any peer reaches at that ratio or a better one, on the same column.")
    for column in choose.columns(rates):
        series = []
        for codec in codecs(rates):
            line = choose.best_rate(lines, column=column, fastpair_codec=codec)
            if line:
                series.append({"name": f"fastpair {title_of(codec)}", "ours": True, "points": [(line["ratio"], line["gb_s"], f"{line['kernel']}: {line['gb_s']:.0f} GB/s at {line['ratio']:.2f}")]})
        mine = choose.good(lines, "gpu_peer", column=column)
        for codec in choose.in_order(line["codec"] for line in mine):
            series.append({"name": f"nvCOMP {codec}", "points": [(line["ratio"], line["gb_s"], peer_name(line)) for line in mine if line["codec"] == codec]})
        outline = choose.envelope([(line["ratio"], line["gb_s"]) for line in mine])
        if outline:
            steps = []
            for ratio, value in outline:
                if steps:
                    steps.append((steps[-1][0], value))
                steps.append((ratio, value))
            series.append({"name": "envelope of the peers", "points": steps, "line": True, "markers": False, "index": 6})
        section.add(Plot(f"ratio-{column}", svg.xy_plot(f"{column}", "compression ratio", "decode rate, GB/s (logarithmic)", series, y_log=True)))
    return section


def cpu(lines):
    section = Section("Decoding and encoding on the CPU")
    found = choose.good(lines, "cpu")
    if not found:
        return section.say("Not measured in this run.")
    threads = found[0]["threads"]
    section.say(f"Median rates in MB/s of decoded bytes, {found[0]['cpu']}; from packed codes in memory to bytes and row offsets. Reference: the paper's Listing 1 on "
                f"codes already widened, one thread, in turns with ours. Encode: training, parsing and writing with {threads} threads.")
    rows = [[line["column"], title_of(line["fastpair_codec"]), f"{line['ratio']:.2f}", f"{line['encode_mb_s']:.0f}", f"{line['cpu_decode_1_mb_s']:.0f}",
             f"{line['cpu_reference_mb_s']:.0f}", f"{line['cpu_decode_1_mb_s'] / line['cpu_reference_mb_s']:.2f}", f"{line['cpu_decode_mb_s']:.0f}"] for line in found]
    section.add(Table(["column", "codec", "ratio", "encode", "decode, 1 thread", "reference", "×", f"decode, {threads} threads"], rows))
    peers_found = choose.good(lines, "cpu_peer")
    if peers_found:
        rows = []
        for column in choose.columns(peers_found):
            for codec in choose.in_order(line["library"] for line in peers_found):
                mine = [line for line in peers_found if line["column"] == column and line["library"] == codec]
                if mine:
                    fast, dense = choose.best(mine), max(mine, key=lambda line: (line["ratio"], line["gb_s"]))
                    rows.append([column, codec.split(".")[0], peer_name(fast).split(", ", 1)[1], f"{1e3 * fast['gb_s']:.0f}", f"{fast['ratio']:.2f}",
                                 peer_name(dense).split(", ", 1)[1], f"{1e3 * dense['gb_s']:.0f}", f"{dense['ratio']:.2f}"])
        section.add(Table(["column", "library", "fastest", "MB/s", "ratio", "densest", "MB/s", "ratio"], rows, "Other libraries, one thread, bytes in chunks (level, chunk size)"))
    return section


def from_host(lines):
    section = Section("From host memory to decoded bytes on the device")
    ours = choose.good(lines, "host")
    if not ours:
        return section.say("Not measured in this run: no GPU.")
    section.say("GB/s of decoded output by the host's clock. fastpair: lays out the batch, sends tables, codes and sidecar in parts on two streams, decodes each part behind its upload. nvCOMP: the same "
                "parts and streams, pointers already on the device, chunks of 64 KiB. Raw: the decoded bytes sent by one copy. Not timed: allocating memory, opening files. "
                f"Measured on {len(choose.columns(ours))} of {len(choose.columns(lines))} columns.")
    rows = []
    others = choose.good(lines, "host_peer")
    for column in choose.columns(ours):
        entries = [(f"fastpair {title_of(line['fastpair_codec'])}" if line["how"] == "fastpair" else "raw", line)
                   for line in ours if line["column"] == column]
        entries += [(f"nvCOMP {line['codec']}, {line['level']}", line) for line in others if line["column"] == column]
        for name in choose.in_order(name for name, _ in entries):
            cells = [choose.best([line for n, line in entries if n == name and line["memory"] == memory]) for memory in ("pageable", "pinned")]
            ratio = next((line["ratio"] for line in cells if line), None)
            rows.append([column, name, "1.00" if name == "raw" else f"{ratio:.2f}", *[rate(line["gb_s"]) if line else "–" for line in cells]])
    section.add(Table(["column", "how", "ratio", "pageable, GB/s", "pinned, GB/s"], rows))
    return section
