"""quotes.py - tables and sentences that documents quote from results. In: a document's text, where
a quotation stands between two comments,

    <!-- results: docs/results/h200.jsonl rates columns=wikipedia_en codecs=onpair12 -->
    ...
    <!-- end results -->

which name the results, what is quoted, and of which columns and codecs (all, unless told). Out:
the text with what these results give between the comments. MAKERS lists what there is to quote.
"""

import os
import re
import textwrap

from . import agreement, choose, sections_host, sections_python
from .document import Table
from .names import called, codecs, rate, title_of
from .standing import best_peer, ours_of
from .store import read_lines

BLOCK = re.compile(
    r"^<!-- results: (\S+) (\S+)((?: \S+)*) -->\n(.*?)^<!-- end results -->$", re.S | re.M
)


def second_of(path):
    """Where the second run's results lie, beside the first's."""
    return path[: -len(".jsonl")] + "-second.jsonl"


def read_both(path):
    """The first run, completed by what only the second has. Where the CPU's figures are the second
    run's, the line about that run is there too, as kind cpu_run.
    """
    lines = read_lines([path])
    if not os.path.exists(second_of(path)):
        return lines
    others = read_lines([second_of(path)])
    both = agreement.completed(lines, others)
    if any(line["kind"] == "cpu" for line in both[len(lines) :]):
        both += [dict(line, kind="cpu_run") for line in others if line["kind"] == "run"]
    return both


def wanted(lines, options):
    """Columns and codecs as the options say; columns in the order of the results."""
    columns, kinds = choose.columns(lines), codecs(lines)
    return (
        [name for name in columns if name in options.get("columns", ",".join(columns)).split(",")],
        [name for name in kinds if name in options.get("codecs", ",".join(kinds)).split(",")],
    )


def rates(lines, options):
    """The paper's decoder and ours, best kernel of each."""
    rows = []
    columns, kinds = wanted(lines, options)
    for column in columns:
        for codec in kinds:
            found = choose.best_by_family(lines, column=column, fastpair_codec=codec)
            ours = choose.best(
                [line for name, line in found.items() if name not in ("staged", "shared")]
            )
            theirs = found.get("staged")
            if theirs and ours:
                rows.append(
                    [
                        column,
                        title_of(codec),
                        f"{ours['ratio']:.2f}",
                        f"{ours['mean_token']:.1f}",
                        rate(theirs["gb_s"]),
                        rate(ours["gb_s"]),
                        f"{ours['gb_s'] / theirs['gb_s']:.2f}",
                    ]
                )
    headers = ["column", "codec", "ratio", "bytes per code", "staged", "assembled", "×"]
    return Table(headers, rows).markdown()


def headline(lines, options):
    """One row per column: what auto takes, or where that was not measured the codec that decodes
    fastest, on the GPU and on one CPU thread; beside each the fastest other codec at an equal or
    better ratio.
    """
    rows = []
    columns, kinds = wanted(lines, options)
    for column in columns:
        fastest = lambda name, codec: choose.best_rate(  # noqa: E731
            lines, column=name, fastpair_codec=codec
        )
        ours = ours_of(column, kinds, fastest)
        if not ours:
            continue
        codec, ratio = ours["fastpair_codec"], ours["ratio"]
        peer = best_peer(choose.good(lines, "gpu_peer", column=column), ratio)
        on_cpu = choose.good(lines, "cpu", column=column, fastpair_codec=codec)
        cpu_peer = best_peer(choose.good(lines, "cpu_peer", column=column), ratio)
        rows.append(
            [
                column,
                called(ours),
                f"{ratio:.2f}",
                rate(ours["gb_s"]),
                rate(peer["gb_s"]) if peer else "–",
                peer["codec"] if peer else "–",
                rate(on_cpu[0]["cpu_decode_1_mb_s"] / 1e3) if on_cpu else "–",
                rate(cpu_peer["gb_s"]) if cpu_peer else "–",
                cpu_peer["codec"] if cpu_peer else "–",
            ]
        )
    headers = ["column", "codec", "ratio", "GPU", "nvCOMP", "its codec"]
    headers += ["CPU", "library", "its codec"]
    return Table(headers, rows).markdown()


def end_to_end(lines, options):
    """From pinned host memory: what auto takes, beside nvCOMP's fastest."""
    columns, _ = wanted(lines, options)
    return sections_host.end_to_end_table(sections_host.end_to_end_rows(lines, columns)).markdown()


def auto(lines, options):
    """What auto takes beside the paper's codecs, from device memory."""
    columns, _ = wanted(lines, options)
    found = sections_host.against_paper_rows(lines, columns)
    return sections_host.against_paper_table(found).markdown()


def python(lines, options):
    """auto beside the best of what else there is in Python."""
    columns, _ = wanted(lines, options)
    return sections_python.summary_table(lines, columns).markdown()


def machine(lines, options):
    """On what, when, at which commit."""
    if sections_python.about(lines):
        text = " ".join(sections_python.lead(lines)[:2])
        return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
    run = next(line for line in lines if line["kind"] == "run")
    configuration = run.get("configuration", {})
    gpu = (
        f"one {run['gpu']['name']}, driver {run['gpu']['driver_version']}; " if "gpu" in run else ""
    )
    text = (
        f"Measured {run['date'][:10]}, commit {run['commit']}: {gpu}{run['cpu']}, {run['cpus']}"
        f" threads. On the GPU each column is repeated to {configuration.get('bytes', '?')}B of"
        f" decoded output; rates are by the least time of {configuration.get('launches', '?')}"
        " launches. Every byte was verified."
    )
    for line in choose.good(lines, "cpu_run"):
        text += f" CPU figures: {line['date'][:10]}, commit {line['commit']}, {line['cpu']}."
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


MAKERS = {
    "rates": rates,
    "headline": headline,
    "end-to-end": end_to_end,
    "auto": auto,
    "python": python,
    "machine": machine,
}


def make(root, source, what, words):
    """What belongs between two comments."""
    if what not in MAKERS:
        raise ValueError(f"nothing to quote is called {what}; there is {', '.join(MAKERS)}")
    path = os.path.join(root, source)
    if not os.path.exists(path):
        raise ValueError(f"{source} does not exist")
    options = dict(word.split("=", 1) for word in words.split())
    return MAKERS[what](read_both(path), options) + "\n"


def fill(root, text):
    """A document with its quotations made anew."""

    def made(found):
        opening = f"<!-- results: {found[1]} {found[2]}{found[3]} -->\n"
        return opening + make(root, found[1], found[2], found[3]) + "<!-- end results -->"

    return BLOCK.sub(made, text)
