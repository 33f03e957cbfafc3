"""sections_predicted.py - a model of rates on the paper's other GPUs. In: rates measured on one
GPU. Out: a section that says it is a model.
"""

from . import choose, paper
from .document import Section, Table
from .names import codecs, rate, title_of

# Of the peak bandwidth that decoding reaches on devices whose memory limits it, by the paper.
REACHED_BANDWIDTH = 0.9


def predicted(lines):
    section = Section("Predicted rates for the paper's GPUs", "the paper's Figure 8, by a model")
    devices, runs = choose.good(lines, "device"), choose.good(lines, "run")
    rates = choose.full_rates(lines)
    clock = next((run["gpu"]["clocks.max.sm"] for run in runs if "gpu" in run), None)
    if not devices or not rates or not clock:
        return section.say("Not measured in this run: no GPU.")
    here = devices[0]
    mhz = next((line["sm_mhz"] for line in choose.good(lines, "clocks")), float(clock.split()[0]))
    section.say(
        "A model, not a measurement. It needs clocks, which the paper does not state: those in the"
        " first row are assumptions about each GPU's boost clock, least certain for B300 and RTX"
        " PRO 6000-SE, and where the pipe is the limit an error in a clock is the same error in the"
        " rate."
    )
    section.say(
        "Where the L1 pipe limits decoding, the rate goes with multiprocessors × clock; it cannot"
        f" exceed {REACHED_BANDWIDTH:.0%} of the memory bandwidth, for compressed bytes in and"
        f" decoded bytes out. From rates measured here ({here['gpu']}: {here['multiprocessors']}"
        f" multiprocessors, {mhz:.0f} MHz) with kernels of the staged family, the paper's decoder."
        " Where the table says memory, bandwidth is the limit. It knows nothing of cache sizes or"
        " of how many blocks fit."
    )
    for codec in [codec for codec in codecs(rates) if codec in ("onpair12", "onpair16", "fsst12")]:
        rows = [
            ["assumed clock, MHz", *[str(gpu["clock"]) for gpu in paper.GPUS]],
            [
                "the paper's own",
                *[paper.RATES.get(gpu["name"], {}).get(codec, "not stated") for gpu in paper.GPUS],
            ],
        ]
        for column in choose.columns(rates):
            line = choose.best_by_family(lines, column=column, fastpair_codec=codec).get("staged")
            if not line:
                continue
            cells = []
            for gpu in paper.GPUS:
                pipe = (
                    line["gb_s"]
                    * gpu["multiprocessors"]
                    * gpu["clock"]
                    / (here["multiprocessors"] * mhz)
                )
                memory = REACHED_BANDWIDTH * gpu["bandwidth"] * 1e3 / (1 + 1 / line["ratio"])
                cells.append(f"{rate(min(pipe, memory))}{' (memory)' if memory < pipe else ''}")
            rows.append([column, *cells])
        section.add(Table(["GB/s", *[gpu["name"] for gpu in paper.GPUS]], rows, title_of(codec)))
    return section
