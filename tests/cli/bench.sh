#!/bin/bash
# bench.sh - tests of the command: benchmark and demonstration.
. "$(dirname "$0")/common.sh"
make_odd

exits 0 "-b" "$fp" -b -i0 odd/many-short
check "-b shows five codecs" test "$(grep -c verified out)" = 5
exits 0 "-b --json" "$fp" -b -i0 --json -T2 odd/text
check "-b --json is one object a codec" python3 -c '
import json
lines = [json.loads(line) for line in open("out")]
assert len(lines) == 5, lines
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
check "--demo verifies every codec" test "$(grep -c 'every byte' out)" = 5

finish
