"""agreement.py - how far two runs agree. In: the result lines of both. Out: pairs of the same
measurement, sums over them, a section of the report. Rates on the GPU are judged: they should
repeat within LIMIT. What the host's clock, memory and other tenants have a part in is shown, not
judged.
"""

from .document import Section, Table

LIMIT = 0.05
# What tells one measurement from another.
KEY = (
    "kind",
    "column",
    "fastpair_codec",
    "library",
    "codec",
    "level",
    "chunk_bytes",
    "kernel",
    "study",
    "positions",
    "outputs",
    "batch_codes",
    "how",
    "memory",
    "wanted_bytes",
    "pattern",
)
# The part of a run a kind of measurement belongs to; the first is judged.
PARTS = {
    "rate": "GPU, from device memory",
    "gpu_peer": "GPU, from device memory",
    "host": "from host memory",
    "host_peer": "from host memory",
    "cpu": "CPU",
    "cpu_peer": "CPU",
    "rest": "CPU",
    "search": "CPU",
}
JUDGED = "GPU, from device memory"
MOST_LISTED = 60


def key_of(line):
    # A kernel from host memory is the library's choice, no part of what is asked for. Bytes alone
    # are what lines without outputs are about.
    return tuple(
        None
        if name == "kernel" and line["kind"] == "host" or line.get(name) == "bytes"
        else line.get(name)
        for name in KEY
    )


def value_of(line):
    """GB/s; None for a line that has no rate."""
    if line["kind"] not in PARTS or not line.get("verified", True):
        return None
    return line["cpu_decode_1_mb_s"] / 1e3 if line["kind"] == "cpu" else line.get("gb_s")


class Pair:
    def __init__(self, line, first, second):
        self.line, self.first, self.second = line, first, second
        self.part, self.difference = PARTS[line["kind"]], second / first - 1

    def name(self):
        named = [str(part) for part in key_of(self.line)[1:] if part is not None]
        return f"{self.line['kind']}: {' '.join(named)}"


def pairs(lines, others):
    """Every measurement that both runs have, verified in both."""
    second = {key_of(line): value_of(line) for line in others if value_of(line)}
    found = {
        key_of(line): Pair(line, value_of(line), second[key_of(line)])
        for line in lines
        if value_of(line) and key_of(line) in second
    }
    return list(found.values())


class Agreement:
    """Of some pairs: how many, the median and the 95th percentile of the differences, the
    largest, and those beyond the limit.
    """

    def __init__(self, found):
        apart = sorted(abs(pair.difference) for pair in found)
        self.count = len(apart)
        self.median, self.most_of_them, self.largest = (
            apart[min(len(apart) - 1, int(share * len(apart)))] for share in (0.5, 0.95, 1.0)
        )
        self.beyond = sorted(
            (pair for pair in found if abs(pair.difference) > LIMIT),
            key=lambda pair: -abs(pair.difference),
        )


def by_part(found):
    """(part, its agreement), the one that is judged first."""
    parts = [
        part for part in dict.fromkeys(PARTS.values()) if any(pair.part == part for pair in found)
    ]
    return [(part, Agreement([pair for pair in found if pair.part == part])) for part in parts]


def percent(share):
    return f"{100 * share:.1f} %"


def verdict(found):
    """One sentence about the rates that are judged; empty without any."""
    judged = dict(by_part(found)).get(JUDGED)
    if not judged:
        return ""
    return (
        f"{judged.count - len(judged.beyond)} of {judged.count} rates on the GPU repeat within"
        f" {LIMIT:.0%}; the median difference is {percent(judged.median)}, the 95th percentile"
        f" {percent(judged.most_of_them)}, the largest {percent(judged.largest)}."
    )


def table(found):
    return Table(
        [
            "",
            "measurements",
            "median difference",
            "95th percentile",
            "largest",
            f"beyond {LIMIT:.0%}",
        ],
        [
            [
                part,
                str(a.count),
                percent(a.median),
                percent(a.most_of_them),
                percent(a.largest),
                str(len(a.beyond)),
            ]
            for part, a in by_part(found)
        ],
    )


def section(lines, others):
    made = Section("Reproduction: a second run")
    found = pairs(lines, others)
    if not found:
        return made.say("The two runs have no measurement in common.")
    run = next((line for line in others if line["kind"] == "run"), {})
    made.say(
        f"Measured again {run.get('date', 'at an unknown time')}, fastpair at commit"
        f" {run.get('commit') or 'unknown'}, with the same programs and options, by a new process"
        " and from newly encoded columns. "
        + verdict(found)
        + " Rates from host memory and of the CPU depend on the host, which is shared; they are"
        " listed, not judged."
    )
    made.add(table(found))
    for part, agreement in by_part(found):
        shown = agreement.beyond[: MOST_LISTED if part == JUDGED else 12]
        if shown:
            rest = (
                f"; {len(shown)} of {len(agreement.beyond)}"
                if len(shown) < len(agreement.beyond)
                else ""
            )
            made.add(
                Table(
                    ["measurement", "first, GB/s", "second, GB/s", "difference"],
                    [
                        [
                            pair.name(),
                            f"{pair.first:.4g}",
                            f"{pair.second:.4g}",
                            f"{100 * pair.difference:+.1f} %",
                        ]
                        for pair in shown
                    ],
                    f"{part}: beyond {LIMIT:.0%}{rest}",
                )
            )
    return made


def completed(lines, others):
    """The first run's lines, and the second's of every kind and column that the first does not
    have.
    """
    present = {(line["kind"], line.get("column")) for line in lines}
    return lines + [
        line
        for line in others
        if line["kind"] in PARTS and (line["kind"], line.get("column")) not in present
    ]
