/* fuzz_arrow.c - Arrow arrays made of any bytes, to be compressed.
 *
 * The first bytes choose layout, length and offset; the next are offsets, views or indices; the rest is
 * bytes and bitmaps. Buffers whose sizes Arrow's interface gives, or which follow from the length, have
 * exactly these sizes; bytes under offsets reach to the largest offset, as a producer must see to.
 * What is demanded: no crash; what is refused leaves a writer that finishes; what is taken gives as many
 * rows. */
#include "fastpair_arrow.h"
#include "fuzz.h"

enum { MOST_ROWS = 300, MOST_BYTES = 1 << 16, BUFFERS = 6 };

typedef struct made {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffers[BUFFERS];
} made;

static void no_schema_release(struct ArrowSchema *schema) { schema->release = NULL; }
static void no_array_release(struct ArrowArray *array) { array->release = NULL; }

static uint8_t *draw_bytes(fuzz_input *input, uint64_t size) {
    uint8_t *bytes = fuzz_need(size);
    for (uint64_t i = 0; i < size; i++) bytes[i] = (uint8_t)fuzz_draw(input, 1);
    return bytes;
}

static void begin(made *m, const char *format, uint64_t length, fuzz_input *input) {
    uint64_t offset = fuzz_draw(input, 1) % 20;
    memset(m, 0, sizeof *m);
    m->schema = (struct ArrowSchema){
        .format = format, .name = "f", .release = no_schema_release, .private_data = m};
    m->array = (struct ArrowArray){.length = (int64_t)length,
                                   .offset = (int64_t)offset,
                                   .null_count = (int64_t)(fuzz_draw(input, 1) % 4) - 1,
                                   .buffers = m->buffers,
                                   .release = no_array_release,
                                   .private_data = m};
    if (fuzz_draw(input, 1) % 2) m->buffers[0] = draw_bytes(input, (length + offset + 7) / 8);
}

static void make_strings(made *m, fuzz_input *input) {
    static const char *const formats[] = {"u", "z", "U", "Z", "vu", "vz"};
    uint64_t kind = fuzz_draw(input, 1) % 6, length = fuzz_draw(input, 2) % MOST_ROWS;
    begin(m, formats[kind], length, input);
    uint64_t all = length + (uint64_t)m->array.offset;
    if (kind >= 4) {
        uint8_t *views = draw_bytes(input, all * 16);
        int64_t *sizes = fuzz_need(16);
        for (uint64_t i = 0; i < all && fuzz_draw(input, 1) % 4; i++) /* near the truth */
            views[i * 16 + 1] = views[i * 16 + 2] = views[i * 16 + 3] = 0;
        m->buffers[1] = views;
        for (int k = 0; k < 2; k++) {
            sizes[k] = (int64_t)(fuzz_draw(input, 1) % 80);
            m->buffers[2 + k] = draw_bytes(input, (uint64_t)sizes[k]);
        }
        m->buffers[4] = sizes;
        m->array.n_buffers = 5;
        return;
    }
    uint64_t width = kind < 2 ? 4 : 8, largest = 0, at = 0;
    uint8_t *offsets = fuzz_need((all + 1) * width);
    int lies = fuzz_draw(input, 1) % 4 == 0;
    for (uint64_t i = 0; i <= all; i++) {
        at = lies ? fuzz_draw(input, (unsigned)width) : at + fuzz_draw(input, 1) % 40;
        memcpy(offsets + i * width, &at, width);
        if (at < MOST_BYTES && at > largest) largest = at;
        /* What cannot be there must not be pointed to by offsets that look good. */
        if (at >= MOST_BYTES && !(at >> (width * 8 - 1))) memset(offsets + i * width, 0, width);
    }
    m->buffers[1] = offsets;
    m->buffers[2] = draw_bytes(input, largest);
    m->array.n_buffers = 3;
}

static void make_indices(made *m, made *values, fuzz_input *input) {
    static const char *const formats[] = {"c", "s", "i", "l", "C", "S", "I", "L"};
    uint64_t kind = fuzz_draw(input, 1) % 8, length = fuzz_draw(input, 2) % MOST_ROWS;
    begin(m, formats[kind], length, input);
    m->buffers[1] = draw_bytes(input, (length + (uint64_t)m->array.offset) << kind % 4);
    m->array.n_buffers = 2;
    m->schema.dictionary = &values->schema;
    m->array.dictionary = &values->array;
}

static int take(void *context, const void *data, size_t size) {
    uint8_t **end = context;
    memcpy(*end, data, size);
    *end += size;
    return 0;
}

static void free_made(made *m) {
    for (int i = 0; i < BUFFERS; i++) free((void *)(uintptr_t)m->buffers[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { ROOM = 64 << 20 };
    fuzz_input input = {data, size};
    made strings, indices, outer, *top = &strings;
    struct ArrowSchema *schema_children[1];
    struct ArrowArray *array_children[1];
    uint64_t shape = fuzz_draw(&input, 1);
    make_strings(&strings, &input);
    memset(&indices, 0, sizeof indices);
    memset(&outer, 0, sizeof outer);
    if (shape & 1) make_indices(top = &indices, &strings, &input);
    if (shape & 2) {
        begin(&outer, "+s", fuzz_draw(&input, 2) % MOST_ROWS, &input);
        schema_children[0] = &top->schema, array_children[0] = &top->array;
        outer.schema.n_children = outer.array.n_children = outer.array.n_buffers = 1;
        outer.schema.children = schema_children, outer.array.children = array_children;
        top = &outer;
    }
    uint8_t *image = fuzz_need(ROOM), *end = image;
    fastpair_sink sink = {take, &end};
    fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                  .type = shape & 4 ? FASTPAIR_TYPE_TEXT : FASTPAIR_TYPE_BYTES};
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_STORED, .metadata = &metadata};
    fastpair_writer *writer;
    fastpair_column *column;
    fastpair_error error;
    DEMAND_OK(fastpair_writer_open(&sink, &options, &writer, &error), &error);
    fastpair_status status =
        fastpair_writer_append_arrow(writer, &top->schema, &top->array, NULL, &error);
    DEMAND(status == FASTPAIR_OK || status == FASTPAIR_ERROR_INVALID_ARGUMENT ||
           status == FASTPAIR_ERROR_LIMIT);
    DEMAND_OK(fastpair_writer_finish(writer, &error), &error);
    fastpair_writer_close(writer);
    DEMAND_OK(fastpair_column_open(image, (uint64_t)(end - image), NULL, &column, &error), &error);
    DEMAND_OK(fastpair_column_validate(column, &error), &error);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    DEMAND_OK(fastpair_column_get_totals(column, &totals, &error), &error);
    DEMAND(totals.rows == (status ? 0 : (uint64_t)top->array.length));
    fastpair_column_close(column);
    free(image);
    free_made(&strings), free_made(&indices), free_made(&outer);
    return 0;
}
