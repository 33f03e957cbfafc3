"""Files that mutants begin with: the golden files, and files of every codec made by the command."""

import glob
import os
import random
import subprocess

WORDS = "furiously deposits sleep carefully quick ironic requests the of blithely 2024-03 https:// id= \t é".split(" ")


def _lines(rng, count, words):
    return b"".join(" ".join(rng.choices(WORDS, k=rng.randint(0, words))).encode() + b"\n" for _ in range(count))


def _texts():
    """Texts by name. They are small, since a mutant costs time in proportion to its file."""
    rng = random.Random(1)
    plain = _lines(rng, 120, 8)
    numbers = b"".join(b"%d\n" % rng.randrange(10**9) for _ in range(150))
    return {
        "plain": plain,
        "changing": _lines(rng, 250, 8) + numbers * 2 + bytes(rng.choices(range(256), k=3000)),
        "many codes": bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz\n", k=6000)),
        "long rows": _lines(rng, 400, 8).replace(b"\n", b" ") + b"\n" + plain[:500],
        "noise": bytes(rng.choices(range(256), k=1500)),
        "empty rows": b"\n" * 300,
        "no final newline": plain + b"end",
        "zero bytes": plain.replace(b" ", b"\0"),
        "nothing": b"",
    }


def _options():
    """(text, options of the command) of each file."""
    for bits in range(9, 17):
        for longest in (8, 16):
            yield "plain", [f"--codec=onpair:{bits}:{longest}"]
    yield "plain", ["--codec=fsst12", "--batch=96"]
    yield "plain", ["--codec=onpair12", "--align=4096"]
    yield "plain", ["--codec=onpair16", "--chunk=1K", "--seed=5"]
    yield "changing", ["--codec=onpair:10", "--sample=4K", "--chunk=2K"]
    yield "changing", ["--codec=stored", "--chunk=2K"]
    yield "many codes", ["--codec=onpair:9", "--batch=32"]
    yield "many codes", ["--codec=fsst12", "--batch=1024", "--chunk=3K"]
    yield "long rows", ["--codec=onpair:11"]
    yield "noise", ["--codec=auto"]
    yield "empty rows", []
    yield "no final newline", []
    yield "zero bytes", ["-0", "--optimize=ratio"]
    yield "nothing", []
    yield "plain", ["--cold"]
    yield "plain", ["--cold", "--codec=fsst12", "--chunk=1K"]
    yield "changing", ["--cold", "--chunk=2K", "--align=4096"]
    yield "many codes", ["--cold", "--codec=stored"]


def _reads_cold(command):
    """Whether the command was built with zstd."""
    null = subprocess.DEVNULL
    return subprocess.run([command, "-q", "-c", "--cold"], input=b"a\n", stdout=null, stderr=null).returncode == 0


def make_files(command, golden):
    """(name, bytes) of every file that the command can read. golden: the folder of golden files."""
    files = []
    cold = _reads_cold(command)
    for path in sorted(glob.glob(os.path.join(golden, "*.fpc"))):
        if not cold and os.path.basename(path).startswith("cold_"):
            continue
        with open(path, "rb") as file:
            files.append((os.path.basename(path), file.read()))
    texts = _texts()
    for text, options in _options():
        if not cold and "--cold" in options:
            continue
        arguments = [command, "-q", "-c", "-T1", *options]
        run = subprocess.run(arguments, input=texts[text], stdout=subprocess.PIPE, check=True)
        files.append((" ".join([text, *options]), run.stdout))
    return files
