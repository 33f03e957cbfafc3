/* cold.c - cold chunks to warm ones. In: a cold chunk whose header passed its checks, and a frame that
 * may hold anything. Out: the warm chunk. The trick: codes, rows' ends and nulls are one list of words,
 * so nothing in it can contradict anything else; what the header says of the chunk is computed anew
 * and compared. Refuses frames that hold other than the header's rows and codes. */
#include "cold.h"

#include "lengths.h"
#include "pack.h"
#include "sidecar.h"

/* In memory sections begin at lines of the cache. */
#define ALIGNMENT 64u

static fastpair_status frame_failure(const fp_chunk_view *cold, fastpair_status status,
                                     const char *fault, uint64_t size, fastpair_error *error) {
    if (status == FASTPAIR_ERROR_OUT_OF_MEMORY) return fp_fail_memory(error, size);
    if (status == FASTPAIR_ERROR_UNSUPPORTED)
        return fp_frames_missing(cold->chunk->position, error);
    return fp_chunk_fault(cold, FP_SECTION_CODES, 0, fault, error);
}

fastpair_status fp_cold_open_reader(const fp_chunk_view *cold, const fastpair_allocator *allocator,
                                    fp_frame_reader *reader, fastpair_error *error) {
    fastpair_status status = fp_frame_reader_open(reader, allocator);
    return status ? frame_failure(cold, status, NULL, FP_FRAME_MEMORY, error) : FASTPAIR_OK;
}

static uint64_t word_count(const fp_chunk *chunk) { return chunk->codes + chunk->rows; }

/* What a header or a dictionary asks for that a cold chunk cannot have; NULL if nothing. */
static const char *shape_fault(const fp_chunk *chunk, const fp_dict *dict) {
    if (dict->code_slots > FP_MAX_COLD_SLOTS) return "its dictionary has too many slots to be cold";
    if (chunk->batch_codes * dict->max_token > FP_LARGEST_BATCH ||
        chunk->group_batches != fp_group_batches(chunk->batch_codes, dict->max_token))
        return "a cold chunk has other batches or groups than a writer makes";
    return NULL;
}

/* What words may be. */
typedef struct word_range {
    uint16_t slots; /* N: words from here on end rows */
    uint16_t last;
} word_range;

/* In steps of so many words that compilers compare several at once, and that their sums, which have 16
 * bits, are rarely needed. */
#define STEP 4096u

static inline __attribute__((always_inline)) uint64_t ends_in(const uint16_t *words, uint64_t count,
                                                              word_range range) {
    uint64_t ends = 0, i = 0;
    uint16_t greatest = 0;
    for (; i + STEP <= count; i += STEP) {
        uint16_t here = 0;
        for (uint32_t k = 0; k < STEP; k++) {
            here = (uint16_t)(here + (words[i + k] >= range.slots));
            greatest = words[i + k] > greatest ? words[i + k] : greatest;
        }
        ends += here;
    }
    for (; i < count; i++) {
        ends += words[i] >= range.slots;
        greatest = words[i] > greatest ? words[i] : greatest;
    }
    return greatest > range.last ? UINT64_MAX : ends;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t ends_in_avx2(const uint16_t *words, uint64_t count,
                                                             word_range range) {
    return ends_in(words, count, range);
}
#endif

/* How many words end rows; UINT64_MAX if a word is above the last. */
static uint64_t count_ends(const uint16_t *words, uint64_t count, word_range range,
                           fastpair_cpu_level level) {
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX2) return ends_in_avx2(words, count, range);
#endif
    (void)level;
    return ends_in(words, count, range);
}

fastpair_status fp_cold_look(const fp_chunk_view *cold, fastpair_error *error) {
    const fp_chunk *chunk = cold->chunk;
    uint64_t size = chunk->coded ? word_count(chunk) * sizeof(uint16_t) : chunk->decoded_bytes;
    const char *fault = chunk->coded ? shape_fault(chunk, &cold->dictionary->dict) : NULL;
    if (!fault)
        fault = fp_frame_fault(fp_chunk_section(chunk, cold->block, FP_SECTION_CODES),
                               chunk->sections[FP_SECTION_CODES].size, size);
    return fault ? fp_chunk_fault(cold, FP_SECTION_CODES, 0, fault, error) : FASTPAIR_OK;
}

/* Whether each word but the ends of rows has a token. */
static int all_have_tokens(const uint16_t *words, uint64_t count, const uint8_t *lengths,
                           uint64_t ends) {
    uint64_t without = 0;
    for (uint64_t i = 0; i < count; i++) without += !lengths[words[i]];
    return without == ends;
}

fastpair_status fp_cold_read_words(const fp_chunk_view *cold, uint16_t *words,
                                   const fp_frame_reader *reader, fastpair_error *error) {
    const fp_chunk *chunk = cold->chunk;
    const fp_dict *dict = &cold->dictionary->dict;
    const char *fault;
    const uint64_t count = word_count(chunk);
    fastpair_status status =
        fp_frame_read(reader, fp_chunk_section(chunk, cold->block, FP_SECTION_CODES),
                      chunk->sections[FP_SECTION_CODES].size, words, count * sizeof *words, &fault);
    if (status) return frame_failure(cold, status, fault, count * sizeof *words, error);
    const uint16_t slots = (uint16_t)dict->code_slots;
    uint64_t ends = count_ends(words, count,
                               (word_range){slots, (uint16_t)(slots + (chunk->has_validity != 0))},
                               cold->dictionary->settings->level);
    if (ends != chunk->rows || words[count - 1] < slots)
        return fp_chunk_fault(
            cold, FP_SECTION_CODES, 0,
            "the frame holds a word that is no code and no end of a row, or other "
            "rows than the header says",
            error);
    if (dict->tokens == dict->code_slots) return FASTPAIR_OK;
    const uint8_t *lengths;
    status = fp_column_dict_lengths(cold->dictionary, &lengths, error);
    if (status || all_have_tokens(words, count, lengths, ends)) return status;
    return fp_chunk_fault(cold, FP_SECTION_CODES, 0, "a word has no token in the dictionary",
                          error);
}

/* ---------------------------------------------------------------- coded chunks */

/* What is made of the words before the block can be laid out. */
typedef struct split {
    uint16_t *codes;  /* where the words were */
    uint64_t *starts; /* of the rows, and the end of the last: rows + 1 of them */
    uint8_t *lengths; /* of each code, and of the two ends, which have none */
} split;

static void split_close(split *of, const fastpair_allocator *allocator) {
    fp_release(allocator, of->codes);
    fp_release(allocator, of->starts);
    fp_release(allocator, of->lengths);
}

static fastpair_status split_open(const fp_chunk_view *cold, const fastpair_allocator *allocator,
                                  split *of, fastpair_error *error) {
    const fp_chunk *chunk = cold->chunk;
    const uint32_t slots = cold->dictionary->dict.code_slots;
    const uint8_t *lengths;
    *of = (split){fp_allocate(allocator, word_count(chunk), sizeof *of->codes),
                  fp_allocate(allocator, chunk->rows + 1, sizeof *of->starts),
                  fp_allocate_zero(allocator, slots + 2, 1)};
    if (!of->codes || !of->starts || !of->lengths)
        return fp_fail_memory(error, word_count(chunk) * sizeof *of->codes);
    fastpair_status status = fp_column_dict_lengths(cold->dictionary, &lengths, error);
    if (!status) memcpy(of->lengths, lengths, slots);
    return status;
}

/* Takes the ends of rows out of the words. No branch depends on a word: rows are too short for a
 * processor to guess where they end. */
static void split_words(const fp_chunk *chunk, uint32_t slots, split *of) {
    uint16_t *codes = of->codes;
    uint64_t row = 0, code = 0, position = 0;
    const uint64_t count = word_count(chunk);
    of->starts[0] = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint16_t word = codes[i];
        uint64_t is_end = word >= slots;
        position += of->lengths[word];
        codes[code] = word;
        code += 1 - is_end;
        row += is_end;
        of->starts[row + 1 - is_end] = position; /* of the row after, if this one has ended */
    }
}

int fp_cold_validity(const fp_chunk *chunk, const uint16_t *words, uint32_t slots, uint8_t *bitmap,
                     uint64_t bit) {
    uint64_t nulls = 0, begin = 0;
    for (uint64_t i = 0, row = 0; row < chunk->rows; i++) {
        if (words[i] < slots) continue;
        int is_null = words[i] != slots;
        if (is_null && i != begin) return 0;
        bitmap[(bit + row) / 8] |= (uint8_t)(!is_null << (bit + row) % 8);
        nulls += (uint64_t)is_null;
        begin = i + 1;
        row++;
    }
    return nulls == chunk->nulls;
}

/* Whether what was computed is what the header says. */
static int same_figures(const fp_chunk *computed, const fp_chunk *header) {
    return computed->largest_batch == header->largest_batch &&
           computed->largest_pair == header->largest_pair &&
           computed->largest_four == header->largest_four &&
           memcmp(computed->by_length, header->by_length, sizeof header->by_length) == 0;
}

/* Zeroes what no section covers, lays the sections out and allocates the block. */
static fastpair_status lay_out(fp_warm *warm, const fastpair_allocator *allocator,
                               fastpair_error *error) {
    fp_chunk_layout(&warm->chunk, ALIGNMENT);
    warm->block = fp_allocate_zero(allocator, warm->chunk.block_bytes, 1);
    return warm->block ? FASTPAIR_OK : fp_fail_memory(error, warm->chunk.block_bytes);
}

static fastpair_status warm_coded(const fp_chunk_view *cold, const fastpair_allocator *allocator,
                                  split *of, fp_warm *warm, fastpair_error *error) {
    const fp_chunk *header = cold->chunk;
    const uint32_t slots = cold->dictionary->dict.code_slots,
                   bits = cold->dictionary->dict.code_bits;
    uint64_t bitmap_bytes = header->has_validity ? (header->rows + 7) / 8 : 0;
    uint8_t *bitmap = fp_allocate_zero(allocator, bitmap_bytes, 1); /* before the words are gone */
    if (!bitmap) return fp_fail_memory(error, bitmap_bytes);
    fp_frame_reader reader = {0};
    fastpair_status status = fp_cold_open_reader(cold, allocator, &reader, error);
    if (!status) status = fp_cold_read_words(cold, of->codes, &reader, error);
    fp_frame_reader_close(&reader);
    if (!status) {
        int nulls_fit = !bitmap_bytes || fp_cold_validity(header, of->codes, slots, bitmap, 0);
        split_words(header, slots, of);
        if (!nulls_fit || of->starts[header->rows] != header->decoded_bytes)
            status =
                fp_chunk_fault(cold, FP_SECTION_CODES, 0,
                               "the frame holds other nulls or bytes than the header says", error);
    }
    if (!status) {
        warm->chunk.sections[FP_SECTION_CODES].size = fp_packed_size(header->codes, bits);
        warm->chunk.sections[FP_SECTION_SIDECAR].size =
            fp_sidecar_size(header->codes, header->batch_codes, header->group_batches);
        warm->chunk.sections[FP_SECTION_LENGTHS].size = fp_lengths_size(of->starts, header->rows);
        warm->chunk.sections[FP_SECTION_VALIDITY].size = bitmap_bytes;
        status = lay_out(warm, allocator, error);
    }
    if (!status) {
        const fp_section *sections = warm->chunk.sections;
        fp_sidecar_write(of->codes, of->lengths, warm->block + sections[FP_SECTION_SIDECAR].offset,
                         &warm->chunk);
        fp_pack(of->codes, header->codes, bits, warm->block + sections[FP_SECTION_CODES].offset);
        fp_lengths_write(of->starts, header->rows,
                         warm->block + sections[FP_SECTION_LENGTHS].offset);
        memcpy(warm->block + sections[FP_SECTION_VALIDITY].offset, bitmap, (size_t)bitmap_bytes);
        if (!same_figures(&warm->chunk, header))
            status = fp_chunk_fault(cold, FP_SECTION_CODES, 0,
                                    "the header gives other largest batches or counts other token "
                                    "lengths than the frame has, or a code has no token",
                                    error);
    }
    fp_release(allocator, bitmap);
    return status;
}

/* ---------------------------------------------------------------- stored chunks */

static fastpair_status warm_stored(const fp_chunk_view *cold, const fastpair_allocator *allocator,
                                   fp_warm *warm, fastpair_error *error) {
    const fp_chunk *header = cold->chunk;
    warm->chunk.sections[FP_SECTION_CODES].size = header->decoded_bytes;
    fastpair_status status = lay_out(warm, allocator, error);
    if (status) return status;
    for (int s = FP_SECTION_LENGTHS; s <= FP_SECTION_VALIDITY; s++)
        memcpy(warm->block + warm->chunk.sections[s].offset,
               cold->block + header->sections[s].offset, (size_t)header->sections[s].size);
    const char *fault;
    status = fp_frame_read_once(fp_chunk_section(header, cold->block, FP_SECTION_CODES),
                                header->sections[FP_SECTION_CODES].size,
                                warm->block + warm->chunk.sections[FP_SECTION_CODES].offset,
                                header->decoded_bytes, allocator, &fault);
    return status ? frame_failure(cold, status, fault, header->decoded_bytes, error) : FASTPAIR_OK;
}

/* ---------------------------------------------------------------- both */

fastpair_status fp_warm_open(const fp_chunk_view *cold, const fastpair_allocator *allocator,
                             fp_warm *warm, fastpair_error *error) {
    *warm = (fp_warm){.chunk = *cold->chunk};
    warm->chunk.cold = 0;
    warm->chunk.was_cold = 1;
    fastpair_status status = fp_cold_look(cold, error);
    if (status) return status;
    if (cold->chunk->coded) {
        split of;
        status = split_open(cold, allocator, &of, error);
        if (!status) status = warm_coded(cold, allocator, &of, warm, error);
        split_close(&of, allocator);
    } else {
        status = warm_stored(cold, allocator, warm, error);
    }
    if (status) fp_warm_close(warm, allocator);
    return status;
}

void fp_warm_close(fp_warm *warm, const fastpair_allocator *allocator) {
    fp_release(allocator, warm->block);
    warm->block = NULL;
}

uint64_t fp_warm_peak(const fp_chunk *cold, uint32_t bits) {
    uint64_t blocks = (cold->rows + FP_LENGTH_BLOCK - 1) / FP_LENGTH_BLOCK;
    uint64_t lengths = blocks * FP_LENGTH_ENTRY + cold->rows * 4, validity = cold->rows / 8 + 1;
    uint64_t rest = FP_CHUNK_HEADER + (FP_SECTIONS + 1) * ALIGNMENT + (512u << 10);
    if (!cold->coded) return cold->decoded_bytes + lengths + validity + rest;
    return fp_packed_size(cold->codes, bits) +
           fp_sidecar_size(cold->codes, cold->batch_codes, cold->group_batches) + lengths +
           2 * validity + word_count(cold) * 2 + (cold->rows + 1) * 8 + rest;
}
