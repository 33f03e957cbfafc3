#!/usr/bin/env python3
"""Tests the decoder by itself: XXH3, the golden files, the example of docs/format.md, and texts.

    test_decoder.py FASTPAIR
"""

import glob
import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, HERE)
from bases import make_files  # noqa: E402
from decoder.column import read_column  # noqa: E402
from decoder.frame import ZSTD  # noqa: E402
from decoder.wire import Violation, unpack  # noqa: E402
from decoder.xxh3 import xxh3  # noqa: E402
from mutator.assemble import assemble  # noqa: E402
from mutator.content import read_content  # noqa: E402
from mutator.derive import derive, pack_bits  # noqa: E402

COMMAND = sys.argv.pop(1) if len(sys.argv) > 1 else "fastpair"

# Of the first bytes of counted_bytes(), computed with the xxhash library of Debian 12 (0.8.1). Every
# length class is here, with its ends, and input of one stripe and one block more or less.
XXH3_VALUES = """
    0 2d06800538d394c2      1 429e81bc6744101c      2 a65771cbfd464c2d      3 32dbb5c7774cc94f
    4 65775238ca34c06f      8 90b760c9d253d0ff      9 15ae9f843bb50ea4     16 372c92fa68129c98
   17 b5d6b9c1898bd9d6     32 0ab1dbf9e9f8c22c     33 4f4ae280e8465c3c     64 84fcac4cce9f990d
   65 2c9f18dff914a8bd     96 e1e1ba1b4e47ded7     97 5cc877781800cb6b    128 c59e505a97d029e0
  129 f9e651a476d6d3ca    143 4916c14bd2fd8e2a    144 6630fc8e0296f27f    240 967597e635f3c527
  241 d6afac6f8fa85b01    256 9e6593bab96413da    257 c7f456fff4eaca08   1023 120a0457e3e899f6
 1024 bb9f0c3761cdfd54   1025 95edccc1adc4d895   1088 e8391a3978cbcf06   1089 b6e2a9bc2973e16a
 2048 278f7a6a39416b51   2049 644272755e8980a0  37805 b1a032f193af30b9  56714 2d6cebbeb65a5fa1"""


def counted_bytes(size):
    """Bytes of a linear congruential generator."""
    state, data = 1, bytearray()
    for _ in range(size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        data.append(state >> 24)
    return bytes(data)


def read_golden_rows(path):
    r"""Rows in plain text, one per line: \N is null, \xHH a byte, \\ a backslash."""
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")[:-1]

    def unescape(match):
        return bytes.fromhex(match[1].decode()) if match[1] else b"\\"

    return [None if line == rb"\N" else re.sub(rb"\\(?:x(..)|\\)", unescape, line) for line in lines]


def read_worked_examples():
    """The two files that section 6 of docs/format.md lists. The second has the dictionary of the first."""
    with open(os.path.join(TESTS, "..", "docs", "format.md"), encoding="utf-8") as file:
        section = re.search(r"^## 6\. (.*?)^### 6\.1 (.*?)^## 7\. ", file.read(), re.MULTILINE | re.DOTALL)
    images = []
    for listing in section.groups():
        image = bytearray(images[0][:0x100] if images else b"")
        for offset, text in re.findall(r"^    ([0-9a-f]{4})  ((?:[0-9a-f]{2} ){8,16}) ", listing, re.MULTILINE):
            at, data = int(offset, 16), bytes.fromhex(text)
            image += bytes(max(0, at - len(image)))
            image[at : at + len(data)] = data
        images.append(bytes(image))
    return images


class Numbers(unittest.TestCase):
    def test_xxh3(self):
        data = counted_bytes(56714)
        for size, value in re.findall(r"(\d+) ([0-9a-f]{16})", XXH3_VALUES):
            self.assertEqual(xxh3(data[: int(size)]), int(value, 16), f"of {size} bytes")

    def test_packed_numbers(self):
        for width in range(0, 33):
            for count in (0, 1, 7, 8, 9, 31, 256):
                numbers = [i * 0x9E3779B1 % (1 << width) for i in range(count)]
                self.assertEqual(unpack(pack_bits(numbers, width), width, count), numbers)


class Files(unittest.TestCase):
    def test_golden_files(self):
        paths = glob.glob(os.path.join(TESTS, "golden", "*.fpc"))
        self.assertGreaterEqual(len(paths), 17)
        for path in paths:
            if not ZSTD and "/cold_" in path:
                print("no libzstd:", path, "is left out")
                continue
            with self.subTest(path), open(path, "rb") as file:
                self.assertEqual(read_column(file.read()).rows, read_golden_rows(path[:-3] + "rows"))

    def test_golden_metadata(self):
        for name, described, width in (("described", True, 16), ("bounds_64", False, 64), ("later_version", True, 8)):
            with open(os.path.join(TESTS, "golden", name + ".fpc"), "rb") as file:
                column = read_column(file.read())
            self.assertEqual(column.name, "Straße".encode() if described else None)
            self.assertEqual(column.pairs, [(b"blob", b"\0\xff"), (b"unit", b"EUR")] if described else [])
            self.assertEqual((column.is_text, column.bound_width), (described, width))

    def test_flipped_bits(self):
        """Every flipped bit of a file is refused."""
        with open(os.path.join(TESTS, "golden", "all_null.fpc"), "rb") as file:
            image = file.read()
        for bit in range(8 * len(image)):
            flipped = bytearray(image)
            flipped[bit // 8] ^= 1 << bit % 8
            self.assertRaises(Violation, read_column, bytes(flipped))

    def test_worked_example(self):
        images = read_worked_examples()
        for image in images if ZSTD else images[:1]:
            column = read_column(image)
            self.assertEqual(column.rows, [b"to be or not to be", b"to be", None, b"not to be or to be not"])
            self.assertEqual((column.separator, column.final_separator), (10, True))

    def test_command(self):
        """Files of every codec give the text that the command gives, and come back from the mutator."""
        for name, image in make_files(COMMAND, os.path.join(TESTS, "golden")):
            with self.subTest(name):
                column = read_column(image)
                text = column.text()
                if text is None:
                    text = b"".join((row or b"") + b"\n" for row in column.rows)
                run = subprocess.run([COMMAND, "-qdc"], input=image, stdout=subprocess.PIPE, check=True)
                self.assertEqual(run.stdout, text)
                again = read_column(bytes(assemble(derive(read_content(image))).data))
                self.assertEqual((again.rows, again.text()), (column.rows, column.text()))


if __name__ == "__main__":
    unittest.main()
