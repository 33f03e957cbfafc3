"""What a GPU has decoded or found, in memory that PyTorch or CuPy owns."""
from . import _fastpair
from ._fastpair import Error

_FAULTS = {1: "a code is not in the dictionary", 2: "the sidecar is wrong", 4: "row lengths do not add up",
           8: "what was selected has changed meanwhile"}
_BAD_ROW = 16


def fault(status, message):
    """An Error with a status, to be raised."""
    error = Error(message)
    error.status, error.message = status, message
    return error


def check_status(word):
    """Raises what the status word of a kernel says."""
    if word & _BAD_ROW:
        raise IndexError("no such row")
    if word:
        raise fault("CORRUPT", "corrupt data on the GPU: " + ", ".join(t for b, t in _FAULTS.items() if word & b))


def _refuse_unknown(arguments):
    # As Arrow demands: arguments that are not None may not be ignored.
    unknown = [key for key, value in arguments.items() if value is not None]
    if unknown:
        raise NotImplementedError(f"unknown arguments: {', '.join(unknown)}")


class GpuArray:
    """Decoded rows in GPU memory.

    bytes      of all rows, back to back (uint8)
    offsets    one more than there are rows, int32 or int64: row i is bytes[offsets[i]:offsets[i + 1]]
    validity   a bit per row as in Arrow, 1 where the row is not null (uint8); None: no row is null
    device     the GPU's number

    These are tensors of PyTorch or arrays of CuPy and speak DLPack; the memory is theirs. The GpuArray
    itself speaks the Arrow C Device interface. Work may still be queued: see check().
    """

    __slots__ = ("bytes", "offsets", "validity", "device", "_library", "_rows", "_nulls", "_owners", "_pending",
                 "_job", "_output", "_selected")

    def __init__(self, library, bytes, offsets, validity, rows, nulls):
        self.bytes, self.offsets, self.validity = bytes, offsets, validity
        self.device = library.index
        # Nulls None: nobody has counted them yet.
        self._library, self._rows, self._nulls = library, rows, nulls
        # What exported arrays keep alive, whatever becomes of the attributes.
        self._owners = bytes, offsets, validity
        # Of a queued decode: its status word and what it reads. Of any decode: the job and the output.
        self._pending = self._job = self._output = None
        # Of selected rows: how many they are, and their bytes.
        self._selected = None

    def __len__(self):
        return self._rows

    @property
    def null_count(self):
        """How many rows are null. Of selected rows it is counted at the first look, which waits for the GPU."""
        if self._nulls is None:
            validity, library = self._owners[2], self._library
            valid = self._rows if validity is None else library.count(library.booleans(validity, self._rows))
            self._nulls = self._rows - valid
        return self._nulls

    def check(self):
        """Waits for the GPU; raises Error if the file is corrupt. Returns self."""
        if self._pending:
            check_status(self._library.list(self._pending[0])[0])
        self._pending = None
        return self

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        """Capsules of an ArrowSchema and an ArrowDeviceArray, whose event consumers wait for.

        Text is Arrow's utf8 if all tokens are ASCII or the column was validated before, else binary:
        nobody looks at the rows on the GPU.
        """
        _refuse_unknown(kwargs)
        if not self._job:
            raise NotImplementedError("slices are decoded by the CPU: give the whole column, or the slice itself")
        self.check()
        event, address = self._library.event()
        return self._job.export(self._output, address, (*self._owners, event), self._selected)

    def __repr__(self):
        return f"<fastpair.GpuArray of {self._rows:,} rows on device {self.device}>"


class GpuMask:
    """Which rows passed a test, in GPU memory. Made by GpuColumn.match().

    bitmap     a bit per row as in Arrow, 1 where the test is true (uint8), in whole 32-bit words, one at least
    validity   the same, 1 where the test is true or false; None: it is null for no row
    device     the GPU's number

    GpuColumn.filter() takes it, of this column or of another with as many rows. It speaks the Arrow C Device
    interface. Work may still be queued.
    """

    __slots__ = ("bitmap", "validity", "device", "_library", "_rows", "_owners", "_counts", "_pending")

    def __init__(self, library, bitmap, validity, counts, rows):
        self.bitmap, self.validity, self.device = bitmap, validity, library.index
        self._library, self._rows = library, rows
        self._owners = bitmap, validity
        # Two numbers in device memory until somebody asks, then a list. What the queued search reads lives so long.
        self._counts, self._pending = None, counts

    def __len__(self):
        return self._rows

    def _count(self, i):
        if self._counts is None:
            self._counts, self._pending = self._library.list(self._pending[0]), None
        return self._counts[i]

    @property
    def true_count(self):
        """For how many rows the test is true. Waits for the GPU."""
        return self._count(0)

    @property
    def null_count(self):
        """For how many rows the test is null. Waits for the GPU."""
        return self._count(1)

    def to_bool(self):
        """A tensor or an array of bool, one per row: False where the test is false or null."""
        return self._library.booleans(self._owners[0], self._rows)

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        """Capsules of an ArrowSchema and an ArrowDeviceArray of booleans, whose event consumers wait for."""
        _refuse_unknown(kwargs)
        event, address = self._library.event()
        bitmap, validity = (0 if memory is None else self._library.address(memory) for memory in self._owners)
        return _fastpair.device_booleans(self.device, (bitmap, validity, self._rows), address,
                                         (*self._owners, event, self._pending))

    def __repr__(self):
        return f"<fastpair.GpuMask of {self._rows:,} rows on device {self.device}>"
