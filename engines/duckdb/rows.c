/* rows.c - decoded rows of a column in, a vector of DuckDB out. The library decodes into an Arrow
 * array, and checks text on the way. A vector of DuckDB owns the bytes that its strings point to, and
 * copies each string that is set. The trick: all bytes of a vector's rows lie side by side, so they
 * are set as one string, in one copy, and the strings of the rows then point into that one. */
#include "engine.h"

#include <fastpair_arrow.h>

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- memory that is used again */

enum {
    KEPT_BLOCKS = 4,
    /* Blocks are this much larger than asked for: emit() reads 16 bytes at a row's begin. */
    SLACK = 64
};

typedef struct block {
    size_t size;
    struct block *next;
} block;

/* A thread's own. New memory costs a page fault per 4 KiB, as much as decoding into it. */
typedef struct pool {
    block *kept;
    size_t count;
} pool;

_Static_assert(sizeof(block) == 16, "memory after a block is aligned as the block is");

static void *pool_allocate(void *context, size_t size) {
    pool *from = context;
    for (block **at = &from->kept; *at; at = &(*at)->next) {
        block *found = *at;
        /* A large block for a small need would be missing for the next large one. */
        if (found->size < size || found->size / 4 > size + 4096) continue;
        *at = found->next;
        from->count--;
        return found + 1;
    }
    if (size > SIZE_MAX - SLACK - sizeof(block)) return NULL;
    size_t room = size + size / 4;
    block *made = malloc(sizeof *made + room + SLACK);
    if (!made) return NULL;
    made->size = room;
    return made + 1;
}

static void pool_release(void *context, void *memory) {
    pool *to = context;
    block *kept = (block *)memory - 1;
    kept->next = to->kept;
    to->kept = kept;
    if (++to->count <= KEPT_BLOCKS) return;
    /* The one that was used longest ago goes. */
    block **at = &to->kept;
    while ((*at)->next) at = &(*at)->next;
    free(*at);
    *at = NULL;
    to->count--;
}

static void release_array(fpd_rows *rows) {
    struct ArrowArray *array = rows->array;
    if (array && array->release) array->release(array);
}

void fpd_rows_close(fpd_rows *rows) {
    release_array(rows);
    free(rows->array);
    pool *kept = rows->pool;
    while (kept && kept->kept) {
        block *next = kept->kept->next;
        free(kept->kept);
        kept->kept = next;
    }
    free(kept);
    *rows = (fpd_rows){0};
}

/* ---------------------------------------------------------------- decoding */

int fpd_rows_decode(fpd_rows *rows, const fpd_file *file, uint64_t first, uint64_t count,
                    const uint64_t *list, fpd_fault *fault) {
    if (!rows->array) rows->array = calloc(1, sizeof(struct ArrowArray));
    if (!rows->pool) rows->pool = calloc(1, sizeof(pool));
    if (!rows->array || !rows->pool) return fpd_fail_memory(fault);
    release_array(rows);
    struct ArrowArray *array = rows->array;
    fastpair_arrow_options options = {
        .struct_size = sizeof options,
        .layout = FASTPAIR_ARROW_OFFSETS64,
        .type = FASTPAIR_ARROW_AS_RECORDED,
        .allocator = {.allocate = pool_allocate, .release = pool_release, .context = rows->pool}};
    fastpair_error error;
    fastpair_status status = list ? fastpair_column_export_listed(file->column, list, count,
                                                                  &options, NULL, array, &error)
                                  : fastpair_column_export_array(file->column, first, count,
                                                                 &options, NULL, array, &error);
    if (status != FASTPAIR_OK) return fpd_fail_status(fault, file->path, &error);
    rows->validity = array->null_count ? array->buffers[0] : NULL;
    rows->offsets = array->buffers[1];
    rows->bytes = array->buffers[2];
    return 0;
}

/* The buffers are memory of the pool, which nobody else looks at. */
void fpd_rows_pick(fpd_rows *rows, uint64_t first, const uint64_t *list, uint64_t count) {
    uint8_t *bytes = (uint8_t *)rows->bytes, *validity = (uint8_t *)rows->validity;
    int64_t *offsets = (int64_t *)rows->offsets, end = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = list[i] - first;
        int64_t begin = offsets[row], size = offsets[row + 1] - begin;
        if (size > 0) memmove(bytes + end, bytes + begin, (size_t)size);
        offsets[i] = end;
        end += size;
        if (!validity) continue;
        uint8_t bit = validity[row / 8] >> row % 8 & 1;
        validity[i / 8] = (uint8_t)((validity[i / 8] & ~(1u << i % 8)) | (uint32_t)bit << i % 8);
    }
    offsets[count] = end;
}

/* ---------------------------------------------------------------- vectors */

/* Bytes that a string of DuckDB holds in itself. */
enum { INLINED = 12 };

/* Writes the strings of `count` rows whose bytes are at `from`, and at `to` in the vector's memory.
 * Both are read and written as two words per string: the first has the length and four bytes, the
 * second a pointer, or the rest of a short string; bytes past a short string's end are zero. */
static void write_strings(duckdb_string_t *strings, const int64_t *offsets, uint64_t count,
                          const uint8_t *from, const char *to) {
    int64_t begin = offsets[0];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)(offsets[i] - begin);
        uint32_t length = (uint32_t)(offsets[i + 1] - offsets[i]);
        uint64_t words[2];
        if (length > INLINED) {
            uint32_t head;
            memcpy(&head, from + at, sizeof head);
            words[0] = length | (uint64_t)head << 32;
            words[1] = (uint64_t)(uintptr_t)(to + at);
        } else if (length == 0) {
            /* There may be no byte to read at all. */
            words[0] = words[1] = 0;
        } else {
            uint64_t low, high;
            memcpy(&low, from + at, sizeof low);
            memcpy(&high, from + at + 4, sizeof high);
            /* Shifts by 64 are undefined, hence two for an empty half. */
            uint32_t head = length < 4 ? (uint32_t)low & ((1u << 8 * length) - 1) : (uint32_t)low;
            uint32_t tail = length < 4 ? 0 : length - 4;
            words[0] = length | (uint64_t)head << 32;
            words[1] = tail == 8 ? high : high & ((UINT64_C(1) << 8 * tail) - 1);
        }
        memcpy(&strings[i], words, sizeof words);
    }
}

void fpd_rows_emit(const fpd_rows *rows, uint64_t at, uint64_t count, duckdb_vector vector) {
    const int64_t *offsets = rows->offsets + at;
    const uint8_t *from = rows->bytes + offsets[0];
    uint64_t size = (uint64_t)(offsets[count] - offsets[0]);
    duckdb_string_t *strings = duckdb_vector_get_data(vector);
    const char *to = NULL;
    if (size > INLINED) {
        duckdb_unsafe_vector_assign_string_element_len(vector, 0, (const char *)from, size);
        to = strings[0].value.pointer.ptr;
    }
    write_strings(strings, offsets, count, from, to);
    if (rows->validity) {
        duckdb_vector_ensure_validity_writable(vector);
        memcpy(duckdb_vector_get_validity(vector), rows->validity + at / 8, (count + 7) / 8);
    }
}
