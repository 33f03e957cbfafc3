"""steps_cpu.py - the steps of an evaluation on the CPU, one method per step. In: columns. Out:
calls of the measuring programs.
"""

from . import columns as columns_of
from .runner import Runner


class CpuSteps(Runner):
    """Measurements that every machine can make."""

    def step_cpu(self):
        for column in self.columns:
            for codec in self.given.codecs:
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
                    column=column.name,
                    fastpair_codec=codec,
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
