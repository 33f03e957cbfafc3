"""engine_report.py - the report of bench/engines. In: what was measured. Out: Markdown, with the table that
docs/engines.md quotes, between two comments.
"""

import importlib.metadata

from . import machine
from .document import Table
from .engine_systems import CONTROLS, FILLED, SYSTEMS

PACKAGES = ("fastpair", "duckdb", "polars", "pyarrow")
PETABYTE = 1e15
# Rows of a part on an object store, and what a machine fetches from one in a second: assumed, not measured.
PART, NETWORK = 1 << 30, 1.25e9
TITLES = {
    "count": "`count(*)` of the lines that contain a word",
    "rare": "`count(*)` of the lines that contain a rarer text",
    "scan": "All lines into a Polars DataFrame",
}
# What issue 21 asks for: how many times faster in the same engine.
OURS_COUNTING = [
    "fastpair, fp.scan in Polars",
    "fastpair, extension in DuckDB",
    "fastpair, extension in DuckDB, numbered",
]
OURS = {
    "count": OURS_COUNTING,
    "rare": OURS_COUNTING,
    "scan": ["fastpair, fp.scan in Polars"],
}


def make(given, about, medians, spent, wrong):
    run = machine.describe_machine(given)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    counts = sorted({threads for _, _, threads in medians})
    gpu = run.get("gpu", {}).get("name")
    text = [
        "# Engines over a table of log lines",
        f"Measured {run['date']}, fastpair at commit {run['commit']}, by `bench/engines`. CPU: "
        f"{run['cpu']}, {run['cpus']} threads, "
        f"{'GPU: ' + gpu if gpu else 'a machine without a GPU'}. Versions: {versions}. Other work on "
        f"the machine: the load average was {about['loads'][0]:.1f} before and "
        f"{about['loads'][1]:.1f} after{priority(about['nice'])}.",
        f"{about['bytes'] / 1e6:,.0f} MB of log lines ({', '.join(about['columns'])}, repeated), "
        f"{about['rows']:,} rows, in {about['parts']} parts. Files are in the page cache. "
        "Two processes took turns, one on one core with one thread per engine, one on all "
        "cores; systems took turns within them. In its turn a system ran for 0.2 s, at least twice, and the "
        "last time counts, since cores that had nothing to do are slow to begin. Times are medians of "
        f"{about['rounds']} rounds, by the clock. *First time* is the one before these, with one "
        "thread, in a process that has not done it before. *CPU* is the processor time of all threads, "
        "which other work on the machine lengthens little. Every answer was compared: "
        + (
            "all were right."
            if not wrong
            else "**wrong: " + "; ".join(map(str, sorted(wrong))) + "**."
        ),
    ]
    for what in TITLES:
        text += [
            f"## {TITLES[what]}",
            *looked_for(what, about),
            table(what, about, medians, spent, counts),
            *bars(what, medians, spent, counts),
        ]
    text += ["## What more threads can gain here", scaling(medians, counts)]
    text += ["## What a reader fetches, and a petabyte", *petabyte(given, about, spent)]
    return "\n\n".join(text) + "\n"


def looked_for(what, about):
    if what in about["needles"]:
        found, rows = about["found"][what], about["rows"]
        yield f"`{about['needles'][what]}`, in {found:,} rows ({100 * found / rows:.2f} %)."


def scaling(medians, counts):
    one = {name: medians["control", name, counts[0]] for name in CONTROLS}
    gain = {name: one[name] / medians["control", name, counts[-1]] for name in CONTROLS}
    return (
        f"{counts[-1]} threads of SHA-256, which share nothing, were {gain['control']:.2f} times as fast as one, "
        f"in the same turns, for the {one['control'] * 1e3:.0f} ms that one thread of it took. "
        f"{counts[-1]} threads that did nothing but write {FILLED / 1e9:.0f} GB of memory, each its share, were "
        f"{gain['memory']:.2f} times as fast as one, which took {one['memory'] * 1e3:.0f} ms. That is what the machine "
        "had to give while the above was measured. All lines in a frame are as much memory that must be written."
    )


def priority(nice):
    return f"; the measuring processes went first, with a nice value of {nice}" if nice < 0 else ""


def table(what, about, medians, spent, counts):
    rows = []
    for name in SYSTEMS:
        if (what, name, counts[0]) not in medians:
            continue
        size = next(value for key, value in about["file_bytes"].items() if name.startswith(key))
        one, most = medians[what, name, counts[0]], medians[what, name, counts[-1]]
        rows.append(
            [
                name,
                f"{about['bytes'] / size:.2f}",
                *(f"{medians[what, name, threads] * 1e3:.0f}" for threads in counts),
                f"{one / most:.2f}",
                f"{about['first'][what, name, counts[0]] * 1e3:.0f}",
                f"{spent[what, name, counts[0]] * 1e3:.0f}",
                f"{about['bytes'] / spent[what, name, counts[0]] / 1e9:.2f}",
            ]
        )
    return (
        Table(
            [
                "system",
                "ratio",
                *(
                    f"{threads} threads, ms" if threads > 1 else "1 thread, ms"
                    for threads in counts
                ),
                f"1 → {counts[-1]}, ×",
                "first time, ms",
                "1 thread, CPU ms",
                "GB/s of CPU",
            ],
            rows,
        )
        .markdown()
        .rstrip()
    )


def bars(what, medians, spent, counts):
    """How many times faster ours are than the others, by the clock and by the processor's time."""
    others = [
        name
        for name in SYSTEMS
        if (what, name, counts[0]) in medians and not name.startswith("fastpair")
    ]
    for ours in OURS[what]:
        if (what, ours, counts[0]) not in medians:
            continue
        found = []
        for name in others:
            clock = [
                f"{medians[what, name, threads] / medians[what, ours, threads]:.1f}"
                for threads in counts
            ]
            found.append(
                f"{name} {' and '.join(clock)} ({spent[what, name, counts[0]] / spent[what, ours, counts[0]]:.1f} by CPU)"
            )
        yield f"{ours}, × faster with {' and '.join(map(str, counts))} threads: " + "; ".join(
            found
        ) + "."


def number(value):
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def petabyte(given, about, spent):
    ratio = about["bytes"] / about["file_bytes"]["fastpair"]
    parts = PETABYTE / PART
    count = spent["count", "fastpair, Dataset.count", 1]
    scan = spent["scan", "fastpair, fp.scan in Polars", 1]
    rows = [
        ["files of a column at rest", f"ratio {ratio:.2f}", number(PETABYTE / ratio)],
        ["parts of 1 GiB of rows", f"{number(PART / ratio)} each", f"{parts:,.0f}"],
    ]
    got = about["fetched"]
    if got:
        each = got["decoded_bytes"] / got["chunks"]
        rows += [
            [
                "chunks",
                f"{number(each)} of rows, {number(got['chunk_bytes'])} in the file",
                f"{PETABYTE / each:,.0f}",
            ],
            [
                "to open a part: requests and bytes",
                f"{got['open'][0]}, {number(got['open'][1])} of {number(got['file_bytes'])}",
                f"{number(parts * got['open'][1])} for all parts",
            ],
            ["then one row", f"{got['row'][0]}, {number(got['row'][1])}", "the same"],
            ["then one chunk", f"{got['chunk'][0]}, {number(got['chunk'][1])}", "the same"],
        ]
    rows += [
        [
            "counting rows that contain a word, files open",
            f"{about['bytes'] / count / 1e9:.2f} GB/s per core",
            f"{PETABYTE / (about['bytes'] / count) / 3600:,.0f} core-hours",
        ],
        [
            "decoding all rows",
            f"{about['bytes'] / scan / 1e9:.2f} GB/s per core",
            f"{PETABYTE / (about['bytes'] / scan) / 3600:,.0f} core-hours",
        ],
        [
            "fetching all files at 10 Gbit/s per machine",
            "assumed",
            f"{PETABYTE / ratio / NETWORK / 3600:,.0f} machine-hours",
        ],
    ]
    yield (
        "What was measured, scaled up to 10¹⁵ bytes of rows: arithmetic, not a measurement. Rates are "
        "those of one thread by its processor time."
    )
    body = Table(["", "measured", "for 10¹⁵ bytes of rows"], rows).markdown().rstrip()
    yield f"<!-- petabyte -->\n{body}\n<!-- end petabyte -->"
