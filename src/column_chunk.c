/* column_chunk.c - chunk headers of an open column, read on first use. In: the number of a chunk.
 * Out: its header, parsed and checked.
 *
 * The trick: a parsed header is published by one atomic store after it is complete, so that whoever
 * sees it needs no lock. Of two threads that meet, both parse and one publishes. A header is copied
 * out of the image before it is checked, and its rows and bytes must be those that opening summed
 * up: should others change the image meanwhile, no access leaves it. Refuses headers that
 * fp_chunk_read_header refuses or that contradict the footer. */
#include "column_source.h"

#include <inttypes.h>
#include <sched.h>

uint64_t fp_column_find_chunk(const fastpair_column *column, uint64_t row) {
    uint64_t low = 0, high = column->totals.chunks;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (column->starts.row[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const uint8_t *fp_column_footer(const fastpair_column *column) {
    return column->source ? column->source->footer : column->image + column->footer_position;
}

fp_chunk_entry fp_column_entry(const fastpair_column *column, uint64_t number) {
    return fp_footer_chunk(fp_column_footer(column) + FP_FOOTER_HEADER, &column->totals, number);
}

fp_dict_entry fp_column_dict_entry(const fastpair_column *column, uint64_t number) {
    return fp_footer_dict(fp_column_footer(column) + FP_FOOTER_HEADER, number);
}

uint64_t fp_column_dicts_before(const fastpair_column *column, uint64_t position) {
    uint64_t low = 0, high = column->totals.dictionaries;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (fp_column_dict_entry(column, middle).position < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static fastpair_status parse(const fastpair_column *column, uint64_t number, fp_chunk *chunk,
                             fastpair_error *error) {
    fp_chunk_entry entry = fp_column_entry(column, number);
    if (entry.block_bytes < FP_CHUNK_HEADER || entry.position > column->footer_position ||
        entry.block_bytes > column->footer_position - entry.position)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, FASTPAIR_NO_POSITION,
                       "the compressed image was changed by others while it was read");
    uint8_t header[FP_CHUNK_HEADER];
    fp_chunk_context before = {column->file.alignment, column->code_bits,
                               fp_column_dicts_before(column, entry.position), column->file.minor,
                               column->file.features};
    fastpair_status status = FASTPAIR_OK;
    if (column->source) {
        uint64_t dictionary;
        status = fp_source_read_header(column, &entry, header, error);
        if (!status && (dictionary = fp_chunk_peek_dictionary(header)) < before.dictionaries)
            status = fp_source_load(column, dictionary, error);
    } else {
        memcpy(header, column->image + entry.position, sizeof header);
    }
    if (!status) status = fp_chunk_read_header(header, entry.position, &before, chunk, error);
    if (status) return status;
    const fp_chunk_starts *starts = &column->starts;
    if (chunk->block_bytes != entry.block_bytes ||
        chunk->rows != starts->row[number + 1] - starts->row[number] ||
        chunk->decoded_bytes != starts->byte[number + 1] - starts->byte[number])
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, entry.position,
                       "chunk %" PRIu64 " (offset %" PRIu64
                       "): the footer gives another size or row count",
                       number, entry.position);
    if (entry.dictionary && (!chunk->coded || chunk->dictionary != entry.dictionary - 1))
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, entry.position,
                       "chunk %" PRIu64 " (offset %" PRIu64
                       "): the footer gives another dictionary",
                       number, entry.position);
    return FASTPAIR_OK;
}

/* The page of a chunk, made if it is not there. NULL if there is no memory. */
static fp_chunk_page *find_page(const fastpair_column *column, uint64_t number) {
    const fastpair_allocator *allocator = &column->settings.allocator;
    fp_chunk_page **place = &column->pages[number / FP_PAGE_CHUNKS];
    fp_chunk_page *page = __atomic_load_n(place, __ATOMIC_ACQUIRE), *fresh;
    if (page || !(fresh = fp_allocate(allocator, 1, sizeof *fresh))) return page;
    for (uint32_t i = 0; i < FP_PAGE_CHUNKS; i++) fresh->entries[i].state = FP_CHUNK_ABSENT;
    if (__atomic_compare_exchange_n(place, &page, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    fp_release(allocator, fresh); /* another thread was first */
    return page;
}

/* Publishes a header, unless another thread was first. */
static fastpair_status keep(const fastpair_column *column, uint64_t number, const fp_chunk *parsed,
                            const fp_chunk **kept, fastpair_error *error) {
    fp_chunk_page *page = find_page(column, number);
    if (!page) return fp_fail_memory(error, sizeof *page);
    uint32_t i = (uint32_t)(number % FP_PAGE_CHUNKS), state = FP_CHUNK_ABSENT;
    uint32_t *place = &page->entries[i].state;
    if (__atomic_compare_exchange_n(place, &state, FP_CHUNK_COMING, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        page->entries[i].chunk = *parsed;
        __atomic_store_n(place, FP_CHUNK_KEPT, __ATOMIC_RELEASE);
    }
    /* Another thread is between the two lines above: it has nothing left to wait for. */
    while (__atomic_load_n(place, __ATOMIC_ACQUIRE) != FP_CHUNK_KEPT) sched_yield();
    *kept = &page->entries[i].chunk;
    return FASTPAIR_OK;
}

fastpair_status fp_column_read_chunk(const fastpair_column *column, uint64_t number,
                                     fp_chunk_view *view, fastpair_error *error) {
    fp_chunk parsed;
    const fp_chunk *chunk;
    fastpair_status status = parse(column, number, &parsed, error);
    if (!status) status = keep(column, number, &parsed, &chunk, error);
    if (!status) *view = fp_column_view(column, number, chunk);
    return status;
}

fastpair_status fp_column_pass_chunk(const fastpair_column *column, uint64_t number, fp_chunk *room,
                                     fp_chunk_view *view, fastpair_error *error) {
    const fp_chunk *chunk = fp_column_find_kept(column, number);
    if (!chunk) {
        fastpair_status status = parse(column, number, room, error);
        if (status) return status;
        chunk = room;
    }
    *view = fp_column_view(column, number, chunk);
    return FASTPAIR_OK;
}

fastpair_status fp_column_check_totals(const fastpair_column *column, uint64_t nulls,
                                       uint64_t codes, fastpair_error *error) {
    if (nulls == column->totals.nulls && codes == column->totals.codes) return FASTPAIR_OK;
    uint64_t where = column->footer_position + (nulls != column->totals.nulls ? 40 : 48);
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, where,
                   "footer: the chunks' null rows or codes do not add up to the total (offset "
                   "%" PRIu64 ")",
                   where);
}

void fp_column_chunks_close(fastpair_column *column) {
    const fastpair_allocator *allocator = &column->settings.allocator;
    for (uint64_t p = 0; column->pages && p <= column->totals.chunks / FP_PAGE_CHUNKS; p++)
        fp_release(allocator, column->pages[p]);
    fp_release(allocator, column->pages);
    fp_release(allocator, column->starts.row);
    fp_release(allocator, column->starts.byte);
}
