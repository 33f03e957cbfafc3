#!/bin/bash -eu
# Builds the fuzz targets the way OSS-Fuzz asks: with $CC, $CXX, $CFLAGS and $CXXFLAGS, linked with $LIB_FUZZING_ENGINE, into
# $OUT, each with its seeds and dictionary beside it. $WORK is for everything else. The same by hand, from any folder:
#   CC=clang CXX=clang++ CFLAGS='-g -O1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all' \
#   CXXFLAGS=$CFLAGS LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=/tmp/out WORK=/tmp/work fuzz/oss-fuzz/build.sh
source=${SRC:+$SRC/fastpair}
source=${source:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$WORK/fastpair
mkdir -p "$OUT" "$build"

cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=None -DFASTPAIR_FUZZ=ON -DFASTPAIR_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    -DFASTPAIR_KERNELS=OFF -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CXXFLAGS"
cmake --build "$build" --parallel "$(nproc)"

# The command just built makes the seeds. Containers may forbid what looking for leaks needs.
ASAN_OPTIONS=detect_leaks=0 "$source/fuzz/make-seeds" "$build" "$WORK/seeds"
while read -r target; do
    cp "$build/fuzz/fuzz_$target" "$OUT"
    python3 -m zipfile -c "$OUT/fuzz_${target}_seed_corpus.zip" "$WORK/seeds/$target/"*
    case $target in
    open | sections | gpu | job | dictionary) cp "$source/fuzz/dictionaries/image.dict" "$OUT/fuzz_$target.dict" ;;
    arguments | grep) cp "$source/fuzz/dictionaries/arguments.dict" "$OUT/fuzz_$target.dict" ;;
    esac
    printf '[libfuzzer]\nmax_len = 65536\ntimeout = 20\n' >"$OUT/fuzz_$target.options"
done <"$build/fuzz/targets"
