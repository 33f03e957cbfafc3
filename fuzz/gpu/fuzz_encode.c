/* fuzz_encode.c - any rows and options through the library's encoder for GPUs, by a driver whose device
 * is the host and whose kernels run in the emulator.
 *
 * The first bytes of the input choose the options and what is wrong with the rows; the rest is the text.
 * Dictionaries are also trained by a sampler, on rows in device memory. Device memory has exactly the sizes
 * that the library states. Demanded: kernels stay inside it, whatever offsets say; offsets that are
 * wrong, and memory that is too small, give the status that the header says; rows that are right give
 * the dictionary that the CPU trains, the file that the CPU writes with it, and rows that decode on the
 * GPU from where they are; memory is given back. */
#include "../../tests/emulator/encode_device.h"
#include "fuzz.h"

enum { LARGEST_TEXT = 1 << 14, OPTION_BYTES = 16, MOST_ROWS = 6000 };

/* Rows made from the input, owned. */
typedef struct table {
    fastpair_rows view;
    uint64_t *offsets;
    uint8_t *validity;
} table;

/* Rows end at newlines, or have lengths drawn from the text itself. */
static table cut_text(const uint8_t *text, size_t size, uint32_t how, uint32_t nulls) {
    table t = {.offsets = fuzz_need((MOST_ROWS + 1) * sizeof(uint64_t))};
    uint64_t rows = 0, at = 0;
    t.offsets[0] = 0;
    while (at < size && rows < MOST_ROWS) {
        const uint8_t *newline = memchr(text + at, '\n', size - at);
        uint64_t length = how % 3 == 1   ? how / 3 % 40
                          : how % 3 == 2 ? text[at] % 32
                          : newline      ? (uint64_t)(newline - (text + at)) + 1
                                         : size - at;
        if (!length) length = rows % 2;
        at = length < size - at ? at + length : size;
        t.offsets[++rows] = at;
    }
    t.view = (fastpair_rows){
        .struct_size = sizeof t.view, .rows = rows, .bytes = text, .offsets = t.offsets};
    if (!nulls) return t;
    t.view.validity = t.validity = fuzz_need(rows / 8 + 3);
    for (uint64_t i = 0; i < rows / 8 + 3; i++)
        t.validity[i] = (uint8_t)(nulls * (i + 1) ^ nulls >> 3);
    t.view.validity_bit_offset = nulls % 8;
    return t;
}

/* ---------------------------------------------------------------- what is wrong with rows */

/* Offsets as they lie in device memory. */
static uint64_t offset_at(const fastpair_gpu_encode_input *input, uint64_t i) {
    uint64_t offset = 0;
    memcpy(&offset, (const uint8_t *)(uintptr_t)input->offsets + i * (input->offset_bits / 8),
           input->offset_bits / 8);
    return offset;
}

/* Spoils some offsets, or says that there are fewer bytes. */
static void spoil(fastpair_gpu_encode_input *input, fuzz_input *from, uint32_t how) {
    uint32_t width = input->offset_bits / 8, count = how % 4;
    if (how & 4 && input->bytes_size) input->bytes_size -= how / 8 % (input->bytes_size + 1);
    for (uint32_t i = 0; i < count && input->rows; i++) {
        uint64_t at = fuzz_draw(from, 2) % (input->rows + 1);
        uint64_t value = fuzz_draw(from, how & 16 ? 2 : 8) - (how & 32 ? 100 : 0);
        memcpy((uint8_t *)(uintptr_t)input->offsets + at * width, &value, width);
    }
}

static int is_null(const fastpair_rows *rows, uint64_t row) {
    uint64_t bit = rows->validity_bit_offset + row;
    return rows->validity && !(rows->validity[bit / 8] >> bit % 8 & 1);
}

/* What fastpair_gpu_encode.h says of offsets that are wrong. */
static int are_right(const fastpair_gpu_encode_input *input, const fastpair_rows *rows) {
    for (uint64_t i = 0; i < input->rows; i++) {
        uint64_t first = offset_at(input, i), end = offset_at(input, i + 1);
        if (end < first || (end - first > UINT32_MAX && !is_null(rows, i))) return 0;
    }
    return !input->rows || offset_at(input, input->rows) <= input->bytes_size;
}

/* The same rows on the host, as offsets have them now; *own gets them. */
static fastpair_rows host_rows(const fastpair_gpu_encode_input *input, const fastpair_rows *rows,
                               uint64_t **own) {
    fastpair_rows view = *rows;
    *own = fuzz_need((input->rows + 1) * sizeof(uint64_t));
    for (uint64_t i = 0; input->rows && i <= input->rows; i++) (*own)[i] = offset_at(input, i);
    view.offsets = *own;
    view.bytes = (const uint8_t *)(uintptr_t)input->bytes;
    return view;
}

/* ---------------------------------------------------------------- dictionaries */

static uint64_t exported(const fastpair_dictionary *dictionary, uint8_t **bytes) {
    uint64_t size = 0, room = fastpair_dictionary_export_size(dictionary);
    fastpair_error error;
    *bytes = fuzz_need(room);
    DEMAND_OK(fastpair_dictionary_export_into(dictionary, *bytes, room, &size, &error), &error);
    return size;
}

static void demand_same(const fastpair_dictionary *one, const fastpair_dictionary *other) {
    uint8_t *bytes[2];
    uint64_t size = exported(one, &bytes[0]);
    DEMAND(exported(other, &bytes[1]) == size && !memcmp(bytes[0], bytes[1], size));
    free(bytes[0]), free(bytes[1]);
}

/* By a sampler; NULL if the rows are wrong. */
static fastpair_dictionary *train(const fastpair_gpu_encode_input *input, int is_right,
                                  const fastpair_compress_options *options) {
    fastpair_gpu_sampler *sampler = NULL;
    fastpair_dictionary *dictionary = NULL;
    fastpair_error error;
    DEMAND_OK(fastpair_gpu_sampler_open(&fake.gpu, options, &sampler, &error), &error);
    for (fastpair_status status = FASTPAIR_OK; !status && !dictionary;) {
        fastpair_gpu_sample_sizes sizes = {.struct_size = sizeof sizes};
        DEMAND_OK(fastpair_gpu_sampler_sizes(sampler, input, &sizes, &error), &error);
        fastpair_gpu_block scratch = make_block(SCRATCH, 0, sizes.scratch_bytes);
        fastpair_gpu_sample sample = {.struct_size = sizeof sample,
                                      .memory = fuzz_need(sizes.sample_bytes),
                                      .bytes = sizes.sample_bytes};
        DEMAND_OK(fastpair_gpu_sampler_take(sampler, input, &scratch, &sample, NULL, &error),
                  &error);
        status = fastpair_gpu_sampler_train(sampler, &sample, &dictionary, &error);
        DEMAND(status == (is_right ? FASTPAIR_OK : FASTPAIR_ERROR_INVALID_ARGUMENT));
        free(sample.memory);
    }
    fastpair_gpu_sampler_close(sampler);
    return dictionary;
}

/* ---------------------------------------------------------------- encoding */

/* One piece, of rows that may be wrong. */
static void encode_hostile(const fastpair_gpu_encode_input *input, int is_right,
                           const fastpair_compress_options *options, uint64_t less) {
    encoded_column column = {0};
    fastpair_gpu_encode_sizes sizes = {.struct_size = sizeof sizes};
    open_encoder(&column, options);
    DEMAND_OK(column.status, &column.error);
    DEMAND_OK(fastpair_gpu_encoder_sizes(column.encoder, input, &sizes, NULL), &column.error);
    make_block(SCRATCH, 0, sizes.scratch_bytes);
    fastpair_gpu_block small = {(uint64_t)(uintptr_t)blocks[SCRATCH], sizes.scratch_bytes - 1};
    fastpair_gpu_encode_output output = {.struct_size = sizeof output};
    DEMAND(fastpair_gpu_encoder_encode(column.encoder, input, &small, &output, NULL, NULL) ==
           FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    encode_piece(&column, input, less);
    if (!is_right)
        DEMAND(column.status == FASTPAIR_ERROR_INVALID_ARGUMENT);
    else if (less)
        DEMAND(!column.status || column.status == FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    else
        DEMAND_OK(column.status, &column.error);
    close_encoded(&column);
}

/* All of it, in pieces if the way says so: the CPU's file. */
static void encode_right(const table *t, const fastpair_compress_options *options,
                         const encode_way *way) {
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    DEMAND_OK(fastpair_compress(&t->view, options, &image, &size, &error), &error);
    encoded_column column = encode_rows(&t->view, options, way);
    DEMAND_OK(column.status, &column.error);
    DEMAND(column.size == size && !memcmp(column.image, image, size));
    close_encoded(&column);
    fastpair_free(&options->allocator, image);
}

static void run_all(const uint8_t *data, size_t size, const fastpair_allocator *allocator) {
    fuzz_input from = {data, OPTION_BYTES};
    const uint32_t codec = (uint32_t)fuzz_draw(&from, 1), how = (uint32_t)fuzz_draw(&from, 1),
                   nulls = (uint32_t)fuzz_draw(&from, 1), chunk = (uint32_t)fuzz_draw(&from, 1),
                   other = (uint32_t)fuzz_draw(&from, 1), wrong = (uint32_t)fuzz_draw(&from, 1),
                   pieces = (uint32_t)fuzz_draw(&from, 1), less = (uint32_t)fuzz_draw(&from, 1);
    table t = cut_text(data + OPTION_BYTES, size - OPTION_BYTES, how, nulls);
    fastpair_expert_options expert = {
        .struct_size = sizeof expert,
        .batch_codes = chunk & 64 ? 32 * (1 + other % 32) : 0,
        .section_alignment = chunk & 128 ? 4096 : 64,
        .bound_bytes = (uint32_t[]){0, 8, 16, 32, 64, FASTPAIR_NO_BOUNDS}[other % 6],
        .sample_bytes = pieces ? 64u * pieces : 3000};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = codec % 8 == 7    ? FASTPAIR_CODEC_FSST12
                                                  : codec % 16 == 6 ? FASTPAIR_CODEC_AUTO
                                                                    : FASTPAIR_CODEC_ONPAIR,
                                         .level = 1 + other % 3,
                                         .threads = 1,
                                         .chunk_bytes = 1024u << chunk % 6,
                                         .expert = &expert,
                                         .allocator = *allocator};
    if (options.codec == FASTPAIR_CODEC_ONPAIR)
        options.code_bits = 9 + codec % 8, options.max_token = 8u << codec / 8 % 4;
    encode_way way = {.offset_bits = codec & 128 ? 32 : 64, .first_offset = other / 6};
    fastpair_gpu_encode_input input = place_rows(&t.view, 0, t.view.rows, &way);
    if (wrong) spoil(&input, &from, wrong);
    int is_right = are_right(&input, &t.view);
    fastpair_dictionary *trained = NULL, *wanted = NULL;
    if (wrong || other & 1) trained = train(&input, is_right, &options);
    uint64_t *own = NULL;
    fastpair_rows rows = is_right ? host_rows(&input, &t.view, &own) : t.view;
    fastpair_error error;
    DEMAND_OK(fastpair_dictionary_train(&rows, &options, &wanted, &error), &error);
    if (trained) demand_same(trained, wanted);
    free(own);
    options.codec = FASTPAIR_CODEC_AUTO, options.code_bits = options.max_token = 0;
    options.dictionary = wanted;
    if (wrong || less) {
        encode_hostile(&input, is_right, &options, 97ull * less);
    } else {
        way.piece_bytes = 100ull * pieces;
        encode_right(&t, &options, &way);
    }
    fastpair_dictionary_close(trained);
    fastpair_dictionary_close(wanted);
    free(t.offsets), free(t.validity);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < OPTION_BYTES || size > LARGEST_TEXT) return 0;
    fuzz_memory memory = {.cap = 256 << 20};
    fastpair_allocator allocator = fuzz_allocator(&memory);
    fake_open(&allocator);
    fake.gpu.info.multiprocessors = 2; /* blocks that find nothing to do take time here */
    random_state = size;
    run_all(data, size, &allocator);
    close_blocks();
    DEMAND(memory.in_use == 0 && !check_failed);
    return 0;
}
