"""What Python costs: decoding to pyarrow and writing, against the same calls in C, in one process.

    python python/bench/overhead.py build/libfastpair.so ROWS.txt

Both sides use one thread, take turns, and count by their least CPU time, which other programs on the
machine disturb little. C is called through ctypes in the
shared library of the same tree. It decodes twice: to memory that has been used before, and to memory
that is new each time, as an array that somebody keeps must be.
"""
import ctypes
import mmap
import sys
import tempfile
import time

import pyarrow as pa

import fastpair as fp

ROUNDS = 15


class Destination(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("bytes", ctypes.c_void_p), ("bytes_capacity", ctypes.c_uint64),
                ("offsets", ctypes.c_void_p), ("offset_bits", ctypes.c_uint32), ("validity", ctypes.c_void_p),
                ("nulls", ctypes.c_uint64)]


class ArrowArray(ctypes.Structure):
    pass


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
ArrowArray._fields_ = [("numbers", ctypes.c_int64 * 5), ("pointers", ctypes.c_void_p * 3), ("release", RELEASE),
                       ("private_data", ctypes.c_void_p)]


class Rows(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("rows", ctypes.c_uint64), ("bytes", ctypes.c_void_p),
                ("offsets", ctypes.c_void_p), ("offset_bits", ctypes.c_uint32), ("validity", ctypes.c_void_p),
                ("validity_bit_offset", ctypes.c_uint64)]


WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Sink(ctypes.Structure):
    _fields_ = [("write", WRITE), ("context", ctypes.c_void_p)]


def clock(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def turns(rounds, **calls):
    """The least time of each."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], clock(call))
    return best


def decode(library, path, nbytes, rows):
    column = ctypes.c_void_p()
    assert library.fastpair_column_open_file(path.encode(), None, ctypes.byref(column), None) == 0
    col = fp.open(path, threads=1)

    def into(data, offsets):
        target = Destination(ctypes.sizeof(Destination), ctypes.addressof(data), nbytes, ctypes.addressof(offsets), 32)
        assert library.fastpair_column_decode(column, 0, rows, ctypes.byref(target), None) == 0

    data, offsets = (ctypes.c_uint8 * nbytes)(), (ctypes.c_uint32 * (rows + 1))()

    def fresh():
        size = (nbytes + 4095) // 4096 * 4096
        memory, more = mmap.mmap(-1, size), mmap.mmap(-1, 4 * (rows + 1))
        into((ctypes.c_uint8 * nbytes).from_buffer(memory), (ctypes.c_uint32 * (rows + 1)).from_buffer(more))

    def export():
        array = ArrowArray()
        assert library.fastpair_column_export_array(column, 0, rows, None, None, ctypes.byref(array), None) == 0
        array.release(ctypes.byref(array))

    best = turns(ROUNDS, used=lambda: into(data, offsets), new=fresh, export=export, pyarrow=lambda: pa.array(col),
                 stream=lambda: pa.chunked_array(col), binary=lambda: pa.array(col, type=pa.binary()))
    assert pa.array(col, type=pa.binary()).buffers()[2].to_pybytes()[:nbytes] == bytes(data)
    print("| decode | GB/s |\n|---|--:|")
    for name, text in (("used", "C, fastpair_column_decode to used memory"), ("new", "C, the same to new memory"),
                       ("export", "C, fastpair_column_export_array"), ("pyarrow", "pyarrow.array(col)"),
                       ("binary", "pyarrow.array(col, type=binary)"), ("stream", "pyarrow.chunked_array(col)")):
        print(f"| {text} | {nbytes / best[name] / 1e9:.2f} |")
    print(f"pyarrow / C's export: {best['export'] / best['pyarrow']:.3f}; to C's decode, new memory: "
          f"{best['new'] / best['pyarrow']:.3f}; used memory: {best['used'] / best['pyarrow']:.3f}")


def write(library, array, image_size):
    rows = Rows(ctypes.sizeof(Rows), len(array), array.buffers()[2].address, array.buffers()[1].address, 32)
    taken = []

    @WRITE
    def take(context, data, size):
        taken.append(size)
        return 0

    def compress():
        taken.clear()
        writer = ctypes.c_void_p()
        sink = Sink(take)
        assert library.fastpair_writer_open(ctypes.byref(sink), None, ctypes.byref(writer), None) == 0
        assert library.fastpair_writer_append(writer, ctypes.byref(rows), None) == 0
        assert library.fastpair_writer_finish(writer, None) == 0
        library.fastpair_writer_close(writer)

    listed = array.to_pylist()
    with tempfile.NamedTemporaryFile() as file:
        best = turns(3, c=compress, python=lambda: fp.write(file.name, array, threads=1, type="bytes"),
                     text=lambda: fp.write(file.name, array, threads=1),
                     list=lambda: fp.write(file.name, listed, threads=1, type="bytes"))
        # Type and name are in the footer, so that sizes differ by some bytes.
        assert abs(sum(taken) - image_size) < 1000
    nbytes = array.buffers()[2].size
    print("\n| write | MB/s |\n|---|--:|")
    for name, text in (("c", "C, fastpair_writer_append"), ("python", "fp.write(path, array, type='bytes')"),
                       ("text", "fp.write(path, array)"), ("list", "fp.write(path, list of str, type='bytes')")):
        print(f"| {text} | {nbytes / best[name] / 1e6:.1f} |")
    print(f"Python / C: {best['c'] / best['python']:.3f}")


def main():
    library = ctypes.CDLL(sys.argv[1])
    with open(sys.argv[2], "rb") as file:
        array = pa.array(file.read().split(b"\n"), pa.binary()).cast(pa.string())
    with tempfile.NamedTemporaryFile(suffix=".fpc") as file:
        fp.write(file.name, array)
        col = fp.open(file.name)
        print(f"{len(array):,} rows, {col.nbytes / 1e6:.1f} MB, ratio {col.info['ratio']:.2f}\n")
        decode(library, file.name, col.nbytes, len(col))
        write(library, array.slice(0, len(array) // 4), len(fp.compress(array.slice(0, len(array) // 4))))


if __name__ == "__main__":
    main()
