"""store.py - measurements as JSON lines. In: objects, each with a kind. Out: a file that grows
by whole lines, so that a run which was interrupted can go on: a step whose closing line is there
is not measured again.
"""

import json
import os


class Store:
    """The results of one run, in one file."""

    def __init__(self, path, configuration):
        self.path = path
        self.done = set()
        self.lines = read_lines([path]) if os.path.exists(path) else []
        runs = [line for line in self.lines if line["kind"] == "run"]
        # What was measured in another way is no part of this run.
        if runs and runs[-1].get("configuration") != configuration:
            raise SystemExit(
                f"{path}: has results of another configuration ({runs[-1].get('configuration')}); "
                "give --fresh to replace them, or another --out"
            )
        self.run = runs[-1]["run"] if runs else None
        self.done = {line["step"] for line in self.lines if line["kind"] == "done"}
        # Lines of a step that did not end are measured again.
        kept = [
            line
            for line in self.lines
            if line["kind"] in ("run", "done") or line.get("step") in self.done
        ]
        if len(kept) != len(self.lines):
            self.lines = kept
            with open(path, "w") as file:
                file.writelines(json.dumps(line) + "\n" for line in kept)

    def add(self, line):
        if self.run and "run" not in line:
            line = dict(line, run=self.run)
        if line["kind"] == "run":
            self.run = line["run"]
        if line["kind"] == "done":
            self.done.add(line["step"])
        self.lines.append(line)
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")

    def of_kind(self, kind):
        return [line for line in self.lines if line["kind"] == kind]


def read_lines(paths):
    """All objects of some files. A last line that was cut off in the middle is left out."""
    lines = []
    for path in paths:
        with open(path) as file:
            for number, text in enumerate(file, 1):
                try:
                    line = json.loads(text)
                except ValueError:
                    if text.endswith("\n"):
                        raise SystemExit(f"{path}:{number}: is no JSON object")
                    continue
                if not isinstance(line, dict) or "kind" not in line:
                    raise SystemExit(f"{path}:{number}: has no kind")
                lines.append(line)
    return lines
