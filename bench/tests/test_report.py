#!/usr/bin/env python3
"""Tests what the evaluation makes of results: a small results file with one line of nearly every kind becomes a report; figures come out as they went in, unverified ones
do not; the same results give the same bytes; results of an interrupted run are taken up again; ncu's table is read.

    tests/test_report.py REPOSITORY
"""

import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom
import xml.parsers.expat

ROOT = os.path.abspath(sys.argv[1])
sys.dont_write_bytecode = True
from checks import check, done  # noqa: E402
sys.path.insert(0, os.path.join(ROOT, "bench"))
from evaluation import agreement, choose, names, paper, quotes, store, svg  # noqa: E402



def rate_line(column, codec, kernel, gb_s, study="rates", positions="stored", verified=True, **more):
    return {"kind": "rate", "column": column, "fastpair_codec": codec, "kernel": kernel, "gb_s": gb_s, "gb_s_median": gb_s * 0.9, "study": study,
            "positions": positions, "verified": verified, "chosen": kernel.startswith("staged K8"), "ratio": 4.0, "mean_token": 7.5, "bytes": 10 ** 9, "chunks": 9, **more}


def some_results():
    """Made-up lines, for this test alone; figures are odd on purpose, so that they can be found again."""
    lines = [{"kind": "run", "run": "1", "date": "2000-01-01 00:00:00 UTC", "commit": "0123456789", "cpu": "a CPU", "cpus": 2,
              "gpu": {"name": "a GPU", "driver_version": "1.2", "clocks.max.sm": "1000 MHz", "clocks.max.mem": "2000 MHz", "power.limit": "300 W"},
              "configuration": {"bytes": "1G", "launches": 100, "column_bytes": 1000000, "quick": False}},
             {"kind": "device", "gpu": "a GPU", "multiprocessors": 100, "warps_per_multiprocessor": 64, "copy_gb_s": 1001, "fill_gb_s": 1002,
              "pinned_to_device_gb_s": 53.1, "pageable_to_device_gb_s": 9.1, "device_to_pinned_gb_s": 52.1}]
    for number, column in enumerate(["tpch_l_comment", "logs", "words & <marks>"]):
        for codec in ("onpair16", "onpair12"):
            lines.append({"kind": "column", "column": column, "fastpair_codec": codec, "tokens_in_use": 3871, "mean_token": 7.5, "share_le8": 0.5, "ratio": 4.0,
                          "ratio_total": 3.5, "bytes": 1000000, "sidecar_bytes": 2000})
            for k, w, h in ((6, 8, 1), (8, 8, 1), (8, 16, 0)):
                lines.append(rate_line(column, codec, f"staged K{k} W{w} H{h} T256 B4", 700 + 10 * number + k))
                lines.append(rate_line(column, codec, f"staged K{k} W{w} H{h} T256 B4", 600 + 10 * number + w, study="widths"))
            lines.append(rate_line(column, codec, "assembled K16 T1024", 1471.4 + number))
            # Faster than bytes alone, which no device is, so that it shows if it is taken for these.
            lines.append(rate_line(column, codec, "assembled K16 T1024", 2942.8 if number else 1103.6, outputs="offsets and validity" if number else "offsets",
                                   bytes_per_row=62.5))
            lines.append(rate_line(column, codec, "assembled K16 T1024", 8888.0, outputs="offsets", verified=False, bytes_per_row=62.5))
            lines.append(rate_line(column, codec, "staged K4 W8 H1 T256 B4", 9999.0, verified=False))
            lines += [rate_line(column, codec, "staged K8 W8 H1 T256 B4", 708, study="sidecar"),
                      rate_line(column, codec, "staged K8 W8 H1 T256 B4", 404, study="sidecar", positions="regenerated")]
        for codec, level, ratio, gb_s in (("zstd", "default", 5.0, 88.8), ("lz4", "default", 2.0, 333.3), ("ans", "default", 1.5, 444.4)):
            peer = {"kind": "gpu_peer", "library": "nvCOMP", "version": "6.0.0", "column": column, "codec": codec, "level": level, "chunk_bytes": 65536,
                    "ratio": ratio, "gb_s": gb_s, "verified": True}
            lines += [peer, dict(peer, kind="host_peer", memory="pinned", gb_s=31.5)]
        lines.append({"kind": "host", "column": column, "fastpair_codec": "onpair12", "how": "fastpair", "memory": "pinned", "ratio": 4.0, "gb_s": 171.5, "verified": True})
        lines.append({"kind": "cpu", "column": column, "fastpair_codec": "onpair12", "cpu": "a CPU", "threads": 2, "ratio": 4.0, "encode_mb_s": 111, "cpu_decode_1_mb_s": 5551,
                      "cpu_reference_mb_s": 4000, "cpu_decode_mb_s": 9000, "ratio_total": 3.5, "mean_token": 7.5, "verified": True})
        lines.append({"kind": "cpu_peer", "library": "libzstd.so.1", "column": column, "codec": "zstd", "level": "3", "chunk_bytes": 1 << 20, "ratio": 4.5, "gb_s": 1.11, "verified": True})
        for how, ratio in (("cold", 31.25), ("zstd -3", 30.75), ("Parquet + zstd", 29.25)):
            lines.append({"kind": "rest", "column": column, "how": how, "ratio": ratio, "gb_s": 3.17, "verified": how != "zstd -3"})
    for role, pattern, verified in (("rare", "xyzzy", True), ("common", "unverified", False)):
        lines.append({"kind": "search", "column": "logs", "fastpair_codec": "onpair12", "role": role, "pattern": pattern, "rows": 4321, "matches": 12, "gb_s": 44.75, "scan_gb_s": 2.5,
                      "verified": verified})
    for k in range(1, 9):
        for b in (1, 4, 8):
            for h in (0, 1, 2):
                lines.append(rate_line("logs", "onpair12", f"staged K{k} W8 H{h} T256 B{b}", 500 + k, study="launch-0" if h == 1 else "hoist-0"))
    # One column has auto, which chose long tokens; the others are as results were without it.
    for codec, more in (("onpair:12:32", {}), ("auto", {"chosen_codec": "onpair:12:32"})):
        lines.append(rate_line("tpch_l_comment", codec, "assembled K8 L32 T1024", 1333.3, ratio=4.8, **more))
        lines.append({"kind": "host", "column": "tpch_l_comment", "fastpair_codec": codec, "how": "fastpair", "memory": "pinned", "ratio": 4.8, "gb_s": 231.5, "verified": True, **more})
    lines.append(rate_line("logs", "onpair12", "shared K6 W8 H1 T256 B2", 417.0, study="shared"))
    for size in (10 ** 6, 10 ** 8, 4 * 10 ** 9):
        lines.append(rate_line("logs", "onpair12", "staged K8 W8 H1 T256 B4", 300.0, study="sizes", **{"bytes": size}))
    lines.append({"kind": "kernel", "table": "carried", "kernel": "staged K8 W8 H1 T256 B4", "threads": 256, "registers": 64, "register_limit": 64, "spill_bytes": 0,
                  "shared_bytes": 41088, "model_blocks": 4, "driver_blocks": 4})
    lines.append({"kind": "counters", "column": "logs", "fastpair_codec": "onpair12", "kernel": "staged K8 W8 H1 T256 B4", "wavefronts": 3e8, "wavefronts_shared": 2e8,
                  "wavefronts_shared_load": 5e7, "wavefronts_shared_store": 1e8, "l1_pipe": 97.3, "dram": 41.0, "occupancy": 48.0})
    return lines


def report(path, out, *options):
    ran = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "report"), "--out", out, *options, path], capture_output=True, text=True)
    check(ran.returncode == 0, f"bench/report ends well: {ran.stderr[-500:]}")
    with open(os.path.join(out, "report.md")) as file:
        markdown = file.read()
    with open(os.path.join(out, "report.html")) as file:
        return markdown, file.read()


def test_report(folder):
    path = os.path.join(folder, "results.jsonl")
    with open(path, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in some_results())
    markdown, html = report(path, os.path.join(folder, "a"))
    for figure in ("1471", "88.8", "5551", "172", "417", "404", "9.1", "97 %", "3871"):
        check(figure in markdown and figure in html, f"{figure} is in the report")
    check("9999" not in markdown and "8888" not in markdown and "unverified" not in markdown, "what was not verified is left out")
    check("| logs | OnPair-12 | xyzzy | 12 | 4321 | 44.8 | 2.50 | 17.9 |" in markdown, "a search stands beside decoding and scanning")
    for row in ("| tpch_l_comment | OnPair-12 | 62.5 | 1471 | 1104 | 25.0 % | – |", "| logs | OnPair-16 | 62.5 | 1472 | 2943 | -99.9 % | yes |"):
        check(row in markdown, f"rates with row offsets stand beside bytes alone: {row}")
    check(markdown.count("| 2943 |") == 4, "and are taken for nothing else")
    check("Not measured" not in markdown, "every section has something to say: " + str(re.findall(r"## .*\n\nNot measured.*", markdown)))
    for mark in ["Table 2", "Section 3.1", "Section 3.3", "Section 4.4", *[f"Figure {i}" for i in range(1, 9)]]:
        check(re.search(rf"^## .*the paper's {mark}\b", markdown, re.M), f"the paper's {mark} is marked")
    row = next((line for line in markdown.splitlines() if line.startswith("| logs | OnPair-16 | 1472 |")), "")
    check("nvCOMP zstd" in row and "| 88.8 | 5.00 | 16.6 |" in row, f"one line a column against the best peer at an equal or better ratio: {row}")
    check("| tpch_l_comment | OnPair-12, 32 B (auto) | 4.80 | 1333 | 232 | zstd, default, 64 KiB | 5.00 | 31.5 | 7.35 |" in markdown,
          "end to end, auto is taken where it was measured")
    check("| logs | OnPair-12 | 4.00 | 1472 | 172 |" in markdown, "and the fastest where it was not")
    row = next((line for line in markdown.splitlines() if line.startswith("| tpch_l_comment | OnPair-12, 32 B (auto) | 4.80 | 1333 | OnPair-16 |")), "")
    check("| 1.20 | 0.91 |" in row and row.endswith("| not the densest nor the fastest |"), f"auto against the paper's codecs, with a verdict: {row}")
    check("ahead of every nvCOMP codec on 3 of 3 columns" in markdown, "what end to end comes to")
    with open(os.path.join(folder, "a", "report", "end-to-end.svg")) as file:
        plot = file.read()
    check("ratio × 53.1 GB/s" in plot and "tpch_l_comment, OnPair-12, 32 B (auto): 232 GB/s at 4.80" in plot, "the plot has the link's rate and a mark per column and codec")
    check("<marks>" not in html and "words &amp; &lt;marks&gt;" in html, "names are escaped")
    check("http" not in html.replace("http://www.w3.org/2000/svg", ""), "the page needs nothing from elsewhere")
    plots = os.listdir(os.path.join(folder, "a", "report"))
    check(len(plots) >= 12, f"plots are files beside the Markdown: {len(plots)}")
    for plot in plots:
        xml.dom.minidom.parse(os.path.join(folder, "a", "report", plot))
    for name in re.findall(r"\]\((report/[^)]*)\)", markdown):
        check(os.path.exists(os.path.join(folder, "a", name)), f"{name} exists")
    check(report(path, os.path.join(folder, "b")) == (markdown, html), "the same results give the same bytes")
    other = os.path.join(folder, "other.jsonl")
    with open(other, "w") as file:
        file.writelines(json.dumps(dict(line, gb_s=line["gb_s"] * 1.1) if line.get("kernel", "").startswith("shared") else line) + "\n" for line in some_results())
    compared, _ = report(path, os.path.join(folder, "b"), "--second", other)
    check("## Reproduction: a second run" in compared and "| 417 | 458.7 | +10.0 % |" in compared, "two runs are compared")
    test_compare(path, other)


def test_compare(path, other):
    """bench/compare: what is the same, what is not, and what it says of it by its exit code."""
    compare = lambda *paths: subprocess.run([sys.executable, os.path.join(ROOT, "bench", "compare"), *paths], capture_output=True, text=True)  # noqa: E731
    rates = sum(line["kind"] in ("rate", "gpu_peer") and line["verified"] for line in some_results())
    found = agreement.pairs(some_results(), some_results())
    gpu = dict(agreement.by_part(found))[agreement.JUDGED]
    check(0.8 * rates < gpu.count <= rates and not gpu.beyond and gpu.largest == 0, "a run agrees with itself, in every rate that is told apart")
    check(not any(pair.first == 9999.0 for pair in found), "what was not verified is not compared")
    ran = compare(path, other)
    check(ran.returncode == 0 and "1 beyond 5%" in ran.stdout and "shared K6 W8 H1 T256 B2" in ran.stdout, f"one rate of many that differs is listed: {ran.stdout}")
    slower = [dict(line, gb_s=line["gb_s"] * 0.9) if line["kind"] == "rate" else line for line in some_results()]
    gpu = dict(agreement.by_part(agreement.pairs(some_results(), slower)))[agreement.JUDGED]
    check(abs(gpu.median - 0.1) < 1e-9 and len(gpu.beyond) > 0.9 * gpu.count - 12, "rates that all differ are all listed")
    hosts = [dict(line, gb_s=line["gb_s"] * 2) if line["kind"] == "host" else line for line in some_results()]
    parts = dict(agreement.by_part(agreement.pairs(some_results(), hosts)))
    check(not parts[agreement.JUDGED].beyond and parts["from host memory"].beyond, "rates from host memory are counted by themselves")
    half = agreement.completed([line for line in some_results() if line["kind"] != "cpu"], some_results())
    check(sum(line["kind"] == "cpu" for line in half) == 3, "kinds that only the second run has are taken from it")
    half = agreement.completed([line for line in some_results() if line["kind"] != "gpu_peer" or line["column"] == "logs"], some_results())
    check(sum(line["kind"] == "gpu_peer" for line in half) == 9, "and so are columns, each once")
    check(compare(path, os.devnull).returncode == 1 and compare(path).returncode == 2, "nothing in common is no agreement")


def test_quotes(folder):
    """What documents quote: made from results, the same again when it is made again, and refused where there is nothing of that name."""
    with open(os.path.join(folder, "kept.jsonl"), "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in some_results() if line["kind"] != "cpu")
    with open(os.path.join(folder, "kept-second.jsonl"), "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in some_results())
    block = "<!-- results: kept.jsonl {} -->\nold\n<!-- end results -->\n"
    text = "before\n\n" + "\n".join(block.format(what) for what in [*quotes.MAKERS, "headline codecs=onpair12", "rates columns=logs codecs=onpair12"]) + "\nafter\n"
    filled = quotes.fill(folder, text)
    check("old" not in filled and filled.startswith("before\n") and filled.endswith("after\n"), "quotations are made, the rest stays")
    check(quotes.fill(folder, filled) == filled, "making them again changes nothing")
    for figure in ("| logs | OnPair-12 | 4.00 | 7.5 | 718 | 1472 | 2.05 |", "| logs | OnPair-16 | 4.00 | 1472 | 88.8 | zstd | – | 1.11 | zstd |",
                   "| logs | OnPair-12 | 4.00 | 1472 | 88.8 | zstd | 5.55 | 1.11 | zstd |", "one a GPU", "CPU figures: 2000-01-01"):
        check(figure in filled, f"{figure} is quoted: {filled}")
    alone = filled[filled.index("columns=logs"):]
    check("logs" in alone and "tpch_l_comment" not in alone and "OnPair-16" not in alone, "columns and codecs are as asked for")
    for wrong in ("kept.jsonl nothing", "absent.jsonl rates"):
        try:
            quotes.fill(folder, block.replace("kept.jsonl {}", wrong))
            check(False, f"{wrong} is refused")
        except ValueError:
            check(True, "")


def test_nothing_measured(folder):
    path = os.path.join(folder, "few.jsonl")
    with open(path, "w") as file:
        file.write(json.dumps(dict(some_results()[0], gpu=None)).replace('"gpu": null, ', "") + "\n")
    markdown, _ = report(path, os.path.join(folder, "c"))
    check("Nothing was measured" in markdown and markdown.count("Not measured in this run") >= 10, "a run without results says so")


def test_store(folder):
    path = os.path.join(folder, "store.jsonl")
    first = store.Store(path, {"a": 1})
    first.add({"kind": "run", "run": "7", "configuration": {"a": 1}})
    first.add({"kind": "rate", "step": "x", "gb_s": 1})
    first.add({"kind": "done", "step": "x"})
    first.add({"kind": "rate", "step": "y", "gb_s": 2})
    with open(path, "a") as file:
        file.write('{"kind": "rate", "st')  # the machine went away here
    again = store.Store(path, {"a": 1})
    check(again.done == {"x"} and again.run == "7", "finished steps are known")
    check([line["gb_s"] for line in again.of_kind("rate")] == [1], "lines of unfinished steps are dropped")
    again.add({"kind": "rate", "step": "y", "gb_s": 3})
    check([line["gb_s"] for line in store.read_lines([path]) if line["kind"] == "rate"] == [1, 3], "the file goes on in whole lines")
    try:
        store.Store(path, {"a": 2})
        check(False, "another configuration is refused")
    except SystemExit:
        check(True, "")


def test_markers():
    """Every shape of a mark is XML, larger ones with an outline too."""
    for shape in range(6):
        for ours in (False, True):
            mark = svg.marker(shape, 10, 20, "#123456", "a < b", ours)
            try:
                xml.dom.minidom.parseString(mark)
                good = True
            except xml.parsers.expat.ExpatError:
                good = False
            check(good, f"mark {shape} is XML: {mark}")


def test_parts():
    check([names.title_of(codec) for codec in ("onpair:13:8", "onpair:15:16", "onpair:12:64", "stored")] == ["OnPair-13, 8 B", "OnPair-15", "OnPair-12, 64 B", "stored"], "whatever auto chooses has a title")
    check(choose.envelope([(1, 100), (2, 50), (3, 60), (4, 10), (2.5, 60)]) == [(1, 100), (3, 60), (4, 10)], "the envelope drops what others beat")
    slope, offset, r = choose.fit([(1, 3), (2, 5), (3, 7)])
    check(abs(slope - 2) < 1e-9 and abs(offset - 1) < 1e-9 and abs(r - 1) < 1e-9, "a line is fitted exactly")
    check(choose.fit([(1, 1), (1, 2), (1, 3)]) is None, "no spread, no fit")
    for low, high in ((1e6, 4e9), (43, 1900), (1, 1), (0.5, 3)):
        axis = svg.Axis("", [low, high], 0, 100, log=True)
        check(axis.low <= low * 1.001 and axis.high >= high * 0.999 and axis.high > axis.low, f"a logarithmic axis holds {low} to {high}")
    check(paper.same_column("tpch_l_comment") == "TPC-H l_comment" and paper.same_column("loghub_hadoop") is None, "the paper's columns by name")


def test_counters():
    loader = importlib.machinery.SourceFileLoader("counters", os.path.join(ROOT, "bench", "counters"))
    counters = importlib.util.module_from_spec(importlib.util.spec_from_loader("counters", loader))
    loader.exec_module(counters)
    text = ('==PROF== Connected to process 1\n"ID","Kernel Name","gpu__time_duration.sum","l1tex__data_pipe_lsu_wavefronts.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed"\n'
            '"","","ns","","%"\n"0","fp_x_k6","1,000","2,000,000","40"\n"1","fp_x_k6","3,000","1,000","80"\n')
    line = counters.summarise(counters.parse(text))
    check(line == {"launches": 2, "duration_ns": 4000, "wavefronts": 2001000, "dram": 70.0}, f"ncu's raw page is read: {line}")
    # As ncu prints it without --page raw: a row a metric, and here two tables in one output.
    table = '"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"\n'
    row = '"0","683","fp_assembled_k16_b16_l16_HOT_s4_t768","Command line profiler metrics","{}","","{}"\n'
    text = "==PROF== Connected\n" + table + row.format("l1tex__data_pipe_lsu_wavefronts.sum", "152,162,572") + "==PROF== Connected\n" + table + \
        row.format("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", "86.44")
    rows = counters.parse(text)
    check(len(rows) == 1 and counters.summarise(rows) == {"launches": 1, "wavefronts": 152162572, "l1_pipe": 86.44}, f"ncu's other pages are read: {rows}")
    check(rows[0]["Kernel Name"].lower() == counters.function_of("assembled K16 b16 L16 HOT S4 T768"), "an assembled kernel is known by its function")
    check(counters.function_of("staged K6 W8 H1 T256 B4") == "fp_staged_k6_w8_h1_t256_b4", "and so is a staged one")
    try:
        counters.parse("==ERROR== no permission\n")
        check(False, "no table is an error")
    except ValueError:
        check(True, "")


with tempfile.TemporaryDirectory() as scratch:
    for name in "abc":
        os.mkdir(os.path.join(scratch, name))
    test_report(scratch)
    test_quotes(scratch)
    test_nothing_measured(scratch)
    test_store(scratch)
test_parts()
test_markers()
test_counters()
done()
