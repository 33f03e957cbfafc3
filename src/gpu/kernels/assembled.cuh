/* assembled.cuh - our decoder, one function a stage. In: packed codes in length classes, a dictionary made
 * for shared memory, an output position for each batch. Out: the tokens, back to back, in global memory.
 *
 * A warp takes a batch of 32 * K codes, and a lane K codes that follow each other. The trick: a lane puts its
 * tokens together in registers and stores whole aligned words, so that what the paper's decoder does with
 * sixteen stores takes two or three. A block stays on its multiprocessor, copies the dictionary there once
 * and goes through many batches, which its warps take as they get free; while a warp works on one, the codes
 * of the next are on their way. Refuses, writing nothing: a batch with a code behind the dictionary's last
 * class, one that does not end where the next one begins, one larger than the host was told. */
#ifndef FP_GPU_ASSEMBLED_CUH
#define FP_GPU_ASSEMBLED_CUH

#include "assembled_tokens.cuh"
#include "chunk.cuh"

/* ---------------------------------------------------------------- where things are */

/* The group that this row of blocks works on. */
DEVICE fp_gpu_group assembled_group(const fp_gpu_wide_launch *launch) {
    uint64_t at = launch->groups + launch->shares[block_y()].group * (uint64_t)sizeof(fp_gpu_group);
    fp_words4 where = global_load16(at), sizes = global_load16(at + 16);
    fp_gpu_group group;
    group.image = words_low(where);
    group.cold = (uint64_t)warp_same(where.word[3]) << 32 | warp_same(where.word[2]);
    group.image_bytes = warp_same(sizes.word[0]);
    group.slots = warp_same(sizes.word[1]);
    group.near = warp_same(sizes.word[2]);
    group.split = warp_same(sizes.word[3]);
    group.staging = warp_same(global_load4(at + 32));
    return group;
}

/* A batch that is under way. */
typedef struct assembled_batch {
    uint64_t out;  /* address of the chunk's first byte */
    uint32_t left; /* codes from the batch's first to the chunk's last */
    uint32_t end;  /* decoded bytes of the chunk */
    uint32_t in_chunk;
    chunk_place place;
} assembled_batch;

/* ---------------------------------------------------------------- the stages */

/* fetch: starts copying a batch's codes to shared memory, and reads where its bytes go. */
template <class shape, int BITS>
DEVICE assembled_batch assembled_fetch(const fp_gpu_wide_launch *launch, uint32_t number, uint32_t *chunk,
                                       uint8_t *codes) {
    while (*chunk + 1 < launch->chunk_count && number >= launch->work[*chunk + 1].first_batch) *chunk += 1;
    const fp_gpu_work *work = &launch->work[*chunk];
    chunk_places places = chunk_places_from_work(work);
    assembled_batch batch;
    batch.in_chunk = number - work->first_batch;
    batch.out = work->out;
    batch.left = work->code_count - batch.in_chunk * shape::codes;
    batch.end = places.end;
    uint64_t from = work->codes + (uint64_t)batch.in_chunk * shape::batch_bytes;
    uint32_t there = (least(batch.left, shape::codes) * BITS + 127) / 128;
    UNROLL for (uint32_t r = 0; r < (shape::batch_bytes / 16 + 31) / 32; r++) {
        uint32_t unit = 32 * r + lane();
        if (unit < shape::batch_bytes / 16) async_load16(codes + 16 * unit, from + 16 * unit, unit < there);
    }
    batch.place = chunk_read_place(&places, batch.in_chunk);
    return batch;
}

/* drain: `total` bytes from `from` to `out`, which have the same distance from a 32-byte boundary. Single
 * bytes up to the first boundary and behind the last one, so that no other batch's bytes are touched. */
DEVICE void assembled_drain(const uint8_t *from, uint64_t out, uint32_t total) {
    uint32_t head = least((0u - (uint32_t)out) & 31, total), body = (total - head) & ~31u;
    bulk_store(out + head, from + head, body);
    uint32_t behind = head + body + lane();
    if (lane() < head) global_store1(out + lane(), shared_load1(from + lane()));
    if (behind < total) global_store1(out + behind, shared_load1(from + behind));
}

/* ---------------------------------------------------------------- the whole */

/* One batch whose codes have come. `staging` is the warp's buffer in shared memory, `room` its size. Returns
 * the bits for the status word, the same in all lanes. */
template <class shape, class unit, int K, int BITS, int L, int D>
DEVICE uint32_t assembled_decode(const assembled_dict *dict, const uint32_t *words,
                                 const assembled_batch *batch, uint8_t *shared, uint32_t staging,
                                 uint32_t room) {
    uint32_t lengths[(K + 3) / 4], bad = 0, long_steps = 0;
    int behind = assembled_measure<shape, K, BITS, L, D>(dict, words, batch->left, lengths, &long_steps);
    if (warp_ballot(behind)) bad = FP_GPU_BAD_CODE;
    uint32_t own = assembled_sum<K>(lengths), sum = warp_inclusive_sum(own), total = warp_shfl(sum, 31);
    uint32_t place = chunk_position(batch->place), begin = warp_shfl(place, 0), end = warp_shfl(place, 1);
    /* As far into a line, or a quarter of it, in shared memory as in global memory: a copy then reads none twice.
     * Whole lines count where gathers compete with the copy. */
    enum { line = D == FP_GPU_HOT || D == FP_GPU_FAR ? FP_GPU_LINE : FP_GPU_LINE / 4 };
    uint32_t moved = ((uint32_t)batch->out + begin - staging) & (line - 1);
    /* The one check that keeps every write inside the chunk, and finds any lie about positions. */
    if (end > batch->end || begin > end || end - begin != total || (batch->in_chunk == 0 && begin != 0))
        bad |= FP_GPU_BAD_SIDECAR;
    /* The host took the room from the chunk's header; a header that lies makes no lane leave the buffer. */
    if (moved + total > room) bad |= FP_GPU_BAD_SIDECAR;
    if (bad) return bad;
    bulk_wait_read(); /* the batch before may still be on its way out of the buffer */
    warp_sync();
    uint32_t position = staging + moved + sum - own;
    assembled_rest<unit> rest =
        assembled_assemble<shape, unit, K, BITS, L, D>(dict, words, lengths, long_steps, position, shared);
    assembled_join(shared, position, batch->left < shape::codes ? (batch->left - 1) / K : 31, rest);
    bulk_fence();
    warp_sync(); /* units were written by one lane and are read by another */
    assembled_drain(shared + staging + moved, batch->out + begin, total);
    return 0;
}

/* Copies the dictionary to shared memory and says where everything is. */
template <int BITS, int L> DEVICE assembled_dict assembled_open(const fp_gpu_group *group, uint8_t *shared) {
    assembled_dict dict;
    dict.lengths = shared;
    dict.tokens = shared + FP_GPU_CLASS_TABLE(BITS);
    dict.halves = dict.tokens + L / 2 * (group->near - group->split);
    dict.cold = group->cold;
    dict.slots = group->slots;
    dict.near = group->near;
    dict.split = group->split;
    for (uint32_t at = 16 * thread_in_block(); at < group->image_bytes; at += 16 * threads_in_block())
        shared_store16(shared + at, global_load16(group->image + at));
    return dict;
}

/* A kernel. Of the batches that a row of blocks works on, each block has every n-th, and its warps take them
 * in turn, a run at a time: `next_run` in shared memory is what the next warp takes. */
template <int K, int BITS, int L, int D, int S>
DEVICE void assembled_kernel(const fp_gpu_wide_launch *launch) {
    typedef assembled_shape<K, BITS, L, D, S> shape;
    typedef typename assembled_unit<S>::type unit;
    SHARED_DYNAMIC_BYTES(shared);
    const fp_gpu_share *share = &launch->shares[block_y()];
    uint32_t warps = threads_in_block() / 32, warp = warp_same(warp_in_block());
    if (block_x() >= share->blocks) return;
    fp_gpu_group group = assembled_group(launch);
    assembled_dict dict = assembled_open<BITS, L>(&group, shared);
    uint32_t buffers = group.image_bytes + warp * (shape::code_bytes + group.staging);
    uint8_t *codes = shared + buffers;
    uint8_t *next_run = shared + group.image_bytes + warps * (shape::code_bytes + group.staging);
    if (lane() < 4) shared_store4(codes + shape::batch_bytes + 4 * lane(), 0);
    if (thread_in_block() == 0) shared_store4(next_run, warps);
    uint32_t mine = warp * shape::run, bad = 0, chunk = 0;
    uint32_t number = share->first_batch + block_x() + mine * share->blocks;
    int is_there = number < share->end_batch;
    assembled_batch next = assembled_batch();
    if (is_there) next = assembled_fetch<shape, BITS>(launch, number, &chunk, codes);
    block_sync(); /* the dictionary was written by all warps */
    while (is_there) {
        uint32_t words[shape::lane_words + 1];
        assembled_batch batch = next;
        async_wait();
        warp_sync(); /* codes were copied by one lane and are read by another */
        assembled_input<shape>(codes, words);
        if (batch.left < shape::codes) assembled_cut<shape, K, BITS>(batch.left, words);
        warp_sync(); /* and are overwritten */
        mine += 1;
        if (mine % shape::run == 0) {
            uint32_t run = 0;
            if (lane() == 0) run = shared_add4(next_run, 1);
            mine = warp_shfl(run, 0) * shape::run;
        }
        number = share->first_batch + block_x() + mine * share->blocks;
        is_there = number < share->end_batch;
        if (is_there) next = assembled_fetch<shape, BITS>(launch, number, &chunk, codes);
        bad |= assembled_decode<shape, unit, K, BITS, L, D>(&dict, words, &batch, shared,
                                                            buffers + shape::code_bytes, group.staging);
    }
    bulk_wait();
    if (bad && lane() == 0) report(launch->status, bad);
}

#endif
