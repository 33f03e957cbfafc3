"""choose.py - picking measurements. In: result lines. Out: the best of them, by column, codec,
kernel family. Only verified ones count.
"""


def family(line):
    """staged and staged8 are one family, and so are the others with an 8: the paper's decoder,
    for the two token sizes.
    """
    return line["kernel"].split()[0].rstrip("8")


def good(lines, kind, **wanted):
    return [
        line
        for line in lines
        if line["kind"] == kind
        and line.get("verified", True)
        and all(line.get(key) == value for key, value in wanted.items())
    ]


def full_rates(lines, **wanted):
    """Decode rates of whole columns from device memory to bytes alone: not the study of sizes,
    positions as stored.
    """
    return [
        line
        for line in good(lines, "rate", **wanted)
        if line.get("study") != "sizes"
        and line["positions"] == "stored"
        and line.get("outputs", "bytes") == "bytes"
    ]


def rates_with_offsets(lines, **wanted):
    """The same to bytes and row offsets, with validity where the column has nulls."""
    return [line for line in good(lines, "rate", **wanted) if "offsets" in line.get("outputs", "")]


def best(lines):
    return max(lines, key=lambda line: line["gb_s"], default=None)


def best_rate(lines, **wanted):
    return best(full_rates(lines, **wanted))


def best_by_family(lines, **wanted):
    """family: line"""
    found = {}
    for line in full_rates(lines, **wanted):
        name = family(line)
        if name not in found or line["gb_s"] > found[name]["gb_s"]:
            found[name] = line
    return found


def best_kernels(lines, column, codec):
    """The name of the best kernel of each family, and of the paper's recommended one if it was
    measured.
    """
    names = [
        line["kernel"]
        for _, line in sorted(best_by_family(lines, column=column, fastpair_codec=codec).items())
    ]
    recommended = "staged K6 W8 H1 T256 B4"
    measured = {line["kernel"] for line in full_rates(lines, column=column, fastpair_codec=codec)}
    return names + ([recommended] if recommended in measured and recommended not in names else [])


def in_order(values):
    """Distinct values in the order they first appear."""
    return list(dict.fromkeys(values))


def columns(lines):
    return in_order(line["column"] for line in lines if line.get("column"))


def envelope(points):
    """The (ratio, rate) points that no other point beats in both: the rate that is reached at this
    ratio or a better one.
    """
    chosen, top = [], 0.0
    for ratio, rate in sorted(points, key=lambda point: (-point[0], -point[1])):
        if rate > top:
            chosen.append((ratio, rate))
            top = rate
    return chosen[::-1]


def fit(points):
    """Least squares y = slope x + offset, with the correlation; None for fewer than three points
    or no spread.
    """
    count = len(points)
    if count < 3:
        return None
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    if xx == 0 or yy == 0:
        return None
    slope = xy / xx
    return slope, mean_y - slope * mean_x, xy / (xx * yy) ** 0.5
