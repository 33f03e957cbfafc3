"""The GPU's part where there is no GPU: refusals, and decoding on a made-up one."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import fastpair as fp
from fastpair import _fastpair


def has_module(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


@pytest.mark.skipif(has_module("torch") or has_module("cupy"), reason="there is a library")
def test_no_library(column):
    for use in (column.to_gpu, column.to_cupy, column.to_torch, column.upload):
        with pytest.raises(ImportError):
            use()
    with pytest.raises(ValueError):
        column.to_gpu(library="numpy")
    with pytest.raises(ValueError):
        column.to_gpu(offset_bits=16)


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")
def test_no_device(column):
    with pytest.raises(fp.Error) as caught:
        _fastpair.gpu_job(0, [column], 0, None)
    assert caught.value.status == "UNSUPPORTED"
    with pytest.raises(ValueError):
        _fastpair.gpu_job(-1, [column], 0, None)


@pytest.mark.parametrize("name", ["emulated_gpu.py", "emulated_gpu_search.py"])
def test_a_made_up_device(name):
    build = pathlib.Path(os.environ.get("FASTPAIR_TEST_BUILD") or "nowhere")
    folder = build / "tests" / "emulated_cuda"
    if not (folder / "libcuda.so.1").exists():
        pytest.skip("the build folder has no emulated driver")
    script = pathlib.Path(__file__).with_name(name)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(folder), FAKE_CUDA_MEMORY="50000000")
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    if "built without kernels" in done.stderr:
        pytest.skip("the library was built without kernels")
    assert done.returncode == 0 and done.stdout == "good\n", done.stderr[-3000:]


def test_slices_with_narrow_offsets():
    """Offsets that 32 bits cannot hold are refused, not cut off."""
    from fastpair import _gpu

    class Decoded:
        format, null_count = "Z", 0

        def __init__(self, end):
            self.buffers = None, np.array([0, end], "int64").tobytes(), b""

        def _decode(self, type_):
            return self

        def _buffer(self, i):
            return self.buffers[i]

        def __len__(self):
            return 1

    class Library:
        index = 0

        def copy(self, data, kind):
            return np.frombuffer(data, kind)

    assert _gpu._decode_part(Decoded(2**31 - 1), Library(), 32).offsets.tolist() == [0, 2**31 - 1]
    with pytest.raises(fp.Error) as caught:
        _gpu._decode_part(Decoded(2**31), Library(), 32)
    assert caught.value.status == "LIMIT"
    assert _gpu._decode_part(Decoded(2**31), Library(), 64).offsets.tolist() == [0, 2**31]
