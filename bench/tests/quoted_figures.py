#!/usr/bin/env python3
"""Checks that figures quoted in documents are figures that were measured.

    tests/quoted_figures.py REPOSITORY     checks README.md, docs/*.md and docs/results
    tests/quoted_figures.py --self-test    checks the checker

What comes from results stands between two comments:

    <!-- results: docs/results/h200.jsonl rates columns=wikipedia_en -->
    ...
    <!-- end results -->

and must be what bench/evaluation/quotes.py makes of these results (bench/publish writes it there). Other tables of figures stand between comments that only name the results:

    <!-- results: docs/results/h200.jsonl -->
    | column | codec | GB/s |
    ...
    <!-- end results -->

In such a table every number in it must be the value of some member of some line of that file, rounded as it is quoted. The line must be about the row: where a cell of the row is the name of a column, codec,
kernel or library in the results, only lines with that name count, and lines that do not have such a member. Cells may use the titles of the report (OnPair-12). Rates quoted in MB/s
(the header says so) may come from members in GB/s and the reverse. In columns headed × or with a % a number may also be the quotient of two others in its row, or their difference in percent. Numbers inside the text
of a cell, such as in a kernel's name, are no figures.

Rates on GPUs in README.md (a number before GB/s or TB/s) stand nowhere else, but in a paragraph that names the command they come from. For every docs/results/*.jsonl with a report of the same name beside it, the report must be what bench/report makes of it.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from evaluation import quotes  # noqa: E402
from evaluation.names import CODEC_TITLES  # noqa: E402
from evaluation.store import read_lines  # noqa: E402

NAMES = ("column", "fastpair_codec", "kernel", "library", "codec")
BLOCK = re.compile(r"^<!-- results: (\S+) -->\n(.*?)^<!-- end results -->$", re.S | re.M)
FIGURE = re.compile(r"[-+−]?\d[\d\u202f ]*(?:\.\d+)?")
ALIASES = {title: name for name, title in CODEC_TITLES.items()}


def numbers_of(line):
    """All numbers in an object, also inside the objects it holds, in 1000 and 1/1000 as well where they are rates."""
    for key, value in line.items():
        if isinstance(value, dict):
            yield from numbers_of(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield value
            if key.endswith("gb_s") or key.endswith("gb_s_median") or key.endswith("bytes"):
                yield value * 1e3
                yield value / 1e6
            if key.endswith("mb_s"):
                yield value / 1e3
            if key.startswith("share"):
                yield value * 100


def quoted(cell):
    """The number a cell quotes and its decimals; None if the cell is text."""
    bare = cell.replace("**", "").replace("%", "").replace("×", "").strip()
    if not FIGURE.fullmatch(bare):
        return None
    bare = re.sub(r"[\u202f ]", "", bare).replace("−", "-")
    return float(bare), len(bare.partition(".")[2])


def equals(value, number, decimals):
    return abs(value - number) <= 0.5000001 * 10.0 ** -decimals


def derived(number, decimals, others):
    """A quotient of two figures as they are quoted, or their difference in percent, give or take rounding."""
    for a, a_decimals in others:
        for b, b_decimals in others:
            if b == 0:
                continue
            slack = abs(a / b) * (0.5 * 10.0 ** -a_decimals / max(abs(a), 1e-9) + 0.5 * 10.0 ** -b_decimals / abs(b))
            for value, room in ((a / b, slack), (100 * (a / b - 1), 100 * slack), (100 * a / b, 100 * slack)):
                if abs(value - number) <= 0.5000001 * 10.0 ** -decimals + room:
                    return True
    return False


def check_table(text, lines):
    """What is wrong with a table, as texts."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.lstrip().startswith("|")]
    if len(rows) < 3:
        return ["there is no table"]
    known = {key: {str(line[key]) for line in lines if key in line} for key in NAMES}
    problems = []
    for row in rows[2:]:
        about = lines
        names = [ALIASES.get(cell.strip("`*"), cell.strip("`*")) for cell in row]
        for key in NAMES:
            wanted = {name for name in names if name in known[key]}
            if wanted:
                about = [line for line in about if key not in line or str(line[key]) in wanted]
        measured = [number for line in about for number in numbers_of(line)]
        figures = [quoted(cell) for cell in row]
        for header, cell, figure in zip(rows[0], row, figures):
            if figure is None or any(equals(value, *figure) for value in measured):
                continue
            others = [other for other in figures if other is not None and other is not figure]
            if ("×" in header or "%" in header or "%" in cell) and derived(*figure, others):
                continue
            problems.append(f"{cell} ({header}) in the row of {row[0]} is not among the results")
    return problems


def check_repository(root):
    problems, tables = [], 0
    for document in [os.path.join(root, "README.md"), *sorted(glob.glob(os.path.join(root, "docs", "*.md")))]:
        with open(document) as file:
            text = file.read()
        name = os.path.relpath(document, root)
        if len(re.findall(r"^<!-- results:", text, re.M)) != len(BLOCK.findall(text)) + len(quotes.BLOCK.findall(text)):
            problems.append(f"{name}: a results comment has no end")
        for source, what, words, there in quotes.BLOCK.findall(text):
            tables += 1
            try:
                if there != quotes.make(root, source, what, words):
                    problems.append(f"{name}: {what} is not what {source} gives; run bench/publish {os.path.basename(source)[:-len('.jsonl')]}")
            except (ValueError, StopIteration) as error:
                problems.append(f"{name}: {what}: {error}")
        if name == "README.md":
            problems += [f"{name}: {figure} is said without results" for figure in loose_rates(text)]
        for source, table in BLOCK.findall(text):
            tables += 1
            path = os.path.join(root, source)
            if not os.path.exists(path):
                problems.append(f"{name}: {source} does not exist")
                continue
            problems += [f"{name}: {problem}" for problem in check_table(table, read_lines([path]))]
    reports = 0
    for path in sorted(glob.glob(os.path.join(root, "docs", "results", "*.jsonl"))):
        kept = path[:-len(".jsonl")] + ".md"
        if os.path.exists(kept):
            reports += 1
            problems += check_report(root, path, kept)
    print(f"{tables} tables from results, {reports} reports")
    return problems


def loose_rates(text):
    """Rates in a text outside of what is checked, and outside of paragraphs that name the command they come from."""
    text = quotes.BLOCK.sub("", BLOCK.sub("", text))
    return [found[0] for paragraph in text.split("\n\n") if not re.search(r"`build/fastpair|`bench/", paragraph)
            for found in re.finditer(r"\d[\d.]*(?: to \d[\d.]*)? [GT]B/s", paragraph)]


def check_report(root, path, kept):
    name = os.path.basename(kept)[:-len(".md")]
    with tempfile.TemporaryDirectory() as scratch:
        second = quotes.second_of(path)
        options = ["--second", second] if os.path.exists(second) else []
        subprocess.run([sys.executable, os.path.join(root, "bench", "report"), "--out", scratch, "--name", name, *options, path], check=True)
        with open(os.path.join(scratch, name + ".md")) as made, open(kept) as there:
            same = made.read() == there.read()
    return [] if same else [f"{os.path.relpath(kept, root)} is not what its results give; run bench/publish {name}"]


def self_test():
    lines = [{"kind": "rate", "column": "a", "fastpair_codec": "onpair12", "gb_s": 1234.4, "ratio": 4.567}, {"kind": "rate", "column": "b", "fastpair_codec": "onpair12", "gb_s": 777.0},
             {"kind": "cpu", "column": "a", "fastpair_codec": "onpair16", "cpu_decode_1_mb_s": 5000.0, "ratio": 5.0}]
    table = "| column | codec | GB/s | ratio | × |\n|---|---|--:|--:|--:|\n| {} |\n"
    good = ["a | OnPair-12 | 1234 | 4.57 | –", "a | `onpair12` | **1234.4** | 4.6 | 270.2", "b | onpair12 | 777 | – | –", "a | OnPair-16 | 5.00 | 5.0 | 1.0"]
    bad = ["a | OnPair-12 | 1235 | 4.57 | –", "b | onpair12 | 1234 | – | –", "a | OnPair-16 | 1234 | 5.0 | –", "a | OnPair-12 | 1234 | 4.56 | –", "a | OnPair-12 | 1234 | 4.57 | 300"]
    wrong = [row for row in good if check_table(table.format(row), lines)] + [row for row in bad if not check_table(table.format(row), lines)]
    inside = "At 12 GB/s.\n\n<!-- results: x.jsonl rates -->\n| 13 GB/s |\n<!-- end results -->\n\nBy `build/fastpair -b`: 14 GB/s.\n"
    wrong += [] if loose_rates(inside) == ["12 GB/s"] else ["rates outside of results"]
    return [f"self-test: {row}" for row in wrong]


found = self_test()
if sys.argv[1] != "--self-test":
    found += check_repository(os.path.abspath(sys.argv[1]))
for problem in found:
    print(problem, file=sys.stderr)
sys.exit(1 if found else 0)
