"""Measures queries over a .fpc table against the same rows as Parquet with zstd and in DuckDB's own format.

measure.py TEXT NEEDLE [--copies N] [--threads N] [--rounds N]

TEXT is a file of rows, one per line. Each form holds N copies of the rows, each copy a file, or in one table. The
forms are asked in turns, their answers are compared, and the medians of wall time and of CPU time are printed in ms.
On a machine that others use as well, CPU time is the steadier of the two.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import fastpair as fp

EXTENSION = Path(__file__).resolve().parents[2] / "build" / "fastpair.duckdb_extension"


def prepare(folder, text, copies):
    """Writes the rows in each form; gives what stands after FROM."""
    rows = pa.array(Path(text).read_text("utf-8").split("\n")[:-1])
    for end in ("fpc", "parquet"):
        (folder / end).mkdir()
        first = folder / end / f"row-00000.{end}"
        if end == "fpc":
            first.write_bytes(fp.compress(rows, name="row"))
        else:
            pq.write_table(pa.table({"row": rows}), first, compression="zstd")
        for number in range(1, copies):
            (folder / end / f"row-{number:05}.{end}").hardlink_to(first)
    with duckdb.connect(folder / "native.duckdb") as con:
        con.execute("CREATE TABLE t (row VARCHAR)")
        for _ in range(copies):
            con.execute(f"INSERT INTO t FROM '{folder}/parquet/row-00000.parquet'")
    sizes = {end: (folder / end / f"row-00000.{end}").stat().st_size for end in ("fpc", "parquet")}
    sizes["native"] = (folder / "native.duckdb").stat().st_size // copies
    text_bytes = Path(text).stat().st_size - len(rows)
    print(f"{len(rows) * copies} rows, {text_bytes * copies / 1e6:.0f} MB; bytes per copy: {sizes}")


def queries(folder, needle):
    """The queries by what they measure and by form."""
    tables = {"fpc": f"'{folder}/fpc/*.fpc'", "parquet": f"'{folder}/parquet/*.parquet'", "native": "native.t"}
    word = needle.replace("'", "''")
    ours = f"read_fastpair('{folder}/fpc/*.fpc', contains := '{word}'"
    where = f"WHERE contains(row, '{word}')"
    others = {form: table for form, table in tables.items() if form != "fpc"}
    asked = {"count(*)": "SELECT count(*) FROM {}", "sum(strlen(row))": "SELECT sum(strlen(row)) FROM {}"}
    for what, query in asked.items():
        yield what, {form: query.format(table) for form, table in tables.items()}
    count = {form: f"SELECT count(*) FROM {table} {where}" for form, table in others.items()}
    yield "count(*) where contains", {"fpc": f"SELECT count(*) FROM {ours})"} | count
    yield "the same, numbered", {"fpc": f"SELECT count(*) FROM {ours}, file_row_number := true)"} | count
    yield "the same by DuckDB's WHERE", {"fpc": f"SELECT count(*) FROM {tables['fpc']} {where}"} | count
    yield "max of rows that contain", {"fpc": f"SELECT max(row) FROM {ours})"} | {
        form: f"SELECT max(row) FROM {table} {where}" for form, table in others.items()}


def main():
    """Asks in turns and prints medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("needle")
    for name, default in (("copies", 1), ("threads", 1), ("rounds", 9)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--extension", default=EXTENSION)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, chosen.text, chosen.copies)
        con = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": chosen.threads})
        con.execute(f"LOAD '{chosen.extension}'")
        con.execute(f"ATTACH '{folder}/native.duckdb' AS native (READ_ONLY)")
        for what, forms in queries(folder, chosen.needle):
            answers = {form: con.sql(query).fetchall() for form, query in forms.items()}
            if len({str(answer) for answer in answers.values()}) != 1:
                sys.exit(f"measure.py: {what}: answers differ: {answers}")
            wall, cpu = {form: [] for form in forms}, {form: [] for form in forms}
            for turn in range(chosen.rounds):
                for form in list(forms)[:: 1 if turn % 2 else -1]:
                    began, used = time.perf_counter(), time.process_time()
                    con.sql(forms[form]).fetchall()
                    wall[form].append((time.perf_counter() - began) * 1e3)
                    cpu[form].append((time.process_time() - used) * 1e3)
            for label, times in (("wall", wall), ("CPU", cpu)):
                median = {form: statistics.median(taken) for form, taken in times.items()}
                told = ", ".join(f"{form} {ms:.1f} ({ms / median['fpc']:.1f}x)" for form, ms in median.items())
                print(f"{what}, {label} ms: {told}", flush=True)


if __name__ == "__main__":
    main()
