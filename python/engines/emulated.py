"""What a worker runs in place of count_rows.find_on_gpu where there is no GPU: the same, on a driver whose kernels
the CPU emulates. The library, its kernels and the search are the real ones; NumPy takes the place of CuPy."""
import pathlib
import sys

import numpy

import count_rows


def find(item, column, word, library):
    """count_rows.find_on_gpu, on the emulated GPU."""
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))
    import emulated_gpu

    from fastpair import _gpu

    assert library == "cupy"
    emulated_gpu.use_device()
    _gpu._LIBRARIES["cupy"] = emulated_gpu.Library
    sys.modules["cupy"] = numpy
    count_rows.decode = decode
    return count_rows.find_on_gpu(item, column, word, library)


def decode(rows, library):
    return tuple(memory.get() for memory in rows.to_cupy())
