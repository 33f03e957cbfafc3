/* reader_blocks.c - the bytes of a streamed column. In: the caller's source. Out: dictionaries, and
 * chunks that are held together.
 *
 * Buffers grow by what has really arrived, so a header that claims terabytes costs nothing. Refuses
 * input that ends too early or too late, with the offset, and blocks that the format does not
 * allow. */
#include "reader_private.h"

#include <errno.h>
#include <inttypes.h>

/* Work that is gathered for each thread, in decoded bytes or what costs as much. */
#define ROUND_WORK (1ull << 20)
/* No dictionary block is larger: header, section, and two gaps. */
#define LARGEST_DICT_BLOCK (FP_LARGEST_TOKENS + 2u * 4096u)

/* ---------------------------------------------------------------- bytes */

fastpair_status fp_reader_get(fastpair_reader *reader, uint8_t *into, uint64_t size,
                              const char *what, fastpair_error *error) {
    while (size) {
        size_t got = 0;
        int reason = reader->source.read(reader->source.context, into, (size_t)size, &got);
        if (reason || got > size) {
            errno = reason ? reason : EINVAL; /* for %m, which threads may use, unlike strerror */
            return fp_fail(error, FASTPAIR_ERROR_IO, reader->position,
                           "reading at offset %" PRIu64 " failed: %m", reader->position);
        }
        if (!got)
            return fp_fail(error, FASTPAIR_ERROR_CORRUPT, reader->position,
                           "the input ends at byte %" PRIu64 " inside %s: it was cut short",
                           reader->position, what);
        into += got;
        size -= got;
        reader->position += got;
    }
    return FASTPAIR_OK;
}

/* Makes a buffer hold `capacity` bytes; its contents stay. */
static fastpair_status enlarge(fastpair_reader *reader, fp_buffer *buffer, uint64_t capacity,
                               fastpair_error *error) {
    const fastpair_allocator *allocator = &reader->settings.allocator;
    uint8_t *data = fp_allocate(allocator, capacity, 1);
    if (!data) return fp_fail_memory(error, capacity);
    if (buffer->size) memcpy(data, buffer->data, (size_t)buffer->size);
    fp_release(allocator, buffer->data);
    buffer->data = data;
    buffer->capacity = capacity;
    return FASTPAIR_OK;
}

/* The next size of a buffer that is full and will hold `total` bytes: at most four times as much,
 * so that a claim costs little, and such that the last step, whose two buffers are held at once,
 * begins at a quarter of `total`. */
static uint64_t next_capacity(uint64_t size, uint64_t total) {
    if (size < FP_PIECE_BYTES / 4) return total < FP_PIECE_BYTES ? total : FP_PIECE_BYTES;
    if (size >= total / 4) return total;
    return size >= total / 16 ? total / 4 + 1 : 4 * size;
}

fastpair_status fp_reader_fill(fastpair_reader *reader, fp_buffer *buffer, uint64_t total,
                               const char *what, fastpair_error *error) {
    while (buffer->size < total) {
        if (buffer->size == buffer->capacity) {
            fastpair_status status =
                enlarge(reader, buffer, next_capacity(buffer->size, total), error);
            if (status) return status;
        }
        uint64_t end = total < buffer->capacity ? total : buffer->capacity;
        uint64_t piece = end - buffer->size < FP_PIECE_BYTES ? end - buffer->size : FP_PIECE_BYTES;
        fastpair_status status =
            fp_reader_get(reader, buffer->data + buffer->size, piece, what, error);
        if (status) return status;
        buffer->size += piece;
    }
    return FASTPAIR_OK;
}

/* Empties a buffer and makes room. */
static fastpair_status reset(fp_buffer *buffer, const fastpair_allocator *allocator, uint64_t room,
                             fastpair_error *error) {
    buffer->size = 0;
    return fp_buffer_reserve(buffer, allocator, room, error);
}

/* ---------------------------------------------------------------- blocks */

static fastpair_status read_dictionary(fastpair_reader *reader, const uint8_t *start,
                                       fastpair_error *error) {
    const fastpair_allocator *allocator = &reader->settings.allocator;
    uint64_t position = reader->position - FP_BLOCK_START,
             number = reader->seen.totals.dictionaries;
    fastpair_status status = reset(&reader->scratch, allocator, FP_DICT_HEADER, error);
    if (status) return status;
    memcpy(reader->scratch.data, start, FP_BLOCK_START);
    reader->scratch.size = FP_BLOCK_START;
    status =
        fp_reader_fill(reader, &reader->scratch, FP_DICT_HEADER, "a dictionary's header", error);
    if (status) return status;
    uint64_t block_bytes = fp_load64(reader->scratch.data + 8);
    /* A damaged size must not make us read on, so the checksum is compared before the rest is
     * read. */
    if (fp_load64(reader->scratch.data + 88) != fp_checksum(reader->scratch.data, 88) ||
        block_bytes < FP_DICT_HEADER || block_bytes > LARGEST_DICT_BLOCK)
        return fp_fail(
            error, FASTPAIR_ERROR_CORRUPT, position,
            "dictionary at offset %" PRIu64
            ": header checksum or size is wrong: the file is damaged; restore it from a copy",
            position);
    status = fp_reader_fill(reader, &reader->scratch, block_bytes, "a dictionary", error);
    if (status) return status;
    uint64_t plain_bytes = fp_load64(reader->scratch.data + 72);
    if (plain_bytes > FP_LARGEST_TOKENS) plain_bytes = FP_LARGEST_TOKENS; /* it will be refused */
    if (plain_bytes < block_bytes) plain_bytes = block_bytes;
    fp_reader_make_room(reader, 4 * plain_bytes + sizeof(fp_column_dict));

    if (number == reader->dictionaries.capacity) {
        uint64_t capacity = number ? number * 2 : 8;
        fp_column_dict **grown = fp_allocate(allocator, capacity, sizeof *grown);
        if (!grown) return fp_fail_memory(error, capacity * sizeof *grown);
        if (number) memcpy(grown, reader->dictionaries.list, (size_t)number * sizeof *grown);
        fp_release(allocator, reader->dictionaries.list);
        reader->dictionaries.list = grown;
        reader->dictionaries.capacity = capacity;
    }
    status = fp_buffer_reserve(&reader->dictionaries.code_bits, allocator, sizeof(uint32_t), error);
    if (status) return status;
    fp_column_dict *dictionary = fp_allocate(allocator, 1, sizeof *dictionary);
    if (!dictionary) return fp_fail_memory(error, sizeof *dictionary);
    fp_dict_block block = {reader->scratch.data,   block_bytes,        position,
                           reader->file.alignment, reader->file.minor, reader->file.features};
    status = fp_column_dict_open(&block, &reader->settings, &reader->dictionaries.budget,
                                 dictionary, error);
    if (status) {
        fp_release(allocator, dictionary);
        return status;
    }
    fp_store32(reader->dictionaries.code_bits.data + reader->dictionaries.code_bits.size,
               dictionary->dict.code_bits);
    reader->dictionaries.code_bits.size += sizeof(uint32_t);
    reader->dictionaries.list[reader->seen.totals.dictionaries++] = dictionary;
    return FASTPAIR_OK;
}

static fastpair_status read_header(fastpair_reader *reader, const uint8_t *start, fp_held_chunk *to,
                                   fastpair_error *error) {
    uint64_t position = reader->position - FP_BLOCK_START;
    fastpair_status status = reset(&to->block, &reader->settings.allocator, FP_CHUNK_HEADER, error);
    if (status) return status;
    memcpy(to->block.data, start, FP_BLOCK_START);
    to->block.size = FP_BLOCK_START;
    status = fp_reader_fill(reader, &to->block, FP_CHUNK_HEADER, "a chunk's header", error);
    fp_chunk_context before = {
        reader->file.alignment, (const uint32_t *)(const void *)reader->dictionaries.code_bits.data,
        reader->seen.totals.dictionaries, reader->file.minor, reader->file.features};
    if (!status)
        status = fp_chunk_read_header(to->block.data, position, &before, &to->chunk, error);
    if (status) return status;
    to->number = reader->seen.totals.chunks;
    to->dictionary = to->chunk.coded ? reader->dictionaries.list[to->chunk.dictionary] : NULL;
    return FASTPAIR_OK;
}

/* Reads the rest of a chunk and records it. */
static fastpair_status read_sections(fastpair_reader *reader, fp_held_chunk *to,
                                     fastpair_error *error) {
    const fp_chunk *chunk = &to->chunk;
    fastpair_status status =
        fp_reader_fill(reader, &to->block, chunk->block_bytes, "a chunk", error);
    if (!status)
        status = fp_buffer_reserve(&reader->seen.chunk_entries, &reader->settings.allocator,
                                   sizeof(fp_chunk_entry), error);
    if (status) return status;
    fp_chunk_entry entry = {chunk->position, chunk->block_bytes, (uint32_t)chunk->rows,
                            chunk->coded ? chunk->dictionary + 1 : 0, chunk->decoded_bytes};
    memcpy(reader->seen.chunk_entries.data + reader->seen.chunk_entries.size, &entry, sizeof entry);
    reader->seen.chunk_entries.size += sizeof entry;
    reader->seen.totals.chunks++;
    /* Nothing below passes 2^64: that would take 2^32 chunks of at least 384 bytes, and
     * fp_footer_check_entries looks again. */
    reader->seen.totals.rows += chunk->rows;
    reader->seen.totals.nulls += chunk->nulls;
    reader->seen.totals.codes += chunk->codes;
    reader->seen.totals.decoded_bytes += chunk->decoded_bytes;
    return FASTPAIR_OK;
}

/* Takes the chunk whose header is pending into the round; *full if the round ends with or before
 * it. */
static fastpair_status take_pending(fastpair_reader *reader, int *full, fastpair_error *error) {
    fp_round *round = &reader->round;
    fp_held_chunk *held = &round->chunks[round->held];
    fp_fit fit = fp_reader_fit(reader);
    *full = fit != FP_FITS_WHOLE;
    if (fit == FP_FITS_LATER) return FASTPAIR_OK;
    if (fit == FP_FITS_NEVER)
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "chunk %" PRIu64 " has a block of %" PRIu64
                       " bytes, which cannot be held in %" PRIu64
                       " bytes of memory; allow more with memory_limit (--memory of the command)",
                       held->number, held->chunk.block_bytes, reader->meter.limit);
    round->pending = 0;
    fastpair_status status = read_sections(reader, held, error);
    if (!status && held->chunk.cold) status = fp_reader_make_warm(reader, held, error);
    if (status) return status;
    if (fit == FP_FITS_IN_PARTS) {
        round->cutting = 1;
        round->next_row = 0;
    } else {
        /* The block is there, so what it decodes to is in proportion: a code of one bit gives at
         * most 64 bytes, and 256 rows have 16 bytes of directory. */
        fp_part *part = &round->parts[round->held];
        part->of = held;
        part->first_row = part->first_byte = 0;
        part->rows = held->chunk.rows;
        part->end_byte = held->chunk.decoded_bytes;
        if ((status = fp_part_open(reader, part, error))) return status;
    }
    round->held++;
    return FASTPAIR_OK;
}

/* Whether a round of `held` chunks and so much work is large enough. Small chunks are gathered, so
 * that threads find something to do. */
static int is_enough(const fastpair_reader *reader, uint64_t work) {
    const fp_round *round = &reader->round;
    uint32_t threads = reader->settings.threads;
    if (round->held < threads) return 0;
    return round->held == round->room || threads == 1 || work >= threads * ROUND_WORK;
}

static fastpair_status read_block(fastpair_reader *reader, fastpair_error *error) {
    uint64_t position = reader->position;
    fastpair_status status = fp_reader_get(reader, reader->start, FP_BLOCK_START,
                                           "a block's header, or before its footer", error);
    if (status) return status;
    uint32_t kind = fp_load32(reader->start);
    if (reader->seen.totals.extra_bytes && (kind == FP_KIND_DICTIONARY || kind == FP_KIND_CHUNK))
        return fp_extra_block_fail(position, "it is known, but comes after one that is not", error);
    switch (kind) {
    case FP_KIND_DICTIONARY: return read_dictionary(reader, reader->start, error);
    case FP_KIND_CHUNK:
        status =
            read_header(reader, reader->start, &reader->round.chunks[reader->round.held], error);
        reader->round.pending = !status;
        return status;
    case FP_KIND_FOOTER: reader->at_footer = 1; return FASTPAIR_OK;
    default:
        if (reader->file.minor) return fp_reader_skip_extra(reader, error);
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position,
                       "there is no block at offset %" PRIu64
                       ": the file is damaged; restore it from a copy",
                       position);
    }
}

fastpair_status fp_reader_read_ahead(fastpair_reader *reader, fastpair_error *error) {
    fp_round *round = &reader->round;
    if (reader->position == FP_FILE_HEADER &&
        fp_first_block(reader->file.alignment) > FP_FILE_HEADER) {
        uint8_t gap[4096];
        uint64_t size = fp_first_block(reader->file.alignment) - FP_FILE_HEADER;
        fastpair_status status = fp_reader_get(reader, gap, size, "the file header", error);
        if (status) return status;
        if (!fp_all_zero(gap, size))
            return fp_fail(
                error, FASTPAIR_ERROR_CORRUPT, FP_FILE_HEADER,
                "the bytes between the file header and the first block are not all zero");
    }
    if (round->pending && round->held) { /* the chunk that did not fit comes first now */
        fp_held_chunk first = round->chunks[0];
        round->chunks[0] = round->chunks[round->held];
        round->chunks[round->held] = first;
    }
    round->held = 0;
    uint64_t work = 0;
    for (int full = 0; !full && !is_enough(reader, work) && fp_reader_may_go_on(reader);) {
        fastpair_status status = FASTPAIR_OK;
        if (!round->pending) status = read_block(reader, error);
        if (status || reader->at_footer) return status;
        if (!round->pending) continue; /* no chunk */
        const fp_chunk *chunk = &round->chunks[round->held].chunk;
        work += chunk->decoded_bytes + 8 * chunk->rows;
        status = take_pending(reader, &full, error);
        if (status) return status;
    }
    return FASTPAIR_OK;
}
