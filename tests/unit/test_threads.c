/* test_threads.c - one column, 64 threads, every call at once; and the same compressed bytes for
 * any number of threads.
 *
 * Made for ThreadSanitizer: nothing here is shared but the column, its image and a dictionary,
 * which the header says may be. Each thread has its own random stream, buffers and counters; the
 * main thread adds up. */
#include "decode.h"
#include "verify.h"

#include <pthread.h>

#define THREADS 64

typedef struct job {
    const fastpair_column *column;
    const shape *s;
    const fastpair_dictionary *dictionary;
    uint64_t random;
    uint32_t rounds;
    uint64_t wrong;
} job;

static uint64_t decode_range(job *j, uint64_t *random, uint8_t *bytes, uint64_t *offsets) {
    const shape *s = j->s;
    uint64_t rows = s->rows.rows, first = check_random(random) % rows,
             count = check_random(random) % (rows - first + 1);
    uint64_t size = s->out_offsets[first + count] - s->out_offsets[first], asked = 0, wrong = 0;
    fastpair_destination to = to_memory(bytes, size, offsets, 64, NULL);
    wrong += fastpair_column_rows_size(j->column, first, count, &asked, NULL) != FASTPAIR_OK ||
             asked != size;
    wrong += fastpair_column_decode(j->column, first, count, &to, NULL) != FASTPAIR_OK;
    wrong += size && memcmp(bytes, s->out_bytes + s->out_offsets[first], size) != 0;
    wrong += offsets[count] != size;
    return wrong;
}

static uint64_t decode_single(job *j, uint64_t *random, uint8_t *bytes) {
    const shape *s = j->s;
    uint64_t row = check_random(random) % s->rows.rows, size = 0, wrong = 0;
    int is_null = -1;
    wrong += fastpair_column_decode_row(j->column, row, bytes, s->out_size, &size, &is_null,
                                        NULL) != FASTPAIR_OK;
    wrong +=
        size != s->out_offsets[row + 1] - s->out_offsets[row] || is_null == verify_valid(s, row);
    wrong += size && memcmp(bytes, s->out_bytes + s->out_offsets[row], size) != 0;
    return wrong;
}

static uint64_t decode_listed(job *j, uint64_t *random, uint8_t *bytes, uint64_t *offsets) {
    uint64_t listed[40], expected = 0, size = 0, wrong = 0;
    for (int i = 0; i < 40; i++) {
        listed[i] = check_random(random) % j->s->rows.rows;
        expected += j->s->out_offsets[listed[i] + 1] - j->s->out_offsets[listed[i]];
    }
    fastpair_destination to = to_memory(bytes, expected, offsets, 64, NULL);
    if (expected > j->s->out_size) return 0;
    wrong += fastpair_column_listed_size(j->column, listed, 40, &size, NULL) != FASTPAIR_OK ||
             size != expected;
    wrong += fastpair_column_decode_listed(j->column, listed, 40, &to, NULL) != FASTPAIR_OK;
    for (int i = 0; i < 40 && !wrong; i++) {
        uint64_t start = j->s->out_offsets[listed[i]],
                 length = j->s->out_offsets[listed[i] + 1] - start;
        wrong += length && memcmp(bytes + offsets[i], j->s->out_bytes + start, length) != 0;
    }
    return wrong;
}

/* A small column compressed with the shared dictionary. */
static uint64_t compress_some(job *j, uint64_t *random) {
    uint64_t first = check_random(random) % j->s->rows.rows, count = j->s->rows.rows - first,
             size = 0;
    fastpair_rows rows = shape_slice(j->s, first, count < 50 ? count : 50);
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .dictionary = j->dictionary};
    uint8_t *image = NULL;
    uint64_t wrong = fastpair_compress(&rows, &options, &image, &size, NULL) != FASTPAIR_OK;
    fastpair_free(NULL, image);
    return wrong;
}

static void *work(void *context) {
    job *j = context;
    uint64_t random = j->random;
    uint8_t *bytes = malloc(j->s->out_size + 1);
    uint64_t *offsets = malloc((j->s->rows.rows + 41) * 8);
    fastpair_column_info info = {.struct_size = sizeof info};
    for (uint32_t i = 0; i < j->rounds; i++) {
        switch (check_random(&random) % 16) {
        case 0: j->wrong += fastpair_column_validate(j->column, NULL) != FASTPAIR_OK; break;
        case 1:
            j->wrong += fastpair_column_get_info(j->column, &info, NULL) != FASTPAIR_OK ||
                        info.rows != j->s->rows.rows;
            break;
        case 2: j->wrong += compress_some(j, &random); break;
        case 3:
        case 4:
        case 5: j->wrong += decode_range(j, &random, bytes, offsets); break;
        case 6:
        case 7: j->wrong += decode_listed(j, &random, bytes, offsets); break;
        default: j->wrong += decode_single(j, &random, bytes); break;
        }
    }
    free(bytes), free(offsets);
    return NULL;
}

static void shared_column(uint64_t seed, fastpair_codec codec, uint32_t bits, uint32_t rounds) {
    shape s;
    shape_make(&s, SHAPE_LOG_LINES, seed, &(shape_options){.bytes = 60000, .null_percent = 7});
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = codec, .code_bits = bits, .chunk_bytes = 9000};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    fastpair_column *columns[3] = {NULL}; /* open for 1, 2 and 3 threads; several jobs share each */
    fastpair_dictionary *dictionary = NULL;
    verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, "compress");
    for (uint32_t i = 0; i < 3; i++) {
        fastpair_open_options open = {.struct_size = sizeof open, .threads = i + 1};
        verify_ok(fastpair_column_open(image, size, &open, &columns[i], &error), &error, "open");
    }
    if (options.codec == FASTPAIR_CODEC_STORED) options.codec = FASTPAIR_CODEC_ONPAIR;
    verify_ok(fastpair_dictionary_train(&s.rows, &options, &dictionary, &error), &error, "train");
    pthread_t threads[THREADS];
    static job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){columns[i % 3], &s, dictionary, seed * 1000 + (uint64_t)i, rounds, 0};
        if (pthread_create(&threads[i], NULL, work, &jobs[i])) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ(jobs[i].wrong, 0);
    }
    for (int i = 0; i < 3; i++) fastpair_column_close(columns[i]);
    fastpair_dictionary_close(dictionary);
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* A column so large that decoding is cut into windows of an odd size, in chunks that no window ends
 * with. Returns how many codes it has. */
static uint64_t many_windows(uint64_t seed, shape_kind kind, fastpair_codec codec,
                             uint64_t column_bytes) {
    shape s;
    shape_make(&s, kind, seed, &(shape_options){.bytes = column_bytes});
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = codec,
                                         .code_bits = codec == FASTPAIR_CODEC_ONPAIR ? 12 : 0,
                                         .chunk_bytes = 700000,
                                         .expert = EXPERT(.sample_bytes = 200000)};
    uint8_t *image = NULL, *bytes = malloc(s.out_size + 1);
    uint64_t size = 0, *offsets = malloc((s.rows.rows + 1) * 8), random = seed;
    fastpair_error error;
    fastpair_column *column = NULL;
    verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, "compress");
    verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, "open");
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        memset(bytes, 0xa5, s.out_size + 1);
        fastpair_destination to = to_memory(bytes, s.out_size, offsets, 64, NULL);
        verify_ok(decode_with(threads, column, 0, s.rows.rows, &to, &error), &error, "decode");
        CHECK(!memcmp(bytes, s.out_bytes, s.out_size) && bytes[s.out_size] == 0xa5);
    }
    job j = {.column = column, .s = &s};
    for (int i = 0; i < 10; i++) CHECK_EQ(decode_range(&j, &random, bytes, offsets), 0);
    fastpair_column_info info = {.struct_size = sizeof info};
    verify_ok(fastpair_column_get_info(column, &info, &error), &error, "info");
    fastpair_column_close(column);
    fastpair_free(NULL, image);
    free(bytes), free(offsets);
    shape_free(&s);
    return info.codes;
}

/* Compressed bytes depend on rows, options and seed, never on threads or on the run. */
static void same_bytes(uint64_t seed, uint64_t column_bytes) {
    static const uint32_t counts[] = {1, 2, 3, 8, 0};
    static const struct {
        fastpair_codec codec;
        uint32_t bits, hot;
    } settings[] = {{FASTPAIR_CODEC_ONPAIR, 16, 0},
                    {FASTPAIR_CODEC_ONPAIR, 12, 256},
                    {FASTPAIR_CODEC_FSST12, 0, 0},
                    {FASTPAIR_CODEC_AUTO, 0, 0},
                    {FASTPAIR_CODEC_STORED, 0, 0}};
    static const shape_kind kinds[] = {SHAPE_WORDS, SHAPE_DRIFT, SHAPE_LONG_AND_TINY};
    for (size_t k = 0; k < 3; k++) {
        shape s;
        shape_make(&s, kinds[k], seed, &(shape_options){.bytes = column_bytes, .null_percent = 3});
        for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
            uint8_t *first = NULL;
            uint64_t first_size = 0;
            for (size_t t = 0; t < 5; t++) {
                fastpair_compress_options options = {.struct_size = sizeof options,
                                                     .codec = settings[i].codec};
                options.code_bits = settings[i].bits;
                options.expert = EXPERT(.seed = seed, .hot_codes = settings[i].hot);
                options.chunk_bytes = 20000, options.threads = counts[t];
                uint8_t *image = NULL;
                uint64_t size = 0;
                fastpair_error error;
                verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error,
                          s.name);
                if (t == 0) {
                    first = image, first_size = size;
                    continue;
                }
                CHECK_EQ(size, first_size);
                CHECK(size == first_size && !memcmp(image, first, size));
                fastpair_free(NULL, image);
            }
            verify_effort effort = {1, 1, 1, 0, seed};
            verify_image(first, first_size, &s, &effort);
            fastpair_free(NULL, first);
        }
        shape_free(&s);
    }
}

int main(void) {
    uint64_t seed = verify_seed();
    uint32_t rounds = check_scaled(40);
    shared_column(seed, FASTPAIR_CODEC_ONPAIR, 16, rounds);
    shared_column(seed, FASTPAIR_CODEC_ONPAIR, 12, rounds);
    shared_column(seed, FASTPAIR_CODEC_FSST12, 0, rounds);
    shared_column(seed, FASTPAIR_CODEC_STORED, 0, rounds);
    /* So many codes, of tokens up to 16 and up to 8 bytes, that other loops decode them if one
     * thread has them all. */
    CHECK(many_windows(seed, SHAPE_LOG_LINES, FASTPAIR_CODEC_ONPAIR, 12000000) >= FP_BULK_CODES);
    CHECK(many_windows(seed, SHAPE_EVEN_LENGTHS, FASTPAIR_CODEC_FSST12, 2400000) >= FP_BULK_CODES);
    same_bytes(seed, check_scaled(150000));
    return check_done();
}
