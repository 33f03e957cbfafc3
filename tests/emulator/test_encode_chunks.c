/* test_encode_chunks.c - columns of very many chunks, each as small as chunks can be, on the made-up GPU:
 * far more chunks than blocks that take turns at them, than a block has threads, and than one pass of a
 * scan takes. The file must be what the CPU writes. FASTPAIR_TEST_CHUNKS says how many chunks. */
#include "encode_device.h"

/* Rows of which every one is a chunk, or every other one, or which are so short that 1 KiB is full of
 * them. */
static void make_rows(shape *s, uint64_t chunks, uint32_t kind) {
    static const uint32_t least[] = {1030, 500, 3}, more[] = {30, 60, 5}, each[] = {1, 2, 210};
    uint64_t rows = chunks * each[kind], size = 0;
    uint64_t *offsets = malloc((rows + 1) * sizeof *offsets);
    uint8_t *bytes = malloc(rows * (least[kind] + more[kind]) + 1);
    if (!offsets || !bytes) abort();
    offsets[0] = 0;
    for (uint64_t row = 0; row < rows; row++) {
        uint64_t length = least[kind] + draw(more[kind]), word = draw(50);
        for (uint64_t i = 0; i < length; i++)
            bytes[size++] = (uint8_t)("row of a chunk; "[(i + word) % 16] + (i % 97 == word));
        offsets[row + 1] = size;
    }
    shape_from_rows(s, "tiny chunks", bytes, offsets, NULL, rows);
    free(bytes);
    free(offsets);
}

static void check_chunks(uint64_t chunks, uint32_t kind, uint64_t piece_bytes) {
    shape s;
    make_rows(&s, chunks, kind);
    fastpair_expert_options expert = {.struct_size = sizeof expert,
                                      .sample_bytes = piece_bytes ? 4096 : 0};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 10,
                                         .expert = &expert};
    fastpair_dictionary *dictionary = NULL;
    uint8_t *wanted = NULL;
    uint64_t size = 0;
    CHECK_EQ(fastpair_dictionary_train(&s.rows, &options, &dictionary, NULL), FASTPAIR_OK);
    options.codec = FASTPAIR_CODEC_AUTO, options.code_bits = 0;
    options.chunk_bytes = 1024, options.dictionary = dictionary;
    CHECK_EQ(fastpair_compress(&s.rows, &options, &wanted, &size, NULL), FASTPAIR_OK);
    encode_way way = {.offset_bits = 32, .piece_bytes = piece_bytes};
    encoded_column column = encode_rows(&s.rows, &options, &way);
    CHECK_EQ(column.status, FASTPAIR_OK);
    CHECK(column.encoded && fp_encoded_chunk_count(column.encoded) >= chunks * 9 / 10);
    CHECK(!column.status && column.size == size && !memcmp(column.image, wanted, size));
    if (column.status) fprintf(stderr, "  %s\n", column.error.message);
    if (!column.status) check_decoded_on_device(&column, &s);
    close_encoded(&column);
    fastpair_free(NULL, wanted);
    fastpair_dictionary_close(dictionary);
    shape_free(&s);
}

int main(void) {
    const char *wanted = getenv("FASTPAIR_TEST_CHUNKS");
    const uint64_t chunks = wanted ? strtoull(wanted, NULL, 0) : check_scaled(1100);
    random_state = 41;
    fastpair_allocator allocator;
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    fake_open(&allocator);
    fake.gpu.info.multiprocessors = 1; /* four blocks take turns */
    check_chunks(chunks, 0, 0);
    check_chunks(chunks, 2, 0);
    check_chunks(chunks, 1, 300000);
    return check_done();
}
