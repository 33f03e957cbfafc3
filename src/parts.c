/* parts.c - parts of the footer. In: what a caller says of a column, or untrusted bytes. Out: the
 * parts, or what is wrong with them. Keys are sorted when they are written, so that equal pairs give
 * equal files and a reader can search. Refuses parts that overlap, are out of order or leave holes,
 * names and keys that are not UTF-8 or too long, and kinds that a reader must know and this one does
 * not. */
#include "parts.h"

#include "utf8.h"

#include <inttypes.h>
#include <stdlib.h>

#define PAIRS_HEADER 8u
#define PAIR_HEADER  8u

/* ---------------------------------------------------------------- entries */

void fp_parts_write(const fp_part_content *parts, uint32_t count, uint64_t end, uint8_t *footer) {
    uint8_t *entry = footer + end - (uint64_t)count * FP_PART_ENTRY;
    for (uint32_t i = 0; i < count; i++, entry += FP_PART_ENTRY) {
        const fp_buffer *bytes = &parts[i].bytes;
        uint64_t offset = fp_align(end, FP_PART_ALIGNMENT);
        memset(footer + end, 0, (size_t)(offset - end));
        memcpy(footer + offset, bytes->data, (size_t)bytes->size);
        fp_store64(entry, parts[i].kind); /* 4 bytes, then flags that are 0 */
        fp_store64(entry + 8, offset);
        fp_store64(entry + 16, bytes->size);
        fp_store64(entry + 24, fp_checksum(bytes->data, bytes->size));
        end = offset + bytes->size;
    }
}

fp_part_entry fp_part_read_entry(const uint8_t *entries, uint32_t i) {
    const uint8_t *entry = entries + (uint64_t)i * FP_PART_ENTRY;
    return (fp_part_entry){fp_load32(entry), fp_load32(entry + 4), fp_load64(entry + 8),
                           fp_load64(entry + 16), fp_load64(entry + 24)};
}

#define REFUSE(condition, where, text)                                                             \
    if (condition)                                                                                 \
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, (where),                                         \
                   "footer: " text " (offset %" PRIu64 ")", (where))

fastpair_status fp_parts_check_entries(const fp_parts_place *place, fastpair_error *error) {
    const uint64_t first = FP_FOOTER_HEADER + place->all_entries;
    const uint64_t begin =
        place->position + first - (uint64_t)place->count * FP_PART_ENTRY; /* of the entries */
    uint64_t end = first;
    uint32_t before = 0;
    for (uint32_t i = 0; i < place->count; i++) {
        fp_part_entry part = fp_part_read_entry(place->entries, i);
        uint64_t where = begin + (uint64_t)i * FP_PART_ENTRY;
        REFUSE(part.kind <= before, where, "kinds of parts do not ascend");
        REFUSE(part.flags > 1, where + 4, "the flags of a part are neither 0 nor 1");
        REFUSE(part.offset != fp_align(end, FP_PART_ALIGNMENT), where + 8,
               "a part does not lie where it should");
        REFUSE(!part.size || part.offset > place->block_bytes ||
                   part.size > place->block_bytes - part.offset,
               where + 16, "a part is empty or goes past the footer's end");
        end = part.offset + part.size;
        before = part.kind;
    }
    REFUSE(end != place->block_bytes, place->position + 8, "its parts do not end where it does");
    /* Only now: what is damaged is not called unsupported. */
    for (uint32_t i = 0; i < place->count; i++) {
        fp_part_entry part = fp_part_read_entry(place->entries, i);
        if (part.flags && part.kind > FP_PART_KINDS)
            return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, begin + (uint64_t)i * FP_PART_ENTRY,
                           "the file needs part %" PRIu32 " of its footer, which this library does "
                           "not know; use a newer library",
                           part.kind);
    }
    return FASTPAIR_OK;
}
#undef REFUSE

/* ---------------------------------------------------------------- contents */

/* What is wrong with a name or a key. */
static const char *word_fault(const uint8_t *bytes, uint64_t size, uint64_t most) {
    if (!size || size > most) return "is empty or too long";
    if (memchr(bytes, 0, (size_t)size)) return "has a zero byte";
    return fp_utf8_fault(bytes, size) != UINT64_MAX ? "is not UTF-8" : NULL;
}

const char *fp_name_fault(const uint8_t *bytes, uint64_t size) {
    return word_fault(bytes, size, FP_MOST_NAME);
}

fp_pair_view fp_pairs_next(const uint8_t *bytes, uint64_t *offset) {
    const uint8_t *pair = bytes + *offset;
    fp_pair_view view = {.key_size = fp_load32(pair), .value_size = fp_load32(pair + 4)};
    view.key = pair + PAIR_HEADER;
    view.value = view.key + view.key_size;
    *offset += PAIR_HEADER + (uint64_t)view.key_size + view.value_size;
    return view;
}

/* Below 0 if key a comes before key b. */
static int compare_keys(const fp_pair_view *a, const fp_pair_view *b) {
    uint32_t common = a->key_size < b->key_size ? a->key_size : b->key_size;
    int order = memcmp(a->key, b->key, common);
    return order ? order : a->key_size < b->key_size ? -1 : a->key_size > b->key_size;
}

const char *fp_pairs_fault(const uint8_t *bytes, uint64_t size, uint32_t minor) {
    if (size < PAIRS_HEADER || size > FP_MOST_PAIRS) return "have a wrong size";
    if (!minor && fp_load32(bytes + 4)) return "have a field that must be zero and is not";
    uint64_t offset = PAIRS_HEADER;
    fp_pair_view before = {0};
    for (uint64_t i = 0, count = fp_load32(bytes); i < count; i++) {
        if (size - offset < PAIR_HEADER ||
            (uint64_t)fp_load32(bytes + offset) + fp_load32(bytes + offset + 4) >
                size - offset - PAIR_HEADER)
            return "go past the end of their part";
        fp_pair_view pair = fp_pairs_next(bytes, &offset);
        if (word_fault(pair.key, pair.key_size, FP_MOST_KEY))
            return "have a key that is empty, too long or not UTF-8";
        if (i && compare_keys(&before, &pair) >= 0) return "have keys that do not ascend";
        before = pair;
    }
    return offset == size ? NULL : "have bytes after the last one";
}

/* ---------------------------------------------------------------- what a caller says */

#define REFUSE(condition, ...)                                                                     \
    if (condition)                                                                                 \
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION, __VA_ARGS__)

/* Bytes of the part of pairs, 0 if there are none. */
static uint64_t pairs_size(const fastpair_metadata *metadata) {
    uint64_t size = metadata->pair_count ? PAIRS_HEADER : 0;
    for (uint64_t i = 0; i < metadata->pair_count; i++)
        size += PAIR_HEADER + strlen(metadata->pairs[i].key) + metadata->pairs[i].value_size;
    return size;
}

fastpair_status fp_metadata_check(const fastpair_metadata *metadata, uint64_t *bytes,
                                  fastpair_error *error) {
    if (bytes) *bytes = 0;
    REFUSE((uint32_t)metadata->type > FASTPAIR_TYPE_DETECT, "metadata: unknown type %d",
           (int)metadata->type);
    uint64_t name = metadata->name ? strlen(metadata->name) : 0;
    const char *fault = name ? fp_name_fault((const uint8_t *)metadata->name, name) : NULL;
    REFUSE(fault, "metadata: the name %s; it has at most %u bytes of UTF-8", fault, FP_MOST_NAME);
    REFUSE(metadata->pair_count && !metadata->pairs, "metadata: pairs must not be NULL");
    for (uint64_t i = 0; i < metadata->pair_count; i++) {
        const fastpair_pair *pair = &metadata->pairs[i];
        REFUSE(!pair->key, "metadata: pair %" PRIu64 " has no key", i);
        fault = word_fault((const uint8_t *)pair->key, strlen(pair->key), FP_MOST_KEY);
        REFUSE(fault, "metadata: the key of pair %" PRIu64 " %s; it has 1 to %u bytes of UTF-8", i,
               fault, FP_MOST_KEY);
        REFUSE(!pair->value && pair->value_size, "metadata: pair %" PRIu64 " has no value", i);
        /* So that no sum passes 64 bits. */
        REFUSE(pair->value_size > FP_MOST_PAIRS || i > FP_MOST_PAIRS,
               "metadata: the pairs take more than %u bytes together", FP_MOST_PAIRS);
    }
    uint64_t pairs = pairs_size(metadata);
    REFUSE(pairs > FP_MOST_PAIRS, "metadata: the pairs take %" PRIu64 " bytes; the most is %u",
           pairs, FP_MOST_PAIRS);
    const uint64_t rest = FP_PART_ENTRY + FP_PART_ALIGNMENT - 1;
    if (bytes) *bytes = (name ? name + rest : 0) + (pairs ? pairs + rest : 0);
    return FASTPAIR_OK;
}

static int compare_pairs(const void *a, const void *b) {
    const fastpair_pair *one = *(const fastpair_pair *const *)a,
                        *other = *(const fastpair_pair *const *)b;
    return strcmp(one->key, other->key); /* as unsigned bytes, as the page asks */
}

static void write_pairs(const fastpair_pair *const *sorted, uint64_t count, fp_buffer *to) {
    uint8_t *at = to->data;
    fp_store64(at, count); /* 4 bytes, then 4 zero ones */
    at += PAIRS_HEADER;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t key = (uint32_t)strlen(sorted[i]->key), value = (uint32_t)sorted[i]->value_size;
        fp_store32(at, key);
        fp_store32(at + 4, value);
        memcpy(at + PAIR_HEADER, sorted[i]->key, key);
        if (value) memcpy(at + PAIR_HEADER + key, sorted[i]->value, value);
        at += PAIR_HEADER + (uint64_t)key + value;
    }
    to->size = (uint64_t)(at - to->data);
}

fastpair_status fp_metadata_pack(const fastpair_metadata *metadata,
                                 const fastpair_allocator *allocator, fp_buffer *name,
                                 fp_buffer *pairs, fastpair_error *error) {
    uint64_t name_size = metadata->name ? strlen(metadata->name) : 0, count = metadata->pair_count;
    fastpair_status status = FASTPAIR_OK;
    if (name_size && !(status = fp_buffer_reserve(name, allocator, name_size, error))) {
        memcpy(name->data, metadata->name, (size_t)name_size);
        name->size = name_size;
    }
    if (status || !count) return status;
    const fastpair_pair **sorted = fp_allocate(allocator, count, sizeof *sorted);
    if (!sorted) return fp_fail_memory(error, count * sizeof *sorted);
    for (uint64_t i = 0; i < count; i++) sorted[i] = &metadata->pairs[i];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_pairs);
    for (uint64_t i = 1; i < count && !status; i++)
        if (!strcmp(sorted[i - 1]->key, sorted[i]->key))
            status = fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                             "metadata: two pairs have the key '%.100s'", sorted[i]->key);
    if (!status) status = fp_buffer_reserve(pairs, allocator, pairs_size(metadata), error);
    if (!status) write_pairs(sorted, count, pairs);
    fp_release(allocator, sorted);
    return status;
}
#undef REFUSE
