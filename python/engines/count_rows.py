#!/usr/bin/env python3
"""Counts the rows of a table that contain a word and collects ten of them, with the engine of your choice.

    python count_rows.py TABLE COLUMN WORD [--engine ENGINE] [--gpu torch|cupy]

Every function below is one engine's way to say it, and all have the same answer; tools/engine-tests compares
them. Engines on clusters collect any ten rows, so that ten are the smallest ten here.

With --gpu, Ray and Dask put decoding on workers that have a GPU: a unit's rows go from the file to the GPU's
memory compressed, and are decoded there, into tensors of PyTorch or arrays of CuPy. Where there is no engine,
--engine process --gpu gives the same work to plain processes that share a GPU.
"""
import argparse
import os

import fastpair as fp

TEN = 10


def with_process(path, column, word, gpu=None):
    """One process, no engine: units one after another, searched on codes."""
    if gpu:
        return with_processes_on_gpu(path, column, word, gpu)
    test = ("contains", column, word)
    units = fp.open_table(path).units()
    rows = [row for unit in units for row in unit.read([column], where=test)[column].to_pylist()]
    return sum(unit.count(test) for unit in units), sorted(rows)[:TEN]


def with_polars(path, column, word):
    import polars as pl

    hits = fp.scan(path).filter(pl.col(column).str.contains(word, literal=True)).select(column)
    return hits.select(pl.len()).collect().item(), hits.sort(column).head(TEN).collect()[column].to_list()


def with_duckdb(path, column, word):
    import duckdb

    events = fp.open_table(path)        # a variable that DuckDB finds by its name and reads as Arrow
    count = duckdb.execute(f'select count(*) from events where contains("{column}", ?)', [word]).fetchall()[0][0]
    rows = duckdb.execute(f'select "{column}" from events where contains("{column}", ?) order by 1 limit {TEN}',
                          [word]).fetchall()
    return count, [row for (row,) in rows]


def with_duckdb_extension(path, column, word, extension=None):
    """The extension that tools/duckdb-extension builds: parameters run on codes, in DuckDB's own threads."""
    import duckdb

    extension = extension or os.environ.get("FASTPAIR_DUCKDB_EXTENSION", "build/fastpair.duckdb_extension")
    hits = f"from read_fastpair(?, contains := ?, search_column := '{column}')"
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"load '{extension}'")
        count = connection.execute(f"select count(*) {hits}", [str(path), word]).fetchall()[0][0]
        rows = connection.execute(f'select "{column}" {hits} order by 1 limit {TEN}', [str(path), word]).fetchall()
    return count, [row for (row,) in rows]


def with_ray(path, column, word, gpu=None):
    from ray.data.expressions import col

    import fastpair.ray

    if gpu:
        return with_ray_on_gpus(path, column, word, gpu)
    hits = fastpair.ray.read_table(path, columns=[column]).filter(expr=col(column).str.contains(word))
    return hits.count(), [row[column] for row in hits.sort(column).take(TEN)]


def with_dask(path, column, word, gpu=None):
    import fastpair.dask

    if gpu:
        return with_dask_on_gpus(path, column, word, gpu)
    hits = fastpair.dask.read_table(path, columns=[column], where=("contains", column, word))
    return len(hits), hits[column].compute().sort_values().head(TEN).tolist()


def with_spark(path, column, word, session=None):
    from pyspark.sql import SparkSession

    import fastpair.spark

    spark = session or SparkSession.builder.master("local[2,4]").getOrCreate()
    fastpair.spark.register(spark)
    table = spark.read.format("fastpair").option("columns", column).load(str(path))
    hits = table.where(table[column].contains(word))
    return hits.count(), [row[0] for row in hits.sort(column).head(TEN)]


# ---------------------------------------------------------------- on GPUs

def with_ray_on_gpus(path, column, word, library, find=None, **options):
    """Units go to workers that have a GPU each; a fraction as num_gpus lets workers share one."""
    import ray

    units = ray.data.from_items(fp.open_table(os.path.abspath(path)).units())
    found = units.map(find or find_on_gpu, fn_args=(column, word, library), num_gpus=1, **options)
    return gather(found.take_all())


def with_dask_on_gpus(path, column, word, library, find=None):
    """Units go to workers that were started with --resources GPU=1."""
    import dask

    with dask.annotate(resources={"GPU": 1}):
        task = dask.delayed(find or find_on_gpu)
        tasks = [task({"item": unit}, column, word, library) for unit in fp.open_table(os.path.abspath(path)).units()]
    return gather(dask.compute(*tasks, optimize_graph=False))


def with_processes_on_gpu(path, column, word, library, find=None, workers=2):
    """Units go to processes of Python's own that share a GPU: what a worker of an engine does, without one."""
    import multiprocessing

    tasks = [({"item": unit}, column, word, library) for unit in fp.open_table(os.path.abspath(path)).units()]
    # Not forked: CUDA does not survive that.
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        return gather(pool.starmap(find or find_on_gpu, tasks, chunksize=1))


def find_on_gpu(item, column, word, library):
    """How many rows of a unit contain the word, and the smallest ten of them; in a worker that has a GPU."""
    unit = item["item"]
    rows = fp.open(dict(unit.files)[column])[unit.first:unit.first + unit.rows]
    numbers = search(*decode(rows, library), word.encode(), library)
    found = rows.take([int(number) for number in numbers])
    return {"count": len(found), "rows": sorted(found)[:TEN]}


def decode(rows, library):
    """Bytes and offsets in the memory of a GPU: row i is bytes[offsets[i]:offsets[i + 1]]."""
    return rows.to_torch() if library == "torch" else rows.to_cupy()


def search(bytes_, offsets, word, library):
    """The numbers of the rows that contain the word: positions where it is, then the rows they fall into."""
    import importlib

    xp = importlib.import_module(library)
    count = len(bytes_) - len(word) + 1
    if count <= 0:
        return []
    here = bytes_[:count] == word[0]
    for i, byte in enumerate(word[1:], 1):
        here &= bytes_[i:count + i] == byte
    positions = xp.nonzero(here)[0] if library != "torch" else xp.nonzero(here).flatten()
    positions = positions.astype(offsets.dtype) if library != "torch" else positions.to(offsets.dtype)
    rows = xp.searchsorted(offsets, positions, side="right") - 1
    inside = positions + len(word) <= offsets[rows + 1]     # not half in the next row
    return xp.unique(rows[inside])


def gather(found):
    """The counts and rows of all units, together."""
    return sum(item["count"] for item in found), sorted(row for item in found for row in item["rows"])[:TEN]


ENGINES = {"process": with_process, "polars": with_polars, "duckdb": with_duckdb,
           "duckdb-extension": with_duckdb_extension, "ray": with_ray, "dask": with_dask,
           "spark": with_spark}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("column")
    parser.add_argument("word")
    parser.add_argument("--engine", choices=ENGINES, default="process")
    parser.add_argument("--gpu", choices=("torch", "cupy"), help="decode on GPU workers (process, Ray and Dask)")
    given = parser.parse_args()
    if given.gpu and given.engine not in ("process", "ray", "dask"):
        parser.error("--gpu is for one machine's processes, Ray and Dask")
    more = {"gpu": given.gpu} if given.gpu else {}
    count, rows = ENGINES[given.engine](given.table, given.column, given.word, **more)
    print(f"{count} rows contain {given.word!r}; the smallest:")
    for row in rows:
        print(" ", row)


if __name__ == "__main__":
    main()
