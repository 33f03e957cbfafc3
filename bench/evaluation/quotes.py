"""quotes.py - tables and sentences that documents quote from results. In: a document's text, where a quotation stands between two comments,

    <!-- results: docs/results/h200.jsonl rates columns=wikipedia_en,npm_repo_url codecs=onpair12 -->
    ...
    <!-- end results -->

which name the results, what is quoted, and of which columns and codecs (all, unless told). Out: the text with what these results give between the comments. What there is to quote is in MAKERS."""

import os
import re
import statistics

from . import agreement, choose
from .document import Table
from .sections_rates import codecs, cpu_fastest, peer_name, rate, standing, title_of
from .store import read_lines

BLOCK = re.compile(r"^<!-- results: (\S+) (\S+)((?: \S+)*) -->\n(.*?)^<!-- end results -->$", re.S | re.M)


def second_of(path):
    """Where the second run's results lie, beside the first's."""
    return path[:-len(".jsonl")] + "-second.jsonl"


def read_both(path):
    lines = read_lines([path])
    return agreement.completed(lines, read_lines([second_of(path)])) if os.path.exists(second_of(path)) else lines


def wanted(lines, options):
    """Columns and codecs that are quoted, as the options say; columns in the order of the results."""
    columns, kinds = choose.columns(lines), codecs(lines)
    return ([name for name in columns if name in options.get("columns", ",".join(columns)).split(",")],
            [name for name in kinds if name in options.get("codecs", ",".join(kinds)).split(",")])


def rates(lines, options):
    """The paper's decoder and ours, best kernel of each."""
    rows = []
    columns, kinds = wanted(lines, options)
    for column in columns:
        for codec in kinds:
            found = choose.best_by_family(lines, column=column, fastpair_codec=codec)
            ours = choose.best([line for name, line in found.items() if name not in ("staged", "shared")])
            if "staged" in found and ours:
                theirs = found["staged"]
                rows.append([column, title_of(codec), f"{ours['ratio']:.2f}", f"{ours['mean_token']:.1f}", rate(theirs["gb_s"]), rate(ours["gb_s"]), f"{ours['gb_s'] / theirs['gb_s']:.2f}"])
    return Table(["column", "codec", "ratio", "bytes a code", "staged", "assembled", "×"], rows).markdown()


def beside_peers(found, columns, peers):
    """One line a column: ours and the best of the others at an equal or better ratio."""
    rows = []
    for one in found:
        if one.column in columns:
            peer = one.peer
            rows.append([one.column, title_of(one.ours["fastpair_codec"]), rate(one.ours["gb_s"]), f"{one.ours['ratio']:.2f}", peer_name(peer) if peer else one.no_peer,
                         rate(peer["gb_s"]) if peer else "–", f"{peer['ratio']:.2f}" if peer else "–", f"{one.ours['gb_s'] / peer['gb_s']:.1f}" if peer else "–"])
    return Table(["column", "fastpair", "GB/s", "ratio", f"best {peers} at an equal or better ratio", "GB/s", "ratio", "×"], rows).markdown()


def against(lines, options):
    """Our fastest codec on the GPU."""
    columns, kinds = wanted(lines, options)
    found = standing(lines, lambda column, codec: choose.best_rate(lines, column=column, fastpair_codec=codec) if codec in kinds else None, "gpu_peer")
    return beside_peers(found, columns, "peer")


def summary(lines, options):
    """Two sentences for all columns."""
    found = standing(lines, lambda column, codec: choose.best_rate(lines, column=column, fastpair_codec=codec), "gpu_peer")
    times = sorted(one.ours["gb_s"] / one.peer["gb_s"] for one in found if one.peer)
    none = [one.column for one in found if not one.peer]
    text = f"On {len(found)} columns fastpair's fastest codec decodes at {rate(min(one.ours['gb_s'] for one in found))} to {rate(max(one.ours['gb_s'] for one in found))} GB/s."
    if times:
        text += f" The fastest of nvCOMP's codecs at an equal or better ratio, in the same run, takes {times[0]:.1f} to {times[-1]:.1f} times as long (median {statistics.median(times):.1f})"
        text += f"; on {', '.join(none)} none reaches the ratio." if none else "."
    fastest = [one.any_peer for one in found if one.any_peer]
    if fastest:
        top = choose.best(fastest)
        text += f" The fastest at any ratio, {peer_name(top)}, decodes at up to {rate(top['gb_s'])} GB/s, at a ratio of {top['ratio']:.2f}."
    return text


def cpu(lines, options):
    """Decoding and encoding on the CPU."""
    columns, kinds = wanted(lines, options)
    found = [line for line in choose.good(lines, "cpu") if line["column"] in columns and line["fastpair_codec"] in kinds]
    threads = found[0]["threads"] if found else 0
    rows = [[line["column"], title_of(line["fastpair_codec"]), f"{line['ratio']:.2f}", f"{line['ratio_total']:.2f}", f"{line['mean_token']:.2f}", f"{line['encode_mb_s']:.0f}", f"{line['cpu_decode_1_mb_s']:.0f}",
             f"{line['cpu_reference_mb_s']:.0f}", f"{line['cpu_decode_1_mb_s'] / line['cpu_reference_mb_s']:.2f}", f"{line['cpu_decode_mb_s']:.0f}"] for line in found]
    return Table(["column", "codec", "ratio", "total", "bytes a code", f"encode, {threads} threads", "decode", "reference", "×", f"decode, {threads} threads"], rows).markdown()


def cpu_against(lines, options):
    """Our fastest codec on one thread."""
    columns, _ = wanted(lines, options)
    return beside_peers(standing(lines, cpu_fastest(lines), "cpu_peer"), columns, "library")


def machine(lines, options):
    """On what, when, at which commit."""
    run = next(line for line in lines if line["kind"] == "run")
    configuration = run.get("configuration", {})
    gpu = f"one {run['gpu']['name']}, driver {run['gpu']['driver_version']}; " if "gpu" in run else ""
    return (f"Measured {run['date'][:10]}, commit {run['commit']}: {gpu}{run['cpu']}, {run['cpus']} threads. Columns repeated to {configuration.get('bytes', '?')}B of decoded output on the GPU, "
            f"least time of {configuration.get('launches', '?')} launches, every byte verified.")


MAKERS = {"rates": rates, "against": against, "summary": summary, "cpu": cpu, "cpu-against": cpu_against, "machine": machine}


def make(root, source, what, words):
    """What belongs between two comments."""
    if what not in MAKERS:
        raise ValueError(f"nothing to quote is called {what}; there is {', '.join(MAKERS)}")
    path = os.path.join(root, source)
    if not os.path.exists(path):
        raise ValueError(f"{source} does not exist")
    return MAKERS[what](read_both(path), dict(word.split("=", 1) for word in words.split())) + "\n"


def fill(root, text):
    """A document with its quotations made anew."""
    return BLOCK.sub(lambda found: f"<!-- results: {found[1]} {found[2]}{found[3]} -->\n{make(root, found[1], found[2], found[3])}<!-- end results -->", text)
