/* access_piece.c - decoding one piece of a list of rows. In: row numbers, and how many bytes they have.
 * Out: the rows, where they belong.
 *
 * The trick: rows wait until others follow that lie near them in the chunk, and all that wait are decoded
 * together. Bytes between them are decoded, too, where that takes less time than to begin anew: the rows
 * then are copied from a buffer that is still in the cache. The last decoded batch and the last block of
 * row starts are kept, so an ascending list decodes little twice. Refuses rows whose lengths have changed
 * since they were measured. */
#include "access_list.h"

/* Codes between two rows that are decoded in vain rather than jumped over: a new beginning takes as long
 * as this many codes. */
#define WIDEST_GAP 64u

/* Rows with gaps between them wait until they span this many bytes, which stay in the first-level
 * cache. */
#define MOST_SPAN (32u << 10)

#define MOST_RUNS 256u

/* Runs of bytes of the chunk `view` that were found but are not decoded yet. They ascend. */
typedef struct waiting_rows {
    fp_chunk_view view;
    uint64_t widest_gap; /* in bytes */
    uint32_t runs;
    struct {
        uint64_t from, to;
    } run[MOST_RUNS];
} waiting_rows;

typedef struct piece_state {
    fp_row_place *at;
    const fp_list_job *job;
    uint64_t place, end; /* in the destination: where the next row goes, and where the piece ends */
    uint64_t decoded;    /* up to here rows are decoded, the others are waiting */
    uint64_t nulls;
    int is_ascii;
    waiting_rows waiting;
    fp_batch_cache cache;
} piece_state;

static fastpair_status fail_changed(const piece_state *piece, fastpair_error *error) {
    return fp_chunk_fault(&piece->at->view, FP_SECTION_LENGTHS, 0,
                          "row lengths changed while being read", error);
}

/* Decodes what waits. */
static fastpair_status decode_waiting(piece_state *piece, fastpair_error *error) {
    waiting_rows *waiting = &piece->waiting;
    uint8_t *out = piece->job->destination->bytes + piece->decoded;
    uint32_t runs = waiting->runs;
    piece->decoded = piece->place;
    waiting->runs = 0;
    if (!runs || waiting->run[0].from == waiting->run[runs - 1].to) return FASTPAIR_OK;
    uint64_t from = waiting->run[0].from, to = waiting->run[runs - 1].to;
    if (runs == 1)
        return fp_chunk_decode_bytes(&waiting->view, from, to, out, &piece->cache, error);
    uint8_t span[MOST_SPAN];
    fastpair_status status =
        fp_chunk_decode_bytes(&waiting->view, from, to, span, &piece->cache, error);
    if (status) return status;
    for (uint32_t i = 0; i < runs; i++) {
        uint64_t size = waiting->run[i].to - waiting->run[i].from;
        memcpy(out, span + (waiting->run[i].from - from), (size_t)size);
        out += size;
    }
    return FASTPAIR_OK;
}

/* Lets bytes from .. to of the chunk wait, which the place is at. */
static fastpair_status await(piece_state *piece, uint64_t from, uint64_t to,
                             fastpair_error *error) {
    waiting_rows *waiting = &piece->waiting;
    if (waiting->runs && waiting->view.chunk == piece->at->view.chunk) {
        uint32_t last = waiting->runs - 1;
        uint64_t begin = waiting->run[0].from, before = waiting->run[last].to;
        int fits = to - begin <= MOST_SPAN; /* wraps where it is of no use */
        if (from == before && (!last || fits)) {
            waiting->run[last].to = to;
            return FASTPAIR_OK;
        }
        if (from > before && from - before <= waiting->widest_gap && fits && last + 1 < MOST_RUNS) {
            waiting->run[waiting->runs].from = from;
            waiting->run[waiting->runs++].to = to;
            return FASTPAIR_OK;
        }
    }
    fastpair_status status = decode_waiting(piece, error);
    if (status) return status;
    const fp_chunk *chunk = piece->at->view.chunk;
    waiting->view = piece->at->view;
    waiting->widest_gap = WIDEST_GAP * chunk->decoded_bytes / (chunk->codes | 1);
    waiting->runs = 1;
    waiting->run[0].from = from;
    waiting->run[0].to = to;
    fp_chunk_expect_bytes(&waiting->view, from, &piece->cache);
    if (piece->job->text) piece->is_ascii &= fp_chunk_is_ascii(&piece->at->view);
    return FASTPAIR_OK;
}

/* Row `row` of the column becomes row `i` of the destination. */
static fastpair_status add_row(piece_state *piece, uint64_t i, uint64_t row, uint64_t next,
                               fastpair_error *error) {
    const fastpair_destination *destination = piece->job->destination;
    fp_row_place *at = piece->at;
    uint64_t from, to;
    fastpair_status status = fp_place_find_bytes(at, row, next, &from, &to, error);
    if (!status) status = await(piece, from, to, error);
    if (status) return status;
    if (to - from > piece->end - piece->place) /* it was shorter when measured */
        return fail_changed(piece, error);
    fp_put_offset(destination, i, piece->place);
    piece->place += to - from;
    int is_null = fp_chunk_row_is_null(&at->view, row - at->first_row);
    piece->nulls += (uint64_t)is_null;
    if (destination->validity) destination->validity[i / 8] |= (uint8_t)(!is_null << i % 8);
    return FASTPAIR_OK;
}

static fastpair_status decode_rows(piece_state *piece, uint64_t number, fastpair_error *error) {
    const fp_list_job *job = piece->job;
    const fastpair_destination *destination = job->destination;
    uint64_t room[FP_LIST_PIECE];
    const uint64_t *rows = fp_piece_list(job, number, room);
    uint64_t first = number * FP_LIST_PIECE, count = fp_piece_rows(job, number);
    uint64_t start = piece->place;
    fastpair_status status = FASTPAIR_OK;
    if (destination->validity)
        memset(destination->validity + first / 8, 0, (size_t)((count + 7) / 8));
    for (uint64_t i = 0; i < count && !status; i++)
        status = add_row(piece, first + i, rows[i],
                         i + FP_BLOCK_PAYS < count ? rows[i + FP_BLOCK_PAYS] : UINT64_MAX, error);
    if (!status) status = decode_waiting(piece, error);
    /* So that no byte of a row was never written. */
    if (!status && piece->place != piece->end) status = fail_changed(piece, error);
    if (!status && !piece->is_ascii) {
        fp_text_rows judged = {destination, first, first + count, fp_text_level(job->column, 0)};
        if (!fp_text_is_good(&judged, start, piece->place)) job->text->is_wrong = 1;
    }
    return status;
}

fastpair_status fp_decode_piece(void *context, uint64_t number, fastpair_error *error) {
    fp_list_job *job = context;
    fp_row_place at;
    piece_state piece;
    fp_place_start(&at, job->column);
    piece.at = &at;
    piece.job = job;
    piece.place = piece.decoded = number ? job->ends[number - 1] : 0;
    piece.end = job->ends[number];
    piece.nulls = 0;
    piece.is_ascii = 1;
    piece.waiting.runs = 0;
    fp_batch_cache_empty(&piece.cache);
    fastpair_status status = decode_rows(&piece, number, error);
    fp_place_end(&at);
    if (!status) atomic_fetch_add_explicit(&job->nulls, piece.nulls, memory_order_relaxed);
    return status;
}
