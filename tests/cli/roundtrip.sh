#!/bin/bash
# roundtrip.sh - tests of the command: odd files come back, with every option and with dictionaries.
. "$(dirname "$0")/common.sh"
make_odd
make_text
make_rows
printf 'not a column' >bad.fpc

for file in odd/*; do
    check "round trip of $file" round_trip "$file"
    if [ $full = 1 ] || [ "$(stat -c %s "$file")" -lt 100000 ]; then
        check "round trip of $file, NUL rows" round_trip "$file" -0
    fi
done
files="odd/text odd/mixed odd/empty"
if [ $full = 0 ]; then files="odd/mixed odd/empty"; fi
for codec in auto onpair16 onpair12 fsst12 onpair:9 onpair:14:8 onpair:13:16 stored; do
    for file in $files; do
        check "round trip of $file, $codec" round_trip "$file" --codec=$codec --chunk=300K
    done
done
text=odd/text
if [ $full = 0 ]; then text=odd/some-text; fi
for option in --optimize=ratio --optimize=speed --optimize=balanced --seed=12345 --chunk=64K --align=4096 \
    --align=64 --batch=32 --batch=1024 --sample=100K -T1 -T3 --threads=2 --backend=cpu --backend=auto; do
    check "round trip with $option" round_trip $text $option
done
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

finish
