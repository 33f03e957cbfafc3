#!/bin/bash
# keep.sh - tests of the command: no data is lost. Inputs are neither overwritten nor removed before
# their bytes are elsewhere, and what is removed is what was read.
. "$(dirname "$0")/common.sh"
make_odd

# with_signals COMMAND...: with the usual actions for signals, whatever this script inherited.
with_signals() {
    python3 -c 'import os, signal, sys
for number in signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# await_temporary NAME: until the temporary file of NAME is there.
await_temporary() {
    for _ in $(seq 200); do
        [ -n "$(find . -maxdepth 1 -name ".$1.*.tmp")" ] && return
        sleep 0.02
    done
    echo "no temporary of $1" >&2
}

# ------------------------------------------------------------ --rm removes what was read, only
yes 'old data line' | head -400000 >in.txt
yes PRECIOUS | head >new.txt
cp new.txt precious.txt
"$fp" -T1 --chunk=64K --rm in.txt 2>err &
child=$!
await_temporary in.txt.fpc
mv new.txt in.txt
wait $child
check "--rm of another file fails" test $? -eq 1
check "--rm of another file keeps it" cmp in.txt precious.txt
says "--rm of another file" "in.txt.fpc is complete"
says "--rm of another file" "another file took the input's name"
check "--rm of another file: the output is what was read" bash -c "'$fp' -dc in.txt.fpc | cmp - <(yes 'old data line' | head -400000)"
rm -f in.txt in.txt.fpc
cp odd/text one.txt
cp odd/text two.txt
exits 1 "--rm of several files, one missing" "$fp" --rm one.txt missing.txt two.txt
check "--rm of several files, one missing, does the others" bash -c "test ! -e one.txt && test ! -e two.txt &&
    '$fp' -dc one.txt.fpc two.txt.fpc | cmp - <(cat odd/text odd/text)"
cp odd/text two.txt
rm -f one.txt.fpc
cp odd/text one.txt
exits 1 "--rm of several files, one output in the way" "$fp" --rm two.txt one.txt
check "--rm of several files, one output in the way, keeps that one" bash -c "test -e two.txt && test ! -e one.txt"
ln -s two.txt link.txt
exits 0 "--rm of a symbolic link" "$fp" --rm link.txt
check "--rm of a symbolic link removes the link alone" bash -c "test ! -L link.txt && cmp two.txt odd/text"

mkfifo fifo
cat two.txt >fifo &
exits 0 "--rm of a pipe" "$fp" --rm -o pipe.fpc fifo
says "--rm of a pipe" "is kept"
check "--rm of a pipe keeps it" test -p fifo
# As /dev/stdin and /dev/stdout, but even root cannot replace these names.
exits 0 "--rm of a name of standard input" bash -c "'$fp' --rm -o stdin.fpc /proc/self/fd/0 <two.txt"
says "--rm of a name of standard input" "is kept"
exits 0 "-f -o of a name of standard output" bash -c "'$fp' -f -o /proc/self/fd/1 two.txt >stdout.fpc"
check "-f -o of a name of standard output arrives" bash -c "'$fp' -dc stdout.fpc | cmp - two.txt"

# ------------------------------------------------------------ nothing that is read is written
cp odd/text a
cp odd/many-short b
"$fp" -q --train-dict=DD a
for name in a b DD; do
    cp $name $name.saved
    ln $name $name.hard
    ln -s $name $name.soft
done
unchanged() {
    local name
    for name in a b DD; do cmp $name $name.saved && cmp $name $name.hard || return 1; done
}
refused() { # DESCRIPTION COMMAND...
    exits 1 "$@"
    says "$1" "both input and output"
    check "$1 changes nothing" unchanged
}
for out in b ./b b.hard b.soft; do
    refused "--train-dict=$out over an input" "$fp" -f --train-dict=$out a b
done
refused "--train-dict over standard input" bash -c "'$fp' -f --train-dict=a <a"
for out in DD "$PWD/DD" DD.hard DD.soft; do
    refused "-o $out over the dictionary" "$fp" -f -D DD a -o $out
    refused "-o $out over the dictionary, standard input" bash -c "'$fp' -f -D DD -o $out <b"
done
refused "-D of a link, -o of the dictionary" "$fp" -f -D DD.soft a -o DD
refused "appending to the dictionary" bash -c "'$fp' -f -D DD -c a >>DD"
refused "FILE.fpc is the dictionary" bash -c "ln -f DD a.fpc && '$fp' -f -D DD a"
refused "-dc appending to a later input" bash -c "'$fp' -q -f -o x.fpc a && '$fp' -q -f -o b.fpc b && '$fp' -dc x.fpc b.fpc >>b.fpc"
refused "-t appending to its input" bash -c "'$fp' -t b.fpc >>b.fpc"
refused "-l appending to its input" bash -c "'$fp' -l b.fpc >>b.fpc"
check "appending changed no column" "$fp" -tq b.fpc
rm -f a.fpc x.fpc b.fpc
# One of two inputs has the name of the other's output.
"$fp" -q -o a.fpc b
cp a.fpc a.fpc.saved
exits 1 "an input that is another's output" "$fp" -f a a.fpc
says "an input that is another's output" "both input and output"
check "an input that is another's output is kept" cmp a.fpc a.fpc.saved
exits 1 "an input that is another's output, -d" "$fp" -df a.fpc.fpc a.fpc
check "an input that is another's output, -d, is kept" cmp a.fpc a.fpc.saved
exits 0 "a terminal or a null device is no file" "$fp" -f -o /dev/null /dev/null
rm -f a.fpc a.fpc.fpc

# ------------------------------------------------------------ text that does not hold the column
"$make_columns" || exit 1
for name in nulls newlines separators ends_empty; do
    cp $name.fpc saved.fpc
    exits 1 "-d --rm of $name.fpc" "$fp" -d --rm $name.fpc
    says "-d --rm of $name.fpc" "--rm is refused"
    check "-d --rm of $name.fpc keeps it and writes nothing" bash -c "cmp $name.fpc saved.fpc && test ! -e $name"
    exits 0 "-d of $name.fpc" "$fp" -d $name.fpc
    check "-d of $name.fpc remarks on it" test "$(wc -l <err)" = 1
    for way in "-dc $name.fpc" "-dc --rm $name.fpc" "-dc --rows=0.. $name.fpc" "-dc -T1 $name.fpc"; do
        exits 0 "$way" "$fp" $way
        says "$way" "$name.fpc: "
        check "$way writes the same" cmp out $name
    done
    exits 0 "-q -d of $name.fpc" "$fp" -q -dc $name.fpc
    check "-q -d of $name.fpc says nothing" test ! -s err
done
exits 0 "rows without what is lost" "$fp" -dc --rows=0..1 newlines.fpc
check "rows without what is lost: no remark" test ! -s err
for name in plain empty; do
    exits 0 "-d --rm of $name.fpc" "$fp" -d --rm $name.fpc
    check "-d --rm of $name.fpc removes it in silence" bash -c "test ! -e $name.fpc && test ! -s err && test -e $name"
done

# ------------------------------------------------------------ one output, one column
for words in "- -" "-d - -" "-t - -" "-D - -" "-D -" "--train-dict=z - -"; do
    exits 1 "standard input twice: $words" bash -c "'$fp' $words <a"
    says "standard input twice: $words" "only once"
    check "standard input twice: $words writes nothing" test ! -s out
done
exits 1 "a second column after another" bash -c "'$fp' -c a >two.fpc; '$fp' -c b >>two.fpc"
says "a second column after another" "holds one column"
check "a second column after another leaves the first" bash -c "'$fp' -dc two.fpc | cmp - a"
exits 1 "two columns in one redirection" bash -c "{ '$fp' -c a; '$fp' -c b; } >two.fpc"
exits 0 "-f writes after other bytes" bash -c "{ echo; '$fp' -cf a; } >two.fpc && tail -c +2 two.fpc | '$fp' -dc | cmp - a"
exits 1 "standard output is another's output" bash -c "'$fp' -f a - <b >a.fpc"
says "standard output is another's output" "also standard output"
check "standard output is another's output: its column is there" bash -c "'$fp' -dc a.fpc | cmp - b"
rm -f a.fpc
mkfifo a.fpc
ln a.fpc b.fpc
cat a.fpc >both.fpc &
child=$!
exits 1 "two columns to one pipe" timeout 10 "$fp" a b
wait $child
says "two columns to one pipe" "holds one column"
check "two columns to one pipe: the first is whole" bash -c "'$fp' -dc both.fpc | cmp - a"
check "a pipe is still a pipe" test -p a.fpc
rm -f a.fpc b.fpc
exits 1 "a column as a text" bash -c "'$fp' -c a >c.bin; '$fp' c.bin"
says "a column as a text" "compressed column already"
check "a column as a text is not compressed" absent c.bin.fpc
exits 1 "a column as a text, through a pipe" bash -c "'$fp' -c a | '$fp' -c"
check "a column as a text, through a pipe, writes nothing" test ! -s out
exits 0 "a column as a text with -f" "$fp" -f c.bin
check "a column as a text with -f comes back" bash -c "'$fp' -dc c.bin.fpc | cmp - c.bin"
cp a named.fpc
exits 1 "a name that ends in .fpc" "$fp" named.fpc
says "a name that ends in .fpc" "ends in .fpc already"
exits 0 "a name that ends in .fpc with -f" "$fp" -f named.fpc

# ------------------------------------------------------------ readers that have seen enough
seq 200000 | "$fp" -q --codec=stored -o s.fpc
closed_pipe() { # COMMAND...: its exit code, when its reader is gone
    with_signals bash -c '"$@" 2>err | true; exit ${PIPESTATUS[0]}' - "$@"
}
for words in "-dc -T1 s.fpc" "-dc -T4 s.fpc" "-dc --rows=5.. s.fpc"; do
    exits 141 "$words | true" closed_pipe "$fp" $words
    check "$words | true is quiet" test ! -s err
done
exits 141 "-c | true" closed_pipe "$fp" -c --codec=stored odd/text
exits 1 "a closed pipe where SIGPIPE is ignored" bash -c "trap '' PIPE; '$fp' -dc s.fpc 2>err2 | true; exit \${PIPESTATUS[0]}"
check "a closed pipe where SIGPIPE is ignored is a failed write" grep -q "Broken pipe" err2

finish
