"""The examples on GPU workers, where the GPU is emulated: with libraries that were built with kernels."""
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import count_rows
import emulated
import fastpair as fp
from conftest import WORD

DRIVER = pathlib.Path(os.environ.get("FASTPAIR_TEST_BUILD") or "nowhere") / "tests" / "emulated_cuda"
VARIABLES = {"LD_LIBRARY_PATH": str(DRIVER), "FAKE_CUDA_MEMORY": "200000000"}


def on_workers(run):
    """Skips where the library has no kernels; only a worker can tell, as the driver is known to workers alone."""
    if not (DRIVER / "libcuda.so.1").exists():
        pytest.skip("the build folder has no emulated driver")
    try:
        return run()
    except Exception as error:
        if "built without kernels" in str(error):
            pytest.skip("the library was built without kernels")
        raise


@pytest.fixture(scope="module")
def parts(table):
    """Some parts of the table: the emulator is slow."""
    return f"{table}/part-0000[0-7]"


@pytest.fixture(scope="module")
def answer(parts):
    found = count_rows.with_process(parts, "line", WORD)
    assert found[0] > 50
    return found


def test_ray(parts, answer, ray_cluster):
    environment = {"runtime_env": {"env_vars": VARIABLES}}
    found = on_workers(lambda: count_rows.with_ray_on_gpus(parts, "line", WORD, "cupy", emulated.find, **environment))
    assert found == answer


def test_dask(parts, answer):
    import dask
    from distributed import Client, LocalCluster

    def run():
        # Libraries are looked for where the environment said when the process began.
        with dask.config.set({"distributed.nanny.pre-spawn-environ": VARIABLES}), \
                LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="2GiB", dashboard_address=None,
                             resources={"GPU": 1}) as cluster, Client(cluster):
            return count_rows.with_dask_on_gpus(parts, "line", WORD, "cupy", emulated.find)

    assert on_workers(run) == answer


def test_processes(parts, answer, monkeypatch):
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)     # libraries are looked for where it says when a process begins
    found = on_workers(lambda: count_rows.with_processes_on_gpu(parts, "line", WORD, "cupy", emulated.find))
    assert found == answer


def test_check_says_that_there_is_no_gpu(tmp_path):
    """Right answers of the CPU, and exit code 77."""
    rows = tmp_path / "rows.txt"
    rows.write_text("".join(f"line {i} {'failed' if i % 7 == 0 else 'ok'}\n" for i in range(1000)))
    script = pathlib.Path(count_rows.__file__).parent / "gpu_worker_check.py"
    done = subprocess.run([sys.executable, script, rows, "--parts", "3"], capture_output=True, text=True, timeout=120)
    if done.returncode == 0:
        pytest.skip("there is a GPU")
    assert done.returncode == 77 and "143 of them" in done.stdout and "right" in done.stdout, done.stdout + done.stderr


def test_search():
    """The search itself, on arrays of the CPU: words across the ends of rows, at both ends, twice in a row."""
    rows = ["timeout", "", "time", "out", "a timeout timeout", "x", "timeou", "t", "timeouttimeout"]
    decoded = fp.open(fp.compress(rows, codec="stored"))._decode(2)
    bytes_ = numpy.frombuffer(decoded._buffer(2), numpy.uint8)
    offsets = numpy.frombuffer(decoded._buffer(1), numpy.int32)[:len(rows) + 1]
    assert list(count_rows.search(bytes_, offsets, b"timeout", "numpy")) == [0, 4, 8]
    assert list(count_rows.search(bytes_, offsets, b"nowhere to be found", "numpy")) == []
    assert list(count_rows.search(bytes_[:3], offsets[:1], b"timeout", "numpy")) == []
