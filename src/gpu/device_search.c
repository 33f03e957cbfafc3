/* device_search.c - opening a search on a device. In: rows of a column, a compiled predicate. Out: tables of
 * every leaf for every dictionary, and the predicate as a postfix program. The trick: automata know
 * nothing of a column, so that the search on the CPU lends its own. Refuses predicates that kernels
 * cannot hold; automata that are too large for tables by code are run over bytes. */
#include "device_search.h"

#include "options.h"
#include "search.h"

#define DEFAULT_MEMORY (64ull << 20)

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)

void fastpair_gpu_search_close(fastpair_gpu_search *search) {
    if (!search) return;
    const fastpair_allocator *allocator = &search->rows->job->gpu->allocator;
    for (uint32_t i = 0; search->leaves && i < search->leaf_count; i++)
        fp_release(allocator, search->leaves[i].tables);
    fp_release(allocator, search->leaves);
    fastpair_gpu_select_close(search->select);
    fp_release(allocator, search->memory);
    fp_release(allocator, search);
}

/* ---------------------------------------------------------------- the program */

static fastpair_status emit(fastpair_gpu_search *search, fp_gpu_op op, fastpair_error *error) {
    REFUSE(search->op_count == FP_GPU_MOST_OPS, FASTPAIR_ERROR_LIMIT,
           "the predicate has too many nodes for a GPU");
    search->ops[search->op_count++] = op;
    return FASTPAIR_OK;
}

/* A node and all below it, whose values will lie on a stack of `depth` others. */
static fastpair_status emit_node(fastpair_gpu_search *search, const fp_predicate *predicate,
                                 uint32_t number, uint32_t depth, fastpair_error *error) {
    const fp_predicate_node *node = &predicate->node[number];
    fastpair_status status = FASTPAIR_OK;
    REFUSE(depth == FP_GPU_MOST_STACK, FASTPAIR_ERROR_LIMIT,
           "the predicate nests too deeply for a GPU");
    if (depth + 1 > search->depth) search->depth = depth + 1;
    if (node->kind == FASTPAIR_IS_NULL) {
        status = emit(search, (fp_gpu_op){.kind = FP_GPU_OP_NULL}, error);
    } else if (node->kind == FASTPAIR_ALL_OF || node->kind == FASTPAIR_ANY_OF) {
        uint8_t kind = node->kind == FASTPAIR_ALL_OF ? FP_GPU_OP_ALL : FP_GPU_OP_ANY;
        uint32_t child = number + 1;
        for (; child < node->end && !status; child = predicate->node[child].end) {
            int is_first = child == number + 1;
            status = emit_node(search, predicate, child, depth + !is_first, error);
            if (!status && !is_first) status = emit(search, (fp_gpu_op){.kind = kind}, error);
        }
    } else {
        fp_gpu_op op = {.kind = FP_GPU_OP_LEAF, .leaf = (uint16_t)node->leaf};
        if (search->leaves[node->leaf].takes_empty) op.flags = FP_GPU_LEAF_EMPTY;
        if (search->leaves[node->leaf].by_bytes && !search->leaves[node->leaf].bytes.cuts)
            op.flags = FP_GPU_LEAF_PLAIN;
        status = emit(search, op, error);
    }
    if (!status && node->negate) status = emit(search, (fp_gpu_op){.kind = FP_GPU_OP_NOT}, error);
    return status;
}

/* ---------------------------------------------------------------- leaves */

/* Whether tables by code hold a leaf's patterns, in so much memory. */
static int fits_tables(const fastpair_gpu_rows *rows, const fp_automaton *automaton,
                       uint64_t memory_limit) {
    uint64_t bytes = 0;
    if (!automaton->next || automaton->states > FP_GPU_MOST_WALK) return 0;
    for (uint32_t t = 0; t < rows->table_count; t++)
        bytes += fp_gpu_filter_bytes(&rows->tables[t]) +
                 fp_gpu_transition_bytes(automaton, &rows->tables[t]);
    return bytes <= memory_limit;
}

/* Plans a leaf and gives its tables their places. */
static fastpair_status place_leaf(fastpair_gpu_search *search, uint32_t number, const fp_leaf *from,
                                  const fastpair_gpu_search_options *options,
                                  fastpair_error *error) {
    const fastpair_gpu_rows *rows = search->rows;
    const fastpair_allocator *allocator = &rows->job->gpu->allocator;
    const fp_automaton *automaton = &from->automaton;
    fp_gpu_leaf *leaf = &search->leaves[number];
    if (!fits_tables(rows, automaton, options->memory_limit)) {
        fp_gpu_scan_plan(from, leaf, &search->bytes);
        return search->select ? FASTPAIR_OK
                              : fastpair_gpu_select_open(rows, &search->select, error);
    }
    fastpair_status status = fp_gpu_leaf_plan(automaton, allocator, leaf, error);
    if (status) return status;
    if (options->walk_rows && !leaf->by_rows) {
        leaf->by_rows = 1;
        leaf->rest = FP_GPU_NO_REST;
    }
    leaf->tables = fp_allocate(allocator, rows->table_count, sizeof *leaf->tables);
    if (!leaf->tables) return fp_fail_memory(error, rows->table_count * sizeof *leaf->tables);
    for (uint32_t t = 0; t < rows->table_count; t++) {
        leaf->tables[t].filter = search->bytes;
        leaf->tables[t].transitions = search->bytes + fp_gpu_filter_bytes(&rows->tables[t]);
        search->bytes =
            leaf->tables[t].transitions + fp_gpu_transition_bytes(automaton, &rows->tables[t]);
    }
    return FASTPAIR_OK;
}

static void write_leaf(const fastpair_gpu_search *search, const fp_leaf *from, fp_gpu_leaf *leaf) {
    if (leaf->by_bytes) fp_gpu_scan_write(from, leaf, search->memory);
    for (uint32_t t = 0; t < search->rows->table_count && !leaf->by_bytes; t++)
        leaf->tables[t].at_once = fp_gpu_leaf_write(&from->automaton, &search->rows->tables[t],
                                                    leaf, search->memory + leaf->tables[t].filter,
                                                    search->memory + leaf->tables[t].transitions);
}

static fastpair_status make(fastpair_gpu_search *search, const fp_predicate *predicate,
                            const fastpair_gpu_search_options *options, fastpair_error *error) {
    const fastpair_gpu_rows *rows = search->rows;
    const fastpair_allocator *allocator = &rows->job->gpu->allocator;
    search->leaf_count = predicate->leaves;
    search->leaves = fp_allocate_zero(allocator, predicate->leaves, sizeof *search->leaves);
    if (!search->leaves) return fp_fail_memory(error, predicate->leaves * sizeof *search->leaves);
    for (uint32_t i = 0; i < predicate->nodes; i++)
        if (predicate->node[i].kind == FASTPAIR_CONTAINS)
            search->leaves[predicate->node[i].leaf].contains = 1;
    fastpair_status status = FASTPAIR_OK;
    for (uint32_t i = 0; i < predicate->leaves && !status; i++)
        status = place_leaf(search, i, &predicate->leaf[i], options, error);
    if (!status) status = emit_node(search, predicate, 0, 0, error);
    if (status) return status;
    search->memory = fp_allocate_zero(allocator, search->bytes, 1);
    if (!search->memory) return fp_fail_memory(error, search->bytes);
    for (uint32_t i = 0; i < search->leaf_count; i++)
        write_leaf(search, &predicate->leaf[i], &search->leaves[i]);
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_search_open(fastpair_gpu_rows *rows, const fastpair_search *from,
                                         const fastpair_gpu_search_options *options,
                                         fastpair_gpu_search **result, fastpair_error *error) {
    REFUSE(!rows || !from || !result, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "rows, search and gpu_search must not be NULL");
    *result = NULL;
    fastpair_gpu_search_options given;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (status) return status;
    if (!given.memory_limit) given.memory_limit = DEFAULT_MEMORY;
    REFUSE(from->column->totals.rows != fp_rows_column(rows)->rows, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the search is of a column with %llu rows, not %llu",
           (unsigned long long)from->column->totals.rows,
           (unsigned long long)fp_rows_column(rows)->rows);
    fastpair_gpu_search *search = fp_allocate_zero(&rows->job->gpu->allocator, 1, sizeof *search);
    if (!search) return fp_fail_memory(error, sizeof *search);
    search->rows = rows;
    status = make(search, &from->predicate, &given, error);
    if (status)
        fastpair_gpu_search_close(search);
    else
        *result = search;
    return status;
}

fastpair_status fastpair_gpu_search_get_info(const fastpair_gpu_search *search,
                                             fastpair_gpu_search_info *info,
                                             fastpair_error *error) {
    REFUSE(!search || !info, FASTPAIR_ERROR_INVALID_ARGUMENT, "search and info must not be NULL");
    fastpair_gpu_search_info filled = {
        .struct_size = sizeof filled,
        .device_bytes = search->bytes + (search->select ? search->select->bytes : 0),
        .scratch_bytes = search->leaf_count * search->rows->found_bytes,
        .bitmap_bytes = (fp_rows_column(search->rows)->rows + 31) / 32 * 4,
        .leaves = search->leaf_count};
    for (uint32_t i = 0; i < search->leaf_count; i++)
        filled.leaves_by_rows += search->leaves[i].by_rows,
            filled.leaves_by_bytes += search->leaves[i].by_bytes;
    return fp_info_copy("info", &filled, sizeof filled, info, error);
}

/* ---------------------------------------------------------------- upload and run */

fastpair_status fastpair_gpu_search_upload(fastpair_gpu_search *search,
                                           const fastpair_gpu_block *memory, void *stream,
                                           fastpair_error *error) {
    REFUSE(!search, FASTPAIR_ERROR_INVALID_ARGUMENT, "search must not be NULL");
    const fastpair_gpu *gpu = search->rows->job->gpu;
    uint64_t needed = search->bytes + (search->select ? search->select->bytes : 0);
    fastpair_status status = fp_gpu_block_check("memory", memory, needed, error);
    if (!status && search->select) {
        fastpair_gpu_block rest = {memory->address + search->bytes, search->select->bytes};
        status = fastpair_gpu_select_upload(search->select, &rest, stream, error);
    }
    if (!status && search->bytes) status = fp_gpu_push(gpu, error);
    if (status || !search->bytes) return status;
    fp_cu_result result =
        gpu->driver.copy_to_device(memory->address, search->memory, (size_t)search->bytes, stream);
    if (result)
        status = fp_driver_fail(&gpu->driver, result, "copying tables to the device", error);
    else
        search->device_memory = memory->address;
    fp_gpu_pop(gpu);
    return status;
}

static fastpair_status check_run(const fastpair_gpu_search *search,
                                 const fastpair_gpu_matches *matches, fastpair_error *error) {
    REFUSE(!search || !matches, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "search and matches must not be NULL");
    fastpair_status status = fp_struct_check("matches", matches, sizeof *matches, error);
    if (status) return status;
    REFUSE(matches->bitmap % 4 || matches->validity % 4 || matches->counts % 8,
           FASTPAIR_ERROR_INVALID_ARGUMENT,
           "bitmap and validity must be at multiples of 4, counts at one of 8");
    REFUSE((!search->rows->device_memory && search->rows->device_bytes) ||
               (!search->device_memory && search->bytes),
           FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the rows have not been prepared, or the search has not been uploaded");
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_search_run(fastpair_gpu_search *search,
                                        const fastpair_gpu_block *scratch,
                                        const fastpair_gpu_matches *matches, void *stream,
                                        fastpair_error *error) {
    fastpair_status status = check_run(search, matches, error);
    if (status) return status;
    const fastpair_gpu *gpu = search->rows->job->gpu;
    uint64_t needed = search->leaf_count * search->rows->found_bytes;
    status = fp_gpu_block_check("scratch", scratch, needed, error);
    if (!status) status = fp_gpu_push(gpu, error);
    if (status) return status;
    fp_gpu_run run = {search, matches, needed ? scratch->address : 0,
                      fp_gpu_run_is_plain(search, matches), stream};
    fp_cu_result result = 0;
    uint64_t cleared = needed, at = run.scratch;
    if (run.is_plain) {
        cleared = (fp_rows_column(search->rows)->rows + 31) / 32 * 4;
        at = matches->bitmap;
    }
    if (cleared) result = gpu->driver.fill(at, 0, (size_t)cleared, stream);
    if (!result && matches->counts) result = gpu->driver.fill(matches->counts, 0, 16, stream);
    if (!result) result = fp_launch_leaves(&run);
    if (!result && !run.is_plain) result = fp_launch_verdict(&run);
    if (result) status = fp_driver_fail(&gpu->driver, result, "launching a search", error);
    fp_gpu_pop(gpu);
    return status;
}
