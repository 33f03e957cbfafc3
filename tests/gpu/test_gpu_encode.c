/* test_gpu_encode.c - rows encoded on a real GPU through the public calls, in memory with guards:
 * shaped columns with several codecs, with and without nulls, in one piece and in several. The file
 * must be what the CPU writes, and what was encoded must decode from device memory. With names of
 * files as arguments their lines (of *.nul: what NULs end) are the rows, instead, with dictionaries
 * of many widths; chunks=N stands for a column of N tiny chunks. Without a GPU it is skipped; the made-up driver runs it in the emulator. */
#include "device_rows.h"
#include "fastpair_gpu_encode.h"
#include "shapes.h"

/* ---------------------------------------------------------------- memory */

static fastpair_gpu_block block_of(const void *from, uint64_t bytes) {
    fastpair_gpu_block block = guarded_block(bytes);
    if (bytes) device_ok(&cuda, cuda.copy_to_device(block.address, from, bytes, NULL));
    device_ok(&cuda, cuda.stream_wait(NULL));
    return block;
}

static void read_back(void *to, uint64_t from, uint64_t size) {
    if (size) device_ok(&cuda, cuda.copy_to_host(to, from, size, NULL));
    device_ok(&cuda, cuda.stream_wait(NULL));
}

/* ---------------------------------------------------------------- encoding */

/* A column that is being encoded, and its file so far. */
typedef struct encoding {
    fastpair_gpu_encoder *encoder;
    fastpair_gpu_encoded *encoded;
    fastpair_gpu_block tables, scratch, last_image;
    uint8_t *image;
    uint64_t size, pieces;
} encoding;

static encoding encoding_open(const fastpair_compress_options *options, const fastpair_rows *rows) {
    encoding e = {0};
    fastpair_error error = {.message = ""};
    fastpair_gpu_encoder_info info = {.struct_size = sizeof info};
    fastpair_gpu_encode_sizes sizes = {.struct_size = sizeof sizes};
    CHECK_EQ(fastpair_gpu_encoder_open(gpu, options, &e.encoder, &error), FASTPAIR_OK);
    if (!e.encoder) fprintf(stderr, "  %s\n", error.message), abort();
    CHECK_EQ(fastpair_gpu_encoder_get_info(e.encoder, &info, NULL), FASTPAIR_OK);
    e.tables = guarded_block(info.device_bytes);
    fastpair_gpu_encode_input all = {.struct_size = sizeof all,
                                     .rows = rows->rows,
                                     .bytes_size = rows->rows ? fp_row_start(rows, rows->rows) : 0,
                                     .validity = rows->validity != NULL};
    CHECK_EQ(fastpair_gpu_encoder_sizes(e.encoder, &all, &sizes, NULL), FASTPAIR_OK);
    e.scratch = guarded_block(sizes.scratch_bytes);
    CHECK_EQ(fastpair_gpu_encoder_upload(e.encoder, &e.tables, NULL, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_encoded_open(e.encoder, &e.encoded, NULL), FASTPAIR_OK);
    return e;
}

static void encoding_close(encoding *e) {
    fastpair_gpu_encoded_close(e->encoded);
    fastpair_gpu_encoder_close(e->encoder);
    close_block(e->tables);
    close_block(e->scratch);
    if (e->last_image.address) close_block(e->last_image);
    free(e->image);
}

/* Encodes rows first .. first + count. */
static fastpair_status encode_piece(encoding *e, const fastpair_rows *rows, uint64_t first,
                                    uint64_t count) {
    uint64_t base = count ? fp_row_start(rows, first) : 0;
    uint64_t size = count ? fp_row_start(rows, first + count) - base : 0;
    uint64_t *offsets = malloc((count + 1) * sizeof *offsets),
             bit = first + rows->validity_bit_offset;
    for (uint64_t i = 0; count && i <= count; i++)
        offsets[i] = fp_row_start(rows, first + i) - base;
    fastpair_gpu_block bytes = block_of(rows->bytes + base, size);
    fastpair_gpu_block starts = block_of(offsets, 8 * (count + 1)), bits = {0};
    if (rows->validity) bits = block_of(rows->validity + bit / 8, (bit % 8 + count + 7) / 8);
    fastpair_gpu_encode_input input = {.struct_size = sizeof input,
                                       .rows = count,
                                       .bytes = bytes.address,
                                       .bytes_size = size,
                                       .offsets = starts.address,
                                       .offset_bits = 64,
                                       .validity = bits.address,
                                       .validity_bit_offset = bit % 8,
                                       .has_before = first != 0,
                                       .has_after = first + count < rows->rows};
    fastpair_gpu_encode_sizes sizes = {.struct_size = sizeof sizes};
    fastpair_gpu_encoded_piece piece = {.struct_size = sizeof piece};
    fastpair_error error = {.message = ""};
    CHECK_EQ(fastpair_gpu_encoder_sizes(e->encoder, &input, &sizes, NULL), FASTPAIR_OK);
    fastpair_gpu_encode_output output = {.struct_size = sizeof output,
                                         .image = guarded_block(sizes.output_bytes),
                                         .record = guarded_block(sizes.record_bytes)};
    uint8_t *record = malloc(sizes.record_bytes);
    device_ok(&cuda, cuda.stream_wait(NULL));
    fastpair_status status =
        fastpair_gpu_encoder_encode(e->encoder, &input, &e->scratch, &output, NULL, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    read_back(record, output.record.address, sizes.record_bytes);
    if (!status)
        status = fastpair_gpu_encoded_add(e->encoded, record, sizes.record_bytes, &piece, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status) fprintf(stderr, "  %s\n", error.message);
    e->image = realloc(e->image, e->size + piece.image_bytes + 1);
    read_back(e->image + e->size, output.image.address, piece.image_bytes);
    if (!status)
        CHECK_EQ(fastpair_gpu_encoded_complete(e->encoded, e->size, e->image + e->size,
                                               piece.image_bytes, NULL),
                 FASTPAIR_OK);
    e->size += piece.image_bytes;
    e->pieces++;
    close_block(bytes), close_block(starts), close_block(output.record);
    if (rows->validity) close_block(bits);
    if (e->last_image.address) close_block(e->last_image);
    e->last_image = output.image;
    free(record), free(offsets);
    return status;
}

static uint64_t cut(const encoding *e, const fastpair_rows *rows, uint64_t first, uint64_t window) {
    fastpair_rows left = *rows;
    uint64_t count = 0;
    if (rows->rows) left.offsets = (const uint64_t *)rows->offsets + first;
    left.validity_bit_offset += first;
    for (; window && window < rows->rows - first && !count; window *= 2) {
        left.rows = window;
        count = fastpair_gpu_encoder_cut(e->encoder, &left, first != 0, 1);
    }
    return count ? count : rows->rows - first;
}

/* Decodes a column of one piece where it is. */
static void check_on_device(encoding *e, const uint8_t *wanted, uint64_t size) {
    fastpair_column *column = NULL;
    fastpair_gpu_job *job = NULL;
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .device_images = &e->last_image.address};
    CHECK_EQ(fastpair_gpu_encoded_open_column(e->encoded, NULL, &column, NULL), FASTPAIR_OK);
    const fastpair_column *columns[] = {column};
    CHECK_EQ(fastpair_gpu_job_open(gpu, columns, 1, &options, &job, NULL), FASTPAIR_OK);
    if (!job) return;
    CHECK_EQ(fastpair_gpu_job_get_info(job, &info, NULL), FASTPAIR_OK);
    fastpair_gpu_block memory = guarded_block(info.device_bytes), word = guarded_block(4);
    fastpair_gpu_output to = {.struct_size = sizeof to,
                              .bytes = guarded_block(size).address,
                              .bytes_capacity = size,
                              .status = word.address};
    uint8_t *bytes = malloc(size + 1);
    uint32_t reported = 1;
    device_ok(&cuda, cuda.fill(word.address, 0, 4, NULL));
    CHECK_EQ(fastpair_gpu_job_upload(job, memory.address, memory.bytes, NULL, NULL, NULL),
             FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_job_decode(job, &to, NULL, NULL, NULL), FASTPAIR_OK);
    read_back(bytes, to.bytes, size);
    read_back(&reported, word.address, 4);
    CHECK_EQ(reported, 0);
    CHECK(!memcmp(bytes, wanted, size));
    free(bytes);
    close_block(memory), close_block(word);
    close_block((fastpair_gpu_block){to.bytes, size});
    fastpair_gpu_job_close(job);
    fastpair_column_close(column);
}

/* Rows both ways; `window`: rows that a piece may have, 0: all. `out` are the bytes of valid rows.
 */
static void check_rows(const char *name, const fastpair_rows *rows, const uint8_t *out,
                       const fastpair_compress_options *options, uint64_t window) {
    uint8_t *wanted = NULL;
    const uint8_t *footer = NULL;
    uint64_t wanted_size = 0, footer_bytes = 0, out_size = 0;
    fastpair_status status = fastpair_compress(rows, options, &wanted, &wanted_size, NULL);
    CHECK_EQ(status, FASTPAIR_OK);
    encoding e = encoding_open(options, rows);
    for (uint64_t first = 0, count; !status; first += count) {
        count = cut(&e, rows, first, window);
        status = encode_piece(&e, rows, first, count);
        if (first + count == rows->rows) break;
    }
    if (!status) status = fastpair_gpu_encoded_finish(e.encoded, &footer, &footer_bytes, NULL);
    CHECK_EQ(status, FASTPAIR_OK);
    e.image = realloc(e.image, e.size + footer_bytes + 1);
    if (footer) memcpy(e.image + e.size, footer, footer_bytes);
    e.size += footer_bytes;
    int same = !status && e.size == wanted_size && !memcmp(e.image, wanted, wanted_size);
    uint64_t at = 0;
    while (at < e.size && at < wanted_size && e.image[at] == wanted[at]) at++;
    CHECK(same);
    if (!same || getenv("FASTPAIR_TEST_VERBOSE"))
        fprintf(stderr, "  %s: %s, %llu bytes of %llu, %llu pieces, differ at %llu\n", name,
                same ? "same" : "WRONG", (unsigned long long)e.size,
                (unsigned long long)wanted_size, (unsigned long long)e.pieces,
                (unsigned long long)at);
    for (uint64_t i = 0; i < rows->rows; i++)
        if (!fp_row_is_null(rows, i)) out_size += fp_row_start(rows, i + 1) - fp_row_start(rows, i);
    if (same && e.pieces == 1) check_on_device(&e, out, out_size);
    encoding_close(&e);
    fastpair_free(NULL, wanted);
}

static void check_codec(const char *name, const fastpair_rows *rows, const uint8_t *out,
                        const fastpair_compress_options *codec, uint64_t window) {
    fastpair_dictionary *dictionary = NULL;
    fastpair_compress_options options = *codec;
    options.struct_size = sizeof options;
    CHECK_EQ(fastpair_dictionary_train(rows, &options, &dictionary, NULL), FASTPAIR_OK);
    fastpair_metadata metadata = {.struct_size = sizeof metadata, .type = FASTPAIR_TYPE_DETECT};
    options.dictionary = dictionary;
    options.codec = FASTPAIR_CODEC_AUTO;
    options.code_bits = options.max_token = 0;
    options.metadata = &metadata;
    options.threads = 4;
    check_rows(name, rows, out, &options, window);
    fastpair_dictionary_close(dictionary);
}

/* ---------------------------------------------------------------- what is encoded */

static void check_shapes(void) {
    const fastpair_compress_options codecs[] = {
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 14, .max_token = 64},
        {.codec = FASTPAIR_CODEC_FSST12},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16}};
    int is_small = getenv("FASTPAIR_TEST_SMALL") != NULL;
    for (int kind = 0; kind < SHAPE_KINDS; kind++)
        for (uint32_t i = 0; i < 4; i++) {
            if (is_small && (kind + i) % 8) continue;
            shape s;
            fastpair_compress_options codec = codecs[i];
            fastpair_expert_options expert = {.struct_size = sizeof expert};
            uint64_t bytes = is_small ? 20000 : 2000000;
            shape_options shaped = {
                .bytes = bytes, .null_percent = (kind + i) % 3 ? 0 : 20, .bit_offset = i};
            shape_make(&s, (shape_kind)kind, 7 + i, &shaped);
            if (i & 1) codec.chunk_bytes = bytes / 20, expert.sample_bytes = bytes / 10;
            codec.expert = &expert;
            if (s.rows.rows)
                check_codec(s.name, &s.rows, s.out_bytes, &codec, i & 1 ? s.rows.rows / 5 + 1 : 0);
            shape_free(&s);
        }
}

static void check_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fprintf(stderr, "cannot open %s\n", path), abort();
    int separator = strstr(path, ".nul") ? 0 : '\n';
    fseek(file, 0, SEEK_END);
    uint64_t size = (uint64_t)ftell(file), used = 0, count = 0;
    rewind(file);
    uint8_t *bytes = malloc(size + 1);
    if (fread(bytes, 1, size, file) != size) abort();
    fclose(file);
    for (uint64_t i = 0; i < size; i++) count += bytes[i] == separator;
    uint64_t *offsets = malloc((count + 2) * sizeof *offsets), rows = 0;
    offsets[0] = 0;
    for (uint64_t i = 0; i < size; i++) {
        uint8_t byte = bytes[i]; /* rows move left over separators */
        if (byte != separator) bytes[used++] = byte;
        if (byte == separator || i + 1 == size) offsets[++rows] = used;
    }
    fastpair_rows view = view_rows(rows, bytes, offsets);
    const fastpair_compress_options codecs[] = {
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .max_token = 8},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 14, .max_token = 32},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16, .max_token = 64},
        {.codec = FASTPAIR_CODEC_FSST12}};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        fastpair_compress_options codec = codecs[i];
        codec.level = 1;
        check_codec(path, &view, bytes, &codec, 0);
    }
    free(bytes), free(offsets);
}

/* So many chunks of one row each, a little over 1 KiB. */
static void check_chunks(uint64_t chunks) {
    const uint64_t longest = 1060;
    uint64_t *offsets = malloc((chunks + 1) * sizeof *offsets), size = 0, random = 5;
    uint8_t *bytes = malloc(chunks * longest);
    if (!offsets || !bytes) abort();
    offsets[0] = 0;
    for (uint64_t row = 0; row < chunks; row++) {
        uint64_t word = check_random(&random) % 30, length = longest - word;
        for (uint64_t i = 0; i < length; i++)
            bytes[size++] = (uint8_t)("row of a chunk; "[(i + word) % 16] + (i % 97 == word));
        offsets[row + 1] = size;
    }
    fastpair_rows rows = view_rows(chunks, bytes, offsets);
    fastpair_compress_options codec = {
        .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .level = 1, .chunk_bytes = 1024};
    check_codec("tiny chunks", &rows, bytes, &codec, 0);
    free(bytes), free(offsets);
}

int main(int argc, char **argv) {
    gpu = open_or_skip(&cuda);
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "chunks=", 7))
            check_chunks(strtoull(argv[i] + 7, NULL, 0));
        else
            check_file(argv[i]);
    if (argc == 1) {
        check_shapes();
        check_chunks(getenv("FASTPAIR_TEST_SMALL") ? 40 : 20000);
    }
    close_both(gpu, &cuda);
    return check_done();
}
