"""What the tests with engines share: a table of 64 parts, and engines that are small and end with the tests.

Workers are processes of their own. They import what tests send them by name, so they are told this folder.
"""
import os
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).parent
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
os.environ["RAY_DEDUP_LOGS"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

import pyarrow as pa  # noqa: E402
import pytest  # noqa: E402

import fastpair as fp  # noqa: E402

PARTS, PART_ROWS = 64, 1500
WORD = "timeout"


def make_rows(count, seed=21):
    """Log lines, some of them null, some of them empty."""
    chosen = random.Random(seed)
    words = ["GET /index", "POST /login", "worker", "straße", "ERROR", "ok", "日本", "disk full"]
    rows = []
    for i in range(count):
        draw = chosen.random()
        if draw < 0.02:
            rows.append(None)
        elif draw < 0.03:
            rows.append("")
        else:
            line = " ".join(chosen.choices(words, k=chosen.randint(1, 6))) + f" #{i % 9973}"
            rows.append(line + " timeout" if draw > 0.985 else line)
    return rows


@pytest.fixture(scope="session")
def rows():
    return make_rows(PARTS * PART_ROWS)


@pytest.fixture(scope="session")
def whole(rows):
    """What the table holds."""
    return pa.table({"line": rows, "host": [f"host-{i % 31}" for i in range(len(rows))],
                     "number": pa.array(range(len(rows)), pa.int64())})


@pytest.fixture(scope="session")
def table(whole, tmp_path_factory):
    """A folder of 64 parts."""
    path = tmp_path_factory.mktemp("tables") / "events"
    fp.write_table(path, whole, part_rows=PART_ROWS, codec="onpair12")
    assert len(fp.open_table(path).parts) == PARTS
    return path


@pytest.fixture(scope="session")
def answer(rows):
    """How many rows contain the word, and the smallest ten."""
    hits = sorted(row for row in rows if row and WORD in row)
    assert len(hits) > 500
    return len(hits), hits[:10]


@pytest.fixture(scope="session")
def ray_cluster():
    """Ray with two workers, and a GPU that is a mere number."""
    import ray

    ray.init(num_cpus=2, num_gpus=1, object_store_memory=200 << 20, include_dashboard=False, log_to_driver=False,
             logging_level="error", configure_logging=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.DataContext.get_current().print_on_execution_start = False
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def dask_cluster():
    """Dask with two worker processes, each with a nanny that starts it again."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, memory_limit="2GiB",
                      dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def spark():
    """Spark with two threads of tasks, each of which may fail three times."""
    from pyspark.sql import SparkSession

    import fastpair.spark

    session = (SparkSession.builder.master("local[2,4]").appName("fastpair").config("spark.ui.enabled", "false")
               .config("spark.driver.memory", "1g").config("spark.ui.showConsoleProgress", "false")
               .config("spark.sql.shuffle.partitions", "2")
               .config("spark.log.level", "OFF").config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.default.parallelism", "2").getOrCreate())
    fastpair.spark.register(session)
    yield session
    session.stop()
