/* reader_end.c - the end of a streamed column. In: the bytes from the last chunk on, and what was
 * noted of the rows that were given. Out: OK, once footer and parts were found to repeat it.
 *
 * The trick: bounds of chunks can be many, and whether the file has them comes after all rows. So a
 * hash is kept of the entries that the file must have, one for each K, and compared with that of the
 * entries it has. Refuses a footer that contradicts the blocks, parts that contradict the rows, and
 * bytes after the trailer. */
#include "parts.h"
#include "reader_private.h"

#include <inttypes.h>

/* Read at once where bytes are only hashed. */
#define SKIP_BYTES 4096u

static const char checksum_fault[] =
    "checksum mismatch: the file is damaged; restore it from a copy";

/* ---------------------------------------------------------------- rows that were given */

/* Adds an entry to a hash of entries. */
static uint64_t chain(uint64_t hash, const uint8_t *entry, uint64_t size) {
    uint8_t both[8 + FP_BOUNDS_ENTRY_HEAD + 2 * FP_MOST_BOUND];
    fp_store64(both, hash);
    memcpy(both + 8, entry, (size_t)size);
    return fp_checksum(both, 8 + size);
}

void fp_reader_note_part(fastpair_reader *reader, const fp_part *part) {
    fp_seen *seen = &reader->seen;
    if (!part->is_text) seen->not_text = 1;
    fp_bounds_merge(&seen->bounds, &part->bounds);
    if (part->first_row + part->rows < part->of->chunk.rows) return;
    for (uint32_t i = 0, width = FP_LEAST_BOUND; i < FP_BOUND_WIDTHS; i++, width *= 2) {
        uint8_t entry[FP_BOUNDS_ENTRY_HEAD + 2 * FP_MOST_BOUND];
        fp_bounds_write(&seen->bounds, width, entry);
        seen->bounds_hash[i] = chain(seen->bounds_hash[i], entry, fp_bounds_entry_size(width));
    }
    seen->bounds = (fp_bounds){0};
}

/* ---------------------------------------------------------------- blocks and parts not known */

/* Reads bytes and adds them to a hash, unless it is NULL. */
static fastpair_status skip(fastpair_reader *reader, uint64_t size, fp_hasher *hasher,
                            const char *what, fastpair_error *error) {
    uint8_t piece[SKIP_BYTES];
    while (size) {
        uint64_t part = size < sizeof piece ? size : sizeof piece;
        fastpair_status status = fp_reader_get(reader, piece, part, what, error);
        if (status) return status;
        if (hasher) fp_hasher_add(hasher, piece, part);
        size -= part;
    }
    return FASTPAIR_OK;
}

fastpair_status fp_reader_skip_extra(fastpair_reader *reader, fastpair_error *error) {
    uint64_t position = reader->position - FP_BLOCK_START, size;
    uint64_t room = UINT64_MAX / 2 - reader->seen.totals.extra_bytes; /* so that no sum overflows */
    const char *fault = fp_extra_block_fault(reader->start, room, reader->file.alignment, &size);
    if (fault) return fp_extra_block_fail(position, fault, error);
    uint32_t header = fp_load32(reader->start + 4);
    fp_hasher hasher;
    fp_hasher_begin(&hasher);
    fp_hasher_add(&hasher, reader->start, FP_BLOCK_START);
    uint8_t checksum[8];
    fastpair_status status =
        skip(reader, header - FP_BLOCK_START - 8, &hasher, "an extra block's header", error);
    if (!status) status = fp_reader_get(reader, checksum, 8, "an extra block's header", error);
    if (!status && fp_load64(checksum) != fp_hasher_end(&hasher))
        status = fp_extra_block_fail(position, checksum_fault, error);
    if (!status) status = skip(reader, size - header, NULL, "an extra block", error);
    reader->seen.totals.extra_bytes += size;
    return status;
}

/* ---------------------------------------------------------------- parts */

static fastpair_status part_fault(uint64_t position, const char *what, const char *fault,
                                  fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position, "footer: %s %s (offset %" PRIu64 ")",
                   what, fault, position);
}

/* Name or pairs, which are short enough to be held. */
static fastpair_status read_description(fastpair_reader *reader, const fp_part_entry *part,
                                        fp_buffer *held, fastpair_error *error) {
    int is_name = part->kind == FP_PART_NAME;
    const char *what = is_name ? "the column's name" : "the pairs of key and value";
    uint64_t position = reader->position;
    if (part->size > (is_name ? FP_MOST_NAME : FP_MOST_PAIRS))
        return part_fault(position, what, "have a wrong size", error);
    held->size = 0;
    fastpair_status status = fp_reader_fill(reader, held, part->size, "the footer", error);
    if (status) return status;
    if (fp_checksum(held->data, held->size) != part->checksum)
        return part_fault(position, what, checksum_fault, error);
    const char *fault = is_name ? fp_name_fault(held->data, held->size)
                                : fp_pairs_fault(held->data, held->size, reader->file.minor);
    return fault ? part_fault(position, what, fault, error) : FASTPAIR_OK;
}

static fastpair_status read_bounds(fastpair_reader *reader, const fp_part_entry *part,
                                   uint64_t chunks, fastpair_error *error) {
    static const char what[] = "the bounds of chunks";
    uint64_t position = reader->position;
    uint32_t width, minor = reader->file.minor;
    uint8_t entry[FP_BOUNDS_ENTRY_HEAD + 2 * FP_MOST_BOUND];
    if (part->size < FP_BOUNDS_HEADER)
        return part_fault(position, what, "have a wrong size", error);
    fastpair_status status = fp_reader_get(reader, entry, FP_BOUNDS_HEADER, "the footer", error);
    if (status) return status;
    const char *fault = fp_bounds_header_fault(entry, part->size, chunks, minor, &width);
    if (fault) return part_fault(position, what, fault, error);
    fp_hasher hasher;
    fp_hasher_begin(&hasher);
    fp_hasher_add(&hasher, entry, FP_BOUNDS_HEADER);
    uint64_t hash = 0, size = fp_bounds_entry_size(width);
    for (uint64_t i = 0; i < chunks; i++) {
        if ((status = fp_reader_get(reader, entry, size, "the footer", error))) return status;
        fp_hasher_add(&hasher, entry, size);
        if (!fault) fault = fp_bounds_entry_fault(entry, width, minor);
        fp_bounds_clear_zero(entry);
        hash = chain(hash, entry, size);
    }
    if (fp_hasher_end(&hasher) != part->checksum) fault = checksum_fault;
    if (!fault && hash != reader->seen.bounds_hash[__builtin_ctz(width / FP_LEAST_BOUND)])
        fault = "are not those of the rows";
    return fault ? part_fault(position, what, fault, error) : FASTPAIR_OK;
}

static fastpair_status read_part(fastpair_reader *reader, const fp_part_entry *part,
                                 uint64_t chunks, fp_buffer *held, fastpair_error *error) {
    if (part->kind == FP_PART_BOUNDS) return read_bounds(reader, part, chunks, error);
    if (part->kind <= FP_PART_KINDS) return read_description(reader, part, held, error);
    uint64_t position = reader->position;
    fp_hasher hasher;
    fp_hasher_begin(&hasher);
    fastpair_status status = skip(reader, part->size, &hasher, "the footer", error);
    if (!status && fp_hasher_end(&hasher) != part->checksum)
        status = part_fault(position, "a part", checksum_fault, error);
    return status;
}

/* Reads the parts of a footer at file offset `position`, whose entries are good. */
static fastpair_status read_parts(fastpair_reader *reader, const uint8_t *entries,
                                  const fp_footer *footer, uint64_t position,
                                  fastpair_error *error) {
    fp_buffer held = {0};
    fastpair_status status = FASTPAIR_OK;
    for (uint32_t i = 0; i < footer->parts && !status; i++) {
        fp_part_entry part = fp_part_read_entry(entries + fp_footer_part_entries(footer), i);
        uint8_t gap[FP_PART_ALIGNMENT];
        uint64_t size = position + part.offset - reader->position; /* below 8 */
        status = fp_reader_get(reader, gap, size, "the footer", error);
        if (!status && !fp_all_zero(gap, size))
            status =
                part_fault(reader->position, "the bytes before a part", "are not all zero", error);
        if (!status) status = read_part(reader, &part, footer->chunks, &held, error);
    }
    fp_buffer_close(&held, &reader->settings.allocator);
    return status;
}

/* ---------------------------------------------------------------- the footer */

static fastpair_status footer_fault(uint64_t position, fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position,
                   "footer (offset %" PRIu64 "): it does not repeat what the blocks before it say",
                   position);
}

static fastpair_status compare_entries(const fastpair_reader *reader, const uint8_t *entries,
                                       const fp_footer *footer, uint64_t position,
                                       fastpair_error *error) {
    for (uint64_t i = 0; i < footer->dictionaries; i++) {
        fp_dict_entry said = fp_footer_dict(entries, i), seen = reader->dictionaries.list[i]->entry;
        if (said.position != seen.position || said.block_bytes != seen.block_bytes)
            return footer_fault(position, error);
    }
    for (uint64_t i = 0; i < footer->chunks; i++) {
        fp_chunk_entry said = fp_footer_chunk(entries, footer, i), seen;
        memcpy(&seen, reader->seen.chunk_entries.data + i * sizeof seen, sizeof seen);
        if (said.position != seen.position || said.block_bytes != seen.block_bytes ||
            said.rows != seen.rows || said.decoded_bytes != seen.decoded_bytes ||
            (said.dictionary && said.dictionary != seen.dictionary))
            return footer_fault(position, error);
    }
    return FASTPAIR_OK;
}

fastpair_status fp_reader_read_end(fastpair_reader *reader, fastpair_error *error) {
    uint64_t position = reader->position - FP_BLOCK_START, footer_at;
    fp_footer *totals = &reader->seen.totals, footer;
    fp_buffer *buffer = &reader->scratch;
    fp_reader_release(reader, 0);
    buffer->size = 0;
    fastpair_status status =
        fp_buffer_reserve(buffer, &reader->settings.allocator, FP_FOOTER_HEADER, error);
    if (status) return status;
    memcpy(buffer->data, reader->start, FP_BLOCK_START);
    buffer->size = FP_BLOCK_START;
    status = fp_reader_fill(reader, buffer, FP_FOOTER_HEADER, "the footer", error);
    if (!status) status = fp_footer_read(buffer->data, position, &reader->file, &footer, error);
    if (status) return status;
    if (footer.dictionaries != totals->dictionaries || footer.chunks != totals->chunks ||
        footer.rows != totals->rows || footer.nulls != totals->nulls ||
        footer.codes != totals->codes || footer.decoded_bytes != totals->decoded_bytes ||
        footer.extra_bytes != totals->extra_bytes)
        return footer_fault(position, error);
    /* The counts are those of blocks that were read, so the size is theirs. */
    status = fp_reader_fill(reader, buffer, FP_FOOTER_HEADER + fp_footer_entries(&footer),
                            "the footer", error);
    if (status) return status;
    const uint8_t *entries = buffer->data + FP_FOOTER_HEADER;
    status = fp_footer_check_entries(entries, position, &reader->file, &footer, NULL, error);
    if (!status) status = compare_entries(reader, entries, &footer, position, error);
    if (!status) status = read_parts(reader, entries, &footer, position, error);
    if (status) return status;
    if (footer.is_text && reader->seen.not_text)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position + 65,
                       "footer: it says that the column is text (offset %" PRIu64
                       "), but a row is not UTF-8",
                       position + 65);
    uint8_t trailer[FP_TRAILER], more;
    status = fp_reader_get(reader, trailer, FP_TRAILER, "the trailer", error);
    if (!status)
        status = fp_trailer_read(trailer, reader->position, &reader->file, &footer_at, error);
    if (status) return status;
    if (footer_at != position)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, reader->position - FP_TRAILER,
                       "trailer (offset %" PRIu64 "): it puts the footer elsewhere",
                       reader->position - FP_TRAILER);
    uint64_t end = reader->position;
    status = fp_reader_get(reader, &more, 1, "", error);
    if (status == FASTPAIR_ERROR_IO) return status;
    if (!status)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, end,
                       "there are bytes after the end of the column (offset %" PRIu64 ")", end);
    totals->final_separator = footer.final_separator;
    reader->at_end = 1;
    return FASTPAIR_OK;
}
