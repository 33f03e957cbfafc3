/* test_gpu_select.c - selections on a real GPU through the public calls: columns of several codecs and
 * widths, with and without nulls, with rows of a few bytes and of many KB, by bitmaps and by lists, from codes and from a decoded column,
 * compared with the rows that went in. Nothing after the blocks that the library asked for may be
 * written. Without a GPU it is skipped; the made-up driver runs it in the emulator. */
#include "device_rows.h"
#include "fastpair_gpu_select.h"

/* A selection on the device, and the rows that it has. */
typedef struct chosen {
    fastpair_gpu_selection selection;
    fastpair_gpu_block given;
    uint64_t *rows, count, bytes;
} chosen;

static uint64_t random_state = 5;

static uint64_t draw(uint64_t limit) { return check_random(&random_state) % limit; }

/* Some percent of the rows: by a bitmap, or as many numbers of any rows in any order. */
static chosen choose(const sample *s, uint32_t percent, int is_list) {
    chosen c = {.selection = {.struct_size = sizeof c.selection}};
    uint64_t size = bitmap_bytes(s);
    c.rows = malloc((s->rows + 1) * sizeof *c.rows);
    uint8_t *bits = calloc(size + 1, 1);
    for (uint64_t row = 0; row < s->rows; row++) {
        if (draw(100) >= percent) continue;
        c.rows[c.count++] = is_list ? draw(s->rows) : row;
        bits[row / 8] |= (uint8_t)(1 << row % 8);
    }
    for (uint64_t i = 0; i < c.count; i++)
        c.bytes += s->offsets[c.rows[i] + 1] - s->offsets[c.rows[i]];
    c.given = guarded_block(is_list ? 8 * c.count : size);
    device_ok(&cuda, cuda.copy_to_device(c.given.address, is_list ? (void *)c.rows : (void *)bits,
                                         c.given.bytes, NULL));
    device_ok(&cuda, cuda.stream_wait(NULL));
    if (is_list)
        c.selection.numbers = c.given.address, c.selection.most_rows = c.count;
    else
        c.selection.bitmap = c.given.address;
    c.selection.number_bits = 64;
    free(bits);
    return c;
}

static void read_back(void *to, uint64_t from, uint64_t size, cuda_stream stream) {
    if (size) device_ok(&cuda, cuda.copy_to_host(to, from, size, stream));
    device_ok(&cuda, cuda.stream_wait(stream));
}

/* Everything that was written against the rows that went in. */
static void compare(const sample *s, const chosen *c, const fastpair_gpu_selected *to,
                    cuda_stream stream) {
    uint8_t *bytes = malloc(c->bytes + 1), *validity = malloc(c->count / 8 + 8);
    uint64_t *offsets = malloc((c->count + 1) * sizeof *offsets), at = 0, wrong = 0;
    read_back(bytes, to->bytes, c->bytes, stream);
    read_back(validity, to->validity, (c->count + 31) / 32 * 4, stream);
    read_back(offsets, to->offsets, 8 * (c->count + 1), stream);
    for (uint64_t i = 0; i < c->count; i++) {
        uint64_t row = c->rows[i], size = s->offsets[row + 1] - s->offsets[row];
        wrong += offsets[i] != at || memcmp(bytes + at, s->bytes + s->offsets[row], size) != 0;
        wrong += (validity[i / 8] >> i % 8 & 1) != (s->validity[row / 8] >> row % 8 & 1);
        at += size;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(offsets[c->count], c->bytes);
    free(bytes), free(validity), free(offsets);
}

/* One selection, in room of exactly its size; then in room that is a byte too small. */
static void check_selection(const searched *of, const fastpair_gpu_select *select, const sample *s,
                            const chosen *c, int is_copied) {
    cuda_stream stream = of->run.outputs.stream;
    fastpair_error error = {0};
    uint64_t size = 0, sizes[2];
    uint32_t reported;
    CHECK_EQ(fastpair_gpu_select_scratch(select, &c->selection, &size, &error), FASTPAIR_OK);
    fastpair_gpu_block scratch = guarded_block(size), bytes = guarded_block(c->bytes);
    fastpair_gpu_block offsets = guarded_block(8 * (c->count + 1));
    fastpair_gpu_block validity = guarded_block((c->count + 31) / 32 * 4),
                       status = guarded_block(4);
    device_ok(&cuda, cuda.fill(status.address, 0, 4, NULL));
    device_ok(&cuda, cuda.stream_wait(NULL));
    CHECK_EQ(fastpair_gpu_select_sizes(select, &c->selection, &scratch, stream, &error),
             FASTPAIR_OK);
    fastpair_gpu_selected to = {.struct_size = sizeof to,
                                .bytes = bytes.address,
                                .bytes_capacity = c->bytes - (c->bytes != 0),
                                .rows_capacity = c->count,
                                .offsets = offsets.address,
                                .offset_bits = 64,
                                .validity = validity.address,
                                .status = status.address};
    if (is_copied) {
        to.decoded = of->run.outputs.to->bytes, to.decoded_offsets = of->run.outputs.to->offsets;
        to.decoded_offset_bits = of->run.outputs.to->offset_bits;
    }
    if (c->bytes) {
        CHECK_EQ(fastpair_gpu_select_decode(select, &c->selection, &scratch, &to, stream, &error),
                 FASTPAIR_OK);
        read_back(&reported, status.address, 4, stream);
        CHECK_EQ(reported, FASTPAIR_GPU_TOO_SMALL);
        device_ok(&cuda, cuda.fill(status.address, 0, 4, stream));
    }
    to.bytes_capacity = c->bytes;
    CHECK_EQ(fastpair_gpu_select_decode(select, &c->selection, &scratch, &to, stream, &error),
             FASTPAIR_OK);
    read_back(sizes, scratch.address, 16, stream);
    read_back(&reported, status.address, 4, stream);
    CHECK_EQ(sizes[0], c->count);
    CHECK_EQ(sizes[1], c->bytes);
    CHECK_EQ(reported, 0);
    compare(s, c, &to, stream);
    close_block(scratch), close_block(bytes), close_block(offsets);
    close_block(validity), close_block(status);
}

static void check_sample(const sample *s) {
    static const uint32_t percents[] = {0, 1, 10, 50, 100};
    searched of = searched_open(s);
    fastpair_gpu_select *select = NULL;
    fastpair_gpu_select_info info = {.struct_size = sizeof info};
    cuda_stream stream = of.run.outputs.stream;
    CHECK_EQ(fastpair_gpu_select_open(of.rows, &select, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_select_get_info(select, &info, NULL), FASTPAIR_OK);
    fastpair_gpu_block memory = guarded_block(info.device_bytes);
    device_ok(&cuda, cuda.stream_wait(NULL));
    CHECK_EQ(fastpair_gpu_select_upload(select, &memory, stream, NULL), FASTPAIR_OK);
    CHECK_EQ(run_decode(&of.run, NULL, stream), FASTPAIR_OK);
    for (uint32_t i = 0; i < 4 * sizeof percents / sizeof *percents; i++) {
        chosen c = choose(s, percents[i / 4], i & 1);
        check_selection(&of, select, s, &c, i >> 1 & 1);
        close_block(c.given);
        free(c.rows);
    }
    fastpair_gpu_select_close(select);
    close_block(memory);
    searched_close(&of);
}

/* Text in rows of any length up to a tenth of it, most of them long. */
static sample open_long_rows(uint64_t bytes, const fastpair_compress_options *options) {
    sample s = sample_open(L_COMMENT, bytes, options);
    uint64_t size = s.offsets[s.rows], rows = 0, at = 0, image_size = 0;
    uint8_t *image = NULL;
    for (; at < size && rows < s.rows; rows++) {
        s.offsets[rows] = at;
        at += draw(4) ? draw(size / 10) : draw(100);
        if (at > size) at = size;
    }
    s.offsets[rows] = at;
    fastpair_rows view = view_rows(rows, s.bytes, s.offsets);
    CHECK_EQ(fastpair_compress(&view, options, &image, &image_size, NULL), FASTPAIR_OK);
    sample_close(&s);
    return sample_of_image((forge_bytes){image, image_size});
}

int main(void) {
    gpu = open_or_skip(&cuda);
    uint64_t bytes = getenv("FASTPAIR_TEST_SMALL") ? 12000 : 3000000;
    const fastpair_compress_options codecs[] = {
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .max_token = 64},
        {.codec = FASTPAIR_CODEC_FSST12},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16},
        {.codec = FASTPAIR_CODEC_STORED}};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        fastpair_compress_options options = codecs[i];
        options.struct_size = sizeof options;
        options.chunk_bytes = bytes / 5;
        for (int kind = 0; kind < COLUMN_KINDS; kind++) {
            sample s = sample_open(kind, bytes, &options);
            check_sample(&s);
            sample_close(&s);
        }
        options.chunk_bytes = bytes * 4;
        sample s = open_long_rows(bytes * 10, &options);
        check_sample(&s);
        sample_close(&s);
    }
    close_both(gpu, &cuda);
    return check_done();
}
