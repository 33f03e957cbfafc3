"""steps_cpu.py - the steps of an evaluation on the CPU, one method per step. In: columns. Out:
calls of the measuring programs.
"""

import os
import re
import sys

from . import columns as columns_of
from .runner import Runner

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Codecs whose files are searched.
SEARCHED = ["auto", "onpair12"]
LIKE_OF_ADDRESSES = "%google%"


class CpuSteps(Runner):
    """Measurements that every machine can make."""

    def step_cpu(self):
        """Codec after codec, what is taken by default first: a run with a time limit may end in
        the middle.
        """
        codecs = sorted(self.given.codecs, key=lambda codec: codec != "auto")
        for codec in codecs:
            for column in self.columns:
                self.measure(
                    f"cpu {column.name} {codec}",
                    [
                        self.program("fastpair"),
                        "-b",
                        "--json",
                        "--backend=cpu",
                        "-i0.1",
                        f"--codec={columns_of.CODECS[codec]}",
                    ]
                    + (["-0"] if column.ends_with_nul else [])
                    + [column.text],
                    kind="cpu",
                    **self.about(column, codec),
                )

    def step_cpu_peers(self):
        for column in self.columns:
            self.peers(
                "cpu-peers",
                column,
                [
                    "--only=cpu",
                    "--seconds=0.1",
                    "--settings=quick" if self.given.quick else "--settings=main",
                ],
            )

    def step_cpu_search(self):
        """Rows counted by a search of codes, on one thread: a rare word and a common one of each
        column, and of addresses the LIKE that ClickBench asks for.
        """
        for column in self.columns:
            like = LIKE_OF_ADDRESSES if re.search("url", column.name, re.I) else ""
            for path, about in self.files(column, SEARCHED).items():
                self.measure(
                    f"cpu-search {column.name} {about['fastpair_codec']}",
                    [self.program("fastpair-search"), "-t", "1", "-j", like, path],
                    {path: about},
                )

    def step_cpu_rest(self):
        """Cold and warm files, zstd and Parquet: sizes, and what one thread reads."""
        self.encode_cold()
        for column in self.columns:
            warm = column.encoded(self.given.work, "auto")
            cold = column.encoded(self.given.work, columns_of.COLD)
            if not os.path.exists(warm) or not os.path.exists(cold):
                continue
            self.measure(
                f"cpu-rest {column.name}",
                [self.program("fastpair-peers"), "--seconds=0.2", f"--cold={cold}", warm],
                column=column.name,
            )
            self.measure(
                f"cpu-rest parquet {column.name}",
                [sys.executable, os.path.join(BENCH, "parquet"), "--seconds=0.3"]
                + (["-0"] if column.ends_with_nul else [])
                + [column.text],
                column=column.name,
            )
