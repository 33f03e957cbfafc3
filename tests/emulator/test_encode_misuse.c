/* test_encode_misuse.c - calls of the encoder that must be refused, and rows in device memory that
 * are wrong: a status, and nothing is touched outside the blocks that were given, which the
 * emulator would notice. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "counting.h"
#include "encode_device.h"

static fastpair_dictionary *dictionary;
static fastpair_compress_options options;
static shape rows_of_words;

static void check_status(fastpair_status is, fastpair_status wanted, const char *what) {
    CHECK_EQ(is, wanted);
    if (is != wanted) fprintf(stderr, "  %s\n", what);
}

/* ---------------------------------------------------------------- calls */

static void check_open(void) {
    fastpair_gpu_encoder *encoder = NULL;
    fastpair_compress_options wrong = options;
    check_status(fastpair_gpu_encoder_open(NULL, &options, &encoder, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT, "no gpu");
    check_status(fastpair_gpu_encoder_open(&fake.gpu, NULL, &encoder, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT, "no options");
    check_status(fastpair_gpu_encoder_open(&fake.gpu, &options, NULL, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT, "no encoder");
    wrong.dictionary = NULL;
    check_status(fastpair_gpu_encoder_open(&fake.gpu, &wrong, &encoder, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT, "no dictionary");
    wrong = options, wrong.level = FASTPAIR_LEVEL_GREEDY + 1;
    check_status(fastpair_gpu_encoder_open(&fake.gpu, &wrong, &encoder, NULL),
                 FASTPAIR_ERROR_UNSUPPORTED, "a level of CPUs");
    wrong = options, wrong.struct_size = 3;
    check_status(fastpair_gpu_encoder_open(&fake.gpu, &wrong, &encoder, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT, "no size");
    CHECK(!encoder);
    fastpair_gpu_encoder_close(NULL);
    fastpair_gpu_encoded_close(NULL);
}

/* Everything that an encode needs; tests spoil one thing of it. */
typedef struct call {
    encoded_column column;
    fastpair_gpu_encode_input input;
    fastpair_gpu_encode_sizes sizes;
    fastpair_gpu_block scratch;
    fastpair_gpu_encode_output output;
} call;

static call make_call(const shape *s) {
    call c = {.sizes = {.struct_size = sizeof c.sizes}, .output = {.struct_size = sizeof c.output}};
    encode_way way = {.offset_bits = 64};
    open_encoder(&c.column, &options);
    c.input = place_rows(&s->rows, 0, s->rows.rows, &way);
    CHECK_EQ(fastpair_gpu_encoder_sizes(c.column.encoder, &c.input, &c.sizes, NULL), FASTPAIR_OK);
    c.scratch = make_block(SCRATCH, 0, c.sizes.scratch_bytes);
    c.output.image = make_block(IMAGE, 0, c.sizes.output_bytes);
    c.output.record = make_block(RECORD, 0, c.sizes.record_bytes);
    return c;
}

static fastpair_status run(const call *c, fastpair_error *error) {
    return fastpair_gpu_encoder_encode(c->column.encoder, &c->input, &c->scratch, &c->output, NULL,
                                       error);
}

static fastpair_status add(call *c, fastpair_error *error) {
    return fastpair_gpu_encoded_add(c->column.encoded, blocks[RECORD], c->sizes.record_bytes, NULL,
                                    error);
}

static void check_calls(void) {
    call c = make_call(&rows_of_words), wrong = c;
    const fastpair_status invalid = FASTPAIR_ERROR_INVALID_ARGUMENT;
    wrong.scratch.bytes--;
    check_status(run(&wrong, NULL), FASTPAIR_ERROR_BUFFER_TOO_SMALL, "scratch");
    wrong = c, wrong.output.record.bytes--;
    check_status(run(&wrong, NULL), FASTPAIR_ERROR_BUFFER_TOO_SMALL, "record");
    wrong = c, wrong.scratch.address += 16;
    check_status(run(&wrong, NULL), invalid, "scratch is misaligned");
    wrong = c, wrong.output.image.address += 64;
    check_status(run(&wrong, NULL), invalid, "image is misaligned");
    wrong = c, wrong.input.offsets += 4;
    check_status(run(&wrong, NULL), invalid, "offsets are misaligned");
    wrong = c, wrong.input.offset_bits = 16;
    check_status(run(&wrong, NULL), invalid, "offset bits");
    wrong = c, wrong.input.offsets = 0;
    check_status(run(&wrong, NULL), invalid, "no offsets");
    wrong = c, wrong.input.bytes = 0;
    check_status(run(&wrong, NULL), invalid, "no bytes");
    wrong = c, wrong.input.rows = 1ull << 39;
    check_status(run(&wrong, NULL), FASTPAIR_ERROR_LIMIT, "rows");
    wrong = c, wrong.input.has_after = 2;
    check_status(run(&wrong, NULL), invalid, "has_after");
    wrong = c, wrong.input.struct_size = 0;
    check_status(run(&wrong, NULL), invalid, "no size");
    check_status(fastpair_gpu_encoder_encode(NULL, &c.input, &c.scratch, &c.output, NULL, NULL),
                 invalid, "no encoder");
    check_status(
        fastpair_gpu_encoder_encode(c.column.encoder, &c.input, NULL, &c.output, NULL, NULL),
        invalid, "no scratch");
    check_status(
        fastpair_gpu_encoder_encode(c.column.encoder, &c.input, &c.scratch, NULL, NULL, NULL),
        invalid, "no output");
    c.column.encoder->device_memory = 0;
    check_status(run(&c, NULL), invalid, "not uploaded");
    close_encoded(&c.column);
}

/* What the host does not take. */
static void check_records(void) {
    call c = make_call(&rows_of_words);
    const fastpair_status invalid = FASTPAIR_ERROR_INVALID_ARGUMENT;
    const uint8_t *footer;
    uint64_t size;
    fastpair_gpu_encoded *encoded = c.column.encoded;
    check_status(fastpair_gpu_encoded_finish(encoded, &footer, &size, NULL), invalid, "no piece");
    CHECK_EQ(run(&c, NULL), FASTPAIR_OK);
    check_status(fastpair_gpu_encoded_add(encoded, blocks[RECORD], 100, NULL, NULL), invalid,
                 "a record's beginning");
    /* Any word of a record that is changed is found, or does no harm. */
    uint8_t *record = blocks[RECORD], *copy = malloc(c.sizes.record_bytes);
    memcpy(copy, record, c.sizes.record_bytes);
    for (uint32_t i = 0; i < check_scaled(2000); i++) {
        fastpair_gpu_encoded *other = NULL;
        CHECK_EQ(fastpair_gpu_encoded_open(c.column.encoder, &other, NULL), FASTPAIR_OK);
        for (uint32_t k = draw(3); k < 3; k++)
            record[draw((uint32_t)c.sizes.record_bytes)] = (uint8_t)draw(256);
        fastpair_gpu_encoded_piece piece = {.struct_size = sizeof piece};
        uint8_t *image = NULL;
        fastpair_status status =
            fastpair_gpu_encoded_add(other, record, c.sizes.record_bytes, &piece, NULL);
        CHECK(status == FASTPAIR_OK || status == invalid || status == FASTPAIR_ERROR_CORRUPT ||
              status == FASTPAIR_ERROR_BUFFER_TOO_SMALL);
        if (!status && piece.image_bytes < 1u << 24 && (image = calloc(1, piece.image_bytes + 1))) {
            CHECK_EQ(fastpair_gpu_encoded_complete(other, 0, image, piece.image_bytes, NULL),
                     FASTPAIR_OK);
            CHECK_EQ(fastpair_gpu_encoded_finish(other, &footer, &size, NULL), FASTPAIR_OK);
        }
        free(image);
        fastpair_gpu_encoded_close(other);
        memcpy(record, copy, c.sizes.record_bytes);
    }
    free(copy);
    CHECK_EQ(add(&c, NULL), FASTPAIR_OK);
    check_status(add(&c, NULL), invalid, "the same piece again");
    check_status(fastpair_gpu_encoded_complete(encoded, 64, blocks[IMAGE], 1u << 20, NULL), invalid,
                 "no such piece");
    check_status(fastpair_gpu_encoded_complete(encoded, 0, blocks[IMAGE], 100, NULL),
                 FASTPAIR_ERROR_BUFFER_TOO_SMALL, "too few bytes");
    CHECK_EQ(fastpair_gpu_encoded_finish(encoded, &footer, &size, NULL), FASTPAIR_OK);
    check_status(add(&c, NULL), invalid, "a finished column");
    check_status(fastpair_gpu_encoded_set_framing(encoded, 0, 0, NULL), invalid, "framing");
    close_encoded(&c.column);
}

/* Every allocation of the host's part fails in turn: a status, and nothing is lost. */
static void check_allocations(void) {
    counting memory;
    fastpair_compress_options counted = options, before = options;
    const uint8_t *footer;
    uint64_t size, failures = 0;
    fastpair_status status = FASTPAIR_ERROR_OUT_OF_MEMORY;
    for (uint64_t n = 0; status && n < 500; n++) {
        fastpair_column *column = NULL;
        memory = (counting){.lock = PTHREAD_MUTEX_INITIALIZER, .fail_at = n};
        counted.allocator = (fastpair_allocator){counting_allocate, counting_release, &memory};
        fastpair_gpu_encoder *encoder = NULL;
        status = fastpair_gpu_encoder_open(&fake.gpu, &counted, &encoder, NULL);
        fastpair_gpu_encoder_close(encoder);
        CHECK_EQ(memory.live, 0);
        if (status) {
            CHECK_EQ(status, FASTPAIR_ERROR_OUT_OF_MEMORY);
            failures++;
            continue;
        }
        options = counted;
        memory.fail_at = UINT64_MAX;
        call c = make_call(&rows_of_words);
        options = before;
        CHECK_EQ(run(&c, NULL), FASTPAIR_OK);
        for (uint64_t k = 0; k < 100; k++) {
            fastpair_gpu_encoded *encoded = NULL;
            memory.calls = 0;
            memory.fail_at = k;
            status = fastpair_gpu_encoded_open(c.column.encoder, &encoded, NULL);
            if (!status)
                status = fastpair_gpu_encoded_add(encoded, blocks[RECORD], c.sizes.record_bytes,
                                                  NULL, NULL);
            if (!status) status = fastpair_gpu_encoded_finish(encoded, &footer, &size, NULL);
            if (!status) status = fastpair_gpu_encoded_open_column(encoded, NULL, &column, NULL);
            fastpair_column_close(column);
            column = NULL;
            fastpair_gpu_encoded_close(encoded);
            if (!status) break;
            CHECK_EQ(status, FASTPAIR_ERROR_OUT_OF_MEMORY);
            failures++;
        }
        CHECK_EQ(status, FASTPAIR_OK);
        memory.fail_at = UINT64_MAX;
        close_encoded(&c.column);
        CHECK_EQ(memory.live, 0);
    }
    CHECK_EQ(status, FASTPAIR_OK);
    CHECK(failures > 10);
}

/* ---------------------------------------------------------------- rows */

/* Offsets that are spoiled in one place, or anyhow. */
static void check_offsets(uint32_t bits) {
    shape s;
    shape_options shaped = {.bytes = 200 + draw(9000), .null_percent = draw(2) ? 20 : 0};
    shape_make(&s, SHAPE_WORDS, check_random(&random_state), &shaped);
    call c = {.sizes = {.struct_size = sizeof c.sizes}, .output = {.struct_size = sizeof c.output}};
    encode_way way = {.offset_bits = bits};
    open_encoder(&c.column, &options);
    c.input = place_rows(&s.rows, 0, s.rows.rows, &way);
    CHECK_EQ(fastpair_gpu_encoder_sizes(c.column.encoder, &c.input, &c.sizes, NULL), FASTPAIR_OK);
    c.scratch = make_block(SCRATCH, 0, c.sizes.scratch_bytes);
    c.output.image = make_block(IMAGE, 0, c.sizes.output_bytes);
    c.output.record = make_block(RECORD, 0, c.sizes.record_bytes);
    uint8_t *offsets = (uint8_t *)(uintptr_t)c.input.offsets;
    uint64_t width = bits / 8, count = s.rows.rows + 1, last = 0;
    int way_of = (int)draw(4), is_bad = 0;
    if (way_of == 0) { /* one is past the bytes */
        uint64_t beyond = c.input.bytes_size + 1 + draw(1000);
        memcpy(offsets + (count - 1) * width, &beyond, width);
    } else if (way_of == 1) { /* one is huge */
        memset(offsets + draw((uint32_t)count) * width, 255, width);
    } else if (way_of == 2) { /* one is anything up to the end */
        uint64_t any = draw((uint32_t)c.input.bytes_size + 1);
        memcpy(offsets + draw((uint32_t)count) * width, &any, width);
    } else {
        for (uint64_t i = 0; i < count * width; i++) offsets[i] = (uint8_t)draw(256);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t offset = 0;
        memcpy(&offset, offsets + i * width, width);
        is_bad |= offset < last || offset > c.input.bytes_size;
        last = offset;
    }
    fastpair_error error = {0};
    CHECK_EQ(run(&c, &error), FASTPAIR_OK);
    check_status(add(&c, &error), is_bad ? FASTPAIR_ERROR_INVALID_ARGUMENT : FASTPAIR_OK,
                 error.message);
    close_encoded(&c.column);
    shape_free(&s);
}

/* Outputs of all sizes up to what is needed: what does not fit is said, and not written. */
static void check_small_output(void) {
    call c = make_call(&rows_of_words);
    fastpair_gpu_encoded_piece piece = {.struct_size = sizeof piece};
    CHECK_EQ(run(&c, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_encoded_add(c.column.encoded, blocks[RECORD], c.sizes.record_bytes,
                                      &piece, NULL),
             FASTPAIR_OK);
    uint64_t exact = piece.image_bytes;
    for (uint32_t i = 0; i < 12; i++) {
        uint64_t size = i == 0 ? exact : i == 1 ? exact - 1 : i == 2 ? 0 : draw((uint32_t)exact);
        fastpair_gpu_encoded *other = NULL;
        fastpair_error error = {0};
        CHECK_EQ(fastpair_gpu_encoded_open(c.column.encoder, &other, NULL), FASTPAIR_OK);
        c.output.image = make_block(IMAGE, 0, size);
        CHECK_EQ(run(&c, NULL), FASTPAIR_OK);
        check_status(
            fastpair_gpu_encoded_add(other, blocks[RECORD], c.sizes.record_bytes, NULL, &error),
            size < exact ? FASTPAIR_ERROR_BUFFER_TOO_SMALL : FASTPAIR_OK, error.message);
        fastpair_gpu_encoded_close(other);
    }
    close_encoded(&c.column);
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 5;
    printf("seed %llu\n", (unsigned long long)random_state);
    fastpair_allocator allocator;
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    fake_open(&allocator);
    fake.gpu.info.multiprocessors = 2;
    shape_make(&rows_of_words, SHAPE_WORDS, 3, &(shape_options){.bytes = 20000});
    fastpair_compress_options codec = {
        .struct_size = sizeof codec, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 10};
    CHECK_EQ(fastpair_dictionary_train(&rows_of_words.rows, &codec, &dictionary, NULL),
             FASTPAIR_OK);
    options = (fastpair_compress_options){
        .struct_size = sizeof options, .dictionary = dictionary, .chunk_bytes = 4096};
    check_open();
    check_calls();
    check_records();
    check_small_output();
    check_allocations();
    for (uint32_t i = 0; i < check_scaled(60); i++) check_offsets(i & 1 ? 32 : 64);
    fastpair_dictionary_close(dictionary);
    shape_free(&rows_of_words);
    return check_done();
}
