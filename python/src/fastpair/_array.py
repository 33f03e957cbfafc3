"""Decoded rows: what the extension's type lacks, said in Python."""
from . import _fastpair, _show


class Array(_fastpair.Array):
    """Decoded rows, or the answers of a search, in Arrow's layout.

    Arrow consumers take it without a copy, any number of times. As a sequence it gives str, bytes,
    bool or None; slices share its memory.
    """

    @property
    def type(self):
        """'text', 'bytes' or 'bool'."""
        return {"u": "text", "z": "bytes", "b": "bool"}[self.format.lower()]

    @property
    def true_count(self):
        """How many are true; only for booleans. Null is not true."""
        if self.format != "b":
            raise TypeError("only booleans can be true")
        first, bits = self._offset, self._buffer(1)
        number = int.from_bytes(bits, "little") & (1 << first + len(self)) - 1
        return (number >> first).bit_count()

    def to_numpy(self):
        """A NumPy array: bool for booleans without null, else objects."""
        return self.__array__()

    def __array__(self, dtype=None, copy=None):
        import numpy

        if copy is False:
            raise ValueError("rows cannot be given to NumPy without a copy")
        if self.format == "b" and not self.null_count:
            bits = numpy.frombuffer(self._buffer(1), numpy.uint8)
            end = self._offset + len(self)
            result = numpy.unpackbits(bits, count=end, bitorder="little")[self._offset:].view(bool)
        else:
            result = numpy.empty(len(self), object)
            result[:] = self.to_pylist()
        return result if dtype is None else result.astype(dtype)

    def __eq__(self, other):
        if isinstance(other, Array):
            return self.to_pylist() == other.to_pylist()
        return self.to_pylist() == other if isinstance(other, list) else NotImplemented

    __hash__ = None

    def __repr__(self):
        return f"<fastpair.Array of {_show.number(len(self))} {self.type}: {_show.rows(self)}>"


_fastpair.use_array(Array)
