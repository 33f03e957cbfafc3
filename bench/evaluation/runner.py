"""runner.py - running measuring programs. In: the options of bench/run. Out: prepared columns,
encoded files, and the programs' JSON lines in a store. A step that was done before is left out.
"""

import json
import os
import re
import subprocess
import sys
import time

from . import columns as columns_of
from .machine import describe_machine
from .store import Store

NO_GPU = 77  # exit code of fastpair-measure
AT_LIMIT = "ended at the time limit"


class Runner:
    def __init__(self, given):
        self.given = given
        self.begin = time.monotonic()
        self.configuration = {
            "quick": given.quick,
            "bytes": given.bytes,
            "launches": given.launches,
            "column_bytes": given.column_bytes,
        }
        os.makedirs(given.work, exist_ok=True)
        path = os.path.join(given.out, "results.jsonl")
        if given.fresh and os.path.exists(path):
            os.remove(path)
        self.store = Store(path, self.configuration)
        if not self.store.run:
            machine = describe_machine(given)
            machine["run"] = re.sub(r"[^0-9]", "", machine["date"])
            machine["configuration"] = self.configuration
            self.store.add(machine)
        self.failed = []
        self.kernel_names = []
        self.has_finer = False
        self.has_cold = False

    def progress(self, text):
        """One line that overwrites itself, on a terminal only."""
        if sys.stderr.isatty():
            seconds = int(time.monotonic() - self.begin)
            sys.stderr.write(
                f"\r\033[K[{seconds // 60}:{seconds % 60:02}] {text}" if text else "\r\033[K"
            )
            sys.stderr.flush()

    def program(self, name):
        return os.path.join(self.given.build, name)

    def out_of_time(self):
        return (
            self.given.time_limit is not None
            and time.monotonic() - self.begin > self.given.time_limit
        )

    def measure(self, step, command, by_file=None, **extra):
        """Runs a program that prints JSON lines, and keeps them with `extra` and what `by_file`
        has for the file they are about. A step that was done before is left out; one that fails
        is reported and the rest goes on. One that the time limit ends is no failure: what it
        measured counts, and the next run measures it again. Returns the exit code, or None if it
        was not run.
        """
        if step in self.store.done or self.out_of_time():
            return None
        self.progress(step)
        begin = time.monotonic()
        left = (
            None
            if self.given.time_limit is None
            else max(0.0, self.begin + self.given.time_limit - begin)
        )
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as ran:
            try:
                out, errors = ran.communicate(timeout=left)
            except subprocess.TimeoutExpired:
                ran.kill()
                out, errors = ran.communicate()
                errors = AT_LIMIT
        done = {"kind": "done", "step": step, "seconds": round(time.monotonic() - begin, 2)}
        if errors == AT_LIMIT or (ran.returncode == 0 and errors.strip()):
            print(f"\nbench/run: {step}: {errors.strip()[-300:]}", file=sys.stderr)
        elif ran.returncode not in (0, NO_GPU):
            done["error"] = f"exit code {ran.returncode}: {errors.strip()[-300:]}"
            self.fail(step, done["error"])
        # What was measured before a failure counts; a step that measured nothing is tried again the
        # next time.
        lines = [
            json.loads(text)
            for text in out.splitlines()
            if text.startswith("{") and text.endswith("}")
        ]
        for line in lines:
            line.setdefault("kind", extra.get("kind"))
            line.update((by_file or {}).get(line.pop("file", None), {}))
            self.store.add(
                {
                    **line,
                    **{key: value for key, value in extra.items() if key != "kind"},
                    "step": step,
                }
            )
        if ran.returncode == 0 or (lines and errors != AT_LIMIT):
            self.store.add(done)
        return ran.returncode

    def fail(self, step, why):
        self.failed.append(step)
        print(f"\nbench/run: {step}: {why}", file=sys.stderr)

    # ------------------------------------------------------------ columns

    def prepare(self):
        given = self.given
        self.progress("preparing columns")
        self.columns = columns_of.prepare_all(
            given.tpch, given.inputs, given.work, given.column_bytes, given.build
        )
        if not self.columns:
            raise SystemExit("bench/run: no columns: name files, or leave --tpch out")
        names = [column.name for column in self.columns]
        for wrong in [name for name in given.detail or [] if name not in names]:
            raise SystemExit(f"bench/run: no column is called {wrong}")
        self.detailed = [
            column for column in self.columns if given.detail is None or column.name in given.detail
        ]
        logs = [name for name in names if re.search("windows|hadoop|log|hdfs|spark", name, re.I)]
        self.study = given.study or (logs + [self.columns[0].name])[0]
        if self.study not in names:
            raise SystemExit(f"bench/run: no column is called {self.study}")

    def encode(self):
        given = self.given
        self.encode_jobs(
            [(column, codec, None) for column in self.columns for codec in given.codecs]
        )
        for column in self.columns:
            for codec in given.codecs:
                self.measure(
                    f"column {column.name} {codec}",
                    [self.program("fastpair"), "-l", "--json", column.encoded(given.work, codec)],
                    kind="column",
                    column=column.name,
                    fastpair_codec=codec,
                    origin=column.origin,
                )
        self.chosen = {
            line["column"]: line["codec"]
            for line in self.store.of_kind("column")
            if line["fastpair_codec"] == "auto"
        }

    def encode_jobs(self, jobs):
        given = self.given
        for what, why in columns_of.encode_all(jobs, given.build, given.work, self.progress):
            self.fail(f"encoding {what}", why)

    def encode_finer(self):
        """Files with finer sidecars, when a step first needs them: the steps that most readers
        want do without.
        """
        if self.has_finer or self.out_of_time():
            return
        self.has_finer = True
        self.encode_jobs(
            [
                (column, codec, columns_of.FINE_BATCH)
                for column in self.columns
                for codec in self.given.codecs
                if codec in ("onpair12", "onpair16")
                or (
                    codec in columns_of.STUDIED
                    and (column in self.detailed or column.name == self.study)
                )
            ]
        )

    def encode_cold(self):
        """Cold files, when a step first needs them."""
        if self.has_cold or self.out_of_time():
            return
        self.has_cold = True
        self.encode_jobs([(column, columns_of.COLD, None) for column in self.columns])

    def about(self, column, codec):
        """What results of an encoded column say; of auto also what it chose."""
        said = {"column": column.name, "fastpair_codec": codec}
        if codec == "auto" and column.name in self.chosen:
            said["chosen_codec"] = self.chosen[column.name]
        return said

    # ------------------------------------------------------------ the GPU

    def find_gpu(self):
        """Whether there is a GPU; measures its copies and what each kernel needs the first time."""
        program = self.program("fastpair-measure")
        if not os.path.exists(program):
            self.has_gpu = False
            return
        limit, self.given.time_limit = self.given.time_limit, None
        code = self.measure("device", [program, "device", "--launches=20"])
        self.has_gpu = code == 0 or "device" in self.store.done
        if self.has_gpu:
            self.measure("kernels", [program, "kernels"], table="carried")
            self.kernel_names = [
                line["kernel"]
                for line in self.store.of_kind("kernel")
                if line.get("table") == "carried"
            ]
        self.given.time_limit = limit

    def files(self, column, codecs, batch=None):
        """Encoded files, with what results about them say. One process measures all of a
        column's: starting on a GPU takes a while.
        """
        if batch:
            self.encode_finer()
        found = {
            column.encoded(self.given.work, codec, batch): self.about(column, codec)
            for codec in codecs
            if codec in self.given.codecs
        }
        return {path: about for path, about in found.items() if os.path.exists(path)}

    def rates(self, step, column, codecs, options, batch=None, grid=False):
        given, files = self.given, self.files(column, codecs, batch)
        program = self.program("fastpair-measure-grid" if grid else "fastpair-measure")
        if files:
            self.measure(
                f"{step} {column.name}",
                [
                    program,
                    "rates",
                    f"--bytes={given.bytes}",
                    f"--launches={given.launches}",
                    *options,
                    *files,
                ],
                files,
                study=step.split()[0],
            )

    def peers(self, step, column, options):
        """Other codecs on a column's bytes, which the program takes from one of its encoded
        files.
        """
        path = next(iter(self.files(column, self.given.codecs)), None)
        if path and os.path.exists(
            self.program("fastpair-peers")
        ):  # there is none in a build without GPU support
            self.measure(
                f"{step} {column.name}",
                [self.program("fastpair-peers"), *options, path],
                column=column.name,
            )
