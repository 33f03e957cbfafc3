/* test_encode_sample.c - samples of rows on the made-up GPU, whose kernels run in the emulator. The
 * sample must be the one that the CPU draws of the same rows, piece by piece, and the dictionary the
 * one that fastpair_dictionary_train makes. Rows that are wrong give a status, and nothing is touched
 * outside the memory that was given. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "encode_device.h"

#include "sample.h"

/* A sample's memory has this many bytes more, which must stay as they are. */
enum { GUARD = 64 };

/* What is taken, and where it goes. */
typedef struct taking {
    fastpair_gpu_sampler *sampler;
    fastpair_gpu_encode_input input;
    fastpair_gpu_sample_sizes sizes;
    fastpair_gpu_block scratch;
    fastpair_gpu_sample sample;
} taking;

static void make_taking(taking *t) {
    t->sizes.struct_size = sizeof t->sizes;
    CHECK_EQ(fastpair_gpu_sampler_sizes(t->sampler, &t->input, &t->sizes, NULL), FASTPAIR_OK);
    t->scratch = make_block(SCRATCH, 0, t->sizes.scratch_bytes);
    free(t->sample.memory);
    t->sample = (fastpair_gpu_sample){.struct_size = sizeof t->sample,
                                      .memory = malloc(t->sizes.sample_bytes + GUARD),
                                      .bytes = t->sizes.sample_bytes};
    if (!t->sample.memory) abort();
    memset(t->sample.memory, 0xee, t->sizes.sample_bytes + GUARD);
}

static fastpair_status take(const taking *t) {
    fake_wish.seed = check_random(&random_state);
    fastpair_status status =
        fastpair_gpu_sampler_take(t->sampler, &t->input, &t->scratch, &t->sample, NULL, NULL);
    const uint8_t *guard = (const uint8_t *)t->sample.memory + t->sizes.sample_bytes;
    for (int i = 0; i < GUARD; i++) CHECK_EQ(guard[i], 0xee);
    return status;
}

static void close_taking(taking *t) {
    free(t->sample.memory);
    fastpair_gpu_sampler_close(t->sampler);
    close_blocks();
    *t = (taking){0};
}

/* The pieces in the caller's memory against those that the CPU draws. */
static void compare_sample(const taking *t, const fastpair_rows *rows,
                           const fastpair_compress_options *options, fastpair_codec codec) {
    fp_settings settings;
    fp_sample wanted;
    fp_gpu_sample_head head;
    CHECK_EQ(fp_settings_resolve(options, &settings, NULL), FASTPAIR_OK);
    if (codec) settings.choice = (fp_codec_choice){codec, 12, 16};
    CHECK_EQ(fp_sample_open(rows, fp_dictionary_cap(&settings), settings.seed, &settings.allocator,
                            &wanted, NULL),
             FASTPAIR_OK);
    memcpy(&head, t->sample.memory, sizeof head);
    CHECK_EQ(head.status, 0);
    CHECK_EQ(head.column_bytes, wanted.column_bytes);
    CHECK_EQ(head.size, wanted.size);
    CHECK_EQ(head.pieces, wanted.pieces);
    const uint8_t *bytes = (const uint8_t *)t->sample.memory + sizeof head;
    const uint8_t *lengths = bytes + (head.cap + 15) / 16 * 16;
    if (head.size == wanted.size && head.pieces == wanted.pieces) {
        CHECK(!memcmp(bytes, wanted.bytes, wanted.size));
        for (uint64_t i = 0; i < wanted.pieces; i++)
            CHECK_EQ(lengths[2 * i] | lengths[2 * i + 1] << 8, wanted.lengths[i]);
    }
    fp_sample_close(&wanted, &settings.allocator);
}

static void compare_dictionaries(const fastpair_dictionary *one, const fastpair_dictionary *other) {
    uint64_t size = fastpair_dictionary_export_size(one), got = 0;
    CHECK_EQ(fastpair_dictionary_export_size(other), size);
    uint8_t *exported[2] = {malloc(size), malloc(size)};
    CHECK_EQ(fastpair_dictionary_export_into(one, exported[0], size, &got, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_dictionary_export_into(other, exported[1], size, &got, NULL), FASTPAIR_OK);
    CHECK(!memcmp(exported[0], exported[1], size));
    free(exported[0]);
    free(exported[1]);
}

/* Trains both ways. */
static void check_rows(const shape *s, const fastpair_compress_options *options,
                       const encode_way *way) {
    taking t = {0};
    fastpair_dictionary *wanted = NULL, *trained = NULL;
    fastpair_error error = {0};
    CHECK_EQ(fastpair_dictionary_train(&s->rows, options, &wanted, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_sampler_open(&fake.gpu, options, &t.sampler, NULL), FASTPAIR_OK);
    t.input = place_rows(&s->rows, 0, s->rows.rows, way);
    uint32_t rounds = 0;
    for (fastpair_status status = FASTPAIR_OK; !status && !trained; rounds++) {
        make_taking(&t);
        CHECK_EQ(take(&t), FASTPAIR_OK);
        if (!rounds) compare_sample(&t, &s->rows, options, FASTPAIR_CODEC_AUTO);
        status = fastpair_gpu_sampler_train(t.sampler, &t.sample, &trained, &error);
        CHECK_EQ(status, FASTPAIR_OK);
        if (status) fprintf(stderr, "  %s: %s\n", s->name, error.message);
    }
    CHECK_EQ(rounds, options->codec == FASTPAIR_CODEC_AUTO ? 2 : 1);
    if (trained) compare_dictionaries(trained, wanted);
    fastpair_dictionary_close(trained);
    fastpair_dictionary_close(wanted);
    close_taking(&t);
}

static void check_shape(shape_kind kind, uint64_t bytes) {
    shape s;
    shape_options shaped = {.bytes = bytes,
                            .null_percent = (uint32_t[]){0, 0, 10, 60, 100}[draw(5)],
                            .bit_offset = draw(20),
                            .first_offset = draw(2) ? draw(40) : 0,
                            .validity_always = draw(3) == 0};
    shape_make(&s, kind, check_random(&random_state), &shaped);
    fastpair_expert_options expert = {.struct_size = sizeof expert,
                                      .seed = draw(3) ? 0 : check_random(&random_state),
                                      .sample_bytes = draw(4) ? 1 + draw((uint32_t)bytes) : 0};
    fastpair_compress_options options = {
        .struct_size = sizeof options,
        .codec = (fastpair_codec[]){FASTPAIR_CODEC_ONPAIR, FASTPAIR_CODEC_FSST12,
                                    FASTPAIR_CODEC_AUTO}[draw(8) < 6 ? 0 : 1 + draw(2)],
        .level = draw(4),
        .expert = &expert};
    if (options.codec == FASTPAIR_CODEC_ONPAIR) options.code_bits = 9 + draw(8);
    encode_way way = {.offset_bits = draw(2) ? 32 : 64, .first_offset = draw(3) ? 0 : draw(100)};
    check_rows(&s, &options, &way);
    shape_free(&s);
}

/* ---------------------------------------------------------------- what is wrong */

static void check_offsets(const shape *s, const fastpair_compress_options *options) {
    for (uint32_t kind = 0; kind < 6; kind++) {
        taking t = {0};
        encode_way way = {.offset_bits = kind % 2 ? 32 : 64};
        fastpair_dictionary *trained = NULL;
        CHECK_EQ(fastpair_gpu_sampler_open(&fake.gpu, options, &t.sampler, NULL), FASTPAIR_OK);
        t.input = place_rows(&s->rows, 0, s->rows.rows, &way);
        uint8_t *offsets = (uint8_t *)(uintptr_t)t.input.offsets;
        uint64_t width = way.offset_bits / 8,
                 at = kind < 2 ? s->rows.rows : draw((uint32_t)s->rows.rows);
        if (kind < 4) memset(offsets + at * width, 0xff, width);     /* past the bytes */
        if (kind >= 4) memset(offsets + (1 + at) * width, 0, width); /* it may decrease */
        int is_wrong = kind < 4;
        for (uint64_t i = 0; i < s->rows.rows; i++) {
            uint64_t first = 0, next = 0;
            memcpy(&first, offsets + i * width, width);
            memcpy(&next, offsets + (i + 1) * width, width);
            is_wrong |= next < first;
        }
        make_taking(&t);
        CHECK_EQ(take(&t), FASTPAIR_OK);
        CHECK_EQ(fastpair_gpu_sampler_train(t.sampler, &t.sample, &trained, NULL),
                 is_wrong ? FASTPAIR_ERROR_INVALID_ARGUMENT : FASTPAIR_OK);
        CHECK_EQ(trained != NULL, !is_wrong);
        fastpair_dictionary_close(trained);
        close_taking(&t);
    }
}

static void check_calls(const shape *s, const fastpair_compress_options *options) {
    const fastpair_status invalid = FASTPAIR_ERROR_INVALID_ARGUMENT;
    taking t = {0};
    fastpair_compress_options wrong_options = *options;
    CHECK_EQ(fastpair_gpu_sampler_open(NULL, options, &t.sampler, NULL), invalid);
    CHECK_EQ(fastpair_gpu_sampler_open(&fake.gpu, options, NULL, NULL), invalid);
    wrong_options.codec = FASTPAIR_CODEC_STORED, wrong_options.code_bits = 0;
    CHECK_EQ(fastpair_gpu_sampler_open(&fake.gpu, &wrong_options, &t.sampler, NULL), invalid);
    CHECK(!t.sampler);
    CHECK_EQ(fastpair_gpu_sampler_open(&fake.gpu, options, &t.sampler, NULL), FASTPAIR_OK);
    t.input = place_rows(&s->rows, 0, s->rows.rows, &(encode_way){.offset_bits = 64});
    make_taking(&t);
    taking wrong = t;
    wrong.scratch.bytes--;
    CHECK_EQ(take(&wrong), FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    wrong = t, wrong.sample.bytes--;
    CHECK_EQ(take(&wrong), FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    wrong = t, wrong.input.offsets += 4;
    CHECK_EQ(take(&wrong), invalid);
    wrong = t, wrong.input.bytes = 0;
    CHECK_EQ(take(&wrong), invalid);
    wrong = t, wrong.scratch.address += 16;
    CHECK_EQ(take(&wrong), invalid);
    wrong = t, wrong.input.rows = 1ull << 39;
    CHECK_EQ(take(&wrong), FASTPAIR_ERROR_LIMIT);
    CHECK_EQ(fastpair_gpu_sampler_sizes(t.sampler, NULL, &t.sizes, NULL), invalid);
    CHECK_EQ(fastpair_gpu_sampler_sizes(t.sampler, &t.input, NULL, NULL), invalid);
    CHECK_EQ(fastpair_gpu_sampler_take(t.sampler, &t.input, &t.scratch, NULL, NULL, NULL), invalid);
    fastpair_gpu_sampler_close(NULL);
    close_taking(&t);
}

/* Samples that kernels did not leave so. */
static void check_samples(const shape *s, const fastpair_compress_options *options) {
    taking t = {0};
    fastpair_dictionary *trained = NULL;
    CHECK_EQ(fastpair_gpu_sampler_open(&fake.gpu, options, &t.sampler, NULL), FASTPAIR_OK);
    t.input = place_rows(&s->rows, 0, s->rows.rows, &(encode_way){.offset_bits = 64});
    make_taking(&t);
    CHECK_EQ(take(&t), FASTPAIR_OK);
    fp_gpu_sample_head good, *head = t.sample.memory;
    memcpy(&good, head, sizeof good);
    for (uint32_t kind = 0; kind < 8; kind++) {
        fastpair_status wanted = FASTPAIR_ERROR_CORRUPT;
        fastpair_gpu_sample given = t.sample;
        uint8_t *lengths = (uint8_t *)(head + 1) + (good.cap + 15) / 16 * 16, kept = *lengths;
        switch (kind) {
        case 0: head->size--; break;
        case 1: head->pieces--; break;
        case 2: lengths[0]++; break;
        case 3: head->pieces = UINT64_MAX / 2, wanted = FASTPAIR_ERROR_BUFFER_TOO_SMALL; break;
        case 4: head->cap = UINT64_MAX, wanted = FASTPAIR_ERROR_CORRUPT; break;
        case 5: head->seed++, wanted = FASTPAIR_ERROR_INVALID_ARGUMENT; break;
        case 6: given.bytes = sizeof good - 1, wanted = FASTPAIR_ERROR_BUFFER_TOO_SMALL; break;
        default: head->column_bytes = good.size - 1; break;
        }
        CHECK_EQ(fastpair_gpu_sampler_train(t.sampler, &given, &trained, NULL), wanted);
        CHECK(!trained);
        *head = good, *lengths = kept;
    }
    CHECK_EQ(fastpair_gpu_sampler_train(t.sampler, &t.sample, &trained, NULL), FASTPAIR_OK);
    CHECK(trained);
    fastpair_dictionary_close(trained);
    close_taking(&t);
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 24;
    printf("seed %llu\n", (unsigned long long)random_state);
    fastpair_allocator allocator;
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    fake_open(&allocator);
    uint64_t number = 0;
    for (uint32_t round = 0; round < 4; round++)
        for (int kind = 0; kind < SHAPE_KINDS; kind++)
            if (check_takes(number++))
                check_shape((shape_kind)kind, 1 + draw(round ? 30000 : 400000));
    shape words;
    fastpair_expert_options expert = {.struct_size = sizeof expert, .sample_bytes = 3000};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 10,
                                         .expert = &expert};
    shape_make(&words, SHAPE_WORDS, 5, &(shape_options){.bytes = 20000});
    check_offsets(&words, &options);
    check_calls(&words, &options);
    check_samples(&words, &options);
    shape_free(&words);
    return check_done();
}
