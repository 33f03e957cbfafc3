/* encode_image.c - from what the device encoded to a file. In: records of the pieces, and their
 * bytes once they are in host memory. Out: the file's header, dictionary, chunk headers and footer,
 * the same as a writer's. The trick: all sizes follow from counts, so that they are computed here
 * once more, and a record that does not say the same is refused. */
#include "encoder.h"

#include "lengths.h"
#include "options.h"
#include "pack.h"
#include "sidecar.h"
#include "threads.h"

#include <string.h>

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)
#define CONTRADICTS(condition)                                                                     \
    REFUSE(                                                                                        \
        condition, FASTPAIR_ERROR_CORRUPT,                                                         \
        "the record of an encoded piece contradicts itself; was it copied after the encode had "   \
        "finished?")

/* ---------------------------------------------------------------- opening */

/* The footer's sink. */
static int append_footer(void *context, const void *data, size_t size) {
    fastpair_gpu_encoded *encoded = context;
    if (fp_buffer_reserve(&encoded->footer, &encoded->encoder->settings.allocator, size, NULL))
        return -1; /* any value: the caller reports memory, not I/O */
    memcpy(encoded->footer.data + encoded->footer.size, data, size);
    encoded->footer.size += size;
    return 0;
}

fastpair_status fastpair_gpu_encoded_open(const fastpair_gpu_encoder *encoder,
                                          fastpair_gpu_encoded **result, fastpair_error *error) {
    REFUSE(!encoder || !result, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "encoder and encoded must not be NULL");
    *result = NULL;
    const fastpair_allocator *allocator = &encoder->settings.allocator;
    fastpair_gpu_encoded *encoded = fp_allocate_zero(allocator, 1, sizeof *encoded);
    if (!encoded) return fp_fail_memory(error, sizeof *encoded);
    encoded->encoder = encoder;
    fp_file_out_open(&encoded->file, &(fastpair_sink){append_footer, encoded},
                     encoder->rules.alignment, allocator);
    encoded->file.header_written = 1; /* by complete */
    encoded->file.position = encoder->rules.first_block;
    fastpair_status status = fp_file_out_describe_as(&encoded->file, &encoder->described, error);
    if (status)
        fastpair_gpu_encoded_close(encoded);
    else
        *result = encoded;
    return status;
}

void fastpair_gpu_encoded_close(fastpair_gpu_encoded *encoded) {
    if (!encoded) return;
    const fastpair_allocator *allocator = &encoded->encoder->settings.allocator;
    fp_file_out_close(&encoded->file);
    fp_buffer_close(&encoded->pieces, allocator);
    fp_buffer_close(&encoded->chunks, allocator);
    fp_buffer_close(&encoded->footer, allocator);
    fp_release(allocator, encoded);
}

fastpair_status fastpair_gpu_encoded_set_framing(fastpair_gpu_encoded *encoded, uint8_t separator,
                                                 int final_separator, fastpair_error *error) {
    REFUSE(!encoded || encoded->finished, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "encoded must not be NULL, and not finished");
    fp_file_header *header = &encoded->file.header;
    REFUSE(encoded->has_begun && (!header->has_framing || header->separator != separator),
           FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the separator must be set before the first piece is completed");
    header->has_framing = 1;
    header->separator = separator;
    encoded->file.final_separator = final_separator != 0;
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- records */

fastpair_status fp_encoded_chunk(const fastpair_gpu_encoder *encoder,
                                 const fp_gpu_encode_chunk *record, uint64_t position,
                                 fp_chunk *chunk, fastpair_error *error) {
    const fp_gpu_encode_rules *rules = &encoder->rules;
    CONTRADICTS(!record->rows || record->rows > FP_CHUNK_ROWS || record->nulls > record->rows ||
                record->coded > 1 || (record->coded && !record->codes) ||
                record->block != position);
    *chunk = (fp_chunk){.position = position,
                        .coded = record->coded,
                        .has_validity = record->nulls != 0,
                        .dictionary = record->coded ? 0 : FP_NO_DICTIONARY,
                        .rows = record->rows,
                        .nulls = record->nulls,
                        .decoded_bytes = record->bytes};
    fp_section *sections = chunk->sections;
    sections[FP_SECTION_CODES].size = record->bytes;
    if (record->coded) {
        chunk->codes = record->codes;
        chunk->batch_codes = rules->batch_codes;
        chunk->group_batches = rules->group_batches;
        chunk->largest_batch = record->largest_batch;
        chunk->largest_pair = record->largest_pair;
        chunk->largest_four = record->largest_four;
        memcpy(chunk->by_length, record->by_length, sizeof chunk->by_length);
        sections[FP_SECTION_CODES].size = fp_packed_size(chunk->codes, rules->code_bits);
        sections[FP_SECTION_SIDECAR].size =
            fp_sidecar_size(chunk->codes, rules->batch_codes, rules->group_batches);
    }
    sections[FP_SECTION_LENGTHS].size = record->lengths_bytes;
    sections[FP_SECTION_VALIDITY].size = record->nulls ? (chunk->rows + 7) / 8 : 0;
    fp_chunk_layout(chunk, rules->alignment);
    CONTRADICTS(chunk->block_bytes != record->block_bytes);
    for (int s = 0; s < FP_SECTIONS; s++)
        CONTRADICTS(sections[s].offset != record->section[s] ||
                    sections[s].size != record->section_bytes[s]);
    return FASTPAIR_OK;
}

static fp_bounds bounds_of(const fp_gpu_encode_chunk *record) {
    fp_bounds bounds = {.has_row = record->has_row != 0};
    FP_GPU_ASSERT(sizeof bounds.smallest == sizeof record->smallest, "they have the same layout");
    memcpy(&bounds.smallest, record->smallest, sizeof bounds.smallest);
    memcpy(&bounds.largest, record->largest, sizeof bounds.largest);
    return bounds;
}

static uint32_t count_bits(const uint8_t *bits, uint64_t size) {
    uint32_t count = 0;
    for (uint64_t i = 0; i < size; i++) count += (uint32_t)__builtin_popcount(bits[i]);
    return count;
}

/* Whether the state of a record is that of the next piece, and in order. */
static fastpair_status check_state(const fastpair_gpu_encoded *encoded,
                                   const fp_gpu_encode_state *state, uint64_t size,
                                   fastpair_error *error) {
    uint64_t next = fp_encoded_piece_count(encoded) ? encoded->file.position : 0;
    uint64_t room = size - fp_encode_chunks_at(encoded->encoder);
    REFUSE(state->status & FASTPAIR_GPU_ENCODE_BAD_OFFSETS, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "offsets of the rows decrease, point past the bytes, or a row has 4 GiB or more");
    REFUSE(state->status & FASTPAIR_GPU_ENCODE_TOO_SMALL, FASTPAIR_ERROR_BUFFER_TOO_SMALL,
           "the output was too small for the blocks; fastpair_gpu_encoder_sizes gives a size that "
           "does");
    REFUSE(state->status, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "a piece was not cut as fastpair_gpu_encoder_cut cuts, or the piece before failed");
    REFUSE(state->image_begin != next, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "this is not the next piece of the column: it begins at byte %llu of the file, not %llu",
           (unsigned long long)state->image_begin, (unsigned long long)next);
    REFUSE(state->chunks > room / sizeof(fp_gpu_encode_chunk), FASTPAIR_ERROR_INVALID_ARGUMENT,
           "%llu bytes of a record are too few for its %u chunks", (unsigned long long)size,
           state->chunks);
    CONTRADICTS(state->image_end < encoded->file.position || state->has_dict > 1 ||
                (encoded->file.footer.dictionaries && !state->has_dict));
    return FASTPAIR_OK;
}

/* Reads all chunks of a record to `chunks`, and checks that blocks follow each other. */
static fastpair_status read_chunks(const fastpair_gpu_encoded *encoded, const uint8_t *record,
                                   fp_encoded_piece *piece, fp_chunk *chunks,
                                   fastpair_error *error) {
    const fastpair_gpu_encoder *encoder = encoded->encoder;
    fp_gpu_encode_state state;
    memcpy(&state, record, sizeof state);
    int wants_dict = state.has_dict && !encoded->file.footer.dictionaries;
    uint64_t position = encoded->file.position;
    for (uint32_t i = 0; i < state.chunks; i++) {
        fp_gpu_encode_chunk from;
        memcpy(&from, record + fp_encode_chunks_at(encoder) + i * sizeof from, sizeof from);
        if (wants_dict && !piece->has_dict && position == state.dict_place) {
            piece->has_dict = 1;
            position += encoder->rules.dict_bytes;
        }
        fastpair_status status = fp_encoded_chunk(encoder, &from, position, &chunks[i], error);
        if (status) return status;
        CONTRADICTS(chunks[i].coded && wants_dict && !piece->has_dict);
        CONTRADICTS(chunks[i].coded && !state.has_dict);
        if (encoder->must_be_text && !from.is_text)
            return fp_fail(
                error, FASTPAIR_ERROR_INVALID_ARGUMENT, encoded->file.footer.rows + from.first_row,
                "of the rows from %llu on, %u in all, one is not UTF-8; give the column "
                "the type of bytes",
                (unsigned long long)(encoded->file.footer.rows + from.first_row), from.rows);
        position += chunks[i].block_bytes;
    }
    CONTRADICTS(position != state.image_end || piece->has_dict != wants_dict);
    return FASTPAIR_OK;
}

/* Lists the blocks of a piece for the footer. */
static fastpair_status list_blocks(fastpair_gpu_encoded *encoded, const uint8_t *record,
                                   const fp_encoded_piece *piece, fastpair_error *error) {
    const fastpair_gpu_encoder *encoder = encoded->encoder;
    fp_file_out *file = &encoded->file;
    uint32_t number;
    for (uint64_t i = 0; i < piece->chunks; i++) {
        const fp_chunk *chunk = &fp_encoded_chunks(encoded)[piece->first_chunk + i];
        fp_gpu_encode_chunk from;
        fastpair_status status = FASTPAIR_OK;
        memcpy(&from, record + fp_encode_chunks_at(encoder) + i * sizeof from, sizeof from);
        if (chunk->position != file->position) {
            encoded->dict_place = file->position;
            status = fp_file_out_list_dictionary(file, encoder->rules.dict_bytes, &number, error);
            file->position = chunk->position;
        }
        fp_bounds bounds = bounds_of(&from);
        if (!status)
            status =
                fp_file_out_list_chunk(file, chunk, (fp_row_facts){&bounds, from.is_text}, error);
        if (status) return status;
        file->position += chunk->block_bytes;
    }
    if (!file->footer.dictionaries) return FASTPAIR_OK;
    uint32_t tokens = count_bits(record + fp_encode_used_at(), fp_encode_used_bytes(encoder));
    fp_file_out_use_tokens(file, 0, tokens - encoded->tokens);
    encoded->tokens = tokens;
    return FASTPAIR_OK;
}

static fastpair_status add(fastpair_gpu_encoded *encoded, const uint8_t *record, uint64_t size,
                           fp_encoded_piece *piece, fastpair_error *error) {
    const fastpair_allocator *allocator = &encoded->encoder->settings.allocator;
    fp_gpu_encode_state state;
    memcpy(&state, record, sizeof state);
    fastpair_status status = check_state(encoded, &state, size, error);
    if (status) return status;
    *piece = (fp_encoded_piece){.image_offset = state.image_begin,
                                .image_bytes = state.image_end - state.image_begin,
                                .first_chunk = fp_encoded_chunk_count(encoded),
                                .chunks = state.chunks};
    uint64_t more = state.chunks * sizeof(fp_chunk);
    /* Room for one more, so that there is memory to point to where a column has no chunk. */
    if ((status = fp_buffer_reserve(&encoded->chunks, allocator, more + sizeof(fp_chunk), error)) ||
        (status = fp_buffer_reserve(&encoded->pieces, allocator, sizeof *piece, error)))
        return status;
    fp_chunk *chunks = fp_encoded_chunks(encoded) + piece->first_chunk;
    if ((status = read_chunks(encoded, record, piece, chunks, error))) return status;
    encoded->chunks.size += more;
    memcpy(encoded->pieces.data + encoded->pieces.size, piece, sizeof *piece);
    encoded->pieces.size += sizeof *piece;
    status = list_blocks(encoded, record, piece, error);
    encoded->failed = status != FASTPAIR_OK;
    return status;
}

fastpair_status fastpair_gpu_encoded_add(fastpair_gpu_encoded *encoded, const void *record,
                                         uint64_t size, fastpair_gpu_encoded_piece *piece,
                                         fastpair_error *error) {
    REFUSE(!encoded || !record, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "encoded and record must not be NULL");
    REFUSE(encoded->finished || encoded->failed, FASTPAIR_ERROR_INVALID_ARGUMENT, "the column %s",
           encoded->finished ? "is finished" : "has failed before");
    REFUSE(size < fp_encode_chunks_at(encoded->encoder), FASTPAIR_ERROR_INVALID_ARGUMENT,
           "%llu bytes are too few for a record", (unsigned long long)size);
    fastpair_gpu_encoded_piece filled = {.struct_size = sizeof filled};
    fastpair_status status = FASTPAIR_OK;
    if (piece) status = fp_struct_size_check("piece", piece->struct_size, sizeof *piece, error);
    fp_encoded_piece added;
    if (!status) status = add(encoded, record, size, &added, error);
    if (status || !piece) return status;
    filled.image_offset = added.image_offset;
    filled.image_bytes = added.image_bytes;
    filled.chunks = added.chunks;
    for (uint64_t i = 0; i < added.chunks; i++) {
        const fp_chunk *chunk = &fp_encoded_chunks(encoded)[added.first_chunk + i];
        filled.rows += chunk->rows;
        filled.nulls += chunk->nulls;
        filled.decoded_bytes += chunk->decoded_bytes;
        filled.coded_chunks += chunk->coded != 0;
    }
    return fp_info_copy("piece", &filled, sizeof filled, piece, error);
}

/* ---------------------------------------------------------------- the file */

void fp_encoded_write_head(const fastpair_gpu_encoded *encoded, uint8_t *bytes) {
    memset(bytes, 0, (size_t)encoded->encoder->rules.first_block);
    fp_file_header_write(&encoded->file.header, bytes);
}

typedef struct completion {
    fp_chunk *chunks;
    uint8_t *bytes;
    uint64_t offset; /* of `bytes` in the file */
} completion;

static void complete_chunk(void *context, uint64_t i) {
    const completion *of = context;
    fp_chunk *chunk = &of->chunks[i];
    uint8_t *block = of->bytes + (chunk->position - of->offset);
    for (int s = 0; s < FP_SECTIONS; s++)
        chunk->sections[s].checksum =
            fp_checksum(block + chunk->sections[s].offset, chunk->sections[s].size);
    fp_chunk_write_header(chunk, block);
}

fastpair_status fastpair_gpu_encoded_complete(fastpair_gpu_encoded *encoded, uint64_t image_offset,
                                              uint8_t *bytes, uint64_t size,
                                              fastpair_error *error) {
    REFUSE(!encoded || !bytes, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "encoded and bytes must not be NULL");
    const fastpair_gpu_encoder *encoder = encoded->encoder;
    const fp_encoded_piece *pieces = fp_encoded_pieces(encoded), *piece = NULL;
    for (uint64_t i = fp_encoded_piece_count(encoded); i > 0 && !piece; i--)
        if (pieces[i - 1].image_offset == image_offset) piece = &pieces[i - 1];
    REFUSE(!piece, FASTPAIR_ERROR_INVALID_ARGUMENT, "no piece begins at byte %llu of the file",
           (unsigned long long)image_offset);
    REFUSE(size < piece->image_bytes, FASTPAIR_ERROR_BUFFER_TOO_SMALL,
           "the piece has %llu bytes, and %llu were given", (unsigned long long)piece->image_bytes,
           (unsigned long long)size);
    if (!image_offset) fp_encoded_write_head(encoded, bytes);
    if (!image_offset) encoded->has_begun = 1;
    if (piece->has_dict)
        memcpy(bytes + (encoded->dict_place - image_offset), encoder->dict_block.data,
               (size_t)encoder->dict_block.size);
    completion of = {fp_encoded_chunks(encoded) + piece->first_chunk, bytes, image_offset};
    fp_parallel(fp_threads_for(encoder->settings.threads, piece->image_bytes), piece->chunks,
                complete_chunk, &of);
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_encoded_finish(fastpair_gpu_encoded *encoded, const uint8_t **footer,
                                            uint64_t *footer_bytes, fastpair_error *error) {
    REFUSE(!encoded || !footer || !footer_bytes, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "encoded, footer and footer_bytes must not be NULL");
    REFUSE(encoded->failed || !encoded->pieces.size, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the column %s", encoded->failed ? "has failed before" : "has no piece");
    if (!encoded->finished) {
        fastpair_status status = fp_file_out_finish(&encoded->file, error);
        encoded->failed = status != FASTPAIR_OK;
        encoded->finished = !status;
        /* The sink fails for lack of memory alone. */
        if (status) return fp_fail_memory(error, encoded->footer.size);
    }
    *footer = encoded->footer.data;
    *footer_bytes = encoded->footer.size;
    return FASTPAIR_OK;
}
