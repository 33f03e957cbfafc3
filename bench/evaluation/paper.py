"""paper.py - figures the paper "FastPair: GPU-Optimized String Decoding" states, to stand beside
ours. All from its text and tables; figures that it shows only as plots are not here.
"""

# Table 1. Bandwidth in TB/s; shared memory per multiprocessor in KiB. The clock is not in the
# paper:
# it is an assumption about the boost clock, in MHz, least certain for B300 and RTX PRO 6000-SE.
GPUS = [
    {
        "name": "B300",
        "bandwidth": 8.0,
        "multiprocessors": 148,
        "warps": 64,
        "shared": 228,
        "clock": 1920,
    },
    {
        "name": "H100-SXM 80 GB",
        "bandwidth": 3.35,
        "multiprocessors": 132,
        "warps": 64,
        "shared": 228,
        "clock": 1980,
    },
    {
        "name": "A100-SXM 40 GB",
        "bandwidth": 1.56,
        "multiprocessors": 108,
        "warps": 64,
        "shared": 164,
        "clock": 1410,
    },
    {
        "name": "RTX PRO 6000-SE",
        "bandwidth": 1.60,
        "multiprocessors": 188,
        "warps": 48,
        "shared": 100,
        "clock": 2430,
    },
    {
        "name": "L40S",
        "bandwidth": 0.86,
        "multiprocessors": 142,
        "warps": 48,
        "shared": 100,
        "clock": 2520,
    },
]

# Decode rates in GB/s that the text gives, of the paper's own columns.
RATES = {
    "B300": {
        "onpair12": "952 to 1529 (ten real columns)",
        "onpair16": "814 to 1620 (ten real columns)",
        "fsst12": "1409 (Loghub Windows)",
    },
    "H100-SXM 80 GB": {"onpair16": "1413 (Loghub Windows)"},
}

# Table 2: |Codes|, mean bytes per code, share of at most 8 bytes (None for FSST-12), compression
# ratio.
TABLE_2 = {
    "FineWeb2 Mandarin": {
        "onpair16": (65426, 4.9, 89, 2.5),
        "onpair12": (4045, 3.0, 100, 2.0),
        "fsst12": (4030, 2.4, None, 1.6),
    },
    "Wikipedia": {
        "onpair16": (65428, 5.6, 82, 2.8),
        "onpair12": (4047, 3.2, 98, 2.1),
        "fsst12": (3771, 2.7, None, 1.8),
    },
    "CodeParrot": {
        "onpair16": (65231, 6.1, 77, 3.0),
        "onpair12": (4059, 3.5, 93, 2.3),
        "fsst12": (3917, 2.9, None, 1.9),
    },
    "Loghub Android": {
        "onpair16": (61629, 9.3, 43, 4.6),
        "onpair12": (3930, 4.2, 86, 2.8),
        "fsst12": (3686, 3.0, None, 2.0),
    },
    "ClickBench URL": {
        "onpair16": (64428, 8.6, 51, 4.3),
        "onpair12": (4012, 4.7, 81, 3.1),
        "fsst12": (3678, 3.2, None, 2.1),
    },
    "ClickBench Title": {
        "onpair16": (64802, 10.1, 37, 5.0),
        "onpair12": (4026, 5.7, 79, 3.8),
        "fsst12": (2660, 3.0, None, 2.0),
    },
    "Loghub HDFS": {
        "onpair16": (63932, 9.0, 48, 4.5),
        "onpair12": (3617, 6.7, 63, 4.4),
        "fsst12": (1413, 3.9, None, 2.8),
    },
    "Loghub Thunderbird": {
        "onpair16": (59823, 11.0, 23, 5.5),
        "onpair12": (3541, 7.6, 55, 5.0),
        "fsst12": (2225, 3.5, None, 2.4),
    },
    "Loghub Spark": {
        "onpair16": (62485, 11.2, 21, 5.5),
        "onpair12": (3640, 8.3, 42, 5.5),
        "fsst12": (2037, 4.0, None, 2.9),
    },
    "Loghub Windows": {
        "onpair16": (37853, 12.1, 18, 6.0),
        "onpair12": (3551, 10.1, 37, 6.7),
        "fsst12": (1793, 4.5, None, 3.3),
    },
    "TPC-H c_address": {
        "onpair16": (65180, 2.2, 100, 1.1),
        "onpair12": (3904, 1.9, 100, 1.3),
        "fsst12": (3904, 1.9, None, 1.3),
    },
    "TPC-H l_comment": {
        "onpair16": (64971, 10.4, 33, 5.2),
        "onpair12": (3862, 7.7, 58, 5.1),
        "fsst12": (1044, 4.0, None, 3.1),
    },
    "TPC-H o_clerk": {
        "onpair16": (45000, 15.0, 0, 7.5),
        "onpair12": (3837, 7.7, 48, 5.1),
        "fsst12": (783, 3.8, None, 3.0),
    },
    "TPC-H l_shipinstruct": {
        "onpair16": (5, 9.6, 40, 25.2),
        "onpair12": (5, 9.6, 40, 25.2),
        "fsst12": (8, 6.0, None, 15.8),
    },
    "TPC-H ps_comment": {
        "onpair16": (65049, 12.7, 16, 6.3),
        "onpair12": (3865, 10.3, 32, 6.8),
        "fsst12": (936, 4.9, None, 3.9),
    },
}


def same_column(name):
    """The paper's column that a column's name says it is, or None: tpch_l_comment, loghub_hdfs,
    clickbench_url, wikipedia...
    """
    words = set(name.lower().replace("-", "_").split("_"))
    for title in TABLE_2:
        wanted = {word for word in title.lower().replace("tpc-h", "tpch").replace("_", " ").split()}
        if wanted <= words:
            return title
    return None
