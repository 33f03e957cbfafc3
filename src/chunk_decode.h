/* chunk_decode.h - reading one chunk whose block is in memory: bytes, row starts, nulls.
 *
 * Everything here is safe for any section contents as long as the header passed
 * fp_chunk_read_header: nothing outside the block is read, nothing outside the output is written,
 * and the time is bounded by the sizes asked for. Whatever decodes codes may build the dictionary's
 * tables first, and so may return OUT_OF_MEMORY. */
#ifndef FP_CHUNK_DECODE_H
#define FP_CHUNK_DECODE_H

#include "chunk.h"
#include "column_dict.h"
#include "sidecar.h"

/* A chunk ready to be read. */
typedef struct fp_chunk_view {
    const fp_chunk *chunk;
    const uint8_t *block;       /* the block's first byte; all block_bytes are there */
    fp_column_dict *dictionary; /* NULL for a stored chunk */
    uint64_t number;            /* of the chunk in its column, for messages */
    int bulk;                   /* as fp_decode_codes takes it */
    const fp_decode_watch
        *watch;     /* of bytes that fp_chunk_decode_bytes decodes in place; NULL: none */
    uint64_t spare; /* bytes after its output that it may overwrite: the end of an output is slow */
} fp_chunk_view;

/* Where the batches of a chunk begin, as its sidecar says. */
typedef struct fp_batch_starts {
    const uint8_t *block; /* of the chunk; NULL: of none */
    uint64_t number;      /* of the chunk */
    fp_sidecar_reader reader;
    uint64_t batches;
    uint64_t end; /* decoded_bytes */
    double per_byte;
} fp_batch_starts;

/* One decoded batch, kept by callers that decode pieces, since neighbouring pieces mostly share a
 * batch. It serves one column, as long as its blocks stay where they are. */
typedef struct fp_batch_cache {
    uint64_t number; /* of the chunk; UINT64_MAX: empty */
    uint64_t start;  /* bytes[0 .. end - start) are chunk bytes start .. end */
    uint64_t end;
    /* Of the last byte that was expected: its chunk, UINT64_MAX for none, and its batch. */
    uint64_t expected_number, expected_from, expected_batch;
    fp_batch_starts starts;
    uint8_t bytes[FP_LARGEST_BATCH];
} fp_batch_cache;

static inline void fp_batch_cache_empty(fp_batch_cache *cache) {
    cache->number = UINT64_MAX; /* 16 KiB of bytes need not be cleared for one short row */
    cache->start = cache->end = 0;
    cache->expected_number = UINT64_MAX;
    cache->starts.block = NULL;
}

/* CORRUPT, with chunk number and file offset in the message. `section` is an FP_SECTION_ constant,
 * `offset` counts from the section's first byte. */
fastpair_status fp_chunk_fault(const fp_chunk_view *view, int section, uint64_t offset,
                               const char *what, fastpair_error *error);

/* Compares every section with its checksum. */
fastpair_status fp_chunk_verify_checksums(const fp_chunk_view *view, fastpair_error *error);

/* Decodes chunk bytes from .. to (at most decoded_bytes) to out[0 .. to - from). Batches that are
 * wanted in part go through the cache. */
fastpair_status fp_chunk_decode_bytes(const fp_chunk_view *view, uint64_t from, uint64_t to,
                                      uint8_t *out, fp_batch_cache *cache, fastpair_error *error);

/* Says that chunk bytes from `from` on are decoded next but one: finds their batch, and has their codes
 * fetched meanwhile. */
void fp_chunk_expect_bytes(const fp_chunk_view *view, uint64_t from, fp_batch_cache *cache);

/* The least of 16, 32 and 64 bytes that longer tokens are rare, as fp_code_range wants to know. */
uint32_t fp_chunk_rarely_above(const fp_chunk *chunk);

/* The first batch start at or after `position` (decoded_bytes if there is none): a place to cut
 * work so that no batch is decoded twice. At most FP_LARGEST_BATCH after `position`, or the sidecar
 * is corrupt. For stored chunks `position` itself. */
fastpair_status fp_chunk_next_batch(const fp_chunk_view *view, uint64_t position, uint64_t *start,
                                    fastpair_error *error);

/* Row starts of block `block` of 256 rows: starts[0 .. *rows], in chunk bytes. They never decrease,
 * stay within decoded_bytes, and end where the next block begins. */
fastpair_status fp_chunk_row_starts(const fp_chunk_view *view, uint64_t block, uint64_t *starts,
                                    uint32_t *rows, fastpair_error *error);

/* The chunk bytes of one row (below rows): from .. to, within decoded_bytes. Cheaper than its
 * block's starts. */
fastpair_status fp_chunk_row(const fp_chunk_view *view, uint64_t row, uint64_t *from, uint64_t *to,
                             fastpair_error *error);

/* Where row `row` (0 .. rows, the last being the end) begins in the chunk's bytes. */
fastpair_status fp_chunk_row_start(const fp_chunk_view *view, uint64_t row, uint64_t *start,
                                   fastpair_error *error);

/* 1 if the row is null. */
static inline int fp_chunk_row_is_null(const fp_chunk_view *view, uint64_t row) {
    /* A view has a chunk. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    if (!view->chunk->has_validity) return 0;
    return !(fp_chunk_section(view->chunk, view->block, FP_SECTION_VALIDITY)[row / 8] >> (row % 8) &
             1);
}

/* Counts the nulls among rows first .. first + count. If `out` is not NULL, also sets the bits of
 * valid rows from bit `out_bit` on; the bits must be 0 before, and no other thread may write bytes
 * that hold them. */
uint64_t fp_chunk_validity(const fp_chunk_view *view, uint64_t first, uint64_t count, uint8_t *out,
                           uint64_t out_bit);

#endif
