"""steps_gpu.py - the steps of an evaluation on a GPU, one method per step. In: encoded columns.
Out: calls of the measuring programs.
"""

import os
import re
import shutil
import subprocess
import sys
import time

from . import columns as columns_of
from .machine import output_of
from .runner import Runner

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class GpuSteps(Runner):
    """Measurements that need a GPU."""

    def step_clocks(self):
        """The clocks while decoding, as the driver tells them."""
        given, samples = self.given, []
        if "clocks" in self.store.done or self.out_of_time() or not shutil.which("nvidia-smi"):
            return
        self.progress("clocks")
        busy = subprocess.Popen(
            [
                self.program("fastpair-measure"),
                "rates",
                f"--bytes={given.bytes}",
                "--launches=4000",
                "--kernel=chosen",
                self.study_column().encoded(given.work, given.codecs[0]),
            ],
            stdout=subprocess.DEVNULL,
        )
        query = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "utilization.gpu"]
        while busy.poll() is None:
            text = output_of(
                ["nvidia-smi", "--query-gpu=" + ",".join(query), "--format=csv,noheader,nounits"]
            ).split("\n")[0]
            try:
                samples.append([float(value) for value in text.split(",")])
            except ValueError:
                pass
            time.sleep(0.2)
        loaded = sorted(
            sample for sample in samples if len(sample) == len(query) and sample[4] >= 50
        )
        if loaded:
            line = dict(
                zip(
                    ("sm_mhz", "memory_mhz", "watts", "celsius", "utilization"),
                    loaded[len(loaded) // 2],
                )
            )
            self.store.add({"kind": "clocks", "step": "clocks", "samples": len(loaded), **line})
        self.store.add({"kind": "done", "step": "clocks"})

    def step_rates(self):
        """The kernel that the library chooses, for every codec: to bytes alone, and with row
        offsets.
        """
        for column in self.columns:
            self.rates(
                "rates", column, self.given.codecs, ["--kernel=chosen", "--outputs=both"]
            )

    def step_families(self):
        """Every kernel that can use the sidecars files have unless told otherwise: 32 × K is a
        multiple of their 256 codes.
        """
        kernels = [
            f"--kernel=={name}" for name in self.kernel_names if name not in self.needs_finer()
        ]
        for column in self.columns if kernels else []:
            self.rates("families", column, columns_of.STUDIED, kernels)

    def needs_finer(self):
        return [
            name
            for name in self.kernel_names
            if 32 * int((re.search(r"K(\d+)", name) or [0, 8])[1]) % 256
        ]

    def step_fine(self):
        """The other kernels, on files with finer sidecars; not those that the study of widths
        measures for every column.
        """
        for column in self.detailed:
            for codecs in (
                ["onpair12", "onpair16"],
                [codec for codec in columns_of.STUDIED if codec not in ("onpair12", "onpair16")],
            ):
                known = (
                    self.width_kernels()
                    if self.has_grid()
                    and "widths" in self.given.steps
                    and codecs[:1] == ["onpair12"]
                    else []
                )
                kernels = [f"--kernel=={name}" for name in self.needs_finer() if name not in known]
                if kernels:
                    self.rates(
                        f"fine {' '.join(codecs)}", column, codecs, kernels, columns_of.FINE_BATCH
                    )

    def step_sidecar(self):
        given, files = self.given, {}
        for column in self.columns:
            files.update(self.files(column, columns_of.STUDIED))
        self.measure(
            "sidecar",
            [
                self.program("fastpair-measure"),
                "rates",
                f"--bytes={given.bytes}",
                f"--launches={given.launches}",
                "--kernel=chosen",
                "--positions=both",
                *files,
            ],
            files,
            study="sidecar",
        )

    def has_grid(self):
        return os.path.exists(self.program("fastpair-measure-grid"))

    def study_column(self):
        return next(column for column in self.columns if column.name == self.study)

    def step_studies(self):
        """The paper's studies of kernel parameters, on one column."""
        if not self.has_grid():
            return
        column = self.study_column()
        self.measure(
            "grid kernels", [self.program("fastpair-measure-grid"), "kernels"], table="grid"
        )
        launch = [
            f"--kernel==staged K{k} W8 H1 T{t} B{b}"
            for k in range(1, 9)
            for t in (64, 128, 256)
            for b in (1, 4, 8)
        ]
        hoist = [
            f"--kernel==staged K{k} W8 H{h} T256 B{b}"
            for k in range(1, 9)
            for h in (0, 2, 3, 4)
            if h <= k
            for b in (1, 4, 8)
        ]
        for name, kernels in (("launch", launch), ("hoist", hoist)):
            for part in range(0, len(kernels), 48):
                self.rates(
                    f"{name}-{part // 48}",
                    column,
                    ["onpair12"],
                    kernels[part : part + 48],
                    columns_of.FINE_BATCH,
                    grid=True,
                )
        self.rates(
            "shared", column, ["onpair12"], ["--kernel=shared "], columns_of.FINE_BATCH, grid=True
        )
        self.rates(
            "shared8", column, ["fsst12"], ["--kernel=shared8 "], columns_of.FINE_BATCH, grid=True
        )
        self.rates(
            "staged8",
            column,
            ["fsst12"],
            [f"--kernel==staged8 K{k} T256 B4" for k in (4, 5, 6, 7, 8)],
            columns_of.FINE_BATCH,
            grid=True,
        )

    def width_kernels(self):
        return [
            f"staged K{k} W{w} H{h} T256 B4" for k in (4, 5, 6, 7, 8) for w, h in ((8, 1), (16, 0))
        ]

    def step_widths(self):
        """Split reads against whole ones, on every column."""
        if not self.has_grid():
            return
        for column in self.columns:
            self.rates(
                "widths",
                column,
                ["onpair16", "onpair12"],
                [f"--kernel=={name}" for name in self.width_kernels()],
                columns_of.FINE_BATCH,
                grid=True,
            )

    def step_sizes(self):
        """From 1 MB to 4 GB with the kernel the library chooses; below the column's size the
        first rows of it, with the whole column's dictionary.
        """
        given, column = self.given, self.study_column()
        if self.out_of_time():
            return
        size = os.path.getsize(column.text)
        dictionary = os.path.join(given.work, f"{column.name}.dictionary")
        codec = "onpair12"
        if not os.path.exists(dictionary):
            subprocess.run(
                [
                    self.program("fastpair"),
                    "-q",
                    "-f",
                    f"--codec={codec}",
                    f"--train-dict={dictionary}",
                ]
                + (["-0"] if column.ends_with_nul else [])
                + [column.text],
                check=True,
            )
        for wanted in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000] + (
            [] if given.quick else [4000]
        ):
            if self.out_of_time():
                return
            wanted *= 1000000
            part = columns_of.prefix(column, given.work, min(wanted, size))
            target = part.encoded(given.work, codec)
            if not os.path.exists(target):
                subprocess.run(
                    [self.program("fastpair"), "-q", "-f", "-D", dictionary, "-o", target]
                    + (["-0"] if column.ends_with_nul else [])
                    + [part.text],
                    check=True,
                )
            self.measure(
                f"size {column.name} {wanted}",
                [
                    self.program("fastpair-measure"),
                    "rates",
                    f"--bytes={wanted}",
                    f"--launches={given.launches}",
                    "--kernel=chosen",
                    target,
                ],
                column=column.name,
                fastpair_codec=codec,
                study="sizes",
                wanted_bytes=wanted,
            )

    def step_host(self):
        """From pinned host memory, on every column; in detail every codec, and pageable memory."""
        for column in self.columns:
            detailed = column in self.detailed
            files = self.files(column, self.given.codecs if detailed else columns_of.FROM_HOST)
            if files:
                self.measure(
                    f"host {column.name}",
                    [
                        self.program("fastpair-measure"),
                        "host",
                        f"--bytes={self.given.bytes}",
                        "--passes=5",
                        *self.memory(column),
                        *files,
                    ],
                    files,
                )

    def step_host_rest(self):
        """Cold files from pinned host memory; the CPU unpacks them on the way."""
        self.encode_cold()
        for column in self.columns:
            path = column.encoded(self.given.work, columns_of.COLD)
            if os.path.exists(path):
                self.measure(
                    f"host-rest {column.name}",
                    [
                        self.program("fastpair-measure"),
                        "host",
                        f"--bytes={self.given.bytes}",
                        "--passes=3",
                        "--memory=pinned",
                        path,
                    ],
                    {path: {"column": column.name, "fastpair_codec": columns_of.COLD}},
                )

    def memory(self, column):
        return [] if column in self.detailed else ["--memory=pinned"]

    def step_host_peers(self):
        """nvCOMP in the settings that matter from host memory, on every column."""
        for column in self.columns if self.given.nvcomp else []:
            self.gpu_peers(
                "host-peers",
                column,
                ["--settings=host", "--from-host", "--passes=3", *self.memory(column)],
            )

    def step_peers(self):
        """nvCOMP's other settings, from device memory."""
        known = ["--not-host"] if "host-peers" in self.given.steps else []
        for column in self.columns if self.given.nvcomp else []:
            which = "all" if column in self.detailed else "main"
            self.gpu_peers(
                "peers", column, [f"--settings={'quick' if self.given.quick else which}", *known]
            )

    def gpu_peers(self, step, column, options):
        given = self.given
        self.peers(
            step,
            column,
            ["--only=gpu", f"--nvcomp={given.nvcomp}", f"--bytes={given.bytes}", *options],
        )

    def step_counters(self):
        if not shutil.which("ncu"):
            return
        for codec in ("onpair12", "fsst12", "onpair16"):
            for path in self.files(self.study_column(), [codec], columns_of.FINE_BATCH):
                self.measure(
                    f"counters {self.study} {codec}",
                    [
                        sys.executable,
                        os.path.join(BENCH, "counters"),
                        "--build",
                        self.given.build,
                        "--bytes",
                        self.given.bytes,
                        "--results",
                        self.store.path,
                        "--column",
                        self.study,
                        "--codec",
                        codec,
                        path,
                    ],
                    column=self.study,
                    fastpair_codec=codec,
                )
