/* encode_stored.cuh - bytes of the image that are no codes. In: the layout, text. Out: the text of
 * stored chunks; zeros where headers, the dictionary and gaps are. What a header says the host writes
 * later. */
#ifndef FP_GPU_ENCODE_STORED_CUH
#define FP_GPU_ENCODE_STORED_CUH

#include "encode_input.cuh"

/* FP_CHUNK_HEADER of format.h. */
#define FP_ENCODE_HEADER 320u

/* The device address of a place in the image. */
DEVICE uint64_t encode_image(const fp_gpu_encode_launch *launch, uint64_t place) {
    return launch->output + (place - global_load8(ENCODE_STATE(launch, image_begin)));
}

/* The device address of chunk c's block. */
DEVICE uint64_t encode_block_address(const fp_gpu_encode_launch *launch, uint32_t c) {
    return encode_image(launch, global_load8(ENCODE_CHUNK(launch, c, block)));
}

/* Zeroes bytes, by all threads of the block. */
DEVICE void zero_bytes(uint64_t from, uint64_t end) {
    for (uint64_t at = from + thread_in_block(); at < end; at += threads_in_block())
        global_store1(at, 0);
}

/* Zeroes what no section of a chunk covers. By all threads of the block. */
DEVICE void zero_gaps(const fp_gpu_encode_launch *launch, uint32_t c) {
    uint64_t block = encode_block_address(launch, c), end = FP_ENCODE_HEADER;
    if (thread_in_block() < FP_ENCODE_HEADER / 16)
        global_store16(block + 16 * thread_in_block(), fp_words4{{0, 0, 0, 0}});
    for (uint32_t s = 0; s < 4; s++) {
        uint64_t section = global_load8(ENCODE_CHUNK(launch, c, section) + 8 * s);
        uint64_t bytes = global_load8(ENCODE_CHUNK(launch, c, section_bytes) + 8 * s);
        if (!bytes) continue;
        zero_bytes(block + end, block + section);
        end = section + bytes;
        /* Deltas of the sidecar are stored two at a time, the last with two zeros. */
        if (s == 1) end = (end + 3) & ~3ull;
    }
    zero_bytes(block + end, block + global_load8(ENCODE_CHUNK(launch, c, block_bytes)));
}

/* Zeroes what the file's header and the dictionary will take, if they are in this piece of the image.
 * By all blocks: a dictionary may be large. */
DEVICE void zero_outside(const fp_gpu_encode_launch *launch) {
    uint64_t begin = global_load8(ENCODE_STATE(launch, image_begin));
    uint64_t dict = global_load8(ENCODE_STATE(launch, dict_place));
    uint64_t first = 16 * (block_x() * (uint64_t)threads_in_block() + thread_in_block());
    uint64_t each = 16 * (uint64_t)blocks_x() * threads_in_block();
    if (!begin)
        for (uint64_t at = first; at < launch->rules.first_block; at += each)
            global_store16(launch->output + at, fp_words4{{0, 0, 0, 0}});
    if (global_load4(ENCODE_STATE(launch, has_dict)) && dict >= begin)
        for (uint64_t at = first; at < launch->rules.dict_bytes; at += each)
            global_store16(encode_image(launch, dict) + at, fp_words4{{0, 0, 0, 0}});
}

/* Copies takes `take` .. `end` of stored chunk c. */
DEVICE void copy_stored(const fp_gpu_encode_launch *launch, uint32_t c, uint32_t take,
                        uint32_t end) {
    const encode_view view = encode_open(launch);
    uint64_t bytes = global_load4(ENCODE_CHUNK(launch, c, bytes));
    uint64_t last = (uint64_t)end * FP_GPU_ENCODE_STORED;
    uint64_t from = view.text + global_load8(ENCODE_CHUNK(launch, c, first_byte));
    uint64_t to = encode_block_address(launch, c) + global_load8(ENCODE_CHUNK(launch, c, section));
    if (bytes < last) last = bytes;
    for (uint64_t at = (uint64_t)take * FP_GPU_ENCODE_STORED + 16 * thread_in_block(); at < last;
         at += 16 * threads_in_block()) {
        if (last - at >= 16) {
            uint64_t low = encode_bytes(&view, from + at, 8),
                     high = encode_bytes(&view, from + at + 8, 8);
            global_store16(to + at, fp_words4{{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                                               (uint32_t)(high >> 32)}});
        } else {
            for (uint64_t k = at; k < last; k++) global_store1(to + k, global_load1(from + k));
        }
    }
}

#endif
