#!/bin/bash
# damage.sh - tests of the command: damaged, cut and lengthened files.
. "$(dirname "$0")/common.sh"
make_rows

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
exits 2 "bytes past the end" "$fp" -t longer.fpc
exits 2 "-d --rows of a damaged file" "$fp" -dc --rows=0..100000 damaged.fpc
check "no temporaries are left" no_temporaries

finish
