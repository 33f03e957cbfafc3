#!/bin/bash
# files.sh - tests of the command: names, defaults, several files, names nobody likes.
. "$(dirname "$0")/common.sh"
make_odd

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
check "the file after a missing one is done" "$fp" -tq b.txt.fpc
printf 'not a column' >bad.fpc
exits 2 "the highest code wins" "$fp" -t a.txt.fpc missing bad.fpc b.txt.fpc
check "good files are still tested" grep -q "b.txt.fpc: OK" out
exits 1 "-c and -o" "$fp" -c -o x a.txt
check "-o - is stdout" bash -c "'$fp' -o - a.txt | '$fp' -d -o - | cmp - a.txt"
check "- is stdin" bash -c "cat a.txt | '$fp' - | '$fp' -d - | cmp - a.txt"
check "grouped flags" bash -c "'$fp' -dcq a.txt.fpc | cmp - a.txt"
check "options after files" bash -c "'$fp' a.txt.fpc -d -c | cmp - a.txt"
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

finish
