/* test_compress.c - whatever the rows and the options, every decoder gives the rows back.
 *
 * First every shape with every codec, width and token limit, small; then random shapes with random
 * options of every kind, larger; then the sizes that need one test each. All checking is in
 * verify.h. */
#include "verify.h"

typedef struct setting {
    fastpair_codec codec;
    fastpair_goal goal;
    uint32_t code_bits, max_token;
} setting;

static const char *const codec_names[] = {"auto", "onpair", "fsst12", "stored"};

/* Every codec with every width and token limit it takes. */
static uint32_t all_settings(setting *out) {
    uint32_t n = 0;
    for (uint32_t bits = 9; bits <= 16; bits++)
        for (uint32_t token = 8; token <= 16; token += 8)
            out[n++] = (setting){FASTPAIR_CODEC_ONPAIR, 0, bits, token};
    out[n++] = (setting){FASTPAIR_CODEC_ONPAIR, 0, 0, 0};
    out[n++] = (setting){FASTPAIR_CODEC_FSST12, 0, 0, 0};
    out[n++] = (setting){FASTPAIR_CODEC_FSST12, 0, 12, 8};
    out[n++] = (setting){FASTPAIR_CODEC_STORED, 0, 0, 0};
    for (uint32_t goal = 0; goal < 3; goal++)
        out[n++] = (setting){FASTPAIR_CODEC_AUTO, (fastpair_goal)goal, 0, 0};
    return n;
}
#define MOST_SETTINGS 32

static void describe(char *text, size_t size, const shape *s, const fastpair_compress_options *o) {
    fastpair_expert_options none = {0};
    const fastpair_expert_options *x = o->expert ? o->expert : &none;
    snprintf(text, size,
             "%s | %s goal %d bits %u token %u seed %llu sample %llu chunk %llu batch %u align %u "
             "hot %u "
             "threads %u%s",
             s->name, codec_names[o->codec], (int)o->goal, o->code_bits, o->max_token,
             (unsigned long long)x->seed, (unsigned long long)x->sample_bytes,
             (unsigned long long)o->chunk_bytes, x->batch_codes, x->section_alignment, x->hot_codes,
             o->threads, o->dictionary ? " own dictionary" : "");
}

/* Compresses and verifies; the image must keep the options it was asked for. */
static void round_trip(const shape *s, const fastpair_compress_options *options,
                       verify_effort *effort) {
    unsigned long long before = check_failed;
    fastpair_error error;
    uint8_t *image = NULL;
    uint64_t size = 0;
    if (verify_ok(fastpair_compress(&s->rows, options, &image, &size, &error), &error,
                  "compress")) {
        verify_image(image, size, s, effort);
        fastpair_column *column = NULL;
        fastpair_column_info info = {.struct_size = sizeof info};
        if (fastpair_column_open(image, size, NULL, &column, NULL) == FASTPAIR_OK &&
            fastpair_column_get_info(column, &info, NULL) == FASTPAIR_OK) {
            if (options->codec == FASTPAIR_CODEC_STORED) CHECK_EQ(info.dictionaries, 0);
            if (options->code_bits && info.dictionaries)
                CHECK(info.code_bits <= options->code_bits);
            if (options->max_token && info.dictionaries)
                CHECK_EQ(info.max_token, options->max_token);
            if (info.dictionaries && options->codec != FASTPAIR_CODEC_AUTO && !options->dictionary)
                CHECK_EQ(info.codec, options->codec);
            if (info.chunks > info.stored_chunks)
                CHECK(info.largest_batch > 0 && info.largest_batch <= FP_LARGEST_BATCH);
            /* Incompressible columns are stored: headers and lengths are all they cost. */
            CHECK(info.code_bytes + info.dictionary_bytes + info.sidecar_bytes <=
                      info.decoded_bytes + 4096 * (info.chunks + 1) ||
                  options->dictionary);
        }
        fastpair_column_close(column);
        fastpair_free(&options->allocator, image);
    }
    if (check_failed != before) {
        char text[400];
        describe(text, sizeof text, s, options);
        fprintf(stderr, "  ^ %s\n", text);
    }
}

static void every_shape_and_codec(uint64_t seed) {
    setting settings[MOST_SETTINGS];
    uint32_t count = all_settings(settings);
    for (uint32_t kind = 0; kind < SHAPE_KINDS; kind++) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t random = seed * 7919 + kind * 100 + i;
            shape_options form = {.bytes = 200 + check_random(&random) % 12000};
            if (i % 3 == 1)
                form.null_percent = 20, form.bit_offset = (uint32_t)(check_random(&random) % 70);
            if (i % 3 == 2) form.first_offset = check_random(&random) % 100;
            shape s;
            shape_make(&s, (shape_kind)kind, seed + i, &form);
            fastpair_compress_options options = {.struct_size = sizeof options,
                                                 .codec = settings[i].codec,
                                                 .goal = settings[i].goal,
                                                 .code_bits = settings[i].code_bits,
                                                 .max_token = settings[i].max_token};
            verify_effort effort = {2, 3, 2, i % 4 == 0, random};
            round_trip(&s, &options, &effort);
            shape_free(&s);
        }
    }
}

#define PICK(random, ...)                                                                          \
    ((const uint64_t[]){                                                                           \
        __VA_ARGS__}[check_random(random) %                                                        \
                     (sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))])

/* *expert belongs to the caller, as the options point to it. */
static fastpair_compress_options random_options(uint64_t *random, uint64_t bytes,
                                                fastpair_expert_options *expert) {
    setting settings[MOST_SETTINGS];
    uint32_t count = all_settings(settings);
    setting chosen = settings[check_random(random) % count];
    fastpair_compress_options o = {.struct_size = sizeof o};
    o.codec = chosen.codec, o.goal = chosen.goal, o.code_bits = chosen.code_bits,
    o.max_token = chosen.max_token;
    *expert = (fastpair_expert_options){.struct_size = sizeof *expert};
    o.expert = expert;
    expert->seed = PICK(random, 0, 1, 12345, UINT64_MAX);
    expert->sample_bytes = PICK(random, 0, 0, 1, 1000, 50000);
    o.chunk_bytes = PICK(random, 0, bytes / 2 + 1, bytes / 7 + 1, 4000, 1u << 30);
    if (bytes < 5000 && check_random(random) % 4 == 0)
        o.chunk_bytes = 1 + check_random(random) % 2000; /* the least is 1 KiB */
    expert->batch_codes = (uint32_t)PICK(random, 0, 32, 64, 96, 160, 256, 512, 992, 1024);
    expert->section_alignment = (uint32_t)PICK(random, 0, 64, 4096);
    expert->hot_codes = (uint32_t)PICK(random, 0, 0, 1, 64, 700, 4096, 65536);
    o.threads = (uint32_t)PICK(random, 0, 1, 2, 3, 4);
    return o;
}

static void random_trips(uint64_t seed, uint32_t times, uint64_t most_bytes) {
    for (uint32_t i = 0; i < times; i++) {
        uint64_t random = seed * 104729 + i + most_bytes;
        uint64_t bytes =
            1 + check_random(&random) % (check_random(&random) % 4 ? most_bytes : 2000);
        shape_options form = {.bytes = bytes,
                              .null_percent = (uint32_t)PICK(&random, 0, 0, 1, 50, 100)};
        form.bit_offset = (uint32_t)(check_random(&random) % 130);
        form.first_offset = PICK(&random, 0, 0, 1, 4097);
        form.validity_always = check_random(&random) % 4 == 0;
        shape s;
        shape_make(&s, (shape_kind)(check_random(&random) % SHAPE_KINDS), seed + i, &form);
        fastpair_expert_options expert;
        fastpair_compress_options options = random_options(&random, bytes, &expert);
        verify_effort effort = {4, 4, 3, i % 3 == 0, random};
        round_trip(&s, &options, &effort);
        shape_free(&s);
    }
}

/* Columns compressed with a dictionary trained on something else, before and after export and
 * import. */
static void own_dictionaries(uint64_t seed, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        uint64_t random = seed * 31337 + i;
        fastpair_expert_options expert;
        fastpair_compress_options train = random_options(&random, 20000, &expert);
        if (train.codec == FASTPAIR_CODEC_STORED) train.codec = FASTPAIR_CODEC_ONPAIR;
        shape lesson, s;
        shape_make(&lesson, (shape_kind)(check_random(&random) % SHAPE_KINDS), seed + i,
                   &(shape_options){.bytes = 20000});
        shape_make(&s, (shape_kind)(check_random(&random) % SHAPE_KINDS), seed + i + 1,
                   &(shape_options){.bytes = 1 + check_random(&random) % 30000,
                                    .null_percent = i % 2 * 10});
        fastpair_dictionary *dictionary = NULL, *copy = NULL;
        fastpair_error error;
        uint8_t *data = NULL;
        uint64_t size = 0;
        if (verify_ok(fastpair_dictionary_train(&lesson.rows, &train, &dictionary, &error), &error,
                      lesson.name) &&
            verify_ok(export_dictionary(dictionary, &data, &size, &error), &error, "export") &&
            verify_ok(fastpair_dictionary_open(data, size, NULL, &copy, &error), &error,
                      "import")) {
            fastpair_compress_options options = {.struct_size = sizeof options,
                                                 .threads = 1 + i % 3};
            options.expert = EXPERT(.batch_codes = expert.batch_codes);
            options.chunk_bytes = train.chunk_bytes;
            uint8_t *image[2] = {NULL, NULL}, *again = NULL;
            uint64_t image_size[2] = {0, 0}, again_size = 0;
            for (int k = 0; k < 2; k++) {
                options.dictionary = k ? copy : dictionary;
                verify_ok(fastpair_compress(&s.rows, &options, &image[k], &image_size[k], &error),
                          &error, "compress");
                verify_effort effort = {2, 2, 2, 0, random};
                if (k == 0) round_trip(&s, &options, &effort);
            }
            CHECK_EQ(image_size[0], image_size[1]);
            CHECK(image_size[0] == image_size[1] && image[0] && image[1] &&
                  !memcmp(image[0], image[1], image_size[0]));
            verify_ok(export_dictionary(copy, &again, &again_size, &error), &error, "export again");
            CHECK(again_size == size && again && !memcmp(again, data, size));
            fastpair_free(NULL, image[0]), fastpair_free(NULL, image[1]), free(again);
        }
        free(data);
        fastpair_dictionary_close(dictionary), fastpair_dictionary_close(copy);
        shape_free(&lesson), shape_free(&s);
    }
}

/* One row of 6 MB; a million rows of 0..3 bytes; 17 MB of log lines over several default chunks. */
static void large_columns(uint64_t seed, uint32_t percent) {
    static const struct {
        shape_kind kind;
        uint64_t bytes;
        fastpair_codec codec;
        uint32_t code_bits;
    } cases[] = {{SHAPE_ONE_LONG_ROW, 6u << 20, FASTPAIR_CODEC_ONPAIR, 16},
                 {SHAPE_ONE_LONG_ROW, 6u << 20, FASTPAIR_CODEC_FSST12, 0},
                 {SHAPE_LONG_AND_TINY, 6u << 20, FASTPAIR_CODEC_ONPAIR, 12},
                 {SHAPE_TINY_ROWS, 3u << 19, FASTPAIR_CODEC_AUTO, 0},
                 {SHAPE_RANDOM_BYTES, 4u << 20, FASTPAIR_CODEC_ONPAIR, 12},
                 {SHAPE_LOG_LINES, 17u << 20, FASTPAIR_CODEC_AUTO, 0}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        shape s;
        uint64_t bytes =
            i < 2 ? cases[i].bytes : cases[i].bytes * percent / 100; /* the long row stays long */
        shape_make(&s, cases[i].kind, seed, &(shape_options){.bytes = bytes});
        fastpair_compress_options options = {
            .struct_size = sizeof options, .codec = cases[i].codec, .threads = 2};
        options.code_bits = cases[i].code_bits;
        if (i == 3) options.chunk_bytes = 100000;
        verify_effort effort = {3, 3, 2, 0, seed + i};
        round_trip(&s, &options, &effort);
        shape_free(&s);
    }
}

int main(void) {
    uint64_t seed = verify_seed();
    every_shape_and_codec(seed);
    random_trips(seed, check_scaled(300), 60000);
    random_trips(seed, check_scaled(20), 1500000);
    own_dictionaries(seed, check_scaled(40));
    uint32_t percent = check_scaled(100);
    large_columns(seed, percent > 100 ? 100 : percent);
    return check_done();
}
