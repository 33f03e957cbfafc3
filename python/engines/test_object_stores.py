"""Workers read files of an HTTP server by ranges, as they read object stores."""
import pathlib
import sys

import pytest

import fastpair as fp
import fastpair.dask
import fastpair.ray
from conftest import WORD

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))
from range_server import RangeServer, cut_off, error_500, times  # noqa: E402

FILES = 8
TEST = ("contains", "line", WORD)


@pytest.fixture(scope="module")
def files(table):
    """A column in numbered files, with a name each as a server has it."""
    return {f"line-{i:05d}.fpc": (table / f"part-{i:05d}" / "line.fpc").read_bytes() for i in range(FILES)}


@pytest.fixture(scope="module")
def wanted(table):
    found = sum(fp.open(table / f"part-{i:05d}" / "line.fpc").count(contains=WORD) for i in range(FILES))
    assert found > 50
    return found


@pytest.fixture
def server(files):
    with RangeServer(files) as running:
        yield running


def within(server, files, times):
    """Whether what was fetched is all bytes at least, and so many times all bytes at most. These files are so small
    that to open one fetches all of it; driver and workers open it."""
    size = sum(map(len, files.values()))
    return size <= server.bytes <= times * size


def test_ray(server, files, wanted, ray_cluster):
    urls = [server.url(name) for name in files]
    assert fastpair.ray.read_table(urls, where=TEST).count() == wanted
    assert within(server, files, 3)


def test_dask(server, files, wanted, dask_cluster):
    urls = [server.url(name) for name in files]
    frame = fastpair.dask.read_table(urls, where=TEST)
    assert len(frame) == wanted and frame["line"].str.contains(WORD).all().compute()
    assert within(server, files, 4)


def test_spark(server, files, spark):
    name = next(iter(files))
    frame = spark.read.format("fastpair").load(server.url(name))
    assert frame.where(frame.line.contains(WORD)).count() == fp.open(files[name]).count(contains=WORD)
    assert server.requests > 0


@pytest.mark.parametrize("fault", [error_500, cut_off])
def test_a_server_that_fails_at_times(server, files, wanted, dask_cluster, fault):
    """A failed request is made again; nothing is lost."""
    urls = [server.url(name) for name in files]
    server.fault = times(3, fault)
    assert len(fastpair.dask.read_table(urls, where=TEST)) == wanted
