/* test_encode.c - columns encoded on the made-up GPU, whose kernels run in the emulator: shaped and
 * random rows with all kinds of dictionaries and options, in one piece and in several. The file
 * must be what the CPU writes, byte for byte, and what was encoded must decode on the GPU from
 * device memory. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "encode_device.h"

static const uint32_t widths[] = {9, 10, 11, 12, 13, 14, 15, 16};

/* Trains a dictionary on rows of a shape. */
static fastpair_dictionary *train(const fastpair_rows *rows, uint32_t bits, uint32_t max_token,
                                  fastpair_codec codec) {
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = codec,
                                         .code_bits = codec == FASTPAIR_CODEC_ONPAIR ? bits : 0,
                                         .max_token =
                                             codec == FASTPAIR_CODEC_ONPAIR ? max_token : 0};
    fastpair_dictionary *dictionary = NULL;
    fastpair_error error = {0};
    CHECK_EQ(fastpair_dictionary_train(rows, &options, &dictionary, &error), FASTPAIR_OK);
    if (!dictionary) fprintf(stderr, "  %s\n", error.message), abort();
    return dictionary;
}

/* Encodes rows both ways and compares. */
static void check_rows(const shape *s, const fastpair_compress_options *options,
                       const encode_way *way) {
    uint8_t *wanted = NULL;
    uint64_t wanted_size = 0;
    fastpair_status status = fastpair_compress(&s->rows, options, &wanted, &wanted_size, NULL);
    CHECK_EQ(status, FASTPAIR_OK);
    encoded_column column = encode_rows(&s->rows, options, way);
    CHECK_EQ(column.status, FASTPAIR_OK);
    int is_same =
        !column.status && column.size == wanted_size && !memcmp(column.image, wanted, wanted_size);
    CHECK(is_same);
    if (!is_same)
        fprintf(stderr, "  %s: %s\n", s->name, column.status ? column.error.message : "differs");
    if (!is_same && !column.status)
        explain_difference(column.image, column.size, wanted, wanted_size);
    if (is_same) check_decoded_on_device(&column, s);
    fastpair_free(NULL, wanted);
    close_encoded(&column);
}

/* A dictionary of rows like these or of others, and random options. */
static void check_shape(shape_kind kind, uint64_t bytes, int in_pieces) {
    shape s, other;
    shape_options shaped = {.bytes = bytes,
                            .null_percent = (uint32_t[]){0, 0, 10, 60, 100}[draw(5)],
                            .bit_offset = draw(20),
                            .first_offset = draw(2) ? draw(40) : 0,
                            .validity_always = draw(3) == 0};
    shape_make(&s, kind, check_random(&random_state), &shaped);
    shape_make(&other, draw(4) ? kind : (shape_kind)draw(SHAPE_KINDS), check_random(&random_state),
               &(shape_options){.bytes = 1 + draw(60000)});
    fastpair_codec codec = draw(6) ? FASTPAIR_CODEC_ONPAIR : FASTPAIR_CODEC_FSST12;
    uint32_t bits = widths[draw(8)], longest = 8u << draw(4);
    fastpair_dictionary *dictionary = train(draw(3) ? &s.rows : &other.rows, bits, longest, codec);
    fastpair_expert_options expert = {
        .struct_size = sizeof expert,
        .batch_codes = draw(3) ? 0 : 32 * (1 + draw(32)),
        .section_alignment = draw(5) ? 64 : 4096,
        .bound_bytes = (uint32_t[]){0, 8, 16, 32, 64, FASTPAIR_NO_BOUNDS}[draw(6)]};
    fastpair_pair pair = {"key", "value", 5};
    fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                  .type = draw(2) ? FASTPAIR_TYPE_DETECT : FASTPAIR_TYPE_BYTES,
                                  .name = draw(2) ? "a name" : NULL,
                                  .pairs = &pair,
                                  .pair_count = draw(2)};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .dictionary = dictionary,
                                         .level = draw(7),
                                         .threads = draw(4),
                                         .expert = &expert,
                                         .metadata = draw(2) ? &metadata : NULL};
    encode_way way = {.offset_bits = draw(2) ? 32 : 64, .first_offset = draw(3) ? 0 : draw(100)};
    if (in_pieces || draw(2)) options.chunk_bytes = 1024u << draw(5);
    if (in_pieces) {
        expert.sample_bytes = 1 + draw(12000);
        way.piece_bytes = 1 + draw(20000);
    }
    snprintf(s.name + strlen(s.name), sizeof s.name - strlen(s.name), ", %u bits, %u, %s", bits,
             longest, in_pieces ? "pieces" : "whole");
    check_rows(&s, &options, &way);
    fastpair_dictionary_close(dictionary);
    shape_free(&s);
    shape_free(&other);
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 22;
    printf("seed %llu\n", (unsigned long long)random_state);
    fastpair_allocator allocator;
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    fake_open(&allocator);
    fake.gpu.info.multiprocessors = 3; /* blocks that find nothing to do take time here */
    uint64_t number = 0;
    for (uint32_t round = 0; round < 3; round++)
        for (int kind = 0; kind < SHAPE_KINDS; kind++) {
            if (check_takes(number++)) check_shape((shape_kind)kind, 1 + draw(50000), 0);
            if (check_takes(number++)) check_shape((shape_kind)kind, 30000 + draw(60000), 1);
        }
    return check_done();
}
