"""sections_search.py - searches of codes on the CPU. In: result lines. Out: a section of the report."""

from . import choose
from .document import Section, Table
from .names import called, rate

ROLES = ["rare", "common", "like"]


def search_table(found, columns):
    headers = [
        "column",
        "codec",
        "pattern",
        "rows that pass",
        "of",
        "GB/s",
        "decode and scan, GB/s",
        "times as fast",
    ]
    rows = []
    for column in columns:
        of_column = [line for line in found if line["column"] == column]
        for line in sorted(of_column, key=lambda line: ROLES.index(line["role"])):
            is_like = line["role"] == "like"
            rows.append(
                [
                    column,
                    called(line),
                    f"LIKE '{line['pattern']}'" if is_like else line["pattern"],
                    str(line["matches"]),
                    str(line["rows"]),
                    rate(line["gb_s"]),
                    rate(line["scan_gb_s"]),
                    f"{line['gb_s'] / line['scan_gb_s']:.1f}",
                ]
            )
    return Table(headers, rows)


def search(lines):
    section = Section("Searches on the CPU")
    found = choose.good(lines, "search")
    if not found:
        return section.say("Not measured in this run.")
    times = sorted(line["gb_s"] / line["scan_gb_s"] for line in found)
    section.say(
        "One thread. GB/s: bytes of all rows over the time in which a search of codes finds the rows"
        " that pass, from packed codes in memory. Beside it: all rows decoded, and each of them"
        " scanned with memmem. Words are drawn from the rows: of 200, those that fewest and most rows"
        " have. The LIKE is the one that ClickBench asks of addresses. The rows found are those that"
        f" memmem finds. A search is {times[0]:.1f} to {times[-1]:.1f} times as fast as decoding and"
        " scanning."
    )
    return section.add(search_table(found, choose.columns(found)))
