#!/usr/bin/env python3
"""Tests bench/run without a GPU, with made-up programs in place of the measuring ones: files of
every codec have names without colons; results of auto carry what it chose; every column is measured
from host memory; what a kernel cannot decode is no failure; a run that the time limit ends makes a
report, and goes on where it was. Then bench/publish with one run and with two, in a copy of what it
needs.

    tests/test_run.py REPOSITORY
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from checks import check, done  # noqa: E402

ROOT = os.path.abspath(sys.argv[1])
COLUMNS = ["logs", "urls", "words"]

# A program of each name; what it prints depends on the files named, as the real one's output does.
PROGRAM = '''#!{python}
import json, os, sys, time
name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps([name] + arguments) + "\\n")
files = [a for a in arguments if a.endswith(".fpc") and not a.startswith("-")]
options = dict(a[2:].partition("=")[::2] for a in arguments if a.startswith("--"))
codec_of = lambda path: path.rsplit(".", 2)[1] if ".b32." not in path else path.rsplit(".", 3)[1]
RATIOS = {{"onpair16": 4.0, "onpair12": 5.0, "fsst12": 3.0, "onpair14x8": 3.5, "onpair-12-32": 8.0, "onpair-12-64": 10.5, "onpair-14-16": 4.5, "auto": 8.0, "cold": 20.0}}
def say(**line):
    print(json.dumps(line), flush=True)
if name == "fastpair":
    if "-l" in arguments:
        codec = codec_of(files[0])
        say(file=files[0], codec={{"auto": "onpair:12:32"}}.get(codec, codec.replace("-", ":")), ratio=RATIOS[codec], ratio_total=2.0, tokens_in_use=9, mean_token=5.0, share_le8=0.5, bytes=1000, sidecar_bytes=1)
    elif "-b" in arguments:
        say(file=arguments[-1], codec="onpair:12:32" if options["codec"] == "auto" else options["codec"], ratio=4.0, ratio_total=3.0, mean_token=5.0, encode_mb_s=1, cpu_decode_mb_s=2, cpu_decode_1_mb_s=3000,
            cpu_reference_mb_s=4, threads=2, cpu="a CPU", verified=True)
    else:
        open(arguments[arguments.index("-o") + 1], "w").close()
elif name == "fastpair-measure":
    what = arguments[0]
    if what == "device":
        say(kind="device", gpu="a GPU", multiprocessors=1, warps_per_multiprocessor=64, copy_gb_s=1, fill_gb_s=1, pinned_to_device_gb_s=55.0, pageable_to_device_gb_s=9, device_to_pinned_gb_s=50)
    elif what == "kernels":
        for kernel in ("staged K8 W8 H1 T256 B4", "staged K6 W8 H1 T256 B4", "assembled K16 T1024"):
            say(kind="kernel", kernel=kernel, threads=256, registers=64, register_limit=64, spill_bytes=0, shared_bytes=1, model_blocks=1, driver_blocks=1)
    for path in files:
        codec = codec_of(path)
        about = dict(file=path, ratio=RATIOS[codec], mean_token=5.0, bytes=1000, chunks=1, batch_codes=256, verified=True)
        if what == "rates":
            if "words" in path and codec == "onpair-14-16":
                print(path + ": left out: no kernel decodes it", file=sys.stderr)
                continue
            wanted = options.get("outputs", "bytes")
            for outputs, part in (("bytes", 1.0), ("offsets", 0.875)):
                if wanted in (outputs, "both"):
                    say(kind="rate", kernel="assembled K16 T1024", chosen=True, positions="stored", outputs=outputs, bytes_per_row=12.5,
                        gb_s=1000 * RATIOS[codec] ** 0.5 * part, gb_s_median=900.0, **about)
            if options.get("kernel", "chosen") != "chosen" and "onpair-" not in codec and codec != "auto":
                say(kind="rate", kernel="staged K8 W8 H1 T256 B4", chosen=False, positions="stored", gb_s=700.0, gb_s_median=600.0, **about)
        elif what == "host":
            for memory in ("pinned",) if options.get("memory") == "pinned" else ("pageable", "pinned"):
                say(kind="host", how="fastpair", memory=memory, kernel="assembled K16 T1024", gb_s=50.5 * RATIOS[codec], gb_s_median=1.0, **about)
elif name == "fastpair-search":
    like = arguments[arguments.index("-j") + 1]
    for role, pattern, gb_s in (("rare", "xyz123", 40.5), ("common", "some", 12.25)) + ((("like", like, 20.5),) if like else ()):
        say(kind="search", role=role, pattern=pattern, rows=100, matches=7, gb_s=gb_s, scan_gb_s=2.5, verified=True, file=files[0])
elif name == "fastpair-peers" and "cold" in options:
    for how, ratio, gb_s in (("cold", 31.5, 8.25), ("warm", 7.5, 15.5), ("zstd -3", 30.5, 4.25)):
        say(kind="rest", file=files[0], how=how, bytes=1000, compressed_bytes=int(1000 / ratio), ratio=ratio, gb_s=gb_s, verified=True)
elif name == "fastpair-peers":
    for codec, level, ratio, gb_s in (("snappy", "default", 6.0, 222.2), ("zstd", "default", 9.0, 99.9)):
        peer = dict(file=files[0], library="nvCOMP", version="6.0.0", codec=codec, level=level, chunk_bytes=65536, ratio=ratio, gb_s=gb_s, verified=True)
        if options.get("only") == "cpu":
            say(kind="cpu_peer", **dict(peer, library="lib%s.so.1" % codec, gb_s=1.5))
            continue
        if not ("not-host" in options and codec == "snappy"):
            say(kind="gpu_peer", **peer)
        if "from-host" in options:
            say(kind="host_peer", memory="pinned", part_bytes=1, **peer)
        if os.path.exists({slow!r}) and "urls" in files[0]:
            time.sleep(60)  # ended by the time limit, after the first codec
'''


class Place:
    """A build folder of made-up programs, and columns."""

    def __init__(self, folder):
        self.folder, self.build, self.out = folder, os.path.join(folder, "build"), os.path.join(folder, "out")
        self.log, self.slow = os.path.join(folder, "log"), os.path.join(folder, "slow")
        os.mkdir(self.build)
        for name in ("fastpair", "fastpair-measure", "fastpair-peers", "fastpair-search"):
            path = os.path.join(self.build, name)
            with open(path, "w") as file:
                file.write(PROGRAM.format(python=sys.executable, log=self.log, slow=self.slow))
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        self.columns = []
        for name in COLUMNS:
            self.columns.append(os.path.join(folder, name + ".txt"))
            with open(self.columns[-1], "w") as file:
                file.write("a row\n" * 100)

    def run(self, *options):
        ran = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "run"), "--build", self.build, "--out", self.out, "--tpch=none", "--nvcomp=some.so", "--commit=0123456789", *options, *self.columns],
                             capture_output=True, text=True)
        with open(os.path.join(self.out, "results.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        with open(os.path.join(self.out, "report.md")) as file:
            return ran, lines, file.read()

    def calls(self):
        with open(self.log) as file:
            return [json.loads(line) for line in file]


def of(lines, kind, **wanted):
    return [line for line in lines if line["kind"] == kind and all(line.get(key) == value for key, value in wanted.items())]


def test_whole_run(folder):
    place = Place(folder)
    ran, lines, markdown = place.run("--detail=logs", "--skip=clocks,counters,sizes")
    check(ran.returncode == 0, f"a run ends well, also where a kernel cannot decode a file: {ran.stderr[-800:]}")
    check("left out: no kernel decodes it" in ran.stderr, f"what is left out is said: {ran.stderr}")
    work = os.listdir(os.path.join(place.out, "work"))
    check("logs.onpair-12-64.fpc" in work and not any(":" in name for name in work), f"no colons in names of files: {work}")
    check(any(call[0] == "fastpair" and "--codec=onpair:12:64" in call for call in place.calls()), "the command has them")
    for kind in ("rate", "host", "cpu"):
        found = of(lines, kind, fastpair_codec="auto")
        check({line["column"] for line in found} == set(COLUMNS) and all(line["chosen_codec"] == "onpair:12:32" for line in found), f"{kind}: auto says what it chose")
        check(all("chosen_codec" not in line for line in lines if line["kind"] == kind and line["fastpair_codec"] != "auto"), f"{kind}: others choose nothing")
    check(len(of(lines, "rate", study="rates", outputs="bytes")) == 8 * 3 - 1, "the kernel chosen, for every codec and column")
    check(len(of(lines, "rate", outputs="offsets")) == len(of(lines, "rate", study="rates", outputs="offsets")) == 8 * 3 - 1, "and the same with row offsets, in no other step")
    check("| urls | OnPair-12, 32 B (auto) | 12.5 | 2828 | 2475 | 12.5 % | – |" in markdown, "what an engine gets stands beside bytes alone")
    check({line["fastpair_codec"] for line in of(lines, "rate", study="families")} == {"onpair16", "onpair12", "fsst12", "onpair14x8"}, "all kernels for codecs that the paper's can decode")
    check(len(of(lines, "host", memory="pinned")) == 8 + 5 + 5 + 3 and {line["column"] for line in of(lines, "host", memory="pageable")} == {"logs"}, "host memory: every column, in detail with all codecs")
    check({line["column"] for line in of(lines, "host_peer")} == set(COLUMNS), "peers from host memory on every column")
    check(len(of(lines, "gpu_peer", codec="snappy")) == 3 and len(of(lines, "gpu_peer", codec="zstd")) == 6, "settings measured from host memory are not measured again")
    steps = [line["step"].split()[0] for line in of(lines, "done")]
    order = [steps.index(step) for step in ("device", "rates", "host", "host-peers", "peers", "cpu-peers", "families")]
    check(order == sorted(order), f"the most wanted first: {steps}")
    check("| logs | OnPair-12, 32 B (auto) | 8.00 | 2828 | 404 | snappy, default, 64 KiB | 6.00 | 222 | 1.82 |" in markdown, "the table from end to end")
    check("ahead of every nvCOMP codec on 3 of 3 columns" in markdown, "and what it comes to")
    check(len(of(lines, "rest", how="cold")) == 3 and len(of(lines, "host", fastpair_codec="cold", memory="pinned")) == 3, "cold files of every column")
    check(any(call[0] == "fastpair" and "--cold" in call and not any("--codec" in word for word in call) for call in place.calls()), "which the command makes without a codec")
    check("| logs | 31.50 | 8.25 | 1010 | 7.50 | 15.5 | 404 | 30.50 | 4.25 |" in markdown, "and the table of columns at rest")
    check("at most 2 % larger than zstd -3 on 3 of 3 columns" in markdown, "with what it comes to")
    check(len(of(lines, "search", role="rare")) == len(of(lines, "search", role="common")) == 2 * 3, "searches of two codecs on every column")
    check({line["column"] for line in of(lines, "search", role="like", pattern="%google%")} == {"urls"}, "and LIKE on columns of addresses")
    check("| urls | OnPair-12, 32 B (auto) | LIKE '%google%' | 7 | 100 | 20.5 | 2.50 | 8.2 |" in markdown and "4.9 to 16.2 times as fast" in markdown, "and the table of searches")
    check("| urls | OnPair-12, 32 B (auto) | 8.00 | 2828 | OnPair-12 | 5.00 | 2236 | 1.60 | 1.26 | OnPair-12 | 5.00 | 2236 | 1.60 | 1.26 | yes |" in markdown, "auto against the paper's codecs")
    return os.path.join(place.out, "results.jsonl")


def test_time_limit(folder):
    place = Place(folder)
    open(place.slow, "w").close()
    options = ["--detail=none", "--skip=clocks,counters,sizes", "--codecs=onpair12,auto"]
    ran, lines, markdown = place.run("--time-limit=8", *options)
    check(ran.returncode == 0 and "the time limit was reached" in ran.stderr and "host-peers urls: ended at the time limit" in ran.stderr, f"the limit is no failure: {ran.stderr[-800:]}")
    check(len(of(lines, "host", memory="pinned")) == 6 and not of(lines, "cpu"), "what came before is there")
    check([line["codec"] for line in of(lines, "host_peer", column="urls")] == ["snappy"], "and what the step that was ended had measured")
    check("ahead of every nvCOMP codec on 2 of 2 columns" in markdown and re.search(r"\| words \| OnPair-12, 32 B \(auto\) \| 8.00 \| 2828 \| 404 \| – \| – \| – \| – \|", markdown), "the report is made of it")
    os.remove(place.slow)
    ran, lines, markdown = place.run(*options)
    check(ran.returncode == 0 and "ahead of every nvCOMP codec on 3 of 3 columns" in markdown, "the same command goes on")
    check(len(of(lines, "host_peer", column="urls")) == 2 and len(of(lines, "host")) == 6 + 3, "what was ended is measured again, the rest is not")


def test_publish(folder, results):
    """In a copy of the tree's bench/, with documents of its own."""
    shutil.copytree(os.path.join(ROOT, "bench"), os.path.join(folder, "bench"), ignore=shutil.ignore_patterns("__pycache__"))
    kept = os.path.join(folder, "docs", "results")
    os.makedirs(kept)
    readme = os.path.join(folder, "README.md")
    blocks = "".join(f"<!-- results: docs/results/some.jsonl {what} -->\n<!-- end results -->\n\n" for what in ("headline", "end-to-end columns=logs", "auto", "machine", "rates codecs=onpair12"))
    with open(readme, "w") as file:
        file.write(blocks)
    publish = lambda *arguments: subprocess.run([sys.executable, os.path.join(folder, "bench", "publish"), "some", *arguments], capture_output=True, text=True)  # noqa: E731
    ran = publish(results)
    check(ran.returncode == 0 and not os.path.exists(os.path.join(kept, "some-second.jsonl")), f"one run is enough: {ran.stderr}")
    with open(readme) as file:
        alone = file.read()
    check("| logs | OnPair-12, 32 B (auto) | 8.00 | 2828 | 99.9 | zstd | 3.00 | 1.50 | zstd |" in alone, f"the headline takes auto: {alone}")
    check("| snappy, default, 64 KiB | 6.00 | 222 | 1.82 |" in alone and "| urls | OnPair-12, 32 B (auto) | 8.00 | 2828 | OnPair-12 |" in alone, "the other tables are quoted")
    check(os.path.exists(os.path.join(kept, "some", "standing.svg")) and os.path.exists(os.path.join(kept, "some", "end-to-end.svg")), "with the plots")
    check(publish(results, results).returncode == 0 and os.path.exists(os.path.join(kept, "some-second.jsonl")), "a second run is kept")
    check(publish(results).returncode == 0 and not os.path.exists(os.path.join(kept, "some-second.jsonl")), "and goes away with the first")
    with open(readme) as file:
        check(file.read() == alone, "the same results give the same text")
    checker = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "tests", "quoted_figures.py"), folder], capture_output=True, text=True)
    check(checker.returncode == 0, f"what was published passes the check: {checker.stderr}")


with tempfile.TemporaryDirectory() as scratch:
    for name in ("whole", "limited", "published"):
        os.mkdir(os.path.join(scratch, name))
    results_of_run = test_whole_run(os.path.join(scratch, "whole"))
    test_time_limit(os.path.join(scratch, "limited"))
    test_publish(os.path.join(scratch, "published"), results_of_run)
done()
