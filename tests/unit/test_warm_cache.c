/* test_warm_cache.c - single rows, lists and ranges of one cold column, from more threads than chunks
 * are kept: everybody gets the right rows, and memory stays bounded by threads and chunks. */
#include "convert.h"
#include "counting.h"
#include "frames.h"
#include "warm_cache.h"

#include <pthread.h>

enum { THREADS = 12 };

typedef struct user {
    const fastpair_column *column;
    const shape *s;
    uint32_t reads;
    uint64_t random, wrong;
} user;

static void *use(void *context) {
    user *u = context;
    const shape *s = u->s;
    uint8_t *bytes = malloc(s->out_size + 1);
    uint64_t offsets[301], listed[20];
    for (uint32_t i = 0; i < u->reads; i++) {
        uint64_t row = check_random(&u->random) % s->rows.rows, size = 0;
        int is_null = 0;
        if (i % 8 == 7) {
            for (int k = 0; k < 20; k++) listed[k] = check_random(&u->random) % s->rows.rows;
            fastpair_destination to = to_memory(bytes, s->out_size, offsets, 64, NULL);
            u->wrong += fastpair_column_decode_listed(u->column, listed, 20, &to, NULL) != 0;
            for (int k = 0; k < 20; k++)
                u->wrong += memcmp(bytes + offsets[k], s->out_bytes + s->out_offsets[listed[k]],
                                   offsets[k + 1] - offsets[k]) != 0;
        } else if (i % 8 == 5) {
            uint64_t count = s->rows.rows - row < 300 ? s->rows.rows - row : 300;
            uint8_t validity[40];
            fastpair_destination to = to_memory(bytes, s->out_size, offsets, 64, validity);
            u->wrong += fastpair_column_decode(u->column, row, count, &to, NULL) != 0;
            u->wrong += memcmp(bytes, s->out_bytes + s->out_offsets[row],
                               s->out_offsets[row + count] - s->out_offsets[row]) != 0;
            for (uint64_t k = 0; k < count; k++)
                u->wrong += (validity[k / 8] >> (k % 8) & 1) != verify_valid(s, row + k);
        } else {
            u->wrong += fastpair_column_decode_row(u->column, row, bytes, s->out_size, &size,
                                                   &is_null, NULL) != 0;
            u->wrong += size != s->out_offsets[row + 1] - s->out_offsets[row] ||
                        memcmp(bytes, s->out_bytes + s->out_offsets[row], size) != 0 ||
                        is_null == verify_valid(s, row);
        }
    }
    free(bytes);
    return NULL;
}

/* The most that one chunk takes while it is made warm. */
static uint64_t largest_peak(const fastpair_column *column) {
    uint64_t most = 0;
    for (uint64_t i = 0; i < column->totals.chunks; i++) {
        uint64_t peak = fp_warm_peak(chunk_of(column, i), 16);
        if (peak > most) most = peak;
    }
    return most;
}

static void many_threads(uint32_t reads) {
    shape s;
    shape_make(&s, SHAPE_PREFIXES, 4, &(shape_options){.bytes = 600000, .null_percent = 5});
    fastpair_compress_options o = {.struct_size = sizeof o, .cold = 1, .chunk_bytes = 60000};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    CHECK_EQ(fastpair_compress(&s.rows, &o, &image, &size, &error), FASTPAIR_OK);
    CHECK(count_cold(image, size) > 2 * FP_WARM_KEPT);
    counting memory;
    counting_start(&memory);
    fastpair_open_options open = {.struct_size = sizeof open, .allocator = counting_hooks(&memory)};
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(image, size, &open, &column, &error), FASTPAIR_OK);
    uint64_t opened = memory.live_bytes, each = largest_peak(column);
    pthread_t threads[THREADS];
    user users[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        users[i] = (user){column, &s, reads, i + 1, 0};
        if (pthread_create(&threads[i], NULL, use, &users[i])) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ(users[i].wrong, 0);
    }
    /* Two chunks per thread, as lists hold the one before, and those that are kept; tables besides. */
    CHECK(memory.peak_bytes <= opened + (2 * THREADS + FP_WARM_KEPT) * each + (8u << 20));
    CHECK(memory.live_bytes <= opened + FP_WARM_KEPT * each + (8u << 20));
    uint64_t kept = 0;
    for (uint32_t i = 0; i < FP_WARM_KEPT; i++) {
        kept += column->warm->kept[i] != NULL;
        if (column->warm->kept[i]) CHECK_EQ(column->warm->kept[i]->users, 0);
    }
    CHECK_EQ(kept, FP_WARM_KEPT);
    fastpair_column_close(column);
    CHECK_EQ(memory.live, 0);
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* The chunk that was used last is found again, and the one used longest ago goes first. */
static void order(void) {
    shape s;
    shape_make(&s, SHAPE_PREFIXES, 4, &(shape_options){.bytes = 60000, .null_percent = 5});
    fastpair_compress_options o = {.struct_size = sizeof o, .cold = 1, .chunk_bytes = 6000};
    uint8_t *image = NULL, *row = malloc(s.out_size);
    uint64_t size = 0, got;
    CHECK_EQ(fastpair_compress(&s.rows, &o, &image, &size, NULL), FASTPAIR_OK);
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(image, size, NULL, &column, NULL), FASTPAIR_OK);
    CHECK(count_cold(image, size) == column->totals.chunks && column->totals.chunks > 6);
    static const uint64_t asked[] = {0, 1, 2, 3, 0, 4, 0, 5};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        CHECK_EQ(fastpair_column_decode_row(column, column->starts.row[asked[i]], row, s.out_size,
                                            &got, NULL, NULL),
                 FASTPAIR_OK);
    static const int expected[] = {1, 0, 0, 1, 1, 1}; /* 1 and 2 were used longest ago */
    for (uint64_t chunk = 0; chunk < 6; chunk++) {
        int found = 0;
        for (uint32_t i = 0; i < FP_WARM_KEPT; i++)
            found |= column->warm->kept[i] && column->warm->kept[i]->number == chunk;
        CHECK_EQ(found, expected[chunk]);
    }
    fastpair_column_close(column);
    fastpair_free(NULL, image);
    free(row);
    shape_free(&s);
}

int main(void) {
    if (!frames_available()) return only_refusals();
    many_threads(check_scaled(400));
    order();
    return check_done();
}
