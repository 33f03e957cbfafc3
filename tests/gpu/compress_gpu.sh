#!/usr/bin/env bash
# The command compresses on a GPU what it compresses on the CPU with the same dictionary: texts in one piece
# and in several, with and without a final separator, empty ones. The driver is made up, and its kernels run in
# the emulator. Options that CPUs alone can do are refused.
# usage: compress_gpu.sh COMMAND
set -euo pipefail
command=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
passed=0 failed=0
check() { # WHAT COMMAND...: the command must succeed
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "compress_gpu.sh: $what" >&2
    fi
}
refuse() { # WHAT COMMAND...: the command must fail and leave nothing
    local what=$1
    shift
    if "$@" 2>message; then
        failed=$((failed + 1))
        echo "compress_gpu.sh: $what" >&2
    else passed=$((passed + 1)); fi
}

awk 'BEGIN { srand(3); for (i = 0; i < 3000; i++) printf "row %d of the log: user=%d state=%s\n", i, rand() * 90, rand() < 0.5 ? "open" : "closed" }' >text
head -c -1 text >open_end
: >empty
tr '\n' '\0' <text >nul
"$command" --codec=onpair:12 --train-dict=dict text
for name in text open_end empty; do
    for options in "" "--chunk=4K --sample=6K" "--chunk=16K --sample=1K --align=4096 --type=text --name=x"; do
        rm -f ./*.fpc
        "$command" --backend=cpu -D dict $options -o cpu.fpc $name
        check "$name $options fails" "$command" --backend=gpu -D dict $options -o gpu.fpc $name
        check "$name $options differs" cmp cpu.fpc gpu.fpc
    done
done
# Several threads cut the text, in windows: rows and separators lie anywhere in them, or fill one exactly.
head -c 32768 text >window
{ head -c 32767 text | tr '\n' ' ' && echo; } >window_row
head -c 80000 text | tr -d '\n' >one_row
head -c 9000 /dev/zero | tr '\0' '\n' >newlines
{ cat newlines one_row; printf '\n\nlast'; } >mixed
for name in window window_row one_row newlines mixed; do
    "$command" --backend=cpu -D dict --chunk=4K --sample=6K -f -o cpu.fpc $name
    for threads in 1 2 7; do
        check "$name -T$threads fails" "$command" --backend=gpu -D dict --chunk=4K --sample=6K -T$threads -f -o gpu.fpc $name
        check "$name -T$threads differs" cmp cpu.fpc gpu.fpc
    done
done
# Trained by the command itself.
check "a dictionary is not trained" "$command" --backend=gpu --codec=onpair:12 -0 --sample=8K --chunk=4K -o nul.fpc nul
check "it does not come back" cmp nul <("$command" -dc nul.fpc)
check "standard input fails" bash -c "'$command' --backend=gpu -D dict -c <text >in.fpc"
"$command" --backend=cpu -D dict -c <text >cpu.fpc
check "standard input differs" cmp cpu.fpc in.fpc
refuse "level 7 is taken" "$command" --backend=gpu -7 -o no.fpc text
refuse "--codec=stored is taken" "$command" --backend=gpu --codec=stored -o no.fpc text
printf 'a\n\377\n' >bytes
refuse "bytes are taken for text" "$command" --backend=gpu -D dict --type=text -o no.fpc bytes
check "something is left" test ! -e no.fpc
check "a device without memory is not said" bash -c "! FAKE_CUDA_MEMORY=1100000 '$command' --backend=gpu -D dict -o no.fpc text 2>message && grep -q memory message && test ! -e no.fpc"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
