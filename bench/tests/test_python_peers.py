#!/usr/bin/env python3
"""Tests bench/python-peers and its report. Made-up results become tables, verdicts and a plot: figures
come out as they went in, unverified ones do not, and what is not ahead is named. Where pyarrow is
importable the script measures a small column, and wrong rows are noticed.

    tests/test_python_peers.py REPOSITORY
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.dom.minidom

ROOT = os.path.abspath(sys.argv[1])
sys.dont_write_bytecode = True
from checks import check, done  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "bench"))
from evaluation import quotes  # noqa: E402


def line(column, system, ratio, milliseconds, random_access=True, **more):
    """Made-up, for this test alone: reads take 1, 2, 3 and 4 times as long as told."""
    made = {
        "kind": "python",
        "column": column,
        "system": system,
        "rows": 1000,
        "bytes": 24000000,
        "needle": "a needle",
        "found": 17,
        "taken": 100,
        "random_access": random_access,
        "file_bytes": int(24000000 / ratio),
        "ratio": ratio,
        "write_mb_s": 123.4,
        "verified": True,
    }
    for factor, what in enumerate(("full", "decode", "take", "contains"), 1):
        made[f"{what}_ms"] = milliseconds * factor
        made[f"{what}_ms_least"] = milliseconds * factor / 1.25
        made[f"{what}_ms_wall"] = milliseconds * factor * 1.5
    return dict(made, **more)


def some_results():
    configuration = {"rounds": 15, "writes": 3, "versions": {"pyarrow": "1.2.3", "other": "4.5"}}
    return [
        {
            "kind": "run",
            "run": "1",
            "date": "2000-01-01 00:00:00 UTC",
            "commit": "0123456789",
            "cpu": "a CPU",
            "cpus": 2,
            "configuration": configuration,
        },
        line("logs", "fastpair auto", 7.77, 2.0, chosen="onpair:12:64"),
        line("logs", "Vortex", 7.5, 5.0),
        line("logs", "Parquet + zstd, pyarrow", 31.25, 40.0, random_access=False),
        line("logs", "broken", 999.5, 0.001, verified=False),
        line("urls", "fastpair auto", 3.0, 6.0),
        line("urls", "fastpair onpair16", 4.5, 1.0),
        line("urls", "Vortex", 3.25, 12.0),
        line("urls", "Arrow IPC + lz4", 3.5, 10.0, random_access=False, take_ms=7.5),
        {
            "kind": "python",
            "column": "urls",
            "system": "Lance",
            "error": "of no weight",
            "verified": False,
        },
    ]


def write(path, lines):
    with open(path, "w") as file:
        file.writelines(json.dumps(each) + "\n" for each in lines)


def report(path, out):
    program = os.path.join(ROOT, "bench", "report")
    ran = subprocess.run(
        [sys.executable, program, "--out", out, "--name", "python", path],
        capture_output=True,
        text=True,
    )
    check(ran.returncode == 0, f"bench/report ends well: {ran.stderr[-500:]}")
    with open(os.path.join(out, "python.md")) as file:
        markdown = file.read()
    plot = os.path.join(out, "python", "python-ratio-decode.svg")
    if not os.path.exists(plot):
        return markdown, None
    with open(plot) as file:
        return markdown, file.read()


def test_report(folder):
    path = os.path.join(folder, "results.jsonl")
    write(path, some_results())
    markdown, plot = report(path, os.path.join(folder, "a"))
    summary = {
        "logs": "7.77 | 7.50, Vortex | 12.0 | 4.80, Vortex | 2.50 | 6.00 | 15.0, Vortex | 2.50",
        "urls": "3.00 | 3.25, Vortex | 4.00 | 2.40, Arrow IPC + lz4 | 1.67 | 18.0 | 7.50, Arrow IPC"
        " + lz4 | 0.42",
    }
    for column, row in summary.items():
        check(f"| {column} | {row} |" in markdown, f"{column} beside the best others: {markdown}")
    for row in (
        "| fastpair auto (OnPair-12, 64 B) | yes | 7.77 | 123 | 2.00 | 12.0 |",
        "| Vortex | yes | 7.50 | 123 | 5.00 | 4.80 | 10.0 | 2.40 | 15.0 | 20.0 |",
        "| Parquet + zstd, pyarrow | no | 31.25 | 123 | 40.0 | 0.60 | 80.0 | 0.30 | 120 | 160 |",
    ):
        check(row in markdown, f"a row per system: {row}")
    for sentence in (
        "Open and decode: ahead of all others on 2 of 2 columns.",
        "Take: ahead of all others on 1 of 2 columns; not on urls (Arrow IPC + lz4, ratio 3.50).",
        "Ratio: ahead of all others with random access on 1 of 2 columns; not on urls (Vortex, ratio 3.25).",
        "7 of 9 lines verified; the others are left out",
        "1.50 times as long, and these medians 1.25 times the least",
        "By the clock: open and decode 2, decode 2, take 2, contains 2 of 2 columns.",
        "pyarrow 1.2.3, other 4.5",
        "Lance failed: of no weight",
        "`a needle` is in 17 rows (1.70%)",
    ):
        check(sentence in markdown, f"said: {sentence}\n{markdown}")
    check("999" not in markdown and "broken" not in plot, "what was not verified is left out")
    xml.dom.minidom.parseString(plot)
    for mark in ("Vortex: 4.80 GB/s at 7.50", "fastpair onpair16: 24.0 GB/s at 4.50"):
        check(mark in plot, f"a mark per system and column: {mark}")
    check(report(path, os.path.join(folder, "b")) == (markdown, plot), "the same results again")
    block = "<!-- results: results.jsonl {} -->\nold\n<!-- end results -->\n"
    quoted = quotes.fill(folder, block.format("python columns=urls") + block.format("machine"))
    check(f"| urls | {summary['urls']} |" in quoted and "| logs" not in quoted, "quoted by column")
    check("commit 0123456789" in quoted and "launches" not in quoted, f"and the machine: {quoted}")
    write(path, some_results()[:1] + some_results()[-1:])
    check("Nothing was measured" in report(path, os.path.join(folder, "a"))[0], "nothing is said")


def test_script(folder):
    """All systems that are installed; a tiny column, so times say nothing."""
    column, out = os.path.join(folder, "words.txt"), os.path.join(folder, "measured.jsonl")
    with open(column, "w") as file:
        file.writelines(f"row {number} — müde\n" for number in range(3000))
    program = os.path.join(ROOT, "bench", "python-peers")
    command = [sys.executable, program, "--rounds=2", "--writes=1", "--out", out, "--commit=0"]
    ran = subprocess.run(
        [*command, "--needle=99", column], capture_output=True, text=True, cwd=folder
    )
    # Systems that are not installed make it end with 1.
    check(ran.returncode in (0, 1), f"the script ends: {ran.stderr[-800:]}")
    with open(out) as file:
        lines = [json.loads(each) for each in file]
    measured = [each for each in lines if each["kind"] == "python"]
    check(len(measured) >= 3 and all(each["verified"] for each in measured), f"{ran.stderr}")
    check(len(measured) == len(lines[0]["configuration"]["systems"]), "every system that is there")
    wanted = sum("99" in str(number) for number in range(3000))
    check(all(each["found"] == wanted and each["taken"] == 300 for each in measured), "all rows")
    markdown, _ = report(out, os.path.join(folder, "c"))
    check("| Arrow IPC + lz4 | no |" in markdown, "a report is made of it")
    again = subprocess.run([*command, "--needle=99", column], capture_output=True, cwd=folder)
    with open(out) as file:
        check(len(file.readlines()) == len(lines), f"what is there is kept: {again.stderr[-300:]}")


def test_wrong_rows(folder):
    """One row too few, one changed, one too many: none is taken for the rows."""
    import pyarrow
    from evaluation import python_steps, python_systems

    class Wrong(python_systems.Ipc):
        def __init__(self, table):
            super().__init__(table, "lz4")

        def take(self, handle, rows):
            return super().take(handle, rows)[1:]

        def contains(self, handle, needle):
            return pyarrow.concat_tables([super().contains(handle, needle)] * 2)

    class Failing(Wrong):
        def decode(self, handle):
            raise ValueError("no such thing")

    python_systems.SYSTEMS |= {"wrong": Wrong, "failing": Failing}
    options = argparse.Namespace(
        systems=["wrong", "failing"], rounds=1, writes=1, take=10, needle="7"
    )
    rows = [f"row {number}" for number in range(200)]
    wrong, failing = python_steps.ColumnStep("rows", rows, folder, options).measure()
    check(not wrong["verified"] and wrong["wrong"] == ["contains", "take"], f"noticed: {wrong}")
    check(not failing["verified"] and "no such thing" in failing["error"], f"said: {failing}")
    changed = pyarrow.chunked_array([[*rows[:-1], "row X"]])
    check(not python_steps.same_rows(changed, pyarrow.chunked_array([rows])), "a changed row")


with tempfile.TemporaryDirectory() as scratch:
    test_report(scratch)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        print("no pyarrow: the script itself is not tried")
    else:
        test_script(scratch)
        test_wrong_rows(scratch)
done()
