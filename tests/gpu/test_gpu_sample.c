/* test_gpu_sample.c - dictionaries trained on rows that are in the memory of a real GPU, through the public
 * calls, in memory with guards. They must be those that fastpair_dictionary_train makes; wrong offsets
 * must be refused. With names of files as arguments their lines (of *.nul: what NULs end), repeated to
 * FASTPAIR_TEST_BYTES, are the rows instead, and the time from the call to the sample's arrival in pinned
 * memory is printed. Without a GPU it is skipped; the made-up driver runs it in the emulator. */
#define _GNU_SOURCE /* clock_gettime */

#include "device_rows.h"
#include "fastpair_gpu_encode.h"
#include "shapes.h"

#include <time.h>

/* Rows on the device. */
typedef struct device_column {
    fastpair_gpu_encode_input input;
    fastpair_gpu_block bytes, offsets, bits;
} device_column;

static fastpair_gpu_block block_of(const void *from, uint64_t bytes) {
    fastpair_gpu_block block = guarded_block(bytes);
    if (bytes) device_ok(&cuda, cuda.copy_to_device(block.address, from, bytes, NULL));
    device_ok(&cuda, cuda.stream_wait(NULL));
    return block;
}

/* Rows that begin at offset 0 of their bytes. */
static device_column column_open(const fastpair_rows *rows) {
    device_column c = {0};
    uint64_t size = fp_row_start(rows, rows->rows), bit = rows->validity_bit_offset;
    c.bytes = block_of(rows->bytes, size);
    c.offsets = block_of(rows->offsets, 8 * (rows->rows + 1));
    if (rows->validity) c.bits = block_of(rows->validity, (bit + rows->rows + 7) / 8);
    c.input = (fastpair_gpu_encode_input){.struct_size = sizeof c.input,
                                          .rows = rows->rows,
                                          .bytes = c.bytes.address,
                                          .bytes_size = size,
                                          .offsets = c.offsets.address,
                                          .offset_bits = 64,
                                          .validity = c.bits.address,
                                          .validity_bit_offset = bit};
    return c;
}

static void column_close(device_column *c) {
    close_block(c->bytes), close_block(c->offsets);
    if (c->bits.address) close_block(c->bits);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Takes the next sample to pinned memory, and trains on it. *took: seconds until it was there. */
static fastpair_status train_once(fastpair_gpu_sampler *sampler, const device_column *c,
                                  fastpair_dictionary **dictionary, double *took) {
    fastpair_gpu_sample_sizes sizes = {.struct_size = sizeof sizes};
    fastpair_gpu_sample taken = {.struct_size = sizeof taken};
    fastpair_error error = {.message = ""};
    CHECK_EQ(fastpair_gpu_sampler_sizes(sampler, &c->input, &sizes, NULL), FASTPAIR_OK);
    fastpair_gpu_block scratch = guarded_block(sizes.scratch_bytes);
    device_ok(&cuda, cuda.allocate_pinned(&taken.memory, sizes.sample_bytes + GUARD));
    memset(taken.memory, CLEAR, sizes.sample_bytes + GUARD);
    taken.bytes = sizes.sample_bytes;
    device_ok(&cuda, cuda.stream_wait(NULL));
    double start = seconds();
    CHECK_EQ(fastpair_gpu_sampler_take(sampler, &c->input, &scratch, &taken, NULL, &error),
             FASTPAIR_OK);
    device_ok(&cuda, cuda.stream_wait(NULL));
    *took = seconds() - start;
    CHECK(guard_holds((const uint8_t *)taken.memory + sizes.sample_bytes));
    fastpair_status status = fastpair_gpu_sampler_train(sampler, &taken, dictionary, &error);
    close_block(scratch);
    device_ok(&cuda, cuda.release_pinned(taken.memory));
    return status;
}

static int are_same(const fastpair_dictionary *one, const fastpair_dictionary *other) {
    uint64_t size = fastpair_dictionary_export_size(one), got = 0;
    if (size != fastpair_dictionary_export_size(other)) return 0;
    uint8_t *bytes[2] = {malloc(size), malloc(size)};
    CHECK_EQ(fastpair_dictionary_export_into(one, bytes[0], size, &got, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_dictionary_export_into(other, bytes[1], size, &got, NULL), FASTPAIR_OK);
    int same = !memcmp(bytes[0], bytes[1], size);
    free(bytes[0]), free(bytes[1]);
    return same;
}

static void check_rows(const char *name, const fastpair_rows *rows,
                       const fastpair_compress_options *options) {
    device_column c = column_open(rows);
    fastpair_gpu_sampler *sampler = NULL;
    fastpair_dictionary *wanted = NULL, *trained = NULL;
    double took = 0;
    fastpair_status status = FASTPAIR_OK;
    CHECK_EQ(fastpair_dictionary_train(rows, options, &wanted, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_sampler_open(gpu, options, &sampler, NULL), FASTPAIR_OK);
    for (int rounds = 0; rounds < 2 && !status && !trained; rounds++)
        status = train_once(sampler, &c, &trained, &took);
    CHECK_EQ(status, FASTPAIR_OK);
    CHECK(trained && are_same(trained, wanted));
    if (getenv("FASTPAIR_TEST_VERBOSE"))
        printf("%s: %s, %llu rows, %llu bytes, the sample was there after %.3f ms\n", name,
               trained && are_same(trained, wanted) ? "same" : "WRONG",
               (unsigned long long)rows->rows, (unsigned long long)c.input.bytes_size, took * 1e3);
    fastpair_dictionary_close(trained);
    fastpair_dictionary_close(wanted);
    fastpair_gpu_sampler_close(sampler);
    column_close(&c);
}

static void check_shapes(void) {
    int is_small = getenv("FASTPAIR_TEST_SMALL") != NULL;
    for (int kind = SHAPE_EMPTY_ROWS; kind < SHAPE_KINDS; kind++)
        for (uint32_t i = 0; i < 3; i++) {
            if (is_small && (kind + i) % 4) continue;
            shape s;
            uint64_t bytes = is_small ? 30000 : 6000000;
            fastpair_expert_options expert = {.struct_size = sizeof expert,
                                              .sample_bytes = i ? bytes / 10 : 0};
            fastpair_compress_options options = {.struct_size = sizeof options,
                                                 .codec = i == 2 ? FASTPAIR_CODEC_AUTO
                                                                 : FASTPAIR_CODEC_ONPAIR,
                                                 .code_bits = i == 2 ? 0 : 12,
                                                 .level = 1,
                                                 .expert = &expert};
            shape_make(&s, (shape_kind)kind, 3 + i,
                       &(shape_options){.bytes = bytes, .null_percent = i == 1 ? 20 : 0});
            if (s.rows.rows) check_rows(s.name, &s.rows, &options);
            shape_free(&s);
        }
}

/* Offsets that decrease, and that point past the bytes. */
static void check_wrong(void) {
    for (int kind = 0; kind < 2; kind++) {
        static uint8_t bytes[4000];
        static uint64_t offsets[101];
        for (uint64_t i = 0; i <= 100; i++) offsets[i] = 40 * i;
        fastpair_rows rows = view_rows(100, bytes, offsets);
        device_column c = column_open(&rows);
        if (kind) c.input.bytes_size--;
        offsets[50] = 1;
        if (!kind)
            device_ok(&cuda, cuda.copy_to_device(c.offsets.address, offsets, sizeof offsets, NULL));
        fastpair_gpu_sampler *sampler = NULL;
        fastpair_dictionary *trained = NULL;
        double took;
        CHECK_EQ(fastpair_gpu_sampler_open(gpu, NULL, &sampler, NULL), FASTPAIR_OK);
        CHECK_EQ(train_once(sampler, &c, &trained, &took), FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(!trained);
        fastpair_gpu_sampler_close(sampler);
        column_close(&c);
    }
}

static void check_file(const char *path, uint64_t wanted) {
    FILE *file = fopen(path, "rb");
    if (!file) fprintf(stderr, "cannot open %s\n", path), abort();
    int separator = strstr(path, ".nul") ? 0 : '\n';
    fseek(file, 0, SEEK_END);
    uint64_t size = (uint64_t)ftell(file), used = 0, count = 0, rows = 0;
    rewind(file);
    uint8_t *text = malloc(size + 1);
    if (fread(text, 1, size, file) != size) abort();
    fclose(file);
    uint64_t copies = wanted > size ? wanted / size : 1;
    for (uint64_t i = 0; i < size; i++) count += text[i] == separator;
    uint8_t *bytes = malloc(copies * size + 1);
    uint64_t *offsets = malloc((copies * (count + 1) + 1) * sizeof *offsets);
    offsets[0] = 0;
    for (uint64_t copy = 0; copy < copies; copy++)
        for (uint64_t i = 0; i < size; i++) {
            if (text[i] != separator) bytes[used++] = text[i];
            if (text[i] == separator || i + 1 == size) offsets[++rows] = used;
        }
    fastpair_rows view = view_rows(rows, bytes, offsets);
    for (uint32_t bits = 12; bits <= 16; bits += 4) {
        fastpair_compress_options options = {
            .struct_size = sizeof options, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = bits};
        check_rows(path, &view, &options);
    }
    free(text), free(bytes), free(offsets);
}

int main(int argc, char **argv) {
    const char *bytes = getenv("FASTPAIR_TEST_BYTES");
    gpu = open_or_skip(&cuda);
    for (int i = 1; i < argc; i++) check_file(argv[i], bytes ? strtoull(bytes, NULL, 0) : 0);
    if (argc == 1) check_shapes(), check_wrong();
    close_both(gpu, &cuda);
    return check_done();
}
