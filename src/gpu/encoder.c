/* encoder.c - preparing a dictionary for encoding on a device. In: options with a dictionary. Out:
 * its tables in device memory, the rules of the writer as numbers, and where a column may be cut
 * into pieces. Refuses what the writer does with more than one dictionary or with frames. */
#include "encoder.h"

#include "../rows.h"
#include "options.h"
#include "rows.h"

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)

/* ---------------------------------------------------------------- opening */

/* The rules of src/cut.c and of packing, as kernels want them. */
static void set_rules(fastpair_gpu_encoder *encoder) {
    const fp_settings *settings = &encoder->settings;
    const fp_dict *dict = &settings->dictionary->dict;
    fp_packing packing = fp_packing_for(settings, dict->code_bits, dict->max_token);
    fp_cut cut;
    fp_cut_open(&cut, settings);
    encoder->cut = cut.rules;
    encoder->rules = (fp_gpu_encode_rules){
        .chunk_bytes = encoder->cut.chunk_bytes,
        .unit_bytes = encoder->cut.unit_bytes,
        .first_bytes = encoder->cut.first_bytes,
        .dict_bytes = encoder->dict_block.size,
        .first_block = fp_first_block(settings->alignment),
        .alignment = settings->alignment,
        .code_bits = packing.code_bits,
        .batch_codes = packing.batch_codes,
        .group_batches = packing.group_batches,
        .max_token = dict->max_token,
        .detects_text = settings->metadata.type != FASTPAIR_TYPE_BYTES,
        .wants_bounds = settings->bound_bytes != FASTPAIR_NO_BOUNDS,
    };
}

static fastpair_status make(fastpair_gpu_encoder *encoder, fastpair_error *error) {
    fp_settings *settings = &encoder->settings;
    fastpair_sink nowhere = {NULL, NULL};
    fastpair_status status = fp_dict_build(&settings->dictionary->dict, settings->alignment,
                                           &settings->allocator, &encoder->dict_block, error);
    if (status) return status;
    set_rules(encoder);
    encoder->must_be_text = settings->metadata.type == FASTPAIR_TYPE_TEXT;
    fp_file_out_open(&encoder->described, &nowhere, settings->alignment, &settings->allocator);
    status = fp_file_out_describe(&encoder->described, &settings->metadata, settings->bound_bytes,
                                  error);
    settings->metadata.name = NULL; /* the caller's: copied, and not needed again */
    settings->metadata.pairs = NULL;
    if (status) return status;
    return fp_encode_tables_open(settings->dictionary, encoder->gpu->info.shared_per_block,
                                 &settings->allocator, &encoder->tables, error);
}

fastpair_status fastpair_gpu_encoder_open(fastpair_gpu *gpu,
                                          const fastpair_compress_options *options,
                                          fastpair_gpu_encoder **result, fastpair_error *error) {
    REFUSE(!gpu || !options || !result, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "gpu, options and encoder must not be NULL");
    *result = NULL;
    fp_settings settings;
    fastpair_status status = fp_settings_resolve(options, &settings, error);
    if (status) return status;
    REFUSE(!settings.dictionary, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "a GPU encodes with a dictionary that is given: train one with "
           "fastpair_dictionary_train");
    REFUSE(settings.cold, FASTPAIR_ERROR_UNSUPPORTED,
           "cold files are made on the CPU: compress there, or convert the file");
    REFUSE(settings.level > FASTPAIR_LEVEL_GREEDY, FASTPAIR_ERROR_UNSUPPORTED,
           "a GPU compresses with levels up to %u: take one, or compress on the CPU",
           FASTPAIR_LEVEL_GREEDY);
    fastpair_gpu_encoder *encoder = fp_allocate_zero(&settings.allocator, 1, sizeof *encoder);
    if (!encoder) return fp_fail_memory(error, sizeof *encoder);
    encoder->gpu = gpu;
    encoder->settings = settings;
    status = make(encoder, error);
    if (status)
        fastpair_gpu_encoder_close(encoder);
    else
        *result = encoder;
    return status;
}

void fastpair_gpu_encoder_close(fastpair_gpu_encoder *encoder) {
    if (!encoder) return;
    fastpair_allocator allocator = encoder->settings.allocator;
    fp_encode_tables_close(&encoder->tables, &allocator);
    fp_file_out_close(&encoder->described);
    fp_buffer_close(&encoder->dict_block, &allocator);
    fp_release(&allocator, encoder);
}

fastpair_status fastpair_gpu_encoder_get_info(const fastpair_gpu_encoder *encoder,
                                              fastpair_gpu_encoder_info *info,
                                              fastpair_error *error) {
    REFUSE(!encoder || !info, FASTPAIR_ERROR_INVALID_ARGUMENT, "encoder and info must not be NULL");
    fastpair_gpu_encoder_info filled = {.struct_size = sizeof filled,
                                        .device_bytes = encoder->tables.bytes,
                                        .dictionary_bytes = encoder->rules.dict_bytes};
    return fp_info_copy("info", &filled, sizeof filled, info, error);
}

fastpair_status fastpair_gpu_encoder_upload(fastpair_gpu_encoder *encoder,
                                            const fastpair_gpu_block *memory, void *stream,
                                            fastpair_error *error) {
    REFUSE(!encoder, FASTPAIR_ERROR_INVALID_ARGUMENT, "encoder must not be NULL");
    const fastpair_gpu *gpu = encoder->gpu;
    fastpair_status status = fp_gpu_block_check("memory", memory, encoder->tables.bytes, error);
    if (!status) status = fp_gpu_push(gpu, error);
    if (status) return status;
    fp_cu_result result = gpu->driver.copy_to_device(memory->address, encoder->tables.memory,
                                                     (size_t)encoder->tables.bytes, stream);
    if (result)
        status = fp_driver_fail(&gpu->driver, result, "copying a dictionary to the device", error);
    else
        encoder->device_memory = memory->address;
    fp_gpu_pop(gpu);
    return status;
}

/* ---------------------------------------------------------------- pieces */

/* Bytes of valid rows first .. end. */
static uint64_t bytes_between(const fastpair_rows *rows, uint64_t first, uint64_t end) {
    uint64_t bytes = 0;
    if (!rows->validity) return fp_row_start(rows, end) - fp_row_start(rows, first);
    for (uint64_t row = first; row < end; row++)
        if (!fp_row_is_null(rows, row))
            bytes += fp_row_start(rows, row + 1) - fp_row_start(rows, row);
    return bytes;
}

/* The end of the chunk that begins at `first`, by the rule of src/cut.c: the row before which it is
 * closed, and at most rows->rows; *bytes gets its bytes. A chunk that ends with the rows may be one
 * that more rows could join. */
static uint64_t chunk_end(const fastpair_rows *rows, uint64_t first, uint64_t chunk_bytes,
                          uint64_t *bytes) {
    uint64_t most = rows->rows - first, row = first;
    if (most > FP_CHUNK_ROWS) most = FP_CHUNK_ROWS;
    *bytes = 0;
    if (rows->validity) {
        for (; row < first + most; row++) {
            uint64_t more = bytes_between(rows, row, row + 1);
            if (row > first && (*bytes >= chunk_bytes || *bytes + more > chunk_bytes)) break;
            *bytes += more;
        }
        return row;
    }
    /* The first row end with chunk_bytes or more, and whether that is too much. */
    uint64_t low = first + 1, high = first + most;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (bytes_between(rows, first, middle) < chunk_bytes)
            low = middle + 1;
        else
            high = middle;
    }
    *bytes = bytes_between(rows, first, low);
    if (*bytes <= chunk_bytes || low == first + 1) return low;
    *bytes = bytes_between(rows, first, low - 1);
    return low - 1;
}

uint64_t fastpair_gpu_encoder_cut(const fastpair_gpu_encoder *encoder, const fastpair_rows *given,
                                  int has_before, int has_after) {
    if (!encoder || !given || fp_struct_check("rows", given, sizeof *given, NULL)) return 0;
    const fp_cut_rules *rules = &encoder->cut;
    fastpair_rows rows = *given;
    if (!rows.offset_bits) rows.offset_bits = 64;
    if ((rows.offset_bits != 32 && rows.offset_bits != 64) || (rows.rows && !rows.offsets))
        return 0;
    if (!has_after) return rows.rows;
    uint64_t row = 0, whole = 0, bytes = 0, unit = 0, unit_rows = 0;
    while (row < rows.rows) {
        uint64_t chunk, end = chunk_end(&rows, row, rules->chunk_bytes, &chunk);
        int is_complete = chunk >= rules->chunk_bytes || end - row == FP_CHUNK_ROWS;
        if (end == rows.rows && !is_complete) break; /* more rows may join it */
        bytes += chunk;
        unit += chunk;
        unit_rows += end - row;
        row = end;
        if (unit + rules->chunk_bytes / 2 < rules->unit_bytes && unit_rows < FP_UNIT_ROWS) continue;
        unit = unit_rows = 0;
        if (has_before || bytes >= rules->first_bytes || row >= FP_WAITING_ROWS) whole = row;
    }
    return whole;
}
