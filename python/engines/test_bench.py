"""bench/engines, on a table that is too small to say anything about speed: its answers must be right."""
import pathlib
import re
import subprocess
import sys

from conftest import WORD

BENCH = pathlib.Path(__file__).parents[2] / "bench" / "engines"


def test_bench(rows, tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(row or "-" for row in rows[:20_000]))
    command = [sys.executable, BENCH, "--bytes", "2000000", "--part-bytes", "500000", "--rounds", "1",
               "--codec", "onpair12", "--needle", WORD, "--out", tmp_path / "report.md", tmp_path / "lines.txt"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    report = (tmp_path / "report.md").read_text()
    assert "all were right" in report
    assert len(re.findall(r"^\| (?:fastpair|Parquet|DuckDB)", report, re.M)) >= 10
