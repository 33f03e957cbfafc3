"""python_steps.py - measures the systems of python_systems.py on one column. In: rows, a substring.
Out: a result line per system. One process on one core; systems take turns, in alternating order;
every result of every round is compared with the rows. Times are the processor's, of all threads:
on one core that is the time that passes, less what other processes take of it.
"""

import gc
import os
import statistics
import time

import numpy
import pyarrow as pa

from . import python_systems

# What is looked for: common enough to be found, rare enough to be a search. Unless told, the word
# that is nearest to one row in a hundred.
NEEDLES = {
    "hdfs_selfrun": "blk_39",
    "loghub_hadoop": "Address change detected",
    "npm_repo_url": "react",
    "openssh_syslog": "Invalid user admin",
    "python_code": "asyncio",
    "reddit_title": "Obama",
    "reddit_url": "wikipedia",
    "ru_sentence": "никогда",
    "tpch_c_address": "xy",
    "tpch_l_comment": "express depo",
    "tpch_o_clerk": "#0000412",
    "tpch_ps_comment": "final requests haggle",
    "wikipedia_en": "algorithm",
    "win_event_json": "rundll32",
    "zhwiki": "火车站",
}
# Short calls are repeated within a round: this many times, or for this long.
REPEATS, REPEAT_SECONDS = 8, 0.006


def needle_of(column, rows):
    if column in NEEDLES:
        return NEEDLES[column]
    counts = {}
    for row in rows[: 1 << 16]:
        for word in set(row.split()):
            if word.isalnum() and len(word) >= 4:
                counts[word] = counts.get(word, 0) + 1
    wanted = min(len(rows), 1 << 16) / 100
    return min(sorted(counts), key=lambda word: abs(counts[word] - wanted), default="a")


class Measured:
    """One system on one column."""

    def __init__(self, name, system, path):
        self.name, self.system, self.path = name, system, path
        self.seconds, self.wall_seconds = {}, {}  # what was done: how long each time took
        self.wrong, self.error = set(), None

    def time(self, what, call, expected=None):
        """One call. `expected` are the rows that it must give."""
        cpu, begin = time.process_time(), time.perf_counter()
        result = call()
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        self.seconds.setdefault(what, []).append(cpu)
        self.wall_seconds.setdefault(what, []).append(wall)
        if expected is not None and not same_rows(result, expected):
            self.wrong.add(what)
        return wall

    def guarded(self, call):
        """A system that fails is left out, with the reason."""
        if self.error:
            return
        try:
            call()
        except Exception as error:  # whatever a library thinks of, the others are measured
            self.error = f"{type(error).__name__}: {error}"[:300]


def same_rows(result, expected):
    if isinstance(result, pa.Table):
        result = result["rows"]
    if isinstance(result, pa.Array):
        result = pa.chunked_array([result])
    if result.type != expected.type:
        result = result.cast(expected.type)
    return result.equals(expected)


class ColumnStep:
    def __init__(self, column, rows, folder, options):
        self.column, self.options = column, options
        self.needle = options.needle or needle_of(column, rows)
        self.bytes = sum(len(row.encode()) for row in rows)
        self.all = pa.chunked_array([pa.array(rows, pa.string())])
        # All of a few long rows would be no selection.
        count = max(1, min(options.take, len(rows) // 10))
        generator = numpy.random.default_rng(7)
        self.numbers = numpy.sort(generator.choice(len(rows), count, replace=False))
        self.taken = self.all.take(pa.array(self.numbers))
        self.found = pa.chunked_array(
            [pa.array([row for row in rows if self.needle in row], pa.string())]
        )
        table = pa.table({"rows": self.all})
        self.systems = [
            Measured(
                name,
                python_systems.SYSTEMS[name](table),
                os.path.join(folder, f"{column}.{number}"),
            )
            for number, name in enumerate(options.systems)
        ]

    def in_turns(self, rounds, measure):
        """Every system, as many times; each second round backwards, so that none is always the one
        after the slowest.
        """
        for number in range(rounds):
            for each in self.systems if number % 2 == 0 else self.systems[::-1]:
                each.guarded(lambda each=each: measure(each))
                gc.collect()

    def write(self, each):
        each.system.remove(each.path)
        each.time("write", lambda: each.system.write(each.path))

    # Before each call that counts there is one that does not, so that no system has to find its own
    # code and memory in caches that the one before it has filled.

    def full(self, each):
        """Nothing is open: some libraries share what two handles of one file have read."""
        system, handles = each.system, []

        def call():
            handles.append(system.open(each.path))
            return system.decode(handles[-1])

        call()
        system.close(handles[-1])
        each.time("full", call, self.all)
        system.close(handles[-1])

    def opened(self, each):
        each.handle = each.system.open(each.path)
        each.about = each.system.describe(each.handle)
        each.rows = each.system.prepare(each.handle, self.numbers)

    def access(self, each):
        system, handle = each.system, each.handle
        for what, call, expected in (
            ("decode", lambda: system.decode(handle), self.all),
            ("take", lambda: system.take(handle, each.rows), self.taken),
            ("contains", lambda: system.contains(handle, self.needle), self.found),
        ):
            spent, times = 0.0, 0
            while times == 0 or (times < REPEATS and spent < REPEAT_SECONDS):
                call()
                spent += each.time(what, call, expected)
                times += 1

    def measure(self):
        gc.disable()
        self.in_turns(self.options.writes, self.write)
        self.in_turns(self.options.rounds, self.full)
        self.in_turns(1, self.opened)
        self.in_turns(self.options.rounds, self.access)
        self.in_turns(1, lambda each: each.system.close(each.handle))
        gc.enable()
        return [self.line(each) for each in self.systems]

    def line(self, each):
        line = {
            "kind": "python",
            "column": self.column,
            "system": each.name,
            "rows": len(self.all),
            "bytes": self.bytes,
            "needle": self.needle,
            "found": len(self.found),
            "taken": len(self.taken),
        }
        if each.error:
            return dict(line, error=each.error, verified=False)
        file_bytes = each.system.size(each.path)
        line |= {
            "random_access": each.system.random_access,
            "file_bytes": file_bytes,
            "ratio": self.bytes / file_bytes,
            "write_mb_s": self.bytes / statistics.median(each.seconds["write"]) / 1e6,
        }
        line |= each.about
        for what in ("full", "decode", "take", "contains"):
            line[f"{what}_ms"] = statistics.median(each.seconds[what]) * 1e3
            line[f"{what}_ms_least"] = min(each.seconds[what]) * 1e3
            line[f"{what}_ms_wall"] = statistics.median(each.wall_seconds[what]) * 1e3
            line[f"{what}_ms_wall_least"] = min(each.wall_seconds[what]) * 1e3
        each.system.remove(each.path)
        return dict(
            line, verified=not each.wrong, **({"wrong": sorted(each.wrong)} if each.wrong else {})
        )
