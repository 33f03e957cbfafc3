/* file_out.c - from blocks to a file. In: dictionaries and chunk blocks. Out: bytes to the sink,
 * and an index of the blocks that becomes the footer. The header is written just before the first
 * block, because framing may be set until then. Refuses nothing: a sink that fails is reported with
 * its reason. */
#include "file_out.h"

#include <string.h>

void fp_file_out_open(fp_file_out *file, const fastpair_sink *sink, uint32_t alignment,
                      const fastpair_allocator *allocator) {
    *file =
        (fp_file_out){.sink = *sink, .allocator = *allocator, .header = {.alignment = alignment}};
}

void fp_file_out_close(fp_file_out *file) {
    fp_buffer_close(&file->dict_entries, &file->allocator);
    fp_buffer_close(&file->chunk_entries, &file->allocator);
    fp_buffer_close(&file->name, &file->allocator);
    fp_buffer_close(&file->pairs, &file->allocator);
    fp_buffer_close(&file->bounds.part, &file->allocator);
}

fastpair_status fp_file_out_describe(fp_file_out *file, const fastpair_metadata *metadata,
                                     uint32_t bound_bytes, fastpair_error *error) {
    file->detects_text = metadata->type == FASTPAIR_TYPE_DETECT;
    file->footer.is_text = metadata->type != FASTPAIR_TYPE_BYTES;
    file->has_bounds = bound_bytes != FASTPAIR_NO_BOUNDS;
    if (file->has_bounds) fp_bounds_list_begin(&file->bounds, bound_bytes);
    return fp_metadata_pack(metadata, &file->allocator, &file->name, &file->pairs, error);
}

fastpair_status fp_file_out_describe_as(fp_file_out *file, const fp_file_out *other,
                                        fastpair_error *error) {
    fastpair_status status;
    file->detects_text = other->detects_text;
    file->footer.is_text = other->footer.is_text;
    file->has_bounds = other->has_bounds;
    file->bounds =
        (fp_bounds_list){.width = other->bounds.width, .is_fixed = other->bounds.is_fixed};
    if ((status = fp_buffer_reserve(&file->name, &file->allocator, other->name.size, error)) ||
        (status = fp_buffer_reserve(&file->pairs, &file->allocator, other->pairs.size, error)))
        return status;
    file->name.size = other->name.size;
    file->pairs.size = other->pairs.size;
    if (file->name.size) memcpy(file->name.data, other->name.data, (size_t)file->name.size);
    if (file->pairs.size) memcpy(file->pairs.data, other->pairs.data, (size_t)file->pairs.size);
    return FASTPAIR_OK;
}

static fastpair_status put(fp_file_out *file, const void *data, uint64_t size,
                           fastpair_error *error) {
    int reason = file->sink.write(file->sink.context, data, (size_t)size);
    if (reason)
        return fp_fail(error, FASTPAIR_ERROR_IO, file->position,
                       "writing %llu bytes at offset %llu failed: %s", (unsigned long long)size,
                       (unsigned long long)file->position, strerror(reason));
    file->position += size;
    return FASTPAIR_OK;
}

static fastpair_status put_zeros(fp_file_out *file, uint64_t count, fastpair_error *error) {
    static const uint8_t zeros[4096];
    return count ? put(file, zeros, count, error) : FASTPAIR_OK;
}

static fastpair_status put_header(fp_file_out *file, fastpair_error *error) {
    if (file->header_written) return FASTPAIR_OK;
    file->header_written = 1;
    uint8_t bytes[FP_FILE_HEADER];
    fp_file_header_write(&file->header, bytes);
    fastpair_status status = put(file, bytes, sizeof bytes, error);
    if (status) return status;
    return put_zeros(file, fp_first_block(file->header.alignment) - sizeof bytes, error);
}

/* Appends an entry to an index. */
static fastpair_status add_entry(fp_file_out *file, fp_buffer *entries, const void *entry,
                                 size_t size, fastpair_error *error) {
    fastpair_status status = fp_buffer_reserve(entries, &file->allocator, size, error);
    if (status) return status;
    memcpy(entries->data + entries->size, entry, size);
    entries->size += size;
    return FASTPAIR_OK;
}

fastpair_status fp_file_out_list_dictionary(fp_file_out *file, uint64_t size, uint32_t *number,
                                            fastpair_error *error) {
    fp_dict_entry entry = {.position = file->position, .block_bytes = size};
    fastpair_status status = add_entry(file, &file->dict_entries, &entry, sizeof entry, error);
    if (!status) *number = (uint32_t)file->footer.dictionaries++;
    return status;
}

fastpair_status fp_file_out_dictionary(fp_file_out *file, const fp_dict *dict, fp_buffer *block,
                                       uint32_t *number, fastpair_error *error) {
    fastpair_status status = put_header(file, error);
    if (!status && file->header.features & FP_FEATURE_COLD)
        status = fp_dict_make_cold(dict, file->header.alignment, &file->allocator, block, error);
    if (!status) status = fp_file_out_list_dictionary(file, block->size, number, error);
    return status ? status : put(file, block->data, block->size, error);
}

uint64_t fp_file_out_dictionary_end(const fp_file_out *file, uint32_t number) {
    const fp_dict_entry *entries = (const fp_dict_entry *)(const void *)file->dict_entries.data;
    return entries[number].position + entries[number].block_bytes;
}

uint64_t fp_file_out_dictionary_bytes(const fp_file_out *file, uint32_t number) {
    const fp_dict_entry *entries = (const fp_dict_entry *)(const void *)file->dict_entries.data;
    return entries[number].block_bytes;
}

void fp_file_out_use_tokens(fp_file_out *file, uint32_t number, uint32_t tokens) {
    fp_dict_entry *entries = (fp_dict_entry *)(void *)file->dict_entries.data;
    entries[number].tokens_in_use += tokens;
}

fastpair_status fp_file_out_list_chunk(fp_file_out *file, const fp_chunk *chunk, fp_row_facts facts,
                                       fastpair_error *error) {
    /* Readers take the last dictionary for granted, unless they are told of another. */
    int is_earlier = chunk->coded && chunk->dictionary + 1 < file->footer.dictionaries;
    fp_chunk_entry entry = {file->position, chunk->block_bytes, (uint32_t)chunk->rows,
                            is_earlier ? chunk->dictionary + 1 : 0, chunk->decoded_bytes};
    fastpair_status status = add_entry(file, &file->chunk_entries, &entry, sizeof entry, error);
    if (!status && file->has_bounds)
        status = fp_bounds_list_add(&file->bounds, facts.bounds,
                                    file->position + chunk->block_bytes, &file->allocator, error);
    if (status) return status;
    if (file->detects_text && !facts.is_text) file->footer.is_text = 0;
    file->footer.chunks++;
    file->footer.rows += chunk->rows;
    file->footer.nulls += chunk->nulls;
    file->footer.codes += chunk->codes;
    file->footer.decoded_bytes += chunk->decoded_bytes;
    return FASTPAIR_OK;
}

fastpair_status fp_file_out_chunk(fp_file_out *file, const fp_chunk *chunk, const fp_buffer *block,
                                  fp_row_facts facts, fastpair_error *error) {
    fastpair_status status = put_header(file, error);
    if (!status) status = fp_file_out_list_chunk(file, chunk, facts, error);
    return status ? status : put(file, block->data, block->size, error);
}

/* Writes footer and trailer with these parts. */
static fastpair_status put_footer(fp_file_out *file, const fp_part_content *parts,
                                  fastpair_error *error) {
    fp_footer_contents contents = {(const fp_dict_entry *)(const void *)file->dict_entries.data,
                                   (const fp_chunk_entry *)(const void *)file->chunk_entries.data,
                                   parts};
    uint64_t size = fp_footer_size(&file->footer, parts) + FP_TRAILER;
    uint8_t *bytes = fp_allocate(&file->allocator, size, 1);
    if (!bytes) return fp_fail_memory(error, size);
    fp_footer_write(&file->footer, &contents, file->position, bytes);
    fastpair_status status = put(file, bytes, size, error);
    fp_release(&file->allocator, bytes);
    return status;
}

fastpair_status fp_file_out_finish(fp_file_out *file, fastpair_error *error) {
    fp_footer *footer = &file->footer;
    fastpair_status status = put_header(file, error);
    if (status) return status;
    if (file->has_bounds) fp_bounds_list_finish(&file->bounds, file->position);
    footer->final_separator = file->header.has_framing && file->final_separator;
    const fp_part_content all[] = {{FP_PART_NAME, file->name},
                                   {FP_PART_PAIRS, file->pairs},
                                   {FP_PART_BOUNDS, file->bounds.part}};
    fp_part_content parts[FP_PART_KINDS] = {{0}};
    footer->parts = 0;
    for (uint32_t i = 0; i < FP_PART_KINDS; i++)
        if (all[i].bytes.size) parts[footer->parts++] = all[i];
    return put_footer(file, parts, error);
}
