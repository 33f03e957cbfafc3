"""python_systems.py - what a user of Python keeps a column of strings in. In: an Arrow table with the
one column `rows`. Out: for each system a class that writes the table to a path, opens it, and gives
all rows, rows by number, or rows with a substring, as Arrow. Each system reads the file it wrote,
with the defaults of its library, on one thread, by the way that was fastest when several were tried.
"""

import os
import shutil
import tempfile

# Before the libraries are imported: all of them read it once.
for name in (
    "LANCE_CPU_THREADS",
    "LANCE_IO_THREADS",
    "OMP_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "TOKIO_WORKER_THREADS",
):
    os.environ[name] = "1"

import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.ipc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402


class System:
    """What is not overridden: a file that is read whole, then searched by Arrow's own functions."""

    random_access = False  # a row can be read without all rows before it, or a block of many

    def __init__(self, table):
        self.table = table

    def describe(self, handle):
        """What the library chose for this column, and what follows from it: members of a result."""
        return {}

    def prepare(self, handle, rows):
        """What take is given: the numbers of rows in the form that the system likes best."""
        return pa.array(rows)

    def take(self, handle, rows):
        return self.decode(handle).take(rows)

    def contains(self, handle, needle):
        table = self.decode(handle)
        return table.filter(pc.match_substring(table["rows"], needle))

    def close(self, handle):
        pass

    def size(self, path):
        return os.path.getsize(path)

    def remove(self, path):
        if os.path.exists(path):
            os.remove(path)


class Fastpair(System):

    def __init__(self, table, codec="auto", **options):
        super().__init__(table)
        import fastpair

        self.fastpair, self.options = fastpair, dict(options, codec=codec)
        # A row of a cold file needs its whole chunk.
        self.random_access = not options.get("cold")

    def write(self, path):
        self.fastpair.write(path, self.table["rows"], threads=1, **self.options)

    def open(self, path):
        return self.fastpair.open(path, threads=1)

    def describe(self, handle):
        info = handle.info
        codec = info["codec"]
        long = f":{info['code_bits']}:{info['max_token']}" if codec == "onpair" else ""
        return {"chosen": codec + long}

    def decode(self, handle):
        return pa.chunked_array(handle)

    def prepare(self, handle, rows):
        return rows

    def take(self, handle, rows):
        return pa.array(handle.take(rows))

    def contains(self, handle, needle):
        return pa.array(handle.filter(contains=needle))


class Parquet(System):
    def write(self, path):
        pq.write_table(self.table, path, compression="zstd")

    def open(self, path):
        return pq.ParquetFile(path, memory_map=True)

    def decode(self, handle):
        return handle.read(use_threads=False)


class ParquetDuckdb(System):
    numbers = "file_row_number"

    def __init__(self, table):
        super().__init__(table)
        import duckdb

        # One for all files: to make one takes longer than to read some columns.
        self.database = duckdb.connect(config={"threads": 1})
        self.database.register("given", table)

    def write(self, path):
        self.database.execute(f"copy (from given) to '{path}' (format parquet, compression zstd)")

    def open(self, path):
        return f"read_parquet('{path}', file_row_number = true)"

    def decode(self, handle):
        return self.database.sql(f"select rows from {handle}").to_arrow_table()

    def prepare(self, handle, rows):
        self.database.register("wanted", pa.table({"number": rows}))

    def take(self, handle, rows):
        # Without an order the rows of some columns come in another.
        query = f"{self.numbers} in (select number from wanted) order by {self.numbers}"
        return self.database.sql(f"select rows from {handle} where {query}").to_arrow_table()

    def contains(self, handle, needle):
        query = f"select rows from {handle} where contains(rows, ?)"
        return self.database.sql(query, params=[needle]).to_arrow_table()


class Duckdb(ParquetDuckdb):
    random_access = True
    numbers = "rowid"

    def write(self, path):
        self.database.execute(f"attach '{path}' as written")
        self.database.execute("create table written.kept as from given")
        self.database.execute("checkpoint written")
        self.database.execute("detach written")

    def open(self, path):
        self.database.execute(f"attach '{path}' as opened (read_only)")
        return "opened.kept"

    def describe(self, handle):
        query = f"select distinct compression from pragma_storage_info('{handle}')"
        found = self.database.sql(query + " where segment_type = 'VARCHAR' order by all").fetchall()
        chosen = ", ".join(name for (name,) in found)
        # A row of these needs the rows that were compressed with it.
        return {"chosen": chosen, "random_access": "ZSTD" not in chosen}

    def close(self, handle):
        self.database.execute("detach opened")


class ParquetPolars(System):

    def __init__(self, table):
        super().__init__(table)
        import polars

        self.polars, self.frame = polars, polars.from_arrow(table)

    def to_arrow(self, frame):
        # Views are what Polars holds: no other form is as cheap for it.
        return frame.to_arrow(compat_level=self.polars.CompatLevel.newest())

    def write(self, path):
        self.frame.write_parquet(path, compression="zstd")

    def open(self, path):
        return self.polars.scan_parquet(path, parallel="none")

    def decode(self, handle):
        return self.to_arrow(handle.collect())

    def prepare(self, handle, rows):
        return rows

    def take(self, handle, rows):
        return self.to_arrow(handle.collect()[rows])

    def contains(self, handle, needle):
        holds = self.polars.col("rows").str.contains(needle, literal=True)
        return self.to_arrow(handle.filter(holds).collect())


class Ipc(System):
    def __init__(self, table, compression):
        super().__init__(table)
        self.compression = compression

    def write(self, path):
        options = pa.ipc.IpcWriteOptions(compression=self.compression, use_threads=False)
        with pa.OSFile(path, "wb") as file:
            with pa.ipc.new_file(file, self.table.schema, options=options) as writer:
                writer.write_table(self.table)

    def open(self, path):
        options = pa.ipc.IpcReadOptions(use_threads=False)
        return pa.ipc.open_file(pa.memory_map(path), options=options)

    def decode(self, handle):
        return handle.read_all()


class Vortex(System):

    def __init__(self, table, compact=False):
        super().__init__(table)
        import vortex
        import vortex.expr

        vortex.set_worker_threads(0)
        self.vortex, self.random_access = vortex, not compact
        options = vortex.io.VortexWriteOptions
        self.options = options.compact() if compact else options.default()

    def write(self, path):
        self.options.write(self.table, path)

    def open(self, path):
        return self.vortex.open(path, memory_map=True)

    def decode(self, handle, **wanted):
        # Faster than to_arrow(), which goes through a reader of batches.
        return handle.scan(**wanted).read_all().to_arrow_array().flatten()[0]

    def prepare(self, handle, rows):
        return self.vortex.array(pa.array(rows))

    def take(self, handle, rows):
        return self.decode(handle, indices=rows)

    def contains(self, handle, needle):
        holds = self.vortex.expr.like(self.vortex.expr.column("rows"), f"%{needle}%")
        return self.decode(handle, expr=holds)


class Lance(System):
    random_access = True

    def __init__(self, table):
        super().__init__(table)
        import lance

        self.lance = lance

    def write(self, path):
        self.lance.write_dataset(self.table, path, data_storage_version="2.2")

    def open(self, path):
        return self.lance.dataset(path)

    def decode(self, handle):
        return handle.to_table()

    def take(self, handle, rows):
        return handle.take(rows)

    def contains(self, handle, needle):
        return handle.to_table(filter=f"contains(rows, '{needle}')")

    def size(self, path):
        return sum(
            os.path.getsize(os.path.join(folder, name))
            for folder, _, names in os.walk(path)
            for name in names
        )

    def remove(self, path):
        shutil.rmtree(path, ignore_errors=True)


# Names as results have them, in the order of tables.
SYSTEMS = {
    "fastpair auto": Fastpair,
    "fastpair onpair12": lambda table: Fastpair(table, "onpair12"),
    "fastpair onpair16": lambda table: Fastpair(table, "onpair16"),
    "fastpair onpair:12:64": lambda table: Fastpair(table, "onpair:12:64"),
    "fastpair cold": lambda table: Fastpair(table, cold=True),
    "Vortex": Vortex,
    "DuckDB": Duckdb,
    "Lance": Lance,
    "Parquet + zstd, pyarrow": Parquet,
    "Parquet + zstd, DuckDB": ParquetDuckdb,
    "Parquet + zstd, Polars": ParquetPolars,
    "Arrow IPC + zstd": lambda table: Ipc(table, "zstd"),
    "Arrow IPC + lz4": lambda table: Ipc(table, "lz4"),
    "Vortex compact": lambda table: Vortex(table, compact=True),
}


def installed(names):
    """Those of `names` whose library is there, and why the others are not."""
    small, found, missing = pa.table({"rows": ["a row"]}), [], {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                SYSTEMS[name](small).write(os.path.join(folder, "small"))
                found.append(name)
            except Exception as error:  # whatever a library thinks of, the others are measured
                missing[name] = f"{type(error).__name__}: {error}"
    return found, missing
