/* metadata.c - what a file says of its column: name, pairs, bounds of chunks. In: the footer's parts
 * of an open column, which nobody has looked at yet. Out: answers, from memory that lasts as long as
 * the column.
 *
 * The trick is that of column_chunk.c: what was checked is published by one atomic store after it is
 * complete. Of two threads that meet, both check and one publishes. Name and pairs are copied out of
 * the image before they are checked, with a NUL after each key. Bounds stay where they are, since
 * they may be large. Refuses parts that break a rule of docs/format.md, section 4. */
#include "column_source.h"

#include "bounds.h"
#include "options.h"
#include "parts.h"

#include <inttypes.h>

/* Name and pairs in one block of memory: this, the pairs, copies of the parts. */
typedef struct fp_described {
    const char *name; /* NULL: none */
    uint64_t pair_count;
    fastpair_pair pairs[];
} fp_described;

/* ---------------------------------------------------------------- parts */

/* A part of the image; `bytes` is NULL if the file has none of the kind. */
typedef struct part_view {
    const uint8_t *bytes;
    uint64_t size, checksum;
    uint64_t position; /* file offset */
} part_view;

static fastpair_status part_fault(const part_view *part, const char *what, const char *fault,
                                  fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, part->position,
                   "footer: %s %s (offset %" PRIu64 ")", what, fault, part->position);
}

static part_view view_part(const fastpair_column *column, uint32_t i, uint32_t *kind) {
    const fp_footer *footer = &column->totals;
    const uint8_t *block = fp_column_footer(column);
    fp_part_entry entry =
        fp_part_read_entry(block + FP_FOOTER_HEADER + fp_footer_part_entries(footer), i);
    *kind = entry.kind;
    /* Opening has compared these. Should others change the image, no access leaves it. */
    if (entry.offset > footer->block_bytes || entry.size > footer->block_bytes - entry.offset)
        return (part_view){block, 0, 0, column->footer_position};
    return (part_view){block + entry.offset, entry.size, entry.checksum,
                       column->footer_position + entry.offset};
}

static part_view find_part(const fastpair_column *column, uint32_t wanted) {
    for (uint32_t i = 0; i < column->totals.parts; i++) {
        uint32_t kind;
        part_view part = view_part(column, i, &kind);
        if (kind == wanted) return part;
    }
    return (part_view){0};
}

static const char checksum_fault[] =
    "checksum mismatch: the file is damaged; restore it from a copy";

/* ---------------------------------------------------------------- name and pairs */

/* Fills in what points into the copies: `name` and `pairs` are the parts, copied and good. Each key
 * moves one byte down, over its size, to make room for a NUL. */
static void point_to(fp_described *described, uint8_t *name, uint8_t *pairs) {
    described->name = (const char *)name;
    uint64_t offset = 8;
    for (uint64_t i = 0; i < described->pair_count; i++) {
        fp_pair_view pair = fp_pairs_next(pairs, &offset);
        uint8_t *key = pairs + (pair.key - pairs) - 1;
        memmove(key, pair.key, pair.key_size);
        key[pair.key_size] = 0;
        described->pairs[i] = (fastpair_pair){(const char *)key, pair.value, pair.value_size};
    }
}

/* Copies a part to `to` and checks the copy. */
static fastpair_status copy_part(const part_view *part, uint32_t kind, uint32_t minor, uint8_t *to,
                                 fastpair_error *error) {
    const char *what = kind == FP_PART_NAME ? "the column's name" : "the pairs of key and value";
    memcpy(to, part->bytes, (size_t)part->size);
    if (fp_checksum(to, part->size) != part->checksum)
        return part_fault(part, what, checksum_fault, error);
    const char *fault = kind == FP_PART_NAME ? fp_name_fault(to, part->size)
                                             : fp_pairs_fault(to, part->size, minor);
    return fault ? part_fault(part, what, fault, error) : FASTPAIR_OK;
}

static fastpair_status read_description(const fastpair_column *column, fp_described **result,
                                        fastpair_error *error) {
    const fastpair_allocator *allocator = &column->settings.allocator;
    const uint32_t minor = column->file.minor;
    part_view name = find_part(column, FP_PART_NAME), pairs = find_part(column, FP_PART_PAIRS);
    if (name.size > FP_MOST_NAME)
        return part_fault(&name, "the column's name", "is too long", error);
    if (pairs.bytes && (pairs.size < 8 || pairs.size > FP_MOST_PAIRS))
        return part_fault(&pairs, "the pairs of key and value", "have a wrong size", error);
    uint64_t count = pairs.bytes ? fp_load32(pairs.bytes) : 0;
    if (count > pairs.size / 8) /* so that memory is in proportion to the file */
        return part_fault(&pairs, "the pairs of key and value", "go past the end of their part",
                          error);
    uint64_t head = sizeof(fp_described) + count * sizeof(fastpair_pair);
    uint64_t size = head + name.size + 1 + pairs.size;
    uint8_t *memory = fp_allocate(allocator, size, 1);
    if (!memory) return fp_fail_memory(error, size);
    fp_described *described = (fp_described *)(void *)memory;
    uint8_t *name_copy = memory + head, *pairs_copy = name_copy + name.size + 1;
    *described = (fp_described){.pair_count = count};
    name_copy[name.size] = 0;
    fastpair_status status = FASTPAIR_OK;
    if (name.bytes) status = copy_part(&name, FP_PART_NAME, minor, name_copy, error);
    if (!status && pairs.bytes) status = copy_part(&pairs, FP_PART_PAIRS, minor, pairs_copy, error);
    if (!status && pairs.bytes && fp_load32(pairs_copy) != count)
        status = part_fault(&pairs, "the pairs of key and value", checksum_fault, error);
    if (status) {
        fp_release(allocator, memory);
        return status;
    }
    point_to(described, name.bytes ? name_copy : NULL, pairs_copy);
    *result = described;
    return FASTPAIR_OK;
}

static fastpair_status find_description(const fastpair_column *column,
                                        const fp_described **described, fastpair_error *error) {
    static const fp_described none; /* a column without name and pairs */
    *described = &none;
    if (!find_part(column, FP_PART_NAME).bytes && !find_part(column, FP_PART_PAIRS).bytes)
        return FASTPAIR_OK;
    fp_described **place = &column->parts->described;
    fp_described *kept = __atomic_load_n(place, __ATOMIC_ACQUIRE), *fresh = NULL;
    if (!kept) {
        fastpair_status status = read_description(column, &fresh, error);
        if (status) return status;
        if (__atomic_compare_exchange_n(place, &kept, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            kept = fresh;
        else
            fp_release(&column->settings.allocator, fresh); /* another thread was first */
    }
    *described = kept;
    return FASTPAIR_OK;
}

fastpair_status fastpair_column_get_metadata(const fastpair_column *column,
                                             fastpair_metadata *metadata, fastpair_error *error) {
    fastpair_metadata all = {0};
    const fp_described *described;
    fastpair_status status =
        metadata ? fp_info_copy("metadata", &all, sizeof all, metadata, error) : FASTPAIR_OK;
    if (status) return status;
    if (!column || !metadata)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_get_metadata: column and metadata must not be NULL");
    if ((status = find_description(column, &described, error))) return status;
    all.type = fp_column_type(column);
    all.name = described->name;
    all.pairs = described->pair_count ? described->pairs : NULL;
    all.pair_count = described->pair_count;
    return fp_info_copy("metadata", &all, sizeof all, metadata, error);
}

fastpair_status fastpair_column_find_pair(const fastpair_column *column, const char *key,
                                          const fastpair_pair **pair, fastpair_error *error) {
    if (pair) *pair = NULL;
    if (!column || !key || !pair)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_find_pair: column, key and pair must not be NULL");
    const fp_described *described;
    fastpair_status status = find_description(column, &described, error);
    if (status) return status;
    for (uint64_t low = 0, high = described->pair_count; low < high && !*pair;) {
        uint64_t middle = low + (high - low) / 2;
        int order = strcmp(described->pairs[middle].key, key);
        if (order == 0) *pair = &described->pairs[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- bounds */

fastpair_status fp_column_find_bounds(const fastpair_column *column, fp_column_bounds *bounds,
                                      fastpair_error *error) {
    static const char what[] = "the bounds of chunks";
    const uint32_t minor = column->file.minor;
    const uint64_t chunks = column->totals.chunks;
    part_view part = find_part(column, FP_PART_BOUNDS);
    *bounds = (fp_column_bounds){0};
    if (!part.bytes) return FASTPAIR_OK;
    if (part.size < FP_BOUNDS_HEADER) return part_fault(&part, what, "have a wrong size", error);
    uint32_t width;
    const char *fault = fp_bounds_header_fault(part.bytes, part.size, chunks, minor, &width);
    if (fault) return part_fault(&part, what, fault, error);
    const uint8_t *entries = part.bytes + FP_BOUNDS_HEADER;
    uint32_t *checked = &column->parts->bounds_are_checked;
    if (!__atomic_load_n(checked, __ATOMIC_ACQUIRE)) {
        if (fp_checksum(part.bytes, part.size) != part.checksum)
            return part_fault(&part, what, checksum_fault, error);
        for (uint64_t i = 0; i < chunks; i++) {
            fault = fp_bounds_entry_fault(entries + i * fp_bounds_entry_size(width), width, minor);
            if (!fault) continue;
            part.position += FP_BOUNDS_HEADER + i * fp_bounds_entry_size(width);
            return part_fault(&part, what, fault, error);
        }
        __atomic_store_n(checked, 1, __ATOMIC_RELEASE);
    }
    *bounds = (fp_column_bounds){entries, width};
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- everything */

/* The first bytes of an extra block, up to `to`: those of the image, or what *held then holds. */
static fastpair_status view_extra(const fastpair_column *column, fp_range range, fp_fetched **held,
                                  const uint8_t **bytes, fastpair_error *error) {
    *held = NULL;
    *bytes = column->image;
    if (!column->source) {
        *bytes += range.from;
        return FASTPAIR_OK;
    }
    fastpair_status status = fp_ranges_hold(&column->source->ranges, range, NULL, held, error);
    if (!status) *bytes = fp_fetched_at(*held, range.from);
    return status;
}

static void drop_extra(const fastpair_column *column, fp_fetched *held) {
    if (held) fp_ranges_drop(&column->source->ranges, held);
}

/* Compares the header of an extra block, at `at`, with its checksum. *size gets the block's size. */
static fastpair_status check_extra_block(const fastpair_column *column, uint64_t at, uint64_t *size,
                                         fastpair_error *error) {
    const uint64_t room = column->footer_position - at;
    const uint8_t *block;
    fp_fetched *held;
    fastpair_status status =
        view_extra(column, (fp_range){at, at + FP_BLOCK_START}, &held, &block, error);
    if (status) return status;
    const char *fault = fp_extra_block_fault(block, room, column->file.alignment, size);
    uint32_t hashed = fault ? 0 : fp_load32(block + 4) - 8;
    /* Others may change an image while it is read. */
    if (!fault && hashed > room - 8) fault = checksum_fault;
    drop_extra(column, held);
    if (fault) return fp_extra_block_fail(at, fault, error);
    status = view_extra(column, (fp_range){at, at + hashed + 8}, &held, &block, error);
    if (status) return status;
    if (fp_load64(block + hashed) != fp_checksum(block, hashed))
        status = fp_extra_block_fail(at, checksum_fault, error);
    drop_extra(column, held);
    return status;
}

/* Extra blocks have a header of a kind that is not known, with its checksum. */
static fastpair_status check_extra_blocks(const fastpair_column *column, fastpair_error *error) {
    uint64_t end = column->footer_position, at = end - column->totals.extra_bytes, size = 0;
    fastpair_status status = FASTPAIR_OK;
    for (; at < end && !status; at += size) status = check_extra_block(column, at, &size, error);
    return status;
}

fastpair_status fp_column_check_parts(const fastpair_column *column, fastpair_error *error) {
    const fp_described *described;
    fp_column_bounds bounds;
    uint64_t end = column->footer_position + FP_FOOTER_HEADER + fp_footer_entries(&column->totals);
    fastpair_status status = find_description(column, &described, error);
    if (!status) status = fp_column_find_bounds(column, &bounds, error);
    for (uint32_t i = 0; i < column->totals.parts && !status; i++) {
        uint32_t kind;
        part_view part = view_part(column, i, &kind);
        /* The checksums of those that are known have been compared, now or before. */
        if (kind > FP_PART_KINDS && fp_checksum(part.bytes, part.size) != part.checksum)
            status = part_fault(&part, "a part", checksum_fault, error);
        if (!status && (part.position < end ||
                        !fp_all_zero(fp_column_footer(column) + (end - column->footer_position),
                                     part.position - end)))
            status = part_fault(&part, "the bytes before a part", "are not all zero", error);
        end = part.position + part.size;
    }
    return status ? status : check_extra_blocks(column, error);
}
