"""PyTorch and CuPy as owners of GPU memory: their allocators give it and get it back, and work is queued on their
streams. Neither is needed by the rest of the package."""
import sys

from ._fastpair import Error

_NOT_INTEGERS = "rows are listed by integers"


def _check_shape(rows, count, is_boolean):
    if rows.ndim != 1:
        raise ValueError("rows are listed in one dimension")
    if is_boolean and len(rows) != count:
        raise ValueError(f"{len(rows)} booleans for {count} rows")


class Torch:
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

    def list(self, tensor, count=None):
        """Waits for the stream. With `count`: so many 64-bit integers at the start of the memory."""
        with self.torch.cuda.stream(self.stream):
            return (tensor if count is None else tensor[:count * 8].view(self.torch.int64)).tolist()

    def numbers(self, rows, count):
        """Row numbers or booleans on this device as 64-bit numbers; those below 0 count from the end."""
        torch = self.torch
        with torch.cuda.stream(self.stream):
            if not isinstance(rows, torch.Tensor):
                has_dlpack = hasattr(rows, "__dlpack__")
                rows = torch.from_dlpack(rows) if has_dlpack else torch.as_tensor(rows, device=self.device)
            _check_shape(rows, count, rows.dtype == torch.bool)
            if rows.dtype.is_floating_point or rows.dtype.is_complex:
                raise TypeError(_NOT_INTEGERS)
            rows.record_stream(self.stream)
            if rows.dtype == torch.bool:
                return rows.nonzero().flatten()
            if rows.dtype == torch.uint64:
                return rows.contiguous().view(torch.int64)
            rows = rows.to(torch.int64)
            return torch.where(rows < 0, rows + count, rows)

    def booleans(self, bitmap, rows):
        """A bool per bit."""
        torch = self.torch
        with torch.cuda.stream(self.stream):
            bits = torch.arange(8, dtype=torch.uint8, device=self.device)
            return (bitmap[:(rows + 7) // 8, None] >> bits & 1).flatten()[:rows].to(torch.bool)

    def count(self, booleans):
        with self.torch.cuda.stream(self.stream):
            return int(booleans.sum().item())

    def event(self):
        """An event after all that is queued now, and its address."""
        event = self.torch.cuda.Event()
        event.record(self.stream)
        return event, event.cuda_event

    def follow(self, other, *memory):
        """What is queued from now on comes after what `other` has queued, and reads memory of its."""
        self.stream.wait_stream(other.stream)
        for tensor in memory:
            tensor.record_stream(self.stream)

    def hand_back(self, other):
        """Called after what reads that memory is queued. The allocator knows of the stream already."""


class Cupy:
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

    def list(self, array, count=None):
        with self.device, self.stream:
            return (array if count is None else array[:count * 8].view("int64")).get().tolist()

    def numbers(self, rows, count):
        cupy = self.cupy
        with self.device, self.stream:
            if not isinstance(rows, cupy.ndarray):
                rows = cupy.from_dlpack(rows) if hasattr(rows, "__dlpack__") else cupy.asarray(rows)
            _check_shape(rows, count, rows.dtype == bool)
            if rows.dtype == bool:
                return cupy.flatnonzero(rows)
            if rows.dtype.kind not in "iu":
                raise TypeError(_NOT_INTEGERS)
            if rows.dtype == cupy.uint64:
                return cupy.ascontiguousarray(rows).view(cupy.int64)
            rows = rows.astype(cupy.int64)
            return cupy.where(rows < 0, rows + count, rows)

    def booleans(self, bitmap, rows):
        with self.device, self.stream:
            return self.cupy.unpackbits(bitmap, bitorder="little")[:rows].astype(bool)

    def count(self, booleans):
        with self.device, self.stream:
            return int(booleans.sum().item())

    def event(self):
        with self.device:
            event = self.cupy.cuda.Event(disable_timing=True)
            event.record(self.stream)
        return event, event.ptr

    def follow(self, other, *memory):
        self.stream.wait_event(other.event()[0])

    def hand_back(self, other):
        # Memory that is freed is used again by whatever its own stream queues next, which must therefore
        # come after what this stream still reads.
        other.stream.wait_event(self.event()[0])


LIBRARIES = {"torch": Torch, "cupy": Cupy}


def choose(name, device, stream):
    """A library on a device and a stream. `name` None: one that is there."""
    if name is not None:
        if name not in LIBRARIES:
            raise ValueError(f"library is torch or cupy, not {name!r}")
        return LIBRARIES[name](device, stream)
    # One that the program uses already, else one that is installed.
    for name in [n for n in LIBRARIES if n in sys.modules] + list(LIBRARIES):
        try:
            return LIBRARIES[name](device, stream)
        except ImportError:
            continue
    raise ImportError("decoding on a GPU needs PyTorch or CuPy, which own the memory")
