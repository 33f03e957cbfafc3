"""standing.py - fastpair beside its peers. In: result lines. Out: for each column, what auto takes,
or where that was not measured our fastest codec, and the fastest peer at an equal or better ratio.
"""

from . import choose
from .document import Table
from .names import called, codecs, peer_name, rate


def best_peer(peers, ratio):
    """The fastest peer at an equal or better ratio; None if there is none."""
    return choose.best([line for line in peers if line["ratio"] >= ratio])


def ours_of(column, present, fastest_of):
    """auto's line where there is one: it is what a user has who chooses nothing. Otherwise the
    fastest codec's; None without any.
    """
    return ("auto" in present and fastest_of(column, "auto")) or choose.best(
        [line for line in (fastest_of(column, codec) for codec in present) if line]
    )


class Standing:
    """A column: our codec, the best peer at an equal or better ratio (None with the
    reason in no_peer), the fastest peer of all.
    """

    def __init__(self, column, ours, peers):
        self.column, self.ours, self.peer, self.any_peer = (
            column,
            ours,
            best_peer(peers, ours["ratio"]),
            choose.best(peers),
        )
        self.no_peer = (
            f"no peer reaches {ours['ratio']:.2f} (best {max(line['ratio'] for line in peers):.2f})"
            if peers
            else "no peer was measured"
        )


def standing(lines, fastest_of, kind):
    """One Standing per column with a rate of ours."""
    found = []
    for column in choose.columns(lines):
        ours = ours_of(column, codecs(lines), fastest_of)
        if ours:
            found.append(Standing(column, ours, choose.good(lines, kind, column=column)))
    return found


def against(lines, fastest_of, kind, unit):
    """One row per column: fastpair, and the best peer at an equal or better ratio."""
    rows = []
    for found in standing(lines, fastest_of, kind):
        ours, peer, any_peer = found.ours, found.peer, found.any_peer
        rows.append(
            [
                found.column,
                called(ours),
                rate(ours["gb_s"]),
                f"{ours['ratio']:.2f}",
                peer_name(peer) if peer else found.no_peer,
                rate(peer["gb_s"]) if peer else "–",
                f"{peer['ratio']:.2f}" if peer else "–",
                f"{ours['gb_s'] / peer['gb_s']:.1f}" if peer else "–",
                (
                    f"{peer_name(any_peer)}: {rate(any_peer['gb_s'])} at {any_peer['ratio']:.2f}"
                    if any_peer
                    else "–"
                ),
            ]
        )
    return Table(
        [
            "column",
            "fastpair",
            f"{unit}",
            "ratio",
            "best peer at an equal or better ratio",
            f"{unit}",
            "ratio",
            "×",
            "fastest peer at any ratio",
        ],
        rows,
    )


def cpu_fastest(lines):
    def of(column, codec):
        found = [
            dict(line, gb_s=line["cpu_decode_1_mb_s"] / 1e3)
            for line in choose.good(lines, "cpu", column=column, fastpair_codec=codec)
        ]
        return choose.best(found)

    return of
