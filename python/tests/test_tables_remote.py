"""Tables by URL: the same answers, few requests, and faults that name the file."""
import pickle

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import fastpair as fp
from test_tables import FAST, TABLE

fsspec = pytest.importorskip("fsspec")

WHERE = ("and", ("contains", "url", "timeout"), ("not", ("is_null", "n")))


@pytest.fixture
def remote(tmp_path):
    """A table in memory://, copied there when it was complete."""
    fp.write_table(tmp_path / "t", TABLE, part_rows=7000, chunk_bytes=32_000, **FAST)
    fs = fsspec.filesystem("memory")
    fs.put(str(tmp_path / "t"), "/bucket/t", recursive=True)
    yield "memory://bucket/t", fs, tmp_path / "t"
    fs.rm("/bucket", recursive=True)


def test_the_same_as_on_disk(remote):
    url, _, path = remote
    ds, local = fp.open_table(url), fp.open_table(path)
    assert ds.columns == local.columns and ds.schema == local.schema and len(ds) == len(local)
    assert [part.rows for part in ds.parts] == [7000, 7000, 6000]
    assert pa.table(ds).equals(TABLE)
    assert ds.count(WHERE) == local.count(WHERE) > 100
    assert ds.read(where=WHERE, limit=7).equals(local.read(where=WHERE, limit=7))
    units = [pickle.loads(pickle.dumps(unit)) for unit in ds.units()]
    assert sum(unit.count(WHERE) for unit in units) == local.count(WHERE)
    assert units[3].read().equals(local.units()[3].read())
    assert pa.table(pickle.loads(pickle.dumps(ds))).equals(TABLE)


def test_scan(remote):
    url, _, _ = remote
    frame = pl.from_arrow(TABLE)
    test = pl.col("url").str.contains("timeout", literal=True) & (pl.col("n") > 100)
    assert_frame_equal(fp.scan(url, storage_options={}).filter(test).collect(), frame.filter(test))


@pytest.mark.parametrize("what", ["/part-0000[01]", "/part-*", "/part-00001", "/part-00001/url.fpc", "/part-00001/*.fpc"])
def test_globs_and_files(remote, what):
    url, _, path = remote
    assert pa.table(fp.open_table(url + what)).equals(pa.table(fp.open_table(str(path) + what)))
    assert pa.table(fp.open_table([url + "/part-00002", url + "/part-00000"])).num_rows == 13_000


def test_numbered_files(remote):
    _, fs, _ = remote
    for i in range(20):
        fs.pipe(f"/bucket/numbers/url-{i:05d}.fpc", fp.compress([f"{i}", None], name="url"))
    for what in ("memory://bucket/numbers", "memory://bucket/numbers/*.fpc"):
        assert pa.table(fp.open_table(what)).to_pydict() == {"url": [row for i in range(20) for row in (f"{i}", None)]}


def test_file_url(tmp_path):
    fp.write_table(f"file://{tmp_path}/t", TABLE.slice(0, 10))
    assert pa.table(fp.open_table(f"file://{tmp_path}/t")).equals(TABLE.slice(0, 10))


def test_what_is_refused(remote):
    url, fs, path = remote
    with pytest.raises(ValueError, match="written to folders of this machine"):
        fp.write_table(url, TABLE)
    with pytest.raises(ValueError, match="written to folders of this machine"):
        fp.write_part(url, TABLE, 0)
    with pytest.raises(fp.Error, match="both URLs and paths"):
        fp.open_table([url, str(path)])
    with pytest.raises(FileNotFoundError):
        fp.open_table("memory://bucket/none")
    with pytest.raises(fp.Error, match="no file or folder"):
        fp.open_table("memory://bucket/none/*.fpc")
    fs.rm("/bucket/t/part-00001/title.fpc")
    with pytest.raises(fp.Error, match="part-00001: no column 'title', which memory:.*part-00000 has"):
        fp.open_table(url)


def test_damage(remote):
    url, fs, path = remote
    chunk = fp.open(path / "part-00001" / "url.fpc").chunks[2]
    image = bytearray(fs.cat("/bucket/t/part-00001/url.fpc"))
    image[chunk.file_offset + 5] ^= 0xff
    fs.pipe("/bucket/t/part-00001/url.fpc", bytes(image))
    with pytest.raises(fp.Error, match=rf"^memory://.*part-00001/url.fpc: chunk at offset {chunk.file_offset}.*write the part again"):
        fp.open_table(url).read()
    fs.pipe("/bucket/t/part-00001/url.fpc", bytes(image[:1000]))
    with pytest.raises((fp.Error, OSError), match="part-00001/url.fpc"):
        fp.open_table(url)


def test_a_file_that_was_replaced(remote):
    """A table that is opened again sees the new file, also where the old one was kept open."""
    url, fs, path = remote
    before = fp.open_table(url)
    assert len(pa.table(before)) == 20_000
    for name in ("url.fpc", "raw.fpc", "title.fpc", "rest.parquet"):
        fs.pipe(f"/bucket/t/part-00002/{name}", fs.cat(f"/bucket/t/part-00001/{name}"))
    after = pa.table(fp.open_table(url))
    assert after.equals(pa.concat_tables([TABLE.slice(0, 14_000), TABLE.slice(7000, 7000)]))


def test_only_what_is_needed_is_fetched(remote, monkeypatch):
    url, fs, path = remote
    fetched = {}
    original = type(fs).cat_file

    def counting(self, name, start=None, end=None, **keywords):
        result = original(self, name, start=start, end=end, **keywords)
        fetched[name] = fetched.get(name, 0) + len(result)
        return result
    monkeypatch.setattr(type(fs), "cat_file", counting)
    ds = fp.open_table(url, columns=["title"])
    opened = dict(fetched)
    unit = ds.units()[0]
    fetched.clear()
    unit.read(limit=1)
    assert not any("part-00001" in name or "raw" in name for name in fetched), fetched
    assert all("part-00000/" in name for name in fetched)
    assert opened and all(size <= 64 << 10 for size in opened.values())


# ---------------------------------------------------------------- a server

def links(names):
    return "".join(f'<a href="{name}">{name}</a>\n' for name in names).encode()


@pytest.fixture
def server(remote):
    """The same table behind HTTP, with pages that list the folders."""
    pytest.importorskip("aiohttp")
    from range_server import RangeServer

    _, _, path = remote
    files = {"t/": links(f"{part.name}/" for part in sorted(path.iterdir()))}
    for part in path.iterdir():
        files[f"t/{part.name}/"] = links(file.name for file in sorted(part.iterdir()))
        files |= {f"t/{part.name}/{file.name}": file.read_bytes() for file in part.iterdir()}
    with RangeServer(files) as server:
        yield server


def test_behind_http(server):
    ds = fp.open_table(server.url("t/"))
    assert ds.columns == TABLE.column_names and len(ds.parts) == 3
    assert pa.table(ds).equals(TABLE)
    server.reset()
    assert ds.count(("equals", "title", "title 7")) == 200
    files = [server.url(f"t/part-{i:05d}/url.fpc") for i in range(3)]
    assert pa.table(fp.open_table(files)).equals(TABLE.select(["url"]))
    assert_frame_equal(fp.scan(files).filter(pl.col("url").is_null()).collect(),
                       pl.from_arrow(TABLE.select(["url"])).filter(pl.col("url").is_null()))


LARGE = fp.compress([f"{i} " + "x" * (i % 90) for i in range(200_000)], codec="onpair12", chunk_bytes=100_000)


def test_only_ranges_are_fetched(server):
    """A file is never asked for whole to find out what it is."""
    server.files["large.fpc"] = LARGE
    server.reset()
    ds = fp.open_table([server.url("large.fpc")])
    assert server.requests <= 2 and server.bytes <= 64 << 10
    server.reset()
    assert ds.units()[5].read(limit=1).num_rows == 1
    assert server.bytes < len(LARGE) / 5


def test_a_server_that_fails(server):
    from range_server import error_500, times

    server.files["large.fpc"] = LARGE
    ds = fp.open_table(server.url("large.fpc"))
    server.fault = times(2, error_500)
    assert ds.count(("prefix", "large", "77 ")) == 1
    server.fault = error_500
    with pytest.raises(OSError, match="large.fpc: bytes .* cannot be read"):
        ds.read()
