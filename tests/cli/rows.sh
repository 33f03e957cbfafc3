#!/bin/bash
# rows.sh - tests of the command: ranges of rows, listing and testing.
. "$(dirname "$0")/common.sh"
make_odd
make_text
make_rows
printf 'not a column' >bad.fpc

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
exits 1 "--rows past the end" "$fp" -dc --rows=100001.. rows.txt.fpc
says "--rows past the end" "only 100000 rows"
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

finish
