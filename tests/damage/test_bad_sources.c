/* test_bad_sources.c - sources of ranges that fail, give too few or too many bytes, or other bytes than
 * before, at each request in turn: an error that names the range, or the right rows; never anything else.
 * The same column works once its source does. Also files that are replaced while they are open, and
 * sources that threads share. */
#include "convert.h"
#include "counting.h"
#include "fastpair_arrow.h"
#include "frames.h"
#include "probe.h"

enum { THREADS = 6 };

typedef struct file {
    const char *name;
    shape s;
    uint8_t *image;
    uint64_t size;
    fp_source_sizes sizes;
} file;

static void make_file(file *of, const char *name, shape_kind kind, uint64_t bytes,
                      const fastpair_compress_options *options) {
    fastpair_error error;
    of->name = name;
    of->sizes = (fp_source_sizes){200, 4096, 3000};
    shape_make(&of->s, kind, 9, &(shape_options){.bytes = bytes, .null_percent = 5});
    verify_ok(fastpair_compress(&of->s.rows, options, &of->image, &of->size, &error), &error, name);
}

/* One call after the other; each gives the rows of the shape or fails. Returns the first failure. Counts
 * rows that are wrong; checks are not for threads. */
static fastpair_status use(const file *of, fastpair_column *column, uint64_t *wrong,
                           fastpair_error *error) {
    const uint64_t rows = of->s.rows.rows;
    uint64_t listed[] = {rows - 1, 0, rows / 2}, size = 0, bytes_listed = 0;
    uint8_t *bytes = malloc(of->s.out_size + 1), *validity = malloc(rows / 8 + 1);
    uint64_t *offsets = malloc((rows + 1) * 8);
    fastpair_destination to = to_memory(bytes, of->s.out_size, offsets, 64, validity);
    fastpair_status status =
        fastpair_column_decode_row(column, rows / 2, bytes, of->s.out_size, &size, NULL, error);
    if (!status)
        *wrong += size != of->s.out_offsets[rows / 2 + 1] - of->s.out_offsets[rows / 2] ||
                  memcmp(bytes, of->s.out_bytes + of->s.out_offsets[rows / 2], size);
    if (!status) status = fastpair_column_listed_size(column, listed, 3, &bytes_listed, error);
    if (!status) status = fastpair_column_decode_listed(column, listed, 3, &to, error);
    if (!status) status = fastpair_column_decode(column, 1, rows - 2, &to, error);
    if (!status) status = fastpair_column_decode(column, 0, rows, &to, error);
    if (!status)
        *wrong += memcmp(bytes, of->s.out_bytes, of->s.out_size) ||
                  memcmp(offsets, of->s.out_offsets, (rows + 1) * 8) ||
                  memcmp(validity, of->s.out_validity, (rows + 7) / 8) || to.nulls != of->s.nulls;
    free(bytes), free(validity), free(offsets);
    struct ArrowArray array = {0};
    struct ArrowSchema schema = {0};
    if (!status)
        status = fastpair_column_export_array(column, 0, rows, NULL, &schema, &array, error);
    if (schema.release) schema.release(&schema);
    if (array.release) array.release(&array);
    fastpair_column_info info = {.struct_size = sizeof info};
    if (!status) status = fastpair_column_get_info(column, &info, error);
    if (!status) status = fastpair_column_validate(column, error);
    return status;
}

static void check_failure(const ranged *from, fastpair_status status, const fastpair_error *error) {
    CHECK_EQ(error->status, status);
    CHECK(error->position < from->size);
    if (from->fault == RANGED_LIES) {
        CHECK(status == FASTPAIR_ERROR_CORRUPT || status == FASTPAIR_ERROR_UNSUPPORTED);
    } else {
        CHECK_EQ(status, FASTPAIR_ERROR_IO);
        CHECK(strstr(error->message, "bytes ") != NULL && strstr(error->message, " .. ") != NULL);
    }
}

/* Request after request goes wrong: once, or each one from there on. */
static void each_request(const file *of, ranged_fault fault, uint32_t threads) {
    unsigned long long before = check_failed;
    uint64_t failures = 0;
    for (uint64_t n = 0;; n++) {
        counting memory;
        counting_start(&memory);
        ranged from;
        ranged_start(&from, of->image, of->size);
        from.fault = fault, from.fault_at = n, from.faults = n % 2 ? 1 : UINT64_MAX;
        fastpair_range_source source = ranged_source(&from, 1 + threads % 3);
        fastpair_open_options options = {.struct_size = sizeof options,
                                         .threads = threads,
                                         .allocator = counting_hooks(&memory)};
        fastpair_error error = {.status = FASTPAIR_OK};
        fastpair_column *column = NULL;
        fastpair_status status =
            fp_column_open_sized(&source, &of->sizes, &options, &column, &error);
        if (status) CHECK(column == NULL);
        int lied_early = fault == RANGED_LIES && n < from.requests;
        uint64_t wrong = 0;
        if (!status) status = use(of, column, &wrong, &error);
        if (status) check_failure(&from, status, &error);
        failures += status != FASTPAIR_OK;
        /* Nothing wrong is kept, but for the ends of a file that lied when it was opened. */
        from.fault_at = UINT64_MAX;
        if (status && column && !lied_early)
            verify_ok(use(of, column, &wrong, &error), &error, "afterwards");
        CHECK_EQ(wrong, 0);
        fastpair_column_close(column);
        CHECK_EQ(memory.live, 0);
        uint64_t requests = from.requests;
        ranged_end(&from);
        if (requests <= n || check_failed > before + 10) break;
    }
    CHECK(failures > 5);
    verify_note(before, of->name, "bad source");
}

/* The file is replaced after it was opened: by one of other rows, a shorter one, nonsense. */
static void replaced(const file *of, const file *other) {
    for (int how = 0; how < 3; how++) {
        uint64_t size = of->size > other->size ? of->size : other->size;
        uint8_t *bytes = calloc(size, 1);
        memcpy(bytes, of->image, of->size);
        ranged from;
        ranged_start(&from, bytes, size);
        fastpair_range_source source = ranged_source(&from, 2);
        source.file_size = of->size;
        fastpair_column *column = NULL;
        fastpair_error error;
        verify_ok(fp_column_open_sized(&source, &of->sizes, NULL, &column, &error), &error, "open");
        if (how == 0) memcpy(bytes, other->image, other->size);
        if (how == 1) from.size = of->size / 2;
        if (how == 2) memset(bytes, 0x5a, size);
        uint64_t wrong = 0;
        fastpair_status status = use(of, column, &wrong, &error);
        CHECK_EQ(wrong, 0);
        CHECK_EQ(status, how == 1 ? FASTPAIR_ERROR_IO : FASTPAIR_ERROR_CORRUPT);
        fastpair_column_close(column);
        ranged_end(&from);
        free(bytes);
    }
}

/* Sizes that the source does not have, and sources that are none. */
static void refusals(const file *of) {
    ranged from;
    ranged_start(&from, of->image, of->size);
    fastpair_column *column = NULL;
    fastpair_error error;
    static const uint64_t sizes[] = {0, 1, 207, 100000, 1ull << 40, UINT64_MAX / 2, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fastpair_range_source source = ranged_source(&from, 0);
        source.file_size = sizes[i];
        fastpair_status status = fastpair_column_open_source(&source, NULL, &column, &error);
        CHECK(status == FASTPAIR_ERROR_IO || status == FASTPAIR_ERROR_CORRUPT ||
              status == FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK(column == NULL);
    }
    fastpair_range_source source = ranged_source(&from, 65);
    CHECK_EQ(fastpair_column_open_source(&source, NULL, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    source.requests = 1, source.read_at = NULL;
    CHECK_EQ(fastpair_column_open_source(&source, NULL, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    source = ranged_source(&from, 1), source.struct_size = 8;
    CHECK_EQ(fastpair_column_open_source(&source, NULL, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_open_source(NULL, NULL, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    source = ranged_source(&from, 1);
    CHECK_EQ(fastpair_column_open_source(&source, NULL, NULL, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    ranged_end(&from);
}

typedef struct user {
    const file *of;
    fastpair_column *column;
    uint64_t failures, wrong;
} user;

static void *use_often(void *argument) {
    user *u = argument;
    fastpair_error error;
    for (int i = 0; i < 4; i++)
        u->failures += use(u->of, u->column, &u->wrong, &error) != FASTPAIR_OK;
    return NULL;
}

/* Threads share a column, whose source fails now and then. */
static void shared(const file *of, uint64_t faults) {
    ranged from;
    ranged_start(&from, of->image, of->size);
    from.fault_at = 4, from.faults = faults, from.delay = 50;
    fastpair_range_source source = ranged_source(&from, 3);
    fastpair_open_options options = {.struct_size = sizeof options, .threads = 2};
    fastpair_error error;
    user users[THREADS];
    pthread_t threads[THREADS];
    fastpair_column *column = NULL;
    verify_ok(fp_column_open_sized(&source, &of->sizes, &options, &column, &error), &error, "open");
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){of, column, 0, 0};
        CHECK_EQ(pthread_create(&threads[i], NULL, use_often, &users[i]), 0);
    }
    uint64_t failures = 0, wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failures += users[i].failures;
        wrong += users[i].wrong;
    }
    CHECK_EQ(failures != 0, faults != 0);
    verify_ok(use(of, column, &wrong, &error), &error, "afterwards");
    CHECK_EQ(wrong, 0);
    fastpair_column_close(column);
    ranged_end(&from);
}

int main(void) {
    file files[3];
    int count = 2 + frames_available();
    fastpair_compress_options o = {.struct_size = sizeof o,
                                   .codec = FASTPAIR_CODEC_ONPAIR,
                                   .code_bits = 10,
                                   .chunk_bytes = 8000,
                                   .expert = EXPERT(.bound_bytes = 8)};
    make_file(&files[0], "warm", SHAPE_URLS, 60000, &o);
    make_file(&files[1], "other rows", SHAPE_WORDS, 60000, &o);
    o.cold = 1;
    if (count > 2) make_file(&files[2], "cold", SHAPE_WORDS, 60000, &o);
    for (int i = 0; i < count; i += 2)
        for (int fault = RANGED_FAILS; fault <= RANGED_CLAIMS_MORE; fault++)
            for (uint32_t threads = 1; threads < 5; threads += 3)
                each_request(&files[i], (ranged_fault)fault, threads);
    replaced(&files[0], &files[1]);
    refusals(&files[0]);
    for (int i = 0; i < count; i++) shared(&files[i], 0), shared(&files[i], 9);
    for (int i = 0; i < count; i++) {
        fastpair_free(NULL, files[i].image);
        shape_free(&files[i].s);
    }
    return check_done();
}
