"""machine.py - what a run was measured on. In: the system's tools. Out: one result line."""

import datetime
import os
import platform
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def output_of(command):
    """Standard output of a command, or an empty text where it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            return re.search(r"model name\s*:\s*(.*)", file.read()).group(1)
    except (OSError, AttributeError):
        return platform.processor()


GPU_QUERY = [
    "name",
    "driver_version",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "power.limit",
    "temperature.gpu",
    "ecc.mode.current",
    "persistence_mode",
]


def describe_machine(given):
    commit = given.commit or output_of(["git", "-C", HERE, "rev-parse", "--short=10", "HEAD"])
    if not given.commit and output_of(
        ["git", "-C", HERE, "status", "--porcelain", "--untracked-files=no"]
    ):
        commit += " and changes"
    line = {
        "kind": "run",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "commit": commit,
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
    }
    values = output_of(
        ["nvidia-smi", "--query-gpu=" + ",".join(GPU_QUERY), "--format=csv,noheader"]
    ).split("\n")[0]
    if values:
        line["gpu"] = dict(zip(GPU_QUERY, [value.strip() for value in values.split(",")]))
    return line
