/* test_chunk.c - chunk headers: what is written comes back, and every rule that a header can break
 * is kept. */
#include "check.h"
#include "chunk.h"
#include "pack.h"
#include "sidecar.h"

#define BITS 11u

static const uint32_t code_bits[3] = {4, 16, BITS};

static void finish(fp_chunk *chunk, uint32_t alignment) {
    chunk->sections[FP_SECTION_CODES].size =
        chunk->coded ? fp_packed_size(chunk->codes, BITS) : chunk->decoded_bytes;
    chunk->sections[FP_SECTION_SIDECAR].size =
        chunk->coded ? fp_sidecar_size(chunk->codes, chunk->batch_codes, chunk->group_batches) : 0;
    chunk->sections[FP_SECTION_LENGTHS].size = (chunk->rows + 255) / 256 * 16;
    chunk->sections[FP_SECTION_VALIDITY].size = chunk->has_validity ? (chunk->rows + 7) / 8 : 0;
    for (int i = 0; i < FP_SECTIONS; i++)
        chunk->sections[i].checksum =
            chunk->sections[i].size ? 0x1234567890abcdefu + (uint64_t)i : 0;
    fp_chunk_layout(chunk, alignment);
}

static fp_chunk coded_chunk(uint32_t alignment) {
    fp_chunk chunk = {.coded = 1,
                      .has_validity = 1,
                      .dictionary = 2,
                      .rows = 1000,
                      .nulls = 10,
                      .codes = 700,
                      .decoded_bytes = 300 * 1 + 390 * 7 + 6 * 14 + 4 * 60,
                      .batch_codes = 64,
                      .group_batches = 64,
                      .largest_batch = 400,
                      .largest_pair = 700,
                      .largest_four = 1300};
    chunk.by_length[0] = 300;
    chunk.by_length[6] = 390;
    chunk.by_length[fp_length_band(14)] = 6;
    chunk.by_length[fp_length_band(60)] = 4;
    finish(&chunk, alignment);
    return chunk;
}

static fp_chunk stored_chunk(uint32_t alignment) {
    fp_chunk chunk = {.dictionary = FP_NO_DICTIONARY, .rows = 3, .decoded_bytes = 77};
    finish(&chunk, alignment);
    return chunk;
}

static fastpair_status read_header(const uint8_t *header, uint32_t alignment, fp_chunk *chunk,
                                   fastpair_error *error) {
    fp_chunk_context before = {alignment, code_bits, 3, 0, FP_FEATURE_COLD};
    return fp_chunk_read_header(header, 8192, &before, chunk, error);
}

static void same(const fp_chunk *a, const fp_chunk *b) {
    CHECK_EQ(a->block_bytes, b->block_bytes);
    CHECK_EQ(a->coded, b->coded);
    CHECK_EQ(a->cold, b->cold);
    CHECK_EQ(a->has_validity, b->has_validity);
    CHECK_EQ(a->dictionary, b->dictionary);
    CHECK_EQ(a->rows, b->rows);
    CHECK_EQ(a->nulls, b->nulls);
    CHECK_EQ(a->codes, b->codes);
    CHECK_EQ(a->decoded_bytes, b->decoded_bytes);
    CHECK_EQ(a->batch_codes, b->batch_codes);
    CHECK_EQ(a->group_batches, b->group_batches);
    CHECK_EQ(a->largest_batch, b->largest_batch);
    CHECK_EQ(a->largest_pair, b->largest_pair);
    CHECK_EQ(a->largest_four, b->largest_four);
    CHECK(!memcmp(a->by_length, b->by_length, sizeof a->by_length));
    CHECK(!memcmp(a->sections, b->sections, sizeof a->sections));
}

static void round_trip(fp_chunk chunk, uint32_t alignment) {
    uint8_t header[FP_CHUNK_HEADER];
    fp_chunk back;
    fastpair_error error;
    fp_chunk_write_header(&chunk, header);
    CHECK_EQ(read_header(header, alignment, &back, &error), FASTPAIR_OK);
    CHECK_EQ(back.position, 8192);
    same(&chunk, &back);
    /* Sections in order, aligned, and no further apart than that. */
    uint64_t end = FP_CHUNK_HEADER;
    for (int i = 0; i < FP_SECTIONS; i++) {
        const fp_section *section = &chunk.sections[i];
        if (!section->size) {
            CHECK(section->offset == 0);
            continue;
        }
        CHECK(section->offset % alignment == 0 && section->offset >= end &&
              section->offset < end + alignment);
        end = section->offset + section->size;
    }
    CHECK(chunk.block_bytes % alignment == 0 && chunk.block_bytes >= end &&
          chunk.block_bytes < end + alignment);
    /* Without a new checksum no changed byte passes. */
    for (uint32_t i = 0; i < FP_CHUNK_HEADER; i++) {
        header[i] ^= 0x40;
        CHECK_EQ(read_header(header, alignment, &back, &error), FASTPAIR_ERROR_CORRUPT);
        CHECK(error.position >= 8192 && error.position < 8192 + FP_CHUNK_HEADER);
        header[i] ^= 0x40;
    }
}

/* Puts `value` of `size` bytes at an offset, seals the header, and expects a refusal at `where`. */
static void lie(const fp_chunk *chunk, uint32_t offset, uint32_t size, uint64_t value,
                uint32_t where) {
    uint8_t header[FP_CHUNK_HEADER];
    fp_chunk back;
    fastpair_error error = {.position = 0};
    fp_chunk_write_header(chunk, header);
    memcpy(header + offset, &value, size);
    fp_store64(header + 312, fp_checksum(header, 312));
    fastpair_status status = read_header(header, 64, &back, &error);
    CHECK_EQ(status, FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(error.position, 8192 + where);
    if (status != FASTPAIR_ERROR_CORRUPT || error.position != 8192 + where)
        fprintf(stderr, "  ^ %" PRIu64 " at %u: %s\n", value, offset, error.message);
}

static void lies(void) {
    fp_chunk c = coded_chunk(64), s = stored_chunk(64);
    const uint64_t huge = UINT64_MAX;
    lie(&c, 0, 4, FP_KIND_DICTIONARY, 0);
    lie(&c, 4, 4, 321, 4);
    lie(&c, 8, 8, c.block_bytes + 64, 8);
    lie(&c, 8, 8, huge, 8);
    lie(&c, 16, 1, 4, 16);
    lie(&c, 16, 1, 0, 20); /* a stored chunk with a dictionary */
    lie(&c, 16, 1, 2, 20);
    lie(&c, 16, 1, 3, 232 + 8); /* a cold chunk has no sidecar */
    lie(&s, 16, 1, 4, 16);
    lie(&c, 17, 1, 2, 17);
    lie(&c, 17, 1, 0, 32);
    lie(&c, 18, 1, 1, 18);
    lie(&c, 19, 1, 1, 18);
    lie(&c, 20, 4, 3, 20);
    lie(&c, 20, 4, 0, 208 + 8); /* another width: the section has another size */
    lie(&c, 20, 4, UINT32_MAX, 20);
    lie(&c, 24, 8, 0, 24);
    lie(&c, 24, 8, (1u << 28) + 1, 24);
    lie(&c, 24, 8, huge, 24);
    lie(&c, 24, 8, 1025, 280 + 8);
    lie(&c, 32, 8, 0, 32);
    lie(&c, 32, 8, 1001, 32);
    lie(&c, 32, 8, 1000, 48); /* all null, yet there are bytes */
    lie(&s, 32, 8, 1, 32);
    lie(&c, 40, 8, 0, 40);
    lie(&c, 40, 8, 699, 40);
    lie(&c, 40, 8, huge, 40);
    lie(&c, 48, 8, 300 * 1 + 390 * 7 + 6 * 16 + 4 * 64 + 1, 48); /* more than the longest tokens */
    lie(&c, 48, 8, 300 * 1 + 390 * 7 + 6 * 13 + 4 * 57 - 1, 48);
    lie(&c, 48, 8, 1ull << 32, 48);
    lie(&c, 48, 8, 0, 80);
    lie(&c, 56, 4, 0, 56);
    lie(&c, 56, 4, 63, 56);
    lie(&c, 56, 4, 1056, 56);
    lie(&c, 56, 4, UINT32_MAX, 56);
    lie(&c, 56, 4, 128, 60); /* needs another group */
    lie(&c, 60, 4, 128, 60);
    lie(&c, 60, 4, 63, 60);
    lie(&c, 60, 4, 0, 60);
    lie(&c, 60, 4, 1u << 26, 60); /* times 64 it is 0 in 32 bits */
    lie(&c, 60, 4, 8, 232 + 8);   /* valid, but the sidecar is then larger */
    lie(&c, 64, 4, 0, 64);
    lie(&c, 64, 4, c.decoded_bytes + 1, 64);
    lie(&c, 64, 4, c.decoded_bytes / 11 - 1, 64); /* 11 batches could not hold the bytes */
    lie(&c, 68, 4, 0, 68);
    lie(&c, 68, 4, 399, 68); /* less than the largest batch */
    lie(&c, 68, 4, 801, 68); /* more than two of it */
    lie(&c, 72, 4, 699, 72);
    lie(&c, 72, 4, 1401, 72);
    for (uint32_t i = 76; i < 80; i++) lie(&c, i, 1, 1, 76);
    lie(&c, 80, 8, 301, 40);
    lie(&c, 80 + 8, 8, huge, 88);
    lie(&c, 80 + 15 * 8, 8, 1ull << 60, 200);
    for (uint32_t i = 0; i < FP_SECTIONS; i++) {
        lie(&c, 208 + i * 24, 8, c.sections[i].offset + 64, 208 + i * 24);
        lie(&c, 208 + i * 24, 8, huge - 63, 208 + i * 24);
        lie(&c, 208 + i * 24, 8, 0, 208 + i * 24);
        lie(&c, 208 + i * 24 + 8, 8, huge, 208 + i * 24 + 8);
        lie(&c, 208 + i * 24 + 8, 8, 0, 208 + i * 24 + 8);
        if (i != FP_SECTION_LENGTHS)
            lie(&c, 208 + i * 24 + 8, 8, c.sections[i].size + 16, 208 + i * 24 + 8);
    }
    lie(&c, 256 + 8, 8, 4 * 16 - 4, 256 + 8);            /* the directory does not fit */
    lie(&c, 256 + 8, 8, 4 * 16 + 2, 256 + 8);            /* not whole words */
    lie(&c, 256 + 8, 8, 4 * 16 + 1000 * 4 + 4, 256 + 8); /* more than 32 bits a row */
    for (uint32_t i = 304; i < 312; i++) lie(&c, i, 1, 1, 304);
    lie(&s, 20, 4, 0, 20);
    lie(&s, 40, 8, 1, 40);
    lie(&s, 48, 8, 78, 208 + 8);
    lie(&s, 56, 4, 64, 56);
    lie(&s, 60, 4, 1, 56);
    lie(&s, 64, 4, 1, 56);
    lie(&s, 68, 4, 1, 68);
    lie(&s, 72, 4, 1, 68);
    lie(&s, 80 + 3 * 8, 8, 1, 104);
    lie(&s, 232, 8, 64, 232); /* an empty section has no offset and no checksum */
    lie(&s, 232 + 16, 8, 1, 232 + 16);
}

/* Every length is in one class, whose bounds hold it; and classes follow one another. */
static void classes(void) {
    CHECK_EQ(fp_band_least(0), 1);
    for (uint32_t i = 0; i < FP_LENGTH_BANDS; i++) {
        CHECK(fp_band_least(i) <= fp_band_most(i));
        if (i) CHECK_EQ(fp_band_least(i), fp_band_most(i - 1) + 1);
        for (uint32_t length = fp_band_least(i); length <= fp_band_most(i); length++)
            CHECK_EQ(fp_length_band(length), i);
    }
    CHECK_EQ(fp_band_most(FP_LENGTH_BANDS - 1), 64);
}

/* A writer's group: as many batches as keep deltas below 2^16, and no more than 4096 codes. */
static void groups(void) {
    for (uint32_t batch = FP_MIN_BATCH; batch <= FP_MAX_BATCH; batch += 32)
        for (uint32_t longest = 8; longest <= 64 && batch * longest <= FP_LARGEST_BATCH;
             longest *= 2) {
            uint32_t group = fp_group_batches(batch, longest);
            CHECK(group && !(group & (group - 1)));
            CHECK(batch * group <= 4096 && batch * group * longest <= 65536);
            CHECK(batch * group * 2 > 4096 || batch * group * 2 * longest > 65536);
        }
}

/* Whatever the counts, a batch of more than 16384 bytes is refused. */
static void large_batch(void) {
    fp_chunk chunk = {.coded = 1,
                      .dictionary = 2,
                      .rows = 1,
                      .codes = 1024,
                      .decoded_bytes = 16384,
                      .batch_codes = 1024,
                      .group_batches = 1,
                      .largest_batch = 16384,
                      .largest_pair = 16384,
                      .largest_four = 16384};
    chunk.by_length[fp_length_band(64)] = 256 - 12;
    chunk.by_length[0] = 1024 - 256 + 12;
    finish(&chunk, 64);
    round_trip(chunk, 64);
    chunk.decoded_bytes++;
    lie(&chunk, 64, 4, 16385, 64);
}

/* A cold chunk: a frame of any size, no sidecar, and no lengths if it is coded. */
static void cold_chunks(void) {
    fp_chunk c = coded_chunk(64), s = stored_chunk(64);
    c.cold = s.cold = 1;
    for (int i = FP_SECTION_SIDECAR; i < FP_SECTIONS; i++) c.sections[i] = (fp_section){0};
    c.sections[FP_SECTION_CODES].size = s.sections[FP_SECTION_CODES].size = 99;
    fp_chunk_layout(&c, 64);
    fp_chunk_layout(&s, 64);
    round_trip(c, 64);
    round_trip(s, 64);
    lie(&c, 208 + 8, 8, 0, 208 + 8);
    lie(&c, 208 + 8, 8, UINT64_MAX, 208 + 8);
    lie(&c, 232 + 8, 8, 16, 232 + 8);
    lie(&c, 256 + 8, 8, 64, 256 + 8);
    lie(&c, 280 + 8, 8, 125, 280 + 8);
    lie(&s, 208 + 8, 8, 0, 208 + 8);
    lie(&s, 256 + 8, 8, 0, 256 + 8);
    lie(&s, 48, 8, 0, 16);
    lie(&s, 48, 8, FP_MAX_COLD_BYTES + 1, 16);
    lie(&c, 24, 8, FP_MAX_WORDS - 700 + 1, 16);
    uint8_t header[FP_CHUNK_HEADER];
    fp_chunk back;
    fastpair_error error;
    fp_chunk_write_header(&c, header);
    fp_chunk_context warm = {64, code_bits, 3, 0, 0}; /* a file without cold blocks */
    CHECK_EQ(fp_chunk_read_header(header, 8192, &warm, &back, &error), FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(error.position, 8192 + 16);
}

int main(void) {
    classes();
    groups();
    large_batch();
    round_trip(coded_chunk(64), 64);
    round_trip(coded_chunk(4096), 4096);
    round_trip(stored_chunk(64), 64);
    round_trip(stored_chunk(4096), 4096);
    fp_chunk empty = {.dictionary = FP_NO_DICTIONARY,
                      .rows = FP_MAX_CHUNK_ROWS}; /* only empty rows */
    finish(&empty, 64);
    round_trip(empty, 64);
    fp_chunk largest = {.coded = 1,
                        .dictionary = 2,
                        .rows = 1,
                        .codes = FP_MAX_CHUNK_BYTES,
                        .decoded_bytes = FP_MAX_CHUNK_BYTES,
                        .batch_codes = 1024,
                        .group_batches = 4,
                        .largest_batch = 1024,
                        .largest_pair = 2048,
                        .largest_four = 4096};
    largest.by_length[0] = FP_MAX_CHUNK_BYTES;
    finish(&largest, 4096);
    round_trip(largest, 4096);
    fp_chunk other = coded_chunk(64);
    uint8_t header[FP_CHUNK_HEADER];
    fp_chunk_write_header(&other, header);
    CHECK_EQ(read_header(header, 4096, &other, NULL),
             FASTPAIR_ERROR_CORRUPT); /* laid out for another alignment */
    lies();
    cold_chunks();
    return check_done();
}
