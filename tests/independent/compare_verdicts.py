#!/usr/bin/env python3
"""Compares three verdicts on files of every kind and on mutants of them, which must agree:

    the decoder in decoder/, fastpair_column_open with _validate, and the streaming reader.

They agree where all accept the file and give the same rows and framing, byte by byte, or all refuse
it. Where they do not, the seed, the mutant's number and history and what each said are printed, and
the file is kept. The same seed and number give the same mutant again.

    compare_verdicts.py --judge PROGRAM --command FASTPAIR [--mutants N] [--seed N] [--jobs N] [--keep FOLDER]
    compare_verdicts.py ... --only NUMBER     one mutant: prints its verdicts and keeps its file
"""

import argparse
import collections
import concurrent.futures
import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from bases import make_files  # noqa: E402
from decoder.column import read_column  # noqa: E402
from decoder.wire import Violation  # noqa: E402
from judge import CORRUPT, LIMIT, OK, UNSUPPORTED, Judge, JudgeDied, limit_memory, pack_contents, pack_metadata  # noqa: E402
from mutator.content import read_content  # noqa: E402
from mutator.mutate import Mutant, mutate  # noqa: E402

BLOCK = 50  # mutants per task
WORKER_BYTES = 1 << 30

worker = None  # of this process


class Verdict:
    """What the decoder says, and whether the library's answers agree."""

    def __init__(self, rule, disagreement):
        self.rule = rule  # "valid", "valid, but beyond the limit", or the rule that is broken
        self.disagreement = disagreement  # lines of text, or None


class Worker:
    """Judges mutants, with a judge of its own."""

    def __init__(self, options, files):
        self.options = options
        self.judge = Judge(options.judge)
        self.files = files
        self.bases = [(name, read_content(data)) for name, data in files]

    def mutant(self, number):
        """Numbers below 0 are the files themselves."""
        if number < 0:
            name, data = self.files[-number - 1]
            return Mutant(data, [name])
        return mutate(self.options.seed, number, self.bases)

    def _expect(self, answer, limited, contents, violation):
        """Why the answer is wrong, or None."""
        if violation is None:
            if limited:
                return None if answer.status == LIMIT else "should be refused with LIMIT"
            if answer.status != OK:
                return "should be accepted"
            return None if answer.contents == contents else "gives other contents"
        if answer.status == OK:
            return "should be refused"
        wanted = (CORRUPT, LIMIT)
        if "version is" in violation.rule or "feature" in violation.rule:
            wanted = (UNSUPPORTED,)
        if "must be known" in violation.rule:  # something else may be wrong, too, and found before
            wanted += (UNSUPPORTED,)
        return None if answer.status in wanted else "should be refused with another status"

    def _expect_zeros(self, data, answer):
        """Codes without a token: a decoder may refuse them, or must give zero bytes."""
        try:
            filled = pack_contents(read_column(data, fill=True))
        except Violation:
            return None  # something else is wrong, too
        return None if answer.contents == b"" or answer.contents.startswith(filled) else "decodes codes without a token to other bytes"

    def judge_mutant(self, number):
        """The mutant and the verdict on it."""
        mutant = self.mutant(number)
        column = violation = contents = None
        try:
            column = read_column(mutant.data)
            contents = pack_contents(column)
            limited = column.beyond_limit
            rule = "valid, but beyond the limit" if limited else "valid"
        except Violation as broken:
            violation, limited, rule = broken, False, broken.rule
        said = [f"decoder: {violation or rule}"]
        try:
            answers = self.judge.ask(mutant.data, number)
        except JudgeDied as death:
            return mutant, Verdict(rule, said + [f"judge: {death}"])
        wrong = False
        for name, answer in zip(("column", "reader"), answers):
            expected = contents
            if column is not None and name == "column":
                expected += pack_metadata(column)
            why = self._expect(answer, limited, expected, violation)
            if why is None and rule == "every code has a token":
                why = self._expect_zeros(mutant.data, answer)
            wrong = wrong or why is not None
            said.append(f"{name}: {answer}" + (f" ({why})" if why else ""))
        if self.options.only is not None:
            print("\n".join(said))
        return mutant, Verdict(rule, said if wrong else None)

    def keep(self, number, mutant):
        os.makedirs(self.options.keep, exist_ok=True)
        path = os.path.join(self.options.keep, f"seed{self.options.seed}-{number}.fpc")
        with open(path, "wb") as file:
            file.write(mutant.data)
        return path


def start_worker(options, files):
    """Makes this process's worker."""
    global worker
    limit_memory(WORKER_BYTES)
    worker = Worker(options, files)


def judge_range(first, last):
    """Counts verdicts on mutants first .. last-1, and reports the disagreements."""
    rules, reports = collections.Counter(), []
    for number in range(first, last):
        try:
            mutant, verdict = worker.judge_mutant(number)
        except Exception as error:
            raise RuntimeError(f"seed {worker.options.seed} mutant {number}") from error
        rules[verdict.rule] += 1
        if verdict.disagreement:
            head = f"seed {worker.options.seed} mutant {number}: {', '.join(mutant.history)}"
            reports.append("\n    ".join([head, *verdict.disagreement, f"kept as {worker.keep(number, mutant)}"]))
    return rules, reports


def run_all(options, files):
    """All mutants on all jobs. Returns the counts of verdicts and the number of disagreements."""
    rules, disagreements = collections.Counter(), 0
    starts = range(-len(files), options.mutants, BLOCK)
    ends = [min(options.mutants, start + BLOCK) for start in starts]
    with concurrent.futures.ProcessPoolExecutor(options.jobs, None, start_worker, (options, files)) as pool:
        for counts, reports in pool.map(judge_range, starts, ends):
            rules += counts
            disagreements += len(reports)
            for report in reports:
                print(report, flush=True)
    return rules, disagreements


def parse_arguments():
    scale = float(os.environ.get("FASTPAIR_TEST_SCALE", "1"))
    parser = argparse.ArgumentParser(description="Compares the verdicts of decoder, column and reader.")
    parser.add_argument("--judge", required=True, help="the program of judge.c")
    parser.add_argument("--command", required=True, help="the fastpair command")
    parser.add_argument("--golden", default=os.path.join(HERE, "..", "golden"), help="folder of golden files")
    parser.add_argument("--mutants", type=int, default=int(5000 * scale), help="how many; default %(default)s")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FASTPAIR_TEST_SEED", "1")))
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    parser.add_argument("--keep", default="disagreements", help="folder for files that are judged differently")
    parser.add_argument("--only", type=int, help="judge this mutant alone")
    parser.add_argument("--rules", action="store_true", help="print how often each rule was broken")
    return parser.parse_args()


def main():
    options = parse_arguments()
    files = make_files(options.command, options.golden)
    if options.only is not None:
        start_worker(options, files)
        mutant, verdict = worker.judge_mutant(options.only)
        print(", ".join(mutant.history), worker.keep(options.only, mutant), sep="\n")
        return 1 if verdict.disagreement else 0
    begin = time.monotonic()
    rules, disagreements = run_all(options, files)
    if options.rules:
        for rule, count in rules.most_common():
            print(f"{count:8} {rule}")
    total, valid = sum(rules.values()), rules["valid"]
    print(f"seed {options.seed}: {len(files)} files and {options.mutants} mutants, {valid} of them valid,")
    print(f"{len(rules)} verdicts, {disagreements} disagreements, {time.monotonic() - begin:.1f} s")
    # Of mutants that are all refused, or all for the same reason, nothing would be learned.
    if total >= 1000 and (valid < total / 5 or len(rules) < 60):
        print("too few kinds of mutants")
        return 1
    return 1 if disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
