"""Asks the program judge.c what the library says of a file, twice: as a column, and as a stream."""

import resource
import signal
import struct
import subprocess

OK, CORRUPT, UNSUPPORTED, LIMIT = 0, 3, 4, 7
SECONDS_PER_FILE = 60
PIECES = (1 << 20, 4096, 1 << 20, 77, 4096, 1, 1 << 20)  # the most bytes that a stream gives at once


class Answer:
    """Status, position and message of a refusal, or the contents of an accepted file."""

    def __init__(self, status, position, message, contents):
        self.status = status
        self.position = position
        self.message = message
        self.contents = contents

    def __str__(self):
        if self.status == OK:
            return f"accepted, {len(self.contents)} bytes of contents"
        return f"status {self.status} at {self.position}: {self.message}"


def pack_contents(column):
    """What judge.c writes for an accepted file, from the decoder's Column."""
    framing = bytes([column.separator is not None, column.separator or 0, column.final_separator])
    rows = [b"\xff\xff\xff\xff" if row is None else struct.pack("<I", len(row)) + row for row in column.rows]
    return framing + b"".join(rows)


def pack_metadata(column):
    """What judge.c adds for an open column: type, name, pairs, and the bounds of its chunks."""
    name = column.name if column.name is not None else b""
    parts = [bytes([column.is_text]), struct.pack("<I", len(name)), name, struct.pack("<I", len(column.pairs))]
    for key, value in column.pairs:
        parts += [struct.pack("<II", len(key), len(value)), key, value]
    for bounds in column.bounds or []:
        parts.append(bytes([bounds is not None]))
        for bound in bounds or ():
            parts += [bytes([bound.is_cut, len(bound.data)]), bound.data]
    return b"".join(parts)


def limit_memory(size):
    """A mutant that blows up ends this process, and not the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _lift_memory_limit():
    """For the judge: sanitizers reserve more address space than any machine has."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


class JudgeDied(Exception):
    """The program ended, or took too long."""


class Judge:
    """A running judge. It is started at the first question, and again after it died."""

    def __init__(self, program):
        self.program = program
        self.process = None
        signal.signal(signal.SIGALRM, self._too_late)

    def _too_late(self, _signal, _frame):
        raise JudgeDied(f"no answer within {SECONDS_PER_FILE} s")

    def _read(self, size):
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def _read_answer(self):
        status, position, message_size = struct.unpack("<IQI", self._read(16))
        message = self._read(message_size).decode(errors="replace")
        return Answer(status, position, message, self._read(int.from_bytes(self._read(8), "little")))

    def ask(self, data, number):
        """The two answers about a file. Its number chooses how the library goes about it."""
        threads, level, piece = 1 + 2 * (number % 8 == 0), number % 5, PIECES[number % len(PIECES)]
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                [self.program], stdin=pipe, stdout=pipe, preexec_fn=_lift_memory_limit
            )
        try:
            signal.alarm(SECONDS_PER_FILE)
            self.process.stdin.write(struct.pack("<IIII", len(data), threads, level, piece) + data)
            self.process.stdin.flush()
            return self._read_answer(), self._read_answer()
        except (EOFError, BrokenPipeError):
            raise JudgeDied(f"ended with {self.process.wait()}") from None
        except JudgeDied:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            signal.alarm(0)
            if self.process.poll() is not None:
                self.process = None
