/* column.h - an open column: the image and everything parsed from it. Opening reads the file header,
 * the footer and the dictionaries. A chunk's header is read when the chunk is first used. What is
 * kept never changes, but for headers and dictionary tables that are added on first use, so threads
 * share it. */
#ifndef FP_COLUMN_H
#define FP_COLUMN_H

#include "chunk_decode.h"
#include "footer.h"

/* Headers that were used are kept in pages of this many neighbours, each made when the first of them
 * is used. So a column of a million chunks opens without a table of a million headers. */
#define FP_PAGE_CHUNKS 16u

typedef struct fp_chunk_page {
    struct {
        fp_chunk chunk;
        uint32_t state; /* FP_CHUNK_ABSENT, then _COMING, then _KEPT: read atomically */
    } entries[FP_PAGE_CHUNKS];
} fp_chunk_page;

enum { FP_CHUNK_ABSENT, FP_CHUNK_COMING, FP_CHUNK_KEPT };

/* What is kept of the footer's parts, from their first use on (metadata.c): read atomically. */
typedef struct fp_column_parts {
    struct fp_described *described; /* name and pairs; NULL until then */
    uint32_t bounds_are_checked;
    uint32_t is_valid; /* fastpair_column_validate has found no fault */
} fp_column_parts;

struct fastpair_column {
    fp_open_settings settings;
    uint64_t references; /* of all owners: changed atomically */
    const uint8_t
        *image; /* the whole file; mapped, if mapped_bytes is not 0, else the caller's; NULL
                           * if its bytes come from a source */
    uint64_t size;
    size_t mapped_bytes;
    fp_file_header file;
    fp_footer totals;             /* nulls and codes as the footer claims them */
    uint64_t footer_position;     /* chunks end here */
    fp_column_dict *dictionaries; /* totals.dictionaries of them */
    uint32_t *code_bits;          /* of each dictionary */
    fp_chunk_starts starts;
    fp_chunk_page **pages;      /* each NULL until first used, then for good: read atomically */
    struct fp_warm_cache *warm; /* warm_cache.h; NULL if no chunk can be cold */
    fp_column_parts *parts;
    struct fp_column_source *source; /* column_source.h; NULL if `image` has the bytes */
};

static inline int fp_column_is_valid(const fastpair_column *column) {
    return __atomic_load_n(&column->parts->is_valid, __ATOMIC_ACQUIRE) != 0;
}

static inline fastpair_type fp_column_type(const fastpair_column *column) {
    return column->totals.is_text ? FASTPAIR_TYPE_TEXT : FASTPAIR_TYPE_BYTES;
}

/* The footer's first byte. All of it, and the trailer, are there. */
const uint8_t *fp_column_footer(const fastpair_column *column);

/* The chunk that holds a row (below the column's rows). */
uint64_t fp_column_find_chunk(const fastpair_column *column, uint64_t row);

/* What the footer says of chunk `number`, and of a dictionary. */
fp_chunk_entry fp_column_entry(const fastpair_column *column, uint64_t number);
fp_dict_entry fp_column_dict_entry(const fastpair_column *column, uint64_t number);

/* Dictionaries whose blocks come before a file offset. */
uint64_t fp_column_dicts_before(const fastpair_column *column, uint64_t position);

/* Opens dictionary `number`, whose block is at `bytes`. Statuses: those of fp_column_dict_open. */
fastpair_status fp_column_open_dict(const fastpair_column *column, uint64_t number,
                                    const uint8_t *bytes, fp_table_budget *budget,
                                    fastpair_error *error);

/* The header of a chunk if somebody has kept it, else NULL. */
static inline const fp_chunk *fp_column_find_kept(const fastpair_column *column, uint64_t number) {
    fp_chunk_page *page =
        __atomic_load_n(&column->pages[number / FP_PAGE_CHUNKS], __ATOMIC_ACQUIRE);
    uint64_t i = number % FP_PAGE_CHUNKS;
    if (!page || __atomic_load_n(&page->entries[i].state, __ATOMIC_ACQUIRE) != FP_CHUNK_KEPT)
        return NULL;
    return &page->entries[i].chunk;
}

static inline fp_chunk_view fp_column_view(const fastpair_column *column, uint64_t number,
                                           const fp_chunk *chunk) {
    return (fp_chunk_view){.chunk = chunk,
                           .block = column->image ? column->image + chunk->position : NULL,
                           .dictionary =
                               chunk->coded ? &column->dictionaries[chunk->dictionary] : NULL,
                           .number = number};
}

/* fp_column_chunk for a header that nobody has kept. */
fastpair_status fp_column_read_chunk(const fastpair_column *column, uint64_t number,
                                     fp_chunk_view *view, fastpair_error *error);

/* A view of chunk `number`, for its header alone if the column has a source: fp_column_hold (warm_cache.h)
 * brings the block. Its header is parsed and checked on first use, and kept as long as the
 * column: for calls that may come back to the chunk. CORRUPT if the header breaks a rule or
 * contradicts the footer; OUT_OF_MEMORY if it cannot be kept; IO if it cannot
 * be read. */
static inline fastpair_status fp_column_chunk(const fastpair_column *column, uint64_t number,
                                              fp_chunk_view *view, fastpair_error *error) {
    const fp_chunk *chunk = fp_column_find_kept(column, number);
    if (!chunk) return fp_column_read_chunk(column, number, view, error);
    *view = fp_column_view(column, number, chunk);
    return FASTPAIR_OK;
}

/* The same for calls that pass over many chunks: a header that nobody has kept is parsed into
 * *room, to which the view then points. Needs no memory. */
fastpair_status fp_column_pass_chunk(const fastpair_column *column, uint64_t number, fp_chunk *room,
                                     fp_chunk_view *view, fastpair_error *error);

/* CORRUPT if null rows and codes of all chunks are not those of the footer. */
fastpair_status fp_column_check_totals(const fastpair_column *column, uint64_t nulls,
                                       uint64_t codes, fastpair_error *error);

/* The bounds of chunks, as the file has them. */
typedef struct fp_column_bounds {
    const uint8_t *entries; /* one per chunk; NULL: the file has no bounds */
    uint32_t width;         /* K */
} fp_column_bounds;

/* Finds the bounds, and checks all of them when they are first asked for (metadata.c). */
fastpair_status fp_column_find_bounds(const fastpair_column *column, fp_column_bounds *bounds,
                                      fastpair_error *error);

/* Checks all parts of the footer, the gaps between them, and the headers of extra blocks
 * (metadata.c). */
fastpair_status fp_column_check_parts(const fastpair_column *column, fastpair_error *error);

/* Compares the rows of a chunk that is valid with its bounds, and looks for UTF-8 in a text
 * (validate_rows.c). */
fastpair_status fp_column_check_rows(const fastpair_column *column, const fp_chunk_view *view,
                                     fastpair_error *error);

/* Releases the headers that were kept. */
void fp_column_chunks_close(fastpair_column *column);

/* INVALID_ARGUMENT if rows first .. first + count are not all in the column. */
fastpair_status fp_column_check_range(const fastpair_column *column, uint64_t first, uint64_t count,
                                      fastpair_error *error);

/* Checks a chunk's sections from end to end (validate.c). A chunk that passes decodes without error.
 *
 * First what does not depend on the contents: checksums, and gaps. A cold chunk is looked at so as it
 * is. */
fastpair_status fp_chunk_validate_block(const fp_chunk_view *view, fastpair_error *error);

/* Then the contents of a warm chunk: row lengths, validity, and every code and sidecar entry. */
fastpair_status fp_chunk_validate_rows(const fp_chunk_view *view, fastpair_error *error);

#endif
