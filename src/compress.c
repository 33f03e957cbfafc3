/* compress.c - a whole column at once. In: all rows. Out: one image in memory. The same writer as for streams; the
 * difference is that training sees a sample of the whole column, not of its beginning. */
#include "writer_private.h"

#include "rows.h"

#include <string.h>

typedef struct memory_sink {
    fp_buffer image;
    const fastpair_allocator *allocator;
    int out_of_memory;
} memory_sink;

static int append_to_image(void *context, const void *data, size_t size) {
    memory_sink *sink = context;
    if (fp_buffer_reserve(&sink->image, sink->allocator, size, NULL)) {
        sink->out_of_memory = 1;
        return -1; /* any value: the caller reports memory, not I/O */
    }
    memcpy(sink->image.data + sink->image.size, data, size);
    sink->image.size += size;
    return 0;
}

fastpair_status fastpair_compress(const fastpair_rows *rows,
                                  const fastpair_compress_options *options, uint8_t **image,
                                  uint64_t *image_size, fastpair_error *error) {
    if (!rows || !image || !image_size)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows, image and image_size must not be NULL");
    *image = NULL;
    *image_size = 0;
    fp_settings settings;
    fastpair_status status = fp_settings_resolve(options, &settings, error);
    if (status || (status = fp_rows_check(rows, error))) return status;
    uint64_t column_bytes = rows->rows ? fp_row_start(rows, rows->rows) - fp_row_start(rows, 0) : 0;
    fastpair_dictionary *model = NULL;
    int trains =
        !settings.dictionary && settings.choice.codec != FASTPAIR_CODEC_STORED && column_bytes;
    if (trains && (status = fp_model_from_rows(rows, &settings, column_bytes, &model, error)))
        return status;
    memory_sink memory = {.allocator = &settings.allocator};
    fastpair_sink sink = {append_to_image, &memory};
    fastpair_writer *writer;
    if ((status = fp_writer_create(&sink, &settings, column_bytes, model, &writer, error)))
        return status;
    status = fastpair_writer_append(writer, rows, error);
    if (!status) status = fastpair_writer_finish(writer, error);
    fastpair_writer_close(writer);
    if (status && memory.out_of_memory) status = fp_fail_memory(error, memory.image.size);
    if (status) {
        fp_buffer_free(&memory.image, &settings.allocator);
        return status;
    }
    *image = memory.image.data;
    *image_size = memory.image.size;
    return FASTPAIR_OK;
}
