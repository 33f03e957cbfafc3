# common.sh - what the tests of the command share. Each script is called with the path of fastpair
# and reads this file first:
#
#     tests/cli/NAME.sh PATH-OF-FASTPAIR PATH-OF-MAKE_COLUMNS [PATH-OF-FPGREP]
#
# It then is in a folder of its own, which is removed when the script ends, and $fp is the command;
# scripts named grep*.sh get the third path, and $fg is that command.
# make_odd, make_text and make_rows put files there. A script ends with `finish`. Needs python3, to
# parse JSON and to play the terminal. $make_columns writes columns that come from no text.
set -u

if [ $# -lt 2 ] || [ $# -gt 3 ] || [ ! -x "$1" ] || [ ! -x "$2" ] || [ ! -x "${3:-$1}" ]; then
    echo "usage: $0 PATH-OF-FASTPAIR PATH-OF-MAKE_COLUMNS [PATH-OF-FPGREP]" >&2
    exit 1
fi
work=$(mktemp -d) || exit 1
make_columns=$(realpath "$2")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$1" "$work/fastpair" && cp "${3:-$1}" "$work/fpgrep" && cd "$work" || exit 1
fp=$work/fastpair
fg=$work/fpgrep
passed=0
failed=0
# Whether tests run at full length, which they do but under sanitizers.
full=1
if [ "${FASTPAIR_TEST_SCALE:-1}" != 1 ]; then full=0; fi

# check DESCRIPTION COMMAND...: the command must succeed.
check() {
    local what=$1
    shift
    if "$@" >check.out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what" >&2
        head -5 check.out >&2
    fi
}

# exits CODE DESCRIPTION COMMAND...: the command must exit with CODE. Its stderr stays in the file
# err.
exits() {
    local code=$1 what=$2
    shift 2
    "$@" >out 2>err </dev/null
    local got=$?
    if [ $got -eq "$code" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what: exit $got, not $code" >&2
        head -5 err >&2
    fi
}

# says DESCRIPTION TEXT: the last command run by `exits` said TEXT on stderr.
says() { check "$1: says '$2'" grep -qF -- "$2" err; }

absent() { [ ! -e "$1" ] && [ ! -L "$1" ]; }
no_temporaries() { [ -z "$(find . -name '.*.tmp')" ]; }
json_ok() { python3 -m json.tool <"$1"; }

# finish: the closing line, and the exit code.
finish() {
    check "no temporaries at the end" no_temporaries
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# make_odd: odd/ gets texts that are hard to bring back byte for byte; odd/text is an ordinary one.
make_odd() {
    mkdir odd
    : >odd/empty
    printf '\n' >odd/newline
    printf '\n\n\n' >odd/newlines
    printf 'a' >odd/one-byte
    printf 'a\n' >odd/one-line
    printf 'a\nb' >odd/no-final-newline
    printf '\na' >odd/empty-first
    printf 'a\n\n' >odd/empty-last
    printf 'a\0b\n\0\0\nc\0' >odd/nuls
    printf '\0' >odd/one-nul
    printf 'a\0b\0' >odd/nul-rows
    printf 'one\r\ntwo\r\n\r\n' >odd/crlf
    printf '\r' >odd/cr
    python3 - <<'PYTHON'
import random
random.seed(7)
def save(name, data):
    with open("odd/" + name, "wb") as f:
        f.write(data)
save("all-bytes", bytes(range(256)) * 3)
save("random", random.randbytes(200000))
save("ff", b"\xff" * 5000 + b"\n" + b"\xff" * 31)
save("long-line", b"x" + b"abcdefgh" * 400000 + b"\n" + b"tail\n")
save("long-line-no-newline", b"key=value;" * 350000)
save("many-empty", b"\n" * 200000)
save("many-short", b"".join(b"%d\n" % (i % 37) for i in range(200000)))
for size in ((1 << 20) - 1, 1 << 20, (1 << 20) + 1):
    save("block-%d" % size, b"a" * (size - 1) + b"\n" + b"b\n")
    save("block-%d-open" % size, b"c\n" + b"a" * (size - 2))
words = [w.encode() for w in "furiously quick ironic deposits sleep across the final pending accounts".split()]
save("text", b"".join(b" ".join(random.choices(words, k=random.randint(0, 9))) + b"\n" for _ in range(60000)))
save("some-text", b"".join(b" ".join(random.choices(words, k=random.randint(0, 9))) + b"\n" for _ in range(6000)))
save("mixed", b"".join(random.randbytes(random.randint(0, 60)) + random.choice([b"\n", b"\0", b"\r\n"]) for _ in range(5000)))
PYTHON
}

# make_text: a.txt and a.txt.fpc. Needs make_odd.
make_text() {
    cp odd/text a.txt
    "$fp" -q a.txt
}

# make_rows: rows.txt of 100000 rows, and rows.txt.fpc of many chunks.
make_rows() {
    seq -f 'row number %.0f' 0 99999 >rows.txt
    "$fp" -q -f --chunk=64K rows.txt
}

# damage FILE OFFSET OUTPUT: flips the bits of one byte.
damage() {
    python3 -c 'import sys; d = bytearray(open(sys.argv[1], "rb").read()); d[int(sys.argv[2])] ^= 255; open(sys.argv[3], "wb").write(d)' "$@"
}

# round_trip FILE OPTION...: the file comes back, through files and through pipes.
round_trip() {
    local file=$1
    shift
    rm -f t.fpc t.back
    "$fp" -q "$@" -o t.fpc "$file" && "$fp" -t -q t.fpc && "$fp" -q -d -o t.back t.fpc && cmp "$file" t.back &&
        "$fp" -q -c "$@" <"$file" | "$fp" -dc | cmp "$file" -
}
