/* encode_column.c - a column whose sections lie in device memory. In: what was encoded. Out: an
 * open column, over a source that has all bytes of the file but for the sections. The trick: jobs
 * read headers and dictionaries, and with the image in device memory nothing else; whoever wants a
 * section is told where it is. Refuses reads of sections. */
#include "encoder.h"

#include "column_source.h"
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the file that are in host memory. */
typedef struct stretch {
    uint64_t from, to; /* in the file */
    uint64_t at;       /* in `bytes` */
} stretch;

/* The file without its sections, as a column's source. */
typedef struct skeleton {
    fastpair_allocator allocator;
    stretch *stretches; /* ascending */
    uint64_t count;
    uint8_t *bytes;
    uint64_t size;
    void (*on_close)(void *context); /* of the caller's options */
    void *on_close_context;
} skeleton;

static void close_skeleton(void *context) {
    skeleton *of = context;
    if (!of) return;
    fastpair_allocator allocator = of->allocator;
    void (*on_close)(void *) = of->on_close;
    void *on_close_context = of->on_close_context;
    fp_release(&allocator, of->stretches);
    fp_release(&allocator, of->bytes);
    fp_release(&allocator, of);
    if (on_close) on_close(on_close_context);
}

static int64_t read_at(void *context, uint64_t offset, void *data, size_t size) {
    const skeleton *of = context;
    uint64_t low = 0, high = of->count, from = offset, end = offset + size;
    while (high - low > 1) { /* the last stretch that begins at or before the range */
        uint64_t middle = low + (high - low) / 2;
        if (of->stretches[middle].from <= from)
            low = middle;
        else
            high = middle;
    }
    for (; from < end; low++) {
        if (low == of->count) return -EIO;
        const stretch *is = &of->stretches[low];
        if (from < is->from || from >= is->to) return -EIO;
        uint64_t to = end < is->to ? end : is->to;
        memcpy((uint8_t *)data + (from - offset), of->bytes + is->at + (from - is->from),
               (size_t)(to - from));
        from = to;
    }
    return (int64_t)size;
}

static void explain(void *context, char *text, size_t size) {
    (void)context;
    snprintf(text, size,
             "rows of this column lie in device memory; decode them there, as a job with "
             "device_images, or copy and complete the file");
}

/* Takes the next bytes of the file for the skeleton, and returns where they go. */
static uint8_t *add(skeleton *of, uint64_t position, uint64_t size) {
    uint8_t *at = of->bytes + of->size;
    of->stretches[of->count++] = (stretch){position, position + size, of->size};
    of->size += size;
    return at;
}

static void fill(skeleton *of, const fastpair_gpu_encoded *encoded) {
    const fastpair_gpu_encoder *encoder = encoded->encoder;
    const fp_gpu_encode_rules *rules = &encoder->rules;
    int wants_dict = encoded->file.footer.dictionaries != 0;
    fp_encoded_write_head(encoded, add(of, 0, rules->first_block));
    for (uint64_t i = 0; i < fp_encoded_chunk_count(encoded); i++) {
        const fp_chunk *chunk = &fp_encoded_chunks(encoded)[i];
        if (wants_dict && chunk->position > encoded->dict_place) {
            memcpy(add(of, encoded->dict_place, rules->dict_bytes), encoder->dict_block.data,
                   (size_t)rules->dict_bytes);
            wants_dict = 0;
        }
        fp_chunk_write_header(chunk, add(of, chunk->position, FP_CHUNK_HEADER));
    }
    memcpy(add(of, encoded->file.position - encoded->footer.size, encoded->footer.size),
           encoded->footer.data, (size_t)encoded->footer.size);
}

static fastpair_status make_skeleton(const fastpair_gpu_encoded *encoded, skeleton **result,
                                     fastpair_error *error) {
    const fastpair_gpu_encoder *encoder = encoded->encoder;
    const fastpair_allocator *allocator = &encoder->settings.allocator;
    uint64_t chunks = fp_encoded_chunk_count(encoded);
    uint64_t size = encoder->rules.first_block + chunks * FP_CHUNK_HEADER +
                    encoder->rules.dict_bytes + encoded->footer.size;
    skeleton *of = *result = fp_allocate_zero(allocator, 1, sizeof *of);
    if (!of) return fp_fail_memory(error, sizeof *of);
    of->allocator = *allocator;
    of->stretches = fp_allocate(allocator, chunks + 3, sizeof *of->stretches);
    of->bytes = fp_allocate(allocator, size, 1);
    if (!of->stretches || !of->bytes) return fp_fail_memory(error, size);
    fill(of, encoded);
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_encoded_open_column(fastpair_gpu_encoded *encoded,
                                                 const fastpair_open_options *options,
                                                 fastpair_column **column, fastpair_error *error) {
    if (column) *column = NULL;
    if (!encoded || !column)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "encoded and column must not be NULL");
    const uint8_t *footer;
    uint64_t footer_bytes;
    fastpair_open_options given;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (!status) status = fastpair_gpu_encoded_finish(encoded, &footer, &footer_bytes, error);
    if (status) return status;
    skeleton *of;
    if (!(status = make_skeleton(encoded, &of, error))) {
        fastpair_range_source source = {.struct_size = sizeof source,
                                        .read_at = read_at,
                                        .context = of,
                                        .file_size = encoded->file.position,
                                        .requests = 1,
                                        .explain = explain};
        fp_source_sizes sizes = {footer_bytes, encoded->encoder->rules.first_block, 0};
        fastpair_open_options with_close = given;
        with_close.on_close = close_skeleton;
        with_close.on_close_context = of;
        status = fp_column_open_sized(&source, &sizes, &with_close, column, error);
    }
    if (status) {
        close_skeleton(of);
    } else {
        of->on_close = given.on_close;
        of->on_close_context = given.on_close_context;
    }
    return status;
}
