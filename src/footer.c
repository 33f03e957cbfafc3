/* footer.c - file header, footer and trailer. In: the numbers of a column, or untrusted bytes. Out:
 * the bytes, or the numbers. The footer repeats where every block is, so that a reader that can
 * seek finds all blocks in two reads. Refuses blocks that do not lie back to back, counts that the
 * file has no room for, and sums that do not agree. */
#include "footer.h"

#include "frame.h"

#include <inttypes.h>

/* The least a block can take: a header and one section, in units of the smallest alignment. It
 * bounds how many blocks fit a file, and so every product below. */
#define LEAST_DICT_BLOCK  192u
#define LEAST_CHUNK_BLOCK 384u

/* Entries that are hashed and walked while they are in a cache. */
#define HASH_PIECE (64u << 10)

static const uint8_t zero[32];

void fp_file_header_write(const fp_file_header *file, uint8_t *out) {
    memset(out, 0, FP_FILE_HEADER);
    memcpy(out, FP_FILE_MAGIC, 8);
    fp_store16(out + 8, FP_VERSION_MAJOR);
    fp_store16(out + 10, FP_VERSION_MINOR);
    fp_store32(out + 12, file->alignment);
    out[16] = file->has_framing != 0;
    out[17] = file->has_framing ? file->separator : 0;
    fp_store32(out + 20, file->features);
    fp_store64(out + 56, fp_checksum(out, 56));
}

fastpair_status fp_file_header_read(const uint8_t *in, fp_file_header *file,
                                    fastpair_error *error) {
    *file = (fp_file_header){fp_load32(in + 12), in[16], in[17], fp_load16(in + 10),
                             fp_load32(in + 20)};
    const uint32_t unknown = file->features & ~FP_FEATURES_KNOWN;
    if (memcmp(in, FP_FILE_MAGIC, 8) != 0)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, 0,
                       "this is no fastpair column: it begins with other bytes");
    if (fp_load64(in + 56) != fp_checksum(in, 56))
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, 56,
                       "file header checksum mismatch (offset 56): the file is damaged; restore it "
                       "from a copy");
    if (fp_load16(in + 8) != FP_VERSION_MAJOR)
        return fp_fail(
            error, FASTPAIR_ERROR_UNSUPPORTED, 8,
            "the file has format version %u.%u and this library reads %u.x; use a newer library",
            fp_load16(in + 8), file->minor, FP_VERSION_MAJOR);
    if (unknown)
        return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, 20,
                       "the file (format version %u.%u) needs feature bit %" PRIu32
                       ", which this library does not know; use a newer library",
                       FP_VERSION_MAJOR, file->minor, unknown & (0 - unknown));
    if (file->alignment != 64 && file->alignment != 4096)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, 12,
                       "file header: the alignment (offset 12) is %" PRIu32 ", not 64 or 4096",
                       file->alignment);
    if (file->has_framing > 1 || (!file->has_framing && file->separator))
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, 16,
                       "file header: the framing fields (offset 16) are wrong");
    if (file->features && !fp_frames_available()) return fp_frames_missing(20, error);
    if (!file->minor && (memcmp(in + 18, zero, 2) != 0 || memcmp(in + 24, zero, 32) != 0))
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, 18,
                       "file header: a field that must be zero (offset 18..55) is not");
    return FASTPAIR_OK;
}

uint64_t fp_footer_size(const fp_footer *footer, const fp_part_content *parts) {
    uint64_t size = FP_FOOTER_HEADER + fp_footer_entries(footer);
    for (uint32_t i = 0; i < footer->parts; i++)
        size = fp_align(size, FP_PART_ALIGNMENT) + parts[i].bytes.size;
    return size;
}

static void write_entries(const fp_footer *footer, const fp_footer_contents *contents,
                          uint8_t *entry) {
    for (uint64_t i = 0; i < footer->dictionaries; i++, entry += FP_FOOTER_DICT_ENTRY) {
        const fp_dict_entry *from = &contents->dictionaries[i];
        fp_store64(entry, from->position);
        fp_store64(entry + 8, from->block_bytes);
        fp_store64(entry + 16, from->tokens_in_use); /* 4 bytes, then 4 zero ones */
    }
    for (uint64_t i = 0; i < footer->chunks; i++, entry += FP_FOOTER_CHUNK_ENTRY) {
        const fp_chunk_entry *from = &contents->chunks[i];
        fp_store64(entry, from->position);
        fp_store64(entry + 8, from->block_bytes);
        fp_store32(entry + 16, from->rows);
        fp_store32(entry + 20, from->dictionary);
        fp_store64(entry + 24, from->decoded_bytes);
    }
}

void fp_footer_write(const fp_footer *footer, const fp_footer_contents *contents, uint64_t position,
                     uint8_t *out) {
    uint64_t size = fp_footer_size(footer, contents->parts), entries = fp_footer_entries(footer);
    memset(out, 0, FP_FOOTER_HEADER);
    write_entries(footer, contents, out + FP_FOOTER_HEADER);
    fp_parts_write(contents->parts, footer->parts, FP_FOOTER_HEADER + entries, out);
    fp_store32(out, FP_KIND_FOOTER);
    fp_store32(out + 4, FP_FOOTER_HEADER);
    fp_store64(out + 8, size);
    fp_store64(out + 16, footer->dictionaries);
    fp_store64(out + 24, footer->chunks);
    fp_store64(out + 32, footer->rows);
    fp_store64(out + 40, footer->nulls);
    fp_store64(out + 48, footer->codes);
    fp_store64(out + 56, footer->decoded_bytes);
    out[64] = footer->final_separator != 0;
    out[65] = footer->is_text != 0;
    fp_store32(out + 68, footer->parts);
    fp_store64(out + 72, fp_checksum(out + FP_FOOTER_HEADER, entries));
    fp_store64(out + 104, fp_checksum(out, 104));

    uint8_t *trailer = out + size;
    fp_store64(trailer, position);
    fp_store64(trailer + 8, position + size + FP_TRAILER);
    fp_store64(trailer + 16, fp_checksum(trailer, 16));
    memcpy(trailer + 24, FP_TAIL_MAGIC, 8);
}

#define REFUSE(condition, where, text)                                                             \
    if (condition)                                                                                 \
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, (where),                                         \
                   "footer: " text " (offset %" PRIu64 ")", (where))

fastpair_status fp_footer_read(const uint8_t *header, uint64_t position, const fp_file_header *file,
                               fp_footer *footer, fastpair_error *error) {
    *footer = (fp_footer){.dictionaries = fp_load64(header + 16),
                          .chunks = fp_load64(header + 24),
                          .rows = fp_load64(header + 32),
                          .nulls = fp_load64(header + 40),
                          .codes = fp_load64(header + 48),
                          .decoded_bytes = fp_load64(header + 56),
                          .final_separator = header[64],
                          .is_text = header[65],
                          .parts = fp_load32(header + 68),
                          .block_bytes = fp_load64(header + 8),
                          .entries_checksum = fp_load64(header + 72),
                          .extra_bytes = fp_load64(header + 80)};
    REFUSE(fp_load32(header) != FP_KIND_FOOTER, position, "it is not where the trailer says");
    REFUSE(fp_load32(header + 4) != FP_FOOTER_HEADER, position + 4, "its header has a wrong size");
    REFUSE(fp_load64(header + 104) != fp_checksum(header, 104), position + 104,
           "header checksum mismatch: the file is damaged; restore it from a copy");
    REFUSE(!file->minor &&
               (memcmp(header + 66, zero, 2) != 0 || memcmp(header + 80, zero, 24) != 0),
           position + 66, "a field that must be zero is not");
    REFUSE(footer->final_separator > 1 || (footer->final_separator && !file->has_framing),
           position + 64, "the final separator is neither 0 nor 1, or there is no framing");
    REFUSE(footer->is_text > 1, position + 65, "the type is neither 0 nor 1");
    REFUSE(footer->parts > FP_MAX_PARTS, position + 68, "it has more than 64 parts");
    REFUSE(footer->extra_bytes % file->alignment ||
               footer->extra_bytes > position - fp_first_block(file->alignment),
           position + 80, "the extra blocks do not fit before it");
    REFUSE(footer->dictionaries > position / LEAST_DICT_BLOCK ||
               footer->chunks > position / LEAST_CHUNK_BLOCK,
           position + 16, "there are more blocks than the file has room for");
    /* Both counts are now below 2^57, so fp_footer_entries cannot overflow. */
    uint64_t least = FP_FOOTER_HEADER + fp_footer_entries(footer);
    REFUSE(footer->parts ? footer->block_bytes <= least : footer->block_bytes != least,
           position + 8, "its size does not follow from its counts");
    return FASTPAIR_OK;
}

fp_dict_entry fp_footer_dict(const uint8_t *entries, uint64_t i) {
    const uint8_t *entry = entries + i * FP_FOOTER_DICT_ENTRY;
    return (fp_dict_entry){fp_load64(entry), fp_load64(entry + 8), fp_load32(entry + 16)};
}

fp_chunk_entry fp_footer_chunk(const uint8_t *entries, const fp_footer *footer, uint64_t i) {
    const uint8_t *entry =
        entries + footer->dictionaries * FP_FOOTER_DICT_ENTRY + i * FP_FOOTER_CHUNK_ENTRY;
    return (fp_chunk_entry){fp_load64(entry), fp_load64(entry + 8), fp_load32(entry + 16),
                            fp_load32(entry + 20), fp_load64(entry + 24)};
}

/* A walk over entries that may still be damaged: `hashed` bytes of them have been hashed. */
typedef struct entry_walk {
    const uint8_t *entries;
    uint64_t size, hashed;
    fp_hasher hasher;
} entry_walk;

/* Hashes entries up to some way past `at`, so that the walk finds them in a cache. */
static void hash_up_to(entry_walk *walk, uint64_t at) {
    while (walk->hashed < walk->size && walk->hashed <= at) {
        uint64_t left = walk->size - walk->hashed, piece = left < HASH_PIECE ? left : HASH_PIECE;
        fp_hasher_add(&walk->hasher, walk->entries + walk->hashed, piece);
        walk->hashed += piece;
    }
}

static fastpair_status walk_entries(entry_walk *walk, uint64_t position, const fp_file_header *file,
                                    const fp_footer *footer, const fp_chunk_starts *starts,
                                    fastpair_error *error) {
    const uint8_t *entries = walk->entries;
    uint64_t begin = position + FP_FOOTER_HEADER, cursor = fp_first_block(file->alignment);
    const uint64_t end = position - footer->extra_bytes;
    uint64_t dict = 0, chunk = 0, rows = 0, decoded = 0;
    while (dict < footer->dictionaries || chunk < footer->chunks) {
        uint64_t where = begin + dict * FP_FOOTER_DICT_ENTRY, block_bytes;
        fp_dict_entry next = {0};
        if (dict < footer->dictionaries) next = fp_footer_dict(entries, dict);
        if (dict < footer->dictionaries && next.position == cursor) {
            REFUSE(!file->minor && fp_load32(entries + dict * FP_FOOTER_DICT_ENTRY + 20),
                   where + 20, "a field that must be zero is not");
            block_bytes = next.block_bytes;
            dict++;
        } else {
            where =
                begin + footer->dictionaries * FP_FOOTER_DICT_ENTRY + chunk * FP_FOOTER_CHUNK_ENTRY;
            REFUSE(chunk == footer->chunks, where, "blocks are not back to back");
            hash_up_to(walk, where - begin);
            fp_chunk_entry entry = fp_footer_chunk(entries, footer, chunk);
            REFUSE(entry.position != cursor, where, "blocks are not back to back");
            block_bytes = entry.block_bytes;
            if (starts) starts->row[chunk] = rows, starts->byte[chunk] = decoded;
            chunk++;
            REFUSE(entry.rows < 1 || entry.rows > FP_MAX_CHUNK_ROWS ||
                       entry.decoded_bytes > FP_MAX_CHUNK_BYTES,
                   where + 16, "a chunk is larger than chunks can be");
            REFUSE(entry.dictionary > dict, where + 20, "a chunk's dictionary is not before it");
            /* A code of one bit gives at most 64 bytes, and 256 rows have 16 bytes of directory. */
            REFUSE(block_bytes < FP_CHUNK_HEADER ||
                       (!(file->features & FP_FEATURE_COLD) &&
                        (entry.decoded_bytes / 512 > block_bytes || entry.rows / 16 > block_bytes)),
                   where + 8, "a chunk is smaller than its rows or bytes can be");
            /* Fewer than 2^55 chunks of below 2^28 rows could pass 2^64, but not in a file that
             * exists, as each chunk takes 384 bytes of it. Checked all the same. */
            REFUSE(__builtin_add_overflow(rows, entry.rows, &rows) ||
                       __builtin_add_overflow(decoded, entry.decoded_bytes, &decoded),
                   where + 16, "sums do not fit 64 bits");
        }
        REFUSE(block_bytes < LEAST_DICT_BLOCK || block_bytes % file->alignment ||
                   block_bytes > end - cursor,
               where + 8, "a block does not fit between the one before and the footer");
        cursor += block_bytes;
    }
    if (starts) starts->row[chunk] = rows, starts->byte[chunk] = decoded;
    REFUSE(cursor != end, position, "it does not begin where the last block ends");
    REFUSE(rows != footer->rows, position + 32, "the chunks' rows do not add up to the total");
    REFUSE(decoded != footer->decoded_bytes, position + 56,
           "the chunks' bytes do not add up to the total");
    REFUSE(footer->nulls > rows, position + 40, "there are more null rows than rows");
    REFUSE(footer->codes > decoded, position + 48, "there are more codes than decoded bytes");
    return FASTPAIR_OK;
}

fastpair_status fp_footer_check_entries(const uint8_t *entries, uint64_t position,
                                        const fp_file_header *file, const fp_footer *footer,
                                        const fp_chunk_starts *starts, fastpair_error *error) {
    entry_walk walk = {.entries = entries};
    walk.size = fp_footer_entries(footer);
    fp_hasher_begin(&walk.hasher);
    fastpair_status status = walk_entries(&walk, position, file, footer, starts, error);
    hash_up_to(&walk, walk.size);
    uint64_t begin = position + FP_FOOTER_HEADER;
    REFUSE(footer->entries_checksum != (walk.size ? fp_hasher_end(&walk.hasher) : 0), begin,
           "entries checksum mismatch: the file is damaged; restore it from a copy");
    fp_parts_place place = {entries + fp_footer_part_entries(footer), footer->parts, position,
                            walk.size, footer->block_bytes};
    return status ? status : fp_parts_check_entries(&place, error);
}
#undef REFUSE

const char *fp_extra_block_fault(const uint8_t *start, uint64_t room, uint32_t alignment,
                                 uint64_t *size) {
    uint32_t kind = fp_load32(start), header = fp_load32(start + 4);
    *size = fp_load64(start + 8);
    if (kind == FP_KIND_DICTIONARY || kind == FP_KIND_CHUNK || kind == FP_KIND_FOOTER)
        return "it has the kind of another block";
    if (*size % alignment || *size > room || header < FP_BLOCK_START + 8 || header > *size)
        return "its sizes are out of range";
    return NULL;
}

fastpair_status fp_extra_block_fail(uint64_t position, const char *fault, fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position, "extra block at offset %" PRIu64 ": %s",
                   position, fault);
}

fastpair_status fp_trailer_read(const uint8_t *in, uint64_t size, const fp_file_header *file,
                                uint64_t *position, fastpair_error *error) {
    uint64_t claimed = fp_load64(in + 8), at = size - FP_TRAILER;
    *position = fp_load64(in);
    if (memcmp(in + 24, FP_TAIL_MAGIC, 8) != 0)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, at,
                       "there is no trailer at the file's end: the file was cut short or something "
                       "was appended");
    if (fp_load64(in + 16) != fp_checksum(in, 16))
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, at,
                       "trailer checksum mismatch (offset %" PRIu64
                       "): the file is damaged; restore it from a copy",
                       at);
    if (claimed != size)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, at + 8,
                       "the trailer says that the file has %" PRIu64 " bytes, but it has %" PRIu64,
                       claimed, size);
    if (*position % file->alignment || *position < fp_first_block(file->alignment) ||
        size < FP_FOOTER_HEADER + FP_TRAILER || *position > size - FP_FOOTER_HEADER - FP_TRAILER)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, at,
                       "the trailer (offset %" PRIu64 ") puts the footer where none can be", at);
    return FASTPAIR_OK;
}
