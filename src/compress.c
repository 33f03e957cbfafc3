/* compress.c - a whole column at once. In: all rows. Out: one image, in memory of the library's or
 * in the caller's buffer. The same writer as for streams; the difference is that training sees a
 * sample of the whole column, not of its beginning. Also here: how large an image can become. */
#include "auto.h"
#include "bounds.h"
#include "chunk.h"
#include "cut.h"
#include "footer.h"
#include "memory.h"
#include "rows.h"
#include "writer.h"

#include <inttypes.h>
#include <string.h>

/* Trains, writes the column to `sink` and closes everything. */
static fastpair_status compress_to(const fastpair_sink *sink, const fastpair_rows *rows,
                                   fp_settings *settings, fastpair_error *error) {
    fastpair_status status = fp_rows_check(rows, error);
    if (status) return status;
    /* Text is checked by the writer: training that is in vain is the price of a wrong type. */
    uint64_t column_bytes = fp_rows_size(rows);
    fastpair_dictionary *model = NULL;
    fp_poll poll;
    fp_settings_poll(settings, column_bytes, &poll);
    int is_small = column_bytes <= FP_SMALL_COLUMN && rows->rows < FP_WAITING_ROWS &&
                   column_bytes < fp_cut_first_bytes(settings);
    int trains = !settings->dictionary && settings->choice.codec != FASTPAIR_CODEC_STORED &&
                 column_bytes && !(is_small && fp_tries_all(settings)); /* else the writer does */
    if (trains && (status = fp_auto_train(rows, settings, column_bytes, &model, error)))
        return status;
    fastpair_writer *writer;
    if ((status = fp_writer_open(sink, settings, column_bytes, model, &writer, error)))
        return status;
    status = fastpair_writer_append(writer, rows, error);
    if (!status) status = fastpair_writer_finish(writer, error);
    fastpair_writer_close(writer);
    return status;
}

/* ---------------------------------------------------------------- into memory of the library's */

typedef struct growing_image {
    fp_buffer image;
    const fastpair_allocator *allocator;
    int out_of_memory;
} growing_image;

static int append_and_grow(void *context, const void *data, size_t size) {
    growing_image *to = context;
    if (fp_buffer_reserve(&to->image, to->allocator, size, NULL)) {
        to->out_of_memory = 1;
        return -1; /* any value: the caller reports memory, not I/O */
    }
    memcpy(to->image.data + to->image.size, data, size);
    to->image.size += size;
    return 0;
}

fastpair_status fastpair_compress(const fastpair_rows *rows,
                                  const fastpair_compress_options *options, uint8_t **image,
                                  uint64_t *image_size, fastpair_error *error) {
    if (image) *image = NULL;
    if (image_size) *image_size = 0;
    if (!rows || !image || !image_size)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_compress: rows, image and image_size must not be NULL");
    fp_settings settings;
    fastpair_status status = fp_settings_resolve(options, &settings, error);
    if (status) return status;
    growing_image to = {.allocator = &settings.allocator};
    status = compress_to(&(fastpair_sink){append_and_grow, &to}, rows, &settings, error);
    if (status && to.out_of_memory) status = fp_fail_memory(error, to.image.size);
    if (status) {
        fp_buffer_close(&to.image, &settings.allocator);
        return status;
    }
    *image = to.image.data;
    *image_size = to.image.size;
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- into the caller's buffer */

typedef struct fixed_image {
    uint8_t *bytes;
    uint64_t size, capacity;
    int too_small;
} fixed_image;

static int append_if_it_fits(void *context, const void *data, size_t size) {
    fixed_image *to = context;
    if (size > to->capacity - to->size) {
        to->too_small = 1;
        return -1;
    }
    memcpy(to->bytes + to->size, data, size);
    to->size += size;
    return 0;
}

fastpair_status fastpair_compress_into(const fastpair_rows *rows,
                                       const fastpair_compress_options *options, uint8_t *buffer,
                                       uint64_t capacity, uint64_t *image_size,
                                       fastpair_error *error) {
    if (image_size) *image_size = 0;
    if (!rows || !image_size || (!buffer && capacity))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_compress_into: rows, buffer and image_size must not be NULL");
    fp_settings settings;
    fastpair_status status = fp_settings_resolve(options, &settings, error);
    if (status) return status;
    fixed_image to = {.bytes = buffer, .capacity = capacity};
    status = compress_to(&(fastpair_sink){append_if_it_fits, &to}, rows, &settings, error);
    if (status && to.too_small)
        return fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, FASTPAIR_NO_POSITION,
                       "the image does not fit %" PRIu64
                       " bytes; fastpair_compress_bound gives a size that does",
                       capacity);
    if (!status) *image_size = to.size;
    return status;
}

/* ---------------------------------------------------------------- the largest image */

typedef unsigned __int128 wide; /* sums of products of 64-bit numbers do not overflow it */

/* Why no image is larger. With a the alignment, R rows and B bytes of valid rows:
 *
 * 1. Chunks: C of them at most, by fp_cut_most_chunks.
 * 2. Codes and sidecars. A chunk is coded only if both sections are smaller than its bytes, and a
 *    dictionary is written only if the chunks at hand save more than its block takes. So codes,
 *    sidecars, stored bytes and dictionary blocks take at most B together. As each dictionary codes
 *    a chunk of its own, there are at most C of them. That is so of a copy, too, which the next chunk
 *    is coded with; and a copy is written only where all that is in the file, the copy included,
 *    takes no more than the rows so far.
 * 3. Row lengths. A chunk has a block per FP_LENGTH_BLOCK rows, the last of which may be partial: R
 *    / FP_LENGTH_BLOCK + C blocks. Each takes an entry, and per row at most the bits of the longest
 *    possible row, in whole words.
 * 4. Validity: a bit per row, in whole bytes per chunk.
 * 5. Headers and gaps: per chunk its header, and at most a - 1 bytes before each section and at the
 *    end; a footer entry per chunk and per dictionary; the file header with its gap, footer and
 *    trailer.
 * 6. Parts: name and pairs as they are given; bounds with an entry per chunk, unless a share of the
 *    file is less. */
static wide largest_image(uint64_t rows, uint64_t bytes, const fp_settings *settings) {
    wide chunks = fp_cut_most_chunks(rows, bytes, settings->chunk_bytes);
    uint64_t longest_row = bytes < FP_MAX_CHUNK_BYTES ? bytes : FP_MAX_CHUNK_BYTES;
    uint32_t length_bits = longest_row ? 64 - (uint32_t)__builtin_clzll(longest_row) : 0;
    wide length_blocks = rows / FP_LENGTH_BLOCK + chunks;
    wide lengths =
        length_blocks * (FP_LENGTH_ENTRY + sizeof(uint32_t)) + ((wide)rows * length_bits + 7) / 8;
    wide validity = rows / 8 + chunks;
    wide chunk_rest = FP_CHUNK_HEADER + (FP_SECTIONS + 1) * (settings->alignment - 1) +
                      FP_FOOTER_CHUNK_ENTRY + FP_FOOTER_DICT_ENTRY;
    wide all = (wide)bytes + lengths + validity + chunks * chunk_rest +
               fp_first_block(settings->alignment) + FP_FOOTER_HEADER + FP_TRAILER;
    uint64_t described = 0;
    fp_metadata_check(&settings->metadata, &described, NULL);
    if (settings->bound_bytes != FASTPAIR_NO_BOUNDS)
        all += fp_bounds_most(chunks, all, settings->bound_bytes);
    return all + described;
}

uint64_t fastpair_compress_bound(uint64_t rows, uint64_t bytes,
                                 const fastpair_compress_options *options) {
    fp_settings settings;
    if (fp_settings_resolve(options, &settings, NULL)) return 0;
    wide bound = largest_image(rows, bytes, &settings);
    return bound < UINT64_MAX ? (uint64_t)bound : UINT64_MAX;
}
