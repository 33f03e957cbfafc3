"""steps_cpu.py - the steps of an evaluation on the CPU, one method per step. In: columns. Out:
calls of the measuring programs.
"""

from . import columns as columns_of
from .runner import Runner


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
