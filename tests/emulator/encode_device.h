/* encode_device.h - columns encoded through the library's own calls on the made-up GPU, in memory
 * of exactly the sizes that the library states, and decoded there again. */
#ifndef FP_TESTS_ENCODE_DEVICE_H
#define FP_TESTS_ENCODE_DEVICE_H

#include "check.h"
#include "fake_device.h"
#include "fastpair_gpu_encode.h"
#include "gpu/encoder.h"
#include "shapes.h"

static uint64_t random_state;

static inline uint32_t draw(uint32_t bound) {
    return (uint32_t)(check_random(&random_state) % bound);
}

/* Blocks on the device. Those of the column stay from piece to piece. */
enum { TABLES, SCRATCH, BYTES, OFFSETS, BITS, IMAGE, RECORD, WHOLE, BLOCKS };
static void *blocks[BLOCKS];
static uint64_t block_bytes[BLOCKS], block_skip[BLOCKS];

/* Tells the emulator of all blocks that are there. */
static void know_blocks(void) {
    fake_forget_memory();
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i] && block_bytes[i])
            fake_know_memory((uint8_t *)blocks[i] + block_skip[i], block_bytes[i]);
}

static fastpair_gpu_block make_block(int i, uint64_t skip, uint64_t size) {
    free(blocks[i]);
    block_bytes[i] = size, block_skip[i] = skip;
    fastpair_gpu_block block = {fake_block(&blocks[i], skip, size), size};
    know_blocks();
    return block;
}

static void close_blocks(void) {
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]), blocks[i] = NULL;
    fake_forget_memory();
}

/* How a column is encoded. */
typedef struct encode_way {
    uint32_t offset_bits;
    uint64_t piece_bytes; /* 0: one piece */
    uint64_t first_offset;
} encode_way;

/* Rows first .. first + count in device memory, in blocks that have nothing besides. */
static fastpair_gpu_encode_input place_rows(const fastpair_rows *rows, uint64_t first,
                                            uint64_t count, const encode_way *way) {
    fastpair_gpu_encode_input input = {
        .struct_size = sizeof input, .rows = count, .offset_bits = way->offset_bits};
    uint64_t base = count ? fp_row_start(rows, first) : 0;
    uint64_t size = count ? fp_row_start(rows, first + count) - base : 0;
    uint32_t width = way->offset_bits / 8;
    input.bytes_size = way->first_offset + size;
    input.bytes = make_block(BYTES, draw(20), input.bytes_size).address;
    if (size)
        memcpy((uint8_t *)(uintptr_t)input.bytes + way->first_offset, rows->bytes + base, size);
    input.offsets = make_block(OFFSETS, width, (count + 1) * width).address;
    for (uint64_t i = 0; count && i <= count; i++) {
        uint64_t offset = fp_row_start(rows, first + i) - base + way->first_offset;
        memcpy((uint8_t *)(uintptr_t)input.offsets + i * width, &offset, width);
    }
    if (!rows->validity || !count) return input;
    uint64_t bit = rows->validity_bit_offset + first;
    input.validity_bit_offset = bit % 8 + 8 * draw(3);
    uint64_t bits = (input.validity_bit_offset + count + 7) / 8;
    input.validity = make_block(BITS, draw(9), bits).address;
    memcpy((uint8_t *)(uintptr_t)input.validity + input.validity_bit_offset / 8,
           rows->validity + bit / 8, (bit % 8 + count + 7) / 8);
    return input;
}

/* An encoded column: the file, and the same without headers at blocks[WHOLE]. */
typedef struct encoded_column {
    fastpair_gpu_encoder *encoder;
    fastpair_gpu_encoded *encoded;
    uint8_t *image;
    uint64_t size, pieces;
    fastpair_status status; /* of the first call that failed */
    fastpair_error error;
} encoded_column;

static inline void close_encoded(encoded_column *column) {
    fastpair_gpu_encoded_close(column->encoded);
    fastpair_gpu_encoder_close(column->encoder);
    free(column->image);
    close_blocks();
    *column = (encoded_column){0};
}

static inline void open_encoder(encoded_column *column, const fastpair_compress_options *options) {
    fastpair_gpu_encoder_info info = {.struct_size = sizeof info};
    fastpair_error *error = &column->error;
    column->status = fastpair_gpu_encoder_open(&fake.gpu, options, &column->encoder, error);
    if (column->status) return;
    CHECK_EQ(fastpair_gpu_encoder_get_info(column->encoder, &info, NULL), FASTPAIR_OK);
    fastpair_gpu_block tables = make_block(TABLES, 0, info.device_bytes);
    CHECK_EQ(fastpair_gpu_encoder_upload(column->encoder, &tables, NULL, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_encoded_open(column->encoder, &column->encoded, NULL), FASTPAIR_OK);
}

/* Encodes one piece, and takes it to the end of the image. `less` bytes of output are missing. */
static inline void encode_piece(encoded_column *column, const fastpair_gpu_encode_input *input,
                                uint64_t less) {
    fastpair_gpu_encode_sizes sizes = {.struct_size = sizeof sizes};
    fastpair_gpu_encoded_piece piece = {.struct_size = sizeof piece};
    fastpair_error *error = &column->error;
    CHECK_EQ(fastpair_gpu_encoder_sizes(column->encoder, input, &sizes, NULL), FASTPAIR_OK);
    fastpair_gpu_block scratch = {(uint64_t)(uintptr_t)blocks[SCRATCH], block_bytes[SCRATCH]};
    CHECK(scratch.bytes >= sizes.scratch_bytes);
    fastpair_gpu_encode_output output = {.struct_size = sizeof output};
    output.image = make_block(IMAGE, 0, sizes.output_bytes > less ? sizes.output_bytes - less : 0);
    output.record = make_block(RECORD, 0, sizes.record_bytes);
    fake_wish.seed = check_random(&random_state);
    column->status =
        fastpair_gpu_encoder_encode(column->encoder, input, &scratch, &output, NULL, error);
    if (!column->status)
        column->status = fastpair_gpu_encoded_add(column->encoded, blocks[RECORD],
                                                  sizes.record_bytes, &piece, error);
    if (column->status) return;
    CHECK_EQ(piece.image_offset, column->size);
    CHECK_EQ(piece.rows, input->rows);
    CHECK(piece.image_bytes <= output.image.bytes);
    column->image = realloc(column->image, column->size + piece.image_bytes + 1);
    if (!column->image) abort();
    memcpy(column->image + column->size, blocks[IMAGE], piece.image_bytes);
    column->size += piece.image_bytes;
    column->pieces++;
}

/* Scratch of all rows: what a whole column needs, and no piece needs more. */
static inline void place_scratch(encoded_column *column, const fastpair_rows *rows,
                                 const encode_way *way) {
    fastpair_gpu_encode_sizes sizes = {.struct_size = sizeof sizes};
    uint64_t size = rows->rows ? fp_row_start(rows, rows->rows) - fp_row_start(rows, 0) : 0;
    fastpair_gpu_encode_input all = {.struct_size = sizeof all,
                                     .rows = rows->rows,
                                     .bytes_size = size + way->first_offset,
                                     .validity = rows->validity != NULL};
    CHECK_EQ(fastpair_gpu_encoder_sizes(column->encoder, &all, &sizes, NULL), FASTPAIR_OK);
    make_block(SCRATCH, 0, sizes.scratch_bytes);
}

/* The rows of the next piece: those that a window of piece_bytes has, or a larger one. */
static inline uint64_t cut_rows(const fastpair_gpu_encoder *encoder, const fastpair_rows *left,
                                int has_before, const encode_way *way) {
    uint64_t count = 0;
    for (uint64_t bytes = way->piece_bytes; bytes && !count; bytes *= 2) {
        fastpair_rows window = *left;
        window.rows = 0;
        while (window.rows < left->rows &&
               fp_row_start(left, window.rows) - fp_row_start(left, 0) < bytes)
            window.rows++;
        if (window.rows == left->rows) break;
        count = fastpair_gpu_encoder_cut(encoder, &window, has_before, 1);
    }
    return count ? count : left->rows;
}

/* Encodes rows, in pieces if the way says so. Afterwards column->image is the file. */
static inline encoded_column encode_rows(const fastpair_rows *rows,
                                         const fastpair_compress_options *options,
                                         const encode_way *way) {
    encoded_column column = {0};
    open_encoder(&column, options);
    for (uint64_t first = 0, count; !column.status; first += count) {
        fastpair_rows left = *rows;
        left.rows -= first;
        if (rows->rows) left.offsets = (const uint8_t *)rows->offsets + first * 8;
        left.validity_bit_offset += first;
        count = cut_rows(column.encoder, &left, first != 0, way);
        fastpair_gpu_encode_input input = place_rows(rows, first, count, way);
        input.has_before = first != 0;
        input.has_after = first + count < rows->rows;
        if (!first) place_scratch(&column, rows, way);
        encode_piece(&column, &input, 0);
        if (!input.has_after) break;
    }
    if (column.status) return column;
    make_block(WHOLE, 0, column.size);
    memcpy(blocks[WHOLE], column.image, column.size);
    const uint8_t *footer = NULL;
    uint64_t footer_bytes = 0;
    column.status =
        fastpair_gpu_encoded_finish(column.encoded, &footer, &footer_bytes, &column.error);
    const fp_encoded_piece *pieces = fp_encoded_pieces(column.encoded);
    for (uint64_t i = 0; i < column.pieces && !column.status; i++)
        column.status = fastpair_gpu_encoded_complete(column.encoded, pieces[i].image_offset,
                                                      column.image + pieces[i].image_offset,
                                                      pieces[i].image_bytes, &column.error);
    column.image = realloc(column.image, column.size + footer_bytes);
    if (!column.image) abort();
    if (footer) memcpy(column.image + column.size, footer, footer_bytes);
    column.size += footer_bytes;
    return column;
}

/* ---------------------------------------------------------------- comparing */

/* Where two files differ, in words. */
static inline void explain_difference(const uint8_t *is, uint64_t is_size, const uint8_t *wanted,
                                      uint64_t wanted_size) {
    static const char *const names[] = {"codes", "sidecar", "lengths", "validity"};
    uint64_t at = 0;
    fastpair_column *column = NULL;
    while (at < is_size && at < wanted_size && is[at] == wanted[at]) at++;
    fprintf(stderr, "  %llu bytes, wanted %llu; they differ at %llu", (unsigned long long)is_size,
            (unsigned long long)wanted_size, (unsigned long long)at);
    if (fastpair_column_open(wanted, wanted_size, NULL, &column, NULL) == FASTPAIR_OK) {
        for (uint64_t i = 0; i < column->totals.chunks; i++) {
            fp_chunk_view view;
            if (fp_column_chunk(column, i, &view, NULL)) break;
            uint64_t from = view.chunk->position;
            if (at < from || at >= from + view.chunk->block_bytes) continue;
            fprintf(stderr, ": chunk %llu of %llu, %s, byte %llu", (unsigned long long)i,
                    (unsigned long long)column->totals.chunks,
                    view.chunk->coded ? "coded" : "stored", (unsigned long long)(at - from));
            for (int s = 0; s < FP_SECTIONS; s++) {
                uint64_t section = from + view.chunk->sections[s].offset;
                if (view.chunk->sections[s].size && at >= section &&
                    at < section + view.chunk->sections[s].size)
                    fprintf(stderr, ", byte %llu of %s", (unsigned long long)(at - section),
                            names[s]);
            }
        }
        fastpair_column_close(column);
    }
    fprintf(stderr, "\n");
}

/* Decodes what was encoded from device memory, without the file, and compares it with the rows. */
static inline void check_decoded_on_device(encoded_column *encoded, const shape *s) {
    fastpair_column *column = NULL;
    fastpair_gpu_job *job = NULL;
    uint64_t image = (uint64_t)(uintptr_t)blocks[WHOLE];
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .outputs = FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY,
                                        .device_images = &image};
    fastpair_error error = {0};
    fastpair_status status =
        fastpair_gpu_encoded_open_column(encoded->encoded, NULL, &column, &error);
    const fastpair_column *columns[] = {column};
    CHECK_EQ(status, FASTPAIR_OK);
    if (!status) status = fastpair_gpu_job_open(&fake.gpu, columns, 1, &options, &job, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status) {
        fprintf(stderr, "  %s\n", error.message);
        fastpair_column_close(column);
        return;
    }
    fake_allocate(job, 0);
    fake_know_memory(blocks[WHOLE], block_bytes[WHOLE]);
    status = fastpair_gpu_job_upload(job, (uint64_t)(uintptr_t)fake.memory, fake.memory_bytes, NULL,
                                     NULL, &error);
    if (!status) status = fastpair_gpu_job_decode(job, fake.outputs, NULL, NULL, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    CHECK_EQ(fake_status(0), 0);
    CHECK(!memcmp(fake_at(fake.outputs[0].bytes), s->out_bytes, s->out_size));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i <= s->rows.rows; i++)
        wrong += fp_load64(fake_at(fake.outputs[0].offsets) + 8 * i) != s->out_offsets[i];
    CHECK_EQ(wrong, 0);
    CHECK(!memcmp(fake_at(fake.outputs[0].validity), s->out_validity, (s->rows.rows + 7) / 8));
    fake_release();
    fastpair_gpu_job_close(job);
    /* The CPU has no rows of it, and says so. */
    uint8_t *bytes = malloc(s->out_size + 1);
    fastpair_destination to = to_memory(bytes, s->out_size, NULL, 0, NULL);
    if (column->totals.chunks) {
        CHECK_EQ(fastpair_column_decode(column, 0, s->rows.rows, &to, &error), FASTPAIR_ERROR_IO);
        CHECK(strstr(error.message, "device memory") != NULL);
    }
    free(bytes);
    fastpair_column_close(column);
    know_blocks();
}

#endif
