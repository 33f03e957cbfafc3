#!/usr/bin/env python3
"""Checks the GPU workers of count_rows.py on a machine with a GPU and PyTorch or CuPy, where no engine need be.

    python gpu_worker_check.py FILE [--parts N] [--bytes N] [--workers N] [--word WORD]

In: a file of rows, newline-separated. They are written as a table in parts, in a folder of its own. Out: for each
library that is installed one line, with the time and the answer of worker processes that decode on the GPU. The
answer must be that of a search on codes, by the CPU, and of Python's own `in`. Exit code 1 where one differs, 77
where neither library finds a GPU.
"""
import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

import pyarrow

import count_rows
import fastpair as fp

HAS_GPU = {"torch": "import torch; torch.zeros(1, device='cuda')", "cupy": "import cupy; cupy.zeros(1)"}


def usable(library):
    """Asks in another process: this one must not have a context of CUDA that workers would meet."""
    if importlib.util.find_spec(library) is None:
        return False
    return subprocess.run([sys.executable, "-c", HAS_GPU[library]], capture_output=True).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--bytes", type=int, default=64 << 20, help="of the file that are taken (64 Mi)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--word", default="failed")
    given = parser.parse_args()
    with open(given.file, "rb") as file:
        rows = file.read(given.bytes).decode(errors="replace").splitlines()
    hits = [row for row in rows if given.word in row]
    expected = len(hits), sorted(hits)[:count_rows.TEN]
    wrong, tried = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "table")
        fp.write_table(table, pyarrow.table({"line": rows}), part_rows=-(-len(rows) // given.parts))
        parts = len(fp.open_table(table).parts)
        print(f"{len(rows)} rows in {parts} parts, {expected[0]} of them contain {given.word!r}")
        answers = {"CPU, on codes": lambda: count_rows.with_process(table, "line", given.word)}
        for library in filter(usable, HAS_GPU):
            tried += 1
            answers[f"{given.workers} GPU workers, {library}"] = lambda library=library: (
                count_rows.with_processes_on_gpu(table, "line", given.word, library, workers=given.workers))
        for name, ask in answers.items():
            begin = time.perf_counter()
            found = ask()
            wrong += found != expected
            print(f"{name}: {found[0]} rows in {time.perf_counter() - begin:.2f} s, processes' start included: "
                  f"{'right' if found == expected else 'WRONG'}", flush=True)
    if not tried:
        print("neither PyTorch nor CuPy finds a GPU here")
        return 77
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
