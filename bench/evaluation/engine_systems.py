"""engine_systems.py - ways to ask for log lines from SQL and from frames. In: a folder that write() has filled
with the same lines as a table of fastpair, as Parquet with zstd, and as a database of DuckDB. Out: for each system
a class that counts the lines with a substring, or reads all of them into Polars, and says how long that took.
"""

import ctypes
import hashlib
import mmap
import os
import threading
import time

import duckdb
import polars as pl
import pyarrow as pa

import fastpair as fp

QUESTIONS = ("count", "rare", "scan")
COLUMN = "line"


def read_lines(paths, size):
    """Lines as an Arrow column of about so many bytes: the files' lines, again and again."""
    rows = []
    for path in paths:
        with open(path, "rb") as file:
            rows += file.read().decode(errors="replace").splitlines()
    once = pa.array(rows, pa.string())
    bytes_once = sum(len(row.encode()) for row in rows)
    times = max(1, round(size / bytes_once))
    return pa.table({COLUMN: pa.chunked_array([once] * times)}), bytes_once * times


def folder_bytes(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        for name in names
    )


def write(given, folder):
    """The files, made once; and what is known about them."""
    table, size = read_lines(given.inputs, given.bytes)
    about = {
        "rows": table.num_rows,
        "bytes": size,
        "columns": [os.path.basename(path) for path in given.inputs],
        "write_seconds": {},
        "file_bytes": {},
    }
    paths = Paths(folder)
    for name, path, make in (
        (
            "fastpair",
            paths.table,
            lambda: fp.write_table(
                paths.table, table, part_bytes=given.part_bytes, codec=given.codec
            ),
        ),
        (
            "Parquet + zstd, Polars",
            paths.polars,
            lambda: pl.from_arrow(table).write_parquet(paths.polars, compression="zstd"),
        ),
        ("Parquet + zstd, DuckDB", paths.duckdb, lambda: copy(table, paths.duckdb)),
        ("DuckDB native", paths.database, lambda: load(table, paths.database)),
    ):
        if not os.path.exists(path):
            begin = time.perf_counter()
            make()
            about["write_seconds"][name] = time.perf_counter() - begin
        about["file_bytes"][name] = folder_bytes(path)
    about["parts"] = len(fp.open_table(paths.table).parts)
    once = table[COLUMN].chunk(0).to_pylist()
    about["expected"] = {"scan": summary(pl.from_arrow(table)), "control": None}
    for what, needle in (("count", given.needle), ("rare", given.rare)):
        counted = sum(needle in row for row in once)
        about["expected"][what] = counted * table[COLUMN].num_chunks
    return about


class Paths:
    def __init__(self, folder):
        self.table = os.path.join(folder, "table")
        self.polars = os.path.join(folder, "polars.parquet")
        self.duckdb = os.path.join(folder, "duckdb.parquet")
        self.database = os.path.join(folder, "native.duckdb")
        # tools/duckdb-extension leaves it here, if it could be built.
        self.extension = os.environ.get("FASTPAIR_DUCKDB_EXTENSION") or "no extension"


def copy(table, path):
    with duckdb.connect() as connection:
        connection.register("given", table)
        connection.execute(f"copy (from given) to '{path}' (format parquet, compression zstd)")


def load(table, path):
    with duckdb.connect(path) as connection:
        connection.register("given", table)
        connection.execute("create table lines as from given")


def summary(frame):
    """Enough to see that two frames have the same rows, in the same order: sums of hashes by place."""
    hashes = frame[COLUMN].hash(7)
    place = pl.int_range(len(frame), eager=True, dtype=pl.UInt64) % 1_000_003 + 1
    return [
        len(frame),
        int((hashes % 1_000_003 * place).sum()),
        int(frame[COLUMN].str.len_bytes().cast(pl.UInt64).sum()),
    ]


# A core that had nothing to do for some ten ms is slow to begin, on virtual machines above all: two threads of
# anything then gain less than they would a moment later. So what is asked for runs again and again for so long, in
# seconds, and the last time counts.
AWAKE = 0.2

# Bytes that threads write which do nothing else.
FILLED = 1_000_000_000


def measured(work):
    """What the first run of `work` took, what the last of some took, and what it returned. The result of the
    run before is released first, so that two results of 1 GB need not be in memory at once."""
    times, result = [], None
    while sum(seconds for seconds, _ in times) < AWAKE or len(times) < 2:
        result = None
        begin, cpu = time.perf_counter(), time.process_time()
        result = work()
        times.append((time.perf_counter() - begin, time.process_time() - cpu))
    return {"first": times[0][0], "seconds": times[-1][0], "cpu_seconds": times[-1][1]}, result


class Control:
    """What threads of anything gain on this machine: SHA-256, where they share nothing. Some 30 ms of it, as
    much as a count takes."""

    def __init__(self, threads):
        self.threads = threads

    def measure(self, what, needle):
        data, pieces = bytes(1 << 22), 12 // self.threads

        def work(number):
            for _ in range(pieces):
                hashlib.sha256(data)

        return self.side_by_side(work)

    def side_by_side(self, work):
        """work(number) in each thread."""

        def run():
            threads = [threading.Thread(target=work, args=(n,)) for n in range(1, self.threads)]
            for thread in threads:
                thread.start()
            work(0)
            for thread in threads:
                thread.join()

        return dict(measured(run)[0], answer=None)


class Memory(Control):
    """What threads gain that do nothing but write FILLED bytes of memory, each its share."""

    def measure(self, what, needle):
        size = FILLED // self.threads
        memory = [mmap.mmap(-1, size) for _ in range(self.threads)]
        for block in memory:
            block.madvise(mmap.MADV_HUGEPAGE)
        places = [ctypes.addressof(ctypes.c_char.from_buffer(block)) for block in memory]
        return self.side_by_side(lambda number: ctypes.memset(places[number], 1, size))


class System:
    answers = ("count", "rare")

    def __init__(self, paths, threads):
        self.paths, self.threads = paths, threads

    def measure(self, what, needle):
        taken, result = measured(self.scan if what == "scan" else lambda: self.count(needle))
        return dict(taken, answer=summary(result) if what == "scan" else result)


class FastpairPolars(System):
    answers = QUESTIONS

    def count(self, needle):
        hits = fp.scan(self.paths.table).filter(pl.col(COLUMN).str.contains(needle, literal=True))
        return hits.select(pl.len()).collect().item()

    def scan(self):
        return fp.scan(self.paths.table).collect()


class FastpairFrame(System):
    answers = ("scan",)

    def scan(self):
        return pl.DataFrame(fp.open_table(self.paths.table))


class FastpairPython(System):
    def count(self, needle):
        return fp.open_table(self.paths.table).count(("contains", COLUMN, needle))


class Sql(System):
    """A database of DuckDB with a number of threads."""

    def __init__(self, paths, threads):
        super().__init__(paths, threads)
        where = self.where()
        self.connection = duckdb.connect(
            where, config={"threads": threads, **self.settings()}, read_only=where != ":memory:"
        )

    def where(self):
        return ":memory:"

    def settings(self):
        return {}

    def one(self, query, *values):
        return self.connection.execute(query, values).fetchall()[0][0]


class FastpairArrow(Sql):
    def count(self, needle):
        self.connection.register("lines", fp.open_table(self.paths.table))
        return self.one(f"select count(*) from lines where contains({COLUMN}, ?)", needle)


class FastpairExtension(Sql):
    def settings(self):
        return {"allow_unsigned_extensions": "true"}

    def __init__(self, paths, threads):
        super().__init__(paths, threads)
        self.connection.execute(f"load '{paths.extension}'")

    def count(self, needle):
        return self.one(
            f"select count(*) from read_fastpair('{self.paths.table}', contains := ?)", needle
        )


class FastpairNumbered(FastpairExtension):
    """With row numbers, which come first: DuckDB counts them, and no row is decoded."""

    def count(self, needle):
        return self.one(
            f"select count(*) from read_fastpair('{self.paths.table}', contains := ?, file_row_number := true)",
            needle,
        )


class ParquetDuckdb(Sql):
    def count(self, needle):
        return self.one(
            f"select count(*) from '{self.paths.duckdb}' where contains({COLUMN}, ?)", needle
        )


class Native(Sql):
    answers = QUESTIONS

    def where(self):
        return self.paths.database

    def count(self, needle):
        return self.one(f"select count(*) from lines where contains({COLUMN}, ?)", needle)

    def scan(self):
        return pl.DataFrame(self.connection.sql("from lines"))


class ParquetPolars(System):
    answers = QUESTIONS

    def count(self, needle):
        hits = pl.scan_parquet(self.paths.polars).filter(
            pl.col(COLUMN).str.contains(needle, literal=True)
        )
        return hits.select(pl.len()).collect().item()

    def scan(self):
        return pl.read_parquet(self.paths.polars)


# name: class. Ours first.
SYSTEMS = {
    "fastpair, fp.scan in Polars": FastpairPolars,
    "fastpair, extension in DuckDB": FastpairExtension,
    "fastpair, extension in DuckDB, numbered": FastpairNumbered,
    "fastpair, Dataset.count": FastpairPython,
    "fastpair, Arrow in DuckDB": FastpairArrow,
    "fastpair, Arrow in Polars": FastpairFrame,
    "Parquet + zstd, Polars": ParquetPolars,
    "Parquet + zstd, DuckDB": ParquetDuckdb,
    "DuckDB native": Native,
}


CONTROLS = {"control": Control, "memory": Memory}


def installed(folder):
    found = dict(SYSTEMS)
    if not os.path.exists(Paths(folder).extension):
        found = {name: system for name, system in found.items() if not issubclass(system, FastpairExtension)}
    return list(found)


def make(folder, threads):
    paths = Paths(folder)
    systems = {name: SYSTEMS[name](paths, threads) for name in installed(folder)}
    return dict(systems, **{name: control(threads) for name, control in CONTROLS.items()})


class Counting:
    """A file object that counts what is asked of it."""

    def __init__(self, path):
        self.file = open(path, "rb", buffering=0)
        self.requests = self.bytes = 0

    def seekable(self):
        return True

    def seek(self, *place):
        return self.file.seek(*place)

    def tell(self):
        return self.file.tell()

    def read(self, size=-1):
        data = self.file.read(size)
        self.requests, self.bytes = self.requests + (size != 0), self.bytes + len(data)
        return data

    def readinto(self, buffer):
        size = self.file.readinto(buffer)
        self.requests, self.bytes = self.requests + 1, self.bytes + (size or 0)
        return size

    def spent(self):
        spent = self.requests, self.bytes
        self.requests = self.bytes = 0
        return spent


def fetched(folder):
    """What a reader of the first part must fetch: to open it, for one row, for one chunk. None where files that
    can seek are read whole."""
    part = fp.open_table(Paths(folder).table).parts[0]
    path = part.files[COLUMN]
    file = Counting(path)
    column = fp.open(file)
    opened = file.spent()
    if not 0 < opened[1] < os.path.getsize(path):
        return None
    chunk = column.chunks[len(column.chunks) // 2]
    listed = file.spent()
    column[chunk.first_row]
    row = file.spent()
    other = column.chunks[len(column.chunks) // 3]
    file.spent()
    column[other.first_row : other.first_row + other.rows].to_pylist()
    whole = file.spent()
    return {
        "file_bytes": os.path.getsize(path),
        "chunks": len(column.chunks),
        "rows": part.rows,
        "decoded_bytes": sum(item.decoded_bytes for item in column.chunks),
        "chunk_bytes": other.file_bytes,
        "open": opened,
        "list": listed,
        "row": row,
        "chunk": whole,
    }
