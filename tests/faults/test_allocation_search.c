/* test_allocation_search.c - any allocation may fail while predicates are compiled, rows searched and
 * selected rows decoded: see test_allocation.c. */
#include "convert.h"
#include "fail_each.h"
#include "frames.h"
#include "search_oracle.h"

static shape rows;
static uint8_t *warm;
static uint64_t warm_size;
static forge_bytes cold;

/* A predicate with a leaf of every kind. */
static fastpair_status search_with(counting *c, fastpair_column *column, int method,
                                   fastpair_error *error) {
    static const fastpair_pattern patterns[2] = {{"the", 3}, {"%a_i%", 5}};
    fastpair_predicate leaves[6], root = {.struct_size = sizeof root, .kind = FASTPAIR_ANY_OF};
    for (int kind = 1; kind <= 6; kind++) {
        leaves[kind - 1] = one_pattern((fastpair_predicate_kind)kind, patterns);
        leaves[kind - 1].pattern_count = kind == 6 ? 0 : 2;
    }
    root.children = leaves;
    root.child_count = 6;
    fastpair_search_options o = {.struct_size = sizeof o,
                                 .allocator = counting_hooks(c),
                                 .method = (fastpair_search_method)method};
    fastpair_search *search = NULL;
    uint64_t count = rows.rows.rows, listed[50], found = 0, next = 0;
    uint8_t *bitmap = malloc(count / 8 + 1), *bytes = malloc(rows.out_size + 1);
    fastpair_matches matches = {.struct_size = sizeof matches, .bitmap = bitmap};
    fastpair_status status = fastpair_search_open(column, &root, &o, &search, error);
    if (!status) status = fastpair_search_run(search, 0, count, &matches, error);
    if (!status) CHECK(matches.matches > 0 && matches.matches < count);
    if (!status) status = fastpair_search_list(search, 3, listed, 50, &found, &next, error);
    if (!status) CHECK(found > 0);
    fastpair_destination to = to_memory(bytes, rows.out_size, NULL, 0, NULL);
    uint64_t chosen = 0, size = 0;
    if (!status)
        status = fastpair_column_selected_size(column, 0, count, bitmap, &chosen, &size, error);
    if (!status) CHECK_EQ(chosen, matches.matches);
    if (!status) status = fastpair_column_decode_selected(column, 0, count, bitmap, &to, error);
    fastpair_search_close(search);
    free(bitmap), free(bytes);
    return status;
}

static fastpair_status search_image(counting *c, const uint8_t *image, uint64_t size,
                                    uint32_t threads, fastpair_error *error) {
    fastpair_open_options open = {
        .struct_size = sizeof open, .allocator = counting_hooks(c), .threads = threads};
    fastpair_column *column = NULL;
    fastpair_status status = fastpair_column_open(image, size, &open, &column, error);
    for (int method = 0; method <= 3 && !status; method++)
        status = search_with(c, column, method, error);
    fastpair_column_close(column);
    return status;
}

static fastpair_status task_warm(counting *c, fastpair_error *error) {
    return search_image(c, warm, warm_size, 1, error);
}
static fastpair_status task_threads(counting *c, fastpair_error *error) {
    return search_image(c, warm, warm_size, 3, error);
}
static fastpair_status task_cold(counting *c, fastpair_error *error) {
    return search_image(c, cold.data, cold.size, 1, error);
}

int main(void) {
    shape_make(&rows, SHAPE_WORDS, 7, &(shape_options){.bytes = 9000, .null_percent = 5});
    fastpair_compress_options o = {.struct_size = sizeof o,
                                   .codec = FASTPAIR_CODEC_ONPAIR,
                                   .code_bits = 9,
                                   .chunk_bytes = 4000};
    fastpair_error error = {.message = ""};
    verify_ok(fastpair_compress(&rows.rows, &o, &warm, &warm_size, &error), &error, "compress");
    fail_every_allocation("search", task_warm, 0, 1);
    fail_every_allocation("search, threads", task_threads, 1, 3);
    if (frames_available()) {
        cold = convert_image(warm, warm_size, 1, 1);
        fail_every_allocation("search, cold", task_cold, 2, 5);
    }
    shape_free(&rows), fastpair_free(NULL, warm), free(cold.data);
    return check_done();
}
