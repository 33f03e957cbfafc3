#!/bin/bash
# grep.sh - tests of fpgrep: what it prints is what grep -F prints of the text, for many texts,
# codecs, patterns and options; its --like is compared with a translation to regular expressions.
# FASTPAIR_TEST_BACKEND=gpu: the same with --backend=gpu.
. "$(dirname "$0")/common.sh"
"$make_columns"

cat >against.py <<'PYTHON'
"""Columns of texts that are hard on a search, and grep -F on the texts as the oracle."""
import os, random, re, subprocess, sys

fastpair, fpgrep = map(os.path.abspath, sys.argv[1:3])
seed = int(os.environ.get("FASTPAIR_TEST_SEED", "1"))
scale = float(os.environ.get("FASTPAIR_TEST_SCALE", "1"))
rng = random.Random(seed)
environment = dict(os.environ, LC_ALL="C", GREP_COLORS="")
backend = os.environ.get("FASTPAIR_TEST_BACKEND", "cpu")
fpgrep = [fpgrep, "--backend=" + backend]
ran = failed = 0


def run(words, **more):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, env=environment, **more)
    return done.returncode, done.stdout, done.stderr


def same(what, got, want):
    global ran, failed
    ran += 1
    if got != want:
        failed += 1
        print("differs (seed %d): %.300s\n  fpgrep: %.300r\n  wanted: %.300r" % (seed, what, got, want), file=sys.stderr)


# ------------------------------------------------------------ texts
words = [w.encode() for w in "error ERROR Error errorcode warn /var/log app_1445 app_14451 % _ \\ a.b a*b [x] aa aaa ab".split()]
def line(most):
    return b" ".join(rng.choices(words, k=rng.randint(0, most)))
def periodic():
    return rng.choice([b"a", b"ab", b"aab", b"abcabd"]) * rng.randint(0, 40) + rng.choice([b"", b"b", b"c"])
def odd():
    return bytes(rng.choice(b"ab\x00\xff\xc3\xa9\t\r\x1b") for _ in range(rng.randint(0, 30)))

texts = {
    "log": b"".join(line(9) + b"\n" for _ in range(4000)),
    "log-open": b"".join(line(9) + b"\n" for _ in range(300)) + b"error at the end",
    "periodic": b"".join(periodic() + b"\n" for _ in range(1500)),
    "odd": b"".join(odd().replace(b"\n", b"") + b"\n" for _ in range(1500)),
    "accents": "".join(rng.choice(["é", "日本", "x", "É", "ü%", ""]) * rng.randint(0, 5) + "\n" for _ in range(800)).encode(),
    "empty-rows": b"\n" * 500,
    "one-empty": b"\n",
    "nothing": b"",
    "one": b"error",
    "long-row": b"x" * 30000 + b"needle" + b"y" * 30000 + b"\n" + b"needle\n",
}
codecs = ["auto", "onpair12", "onpair16", "fsst12", "stored", "onpair:9:8", "onpair:12:64", "onpair:14:32"]
few = scale < 0.1  # in the emulator
if few: codecs = codecs[1::2]
if not scale < 1: codecs += ["onpair:10:64", "onpair:16:64"]
zeros = {"log", "odd", "periodic"}
os.mkdir("text")
for name, text in texts.items():
    with open("text/" + name, "wb") as f: f.write(text)
    if name in zeros:
        with open("text/%s-0" % name, "wb") as f: f.write(text.replace(b"\0", b"").replace(b"\n", b"\0"))

made = set()
def column(name, codec, *more):
    """Compresses a text, once; the folder of the column, which has the text's own name."""
    folder = codec.replace(":", "-") + "".join(more)
    if (folder, name) not in made:
        os.makedirs(folder, exist_ok=True)
        zero = ["-0"] if name.endswith("-0") else []
        code, _, err = run([fastpair, "-q", "--codec=" + codec, "--chunk=8K", *zero, *more, "-o", folder + "/" + name, "text/" + name])
        assert code == 0, err
        made.add((folder, name))
    return folder


patterns = [b"error", b"ERROR", b"rror", b"e", b"", b" ", b"errorcode", b"app_1445", b"absent word", b"a", b"aa", b"aaa", b"ab" * 9,
            b"aab" * 7, b"abcabd" * 5 + b"c", b"%", b"a.b", b"a*b", b"[x]", b"^error", b"error$", b"\\", b"-n", b"\xff", b"\xc3\xa9",
            b"\xc3", b"\x1b", "日本".encode(), b"needle", b"xneedley", b"x" * 500, b"y" * 900, b"error at the end", b"/var/log warn"]

def compare(name, codec, options, chosen, more=()):
    """One command line for both; patterns go to -e, so that any bytes may begin them."""
    given = ["-" + o if o[0] != "-" else o for o in options]
    given += [w for p in chosen for w in (b"-e", p)]
    zero = ["-z"] if name.endswith("-0") else []
    want = run(["grep", "-aF", *zero, *given, "--", name], cwd="text")
    same("%s %s %s" % (name, codec, given), run([*fpgrep, *given, "--", name], cwd=column(name, codec, *more)), want)


# Every codec and text, plain; then many patterns and options at random.
for name in texts:
    for codec in codecs:
        for pattern in rng.sample(patterns, 1 if few else 3 if scale < 1 else 6): compare(name, codec, [], [pattern])
        compare(name, codec, ["c"], [b"error"])
    for pattern in patterns[::4 if few else 1]: compare(name, "onpair12", ["c"], [pattern])
single = ["c", "v", "n", "i", "x", "l", "L", "q", "H", "h", "m0", "m1", "m7", "m1000", "--color=always"]
for _ in range(int(1500 * min(scale, 4))):
    name = rng.choice([*texts, *(z + "-0" for z in zeros)])
    options = rng.sample(single, rng.choice([0, 1, 1, 2, 2, 3, 4]))
    # Some versions of grep tell nothing of files that they need not open.
    if "m0" in options and {"c", "L"} & set(options): continue
    pool = patterns
    if rng.random() < 0.4 and len(texts.get(name, b"")) > 20:  # what is really there, wherever it is cut
        start = rng.randrange(len(texts[name]) - 10)
        piece = texts[name][start:start + rng.randint(1, 40)].split(b"\n")[0].replace(b"\0", b"")
        pool = [piece]
    chosen = [rng.choice(pool) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
    more = rng.choice([(), (), ("--cold",)]) if os.environ.get("COLD") else ()
    compare(name, rng.choice(codecs), options, chosen, more)

# ------------------------------------------------------------ -f
for lines in (b"error\nwarn\n", b"error\nwarn", b"", b"\n", b"absent\n", b"\xff\n\xc3\xa9\n", b"aa\n" * 2000):
    with open("list", "wb") as f: f.write(lines)
    for options in ([], ["-v"], ["-x"], ["-i"], ["-c"], ["-ci"])[:6 if lines else 4]:
        for name in ("log", "odd", "periodic"):
            same("-f %r %s %s" % (lines[:20], options, name), run([*fpgrep, *options, "-f", "../list", name], cwd=column(name, "onpair12")),
                 run(["grep", "-aF", *options, "-f", "../list", name], cwd="text"))
with open("list", "wb") as f: f.write(b"\0\n")
same("a NUL in -f", run([*fpgrep, "-c", "-f", "list", column("odd", "onpair12") + "/odd"])[1],
     b"%d\n" % sum(b"\0" in row for row in texts["odd"].split(b"\n")))

# ------------------------------------------------------------ what grep has not
rows = {name: text.split(b"\n")[:-1] if text.endswith(b"\n") else text.split(b"\n") if text else [] for name, text in texts.items()}
def selected(what, name, codec, options, chosen, test):
    wanted = [row for row in rows[name] if any(test(row, p) for p in chosen)]
    got = run([*fpgrep, *options, *(w for p in chosen for w in (b"-e", p)), name], cwd=column(name, codec))
    same("%s %s %s %s" % (what, name, codec, chosen), got[:2], (0 if wanted else 1, b"".join(row + b"\n" for row in wanted)))
for name in texts:
    for _ in range(1 if few else 6):
        chosen = rng.sample(patterns, rng.choice([1, 2]))
        codec = rng.choice(codecs)
        selected("--prefix", name, codec, ["--prefix"], chosen, lambda row, p: row.startswith(p))
        selected("--suffix", name, codec, ["--suffix"], chosen, lambda row, p: row.endswith(p))
        selected("--prefix -i", name, codec, ["--prefix", "-i"], chosen, lambda row, p: row.lower().startswith(p.lower()))

def like(row, pattern, escape=None, flags=0):
    """Characters are code points; a byte of no code point is one."""
    text, pattern, out, i = row.decode(errors="surrogateescape"), pattern.decode(), "", 0
    while i < len(pattern):
        c = pattern[i]
        if escape and c == escape: i, c = i + 1, re.escape(pattern[i + 1])
        else: c = ".*" if c == "%" else "." if c == "_" else re.escape(c)
        out, i = out + c, i + 1
    return re.fullmatch(out, text, re.DOTALL | re.ASCII | flags) is not None
likes = ["%", "", "_", "__", "_%", "%_", "%error%", "error%", "%error", "%error%warn%", "e%e", "_rror%", "%a_b%", "%%", "%é%", "é_é", "é%", "%_é%",
         "日%", "_本%", "%日_", "a%b", "%aa%aa%", "%ab_ab%", "%e_r_r%", "a.b", "a*b%", "%[x]%", "a", "x%y"]
for pattern in likes[::5 if few else 1]:
    for name in ("log", "periodic", "odd", "accents", "empty-rows", "nothing", "long-row"):
        selected("--like", name, rng.choice(codecs), ["--like"], [pattern.encode()], like)
    selected("--like -i", "log", "onpair12", ["--like", "-i"], [pattern.encode()], lambda row, p: like(row, p, flags=re.IGNORECASE))
selected("--like of two", "log", "onpair12", ["--like"], [b"error%", b"%warn"], like)
for pattern in ("%!%%", "%a!_b%", "!!%", "%\\%", "app!_1445%"):
    selected("--escape", "log", "onpair12", ["--like", "--escape=!"], [pattern.encode()], lambda row, p: like(row, p, "!"))
selected("--escape=\\", "log", "onpair12", ["--like", "--escape=\\"], [b"%\\%%"], lambda row, p: like(row, p, "\\"))

# --rows counts from 0, -n from 1.
for first, end in ((0, 4000), (0, 0), (17, 18), (100, 1000), (3990, 9999), (4000, 4000)):
    chosen = [(i, row) for i, row in enumerate(rows["log"]) if first <= i < end and b"error" in row]
    for spelling in {"%d..%d" % (first, end), "%d.." % first if end >= 4000 else "%d..%d" % (first, end)}:
        file = column("log", "onpair12") + "/log"
        same("--rows=" + spelling, run([*fpgrep, "-n", "--rows=" + spelling, "error", file])[:2],
             (0 if chosen else 1, b"".join(b"%d:%s\n" % (i + 1, row) for i, row in chosen)))
        same("-c --rows=" + spelling, run([*fpgrep, "-c", "--rows=" + spelling, "error", file])[1], b"%d\n" % len(chosen))
        same("-v -m3 --rows=" + spelling, run([*fpgrep, "-v", "-m3", "--rows=" + spelling, "error", file])[1],
             b"".join(row + b"\n" for row in [r for r in rows["log"][first:end] if b"error" not in r][:3]))

print("%d commands compared, seed %d" % (ran, seed))
sys.exit(1 if failed else 0)
PYTHON
cold=
if "$fp" -q --cold -o probe.fpc against.py 2>/dev/null; then cold=1; fi
if COLD=$cold python3 against.py "$fp" "$fg"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi

finish
