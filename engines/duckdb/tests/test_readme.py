"""The examples of engines/duckdb/README.md: each runs, and each result is what the page says."""

import re

from conftest import EXTENSION, TREE


def test_the_examples(tmp_path, monkeypatch):
    text = (TREE / "engines" / "duckdb" / "README.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "fastpair.duckdb_extension").symlink_to(EXTENSION.resolve())
    names = {}
    compared = 0
    for language, block in re.findall(r"^```(python|sql)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language == "python":
            exec(block, names)
            continue
        for statement, result in re.findall(r"([^;]+);\n(?:-- (.*)\n)?", block):
            answer = names["con"].execute(statement).fetchall()
            if result:
                assert str(answer) == result, statement
                compared += 1
    assert compared == 10
