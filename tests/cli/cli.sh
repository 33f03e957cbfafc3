#!/bin/bash
# cli.sh - tests of the command: every option, odd files, pipes, full disks, signals, damaged input.
#
#     tests/cli.sh PATH-OF-FASTPAIR
#
# Needs python3, to parse JSON and to play the terminal. Works in a folder of its own and removes it.
set -u

if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "usage: $0 PATH-OF-FASTPAIR" >&2
    exit 1
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$1" "$work/fastpair" && cd "$work" || exit 1
fp=$work/fastpair
passed=0
failed=0

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

# exits CODE DESCRIPTION COMMAND...: the command must exit with CODE. Its stderr stays in the file err.
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

# ------------------------------------------------------------ odd files come back
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
save("mixed", b"".join(random.randbytes(random.randint(0, 60)) + random.choice([b"\n", b"\0", b"\r\n"]) for _ in range(5000)))
PYTHON

round_trip() { # FILE OPTIONS...
    local file=$1
    shift
    rm -f t.fpc t.back
    "$fp" -q "$@" -o t.fpc "$file" && "$fp" -t -q t.fpc && "$fp" -q -d -o t.back t.fpc && cmp "$file" t.back &&
        "$fp" -q -c "$@" <"$file" | "$fp" -dc | cmp "$file" -
}
for file in odd/*; do
    check "round trip of $file" round_trip "$file"
    check "round trip of $file, NUL rows" round_trip "$file" -0
done
for codec in auto onpair16 onpair12 fsst12 onpair:9 onpair:14:8 onpair:13:16 stored; do
    for file in odd/text odd/mixed odd/empty; do
        check "round trip of $file, $codec" round_trip "$file" --codec=$codec --chunk=300K
    done
done
for option in --optimize=ratio --optimize=speed --optimize=balanced --seed=12345 --chunk=64K --align=4096 \
    --align=64 --batch=32 --batch=1024 --sample=100K -T1 -T3 --threads=2 --backend=cpu --backend=auto; do
    check "round trip with $option" round_trip odd/text $option
done

# ------------------------------------------------------------ names, defaults, several files
cp odd/text a.txt
exits 0 "compress by default" "$fp" a.txt
check "the input is kept" cmp odd/text a.txt
check "FILE.fpc is there" test -s a.txt.fpc
check "nothing on stderr when it is no terminal" test ! -s err
exits 1 "no overwriting" "$fp" a.txt
says "no overwriting" "use -f"
exits 0 "-f overwrites" "$fp" -f a.txt
mv a.txt a.orig
exits 0 "-d gives FILE" "$fp" -d a.txt.fpc
check "-d gives the same bytes" cmp a.orig a.txt
exits 1 "-d does not overwrite" "$fp" -d a.txt.fpc
exits 0 "-d -f overwrites" "$fp" -df a.txt.fpc
exits 0 "long forms" "$fp" --decompress --force --quiet --keep --verbose a.txt.fpc
exits 1 "-d of an unknown suffix" "$fp" -d a.txt
says "-d of an unknown suffix" "-o or -c"
exits 1 "-d of a file called .fpc" "$fp" -d ./.fpc
exits 0 "-v" "$fp" -v -f a.txt
says "-v" "a.txt.fpc"
check "the same bytes with 1, 2 and 5 threads" bash -c \
    "for t in 1 2 5; do '$fp' -c -T\$t --chunk=100K a.txt | cksum; done | uniq | wc -l | grep -qx 1"

rm -f ./*.fpc
cp a.txt b.txt
exits 0 "several files" "$fp" a.txt b.txt
check "several files: first" "$fp" -t a.txt.fpc
check "several files: second" "$fp" -t b.txt.fpc
exits 1 "-o with several files" "$fp" -f -o x.fpc a.txt b.txt
says "-o with several files" "one input"
check "-o with several files writes nothing" absent x.fpc
exits 1 "compressing several files to stdout" "$fp" -c a.txt b.txt
check "-dc of several files" bash -c "'$fp' -dc a.txt.fpc b.txt.fpc | cmp - <(cat a.txt b.txt)"
rm -f b.txt.fpc
exits 1 "goes on after a missing file" "$fp" -f a.txt missing.txt b.txt
says "goes on after a missing file" "missing.txt"
check "the file behind a missing one is done" "$fp" -tq b.txt.fpc
printf 'not a column' >bad.fpc
exits 2 "the highest code wins" "$fp" -t a.txt.fpc missing bad.fpc b.txt.fpc
check "good files are still tested" grep -q "b.txt.fpc: OK" out
exits 1 "-c and -o" "$fp" -c -o x a.txt
check "-o - is stdout" bash -c "'$fp' -o - a.txt | '$fp' -d -o - | cmp - a.txt"
check "- is stdin" bash -c "cat a.txt | '$fp' - | '$fp' -d - | cmp - a.txt"
check "grouped flags" bash -c "'$fp' -dcq a.txt.fpc | cmp - a.txt"
check "options behind files" bash -c "'$fp' a.txt.fpc -d -c | cmp - a.txt"
exits 1 "a directory" "$fp" odd
says "a directory" "is a directory"
exits 1 "a directory as output" "$fp" -f -o odd a.txt
exits 1 "a pipe needs -c or -o" bash -c "'$fp' <(echo hi)"
check "a pipe with -o" bash -c "'$fp' -f -o p.fpc <(echo hi) && '$fp' -dc p.fpc | grep -qx hi"
ln -s a.txt.fpc link.fpc
exits 1 "an existing symbolic link is not overwritten" "$fp" -o link.fpc a.txt
ln -s nowhere dangling.fpc
exits 1 "a dangling symbolic link is not overwritten" "$fp" -o dangling.fpc a.txt

# ------------------------------------------------------------ names nobody likes
mkdir names
python3 - <<'PYTHON'
for name in [b"with space", b"quo'te\"s", b"new\nline", b"back\\slash", b"-x", b"--rm", b"\xff\xfe", "käse".encode(), b"a" * 250]:
    open(b"names/" + name, "wb").write(b"row one\nrow two\n" + name)
PYTHON
cd names || exit 1
check "odd names compress" "$fp" -q -- "with space" "quo'te\"s" $'new\nline' 'back\slash' -x --rm $'\xff\xfe' käse
check "odd names list as JSON" bash -c "'$fp' -l --json -- *.fpc | while read -r line; do python3 -m json.tool <<<\"\$line\" || exit 1; done"
check "JSON names can be read back" python3 -c "
import json, subprocess, sys
lines = subprocess.run([sys.argv[1], '-l', '--json', '--', 'with space.fpc', 'quo\'te\"s.fpc', 'new\nline.fpc', 'back\\\\slash.fpc', 'käse.fpc'],
                       stdout=subprocess.PIPE, check=True).stdout.splitlines()
names = [json.loads(line)['file'] for line in lines]
assert names == ['with space.fpc', 'quo\'te\"s.fpc', 'new\nline.fpc', 'back\\\\slash.fpc', 'käse.fpc'], names
" "$fp"
check "-x after --" bash -c "rm -- -x && '$fp' -d -q -- -x.fpc && grep -q 'row two' ./-x"
check "a name of 250 bytes with -o" "$fp" -q -o "$(printf 'a%.0s' {1..250}).fpc" "$(printf 'a%.0s' {1..250})"
exits 1 "a name in a message has no control characters" "$fp" $'no\033such'
says "a name in a message has no control characters" "no?such"
cd ..

# ------------------------------------------------------------ rows
seq -f 'row number %.0f' 0 99999 >rows.txt
"$fp" -q -f --chunk=64K rows.txt
slice() { # A B: both counted from 0, B exclusive; against sed, which counts from 1
    local first=$1 end=$2
    if [ "$first" -lt "$end" ]; then sed -n "$((first + 1)),${end}p" rows.txt >want; else : >want; fi
    "$fp" -dc --rows="$first..$end" rows.txt.fpc | cmp - want && "$fp" -dc --rows="$first..$end" <rows.txt.fpc | cmp - want
}
for range in "0 1" "0 0" "5 5" "99999 100000" "100000 100000" "0 100000" "17 4711" "255 257" "256 512" "30000 70001" "99990 200000"; do
    check "--rows=${range/ /..}" slice $range
done
check "--rows=A.." bash -c "'$fp' -dc --rows=99990.. rows.txt.fpc | cmp - <(tail -10 rows.txt)"
check "--rows=..B" bash -c "'$fp' -dc --rows=..10 rows.txt.fpc | cmp - <(head -10 rows.txt)"
check "--rows=.." bash -c "'$fp' -dc --rows=.. rows.txt.fpc | cmp - rows.txt"
check "--rows from a file without a final newline" bash -c "
    printf 'a\nb\nc' | '$fp' >n.fpc && test \"\$('$fp' -dc --rows=1..3 n.fpc | od -c)\" = \"\$(printf 'b\nc' | od -c)\" &&
    test \"\$('$fp' -dc --rows=1..2 n.fpc | od -c)\" = \"\$(printf 'b\n' | od -c)\" &&
    test \"\$('$fp' -dc --rows=1..3 <n.fpc | od -c)\" = \"\$(printf 'b\nc' | od -c)\" &&
    test \"\$('$fp' -dc --rows=1..2 <n.fpc | od -c)\" = \"\$(printf 'b\n' | od -c)\""
check "--rows of NUL rows" bash -c "printf 'a\0b\0c\0' | '$fp' -0 | '$fp' -dc --rows=1..2 | cmp - <(printf 'b\0')"
check "--rows of long rows" bash -c "'$fp' -c odd/long-line | '$fp' -d --rows=..1 | cmp - <(head -1 odd/long-line)"
exits 1 "--rows behind the end" "$fp" -dc --rows=100001.. rows.txt.fpc
says "--rows behind the end" "only 100000 rows"
exits 1 "--rows backwards" "$fp" -dc --rows=5..3 rows.txt.fpc
for bad in 5 a..b 1...2 1..2.. -1..2 ''; do exits 1 "--rows=$bad" "$fp" -dc --rows="$bad" rows.txt.fpc; done
exits 1 "--rows without -d" "$fp" --rows=1..2 rows.txt
exits 1 "--rows with --rm" "$fp" -d --rm --rows=1..2 -o y rows.txt.fpc
check "--rows with --rm keeps the file" test -s rows.txt.fpc

# ------------------------------------------------------------ listing and testing
exits 0 "-l" "$fp" -l a.txt.fpc rows.txt.fpc
check "-l has a line a file and a total" test "$(grep -c 'a.txt.fpc\|rows.txt.fpc\|2 files' out)" = 3
exits 0 "-lv" "$fp" -lv rows.txt.fpc
check "-lv shows rows" grep -q "100000" out
exits 0 "-l --json" "$fp" -l --json rows.txt.fpc
check "-l --json is JSON" json_ok out
check "-l --json has its members" python3 -c '
import json, os
o = json.load(open("out"))
assert o["file"] == "rows.txt.fpc" and o["rows"] == 100000 and o["nulls"] == 0, o
text = os.path.getsize("rows.txt")
assert o["bytes"] == text - 100000 and o["text_bytes"] == text, o
assert o["compressed_bytes"] == os.path.getsize("rows.txt.fpc") == sum(o["sections"].values()), o
assert o["sections"]["sidecar"] == o["sidecar_bytes"], o
s = o["sections"]
assert abs(o["ratio"] - o["bytes"] / (s["codes"] + s["dictionary"] + s["sidecar"])) < 1e-4 * o["ratio"], o
assert abs(o["ratio_total"] - o["bytes"] / o["compressed_bytes"]) < 1e-4 * o["ratio_total"], o
assert o["chunks"] > 5 and o["stored_chunks"] == 0 and o["dictionaries"] >= 1 and o["batch_codes"] == 256, o
assert 1 <= o["mean_token"] <= 16 and 0 <= o["share_le8"] <= 1 and o["largest_batch"] > 0, o
assert o["tokens_in_use"] <= o["tokens"] and o["code_bits"] <= 16, o
'
"$fp" -q -f -o e.fpc odd/empty
exits 0 "-l --json of an empty column" "$fp" -l --json e.fpc
check "an empty column's ratio is null" python3 -c 'import json; o = json.load(open("out")); assert o["ratio"] is None and o["rows"] == 0 and o["codec"] == "stored", o'
for codec in onpair16:onpair onpair12:onpair fsst12:fsst12 stored:stored onpair:14:8:onpair; do
    "$fp" -q -f --codec="${codec%:*}" -o c.fpc odd/text
    check "-l names ${codec%:*}" bash -c "'$fp' -l --json c.fpc | grep -q '\"codec\": \"${codec##*:}'"
done
exits 1 "-l of stdin" "$fp" -l -
exits 1 "-l without files" "$fp" -l
exits 2 "-l of something else" "$fp" -l bad.fpc
exits 0 "-t" "$fp" -t rows.txt.fpc
check "-t says OK" grep -qx "rows.txt.fpc: OK" out
exits 0 "-t -q" "$fp" -tq rows.txt.fpc
check "-t -q says nothing" test ! -s out
check "-t of stdin" bash -c "'$fp' -t <rows.txt.fpc | grep -q OK"

# ------------------------------------------------------------ damage
damage() { # FILE OFFSET OUTPUT: flips the bits of one byte
    python3 -c 'import sys; d = bytearray(open(sys.argv[1], "rb").read()); d[int(sys.argv[2])] ^= 255; open(sys.argv[3], "wb").write(d)' "$@"
}
size=$(stat -c %s rows.txt.fpc)
for offset in 0 5 9 20 58 70 $((size / 2)) $((size - 100)) $((size - 20)) $((size - 1)); do
    damage rows.txt.fpc "$offset" damaged.fpc
    exits 2 "-t of a file damaged at $offset" "$fp" -t damaged.fpc
    says "-t of a file damaged at $offset" "damaged.fpc"
    exits 2 "-d of a file damaged at $offset" "$fp" -d damaged.fpc
    check "-d of a file damaged at $offset leaves nothing" absent damaged
    exits 2 "-t of a pipe damaged at $offset" bash -c "cat damaged.fpc | '$fp' -t"
done
for keep in 0 1 10 63 64 100 400 $((size / 2)) $((size - 33)) $((size - 1)); do
    head -c "$keep" rows.txt.fpc >cut.fpc
    exits 2 "-d of a file cut at $keep" "$fp" -d cut.fpc
    check "-d of a file cut at $keep leaves nothing" absent cut
    exits 2 "-t of a file cut at $keep" "$fp" -t cut.fpc
    exits 2 "-t of a pipe cut at $keep" bash -c "cat cut.fpc | '$fp' -t"
    exits 2 "-l of a file cut at $keep" "$fp" -l cut.fpc
done
damage rows.txt.fpc $((size / 2)) damaged.fpc
exits 2 "the place of the damage is named" "$fp" -t damaged.fpc
check "the place of the damage is named: $(cat err)" grep -Eq '(offset|byte) [0-9]+' err
{ cat rows.txt.fpc && echo more; } >longer.fpc
exits 2 "bytes behind the end" "$fp" -t longer.fpc
exits 2 "-d --rows of a damaged file" "$fp" -dc --rows=0..100000 damaged.fpc
check "no temporaries are left" no_temporaries

# ------------------------------------------------------------ output is safe
exits 1 "input as output" "$fp" -f -o a.txt a.txt
says "input as output" "both input and output"
check "input as output keeps it" cmp a.txt odd/text
ln a.txt hard.txt
exits 1 "a hard link of the input as output" "$fp" -f -o hard.txt a.txt
exits 1 "stdin as output" bash -c "'$fp' -f -o a.txt <a.txt"
exits 1 "appending to the input" bash -c "'$fp' -c a.txt >>a.txt"
check "appending to the input keeps it" cmp a.txt odd/text
exits 1 "a full disk" bash -c "'$fp' -c a.txt >/dev/full"
says "a full disk" "No space left"
exits 1 "a full disk, -o" "$fp" -o /dev/full a.txt
exits 1 "a full disk, -d" bash -c "'$fp' -dc a.txt.fpc >/dev/full"
says "a full disk, -d" "No space left"
exits 1 "a full disk, -l" bash -c "'$fp' -l a.txt.fpc >/dev/full"
exits 1 "a full disk, --help" bash -c "'$fp' --help >/dev/full"
# A limit on file sizes stands in for a disk that fills up in the middle of a file.
printf 'old' >limited.fpc
exits 1 "a file size limit" bash -c "ulimit -f 16; '$fp' -f --codec=stored -o limited.fpc a.txt"
says "a file size limit" "File too large"
check "a file size limit keeps the old file" grep -qx old limited.fpc
exits 1 "a file size limit, -d" bash -c "ulimit -f 16; '$fp' -d -o limited.txt a.txt.fpc"
check "a file size limit, -d, leaves nothing" absent limited.txt
check "a file size limit leaves no temporaries" no_temporaries
# A file system of 64 KiB, where this user may mount one.
if unshare -rm true 2>/dev/null && unshare -rm mount -t tmpfs none . 2>/dev/null; then
    mkdir small
    exits 0 "a full file system" unshare -rm bash -c "mount -t tmpfs -o size=64k none small && printf old >small/x &&
        { '$fp' -f --codec=stored -o small/x a.txt; test \$? = 1; } && grep -qx old small/x &&
        { '$fp' -d -o small/y a.txt.fpc; test \$? = 1; } && test \"\$(ls -A small)\" = x"
    says "a full file system" "No space left"
else
    echo "note: file systems cannot be mounted here, a full one is not tested"
fi
check "-o /dev/null" "$fp" -q -o /dev/null a.txt
check "/dev/null is still a device" test -c /dev/null
exits 1 "a closed pipe" bash -c "set -o pipefail; '$fp' -dc rows.txt.fpc | head -c 10"
says "a closed pipe" "Broken pipe"
exits 1 "a closed stdout" bash -c "'$fp' -dc rows.txt.fpc >&-"
exits 1 "a closed stdin" bash -c "'$fp' -c - <&-"
exits 1 "a missing directory" "$fp" -o none/x.fpc a.txt
says "a missing directory" "No such file"

mkdir read-only
cp a.txt read-only/
chmod 644 read-only/a.txt
chmod 555 read-only
as_user=""
if [ "$(id -u)" = 0 ]; then as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"; fi
if [ -z "$as_user" ] || $as_user true 2>/dev/null; then
    exits 1 "a read-only directory" $as_user "$fp" read-only/a.txt
    says "a read-only directory" "Permission denied"
else
    echo "note: setpriv is missing, the read-only directory is not tested"
fi

cp a.txt mode.txt
chmod 640 mode.txt
touch -d '2001-02-03 04:05:06.789' mode.txt
"$fp" -q mode.txt
check "mode and time are kept" test "$(stat -c '%a %Y' mode.txt)" = "$(stat -c '%a %Y' mode.txt.fpc)"
"$fp" -q -d -o mode.back mode.txt.fpc
check "mode and time come back" test "$(stat -c '%a %.9Y' mode.txt)" = "$(stat -c '%a %.9Y' mode.back)"
(umask 027 && "$fp" -q -o umask.fpc <a.txt)
check "output from stdin follows umask" test "$(stat -c %a umask.fpc)" = 640

cp a.txt r.txt
exits 0 "--rm" "$fp" --rm r.txt
check "--rm removes the input" absent r.txt
exits 0 "-d --rm" "$fp" -d --rm r.txt.fpc
check "-d --rm removes the input" absent r.txt.fpc
check "-d --rm gives the same bytes" cmp r.txt a.txt
exits 0 "--rm -k keeps" "$fp" --rm -k -f r.txt
check "--rm -k keeps the input" test -e r.txt
exits 1 "--rm with an existing output" "$fp" --rm r.txt
check "--rm after a failure keeps the input" test -e r.txt
exits 2 "-d --rm of damage" "$fp" -d --rm damaged.fpc
check "-d --rm of damage keeps the input" test -e damaged.fpc
exits 0 "--rm -c" bash -c "'$fp' --rm -c r.txt >r2.fpc"
check "--rm -c keeps the input" test -e r.txt
exits 0 "--rm -o /dev/null" "$fp" --rm -o /dev/null r.txt
check "--rm -o /dev/null keeps the input" test -e r.txt

# Starts a compression that waits for more input, sends it a signal once its temporary is there.
interrupt() { # SIGNAL
    rm -f fifo slow.fpc
    mkfifo fifo
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], [sys.argv[1], "-q", "-o", "slow.fpc", "fifo"])' "$fp" 2>err &
    local child=$!
    exec 9>fifo
    head -c 300000 odd/text >&9
    for _ in $(seq 100); do
        if [ -n "$(find . -maxdepth 1 -name '.slow.fpc.*.tmp')" ]; then break; fi
        sleep 0.05
    done
    [ -n "$(find . -maxdepth 1 -name '.slow.fpc.*.tmp')" ] || echo "no temporary" >&2
    kill "-$1" $child
    wait $child 2>/dev/null
    interrupted=$?
    exec 9>&-
    rm -f fifo
}
for signal in INT TERM HUP; do
    interrupt $signal
    check "SIG$signal ends it as a signal does" test "$interrupted" -gt 128
    check "SIG$signal leaves no output" absent slow.fpc
    check "SIG$signal removes the temporary" no_temporaries
done
interrupt KILL
check "SIGKILL leaves no output" absent slow.fpc
check "SIGKILL was in the middle" test -n "$(find . -maxdepth 1 -name '.slow.fpc.*.tmp')"
find . -maxdepth 1 -name '.slow.fpc.*.tmp' -delete

# A file that appears while the output is written is not replaced.
mkfifo fifo
"$fp" -q -o late.fpc fifo 2>err &
child=$!
exec 9>fifo
head -c 1000 odd/text >&9
for _ in $(seq 100); do
    [ -n "$(find . -maxdepth 1 -name '.late.fpc.*.tmp')" ] && break
    sleep 0.05
done
echo mine >late.fpc
exec 9>&-
wait $child
check "a file that appeared meanwhile makes it fail" test $? -eq 1
check "a file that appeared meanwhile is kept" grep -qx mine late.fpc
check "its temporary is gone" no_temporaries
rm -f fifo

# ------------------------------------------------------------ dictionaries
exits 0 "--train-dict" "$fp" --train-dict=t.dict a.txt rows.txt
exits 1 "--train-dict does not overwrite" "$fp" --train-dict=t.dict a.txt
exits 0 "--train-dict -f" "$fp" -f --train-dict=t.dict --codec=onpair12 a.txt rows.txt
check "-D" round_trip odd/text -D t.dict
check "-D on other data" round_trip odd/mixed -D t.dict
check "--dictionary" round_trip odd/empty --dictionary=t.dict
exits 1 "-D with --codec" "$fp" -f -D t.dict --codec=fsst12 a.txt
exits 1 "-D of a missing file" "$fp" -f -D none.dict a.txt
exits 2 "-D of something else" "$fp" -f -D bad.fpc a.txt
exits 1 "--train-dict without rows" "$fp" --train-dict=u.dict odd/empty
check "--train-dict from stdin" bash -c "'$fp' --train-dict=v.dict <a.txt && test -s v.dict"
exits 1 "--train-dict with -o" "$fp" --train-dict=w.dict -o x a.txt

# ------------------------------------------------------------ benchmark and demo
exits 0 "-b" "$fp" -b -i0 odd/many-short
check "-b shows three codecs" test "$(grep -c verified out)" = 3
exits 0 "-b --json" "$fp" -b -i0 --json -T2 odd/text
check "-b --json is one object a codec" python3 -c '
import json
lines = [json.loads(line) for line in open("out")]
assert len(lines) == 3, lines
for o in lines:
    assert o["file"] == "odd/text" and o["rows"] == 60000 and o["threads"] == 2 and o["verified"] is True, o
    for key in "ratio ratio_total mean_token train_mb_s encode_mb_s cpu_decode_mb_s cpu_decode_1_mb_s cpu_reference_mb_s".split():
        assert o[key] > 0, (key, o)
    if "gpu" in o:
        assert o["gpu_decode_gb_s"] > 0 and o["end_to_end_gb_s"] > 0 and o["gpu_kernel"], o
'
exits 0 "-b --codec" "$fp" -b -i0 --codec=onpair:11:8 --json odd/text
check "-b --codec gives one object" json_ok out
for file in odd/random odd/many-empty odd/one-byte odd/long-line; do
    exits 0 "-b of $file" "$fp" -b -i0 --json $file
    check "-b of $file is JSON" bash -c "while read -r line; do python3 -m json.tool <<<\"\$line\" || exit 1; done <out"
done
exits 0 "-b --codec=stored" "$fp" -b -i0 --codec=stored odd/text
exits 0 "-b --codec=auto" "$fp" -b -i0 --codec=auto odd/text
exits 1 "-b of an empty file" "$fp" -b odd/empty
exits 1 "-b without files" "$fp" -b
exits 0 "--demo" "$fp" --demo -T2
check "--demo verifies every codec" test "$(grep -c 'every byte' out)" = 3

# ------------------------------------------------------------ usage
exits 0 "--help" "$fp" --help
check "--help goes to stdout" grep -q usage out
exits 0 "-h" "$fp" -h
exits 0 "--version" "$fp" --version
check "--version" grep -Eqx 'fastpair [0-9]+\.[0-9]+\.[0-9]+' out
exits 0 "-V" "$fp" -V
# With a GPU the bytes come back through it; without one the command says so.
if "$fp" -d --backend=gpu -c a.txt.fpc >out 2>err; then
    check "-d --backend=gpu" cmp -s out a.txt
    exits 0 "-d --backend=gpu --rows" "$fp" -d --backend=gpu --rows=1.. -c a.txt.fpc
else
    exits 1 "--backend=gpu" "$fp" -d --backend=gpu -c a.txt.fpc
    says "--backend=gpu" "no GPU"
fi
for option in --nonsense -x --codec=lz4 --codec=onpair:8 --codec=onpair:17 --codec=onpair:12:9 --codec=onpair:12: --optimize=size \
    --seed=-1 --seed= --chunk=0 --chunk=2G --chunk=5X --batch=33 --batch=0 --align=128 --sample=0 -T -T-1 -T2000 -Tx \
    --threads=1.5 --backend=tpu --json -i -ix --rm=1 --output --demo=1; do
    exits 1 "wrong option $option" "$fp" -f $option
    check "wrong option $option prints a message" test -s err
done
# A word of the command line cannot write escape sequences to a terminal either, nor can one in UTF-8 (U+009B).
exits 1 "a wrong value with control characters" "$fp" --codec=$'\033[2Jx\302\2331m\233y\001' a.txt
says "a wrong value with control characters" "not '?[2Jx?1m?y?'"
exits 1 "a wrong option with control characters" "$fp" $'--no\001such\033' a.txt
says "a wrong option with control characters" "no?such?"
exits 1 "--json without -l or -b" "$fp" --json -c a.txt
exits 1 "-o with -t" "$fp" -t -o x a.txt.fpc
exits 1 "-q" "$fp" -q none
says "-q prints errors" "none"

# ------------------------------------------------------------ terminals
cat >terminal.py <<'PYTHON'
import os, pty, subprocess, sys, time
# Runs a command with a terminal as stdout and stderr (stdin too with "-"), prints what it wrote, exits like it.
main, side = pty.openpty()
child = subprocess.Popen(sys.argv[2:], stdout=side, stderr=side, stdin=side if sys.argv[1] == "-" else subprocess.DEVNULL)
os.close(side)
while True:
    try:
        data = os.read(main, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.exit(child.wait())
PYTHON
cat >slow.sh <<SLOW
for i in 1 2 3 4 5; do cat odd/text; sleep 0.15; done | '$fp' -f -o progress.fpc
SLOW
on_terminals() {
    exits 1 "compressed data to a terminal" python3 terminal.py x "$fp" -c a.txt
    check "compressed data to a terminal: says -f" grep -q "terminal" out
    exits 0 "compressed data to a terminal with -f" python3 terminal.py x "$fp" -cf odd/one-line
    exits 1 "no file and a terminal" python3 terminal.py - "$fp"
    exits 0 "text to a terminal" python3 terminal.py x "$fp" -dc p.fpc
    check "text to a terminal arrives" grep -q hi out
    exits 0 "a summary on a terminal" python3 terminal.py x "$fp" -f a.txt
    check "a summary on a terminal is there" grep -q 'a.txt: .*=> ' out
    exits 0 "-q on a terminal" python3 terminal.py x "$fp" -q -f a.txt
    check "-q on a terminal is silent" test ! -s out
    exits 0 "progress on a terminal" python3 terminal.py x bash slow.sh
    check "progress on a terminal is drawn" grep -q 'MB/s' out
}
# A bare container may have no pseudo-terminals; where CI runs there must be some.
if [ -n "${CI:-}" ] || python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    on_terminals
else
    echo "skipped: what is written to terminals, as this machine has no pseudo-terminals (/dev/pts)"
fi
check "no temporaries at the end" no_temporaries

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
