/* encode_lengths.cuh - row lengths and validity. In: rows, chunks. Out: how large sections of row
 * lengths are, before the layout; then these sections and those of validity bits, byte for byte as
 * src/lengths.c and src/encode.c write them.
 *
 * A warp takes a block of 256 row lengths. Their packed numbers are whole words, so that warps never
 * share one; within a block each lane makes whole words of numbers that lie in shared memory. */
#ifndef FP_GPU_ENCODE_LENGTHS_CUH
#define FP_GPU_ENCODE_LENGTHS_CUH

#include "encode_input.cuh"

#define ENCODE_LENGTH_ENTRY 16u /* FP_LENGTH_ENTRY of format.h */
/* Sections of a block, in the order of chunk.h. */
#define ENCODE_SECTION_LENGTHS  2u
#define ENCODE_SECTION_VALIDITY 3u

/* The block of row lengths that a warp takes. */
DEVICE encode_block encode_own_block(const fp_gpu_encode_launch *launch) {
    uint64_t number = (uint64_t)block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    return encode_find_block(launch, number);
}

/* The address of what measure says of a block of row lengths. */
DEVICE uint64_t encode_shape_at(const fp_gpu_encode_launch *launch, uint32_t chunk,
                                uint32_t number) {
    uint64_t first = global_reload4(ENCODE_CHUNK(launch, chunk, first_block));
    return launch->scratch.length_blocks + 8 * (first + number);
}

/* How many bits a number has. */
DEVICE uint32_t encode_width(uint32_t value) {
    uint32_t width = 0;
    UNROLL for (uint32_t i = 0; i < 5; i++) {
        uint32_t half = 16u >> i;
        if (value >> half) value >>= half, width += half;
    }
    return width + value;
}

DEVICE uint32_t encode_packed_words(uint32_t rows, uint32_t width) {
    return (rows * width + 31) / 32;
}

/* ---------------------------------------------------------------- sizes */

/* A kernel: the least length of each block, the width of what is above it, and how many rows are
 * null. */
DEVICE void encode_measure(const fp_gpu_encode_launch *launch) {
    encode_block block = encode_own_block(launch);
    if (!block.rows) return;
    encode_view view = encode_open(launch);
    uint32_t minimum = 0xffffffffu, maximum = 0, nulls = 0;
    UNROLL for (uint32_t i = 0; i < FP_GPU_ENCODE_LENGTHS; i += 32) {
        uint32_t row = i + lane();
        int is_null = 0;
        if (row < block.rows) {
            uint64_t at = block.first_row + row;
            uint32_t length = (uint32_t)(encode_start(&view, at + 1) - encode_start(&view, at));
            minimum = least(minimum, length);
            maximum = greatest(maximum, length);
            is_null = !encode_valid(launch, at, 1);
        }
        nulls += popcount(warp_ballot(is_null));
    }
    minimum = warp_least(minimum);
    uint32_t width = encode_width(warp_greatest(maximum) - minimum);
    if (lane() == 0)
        global_store8(encode_shape_at(launch, block.chunk, block.number),
                      minimum | (uint64_t)(width << 24 | nulls) << 32);
}

/* A kernel: blocks take turns at chunks. Where packed numbers begin, how large the section is, and
 * how many rows are null. A chunk has at most 2^20 rows, so packed numbers have at most 2^20 words,
 * and both sums fit 32 bits. */
DEVICE void encode_place(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(sums, FP_GPU_HELPER_THREADS / 32 * 8);
    const uint32_t chunks = encode_chunks(launch);
    for (uint32_t c = block_x(); c < chunks; c += blocks_x()) {
        uint32_t rows = global_reload4(ENCODE_CHUNK(launch, c, rows));
        uint32_t blocks = (rows + FP_GPU_ENCODE_LENGTHS - 1) / FP_GPU_ENCODE_LENGTHS;
        uint64_t before = 0, all; /* words | nulls << 32 */
        for (uint32_t base = 0; base < blocks; base += FP_GPU_HELPER_THREADS) {
            uint32_t number = base + thread_in_block();
            uint64_t at = encode_shape_at(launch, c, number), shape = 0, own = 0;
            uint32_t width = 0;
            if (number < blocks) {
                shape = global_reload8(at);
                width = (uint32_t)(shape >> 56);
                own = encode_packed_words(
                    least(rows - number * FP_GPU_ENCODE_LENGTHS, FP_GPU_ENCODE_LENGTHS), width);
                own |= (shape >> 32 & 0xffffff) << 32; /* nulls */
            }
            uint64_t sum = warp_inclusive_sum8(own);
            uint32_t place = (uint32_t)(before + encode_warp_sums(sum, sums, &all) + sum - own);
            if (number < blocks)
                global_store8(at, (uint32_t)shape | (uint64_t)(width << 24 | place) << 32);
            before += all;
        }
        if (thread_in_block()) continue;
        global_store4(ENCODE_CHUNK(launch, c, lengths_bytes),
                      ENCODE_LENGTH_ENTRY * blocks + 4 * (uint32_t)before);
        global_store4(ENCODE_CHUNK(launch, c, nulls), (uint32_t)(before >> 32));
    }
}

/* ---------------------------------------------------------------- sections */

/* The address of a section of a chunk, in the output. */
DEVICE uint64_t encode_section(const fp_gpu_encode_launch *launch, uint32_t chunk,
                               uint32_t section) {
    return launch->output + global_reload8(ENCODE_CHUNK(launch, chunk, block)) -
           global_reload8(ENCODE_STATE(launch, image_begin)) +
           global_reload8(ENCODE_CHUNK(launch, chunk, section) + 8 * section);
}

/* Word `word` of packed numbers that lie in `above`, 4 bytes each. */
DEVICE uint32_t encode_packed_word(const uint8_t *above, uint32_t rows, uint32_t width,
                                   uint32_t word) {
    uint32_t row = 32 * word / width, skipped = 32 * word - row * width;
    uint32_t packed = shared_load4(above + 4 * row) >> skipped;
    for (uint32_t bits = width - skipped; bits < 32 && row + 1 < rows; bits += width)
        packed |= shared_load4(above + 4 * ++row) << bits;
    return packed;
}

/* A kernel: the section of row lengths. */
DEVICE void encode_lengths(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(shared, FP_GPU_HELPER_THREADS / 32 * 4 * FP_GPU_ENCODE_LENGTHS);
    encode_block block = encode_own_block(launch);
    if (!block.rows) return;
    encode_view view = encode_open(launch);
    uint8_t *above = shared + 4 * FP_GPU_ENCODE_LENGTHS * warp_in_block();
    uint64_t shape = global_load8(encode_shape_at(launch, block.chunk, block.number));
    uint32_t minimum = (uint32_t)shape, width = (uint32_t)(shape >> 56),
             place = (uint32_t)(shape >> 32) & 0xffffff;
    uint64_t section = encode_section(launch, block.chunk, ENCODE_SECTION_LENGTHS);
    uint32_t rows = global_reload4(ENCODE_CHUNK(launch, block.chunk, rows));
    uint64_t packed = section +
                      ENCODE_LENGTH_ENTRY *
                          (uint64_t)((rows + FP_GPU_ENCODE_LENGTHS - 1) / FP_GPU_ENCODE_LENGTHS) +
                      4 * (uint64_t)place;
    if (lane() == 0) {
        uint64_t begin = encode_start(&view, block.first_row) -
                         global_reload8(ENCODE_CHUNK(launch, block.chunk, first_byte));
        global_store16(section + ENCODE_LENGTH_ENTRY * block.number,
                       fp_words4{{(uint32_t)begin, 4 * place, minimum, width}});
    }
    if (!width) return;
    for (uint32_t row = lane(); row < block.rows; row += 32) {
        uint64_t at = block.first_row + row;
        uint32_t length = (uint32_t)(encode_start(&view, at + 1) - encode_start(&view, at));
        shared_store4(above + 4 * row, length - minimum);
    }
    warp_sync();
    uint32_t words = encode_packed_words(block.rows, width);
    for (uint32_t word = lane(); word < words; word += 32)
        global_store4(packed + 4 * word, encode_packed_word(above, block.rows, width, word));
}

/* A kernel: the section of validity bits, where there are null rows. A lane makes a word of it, or
 * the bytes that are left. */
DEVICE void encode_validity(const fp_gpu_encode_launch *launch) {
    encode_block block = encode_own_block(launch);
    if (!block.rows || !global_reload4(ENCODE_CHUNK(launch, block.chunk, nulls))) return;
    uint32_t row = 32 * lane();
    if (row >= block.rows) return;
    uint32_t count = least(block.rows - row, 32);
    uint32_t bits = encode_valid(launch, block.first_row + row, count);
    uint64_t to = encode_section(launch, block.chunk, ENCODE_SECTION_VALIDITY) +
                  FP_GPU_ENCODE_LENGTHS / 8 * block.number + row / 8;
    if (count == 32)
        global_store4(to, bits);
    else
        for (uint32_t i = 0; i < (count + 7) / 8; i++) global_store1(to + i, byte_of(bits, i));
}

#endif
