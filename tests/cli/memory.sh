#!/bin/bash
# memory.sh - tests of the command: -d keeps to --memory, decodes large chunks in parts, and says what
# to do where one chunk cannot be held.
. "$(dirname "$0")/common.sh"

# One chunk of 24 MB that compresses well, and one that is kept as it is.
yes 'the same line again and again, as in no file that matters' | head -c 24000000 >large.txt
"$fp" -q --codec=onpair12 --chunk=64M --sample=1M large.txt -o large.fpc
"$fp" -q --codec=stored --chunk=64M large.txt -o stored.fpc

for threads in 1 2 8; do
    check "-d --memory=16M -T$threads" \
        bash -c "'$fp' -dc --memory=16M -T$threads large.fpc | cmp - large.txt"
done
check "-d --memory=16M of a pipe" bash -c "'$fp' -dc --memory=16MiB <large.fpc | cmp - large.txt"
check "-t --memory=16M of a pipe" bash -c "'$fp' -t --memory=16M <large.fpc"
check "-d of large stored chunks" bash -c "'$fp' -dc --memory=100M stored.fpc | cmp - large.txt"
exits 1 "a stored chunk beyond --memory" "$fp" -dc --memory=16M stored.fpc
says "a stored chunk beyond --memory" "--memory"
exits 1 "--memory below the least" "$fp" -dc --memory=1M large.fpc
says "--memory below the least" "16.0 MiB"
exits 1 "--memory that is no size" "$fp" -dc --memory=lots large.fpc

# What the process really takes; sanitizers take more.
peak() {
    python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
if ! grep -q '__asan_init\|__tsan_init\|__msan_init' "$fp"; then
    check "-d --memory=16M takes less" test "$(peak "$fp" -dc --memory=16M -T2 large.fpc)" -lt 16384
fi

finish
