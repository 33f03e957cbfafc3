#!/bin/bash
# reads.sh - what fpgrep reads of a file: nothing but the compressed file, mapped once or read once, and
# of chunks that cannot have a match next to nothing. A page that is not touched need not come from
# a disk.
#
#     tests/faults/reads.sh FASTPAIR FPGREP    the latter linked with watch.c
set -u
fp=$(realpath "$1") && fg=$(realpath "$2") || exit 1
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
export FASTPAIR_WATCH=$work/watched
passed=0
failed=0

# is WHAT NUMBER OPERATOR NUMBER
is() {
    if [ "$2" "$3" "$4" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $1: $2 $3 $4" >&2
    fi
}

# search ARGUMENT...: runs fpgrep. $rows gets what it prints, $read and $mapped how many bytes were
# read and mapped, $pages how many pages were touched, $opened the names.
search() {
    rm -f watched
    rows=$("$fg" "$@")
    opened=$(sed -n 's/^opened //p' watched)
    read=$(sed -n 's/^read //p' watched)
    mapped=$(sed -n 's/^mapped //p' watched)
    pages=$(sed -n 's/^pages //p' watched)
}

# Rows in order, so that bounds tell the chunks apart; every seventh has a word.
seq -f 'row %07.0f of a column in order, with some text that does not compress away' 1 60000 |
    awk '{ print NR % 7 ? $0 : $0 " seventh" }' >text
"$fp" -q --codec=onpair12 --chunk=256K text -o file.fpc || exit 1
size=$(stat -c %s file.fpc)
page=$(getconf PAGESIZE)
all=$(((size + page - 1) / page))
rm text
is "the file has pages enough to tell" "$all" -gt 60

for threads in 1 2; do
    search -c -T$threads seventh file.fpc
    is "rows of all chunks" "$rows" = 8571
    is "one file is opened" "$opened" = file.fpc
    is "nothing is read" "$read" = 0
    is "the file is mapped once" "$mapped" = "$size"
    is "most pages are touched, as their codes are looked at" "$pages" -gt $((all / 2))
    whole=$pages
    search -c -T$threads --prefix 'row 0050000' file.fpc
    is "rows of one chunk" "$rows" = 1
    is "chunks that bounds rule out are left alone" "$pages" -lt $((whole / 3))
done
search -c -m1 -T1 seventh file.fpc
is "one row" "$rows" = 1
is "the first chunk is enough for it" "$pages" -lt $((whole / 3))
search -c 'no such word: ~~~' file.fpc
is "no row" "$rows" = 0
is "a pattern that no token begins leaves all codes alone" "$pages" -lt $((whole / 3))
search --check -c -T1 --prefix 'row 0050000' file.fpc
is "a check looks at all pages" "$pages" -gt $((all * 9 / 10))
rows=$("$fg" -c seventh - < <(cat file.fpc))
is "rows from a pipe" "$rows" = 8571
is "a pipe is read once" "$(sed -n 's/^read //p' watched)" = "$size"
is "and nothing is mapped" "$(sed -n 's/^mapped //p' watched)" = 0

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
