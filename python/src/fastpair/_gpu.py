"""Decoding on a GPU, into memory that PyTorch or CuPy owns: their allocators give it and get it back,
and work is queued on their current stream. Neither is needed by the rest of the package."""
import sys

from . import _fastpair
from ._fastpair import Error

_OFFSETS, _VALIDITY = 1, 2
_FAULTS = {1: "a code is not in the dictionary", 2: "the sidecar is wrong", 4: "row lengths do not add up"}


class _Torch:
    """Memory and streams of PyTorch."""

    def __init__(self, device, stream):
        import torch

        self.torch = torch
        if isinstance(device, int):
            device = torch.device("cuda", device)
        device = torch.device(device or "cuda")
        if device.type != "cuda":
            raise ValueError(f"this is for CUDA devices, not {device}")
        if not torch.cuda.is_available():
            raise Error("PyTorch finds no CUDA device")
        self.index = torch.cuda.current_device() if device.index is None else device.index
        self.device = torch.device("cuda", self.index)
        if isinstance(stream, int):
            stream = torch.cuda.ExternalStream(stream, device=self.device)
        self.stream = stream or torch.cuda.current_stream(self.device)
        self.address_of_stream = self.stream.cuda_stream

    def empty(self, count, kind, zero=False):
        # Within the stream, so that the allocator knows where the memory is used.
        with self.torch.cuda.stream(self.stream):
            make = self.torch.zeros if zero else self.torch.empty
            return make(count, dtype=getattr(self.torch, kind), device=self.device)

    def copy(self, data, kind):
        tensor = self.torch.frombuffer(bytearray(data), dtype=getattr(self.torch, kind)) if data else None
        if tensor is None:
            return self.empty(0, kind)
        with self.torch.cuda.stream(self.stream):
            return tensor.to(self.device)

    def address(self, tensor):
        return tensor.data_ptr()

    def number(self, tensor):
        with self.torch.cuda.stream(self.stream):
            return int(tensor.item())

    def event(self):
        """An event after all that is queued now, and its address."""
        event = self.torch.cuda.Event()
        event.record(self.stream)
        return event, event.cuda_event

    def follow(self, other, memory):
        """What is queued from now on comes after what `other` has queued, and reads memory of its."""
        self.stream.wait_stream(other.stream)
        memory.record_stream(self.stream)

    def hand_back(self, other):
        """Called after what reads that memory is queued. The allocator knows of the stream already."""


class _Cupy:
    """Memory and streams of CuPy."""

    def __init__(self, device, stream):
        import cupy

        self.cupy = cupy
        if isinstance(device, str):
            device = int(device.partition(":")[2]) if ":" in device else None
        self.index = cupy.cuda.Device().id if device is None else int(device)
        self.device = cupy.cuda.Device(self.index)
        if isinstance(stream, int):
            stream = cupy.cuda.ExternalStream(stream, self.index)
        with self.device:
            self.stream = stream or cupy.cuda.get_current_stream()
        self.address_of_stream = self.stream.ptr

    def empty(self, count, kind, zero=False):
        with self.device, self.stream:
            return (self.cupy.zeros if zero else self.cupy.empty)(count, dtype=kind)

    def copy(self, data, kind):
        import numpy

        with self.device, self.stream:
            return self.cupy.asarray(numpy.frombuffer(data, kind))

    def address(self, array):
        return array.data.ptr

    def number(self, array):
        with self.device, self.stream:
            return int(array.item())

    def event(self):
        with self.device:
            event = self.cupy.cuda.Event(disable_timing=True)
            event.record(self.stream)
        return event, event.ptr

    def follow(self, other, memory):
        self.stream.wait_event(other.event()[0])

    def hand_back(self, other):
        # Memory that is freed is used again by whatever its own stream queues next, which must therefore
        # come after what this stream still reads.
        other.stream.wait_event(self.event()[0])


_LIBRARIES = {"torch": _Torch, "cupy": _Cupy}


def _library(name, device, stream):
    if name is not None:
        if name not in _LIBRARIES:
            raise ValueError(f"library is torch or cupy, not {name!r}")
        return _LIBRARIES[name](device, stream)
    # One that the program uses already, else one that is installed.
    for name in [n for n in _LIBRARIES if n in sys.modules] + list(_LIBRARIES):
        try:
            return _LIBRARIES[name](device, stream)
        except ImportError:
            continue
    raise ImportError("decoding on a GPU needs PyTorch or CuPy, which own the memory")


class GpuArray:
    """Decoded rows in GPU memory.

    bytes      of all rows, back to back (uint8)
    offsets    one more than there are rows, int32 or int64: row i is bytes[offsets[i]:offsets[i + 1]]
    validity   a bit per row as in Arrow, 1 where the row is not null (uint8); None: no row is null

    These are tensors of PyTorch or arrays of CuPy and speak DLPack; the memory is theirs. The GpuArray
    itself speaks the Arrow C Device interface. Work may still be queued: see check().
    """

    def __init__(self, library, bytes, offsets, validity, rows, nulls):
        self.bytes, self.offsets, self.validity = bytes, offsets, validity
        self.null_count, self.device = nulls, library.index
        self._library, self._rows = library, rows
        # What exported arrays keep alive, whatever becomes of the attributes.
        self._owners = bytes, offsets, validity
        # Of a queued decode: its status word and what it reads. Of any decode: the job and the output.
        self._pending = self._job = self._output = None

    def __len__(self):
        return self._rows

    def check(self):
        """Waits for the GPU; raises Error if the file is corrupt. Returns self."""
        status = self._pending and self._library.number(self._pending[0])
        if status:
            error = Error("corrupt data on the GPU: " + ", ".join(t for b, t in _FAULTS.items() if status & b))
            error.status, error.message = "CORRUPT", str(error)
            raise error
        self._pending = None
        return self

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        """Capsules of an ArrowSchema and an ArrowDeviceArray, whose event consumers wait for.

        Text is Arrow's utf8 if all tokens are ASCII or the column was validated before, else binary:
        nobody looks at the rows on the GPU.
        """
        unknown = [key for key, value in kwargs.items() if value is not None]
        if unknown or not self._job:
            raise NotImplementedError(f"unknown arguments: {', '.join(unknown)}" if unknown else
                                      "slices are decoded by the CPU: give the whole column, or the slice itself")
        self.check()
        event, address = self._library.event()
        return self._job.export(self._output, address, (*self._owners, event))

    def __repr__(self):
        return f"<fastpair.GpuArray of {self._rows:,} rows on device {self.device}>"


class GpuColumn:
    """A compressed column in GPU memory, made by Column.upload(); decode() may be called again and again."""

    def __init__(self, column, device=None, stream=None, library=None):
        self._library = _library(library, device, stream)
        self._column = column
        outputs = _OFFSETS | (_VALIDITY if column._totals()["nulls"] else 0)
        self._job = _fastpair.gpu_job(self._library.index, [column], outputs, None)
        self.info = self._job.info()
        # One byte at least: what is empty has no address.
        size = max(self.info["device_bytes"], 1)
        self._memory = self._library.empty(size, "uint8")
        self._job.upload(self._library.address(self._memory), size, self._library.address_of_stream)

    def decode(self, *, stream=None, offset_bits=None):
        """Queues a decode on a stream (None: the one of the upload), and returns the GpuArray to be."""
        library = self._library
        if stream is not None:
            library = type(library)(library.index, stream)
            library.follow(self._library, self._memory)
        sizes = self._job.column(0)
        rows, nbytes = sizes["rows"], sizes["decoded_bytes"]
        bits = offset_bits or (32 if nbytes <= 2**31 - 1 else 64)
        data = library.empty(nbytes, "uint8")
        offsets = library.empty(rows + 1, f"int{bits}")
        validity = library.empty(sizes["validity_bytes"], "uint8") if sizes["nulls"] else None
        status = library.empty(1, "int32", zero=True)
        address = library.address
        result = GpuArray(library, data, offsets, validity, rows, sizes["nulls"])
        result._job = self._job
        result._output = (address(data), nbytes, address(offsets), bits,
                          address(validity) if validity is not None else 0, address(status))
        self._job.decode([result._output], library.address_of_stream)
        if library is not self._library:
            library.hand_back(self._library)
        # What the queued work still reads lives as long as nobody has waited for it.
        result._pending = status, self
        return result


def _decode_part(column, library, offset_bits):
    """A slice: decoded by the CPU, then copied. A GPU decodes whole chunks."""
    array = column._decode(2)
    bits = offset_bits or (32 if array.format == "z" else 64)
    data, offsets, validity = array._buffer(2) or b"", array._buffer(1), array._buffer(0)
    if bits != (32 if array.format == "z" else 64):
        import numpy

        wide = numpy.frombuffer(offsets, f"int{96 - bits}")
        if bits == 32 and wide[-1] > 2**31 - 1:
            error = Error(f"the rows have {wide[-1]} bytes, too many for 32-bit offsets")
            error.status, error.message = "LIMIT", str(error)
            raise error
        offsets = wide.astype(f"int{bits}").tobytes()
    return GpuArray(library, library.copy(data, "uint8"), library.copy(offsets, f"int{bits}"),
                    library.copy(validity, "uint8") if array.null_count else None, len(array), array.null_count)


def decode(column, device, stream, library, offset_bits):
    """Column.to_gpu()"""
    if offset_bits not in (None, 32, 64):
        raise ValueError("offset_bits is 32 or 64")
    if len(column) != column._totals()["rows"] or not len(column):
        return _decode_part(column, _library(library, device, stream), offset_bits)
    return GpuColumn(column, device, stream, library).decode(offset_bits=offset_bits).check()


class _Host:
    """Memory of the CPU, as PyTorch sees it."""

    index = -1

    def __init__(self):
        import torch

        self.torch = torch

    def copy(self, data, kind):
        dtype = getattr(self.torch, kind)
        return self.torch.frombuffer(bytearray(data), dtype=dtype) if data else self.torch.empty(0, dtype=dtype)


def to_torch(column, device, stream, offset_bits):
    """Column.to_torch()"""
    if str(device) == "cpu":
        result = _decode_part(column, _Host(), offset_bits)
    else:
        result = decode(column, device, stream, "torch", offset_bits)
    return result.bytes, result.offsets
