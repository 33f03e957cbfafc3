#!/bin/bash
# cold.sh - tests of the command: cold files, and converting between cold and warm.
. "$(dirname "$0")/common.sh"
make_odd
seq -f '2024-03-17 12:00:01 host kernel: usb 1-2: new high-speed device number %.0f' 0 20000 >log.txt

if ! "$fp" -q -c --cold log.txt >/dev/null 2>err; then
    check "a build without zstd says so" grep -q zstd err
    exits 1 "--cold is refused" "$fp" --cold log.txt
    says "--cold is refused" "zstd"
    check "--cold that is refused leaves nothing" absent log.txt.fpc
    "$fp" -q log.txt
    exits 1 "converting is refused" "$fp" --cold log.txt.fpc
    says "converting is refused" "zstd"
    check "converting that is refused leaves nothing" absent log.txt.cold.fpc
    exits 0 "--warm of a warm file works" "$fp" -q --warm -o same.fpc log.txt.fpc
    check "--warm of a warm file copies it" cmp log.txt.fpc same.fpc
    finish
    exit
fi

# ------------------------------------------------------------ writing
for file in odd/*; do
    check "round trip of $file, cold" round_trip "$file" --cold
done
check "round trip with NUL rows" round_trip odd/nul-rows -0 --cold
check "round trip in chunks" round_trip log.txt --cold --chunk=64K --align=4096 -T3
exits 0 "--cold FILE gives FILE.fpc" "$fp" --cold --chunk=100K log.txt
check "the input is kept" test -s log.txt
"$fp" -q --chunk=100K -o warm.fpc log.txt
smaller() { [ "$(stat -c %s "$1")" -lt "$(stat -c %s "$2")" ]; }
check "cold is smaller" smaller log.txt.fpc warm.fpc
check "the same bytes with 1 and 3 threads" bash -c \
    "cmp <('$fp' -c -T1 --cold --chunk=100K log.txt) <('$fp' -c -T3 --cold --chunk=100K log.txt)"
check "a pipe is not looked at" bash -c "'$fp' -q --cold -o p.fpc <(cat log.txt) && '$fp' -dc p.fpc | cmp - log.txt"
check "--cold of standard input" bash -c "'$fp' -c --cold <log.txt | '$fp' -dc | cmp - log.txt"

# ------------------------------------------------------------ reading
"$fp" -l --json log.txt.fpc >l.json
check "-l --json is JSON" json_ok l.json
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }
check "-l --json counts cold chunks" test "$(field l.json cold_chunks)" = "$(field l.json chunks)"
check "-lv counts cold chunks" bash -c "'$fp' -lv log.txt.fpc | grep -q ', 0 of them stored, $(field l.json chunks) cold'"
"$fp" -l --json warm.fpc >w.json
check "a warm file has none" test "$(field w.json cold_chunks)" = 0
check "-l of a cold file" "$fp" -l log.txt.fpc
check "-t of a cold file" "$fp" -tq log.txt.fpc
check "-d of a cold file" bash -c "'$fp' -dc -T3 log.txt.fpc | cmp - log.txt"
check "--rows of a cold file" bash -c "cmp <('$fp' -dc --rows=7000..7100 log.txt.fpc) <(sed -n '7001,7100p' log.txt)"
check "little memory" bash -c "'$fp' -dc --memory=16M log.txt.fpc | cmp - log.txt"

# ------------------------------------------------------------ converting
exits 0 "--cold FILE.fpc" "$fp" --cold warm.fpc
check "--cold FILE.fpc gives FILE.cold.fpc" test -s warm.cold.fpc
check "its input is kept" test -s warm.fpc
check "made cold, the rows are the same" bash -c "'$fp' -dc warm.cold.fpc | cmp - log.txt"
exits 1 "no overwriting" "$fp" --cold warm.fpc
says "no overwriting" "use -f"
exits 0 "-f overwrites" "$fp" -f --cold warm.fpc
exits 0 "--warm FILE.cold.fpc" "$fp" --warm warm.cold.fpc
check "--warm gives FILE.warm.fpc, the first file byte for byte" cmp warm.fpc warm.warm.fpc
exits 0 "-o" "$fp" -q --cold -o elsewhere.fpc warm.fpc
check "-o takes the same file" cmp elsewhere.fpc warm.cold.fpc
check "-c" bash -c "'$fp' -q -c --cold warm.fpc | cmp - warm.cold.fpc"
check "the same bytes with 4 threads" bash -c "'$fp' -q -c -T4 --cold warm.fpc | cmp - warm.cold.fpc"
exits 0 "--cold of a cold file" "$fp" -q --cold -o again.fpc warm.cold.fpc
check "what is cold stays as it is" cmp again.fpc warm.cold.fpc
cp warm.fpc gone.fpc
exits 0 "--rm" "$fp" -q --cold --rm gone.fpc
check "--rm removes the input" absent gone.fpc
check "--rm leaves the cold file" cmp gone.cold.fpc warm.cold.fpc
exits 2 "--warm of a text" "$fp" --warm log.txt
exits 1 "--warm of a missing file" "$fp" --warm missing.fpc
exits 1 "--cold of a missing file" "$fp" --cold missing
says "--cold of a missing file" "missing"
exits 1 "--cold and --warm" "$fp" --cold --warm warm.fpc
exits 1 "--cold with -d" "$fp" -d --cold warm.cold.fpc
exits 1 "converting a pipe" bash -c "'$fp' --warm -c <(cat warm.cold.fpc)"

# ------------------------------------------------------------ damage
size=$(stat -c %s warm.cold.fpc)
for offset in 20 70 400 $((size / 2)) $((size - 300)) $((size - 5)); do
    damage warm.cold.fpc $offset bad.cold.fpc
    for way in "-t" "-dc" "--warm -c" "--cold -c -f"; do
        # shellcheck disable=SC2086 # words
        exits 2 "damage at $offset is found by $way" "$fp" -q $way bad.cold.fpc
    done
    exits 2 "damage at $offset leaves no file" "$fp" -q --warm -o bad.out bad.cold.fpc
    check "damage at $offset leaves nothing" absent bad.out
done
head -c $((size - 100)) warm.cold.fpc >cut.cold.fpc
exits 2 "a cut file" "$fp" -q --warm -o bad.out cut.cold.fpc
check "a cut file leaves nothing" absent bad.out
exits 1 "a full disk" bash -c "'$fp' -q --cold -c warm.fpc >/dev/full"

# ------------------------------------------------------------ cancelled
for _ in 1 2 3 4 5 6 7 8; do cat log.txt; done >large.txt
"$fp" -q --chunk=16K -o large.fpc large.txt
for delay in 0.00 0.01 0.02 0.05; do
    rm -f large.cold.fpc
    timeout -s INT $delay "$fp" -q -T1 --cold large.fpc >/dev/null 2>&1
    whole() { absent large.cold.fpc || "$fp" -tq large.cold.fpc; }
    check "cancelled after $delay s: nothing, or all" whole
done
finish
