"""The lines of README.md run, one after another, as a reader would type them."""
import os
import pathlib
import re

import pytest

README = pathlib.Path(__file__).parents[1] / "README.md"


def blocks():
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.S)


def test_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    found = blocks()
    assert len(found) >= 5
    for number, block in enumerate(found):
        if "cuda" in block and not os.path.exists("/dev/nvidia0"):
            compile(block, f"README.md block {number}", "exec")
            continue
        try:
            exec(compile(block, f"README.md block {number}", "exec"), names)
        except Exception as error:
            pytest.fail(f"README.md, block {number}: {type(error).__name__}: {error}\n{block}")
