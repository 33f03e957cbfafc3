/* chunk.c - chunk headers. In: the numbers of a chunk, or 320 untrusted bytes. Out: the header, or
 * the numbers.
 *
 * The trick: all sizes and offsets of a chunk follow from a few counts, so a reader computes and
 * compares them instead of trusting them. A header that passes bounds everything a decoder does
 * with the chunk. Refuses every header that breaks a rule of docs/format.md which the header alone
 * can show. */
#include "chunk.h"

#include "pack.h"
#include "sidecar.h"

#include <inttypes.h>

enum {
    AT_KIND = 0,
    AT_HEADER_SIZE = 4,
    AT_BLOCK_SIZE = 8,
    AT_ENCODING = 16,
    AT_HAS_VALIDITY = 17,
    AT_ZERO_1 = 18,
    AT_DICTIONARY = 20,
    AT_ROWS = 24,
    AT_NULLS = 32,
    AT_CODES = 40,
    AT_DECODED = 48,
    AT_BATCH = 56,
    AT_GROUP = 60,
    AT_LARGEST = 64,
    AT_PAIR = 68,
    AT_FOUR = 72,
    AT_ZERO_2 = 76,
    AT_BY_LENGTH = 80,
    AT_SECTIONS = 208,
    AT_ZERO_3 = 304,
    AT_CHECKSUM = 312,
    SECTION_ENTRY = 24
};

/* Bits of the encoding. */
enum { CODED = 1, COLD = 2 };

/* No frame is larger. What a chunk may hold cold is far below that. */
#define LARGEST_FRAME (1u << 30)

void fp_chunk_layout(fp_chunk *chunk, uint32_t alignment) {
    uint64_t end = FP_CHUNK_HEADER;
    for (int i = 0; i < FP_SECTIONS; i++) {
        fp_section *section = &chunk->sections[i];
        section->offset = section->size ? fp_align(end, alignment) : 0;
        if (section->size) end = section->offset + section->size;
    }
    chunk->block_bytes = fp_align(end, alignment);
}

void fp_chunk_write_header(const fp_chunk *chunk, uint8_t *header) {
    memset(header, 0, FP_CHUNK_HEADER);
    fp_store32(header + AT_KIND, FP_KIND_CHUNK);
    fp_store32(header + AT_HEADER_SIZE, FP_CHUNK_HEADER);
    fp_store64(header + AT_BLOCK_SIZE, chunk->block_bytes);
    header[AT_ENCODING] = (uint8_t)((chunk->coded ? CODED : 0) | (chunk->cold ? COLD : 0));
    header[AT_HAS_VALIDITY] = chunk->has_validity != 0;
    fp_store32(header + AT_DICTIONARY, chunk->coded ? chunk->dictionary : FP_NO_DICTIONARY);
    fp_store64(header + AT_ROWS, chunk->rows);
    fp_store64(header + AT_NULLS, chunk->nulls);
    fp_store64(header + AT_CODES, chunk->codes);
    fp_store64(header + AT_DECODED, chunk->decoded_bytes);
    fp_store32(header + AT_BATCH, chunk->batch_codes);
    fp_store32(header + AT_GROUP, chunk->group_batches);
    fp_store32(header + AT_LARGEST, chunk->largest_batch);
    fp_store32(header + AT_PAIR, chunk->largest_pair);
    fp_store32(header + AT_FOUR, chunk->largest_four);
    for (uint32_t i = 0; i < FP_LENGTH_BANDS; i++)
        fp_store64(header + AT_BY_LENGTH + i * 8, chunk->by_length[i]);
    for (int i = 0; i < FP_SECTIONS; i++) {
        uint8_t *entry = header + AT_SECTIONS + i * SECTION_ENTRY;
        fp_store64(entry, chunk->sections[i].offset);
        fp_store64(entry + 8, chunk->sections[i].size);
        fp_store64(entry + 16, chunk->sections[i].checksum);
    }
    fp_store64(header + AT_CHECKSUM, fp_checksum(header, AT_CHECKSUM));
}

#define FAULT(offset, condition, text)                                                             \
    if (condition) {                                                                               \
        *where = (offset);                                                                         \
        return (text);                                                                             \
    }

/* The fields that every chunk has. Each function below returns what is wrong and sets *where, the
 * offset in the header; or NULL. */
static const char *common_fault(const uint8_t *header, const fp_chunk *chunk,
                                const fp_chunk_context *before, uint32_t *where) {
    const uint32_t minor = before->minor;
    static const uint8_t zero[8];
    FAULT(AT_KIND, fp_load32(header + AT_KIND) != FP_KIND_CHUNK, "this is no chunk block");
    FAULT(AT_HEADER_SIZE, fp_load32(header + AT_HEADER_SIZE) != FP_CHUNK_HEADER,
          "the chunk header has a wrong size");
    FAULT(AT_CHECKSUM, fp_load64(header + AT_CHECKSUM) != fp_checksum(header, AT_CHECKSUM),
          "header checksum mismatch: the file is damaged; restore it from a copy");
    FAULT(AT_ENCODING, header[AT_ENCODING] > (CODED | COLD), "unknown encoding");
    FAULT(AT_ENCODING, chunk->cold && !(before->features & FP_FEATURE_COLD),
          "a cold chunk in a file whose header says that there are none");
    FAULT(AT_HAS_VALIDITY, header[AT_HAS_VALIDITY] > 1, "the validity flag is neither 0 nor 1");
    FAULT(AT_ZERO_1, !minor && memcmp(header + AT_ZERO_1, zero, 2) != 0,
          "a field that must be zero is not");
    FAULT(AT_ZERO_2, !minor && memcmp(header + AT_ZERO_2, zero, 4) != 0,
          "a field that must be zero is not");
    FAULT(AT_ZERO_3, !minor && memcmp(header + AT_ZERO_3, zero, 8) != 0,
          "a field that must be zero is not");
    FAULT(AT_ROWS, chunk->rows < 1 || chunk->rows > FP_MAX_CHUNK_ROWS,
          "the row count is not in 1..2^28");
    FAULT(AT_NULLS, chunk->nulls > chunk->rows, "there are more null rows than rows");
    FAULT(AT_NULLS, (chunk->nulls != 0) != chunk->has_validity,
          "null rows and the validity flag contradict each other");
    FAULT(AT_DECODED, chunk->decoded_bytes > FP_MAX_CHUNK_BYTES,
          "the decoded size is 2^32 bytes or more");
    FAULT(AT_DECODED, chunk->decoded_bytes && chunk->nulls == chunk->rows,
          "all rows are null, but there are decoded bytes");
    return NULL;
}

static const char *stored_fault(const fp_chunk *chunk, uint32_t *where) {
    FAULT(AT_DICTIONARY, chunk->dictionary != FP_NO_DICTIONARY,
          "a stored chunk names a dictionary");
    FAULT(AT_CODES, chunk->codes, "a stored chunk has codes");
    FAULT(AT_BATCH, chunk->batch_codes || chunk->group_batches || chunk->largest_batch,
          "a stored chunk has batches");
    FAULT(AT_PAIR, chunk->largest_pair || chunk->largest_four, "a stored chunk has batches");
    FAULT(AT_ENCODING,
          chunk->cold && (!chunk->decoded_bytes || chunk->decoded_bytes > FP_MAX_COLD_BYTES),
          "a stored and cold chunk has no bytes, or more than 2^26");
    for (uint32_t i = 0; i < FP_LENGTH_BANDS; i++)
        FAULT(AT_BY_LENGTH + i * 8, chunk->by_length[i], "a stored chunk counts token lengths");
    return NULL;
}

/* Whether the largest of `each` neighbours taken together can be `most`, if the largest single one is
 * `least`. */
static int can_be_largest(uint64_t most, uint64_t least, uint32_t each, const fp_chunk *chunk) {
    return most >= least && most <= each * least && most <= chunk->decoded_bytes;
}

static const char *coded_fault(const fp_chunk *chunk, uint64_t dictionaries, uint32_t *where) {
    FAULT(AT_DICTIONARY, chunk->dictionary >= dictionaries,
          "its dictionary does not come before it");
    FAULT(AT_BATCH,
          chunk->batch_codes < FP_MIN_BATCH || chunk->batch_codes > FP_MAX_BATCH ||
              chunk->batch_codes % 32,
          "the batch size is no multiple of 32 in 32..1024");
    uint32_t group = chunk->group_batches;
    FAULT(AT_GROUP, !group || (group & (group - 1)) || group > FP_MAX_GROUP / chunk->batch_codes,
          "the batches of a group are no power of two or have more than 4096 codes");
    uint64_t codes = 0, least = 0, most = 0;
    for (uint32_t i = 0; i < FP_LENGTH_BANDS; i++) {
        /* Every token has a byte, so no count passes the decoded size, which is below 2^32: the
         * sums fit. */
        FAULT(AT_BY_LENGTH + i * 8, chunk->by_length[i] > chunk->decoded_bytes,
              "there are more codes of a length than decoded bytes");
        codes += chunk->by_length[i];
        least += chunk->by_length[i] * fp_band_least(i);
        most += chunk->by_length[i] * fp_band_most(i);
    }
    FAULT(AT_CODES, chunk->codes < 1, "a coded chunk has no codes");
    FAULT(AT_CODES, codes != chunk->codes, "the codes by length do not add up to the codes");
    FAULT(AT_DECODED, chunk->decoded_bytes < least || chunk->decoded_bytes > most,
          "the codes by length cannot have the decoded bytes");
    uint64_t batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes);
    FAULT(AT_LARGEST,
          chunk->largest_batch > FP_LARGEST_BATCH || chunk->largest_batch > chunk->decoded_bytes ||
              chunk->largest_batch * batches < chunk->decoded_bytes,
          "the largest batch does not fit the decoded bytes");
    FAULT(AT_PAIR, !can_be_largest(chunk->largest_pair, chunk->largest_batch, 2, chunk),
          "the largest pair of batches does not fit the largest batch");
    FAULT(AT_FOUR, !can_be_largest(chunk->largest_four, chunk->largest_pair, 2, chunk),
          "the largest four batches do not fit the largest pair");
    FAULT(AT_ENCODING, chunk->cold && chunk->codes + chunk->rows > FP_MAX_WORDS,
          "a cold chunk has more than 2^25 codes and rows");
    return NULL;
}

/* Section sizes follow from the counts, offsets from the sizes. `bits` is the code width. */
static const char *section_fault(const fp_chunk *chunk, uint32_t alignment, uint32_t bits,
                                 uint32_t *where) {
    uint64_t blocks = (chunk->rows + FP_LENGTH_BLOCK - 1) / FP_LENGTH_BLOCK;
    uint64_t lengths = chunk->sections[FP_SECTION_LENGTHS].size;
    uint64_t expected[FP_SECTIONS] = {
        [FP_SECTION_CODES] =
            chunk->coded ? fp_packed_size(chunk->codes, bits) : chunk->decoded_bytes,
        [FP_SECTION_SIDECAR] =
            chunk->coded ? fp_sidecar_size(chunk->codes, chunk->batch_codes, chunk->group_batches)
                         : 0,
        [FP_SECTION_LENGTHS] = lengths,
        [FP_SECTION_VALIDITY] = chunk->has_validity ? (chunk->rows + 7) / 8 : 0};
    if (chunk->cold) { /* what the frame holds is compared when it is read */
        FAULT(AT_SECTIONS + 8,
              !chunk->sections[FP_SECTION_CODES].size ||
                  chunk->sections[FP_SECTION_CODES].size > LARGEST_FRAME,
              "a cold chunk has no frame, or too large a one");
        expected[FP_SECTION_CODES] = chunk->sections[FP_SECTION_CODES].size;
        expected[FP_SECTION_SIDECAR] = 0;
        if (chunk->coded) expected[FP_SECTION_LENGTHS] = expected[FP_SECTION_VALIDITY] = 0;
    }
    for (uint32_t i = 0; i < FP_SECTIONS; i++)
        FAULT(AT_SECTIONS + i * SECTION_ENTRY + 8, chunk->sections[i].size != expected[i],
              "a section's size does not follow from the counts");
    /* Only the section itself tells how wide packed lengths are; they take at most 4 bytes per
     * row. */
    FAULT(AT_SECTIONS + FP_SECTION_LENGTHS * SECTION_ENTRY + 8,
          !(chunk->cold && chunk->coded) && (lengths % 4 || lengths < blocks * FP_LENGTH_ENTRY ||
                                             lengths > blocks * FP_LENGTH_ENTRY + chunk->rows * 4),
          "the row-length section has a wrong size");
    /* Four sections below 2^34 bytes each: the layout cannot overflow. */
    fp_chunk expected_layout = *chunk;
    fp_chunk_layout(&expected_layout, alignment);
    for (uint32_t i = 0; i < FP_SECTIONS; i++) {
        const fp_section *section = &chunk->sections[i];
        FAULT(AT_SECTIONS + i * SECTION_ENTRY,
              section->offset != expected_layout.sections[i].offset,
              "a section does not lie where it should");
        FAULT(AT_SECTIONS + i * SECTION_ENTRY + 16, !section->size && section->checksum,
              "an empty section has a checksum");
    }
    FAULT(AT_BLOCK_SIZE, chunk->block_bytes != expected_layout.block_bytes,
          "the block has a wrong size");
    return NULL;
}
#undef FAULT

uint64_t fp_chunk_peek_dictionary(const uint8_t *header) {
    return header[AT_ENCODING] & CODED ? fp_load32(header + AT_DICTIONARY) : UINT64_MAX;
}

fastpair_status fp_chunk_read_header(const uint8_t *header, uint64_t position,
                                     const fp_chunk_context *before, fp_chunk *chunk,
                                     fastpair_error *error) {
    *chunk = (fp_chunk){.position = position,
                        .block_bytes = fp_load64(header + AT_BLOCK_SIZE),
                        .coded = (header[AT_ENCODING] & CODED) != 0,
                        .cold = (header[AT_ENCODING] & COLD) != 0,
                        .has_validity = header[AT_HAS_VALIDITY] == 1,
                        .dictionary = fp_load32(header + AT_DICTIONARY),
                        .rows = fp_load64(header + AT_ROWS),
                        .nulls = fp_load64(header + AT_NULLS),
                        .codes = fp_load64(header + AT_CODES),
                        .decoded_bytes = fp_load64(header + AT_DECODED),
                        .batch_codes = fp_load32(header + AT_BATCH),
                        .group_batches = fp_load32(header + AT_GROUP),
                        .largest_batch = fp_load32(header + AT_LARGEST),
                        .largest_pair = fp_load32(header + AT_PAIR),
                        .largest_four = fp_load32(header + AT_FOUR)};
    for (uint32_t i = 0; i < FP_LENGTH_BANDS; i++)
        chunk->by_length[i] = fp_load64(header + AT_BY_LENGTH + i * 8);
    for (int i = 0; i < FP_SECTIONS; i++) {
        const uint8_t *entry = header + AT_SECTIONS + i * SECTION_ENTRY;
        chunk->sections[i] =
            (fp_section){fp_load64(entry), fp_load64(entry + 8), fp_load64(entry + 16)};
    }
    uint32_t where = 0;
    const char *fault = common_fault(header, chunk, before, &where);
    if (!fault)
        fault = chunk->coded ? coded_fault(chunk, before->dictionaries, &where)
                             : stored_fault(chunk, &where);
    if (!fault)
        fault = section_fault(chunk, before->alignment,
                              chunk->coded ? before->code_bits_of[chunk->dictionary] : 0, &where);
    if (!fault) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position + where,
                   "chunk at offset %" PRIu64 ": %s", position, fault);
}
