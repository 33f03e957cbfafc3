/* search_run.c - running a search over rows. In: a search and a range of rows. Out: a bit per row for
 * which the predicate is true, one for which it is null, and how many there are.
 *
 * The trick: threads take parts of chunks, and of each part one piece of rows after another. A piece's
 * rows get one bitmap per level of the predicate's tree, and the bitmaps are joined as the tree says.
 * Where a part of the tree has decided all rows of a piece, the rest of it is left out; so are leaves
 * that the bounds of a chunk rule out. Refuses ranges outside the column. */
#include "search.h"

#include "access.h"
#include "options.h"
#include "search_scan_codes.h"
#include "threads.h"
#include "warm_cache.h"

/* Decoded bytes of a part: enough that finding its first row costs nothing. */
#define PART_BYTES (1u << 20)

/* Chunks that are read from a source together, at most. */
#define READ_AHEAD 256u

#define PIECE_WORDS (FP_PIECE_ROWS / 64)

typedef struct parts_job {
    fp_search_job *job;
    uint64_t first_chunk, end_chunk;
    uint64_t parts; /* of each chunk */
} parts_job;

/* Rows of a chunk. */
typedef struct row_range {
    uint64_t first, end;
} row_range;

/* What a thread works with while it searches a part. */
typedef struct worker {
    const fastpair_search *search;
    fp_piece piece;
    fp_scan_room *room;
    uint64_t *bits;   /* PIECE_WORDS for each level of the tree */
    fp_truth decided; /* what the predicate is for all rows of the chunk; FP_NULL: not known */
} worker;

/* ---------------------------------------------------------------- pieces */

/* Words of a piece's bitmap. */
static uint32_t words_of(const fp_piece *piece) { return (piece->rows + 63) / 64; }

/* Ones for all rows of a piece, or zeros. */
static void fill(const fp_piece *piece, uint64_t *bits, int value) {
    uint32_t words = words_of(piece);
    memset(bits, value ? 0xff : 0, words * sizeof *bits);
    if (value && piece->rows % 64) bits[words - 1] = (1ull << piece->rows % 64) - 1;
}

/* Whether all bits of a piece are `value`. */
static int all_are(const fp_piece *piece, const uint64_t *bits, int value) {
    uint32_t last = words_of(piece) - 1, i = 0;
    uint64_t all = value ? ~0ull : 0, end = piece->rows % 64 ? (1ull << piece->rows % 64) - 1 : all;
    if (!value) end = 0;
    while (i < last && bits[i] == all) i++;
    return i == last && bits[last] == end;
}

/* Whether the bounds of the chunk let any row pass. */
static fastpair_status may_pass(const worker *w, const fp_leaf *leaf, int *may,
                                fastpair_error *error) {
    *may = leaf->anchors == 0 || w->search->settings.ignore_bounds;
    fastpair_status status = FASTPAIR_OK;
    for (uint32_t i = 0; i < leaf->anchors && !*may && !status; i++) {
        const fp_anchor *anchor = &leaf->anchor[i];
        status = fastpair_column_may_hold(w->search->column, w->piece.view->number, anchor->test,
                                          anchor->bytes, anchor->size, may, error);
    }
    return status;
}

/* What bounds alone say of a node, for all valid rows of the chunk; FP_NULL: not enough. */
static fastpair_status decide(const worker *w, uint32_t number, fp_truth *truth,
                              fastpair_error *error) {
    const fp_predicate *predicate = &w->search->predicate;
    const fp_predicate_node *node = &predicate->node[number];
    fastpair_status status = FASTPAIR_OK;
    *truth = FP_FALSE; /* what IS_NULL is */
    if (node->kind == FASTPAIR_ALL_OF || node->kind == FASTPAIR_ANY_OF) {
        const fp_truth decides = node->kind == FASTPAIR_ALL_OF ? FP_FALSE : FP_TRUE;
        *truth = decides == FP_TRUE ? FP_FALSE : FP_TRUE;
        for (uint32_t child = number + 1; child < node->end && *truth != decides && !status;
             child = predicate->node[child].end) {
            fp_truth of_child;
            status = decide(w, child, &of_child, error);
            if (of_child == decides || of_child == FP_NULL) *truth = of_child;
        }
    } else if (node->kind != FASTPAIR_IS_NULL) {
        int may = 1;
        status = may_pass(w, &predicate->leaf[node->leaf], &may, error);
        if (may) *truth = FP_NULL;
    }
    if (node->negate && *truth != FP_NULL) *truth = *truth == FP_TRUE ? FP_FALSE : FP_TRUE;
    return status;
}

/* Runs over all codes where passing over some is not allowed, or does not pay. */
static fastpair_status scan_codes(const worker *w, const fp_code_search *codes, uint64_t *bits,
                                  fastpair_error *error) {
    const fastpair_search_method method = w->search->settings.method;
    int gave_up = 0;
    fastpair_status status = FASTPAIR_OK;
    if (method != FASTPAIR_SEARCH_CODES && codes->can_filter)
        status = fp_scan_filtered(codes, &w->piece, w->room,
                                  method == FASTPAIR_SEARCH_FILTER ? NULL : &gave_up, bits, error);
    else
        gave_up = 1;
    return gave_up && !status ? fp_scan_codes(codes, &w->piece, w->room, bits, error) : status;
}

static fastpair_status scan_leaf(const worker *w, uint32_t number, uint64_t *bits,
                                 fastpair_error *error) {
    const fp_leaf *leaf = &w->search->predicate.leaf[number];
    const fp_chunk *chunk = w->piece.view->chunk;
    const fp_code_search *codes = NULL;
    int may = 1;
    fill(&w->piece, bits, 0);
    fastpair_status status = may_pass(w, leaf, &may, error);
    if (status || !may) return status;
    if (chunk->coded) status = fp_search_table(w->search, number, chunk->dictionary, &codes, error);
    if (status || (codes && !codes->can_pass)) return status;
    return codes ? scan_codes(w, codes, bits, error)
                 : fp_scan_decoded(leaf, &w->piece, w->room, bits, error);
}

/* Which valid rows of the piece pass a node, into the bitmap of `level`. */
static fastpair_status evaluate(const worker *w, uint32_t number, uint32_t level,
                                fastpair_error *error) {
    const fp_predicate *predicate = &w->search->predicate;
    const fp_predicate_node *node = &predicate->node[number];
    uint64_t *bits = w->bits + (uint64_t)level * PIECE_WORDS, *other = bits + PIECE_WORDS;
    const uint32_t words = words_of(&w->piece);
    int is_all = node->kind == FASTPAIR_ALL_OF;
    fastpair_status status = FASTPAIR_OK;
    if (is_all || node->kind == FASTPAIR_ANY_OF) {
        fill(&w->piece, bits, is_all);
        for (uint32_t child = number + 1; child < node->end && !status;
             child = predicate->node[child].end) {
            if (all_are(&w->piece, bits, !is_all)) break;
            status = evaluate(w, child, level + 1, error);
            for (uint32_t i = 0; i < words && !status; i++)
                bits[i] = is_all ? bits[i] & other[i] : bits[i] | other[i];
        }
    } else if (node->kind == FASTPAIR_IS_NULL) {
        fill(&w->piece, bits, 0);
    } else {
        status = scan_leaf(w, node->leaf, bits, error);
    }
    if (status || !node->negate) return status;
    for (uint32_t i = 0; i < words; i++) bits[i] = ~bits[i];
    if (w->piece.rows % 64) bits[words - 1] &= (1ull << w->piece.rows % 64) - 1;
    return FASTPAIR_OK;
}

/* ORs `count` bits into a bitmap from bit `at` on. Bytes at both ends are shared with other
 * threads. */
static void put_bits(uint8_t *bitmap, uint64_t at, const uint64_t *bits, uint64_t count) {
    const uint8_t *from = (const uint8_t *)bits;
    const uint32_t shift = (uint32_t)(at % 8);
    uint64_t bytes = (count + 7) / 8, end = (shift + count + 7) / 8;
    for (uint64_t i = 0; i < end; i++) {
        uint32_t low = i < bytes ? from[i] : 0, before = i ? from[i - 1] : 0;
        uint8_t byte = (uint8_t)((low << 8 | before) >> (8 - shift));
        if (i == 0 || i + 1 == end)
            __atomic_fetch_or(&bitmap[at / 8 + i], byte, __ATOMIC_RELAXED);
        else
            bitmap[at / 8 + i] = byte;
    }
}

/* Puts the piece's result where it belongs. The bits of level 0 are those of valid rows. */
static void put_piece(const worker *w, fp_search_job *job) {
    const fp_piece *piece = &w->piece;
    const fp_truth of_null = w->search->predicate.for_null_row;
    const uint32_t words = words_of(piece);
    uint64_t *bits = w->bits, *valid = w->bits + PIECE_WORDS, matches = 0, nulls = 0;
    uint64_t row = w->search->column->starts.row[piece->view->number] + piece->first - job->first;
    uint64_t null_rows = 0;
    fill(piece, valid, !piece->view->chunk->has_validity);
    if (piece->view->chunk->has_validity)
        null_rows = fp_chunk_validity(piece->view, piece->first, piece->rows, (uint8_t *)valid, 0);
    for (uint32_t i = 0; i < words && null_rows; i++) {
        uint64_t all =
            i + 1 < words || piece->rows % 64 == 0 ? ~0ull : (1ull << piece->rows % 64) - 1;
        bits[i] = (bits[i] & valid[i]) | (of_null == FP_TRUE ? ~valid[i] & all : 0);
    }
    for (uint32_t i = 0; i < words; i++) matches += (uint64_t)__builtin_popcountll(bits[i]);
    if (of_null == FP_NULL)
        nulls = null_rows;
    else
        fill(piece, valid, 1);
    if (job->bitmap) put_bits(job->bitmap, row, bits, piece->rows);
    if (job->validity) put_bits(job->validity, row, valid, piece->rows);
    __atomic_fetch_add(&job->matches, matches, __ATOMIC_RELAXED);
    __atomic_fetch_add(&job->nulls, nulls, __ATOMIC_RELAXED);
}

/* ---------------------------------------------------------------- parts */

static fastpair_status search_rows(worker *w, fp_search_job *job, uint64_t first, uint64_t end,
                                   fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    for (uint64_t row = first; row < end && !status; row += FP_PIECE_ROWS) {
        w->piece.first = row;
        w->piece.rows = (uint32_t)(end - row < FP_PIECE_ROWS ? end - row : FP_PIECE_ROWS);
        if (w->decided == FP_NULL)
            status = evaluate(w, 0, 0, error);
        else
            fill(&w->piece, w->bits, w->decided == FP_TRUE);
        if (!status) put_piece(w, job);
    }
    return status;
}

static fastpair_status open_worker(worker *w, const fastpair_search *search,
                                   fastpair_error *error) {
    const fastpair_allocator *allocator = &search->settings.allocator;
    /* One level more: for the validity, and for the last level's children. */
    uint64_t words = (uint64_t)PIECE_WORDS * (search->predicate.depth + 1);
    *w = (worker){.search = search,
                  .room = fp_allocate(allocator, 1, sizeof *w->room),
                  .bits = fp_allocate(allocator, words, sizeof *w->bits)};
    if (!w->room || !w->bits) return fp_fail_memory(error, words * sizeof *w->bits);
    fp_batch_cache_empty(&w->room->cache);
    return FASTPAIR_OK;
}

static void close_worker(worker *w) {
    fp_release(&w->search->settings.allocator, w->room);
    fp_release(&w->search->settings.allocator, w->bits);
}

/* Chunks after `number` that have to be read as well: those that the bounds do not decide. */
static uint64_t undecided_end(const worker *w, uint64_t number, uint64_t end) {
    worker ahead = *w;
    fp_chunk_view view = {.number = number + 1};
    fp_truth decided = FP_NULL;
    ahead.piece.view = &view;
    if (end - number > READ_AHEAD) end = number + READ_AHEAD;
    while (view.number < end && !decide(&ahead, 0, &decided, NULL) && decided == FP_NULL)
        view.number++;
    return view.number;
}

/* Searches rows of a chunk. What bounds decide need not be read, but for nulls, which are in the
 * sections. From a source not even the header is read then, unless the column has nulls. */
static fastpair_status search_chunk(worker *w, const parts_job *parts, uint64_t number,
                                    row_range rows, fastpair_error *error) {
    const fastpair_column *column = w->search->column;
    fp_chunk room = {0};
    fp_chunk_view view = {.chunk = &room, .number = number};
    fp_hold hold = {0};
    fp_wanted_chunk wanted = {.number = number, .room = &room};
    fastpair_status status = FASTPAIR_OK;
    w->piece.view = &view;
    if (!column->source) status = fp_column_pass_chunk(column, number, &room, &view, error);
    if (!status) status = decide(w, 0, &w->decided, error);
    if (!status && column->source && w->decided != FP_NULL && column->totals.nulls)
        status = fp_column_pass_chunk(column, number, &room, &view, error);
    if (!status && view.chunk->nulls) w->decided = FP_NULL;
    if (!status && w->decided == FP_NULL) {
        if (column->source) wanted.end = undecided_end(w, number, parts->end_chunk);
        status = fp_column_hold(column, &wanted, &view, &hold, error);
    }
    if (!status) status = search_rows(w, parts->job, rows.first, rows.end, error);
    fp_column_drop(column, &hold);
    w->piece.view = NULL;
    return status;
}

static fastpair_status search_part(void *context, uint64_t i, fastpair_error *error) {
    const parts_job *parts = context;
    fp_search_job *job = parts->job;
    const fastpair_column *column = job->search->column;
    uint64_t number = parts->first_chunk + i / parts->parts, part = i % parts->parts;
    uint64_t base = column->starts.row[number], rows = column->starts.row[number + 1] - base;
    /* Parts begin with a block of row lengths. */
    uint64_t each = (rows / parts->parts + FP_LENGTH_BLOCK) / FP_LENGTH_BLOCK * FP_LENGTH_BLOCK;
    uint64_t first = part * each, end = part + 1 < parts->parts ? first + each : rows;
    if (end > rows) end = rows;
    if (base + first < job->first) first = job->first - base;
    if (base + end > job->first + job->count) end = job->first + job->count - base;
    if (first >= end) return FASTPAIR_OK;
    worker w;
    fastpair_status status = open_worker(&w, job->search, error);
    if (!status) status = search_chunk(&w, parts, number, (row_range){first, end}, error);
    close_worker(&w);
    return status;
}

fastpair_status fp_search_run(fp_search_job *job, fastpair_error *error) {
    const fastpair_column *column = job->search->column;
    const fp_footer *totals = &column->totals;
    if (!job->count) return FASTPAIR_OK;
    uint64_t last = fp_column_find_chunk(column, job->first + job->count - 1);
    parts_job parts = {job, fp_column_find_chunk(column, job->first), last + 1, 1};
    uint64_t of_chunk = fp_column_work(totals->decoded_bytes, totals->rows) / totals->chunks;
    /* A cold chunk is unpacked as a whole, so threads do not share one. */
    if (!column->warm) parts.parts += of_chunk / PART_BYTES;
    uint64_t bytes = column->starts.byte[last + 1] - column->starts.byte[parts.first_chunk],
             work = fp_column_work(bytes, job->count);
    return fp_run_tasks(fp_threads_for(column->settings.threads, work),
                        (last - parts.first_chunk + 1) * parts.parts, search_part, &parts, error);
}

/* ---------------------------------------------------------------- public calls */

fastpair_status fastpair_search_run(const fastpair_search *search, uint64_t first, uint64_t count,
                                    fastpair_matches *matches, fastpair_error *error) {
    if (!search || !matches)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_search_run: search and matches must not be NULL");
    fastpair_status status = fp_struct_check("matches", matches, sizeof *matches, error);
    if (status) return status;
    matches->matches = matches->nulls = 0;
    if ((status = fp_column_check_range(search->column, first, count, error))) return status;
    fp_search_job job = {search, first, count, matches->bitmap, matches->validity, 0, 0};
    uint64_t bytes = count / 8 + (count % 8 != 0);
    if (job.bitmap) memset(job.bitmap, 0, (size_t)bytes);
    if (job.validity) memset(job.validity, 0, (size_t)bytes);
    status = fp_search_run(&job, error);
    if (status) return status;
    matches->matches = job.matches;
    matches->nulls = job.nulls;
    return FASTPAIR_OK;
}
