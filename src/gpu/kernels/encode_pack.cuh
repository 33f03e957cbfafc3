/* encode_pack.cuh - the first two sections of blocks. In: codes in segments, the layout. Out: packed
 * codes and sidecars, what headers count; text of stored chunks; zeros where no section is.
 *
 * Chunks are divided into *takes* of whole groups, and a block of threads goes through a stretch of
 * takes that follow each other. So it searches once for the segment that it begins in, and a take's
 * position is that of the take before and its bytes. A take goes through shared memory: warps copy
 * segments side by side; then threads measure eight codes each; then one warp makes the sidecar of sums
 * of 32 codes, and all make words of the packed codes. The table of token lengths is in shared memory
 * as well, and remembers which codes occurred. */
#ifndef FP_GPU_ENCODE_PACK_CUH
#define FP_GPU_ENCODE_PACK_CUH

#include "encode_gather.cuh"

/* In the table of token lengths: the code occurred. */
#define FP_PACK_USED 128u

/* ---------------------------------------------------------------- measure */

/* Counts by band, of 8 bits each: of bands 0, 2, 4 and so on, and of the others. */
typedef struct pack_bands {
    uint64_t even, odd;
    uint32_t counted; /* codes, at most 255 */
} pack_bands;

/* fp_length_band of chunk.h. */
DEVICE uint32_t pack_band(uint32_t length) {
    uint32_t less = length - 1;
    return length <= 8 ? less : length <= 16 ? less / 4 + 6 : less / 8 + 8;
}

/* Sums of each 32 codes of a take that has `count`; counts by band. Returns FP_PACK_USED if all codes
 * of the thread have occurred before. */
DEVICE uint32_t measure_codes(const uint8_t *codes, uint32_t count, uint8_t *shared,
                              pack_bands *bands) {
    uint32_t used = FP_PACK_USED;
    const uint8_t *ones = shared + FP_GPU_PACK_AT_ONES;
    const uint8_t *lengths = shared + FP_GPU_PACK_AT_LENGTHS;
    uint8_t *sums = shared + FP_GPU_PACK_AT_SUMS;
    for (uint32_t first = 8 * thread_in_block(); first - 8 * lane() < FP_GPU_ENCODE_GROUP;
         first += 8 * threads_in_block()) {
        uint32_t sum = 0, left = excess(count, first);
        uint64_t counts = 0; /* by band, 16 of 4 bits each: there are at most 8 */
        fp_words4 eight = {{0, 0, 0, 0}};
        if (left) eight = shared_load16(codes + 2 * first);
        UNROLL for (uint32_t k = 0; k < 8; k++) {
            if (k >= left) continue;
            uint32_t code = eight.word[k / 2] >> 16 * (k % 2) & 0xffff;
            uint32_t length = shared_load1(lengths + code);
            used &= length;
            length &= FP_PACK_USED - 1;
            sum += length;
            counts += shared_load8(ones + 8 * length);
        }
        bands->even += counts & 0x0f0f0f0f0f0f0f0full;
        bands->odd += counts >> 4 & 0x0f0f0f0f0f0f0f0full;
        bands->counted += 8;
        uint32_t below = warp_shfl_up(sum, 1);
        if (lane() % 4) sum += below;
        below = warp_shfl_up(sum, 2);
        /* Lane 4k + 3 has its own sum and that of the lane below, and adds those of two more. */
        if (lane() % 4 == 3) shared_store4(sums + first / 32 * 4, sum + below);
    }
    return used;
}

/* Marks the thread's codes of a take, of which one has not occurred before. Nobody reads lengths at
 * the time. */
DEVICE void mark_codes(const uint8_t *codes, uint32_t count, uint8_t *shared) {
    for (uint32_t first = 8 * thread_in_block(); first < count; first += 8 * threads_in_block())
        for (uint32_t i = first; i < least(first + 8, count); i++) {
            const uint32_t code = shared_load2(codes + 2 * i);
            shared_or4(shared + FP_GPU_PACK_AT_LENGTHS + (code & ~3u),
                       FP_PACK_USED << 8 * (code & 3));
        }
}

/* Adds a thread's counts to the block's, and begins anew. */
DEVICE void flush_bands(pack_bands *bands, uint8_t *counts) {
    UNROLL for (uint32_t i = 0; i < 8; i++) {
        /* 32 times 255 fits 16 bits. */
        uint32_t sum = warp_inclusive_sum((uint32_t)(bands->even >> 8 * i & 255) |
                                          (uint32_t)(bands->odd >> 8 * i & 255) << 16);
        if (lane() == 31 && sum & 0xffff) shared_add4(counts + 8 * i, sum & 0xffff);
        if (lane() == 31 && sum >> 16) shared_add4(counts + 8 * i + 4, sum >> 16);
    }
    bands->even = bands->odd = bands->counted = 0;
}

/* ---------------------------------------------------------------- sidecar */

/* What one warp knows of the chunk so far. */
typedef struct pack_sizes {
    uint32_t position;          /* of the next take */
    uint32_t batch, pair, four; /* the largest that a lane has seen */
} pack_sizes;

/* Writes the sidecar of a take, by one warp: from sums of 32 codes, by way of positions of 32 codes. A
 * lane has four batches. */
DEVICE void write_sidecar(const fp_gpu_encode_rules *rules, const pack_chunk *chunk,
                          const pack_take *take, uint8_t *shared, pack_sizes *sizes) {
    uint8_t *positions = shared + FP_GPU_PACK_AT_POSITIONS;
    const uint32_t each = rules->batch_codes / 32, group = rules->group_batches;
    const uint32_t first = take->first / rules->batch_codes; /* a multiple of 4, and of a group */
    const uint32_t batches =
        (take->end - take->first + rules->batch_codes - 1) / rules->batch_codes;
    fp_words4 four = shared_load16(shared + FP_GPU_PACK_AT_SUMS + 16 * lane()), at;
    uint32_t own = four.word[0] + four.word[1] + four.word[2] + four.word[3];
    uint32_t sum = warp_inclusive_sum(own);
    at.word[0] = sum - own;
    UNROLL for (uint32_t k = 1; k < 4; k++) at.word[k] = at.word[k - 1] + four.word[k - 1];
    shared_store16(positions + 16 * lane(), at);
    if (lane() == 31) shared_store4(positions + 4 * FP_GPU_PACK_SUMS, sum);
    warp_sync(); /* positions are there */
    for (uint32_t g = lane(); g * group < batches; g += 32)
        global_store4(chunk->sidecar + 4 * (uint64_t)(first / group + g),
                      sizes->position + shared_load4(positions + 4 * (g * group * each)));
    uint32_t batch = 4 * lane(), bytes[4], delta[4];
    if (batch < batches) {
        /* The sidecar's groups have at least 4 batches. */
        uint32_t base = shared_load4(positions + 4 * ((batch & ~(group - 1)) * each));
        UNROLL for (uint32_t k = 0; k < 4; k++) {
            /* Past the last batch there are no bytes. */
            uint32_t begin = least((batch + k) * each, FP_GPU_PACK_SUMS),
                     end = least(begin + each, FP_GPU_PACK_SUMS);
            uint32_t from = shared_load4(positions + 4 * begin);
            bytes[k] = shared_load4(positions + 4 * end) - from;
            delta[k] = batch + k < batches ? from - base : 0;
            sizes->batch = greatest(sizes->batch, bytes[k]);
        }
        uint64_t to = chunk->deltas + 2 * (uint64_t)(first + batch);
        /* After an odd number of batches there is a gap, which is 0. */
        global_store4(to, delta[0] | delta[1] << 16);
        if (batch + 2 < batches) global_store4(to + 4, delta[2] | delta[3] << 16);
        sizes->pair = greatest(sizes->pair, greatest(bytes[0] + bytes[1], bytes[2] + bytes[3]));
        sizes->four = greatest(sizes->four, bytes[0] + bytes[1] + bytes[2] + bytes[3]);
    }
    sizes->position += warp_shfl(sum, 31);
}

/* The greatest value of this lane and the lanes below it. */
DEVICE uint32_t pack_greatest(uint32_t value) {
    UNROLL for (uint32_t distance = 1; distance < 32; distance *= 2) value =
        greatest(value, warp_shfl_up(value, distance));
    return value;
}

/* ---------------------------------------------------------------- pack */

/* Two codes of 12 bits, out of 32. */
DEVICE uint32_t pack_two(uint32_t two) { return (two & 0xfff) | (two >> 4 & 0xfff000); }

/* Packs codes of 12 bits: a thread makes three words of eight. */
DEVICE void pack_codes12(const uint8_t *codes, uint32_t words, uint64_t to) {
    for (uint32_t word = 3 * thread_in_block(); word < words; word += 3 * threads_in_block()) {
        const fp_words4 eight = shared_load16(codes + 16 * (word / 3));
        const uint32_t second = pack_two(eight.word[1]), third = pack_two(eight.word[2]);
        const uint64_t at = to + 4 * (uint64_t)word;
        global_store4(at, pack_two(eight.word[0]) | second << 24);
        if (word + 1 < words) global_store4(at + 4, second >> 8 | third << 16);
        if (word + 2 < words) global_store4(at + 8, third >> 16 | pack_two(eight.word[3]) << 8);
    }
}

/* Packs a take's codes, after which shared memory has zeros: a thread makes a word at a time of the
 * codes that have bits in it. */
DEVICE void pack_codes(const uint8_t *codes, uint32_t count, uint32_t bits, uint64_t to) {
    const uint32_t words = (count * bits + 127) / 128 * 4;
    if (bits == 12) {
        pack_codes12(codes, words, to);
        return;
    }
    /* x / bits is x * this >> 32: x is at most 2^16, so the error is below 2^-12. */
    const uint32_t inverse = 0xffffffffu / bits + 1;
    for (uint32_t word = thread_in_block(); word < words; word += threads_in_block()) {
        uint32_t code = (uint32_t)((uint64_t)(32 * word) * inverse >> 32);
        uint32_t skip = 32 * word - code * bits;
        uint32_t value = shared_load2(codes + 2 * code) >> skip;
        for (uint32_t filled = bits - skip; filled < 32; filled += bits) {
            code++;
            value |= shared_load2(codes + 2 * code) << filled;
        }
        global_store4(to + 4 * (uint64_t)word, value);
    }
}

/* Where a code is in the chunk's text, given its segment. By one warp. */
DEVICE uint32_t pack_position(const fp_gpu_encode_launch *launch, uint32_t c,
                              const pack_chunk *chunk, const pack_take *take,
                              const uint8_t *lengths) {
    uint64_t segment = global_load8(ENCODE_CHUNK(launch, c, first_segment)) + take->segment;
    uint64_t from = chunk->codes + 2 * FP_GPU_ENCODE_SEGMENT * (uint64_t)take->segment;
    uint32_t before = take->first - global_load4(chunk->ranks + 4 * (uint64_t)take->segment),
             sum = 0;
    for (uint32_t i = lane(); i < before; i += 32)
        sum += shared_load1(lengths + global_load2(from + 2 * i)) & (FP_PACK_USED - 1);
    sum = warp_shfl(warp_inclusive_sum(sum), 31);
    return global_load4(launch->scratch.seg_first + 4 * segment) + sum;
}

/* Adds what a block counted to a chunk. */
DEVICE void pack_report(const fp_gpu_encode_launch *launch, uint32_t c, const pack_sizes *sizes,
                        uint8_t *counts) {
    block_sync(); /* all have added */
    if (thread_in_block() < 16) {
        uint32_t count = shared_load4(counts + 4 * thread_in_block());
        if (count) global_add8(ENCODE_CHUNK(launch, c, by_length) + 8 * thread_in_block(), count);
        shared_store4(counts + 4 * thread_in_block(), 0);
    }
    if (warp_in_block() == 0) {
        uint32_t batch = pack_greatest(sizes->batch), pair = pack_greatest(sizes->pair),
                 four = pack_greatest(sizes->four);
        if (lane() == 31) {
            global_max4(ENCODE_CHUNK(launch, c, largest_batch), batch);
            global_max4(ENCODE_CHUNK(launch, c, largest_pair), pair);
            global_max4(ENCODE_CHUNK(launch, c, largest_four), four);
        }
    }
    block_sync(); /* counts are zero again */
}

/* Packs takes `take` .. `end` of coded chunk c. */
DEVICE void pack_takes(const fp_gpu_encode_launch *launch, uint32_t c, uint32_t take, uint32_t end,
                       uint8_t *shared) {
    const fp_gpu_encode_rules *rules = &launch->rules;
    const pack_chunk chunk = pack_open(launch, c);
    const uint32_t each = pack_take_codes(rules);
    uint8_t *lengths = shared + FP_GPU_PACK_AT_LENGTHS, *counts = shared + FP_GPU_PACK_AT_COUNTS;
    pack_bands bands = {0, 0, 0};
    pack_sizes sizes = {0, 0, 0, 0};
    pack_take now = {take * each, 0, 0};
    const encode_series ranks = {chunk.ranks, 4, 0, chunk.segments, 0};
    now.segment = (uint32_t)encode_last(&ranks, now.first);
    if (warp_in_block() == 0) sizes.position = pack_position(launch, c, &chunk, &now, lengths);
    for (; take < end; take++) {
        /* Two takes' codes are there, so that a warp may gather while another one packs. */
        uint8_t *codes = shared + (take % 2 ? FP_GPU_PACK_CODES : 0);
        now.first = take * each;
        now.end = now.first + least(chunk.code_count - now.first, each);
        const uint32_t count = now.end - now.first;
        if (bands.counted + FP_GPU_ENCODE_GROUP / threads_in_block() + 8 > 255)
            flush_bands(&bands, counts);
        gather(&chunk, &now, codes, shared + FP_GPU_PACK_AT_NEXT);
        if (count < each && thread_in_block() < FP_GPU_PACK_ZEROS)
            shared_store2(codes + 2 * (count + thread_in_block()), 0);
        block_sync(); /* codes are there */
        now.segment = shared_load4(shared + FP_GPU_PACK_AT_NEXT);
        const uint32_t used = measure_codes(codes, count, shared, &bands);
        block_sync(); /* sums are there, and everybody knows the next segment */
        if (!used) mark_codes(codes, count, shared);
        if (warp_in_block() == 0) write_sidecar(rules, &chunk, &now, shared, &sizes);
        pack_codes(codes, count, rules->code_bits,
                   chunk.packed + (uint64_t)now.first / 8 * rules->code_bits);
    }
    flush_bands(&bands, counts);
    pack_report(launch, c, &sizes, counts);
}

/* ---------------------------------------------------------------- the kernel */

/* The table of token lengths, before and after. */
DEVICE void pack_begin(const fp_gpu_encode_launch *launch, uint8_t *shared) {
    uint32_t codes = greatest(1u << launch->rules.code_bits, 16);
    for (uint32_t at = 16 * thread_in_block(); at < codes; at += 16 * threads_in_block())
        shared_store16(shared + FP_GPU_PACK_AT_LENGTHS + at,
                       global_load16(launch->tables.lengths + at));
    if (thread_in_block() < 16)
        shared_store4(shared + FP_GPU_PACK_AT_COUNTS + 4 * thread_in_block(), 0);
    if (thread_in_block() < 64)
        shared_store8(shared + FP_GPU_PACK_AT_ONES + 8 * (thread_in_block() + 1),
                      (uint64_t)1 << 4 * pack_band(thread_in_block() + 1));
    /* The next take's segment may be asked for where there is none. */
    if (thread_in_block() == 0) shared_store4(shared + FP_GPU_PACK_AT_NEXT, 0);
}

/* Sets the bits of codes that occurred. Most are set already. */
DEVICE void pack_end(const fp_gpu_encode_launch *launch, const uint8_t *shared) {
    uint32_t codes = 1u << launch->rules.code_bits;
    for (uint32_t first = 32 * thread_in_block(); first < codes; first += 32 * threads_in_block()) {
        uint32_t bits = 0;
        for (uint32_t k = 0; k < least(codes - first, 32); k += 4) {
            uint32_t four = shared_load4(shared + FP_GPU_PACK_AT_LENGTHS + first + k) >> 7;
            bits |= ((four & 1) | (four >> 7 & 2) | (four >> 14 & 4) | (four >> 21 & 8)) << k;
        }
        uint64_t word = launch->used + first / 8;
        if (bits & ~global_reload4(word)) global_or4(word, bits);
    }
}

/* A kernel: each block goes through an equal share of the takes. */
DEVICE void encode_pack(const fp_gpu_encode_launch *launch) {
    SHARED_DYNAMIC_BYTES(shared);
    if (encode_failed(launch)) return;
    const uint32_t chunks = encode_chunks(launch);
    const uint32_t has_dict = global_load4(ENCODE_STATE(launch, has_dict));
    const uint64_t takes = global_load8(ENCODE_STATE(launch, takes));
    uint32_t take = (uint32_t)(takes * block_x() / blocks_x()),
             end = (uint32_t)(takes * (block_x() + 1) / blocks_x());
    zero_outside(launch);
    if (take >= end) return;
    if (has_dict) pack_begin(launch, shared);
    block_sync(); /* the table is there */
    const encode_series of_chunks = {ENCODE_CHUNK(launch, 0, first_take),
                                     sizeof(fp_gpu_encode_chunk), 0, chunks, 0};
    uint32_t c = (uint32_t)encode_last(&of_chunks, take);
    for (; take < end; c++) {
        uint32_t first = global_load4(ENCODE_CHUNK(launch, c, first_take)), last = end;
        if (c + 1 < chunks)
            last = least(end, global_load4(ENCODE_CHUNK(launch, c + 1, first_take)));
        if (take == first) zero_gaps(launch, c);
        if (global_load1(ENCODE_CHUNK(launch, c, coded)))
            pack_takes(launch, c, take - first, last - first, shared);
        else
            copy_stored(launch, c, take - first, last - first);
        take = last;
    }
    block_sync(); /* all codes were marked */
    if (has_dict) pack_end(launch, shared);
}

#endif
