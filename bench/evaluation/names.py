"""names.py - how codecs, kernels, peers and rates are called in tables and plots. In: result lines.
Out: texts.
"""

import re

from . import choose

CODEC_TITLES = {
    "onpair16": "OnPair-16",
    "onpair12": "OnPair-12",
    "fsst12": "FSST-12",
    "onpair14x8": "OnPair-14, 8 B",
    "onpair:12:32": "OnPair-12, 32 B",
    "onpair:12:64": "OnPair-12, 64 B",
    "onpair:14:16": "OnPair-14",
    "auto": "auto",
    "cold": "cold",
}

# The order of kernel families in tables and plots: the paper's, ours, and what was studied beside
# them.
FAMILIES = ["staged", "assembled", "shared"]


def title_of(codec):
    """Also of what auto may choose: onpair:13:8 is OnPair-13, 8 B. 16 bytes are the usual."""
    parts = re.fullmatch(r"onpair:(\d+)(?::(\d+))?", codec)
    if codec in CODEC_TITLES or not parts:
        return CODEC_TITLES.get(codec, codec)
    return f"OnPair-{parts[1]}" + (f", {parts[2]} B" if parts[2] not in (None, "16") else "")


def called(line):
    """The codec of a line of ours; of auto what it chose."""
    codec = line["fastpair_codec"]
    return f"{title_of(line['chosen_codec'])} (auto)" if "chosen_codec" in line else title_of(codec)


def rate(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def codecs(lines):
    present = choose.in_order(
        line["fastpair_codec"] for line in lines if line.get("fastpair_codec")
    )
    return [codec for codec in CODEC_TITLES if codec in present] + [
        codec for codec in present if codec not in CODEC_TITLES
    ]


def peer_name(line):
    size = line["chunk_bytes"]
    chunks = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
    return f"{line.get('library', '')} {line['codec']}, {line['level']}, {chunks}".replace(
        ".so.1", ""
    ).replace(".so.0", "")
