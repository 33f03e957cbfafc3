/* test_search_edges.c - searches that are refused, and why; the largest ones that are not; columns
 * without rows, and with bounds that rule chunks out; forged columns. */
#include "forge.h"
#include "frames.h"
#include "search_oracle.h"
#include "verify.h"

static fastpair_column *open_shape(const shape *s, const fastpair_compress_options *o,
                                   uint8_t **image) {
    uint64_t size = 0;
    fastpair_column *column = NULL;
    fastpair_error error = {.message = ""};
    verify_ok(fastpair_compress(&s->rows, o, image, &size, &error), &error, "compress");
    verify_ok(fastpair_column_open(*image, size, NULL, &column, &error), &error, "open");
    return column;
}

/* The status of opening a search, which is closed at once. */
static fastpair_status try_open(fastpair_column *column, const fastpair_predicate *p) {
    fastpair_search *search = (fastpair_search *)1;
    fastpair_error error = {.status = FASTPAIR_OK, .message = ""};
    fastpair_status status = fastpair_search_open(column, p, NULL, &search, &error);
    CHECK_EQ(status == FASTPAIR_OK, search != NULL);
    CHECK_EQ(error.status, status);
    CHECK((error.message[0] != 0) == (status != FASTPAIR_OK));
    fastpair_search_close(search);
    return status;
}

static void refusals(fastpair_column *column) {
    fastpair_pattern pattern = {"a", 1}, empty = {NULL, 0}, broken = {NULL, 1};
    const fastpair_predicate good = one_pattern(FASTPAIR_CONTAINS, &pattern);
    fastpair_predicate p = good;
    CHECK_EQ(try_open(column, &p), FASTPAIR_OK);
    p.patterns = &empty;
    CHECK_EQ(try_open(column, &p), FASTPAIR_OK);
    p.patterns = &broken;
    CHECK_EQ(try_open(column, &p), FASTPAIR_ERROR_INVALID_ARGUMENT);
#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        p = good, p.field = value;                                                                 \
        CHECK_EQ(try_open(column, &p), FASTPAIR_ERROR_INVALID_ARGUMENT);                           \
    } while (0)
    REFUSED(struct_size, 0);
    REFUSED(struct_size, sizeof p - 1);
    REFUSED(struct_size, 100000);
    REFUSED(kind, (fastpair_predicate_kind)0);
    REFUSED(kind, (fastpair_predicate_kind)9);
    REFUSED(kind, FASTPAIR_IS_NULL); /* takes no patterns */
    REFUSED(kind, FASTPAIR_ALL_OF);
    REFUSED(negate, 2);
    REFUSED(ignore_case, -1);
    REFUSED(escape, 256);
    REFUSED(escape, -2);
    REFUSED(escape, 'x'); /* not LIKE */
    REFUSED(patterns, NULL);
    REFUSED(pattern_count, 0);
    REFUSED(child_count, 1);
#undef REFUSED
    fastpair_predicate child = good, all = {.struct_size = sizeof all, .kind = FASTPAIR_ALL_OF};
    all.children = &child;
    CHECK_EQ(try_open(column, &all), FASTPAIR_ERROR_INVALID_ARGUMENT);
    all.child_count = 1;
    CHECK_EQ(try_open(column, &all), FASTPAIR_OK);
    child.struct_size = 3;
    CHECK_EQ(try_open(column, &all), FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_search *search = NULL;
    CHECK_EQ(fastpair_search_open(NULL, &good, NULL, &search, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_search_open(column, NULL, NULL, &search, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_search_open(column, &good, NULL, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_search_options o = {.struct_size = sizeof o, .method = (fastpair_search_method)4};
    CHECK_EQ(fastpair_search_open(column, &good, &o, &search, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_search_close(NULL);
}

static void calls(fastpair_column *column, uint64_t rows) {
    fastpair_pattern pattern = {"a", 1};
    fastpair_predicate p = one_pattern(FASTPAIR_CONTAINS, &pattern);
    fastpair_search *search = NULL;
    CHECK_EQ(fastpair_search_open(column, &p, NULL, &search, NULL), FASTPAIR_OK);
    fastpair_matches found = {.struct_size = sizeof found, .matches = 7, .nulls = 7};
    CHECK_EQ(fastpair_search_run(search, rows + 1, 0, &found, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_search_run(search, 1, rows, &found, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_search_run(search, rows, 0, &found, NULL), FASTPAIR_OK);
    CHECK(found.matches == 0 && found.nulls == 0);
    CHECK_EQ(fastpair_search_run(NULL, 0, 0, &found, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_search_run(search, 0, 0, NULL, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    found.struct_size = 1;
    CHECK_EQ(fastpair_search_run(search, 0, 0, &found, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    uint64_t listed[2], count = 9, next = 9;
    CHECK_EQ(fastpair_search_list(search, rows, listed, 2, &count, &next, NULL), FASTPAIR_OK);
    CHECK(count == 0 && next == rows);
    CHECK_EQ(fastpair_search_list(search, 0, NULL, 0, &count, &next, NULL), FASTPAIR_OK);
    CHECK(count == 0 && next == 0);
    CHECK_EQ(fastpair_search_list(search, rows + 1, listed, 2, &count, &next, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_search_list(search, 0, NULL, 2, &count, &next, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    uint8_t bit = 1;
    fastpair_destination to = to_memory(NULL, 0, NULL, 0, NULL);
    CHECK_EQ(fastpair_column_selected_size(column, 0, 1, NULL, NULL, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_selected_size(column, rows, 1, &bit, NULL, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_decode_selected(column, rows, 1, &bit, &to, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_decode_selected(column, 0, 1, NULL, &to, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_decode_selected(column, 0, 0, NULL, &to, NULL), FASTPAIR_OK);
    fastpair_search_close(search);
}

/* A chain of `depth` nodes. */
static fastpair_status open_chain(fastpair_column *column, uint32_t depth) {
    fastpair_predicate *nodes = calloc(depth, sizeof *nodes);
    for (uint32_t i = 0; i < depth; i++) {
        nodes[i].struct_size = sizeof *nodes;
        nodes[i].kind = i + 1 < depth ? FASTPAIR_ANY_OF : FASTPAIR_IS_NULL;
        nodes[i].children = &nodes[i + 1];
        nodes[i].child_count = i + 1 < depth;
    }
    fastpair_status status = try_open(column, nodes);
    free(nodes);
    return status;
}

static void limits(fastpair_column *column) {
    CHECK_EQ(open_chain(column, 32), FASTPAIR_OK);
    CHECK_EQ(open_chain(column, 33), FASTPAIR_ERROR_LIMIT);
    fastpair_predicate *wide = calloc(4096, sizeof *wide);
    for (int i = 0; i < 4096; i++)
        wide[i] = (fastpair_predicate){.struct_size = sizeof *wide, .kind = FASTPAIR_IS_NULL};
    fastpair_predicate root = {
        .struct_size = sizeof root, .kind = FASTPAIR_ALL_OF, .children = wide, .child_count = 4095};
    CHECK_EQ(try_open(column, &root), FASTPAIR_OK);
    root.child_count = 4096;
    CHECK_EQ(try_open(column, &root), FASTPAIR_ERROR_LIMIT);
    free(wide);
    uint64_t most = 16u << 20;
    uint8_t *bytes = malloc(most + 1);
    memset(bytes, 'x', most + 1);
    fastpair_pattern patterns[2] = {{bytes, most / 2 + 1}, {bytes, most / 2}};
    fastpair_predicate p = one_pattern(FASTPAIR_EQUALS, patterns);
    p.pattern_count = 2;
    CHECK_EQ(try_open(column, &p), FASTPAIR_ERROR_LIMIT);
    patterns[0].size = 1000000;
    patterns[1].size = 5;
    CHECK_EQ(try_open(column, &p), FASTPAIR_OK);
    free(bytes);
}

/* More patterns than an automaton has states: rows are compared all the same. */
static void many_patterns(uint64_t *random) {
    shape s;
    shape_make(&s, SHAPE_INTEGERS, 3, &(shape_options){.bytes = 30000});
    uint8_t *image = NULL;
    fastpair_column *column = open_shape(&s, NULL, &image);
    enum { PATTERNS = 12000 };
    uint8_t *bytes = malloc(PATTERNS * 8);
    fastpair_pattern *patterns = calloc(PATTERNS, sizeof *patterns);
    for (uint32_t i = 0; i < PATTERNS; i++) {
        uint64_t number = check_random(random);
        uint64_t row = check_random(random) % s.rows.rows, from = s.out_offsets[row];
        memcpy(bytes + i * 8, &number, 8);
        if (i % 60 == 0) memcpy(bytes + i * 8, s.out_bytes + from, 8);
        patterns[i] = (fastpair_pattern){bytes + i * 8, i % 60 ? 8 : 4 + check_random(random) % 5};
    }
    for (int kind = 1; kind <= 4; kind++) {
        fastpair_predicate p = one_pattern((fastpair_predicate_kind)kind, patterns);
        p.pattern_count = PATTERNS;
        p.ignore_case = kind % 2;
        fastpair_search *search = NULL;
        uint8_t *bitmap = malloc(s.rows.rows / 8 + 1);
        fastpair_matches found = {.struct_size = sizeof found, .bitmap = bitmap};
        CHECK_EQ(fastpair_search_open(column, &p, NULL, &search, NULL), FASTPAIR_OK);
        CHECK_EQ(fastpair_search_run(search, 0, s.rows.rows, &found, NULL), FASTPAIR_OK);
        CHECK(found.matches > 0 && found.matches < s.rows.rows);
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < s.rows.rows; i += 17)
            wrong += (bitmap[i / 8] >> i % 8 & 1) !=
                     (oracle_evaluate(&p, s.out_bytes + s.out_offsets[i],
                                      s.out_offsets[i + 1] - s.out_offsets[i]) == ORACLE_TRUE);
        CHECK_EQ(wrong, 0);
        fastpair_search_close(search), free(bitmap);
    }
    free(bytes), free(patterns);
    fastpair_column_close(column), shape_free(&s), fastpair_free(NULL, image);
}

/* Chunks that bounds rule out are not touched: their sections are destroyed, and nobody sees it. */
static void bounds(int cold) {
    enum { ROWS = 4000 };
    char *bytes = malloc(ROWS * 8 + 1);
    uint64_t offsets[ROWS + 1], size = 0;
    for (uint32_t i = 0; i <= ROWS; i++) offsets[i] = i * 8ull;
    for (uint32_t i = 0; i < ROWS; i++) snprintf(bytes + i * 8ull, 9, "%08u", i);
    fastpair_rows rows = view_rows(ROWS, (uint8_t *)bytes, offsets);
    fastpair_compress_options o = {.struct_size = sizeof o, .chunk_bytes = 4000, .cold = cold};
    o.expert = EXPERT(.bound_bytes = 8);
    uint8_t *image = NULL;
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_compress(&rows, &o, &image, &size, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_open(image, size, NULL, &column, NULL), FASTPAIR_OK);
    fastpair_chunk_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_column_get_chunk(column, 2, &info, NULL), FASTPAIR_OK);
    memset(image + info.file_offset + FP_CHUNK_HEADER, 0xff, info.file_bytes - FP_CHUNK_HEADER);
    static const char *const patterns[3] = {"00000007", "0000000", "00000_07"};
    for (int kind = 0; kind < 3; kind++)
        for (int ignore = 0; ignore < 2; ignore++) {
            fastpair_pattern pattern = {patterns[kind], strlen(patterns[kind])};
            static const fastpair_predicate_kind kinds[3] = {FASTPAIR_EQUALS, FASTPAIR_STARTS_WITH,
                                                             FASTPAIR_LIKE};
            static const uint64_t matches[3] = {1, 10, 10};
            fastpair_predicate p = one_pattern(kinds[kind], &pattern);
            fastpair_search_options so = {.struct_size = sizeof so, .ignore_bounds = ignore};
            fastpair_search *search = NULL;
            fastpair_matches found = {.struct_size = sizeof found};
            CHECK_EQ(fastpair_search_open(column, &p, &so, &search, NULL), FASTPAIR_OK);
            fastpair_status status = fastpair_search_run(search, 0, ROWS, &found, NULL);
            CHECK_EQ(status, ignore ? FASTPAIR_ERROR_CORRUPT : FASTPAIR_OK);
            if (!status) CHECK_EQ(found.matches, matches[kind]);
            fastpair_search_close(search);
            /* Not this, and not null: bounds say that it is true for all of the chunk. */
            fastpair_predicate both[2] = {p, {.struct_size = sizeof p, .kind = FASTPAIR_IS_NULL}},
                               any = {.struct_size = sizeof any, .kind = FASTPAIR_ANY_OF};
            any.children = both, any.child_count = 2, any.negate = 1;
            CHECK_EQ(fastpair_search_open(column, &any, &so, &search, NULL), FASTPAIR_OK);
            status = fastpair_search_run(search, 0, ROWS, &found, NULL);
            CHECK_EQ(status, ignore ? FASTPAIR_ERROR_CORRUPT : FASTPAIR_OK);
            if (!status) CHECK_EQ(found.matches, ROWS - matches[kind]);
            fastpair_search_close(search);
        }
    fastpair_column_close(column), fastpair_free(NULL, image), free(bytes);
}

/* A search outlives the caller's reference to its column. */
static void outlives(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 5000});
    uint8_t *image = NULL;
    fastpair_column *column = open_shape(&s, NULL, &image);
    fastpair_pattern pattern = {"", 0};
    fastpair_predicate p = one_pattern(FASTPAIR_CONTAINS, &pattern);
    fastpair_search *search = NULL;
    CHECK_EQ(fastpair_search_open(column, &p, NULL, &search, NULL), FASTPAIR_OK);
    fastpair_column_close(column);
    fastpair_matches found = {.struct_size = sizeof found};
    CHECK_EQ(fastpair_search_run(search, 0, s.rows.rows, &found, NULL), FASTPAIR_OK);
    CHECK_EQ(found.matches, s.rows.rows); /* every row contains the empty pattern */
    fastpair_search_close(search);
    shape_free(&s), fastpair_free(NULL, image);
}

int main(void) {
    uint64_t random = verify_seed();
    for (int kind = 0; kind < 2; kind++) {
        shape s;
        shape_make(&s, kind ? SHAPE_WORDS : SHAPE_NO_ROWS, 1, &(shape_options){.bytes = 3000});
        uint8_t *image = NULL;
        fastpair_column *column = open_shape(&s, NULL, &image);
        refusals(column);
        calls(column, s.rows.rows);
        if (kind) limits(column);
        fastpair_column_close(column), shape_free(&s), fastpair_free(NULL, image);
    }
    many_patterns(&random);
    bounds(0);
    if (frames_available()) bounds(1);
    outlives();
    return check_done();
}
