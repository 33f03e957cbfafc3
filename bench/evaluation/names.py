"""names.py - how codecs, kernels, peers and rates are called in tables and plots. In: result lines.
Out: texts.
"""

from . import choose

CODEC_TITLES = {
    "onpair16": "OnPair-16",
    "onpair12": "OnPair-12",
    "fsst12": "FSST-12",
    "onpair14x8": "OnPair-14, 8 B",
}


# The order of kernel families in tables and plots: the paper's, ours, and what was studied beside
# them.
FAMILIES = ["staged", "assembled", "shared"]


def title_of(codec):
    return CODEC_TITLES.get(codec, codec)


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
