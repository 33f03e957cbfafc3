#!/bin/bash
# grep_usage.sh - tests of fpgrep: usage, exit codes, files that are missing or damaged, several
# files, null rows, pipes, terminals.
. "$(dirname "$0")/common.sh"
make_odd
make_text
make_rows
"$make_columns"
"$fp" -q -o hi.fpc <(printf 'hi\nhello\n')

# gives TEXT COMMAND...: the command prints TEXT, in which \n is a newline and so on.
gives() {
    local want=$1
    shift
    "$@" >got 2>err </dev/null
    cmp got <(printf "$want")
}

# ------------------------------------------------------------ usage
exits 0 "--help" "$fg" --help
check "--help goes to stdout" grep -q usage out
exits 0 "--version" "$fg" --version
check "--version" grep -Eqx 'fpgrep \(fastpair\) [0-9]+\.[0-9]+\.[0-9]+' out
exits 0 "-V" "$fg" -V
for words in "" "--nonsense x" "-m x a" "-m -1 a" "-m" "-e" "-T2000 x" "--color=maybe x" "--backend=tpu x" "--rows=5 x" "--rows=5..3 x" \
    "-x --prefix x" "--like -x x" "--prefix --suffix x" "--escape=! x" "--like --escape=ab x" "--json -l x" "--json -q x" "--json -0 x" \
    "-f none x" "-f . x" "-E x" "-P x" "-G x" "-o x" "-w x" "-A1 x"; do
    exits 2 "wrong usage: $words" "$fg" $words hi.fpc
    check "wrong usage: $words: prints a message" grep -q '^fpgrep: ' err
done
says "an option of grep" "there is no option -A"
exits 2 "-E" "$fg" -E 'a|b' hi.fpc
says "-E" "patterns are literal bytes"
exits 2 "no pattern" "$fg"
says "no pattern" "give a pattern"
exits 2 "standard input twice" "$fg" x - -
says "standard input twice" "named twice"
exits 2 "a wrong value with control characters" "$fg" --color=$'\033[2Jx\001' x hi.fpc
says "a wrong value with control characters" "not '?[2Jx?'"
exits 2 "a LIKE pattern that ends with its escape" "$fg" --like '--escape=!' 'a!' hi.fpc
says "a LIKE pattern that ends with its escape" "hi.fpc"
exits 2 "--rows past the end" "$fg" --rows=100001.. row rows.txt.fpc
says "--rows past the end" "only 100000 rows"
# Without a GPU the command says so; with one the rows are the same.
if "$fg" --backend=gpu -c row rows.txt.fpc >out 2>err; then
    check "--backend=gpu" grep -qx 100000 out
else
    exits 2 "--backend=gpu" "$fg" --backend=gpu -c row rows.txt.fpc
    says "--backend=gpu" "--backend=cpu"
fi
exits 0 "--backend=cpu" "$fg" --backend=cpu row rows.txt.fpc

# ------------------------------------------------------------ exit codes
exits 0 "a match" "$fg" number rows.txt.fpc
exits 1 "no match" "$fg" absent rows.txt.fpc
exits 1 "no match in an empty column" "$fg" "" <("$fp" -c odd/empty)
exits 0 "-q and a match" "$fg" -q number rows.txt.fpc
check "-q prints nothing" test ! -s out
exits 1 "-q and no match" "$fg" -q absent rows.txt.fpc
exits 0 "-q with a match before a missing file" "$fg" -q number rows.txt.fpc none.fpc
exits 0 "-q with a match after a missing file" "$fg" -q number none.fpc rows.txt.fpc
exits 2 "-q without a match and a missing file" "$fg" -q absent none.fpc rows.txt.fpc
exits 2 "a missing file" "$fg" row none.fpc
says "a missing file" "fpgrep: none.fpc: No such file"
exits 2 "a missing file beside a match" "$fg" 'number 99999' none.fpc rows.txt.fpc
check "a missing file beside a match: the match is there" grep -qx 'rows.txt.fpc:row number 99999' out
exits 2 "a directory" "$fg" row . rows.txt.fpc
says "a directory" ".: is a directory; name the files in it"
check "a directory: the others are searched" test "$(wc -l <out)" = 100000
exits 2 "a text" "$fg" row rows.txt
says "a text" "rows.txt: "
exits 2 "an empty file" "$fg" row odd/empty
exits 1 "-m0" "$fg" -m0 row rows.txt.fpc

# ------------------------------------------------------------ several files, names
check "names" gives 'hi.fpc:hi\nhi.fpc:hello\nplain.fpc:three\n' "$fg" -e h hi.fpc plain.fpc
check "-h" gives 'hi\nhello\nthree\n' "$fg" -h h hi.fpc plain.fpc
check "-H" gives 'hi.fpc:hi\n' "$fg" -H hi hi.fpc
check "-c of several" gives 'hi.fpc:2\nplain.fpc:1\nempty.fpc:0\n' "$fg" -c h hi.fpc plain.fpc empty.fpc
check "-l" gives 'hi.fpc\nplain.fpc\n' "$fg" -l h hi.fpc plain.fpc empty.fpc
check "-L" gives 'empty.fpc\n' "$fg" -L h hi.fpc plain.fpc empty.fpc
check "-l wins over -c" gives 'hi.fpc\n' "$fg" -cl h hi.fpc
check "-0" gives 'hi\0hello\0' "$fg" -0 h hi.fpc
check "-0 -l" gives 'hi.fpc\0' "$fg" -0l h hi.fpc
check "-0 -c" gives 'hi.fpc:2\0' "$fg" -0cH h hi.fpc
check "options after the files" gives '2:two\n' "$fg" two plain.fpc -n
check "-- ends the options" gives '' "$fg" -- -n plain.fpc
check "a separator other than newline" gives 'three;' "$fg" three separators.fpc
check "rows of several separators" gives 'nulls.fpc:three;plain.fpc:three\n' "$fg" three nulls.fpc plain.fpc
check "plain rows of several separators" gives 'one;three;one\ntwo\nthree\n' "$fg" -h "" nulls.fpc plain.fpc
check "a newline in a row" gives 'two\nlines\0' "$fg" -0 $'two\nlines' newlines.fpc
check "rows.txt twice" bash -c "'$fg' -h row rows.txt.fpc rows.txt.fpc | cmp - <(cat rows.txt rows.txt)"

# ------------------------------------------------------------ null rows
check "a null row is not empty" gives '2\n' "$fg" -c "" nulls.fpc
check "a null row is not empty, -x" gives '0\n' "$fg" -cx "" nulls.fpc
check "-v and a null row" gives '1:one;' "$fg" -nv three nulls.fpc
check "-v of everything and a null row" gives '2\n' "$fg" -vc absent nulls.fpc
check "no pattern, -v and a null row" gives '1:one;3:three;' "$fg" -vn -f /dev/null nulls.fpc
check "no pattern and a null row" gives '' "$fg" -f /dev/null nulls.fpc
check "empty rows" gives '3\n' "$fg" -cx "" empty.fpc
check "--like % and a null row" gives '1:one;3:three;' "$fg" -n --like % nulls.fpc

# ------------------------------------------------------------ standard input and pipes
check "standard input, a file" bash -c "'$fg' -Hn 'number 7777' <rows.txt.fpc | cmp - <(grep -Hn 'number 7777' <rows.txt)"
check "standard input, a pipe" bash -c "cat rows.txt.fpc | '$fg' -c 7 - | cmp - <(grep -c 7 rows.txt)"
check "standard input, a file that was begun" bash -c "{ head -c 5 >/dev/null; '$fg' -c 7; } < <(printf 12345; cat rows.txt.fpc) | cmp - <(grep -c 7 rows.txt)"
check "a pipe by name" bash -c "'$fg' -c 7 <(cat rows.txt.fpc) | cmp - <(grep -c 7 rows.txt)"
check "patterns from standard input" bash -c "printf '777\n888\n' | '$fg' -f - rows.txt.fpc | cmp - <(grep -e 777 -e 888 rows.txt)"
exits 2 "a pipe that is no column" bash -c "echo text | '$fg' row"
says "a pipe that is no column" "standard input"
exits 141 "a reader that goes away" bash -c "'$fg' row rows.txt.fpc rows.txt.fpc rows.txt.fpc | head -1; exit \${PIPESTATUS[0]}"
check "a reader that goes away: no message" test ! -s err
check "a reader that goes away gets its row" grep -qx 'rows.txt.fpc:row number 0' out
exits 2 "a full disk" bash -c "'$fg' row rows.txt.fpc hi.fpc >/dev/full"
says "a full disk" "No space left"
check "a full disk is met once" test "$(wc -l <err)" = 1
exits 2 "a full disk, -c" bash -c "'$fg' -c row rows.txt.fpc >/dev/full"
exits 2 "a full disk, --help" bash -c "'$fg' --help >/dev/full"
exits 2 "a closed standard output" bash -c "'$fg' row rows.txt.fpc >&-"
exits 0 "-q and a closed standard output" bash -c "'$fg' -q row rows.txt.fpc >&-"
cp rows.txt.fpc both.fpc
exits 2 "an input as output" bash -c "'$fg' row both.fpc >>both.fpc"
says "an input as output" "both input and output"
check "an input as output is kept" cmp rows.txt.fpc both.fpc
check "any number of threads" bash -c "for t in 1 2 7; do '$fg' -nT\$t 7 rows.txt.fpc | cmp - <(grep -n 7 rows.txt) || exit 1; done"

# ------------------------------------------------------------ JSON
exits 0 "--json" "$fg" --json -e 'number 77' -e 'number 5' rows.txt.fpc
check "--json has the rows" python3 -c '
import json
rows = [line.rstrip("\n") for line in open("rows.txt")]
got = [json.loads(line) for line in open("out")]
assert got == [{"file": "rows.txt.fpc", "row": i, "text": t} for i, t in enumerate(rows) if "number 77" in t or "number 5" in t]'
exits 0 "--json -c" "$fg" --json -c 7 rows.txt.fpc
check "--json -c has the count" python3 -c '
import json
assert json.load(open("out")) == {"file": "rows.txt.fpc", "count": sum("7" in t for t in open("rows.txt"))}'
"$fp" -q -f -o binary.fpc odd/mixed
exits 0 "--json of bytes" "$fg" --json "" binary.fpc
check "--json of bytes gives them all" python3 -c '
import base64, json
def text(t): return base64.b64decode(t["base64"]) if isinstance(t, dict) else t.encode()
rows = open("odd/mixed", "rb").read().split(b"\n")
got = [text(json.loads(line)["text"]) for line in open("out", newline="\n")]
assert got == (rows if rows[-1] else rows[:-1])'

# ------------------------------------------------------------ damage
size=$(stat -c %s rows.txt.fpc)
for offset in 0 5 9 70 $((size - 100)) $((size - 20)) $((size - 1)); do
    damage rows.txt.fpc "$offset" damaged.fpc
    exits 2 "a file damaged at $offset" "$fg" -c row damaged.fpc hi.fpc
    check "a file damaged at $offset: the place is named: $(cat err)" grep -Eq '^fpgrep: damaged.fpc: .*(offset|byte) [0-9]+' err
    check "a file damaged at $offset: what to do is said" grep -Eq 'restore|not a|version' err
    check "a file damaged at $offset: the next one is searched" grep -qx 'hi.fpc:0' out
    exits 2 "a pipe damaged at $offset" bash -c "cat damaged.fpc | '$fg' -c row"
done
for keep in 0 1 10 63 64 100 400 $((size / 2)) $((size - 33)) $((size - 1)); do
    head -c "$keep" rows.txt.fpc >cut.fpc
    exits 2 "a file cut at $keep" "$fg" -c row cut.fpc
    says "a file cut at $keep" "cut.fpc"
done
# Within chunks: never a crash, never more rows than there are; --check finds every change.
for ((offset = 100; offset < size; offset += size / 40)); do
    damage rows.txt.fpc "$offset" damaged.fpc
    for words in "-c row" "-n number" "-v 77"; do
        "$fg" $words damaged.fpc >out 2>err </dev/null
        code=$?
        check "$words of a file damaged at $offset: exit $code" test $code -le 2
        check "$words of a file damaged at $offset: a message if it failed" test $code -lt 2 -o -s err
        check "$words of a file damaged at $offset: no more rows than there are" test "$(wc -l <out)" -le 100000
    done
    exits 2 "--check of a file damaged at $offset" "$fg" --check -c row damaged.fpc
    check "--check of a file damaged at $offset prints nothing" test ! -s out
done
exits 0 "--check of a good file" "$fg" --check -q row rows.txt.fpc

# ------------------------------------------------------------ what is read and held
# Sanitizers take more memory, and look for leaks in a way that strace does not allow.
sanitized=$(grep -l '__asan_init\|__tsan_init\|__msan_init' "$fg")
if [ -z "$sanitized" ] && command -v strace >/dev/null && strace -o trace true 2>/dev/null; then
    exits 0 "-c under strace" strace -f -P "$work/rows.txt.fpc" -o trace "$fg" -c 7 rows.txt.fpc
    check "-c maps the file and reads nothing of it" bash -c "grep -q mmap trace && ! grep -q 'read' trace"
fi
peak() {
    python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
yes 'the same line again and again, as in no file that matters' | head -n 3400000 | "$fp" -q -1 --codec=onpair12 --sample=1M -o large.fpc -
if [ -z "$sanitized" ]; then
    check "200 MB of matches are printed in bounded memory" test "$(peak "$fg" -n again large.fpc)" -lt 131072
fi
check "200 MB of matches" bash -c "test \$('$fg' again large.fpc | wc -c) = \$('$fp' -dc large.fpc | wc -c)"

# ------------------------------------------------------------ terminals
cat >terminal.py <<'PYTHON'
import os, pty, subprocess, sys
# Runs a command with a terminal as stdout, prints what it wrote, exits like it.
main, side = pty.openpty()
child = subprocess.Popen(sys.argv[2:], stdout=side, stdin=side if sys.argv[1] == "-" else subprocess.DEVNULL)
os.close(side)
while True:
    try:
        data = os.read(main, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data.replace(b"\r\n", b"\n"))
sys.exit(child.wait())
PYTHON
on_terminals() {
    exits 0 "a terminal" env TERM=xterm python3 terminal.py x "$fg" number rows.txt.fpc --rows=7..8
    check "a terminal gets colours" grep -q $'\033\[01;31m\033\[Knumber\033\[m\033\[K 7$' out
    exits 0 "a dumb terminal" env TERM=dumb python3 terminal.py x "$fg" number rows.txt.fpc --rows=7..8
    check "a dumb terminal gets none" grep -qx 'row number 7' out
    exits 0 "--color=never" env TERM=xterm python3 terminal.py x "$fg" --color=never number rows.txt.fpc --rows=7..8
    check "--color=never has no colours" grep -qx 'row number 7' out
    exits 2 "no file and a terminal" python3 terminal.py - "$fg" row
    says "no file and a terminal" "name a file"
}
check "--color=always" gives '\033[01;31m\033[Khi\033[m\033[K\n' "$fg" --color=always hi hi.fpc
check "--color=always of a prefix" gives '\033[01;31m\033[Khe\033[m\033[Kllo\n' "$fg" --color=always --prefix he hi.fpc
check "--color=always of a suffix" gives 'hel\033[01;31m\033[Klo\033[m\033[K\n' "$fg" --color=always --suffix lo hi.fpc
check "--color=always of --like" gives 'hello\n' "$fg" --color=always --like h%%o hi.fpc
check "--color to a file" gives 'hi\n' "$fg" --color hi hi.fpc
if [ -n "${CI:-}" ] || python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    on_terminals
else
    echo "skipped: what is written to terminals, as this machine has no pseudo-terminals (/dev/pts)"
fi

finish
