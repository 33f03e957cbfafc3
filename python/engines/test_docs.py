"""What docs/engines.md says can be typed runs, from top to bottom; what it quotes was measured."""
import os
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
QUOTED = re.compile(r"<!-- petabyte -->\n(.*?)<!-- end petabyte -->", re.S)


def test_engines(tmp_path, monkeypatch, ray_cluster, spark):
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"```(python|sql)\n(.*?)```", (DOCS / "engines.md").read_text(), re.S)
    assert len(found) >= 9
    names = {"__name__": "engines"}
    for number, (language, block) in enumerate(found):
        try:
            if language == "python":
                exec(compile(block, f"engines.md block {number}", "exec"), names)
            elif "FASTPAIR_DUCKDB_EXTENSION" in os.environ:
                run_sql(block.replace("build/fastpair.duckdb_extension", os.environ["FASTPAIR_DUCKDB_EXTENSION"]))
        except Exception as error:
            pytest.fail(f"docs/engines.md, block {number}: {type(error).__name__}: {error}\n{block}")


def run_sql(text):
    import duckdb

    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        for statement in filter(str.strip, re.sub("--.*", "", text).split(";")):
            rows = connection.execute(statement).fetchall()
            assert rows or "LOAD" in statement


def test_figures():
    """The table is that of the results."""
    quoted = QUOTED.findall((DOCS / "engines.md").read_text())
    measured = QUOTED.findall((DOCS / "results" / "engines.md").read_text())
    assert len(quoted) == 1 and quoted == measured
