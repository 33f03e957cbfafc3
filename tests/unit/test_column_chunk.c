/* test_column_chunk.c - a column of a million chunks opens without a look at any of them, in little
 * time and memory; a chunk's header is read and found to lie when the chunk is first used.
 *
 * The image is mapped, and every page that holds chunks alone is made unreadable: whoever touches
 * one dies. Pages of single chunks are opened for the tests that may read them. */
#include "check.h"
#include "column.h"
#include "counting.h"
#include "forge.h"
#include "guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(GUARD_BY_SANITIZER) || defined(__SANITIZE_THREAD__)
enum { CHUNKS = 50000 };
#else
enum { CHUNKS = 1000000 };
#endif
enum { BLOCK = 384, FIRST = 64, BOUNDS = 8 + 136 * CHUNKS };

/* Chunks that tests look at, far from each other. */
#define SOME(n) ((uint64_t)(n)*CHUNKS / 10 + 7)

typedef struct image {
    uint8_t *data;
    uint64_t size, footer, bounds; /* the last: where bounds of 64 bytes begin */
    uint8_t chunk[BLOCK];          /* each chunk: one empty row, stored */
} image;

/* The pages that hold bounds alone. */
static void protect_bounds(const image *m, int how) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = (m->bounds + page - 1) / page * page;
    uint64_t last = (m->bounds + BOUNDS) / page * page;
    if (mprotect(m->data + first, last - first, how)) abort();
}

static void image_make(image *m) {
    uint32_t length = 0;
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_chunk one = forge_stored_chunk("", 0, &(forge_rows){&length, NULL, 1});
    forge_add_chunk(&f, &one);
    forge_finish(&f);
    CHECK_EQ(f.file.size, FIRST + BLOCK + 112 + 32 + 32);
    m->footer = FIRST + (uint64_t)CHUNKS * BLOCK;
    m->bounds = m->footer + 112 + 32ull * CHUNKS + 32;
    m->size = m->bounds + BOUNDS + 32;
    m->data = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->data == MAP_FAILED) abort();
    memcpy(m->chunk, f.file.data + FIRST, BLOCK);
    memcpy(m->data, f.file.data, FIRST);
    uint8_t *footer = m->data + m->footer, *entries = footer + 112;
    memcpy(footer, f.file.data + FIRST + BLOCK, 112);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        forge_put(entries + 32 * i, FIRST + i * BLOCK, 8);
        entries[32 * i + 8] = BLOCK & 255, entries[32 * i + 9] = BLOCK >> 8;
        entries[32 * i + 16] = 1; /* row */
    }
    forge_put(footer + 8, m->size - 32 - m->footer, 8), forge_put(footer + 24, CHUNKS, 8);
    forge_put(footer + 32, CHUNKS, 8), forge_put(footer + 68, 1, 4);
    uint8_t *part = entries + 32ull * CHUNKS, *bounds = m->data + m->bounds;
    forge_put(bounds, 64, 4);
    for (uint64_t i = 0; i < CHUNKS; i++) bounds[8 + 136 * i] = 1; /* an empty row */
    forge_put(part, 3, 4), forge_put(part + 8, m->bounds - m->footer, 8);
    forge_put(part + 16, BOUNDS, 8), forge_put(part + 24, forge_checksum(bounds, BOUNDS), 8);
    forge_put(footer + 72, forge_checksum(entries, 32ull * CHUNKS + 32), 8);
    forge_put(footer + 104, forge_checksum(footer, 104), 8);
    uint8_t *trailer = m->data + m->size - 32;
    memcpy(trailer, f.file.data + f.file.size - 32, 32);
    forge_put(trailer, m->footer, 8), forge_put(trailer + 8, m->size, 8);
    forge_put(trailer + 16, forge_checksum(trailer, 16), 8);
    free(f.file.data), free(f.entries[0].data), free(f.entries[1].data);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), last = m->footer / page * page;
    if (mprotect(m->data + page, last - page, PROT_NONE)) abort();
    protect_bounds(m, PROT_NONE);
}

/* Makes the pages of a chunk readable and puts a header there. Returns the chunk's bytes. */
static uint8_t *put_chunk(const image *m, uint64_t number) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = FIRST + number * BLOCK;
    uint8_t *from = m->data + at / page * page,
            *to = m->data + (at + BLOCK + page - 1) / page * page;
    if (mprotect(from, (size_t)(to - from), PROT_READ | PROT_WRITE)) abort();
    memcpy(m->data + at, m->chunk, BLOCK);
    return m->data + at;
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void open_untouched(const image *m) {
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        fastpair_column *column = NULL;
        counting memory;
        counting_start(&memory);
        fastpair_open_options options = {.struct_size = sizeof options,
                                         .allocator = counting_hooks(&memory)};
        double begin = cpu_seconds();
        CHECK_EQ(fastpair_column_open(m->data, m->size, &options, &column, NULL), FASTPAIR_OK);
        double took = cpu_seconds() - begin;
        if (took < best) best = took;
        CHECK(memory.peak_bytes <= 17ull * CHUNKS);
        fastpair_column_totals totals = {.struct_size = sizeof totals};
        fastpair_chunk_info info = {.struct_size = sizeof info};
        uint64_t found = 0;
        CHECK_EQ(fastpair_column_get_totals(column, &totals, NULL), FASTPAIR_OK);
        CHECK(totals.rows == CHUNKS && totals.chunks == CHUNKS &&
              totals.compressed_bytes == m->size);
        CHECK_EQ(fastpair_column_get_chunk(column, SOME(7), &info, NULL), FASTPAIR_OK);
        CHECK(info.first_row == SOME(7) && info.rows == 1 && info.decoded_bytes == 0);
        CHECK(info.file_offset == FIRST + SOME(7) * BLOCK && info.file_bytes == BLOCK);
        CHECK_EQ(fastpair_column_find_chunk(column, SOME(1), &found, NULL), FASTPAIR_OK);
        CHECK_EQ(found, SOME(1));
        fastpair_column_close(column);
        CHECK_EQ(memory.live, 0);
    }
    printf("opened in %.1f ms\n", best * 1e3);
#if defined(__OPTIMIZE__)
    CHECK(best < 0.06); /* 15 on an idle core; reading every header took 300 */
#endif
}

/* Bounds are checked once, when they are first asked for; the chunks stay untouched. */
static void use_bounds(const image *m) {
    fastpair_column *column = NULL;
    fastpair_error error;
    CHECK_EQ(fastpair_column_open(m->data, m->size, NULL, &column, NULL), FASTPAIR_OK);
    protect_bounds(m, PROT_READ);
    double begin = cpu_seconds(), first = 0;
    uint64_t left_out = 0;
    for (uint64_t i = 0; i < CHUNKS; i++) {
        int may = 1;
        if (fastpair_column_may_hold(column, i, FASTPAIR_ROW_EQUAL, "x", 1, &may, &error)) break;
        if (i == 0) first = cpu_seconds() - begin;
        left_out += !may;
    }
    CHECK_EQ(left_out, CHUNKS);
    printf("bounds: %.1f ms for the first chunk, %.1f ms for all others\n", first * 1e3,
           (cpu_seconds() - begin - first) * 1e3);
    fastpair_column_close(column);
}

/* One row touches one chunk; neighbours may share its pages, so they are far apart. */
static void use_some(const image *m) {
    fastpair_column *column = NULL;
    fastpair_error error;
    uint8_t byte;
    uint64_t size = 9, bytes = 9;
    int is_null = 9;
    fastpair_destination to = {.struct_size = sizeof to, .bytes = &byte};
    fastpair_chunk_header header = {.struct_size = sizeof header};
    CHECK_EQ(fastpair_column_open(m->data, m->size, NULL, &column, NULL), FASTPAIR_OK);
    put_chunk(m, SOME(5));
    CHECK_EQ(fastpair_column_decode_row(column, SOME(5), &byte, 1, &size, &is_null, &error),
             FASTPAIR_OK);
    CHECK(size == 0 && is_null == 0);
    CHECK_EQ(fastpair_column_decode(column, SOME(5), 1, &to, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_validate_rows(column, SOME(5), 1, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_chunk_header(column, SOME(5), &header, &error), FASTPAIR_OK);
    CHECK(header.codec == FASTPAIR_CODEC_STORED && header.dictionary == FASTPAIR_NO_DICTIONARY);

    /* A header that is damaged, and one that says other than the footer: both found at first use,
     * by every call, with the place. */
    uint64_t damaged = FIRST + SOME(6) * BLOCK, lying = FIRST + SOME(7) * BLOCK;
    put_chunk(m, SOME(6))[24] ^= 2;
    uint8_t *lie = put_chunk(m, SOME(7));
    lie[24] = 2, forge_put(lie + 312, forge_checksum(lie, 312), 8);
    for (int turn = 0; turn < 2; turn++) {
        uint64_t row = turn ? SOME(7) : SOME(6), where = turn ? lying : damaged + 312;
        size = 9, bytes = 9, is_null = 9;
        to.nulls = 9;
        /* Rows up to the end of a chunk are measured by the footer. */
        CHECK_EQ(fastpair_column_rows_size(column, row, 1, &bytes, &error), FASTPAIR_OK);
        CHECK_EQ(bytes, 0);
        CHECK_EQ(fastpair_column_decode_row(column, row, &byte, 1, &size, &is_null, &error),
                 FASTPAIR_ERROR_CORRUPT);
        CHECK(error.position == where && size == 0 && is_null == 0);
        CHECK_EQ(fastpair_column_decode(column, row, 1, &to, &error), FASTPAIR_ERROR_CORRUPT);
        CHECK(error.position == where && to.nulls == 0);
        bytes = 9, to.nulls = 9;
        CHECK_EQ(fastpair_column_listed_size(column, &row, 1, &bytes, &error),
                 FASTPAIR_ERROR_CORRUPT);
        CHECK(error.position == where && bytes == 0);
        CHECK_EQ(fastpair_column_decode_listed(column, &row, 1, &to, &error),
                 FASTPAIR_ERROR_CORRUPT);
        CHECK(error.position == where && to.nulls == 0);
        CHECK_EQ(fastpair_column_validate_rows(column, row, 1, &error), FASTPAIR_ERROR_CORRUPT);
        CHECK_EQ(error.position, where);
        header.nulls = header.codes = 9;
        CHECK_EQ(fastpair_column_get_chunk_header(column, row, &header, &error),
                 FASTPAIR_ERROR_CORRUPT);
        CHECK(error.position == where && header.codes == 0 && header.nulls == 0);
    }
    fastpair_column_close(column);
}

/* Threads that meet at the same headers get the same one. */
typedef struct racer {
    const fastpair_column *column;
    const fp_chunk *seen[64];
    uint64_t wrong;
} racer;

static void *race(void *context) {
    racer *r = context;
    for (uint64_t i = 0; i < 64; i++) {
        fp_chunk_view view;
        r->wrong += fp_column_chunk(r->column, SOME(8) + i * 3, &view, NULL) != FASTPAIR_OK;
        r->seen[i] = view.chunk;
        r->wrong +=
            view.chunk->rows != 1 || view.chunk->position != FIRST + (SOME(8) + i * 3) * BLOCK;
    }
    return NULL;
}

static void race_for_headers(const image *m) {
    for (uint64_t i = 0; i < 64 * 3; i++) put_chunk(m, SOME(8) + i);
    for (int turn = 0; turn < 20; turn++) {
        fastpair_column *column = NULL;
        pthread_t threads[4];
        racer racers[4];
        CHECK_EQ(fastpair_column_open(m->data, m->size, NULL, &column, NULL), FASTPAIR_OK);
        for (int i = 0; i < 4; i++) {
            racers[i] = (racer){.column = column};
            if (pthread_create(&threads[i], NULL, race, &racers[i])) abort();
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
            CHECK_EQ(racers[i].wrong, 0);
            CHECK(!memcmp(racers[i].seen, racers[0].seen, sizeof racers[0].seen));
        }
        fastpair_column_close(column);
    }
}

/* Null rows and codes are summed up by whoever reads all headers. */
static void lying_totals(void) {
    for (int field = 0; field < 2; field++) {
        uint64_t random = 5;
        forge_bytes made = forge_plain_column(&random);
        uint64_t footer = forge_block(made.data, made.size, "FPFT", 0),
                 where = footer + 40 + 8u * field;
        forge_put(made.data + where, forge_get(made.data + where, 8) + (field ? -1ull : 1ull), 8);
        forge_reseal(made.data, made.size);
        fastpair_column *column = NULL;
        fastpair_error error;
        fastpair_column_info info = {.struct_size = sizeof info};
        CHECK_EQ(fastpair_column_open(made.data, made.size, NULL, &column, &error), FASTPAIR_OK);
        CHECK_EQ(fastpair_column_get_info(column, &info, &error), FASTPAIR_ERROR_CORRUPT);
        CHECK(error.position == where && info.rows == 0);
        CHECK_EQ(fastpair_column_validate(column, &error), FASTPAIR_ERROR_CORRUPT);
        CHECK_EQ(error.position, where);
        fastpair_column_close(column);
        free(made.data);
    }
}

int main(void) {
    image m;
    image_make(&m);
    open_untouched(&m);
    use_bounds(&m);
    use_some(&m);
    race_for_headers(&m);
    lying_totals();
    munmap(m.data, m.size);
    return check_done();
}
