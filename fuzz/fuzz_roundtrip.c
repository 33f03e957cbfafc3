/* fuzz_roundtrip.c - any rows and any options: what is compressed must come back.
 *
 * The first bytes of the input choose the options, the next the way rows are cut; the rest is the
 * text. What is demanded: options out of range are refused as such; everything else compresses,
 * validates and decodes to the rows that went in; a writer fed in pieces gives a good column too,
 * and two threads give the same bytes as one. */
#include "frames.h"
#include "fuzz.h"

enum { LARGEST_TEXT = 1 << 18, OPTION_BYTES = 16 };

/* Rows made from the input, owned. */
typedef struct table {
    fastpair_rows view;
    uint64_t *offsets;
    uint8_t *validity;
} table;

/* How rows end: at newlines, every so many bytes, or at lengths drawn from the text itself. */
static table cut_rows(const uint8_t *text, size_t size, unsigned how, unsigned nulls) {
    table t = {.offsets = fuzz_need((2 * size + 2) * sizeof(uint64_t))};
    uint64_t rows = 0, at = 0;
    t.offsets[0] = 0;
    while (at < size) {
        uint64_t length;
        if (how % 4 == 0) {
            const uint8_t *newline = memchr(text + at, '\n', size - at);
            length = newline ? (uint64_t)(newline - (text + at)) + 1 : size - at;
        } else if (how % 4 == 1) {
            length = how / 4 + 1;
        } else if (how % 4 == 2) {
            length = text[at] % 32;
            if (length == 0 && rows % 2) length = 1; /* empty rows, but an end */
        } else {
            length = size;
        }
        at = length < size - at ? at + length : size;
        t.offsets[++rows] = at;
    }
    if (how & 0x80) t.offsets[rows + 1] = at, rows++; /* an empty last row, or a single empty one */
    t.view = (fastpair_rows){
        .struct_size = sizeof t.view, .rows = rows, .bytes = text, .offsets = t.offsets};
    if (nulls) {
        t.validity = fuzz_need(rows / 8 + 2);
        for (uint64_t i = 0; i < rows / 8 + 2; i++)
            t.validity[i] = (uint8_t)(nulls * (i + 1) ^ nulls >> 3);
        t.view.validity = t.validity;
        t.view.validity_bit_offset = nulls % 8;
    }
    return t;
}

static int row_is_null(const fastpair_rows *rows, uint64_t row) {
    uint64_t bit = rows->validity_bit_offset + row;
    return rows->validity && !(rows->validity[bit / 8] >> (bit % 8) & 1);
}

/* Opens the image and compares it with the rows. */
static void demand_rows(const uint8_t *image, uint64_t image_size, const fastpair_rows *rows) {
    fastpair_error error;
    fastpair_column *column;
    DEMAND_OK(fastpair_column_open(image, image_size, NULL, &column, &error), &error);
    DEMAND_OK(fastpair_column_validate(column, &error), &error);
    fastpair_column_info info = {.struct_size = sizeof info};
    DEMAND_OK(fastpair_column_get_info(column, &info, &error), &error);
    DEMAND(info.rows == rows->rows && info.compressed_bytes == image_size);
    uint8_t *bytes = fuzz_need(info.decoded_bytes), *validity = fuzz_need(info.rows / 8 + 1);
    uint64_t *offsets = fuzz_need((info.rows + 1) * sizeof *offsets);
    fastpair_destination destination = {.struct_size = sizeof destination,
                                        .bytes = bytes,
                                        .bytes_capacity = info.decoded_bytes,
                                        .offsets = offsets,
                                        .offset_bits = 64,
                                        .validity = validity};
    DEMAND_OK(fastpair_column_decode(column, 0, info.rows, &destination, &error), &error);
    uint64_t nulls = 0;
    for (uint64_t row = 0; row < rows->rows; row++) {
        int null = row_is_null(rows, row);
        uint64_t length = null ? 0 : row_start(rows, row + 1) - row_start(rows, row);
        nulls += (uint64_t)null;
        DEMAND((validity[row / 8] >> (row % 8) & 1) == !null);
        DEMAND(offsets[row + 1] - offsets[row] == length);
        DEMAND(!memcmp(bytes + offsets[row], rows->bytes + row_start(rows, row), length));
    }
    DEMAND(destination.nulls == nulls && info.nulls == nulls);
    free(bytes), free(validity), free(offsets);
    fastpair_column_close(column);
}

typedef struct sink_buffer {
    uint8_t *data;
    size_t size, capacity;
} sink_buffer;

static int sink_write(void *context, const void *data, size_t size) {
    sink_buffer *buffer = context;
    if (size > buffer->capacity - buffer->size) {
        buffer->capacity = 2 * buffer->capacity + size;
        buffer->data = realloc(buffer->data, buffer->capacity);
        if (!buffer->data) abort();
    }
    if (size) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return 0;
}

/* The same rows through a writer, `step` rows at a time. */
static void run_writer(const fastpair_rows *rows, const fastpair_compress_options *options,
                       uint64_t step) {
    sink_buffer buffer = {0};
    fastpair_sink sink = {sink_write, &buffer};
    fastpair_error error;
    fastpair_writer *writer;
    DEMAND_OK(fastpair_writer_open(&sink, options, &writer, &error), &error);
    for (uint64_t row = 0; row < rows->rows; row += step) {
        fastpair_rows part = *rows;
        part.rows = rows->rows - row < step ? rows->rows - row : step;
        part.offsets = (const uint64_t *)rows->offsets + row;
        part.validity_bit_offset += row;
        DEMAND_OK(fastpair_writer_append(writer, &part, &error), &error);
    }
    DEMAND_OK(fastpair_writer_finish(writer, &error), &error);
    fastpair_writer_close(writer);
    demand_rows(buffer.data, buffer.size, rows);
    free(buffer.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    if (size < OPTION_BYTES || size > LARGEST_TEXT) return 0;
    static const uint32_t batches[] = {0, 32, 64, 96, 256, 1024, 33, 2048};
    static const uint32_t alignments[] = {0, 64, 64, 4096};
    fuzz_memory memory = {.cap = 1ull << 30};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .allocator = fuzz_allocator(&memory)};
    options.codec = (fastpair_codec)(fuzz_draw(&input, 1) % 5);
    uint64_t goal = fuzz_draw(&input, 1);
    options.goal = (fastpair_goal)(goal % 4);
    options.cold = goal >> 7 && frames_available();
    uint64_t bits = fuzz_draw(&input, 1);
    options.code_bits = bits & 0x80 ? 0 : 8 + bits % 10;
    uint64_t longest = fuzz_draw(&input, 1);
    options.max_token = longest & 0x80 ? 0 : 8u * (uint32_t)(longest % 4);
    fastpair_expert_options expert = {.struct_size = sizeof expert};
    options.expert = &expert;
    expert.seed = fuzz_draw(&input, 1);
    expert.sample_bytes = fuzz_draw(&input, 2);
    options.chunk_bytes = fuzz_draw(&input, 2);
    uint64_t shape = fuzz_draw(&input, 1);
    expert.batch_codes = batches[shape % 8];
    expert.section_alignment = alignments[shape / 8 % 4];
    expert.hot_codes = (uint32_t)fuzz_draw(&input, 2);
    unsigned how = (unsigned)fuzz_draw(&input, 1), nulls = (unsigned)fuzz_draw(&input, 1);
    uint64_t step = fuzz_draw(&input, 2) + 1;
    /* The numbers above say this, too: there are enough of them. */
    static const uint32_t widths[] = {0, 8, 16, 32, 64, FASTPAIR_NO_BOUNDS};
    expert.bound_bytes = widths[step % 6];
    fastpair_pair pair = {"key", input.data, input.left % 50};
    fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                  .type = step % 2 ? FASTPAIR_TYPE_DETECT : FASTPAIR_TYPE_BYTES,
                                  .name = step % 3 ? "name" : NULL,
                                  .pairs = &pair,
                                  .pair_count = step % 4 == 1};
    options.metadata = &metadata;

    table t = cut_rows(input.data, input.left, how, nulls);
    fastpair_error error;
    uint8_t *image;
    uint64_t image_size;
    fastpair_status status = fastpair_compress(&t.view, &options, &image, &image_size, &error);
    if (status != FASTPAIR_OK) {
        /* Rows are never refused, so it is the options, or the cap. */
        if (status != FASTPAIR_ERROR_INVALID_ARGUMENT && !memory.refused)
            fprintf(stderr, "compress: %s\n", error.message);
        DEMAND(status == FASTPAIR_ERROR_INVALID_ARGUMENT || memory.refused);
        DEMAND(memory.in_use == 0);
    } else {
        demand_rows(image, image_size, &t.view);
        if (shape & 0x40) {
            /* Threads call the hooks at once, and this allocator cannot; malloc can. */
            fastpair_compress_options two = options;
            two.allocator = (fastpair_allocator){0};
            two.threads = 2;
            uint8_t *other;
            uint64_t other_size;
            DEMAND_OK(fastpair_compress(&t.view, &two, &other, &other_size, &error), &error);
            DEMAND(other_size == image_size && !memcmp(other, image, image_size));
            fastpair_free(NULL, other);
        }
        if (shape & 0x80) run_writer(&t.view, &options, step);
        fastpair_free(&options.allocator, image);
        DEMAND(memory.in_use == 0);
    }
    free(t.offsets), free(t.validity);
    return 0;
}
