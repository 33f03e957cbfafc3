"""columns.py - the columns that are measured. In: names of generated TPC-H columns, files,
directories. Out: files of rows in the work folder, and .fpc files made from them. Files may be
compressed with xz or gzip. Rows end with newlines, or with NUL bytes where a file's name ends in
.nul or its first 64 KB hold a NUL byte.
"""

import concurrent.futures
import gzip
import os
import re
import subprocess

TPCH = ["l_comment", "ps_comment", "o_clerk", "c_address", "l_shipinstruct"]

# name in results: option of the command
CODECS = {
    "onpair16": "onpair16",
    "onpair12": "onpair12",
    "fsst12": "fsst12",
    "onpair14x8": "onpair:14:8",
    "onpair:12:32": "onpair:12:32",
    "onpair:12:64": "onpair:12:64",
    "onpair:14:16": "onpair:14:16",
    "auto": "auto",
}
# Those the paper's kernels can decode, whose kernels are compared and studied. Of the others the
# kernel that the library chooses is measured.
STUDIED = ["onpair16", "onpair12", "fsst12", "onpair14x8"]
# Measured from host memory on every column.
FROM_HOST = ["auto", "onpair:12:32", "onpair:12:64", "onpair12", "onpair16"]
# The codec of cold files, as results call it; the command has an option of its own for them.
COLD = "cold"
# Sidecar entries so small that a kernel with any number of codes a lane can use them.
FINE_BATCH = 32


class Column:
    def __init__(self, name, text, ends_with_nul, origin):
        self.name, self.text, self.ends_with_nul, self.origin = name, text, ends_with_nul, origin

    def encoded(self, work, codec, batch=None):
        # Colons have a meaning in some paths.
        codec = codec.replace(":", "-")
        return os.path.join(work, f"{self.name}.{codec}{f'.b{batch}' if batch else ''}.fpc")


def collect(paths):
    """Files named, and those in directories named, that look like columns."""
    found = []
    for path in paths:
        if os.path.isdir(path):
            names = sorted(os.listdir(path))
            found += [
                os.path.join(path, name)
                for name in names
                if re.search(r"\.(txt|nul|log|csv|tsv)(\.(xz|gz))?$", name)
            ]
        elif os.path.exists(path):
            found.append(path)
        else:
            raise SystemExit(f"{path}: no such file or directory")
    return found


def _open(path):
    if path.endswith(".xz"):
        import lzma  # not every Python has it

        return lzma.open(path)
    return gzip.open(path) if path.endswith(".gz") else open(path, "rb")


def _unpack(path, target, limit):
    """Writes whole rows of `path`, at most about `limit` bytes, and says whether they end with
    NUL.
    """
    with _open(path) as source:
        head = source.read(65536)
        nul = re.search(r"\.nul(\.|$)", path) is not None or b"\0" in head
        end = b"\0" if nul else b"\n"
        written, piece = 0, head
        with open(target + ".part", "wb") as out:
            while piece and written < limit:
                if written + len(piece) > limit:
                    cut = piece.rfind(end, 0, limit - written)
                    piece = piece[: cut + 1] if cut >= 0 else piece[: piece.find(end) + 1] or piece
                    out.write(piece)
                    break
                out.write(piece)
                written += len(piece)
                piece = source.read(1 << 22)
        os.replace(target + ".part", target)
    return nul


def prepare_file(path, work, limit):
    name = re.sub(r"\.(xz|gz)$", "", os.path.basename(path))
    name = re.sub(r"\.(txt|nul|log|csv|tsv)$", "", name)
    target = os.path.join(work, name + ".rows")
    marker = target + ".nul"
    if not os.path.exists(target):
        if _unpack(path, target, limit):
            open(marker, "w").close()
    return Column(name, target, os.path.exists(marker), "file")


def prepare_generated(name, work, limit, build):
    target = os.path.join(work, f"tpch_{name}.rows")
    if not os.path.exists(target):
        with open(target + ".part", "wb") as out:
            subprocess.run(
                [os.path.join(build, "fastpair-gen"), name, str(limit)], stdout=out, check=True
            )
        os.replace(target + ".part", target)
    return Column(f"tpch_{name}", target, False, "generated")


def encode(column, work, codec, build, batch=None):
    """Makes the .fpc file, unless it is there."""
    target = column.encoded(work, codec, batch)
    if os.path.exists(target):
        return target
    command = [
        os.path.join(build, "fastpair"),
        "-q",
        "-f",
        "--cold" if codec == COLD else f"--codec={CODECS[codec]}",
        "-T2",
        "-o",
        target + ".part",
    ]
    if batch:
        command.append(f"--batch={batch}")
    if column.ends_with_nul:
        command.append("-0")
    subprocess.run(command + [column.text], check=True)
    os.replace(target + ".part", target)
    return target


def prepare_all(generated, inputs, work, limit, build):
    """All columns, generated ones first; several are made at a time."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        jobs = [pool.submit(prepare_generated, name, work, limit, build) for name in generated]
        jobs += [pool.submit(prepare_file, path, work, limit) for path in collect(inputs)]
        return [job.result() for job in jobs]


def encode_all(jobs, build, work, progress):
    """jobs: (column, codec, batch). Several at a time: encoding is not what is measured here.
    Returns what could not be encoded, and why.
    """
    workers, failed = max(1, (os.cpu_count() or 2) * 3 // 4), []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = [
            pool.submit(encode, column, work, codec, build, batch) for column, codec, batch in jobs
        ]
        for number, (job, (column, codec, _)) in enumerate(zip(waiting, jobs), 1):
            try:
                job.result()
            except (OSError, subprocess.SubprocessError) as error:
                failed.append((f"{column.name} {codec}", repr(error)))
            progress(f"encoding, {number} of {len(waiting)}")
    return failed


def prefix(column, work, size):
    """A column of about the first `size` bytes of rows, for inputs smaller than the column."""
    target = os.path.join(work, f"{column.name}.first{size}.rows")
    if not os.path.exists(target):
        end = b"\0" if column.ends_with_nul else b"\n"
        with open(column.text, "rb") as source:
            data = source.read(size)
        cut = data.rfind(end) + 1
        with open(target, "wb") as out:
            out.write(data[:cut] if cut else data)
    return Column(f"{column.name}.first{size}", target, column.ends_with_nul, column.origin)
