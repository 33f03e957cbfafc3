"""sections_python.py - fastpair beside other systems, from Python. In: result lines that
bench/python-peers wrote. Out: sections of a report, and its summary for documents that quote it.
"""

import statistics

from . import choose
from .document import Plot, Section, Table
from .names import rate, title_of
from .svg_grid import grid

TITLE = "fastpair beside other systems, from Python"
OURS = "fastpair auto"
# What is timed, and how it is called.
TIMED = {
    "full": "open and decode",
    "decode": "decode",
    "take": "take",
    "contains": "contains",
}


def is_ours(line):
    return line["system"].startswith("fastpair")


def called(line):
    """With what the library chose, where that says something."""
    chosen = line.get("chosen")
    if not chosen or line["system"].startswith("fastpair onpair"):
        return line["system"]
    return f"{line['system']} ({title_of(chosen)})"


def about(lines):
    return any(line["kind"] == "python" for line in lines)


def gb_s(line, what):
    return line["bytes"] / line[f"{what}_ms"] / 1e6


def milliseconds(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def lead(lines):
    run = next((line for line in lines if line["kind"] == "run"), {})
    configuration = run.get("configuration", {})
    versions = ", ".join(f"{k} {v}" for k, v in configuration.get("versions", {}).items())
    found = choose.good(lines, "python")
    all_lines = [line for line in lines if line["kind"] == "python"]
    noise = factor(found, "ms", "ms_least")
    return [
        f"Measured {run.get('date', 'at an unknown time')}, fastpair at commit"
        f" {run.get('commit') or 'unknown'}, by `bench/python-peers`. CPU: {run.get('cpu')},"
        f" {run.get('cpus')} threads, of which one was used. Versions: {versions}.",
        "One process on one core, one thread per system, files in the page cache. Systems take"
        f" turns, in alternating order; times are medians of {configuration.get('rounds', '?')} or"
        f" more, of writing {configuration.get('writes', '?')}. Times are the processor's, of all"
        " threads of the process: on one core that is the time that passes, less what other"
        " processes take. The machine did other work: medians by the clock are"
        f" {factor(found, 'ms_wall', 'ms'):.2f} times as long, and these medians"
        f" {noise:.2f} times the least of their rounds (half of them more, half less).",
        f"Every result of every round was compared with the rows: {len(found)} of"
        f" {len(all_lines)} lines verified;"
        f" {'the others are left out' if len(found) < len(all_lines) else 'none is left out'}."
        " Ratio is bytes of rows over bytes of the file. *Open and decode*: from a path to an"
        " Arrow array or table of all rows; *decode*: the same of a file that is open already."
        " *Take*: rows by their numbers, sorted, of an open file. *Contains*: the rows with a"
        " substring, as Arrow, of an open file. fastpair checks all text that it decodes to be UTF-8.",
    ]


def factor(lines, above, below):
    """How much longer one of two times is, in the middle of all measurements."""
    factors = [
        line[f"{what}_{above}"] / line[f"{what}_{below}"] for line in lines for what in TIMED
    ]
    return statistics.median(factors or [1])


def fastest(lines, what, time="ms"):
    return min(lines, key=lambda line: line[f"{what}_{time}"], default=None)


def pair_of(lines, column):
    """auto's line and those of other systems."""
    found = choose.good(lines, "python", column=column)
    ours = next((line for line in found if line["system"] == OURS), None)
    return ours, [line for line in found if not is_ours(line)]


def densest(lines):
    return max(
        [line for line in lines if line["random_access"]],
        key=lambda line: line["ratio"],
        default=None,
    )


def summary_table(lines, columns):
    """auto beside the densest other system with random access, and beside the fastest in each
    thing.
    """
    headers = ["column", "ratio", "densest other with random access"]
    for title in ("open and decode, GB/s", "take, ms", "contains, ms"):
        headers += [title, "fastest other", "×"]
    rows = []
    for column in columns:
        ours, others = pair_of(lines, column)
        if not ours or not others:
            continue
        dense = densest(others)
        row = [column, f"{ours['ratio']:.2f}"]
        row.append(f"{dense['ratio']:.2f}, {dense['system']}" if dense else "–")
        for what in ("full", "take", "contains"):
            best = fastest(others, what)
            show = figure(what)
            row += [show(ours), f"{show(best)}, {best['system']}"]
            row.append(f"{best[what + '_ms'] / ours[what + '_ms']:.2f}")
        rows.append(row)
    return Table(headers, rows)


def figure(what):
    if what in ("full", "decode"):
        return lambda line: rate(gb_s(line, what))
    return lambda line: milliseconds(line[f"{what}_ms"])


def verdicts(lines, columns):
    """On how many columns auto is ahead, and where it is not."""
    pairs = [(column, *pair_of(lines, column)) for column in columns]
    pairs = [(column, ours, others) for column, ours, others in pairs if ours and others]
    sentences, by_clock = [], []
    for what, title in TIMED.items():
        behind = behind_in(pairs, what, "ms")
        sentences.append(say_ahead(title[0].upper() + title[1:], "all others", behind, len(pairs)))
        behind = behind_in(pairs, what, "ms_wall")
        by_clock.append(f"{title} {len(pairs) - len(behind)}")
    denser = [
        (column, [o for o in others if o["random_access"] and o["ratio"] >= ours["ratio"]])
        for column, ours, others in pairs
    ]
    behind = [
        f"{column} ({', '.join(ratio_of(other) for other in found)})"
        for column, found in denser
        if found
    ]
    sentences.append(say_ahead("Ratio", "all others with random access", behind, len(pairs)))
    return [*sentences, f"By the clock: {', '.join(by_clock)} of {len(pairs)} columns."]


def behind_in(pairs, what, time):
    best = [(column, ours, fastest(others, what, time)) for column, ours, others in pairs]
    return [
        f"{column} ({ratio_of(other)})"
        for column, ours, other in best
        if other[f"{what}_{time}"] <= ours[f"{what}_{time}"]
    ]


def ratio_of(line):
    return f"{line['system']}, ratio {line['ratio']:.2f}"


def say_ahead(title, whom, behind, count):
    text = f"{title}: ahead of {whom} on {count - len(behind)} of {count} columns"
    return text + (f"; not on {', '.join(behind)}." if behind else ".")


def summary(lines):
    columns = choose.columns(choose.good(lines, "python"))
    section = Section("fastpair auto beside the best of the others")
    if not columns:
        return section.say("Nothing was measured.")
    section.say(" ".join(verdicts(lines, columns)))
    section.say(
        "With random access a row is read without decoding a block of many: fastpair's warm files,"
        " Vortex (without compact), Lance, and DuckDB where it does not choose zstd. × is how many"
        " times faster fastpair is."
    )
    return section.add(summary_table(lines, columns))


def series_of(lines, columns, what):
    names = choose.in_order(line["system"] for line in lines)
    ours = [name for name in names if name.startswith("fastpair")]
    others = [name for name in names if name not in ours]
    parts = []
    for column in columns:
        series = []
        for name in ours + others:
            found = [line for line in lines if line["system"] == name and line["column"] == column]
            mine = name in ours
            series.append(
                {
                    "name": name,
                    "index": ours.index(name) if mine else others.index(name),
                    "ours": mine,
                    "points": [
                        (
                            line["ratio"],
                            gb_s(line, what),
                            f"{name}: {rate(gb_s(line, what))} GB/s at {line['ratio']:.2f}",
                        )
                        for line in found
                    ],
                }
            )
        parts.append((column, series))
    return parts


def plots(lines):
    found = choose.good(lines, "python")
    columns = choose.columns(found)
    section = Section("Ratio against decoding")
    if not found:
        return section.say("Nothing was measured.")
    section.say("Up and to the right is better; fastpair's marks are the large ones.")
    return section.add(
        Plot(
            "python-ratio-decode",
            grid(
                "From a path to Arrow: ratio against the rate, one thread",
                "ratio",
                "open and decode, GB/s",
                series_of(found, columns, "full"),
            ),
            "Ratio against the rate of open and decode, per column, all systems",
        )
    )


def column_sections(lines):
    sections = []
    for column in choose.columns(choose.good(lines, "python")):
        found = choose.good(lines, "python", column=column)
        one = found[0]
        section = Section(column)
        section.say(
            f"{one['rows']} rows, {one['bytes'] / 1e6:.1f} MB; {one['taken']} rows taken;"
            f" `{one['needle']}` is in {one['found']} rows ({one['found'] / one['rows']:.2%})."
        )
        headers = ["system", "random access", "ratio", "write MB/s", "open and decode ms", "GB/s"]
        headers += ["decode ms", "GB/s", "take ms", "contains ms"]
        rows = [
            [
                called(line),
                "yes" if line["random_access"] else "no",
                f"{line['ratio']:.2f}",
                f"{line['write_mb_s']:.0f}",
                milliseconds(line["full_ms"]),
                rate(gb_s(line, "full")),
                milliseconds(line["decode_ms"]),
                rate(gb_s(line, "decode")),
                milliseconds(line["take_ms"]),
                milliseconds(line["contains_ms"]),
            ]
            for line in found
        ]
        sections.append(section.add(Table(headers, rows)))
        for line in lines:
            if line["kind"] == "python" and line["column"] == column and "error" in line:
                section.say(f"{line['system']} failed: {line['error']}")
    return sections


def sections(lines):
    return [summary(lines), plots(lines), *column_sections(lines)]
