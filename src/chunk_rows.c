/* chunk_rows.c - where rows of one chunk begin, and which are null. In: a header that passed its checks,
 * and sections that may hold anything. Out: row starts in the chunk's bytes, and bits.
 *
 * The trick: a block of row lengths says where it begins, so one row needs its own block alone, and each
 * block is compared with the next. Refuses lengths that contradict each other or the decoded size. */
#include "chunk_decode.h"

#include "lengths.h"

static fastpair_status lengths_fault(const fp_chunk_view *view, uint64_t block,
                                     fastpair_error *error) {
    return fp_chunk_fault(view, FP_SECTION_LENGTHS, block * FP_LENGTH_ENTRY,
                          "row lengths contradict each other or the decoded size", error);
}

/* Where block `block` must end: where the next block begins. Whoever reads the next block compares
 * in turn. */
static uint64_t block_end(const fp_chunk_view *view, uint64_t block) {
    const uint8_t *section = fp_chunk_section(view->chunk, view->block, FP_SECTION_LENGTHS);
    if ((block + 1) * FP_LENGTH_BLOCK >= view->chunk->rows) return view->chunk->decoded_bytes;
    return fp_load32(section + (block + 1) * FP_LENGTH_ENTRY);
}

fastpair_status fp_chunk_row_starts(const fp_chunk_view *view, uint64_t block, uint64_t *starts,
                                    uint32_t *rows, fastpair_error *error) {
    const fp_section *lengths = &view->chunk->sections[FP_SECTION_LENGTHS];
    uint32_t count = fp_lengths_block(view->block + lengths->offset, lengths->size,
                                      view->chunk->rows, block, starts);
    if (count == UINT32_MAX || (block == 0 && starts[0] != 0) ||
        starts[count] != block_end(view, block) || starts[count] > view->chunk->decoded_bytes)
        return lengths_fault(view, block, error);
    *rows = count;
    return FASTPAIR_OK;
}

fastpair_status fp_chunk_row(const fp_chunk_view *view, uint64_t row, uint64_t *from, uint64_t *to,
                             fastpair_error *error) {
    const fp_section *lengths = &view->chunk->sections[FP_SECTION_LENGTHS];
    uint64_t block = row / FP_LENGTH_BLOCK, start = 0;
    uint64_t length = fp_lengths_row(view->block + lengths->offset, lengths->size,
                                     view->chunk->rows, row, &start);
    int last = row + 1 == view->chunk->rows || (row + 1) % FP_LENGTH_BLOCK == 0;
    if (length > view->chunk->decoded_bytes || start > view->chunk->decoded_bytes - length ||
        (row == 0 && start != 0) || (last && start + length != block_end(view, block)))
        return lengths_fault(view, block, error);
    *from = start;
    *to = start + length;
    return FASTPAIR_OK;
}

fastpair_status fp_chunk_row_start(const fp_chunk_view *view, uint64_t row, uint64_t *start,
                                   fastpair_error *error) {
    uint64_t end;
    *start = row ? view->chunk->decoded_bytes : 0;
    if (row == 0 || row == view->chunk->rows) return FASTPAIR_OK;
    return fp_chunk_row(view, row, start, &end, error);
}

/* `count` (1..57) bits of a bitmap from bit `bit` on; reads only the bytes that hold them. */
static uint64_t load_bits(const uint8_t *bitmap, uint64_t bit, uint32_t count) {
    uint64_t word = 0, first = bit / 8, last = (bit + count - 1) / 8;
    memcpy(&word, bitmap + first, (size_t)(last - first + 1));
    return word >> (bit % 8) & ((1ull << count) - 1);
}

uint64_t fp_chunk_validity(const fp_chunk_view *view, uint64_t first, uint64_t count, uint8_t *out,
                           uint64_t out_bit) {
    const uint8_t *bitmap = fp_chunk_section(view->chunk, view->block, FP_SECTION_VALIDITY);
    int all_valid = !view->chunk->has_validity;
    uint64_t nulls = 0;
    if (all_valid && !out) return 0;
    for (uint64_t done = 0; done < count;) {
        /* To the output's next byte boundary and six bytes more, so that later steps are whole
         * bytes. */
        uint32_t step = 56 - (uint32_t)(out_bit % 8);
        if (step > count - done) step = (uint32_t)(count - done);
        uint64_t bits = all_valid ? (1ull << step) - 1 : load_bits(bitmap, first + done, step);
        nulls += step - (uint32_t)__builtin_popcountll(bits);
        if (out) {
            uint64_t begin = out_bit / 8, bytes = (out_bit % 8 + step + 7) / 8, word = 0;
            memcpy(&word, out + begin, (size_t)bytes);
            word |= bits << (out_bit % 8);
            memcpy(out + begin, &word, (size_t)bytes);
        }
        out_bit += step;
        done += step;
    }
    return nulls;
}
