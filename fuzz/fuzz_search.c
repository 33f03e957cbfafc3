/* fuzz_search.c - searches of column files changed part by part (mutate.c). The predicates are drawn by
 * numbers that follow from the file, with patterns cut from its rows or, if it has none that decode,
 * from its bytes.
 *
 * What is demanded: no crash, no hang, memory within what is stated. For a file that validates, every
 * method finds the rows that the tests' oracle finds. */
#include "check.h"
#include "fuzz.h"
#include "image.h"
#include "search_oracle.h"

enum {
    MEMORY_CAP = 512 << 20,
    LARGEST_COLUMN = 1 << 16, /* decoded bytes, and rows, of columns that the oracle looks at */
    TRIALS = 3
};

/* Rows that the library has decoded, if the column is good. */
typedef struct rows {
    uint64_t count;
    uint8_t *bytes, *validity;
    uint64_t *offsets;
    int is_good;
} rows;

static rows decode_rows(const fastpair_column *column, const fastpair_column_totals *totals) {
    rows r = {.count = totals->rows};
    if (totals->rows > LARGEST_COLUMN || totals->decoded_bytes > LARGEST_COLUMN) return r;
    r.bytes = fuzz_need(totals->decoded_bytes);
    r.offsets = fuzz_need((totals->rows + 1) * sizeof *r.offsets);
    r.validity = fuzz_need(totals->rows / 8 + 1);
    fastpair_destination to = {.struct_size = sizeof to,
                               .bytes = r.bytes,
                               .bytes_capacity = totals->decoded_bytes,
                               .offsets = r.offsets,
                               .offset_bits = 64,
                               .validity = r.validity};
    r.is_good = fastpair_column_validate(column, NULL) == FASTPAIR_OK &&
                fastpair_column_decode(column, 0, totals->rows, &to, NULL) == FASTPAIR_OK;
    return r;
}

static oracle_truth truth_of(const rows *r, const fastpair_predicate *p, uint64_t row) {
    static const uint8_t empty[1] = {0};
    uint64_t from = r->offsets[row], size = r->offsets[row + 1] - from;
    if (!(r->validity[row / 8] >> row % 8 & 1)) return oracle_evaluate(p, NULL, 0);
    return oracle_evaluate(p, size ? r->bytes + from : empty, size);
}

static void run_search(fastpair_column *column, const rows *r, const fastpair_predicate *p,
                       const fastpair_search_options *options, uint64_t count) {
    fastpair_search *search = NULL;
    fastpair_error error;
    fastpair_status status = fastpair_search_open(column, p, options, &search, &error);
    if (status != FASTPAIR_OK) {
        DEMAND(status == FASTPAIR_ERROR_LIMIT || status == FASTPAIR_ERROR_INVALID_ARGUMENT);
        return;
    }
    uint8_t *bitmap = fuzz_need(count / 8 + 1), *validity = fuzz_need(count / 8 + 1);
    fastpair_matches found = {.struct_size = sizeof found, .bitmap = bitmap, .validity = validity};
    status = fastpair_search_run(search, 0, count, &found, &error);
    DEMAND(!r->is_good || status == FASTPAIR_OK);
    for (uint64_t i = 0; i < count && r->is_good; i++) {
        oracle_truth truth = truth_of(r, p, i);
        DEMAND((bitmap[i / 8] >> i % 8 & 1) == (truth == ORACLE_TRUE));
        DEMAND((validity[i / 8] >> i % 8 & 1) == (truth != ORACLE_NULL));
    }
    if (status == FASTPAIR_OK) {
        uint64_t chosen = 0, bytes = 0, listed[8], listed_count = 0, next = 0;
        DEMAND(found.matches <= count && found.nulls <= count);
        status = fastpair_column_selected_size(column, 0, count, bitmap, &chosen, &bytes, &error);
        DEMAND(status != FASTPAIR_OK || chosen == found.matches);
        status = fastpair_search_list(search, count / 2, listed, 8, &listed_count, &next, &error);
        DEMAND(status != FASTPAIR_OK || (listed_count <= 8 && next <= count));
    }
    free(bitmap), free(validity);
    fastpair_search_close(search);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST_IMAGE) return 0;
    fuzz_memory memory = {.cap = MEMORY_CAP};
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = fuzz_allocator(&memory)};
    fastpair_column *column = NULL;
    if (fastpair_column_open(data, size, &options, &column, NULL) != FASTPAIR_OK) return 0;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    DEMAND(fastpair_column_get_totals(column, &totals, NULL) == FASTPAIR_OK);
    uint64_t random = size, whole[2] = {0, size};
    for (size_t i = 0; i < size; i++) random = random * 31 + data[i];
    rows r = decode_rows(column, &totals);
    trial_rows from = {data, whole, 1};
    if (r.is_good) from = (trial_rows){r.bytes, r.offsets, r.count};
    for (int i = 0; i < TRIALS && totals.rows <= 16 * LARGEST_COLUMN; i++) {
        trial t;
        trial_make(&t, &from, i == 2 ? 3 : 1, &random);
        for (int method = 0; method <= 3; method++) {
            fastpair_search_options search = {.struct_size = sizeof search,
                                              .allocator = fuzz_allocator(&memory),
                                              .method = (fastpair_search_method)method,
                                              .ignore_bounds = (int)(random % 2)};
            run_search(column, &r, &t.predicate, &search, totals.rows);
        }
        trial_free(&t);
    }
    DEMAND(memory.refused == 0);
    fastpair_column_close(column);
    DEMAND(memory.in_use == 0);
    free(r.bytes), free(r.offsets), free(r.validity);
    return 0;
}
