/* chunk_decode.c - from one chunk's sections to bytes. In: a header that passed its checks, and
 * sections that may hold anything. Out: exactly the slice asked for.
 *
 * The trick: the sidecar says where every batch's bytes begin. So any slice is some whole batches,
 * decoded in place, and at most one cut batch at each end, decoded aside and copied. Refuses
 * sidecars that contradict each other or what the codes decode to. */
#include "chunk_decode.h"

#include "sidecar.h"

#include <inttypes.h>

fastpair_status fp_chunk_fault(const fp_chunk_view *view, int section, uint64_t offset,
                               const char *what, fastpair_error *error) {
    uint64_t where = view->chunk->position; /* of the block, if the file has no such section */
    if (!view->chunk->was_cold) where += view->chunk->sections[section].offset + offset;
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, where,
                   "chunk %" PRIu64 ": %s (offset %" PRIu64 ")", view->number, what, where);
}

fastpair_status fp_chunk_verify_checksums(const fp_chunk_view *view, fastpair_error *error) {
    static const char *const faults[FP_SECTIONS] = {
        "code checksum mismatch: the file is damaged; restore it from a copy",
        "sidecar checksum mismatch: the file is damaged; restore it from a copy",
        "row-length checksum mismatch: the file is damaged; restore it from a copy",
        "validity checksum mismatch: the file is damaged; restore it from a copy"};
    for (int i = 0; i < FP_SECTIONS; i++) {
        const fp_section *section = &view->chunk->sections[i];
        if (fp_checksum(view->block + section->offset, section->size) != section->checksum)
            return fp_chunk_fault(view, i, 0, faults[i], error);
    }
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- bytes */

typedef fp_batch_starts sidecar;

static sidecar sidecar_of(const fp_chunk_view *view) {
    const fp_chunk *chunk = view->chunk;
    const uint64_t batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes);
    const uint8_t *section = fp_chunk_section(chunk, view->block, FP_SECTION_SIDECAR);
    return (sidecar){
        view->block, view->number,         fp_sidecar_open(section, batches, chunk->group_batches),
        batches,     chunk->decoded_bytes, (double)batches / (double)chunk->decoded_bytes};
}

/* The same, kept from call to call. */
static const sidecar *kept_sidecar(const fp_chunk_view *view, fp_batch_cache *cache) {
    sidecar *kept = &cache->starts;
    if (kept->block != view->block || kept->number != view->number) *kept = sidecar_of(view);
    return kept;
}

static uint64_t batch_start(const sidecar *s, uint64_t batch) {
    return batch == s->batches ? s->end : fp_sidecar_read(&s->reader, batch);
}

/* The batch where a byte would be if all batches from `guess` on had one size; it is `bytes` after
 * guess. */
static uint64_t guess_batch(const sidecar *s, uint64_t guess, int64_t bytes) {
    const double at = (double)guess + (double)bytes * s->per_byte, last = (double)(s->batches - 1);
    return at <= 0 ? 0 : (uint64_t)(at < last ? at : last);
}

/* The last batch that begins at or before `position`, or batch 0. Whatever the section holds, the
 * result k has start(k) <= position unless k is 0, and start(k + 1) > position unless k is the last
 * batch: the search has looked at both. It begins where the batch would be if all had one size, seen
 * from the first one and then from there, and goes in steps that double: most batches are found
 * at once, or next to there. */
static uint64_t find_batch(const sidecar *s, uint64_t position) {
    uint64_t low = 0, high = s->batches, step = 1, guess = high;
    if (position < s->end) {
        guess = guess_batch(s, 0, (int64_t)position);
        guess = guess_batch(s, guess, (int64_t)(position - batch_start(s, guess)));
    }
    if (guess < high && batch_start(s, guess) <= position) {
        for (low = guess; high - low > step && batch_start(s, low + step) <= position; step *= 2)
            low += step;
        if (high - low > step) high = low + step;
    } else if (guess < high) {
        for (high = guess; high - low > step && batch_start(s, high - step) > position; step *= 2)
            high -= step;
        if (high - low > step) low = high - step;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (batch_start(s, middle) <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static fastpair_status sidecar_fault(const fp_chunk_view *view, fastpair_error *error) {
    return fp_chunk_fault(view, FP_SECTION_SIDECAR, 0, "sidecar positions contradict each other",
                          error);
}

/* One token in so many is rare. A branch that is guessed wrong costs as much as copying several
 * tokens in vain (docs/lab/cpu-decoder.md). */
#define RARE 40u

uint32_t fp_chunk_rarely_above(const fp_chunk *chunk) {
    uint64_t longer = 0;
    uint32_t bytes = FP_MAX_TOKEN;
    for (uint32_t i = FP_LENGTH_BANDS; bytes > 16 && i-- > 0;) {
        if (fp_band_most(i) == bytes / 2) bytes /= 2;
        longer += chunk->by_length[i];
        if (longer * RARE > chunk->codes) break;
    }
    return bytes;
}

/* The codes of batches first .. last. */
static fp_code_range codes_of(const fp_chunk_view *view, uint64_t first, uint64_t last,
                              uint32_t rarely_above) {
    const fp_chunk *chunk = view->chunk;
    const fp_section *codes = &chunk->sections[FP_SECTION_CODES];
    uint64_t begin = first * chunk->batch_codes, end = last * chunk->batch_codes;
    if (end > chunk->codes) end = chunk->codes;
    return (fp_code_range){view->block + codes->offset,
                           codes->size,
                           begin,
                           end - begin,
                           view->bulk,
                           rarely_above,
                           view->watch};
}

static fastpair_status codes_fault(const fp_chunk_view *view, fastpair_error *error) {
    return fp_chunk_fault(
        view, FP_SECTION_CODES, 0,
        "codes are not in the dictionary or do not decode to the size the sidecar gives", error);
}

/* Where bytes go, how many they must be, and how many may be written. */
typedef struct place {
    uint8_t *out;
    uint64_t size, capacity;
} place;

/* Decodes batches first .. last, which must give exactly the place's size. */
static fastpair_status decode_batches(const fp_chunk_view *view, uint64_t first, uint64_t last,
                                      place to, fastpair_error *error) {
    const fp_decoder *decoder;
    fastpair_status status = fp_column_dict_decoder(view->dictionary, &decoder, error);
    if (status) return status;
    fp_code_range range = codes_of(view, first, last, fp_chunk_rarely_above(view->chunk));
    uint64_t size = fp_decode_codes(decoder, &range, to.out, to.capacity);
    return size == to.size ? FASTPAIR_OK : codes_fault(view, error);
}

/* Chunk bytes from .. to, and where they go. */
typedef struct slice {
    uint64_t from, to;
    uint8_t *out;
} slice;

/* Decodes a small part of a batch. */
static fastpair_status decode_small(const fp_chunk_view *view, uint64_t batch, fp_code_part part,
                                    uint8_t *out, fastpair_error *error) {
    const fp_decoder *decoder;
    fastpair_status status = fp_column_dict_decoder(view->dictionary, &decoder, error);
    if (status) return status;
    fp_code_range range = codes_of(view, batch, batch + 1, 0);
    return fp_decode_part(decoder, &range, &part, out) == FP_DECODE_BAD ? codes_fault(view, error)
                                                                        : FASTPAIR_OK;
}

/* Copies a slice that lies in a batch, and decodes the batch into the cache if the slice is long. */
static fastpair_status copy_from_batch(const fp_chunk_view *view, const sidecar *s, uint64_t batch,
                                       slice wanted, fp_batch_cache *cache, fastpair_error *error) {
    uint64_t start = batch_start(s, batch), end = batch_start(s, batch + 1);
    uint64_t size = wanted.to - wanted.from;
    if (wanted.from < start || wanted.to > end || end > s->end || end - start > FP_LARGEST_BATCH)
        return sidecar_fault(view, error);
    if (size <= FP_MOST_PART)
        return decode_small(view, batch,
                            (fp_code_part){wanted.from - start, wanted.to - start, end - start},
                            wanted.out, error);
    cache->number = UINT64_MAX;
    fp_chunk_view aside = *view;
    aside.watch = NULL; /* these bytes are not in their place */
    place whole = {cache->bytes, end - start, end - start};
    fastpair_status status = decode_batches(&aside, batch, batch + 1, whole, error);
    if (status) return status;
    cache->number = view->number;
    cache->start = start;
    cache->end = end;
    memcpy(wanted.out, cache->bytes + (wanted.from - start), (size_t)size);
    return FASTPAIR_OK;
}

/* Packed codes that are fetched, in bytes: those that a row of the middle of a batch is found by. */
#define FETCHED 256u
#define LINE    64u

void fp_chunk_expect_bytes(const fp_chunk_view *view, uint64_t from, fp_batch_cache *cache) {
    const fp_chunk *chunk = view->chunk;
    if (!chunk->coded || from >= chunk->decoded_bytes) return;
    const sidecar *s = kept_sidecar(view, cache);
    const uint64_t batch = find_batch(s, from), start = batch_start(s, batch),
                   size = batch_start(s, batch + 1) - start;
    const fp_section *codes = &chunk->sections[FP_SECTION_CODES];
    const uint64_t bytes = (uint64_t)chunk->batch_codes * view->dictionary->dict.code_bits / 8;
    uint64_t at = batch * bytes, end = at + bytes < codes->size ? at + bytes : codes->size;
    /* fp_decode_part begins at the nearer end. */
    if (end - at > FETCHED && from - start > size / 2) at = end - FETCHED;
    if (end - at > FETCHED) end = at + FETCHED;
    for (; at < end; at += LINE) __builtin_prefetch(view->block + codes->offset + at);
    cache->expected_number = view->number;
    cache->expected_from = from;
    cache->expected_batch = batch;
}

fastpair_status fp_chunk_decode_bytes(const fp_chunk_view *view, uint64_t from, uint64_t to,
                                      uint8_t *out, fp_batch_cache *cache, fastpair_error *error) {
    if (from >= to) return FASTPAIR_OK;
    if (!view->chunk->coded) {
        memcpy(out, fp_chunk_section(view->chunk, view->block, FP_SECTION_CODES) + from,
               (size_t)(to - from));
        return FASTPAIR_OK;
    }
    if (cache->number == view->number && from >= cache->start && from < cache->end) {
        uint64_t end = to < cache->end ? to : cache->end;
        memcpy(out, cache->bytes + (from - cache->start), (size_t)(end - from));
        out += end - from;
        from = end;
        if (from == to) return FASTPAIR_OK;
    }
    const sidecar *s = kept_sidecar(view, cache);
    const int is_expected = cache->expected_number == view->number && cache->expected_from == from;
    uint64_t first = is_expected ? cache->expected_batch : find_batch(s, from),
             start = batch_start(s, first);
    if (start > from) return sidecar_fault(view, error);
    if (start < from) { /* the first batch is cut */
        uint64_t end = batch_start(s, first + 1);
        if (end > to) end = to;
        if (end <= from) return sidecar_fault(view, error);
        fastpair_status status =
            copy_from_batch(view, s, first, (slice){from, end, out}, cache, error);
        if (status || end == to) return status;
        out += end - from;
        from = end;
        first++;
    }
    /* `from` is where batch `first` begins. */
    uint64_t last = to == s->end ? s->batches : find_batch(s, to),
             last_start = batch_start(s, last);
    if (last < first || last_start < from || last_start > to) return sidecar_fault(view, error);
    if (last > first) {
        place whole = {out, last_start - from, to - from + view->spare};
        fastpair_status status = decode_batches(view, first, last, whole, error);
        if (status) return status;
        out += last_start - from;
    } else if (last_start != from) {
        return sidecar_fault(view, error);
    }
    if (last_start == to) return FASTPAIR_OK;
    return copy_from_batch(view, s, last, (slice){last_start, to, out}, cache, error);
}

fastpair_status fp_chunk_next_batch(const fp_chunk_view *view, uint64_t position, uint64_t *start,
                                    fastpair_error *error) {
    *start = position;
    if (!view->chunk->coded || position == 0 || position >= view->chunk->decoded_bytes)
        return FASTPAIR_OK;
    sidecar s = sidecar_of(view);
    uint64_t batch = find_batch(&s, position - 1);
    uint64_t before = batch_start(&s, batch), next = batch_start(&s, batch + 1);
    if (before >= position || next < position || next > s.end || next - before > FP_LARGEST_BATCH)
        return sidecar_fault(view, error);
    *start = next;
    return FASTPAIR_OK;
}
