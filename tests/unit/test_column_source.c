/* test_column_source.c - which bytes of a file are read, and when: what opening, one row, a scan, a search
 * and figures take, in requests and bytes; that nothing is read twice; that memory stays bounded; that
 * threads share what comes. That the rows are right is tested wherever images are (verify.h, probe.h);
 * here calls are compared with those of the image in memory that the other tests leave out. */
#include "convert.h"
#include "counting.h"
#include "frames.h"
#include "ranged.h"
#include "shapes.h"
#include "truth.h"
#include "verify.h"

enum { MIB = 1 << 20 };

typedef struct image {
    shape s;
    uint8_t *data;
    uint64_t size;
    fastpair_column *column; /* in memory */
} image;

static void image_make(image *of, shape_kind kind, uint64_t bytes,
                       const fastpair_compress_options *options) {
    fastpair_error error;
    shape_make(&of->s, kind, 3, &(shape_options){.bytes = bytes});
    verify_ok(fastpair_compress(&of->s.rows, options, &of->data, &of->size, &error), &error,
              "compress");
    verify_ok(fastpair_column_open(of->data, of->size, NULL, &of->column, &error), &error, "open");
}

static void image_free(image *of) {
    fastpair_column_close(of->column);
    fastpair_free(NULL, of->data);
    shape_free(&of->s);
}

static fastpair_column *open_ranged(ranged *from, uint32_t requests, uint32_t threads,
                                    const fastpair_allocator *hooks) {
    fastpair_range_source source = ranged_source(from, requests);
    fastpair_open_options options = {.struct_size = sizeof options, .threads = threads};
    fastpair_column *column = NULL;
    fastpair_error error;
    if (hooks) options.allocator = *hooks;
    verify_ok(fastpair_column_open_source(&source, &options, &column, &error), &error, "source");
    return column;
}

static void decode_all(const image *of, const fastpair_column *column, uint32_t threads) {
    verify_decode(column, &of->s, NULL, 0, of->s.rows.rows, 64, 1, threads);
}

/* What was read since the last call of this. */
static uint64_t requests_of(ranged *from) {
    uint64_t count = from->requests;
    from->requests = from->bytes = 0;
    return count;
}

/* A file of several chunks and one dictionary. */
static void one_dictionary(void) {
    image of;
    ranged from;
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = 300000};
    image_make(&of, SHAPE_LOG_LINES, 6 * MIB, &options);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_column_get_totals(of.column, &totals, NULL);
    CHECK(totals.chunks > 10 && totals.dictionaries == 1 && of.size > 20 * 64000);
    ranged_start(&from, of.data, of.size);
    from.meet = 2;
    fastpair_column *column = open_ranged(&from, 0, 1, NULL);
    CHECK_EQ(from.requests, 2);
    CHECK(from.bytes <= 64000);
    CHECK_EQ(from.most_under_way, 2);
    /* A row of a chunk that is no neighbour of the dictionary, which came when the file was opened. */
    fastpair_chunk_info info = {.struct_size = sizeof info};
    fastpair_column_get_chunk(of.column, 5, &info, NULL);
    requests_of(&from);
    verify_single(column, &of.s, info.first_row + 7);
    CHECK_EQ(from.bytes, info.file_bytes);
    CHECK_EQ(requests_of(&from), 1);
    verify_single(column, &of.s, info.first_row + 8);
    CHECK_EQ(requests_of(&from), 0);
    /* One of another chunk: the dictionary is there. */
    fastpair_column_get_chunk(of.column, 8, &info, NULL);
    verify_single(column, &of.s, info.first_row);
    CHECK_EQ(from.bytes, info.file_bytes);
    CHECK_EQ(requests_of(&from), 1);
    CHECK_EQ(from.twice, 0);
    fastpair_column_close(column);
    ranged_end(&from);
    /* The first chunk is a neighbour. */
    ranged_start(&from, of.data, of.size);
    column = open_ranged(&from, 0, 1, NULL);
    requests_of(&from);
    verify_single(column, &of.s, 3);
    CHECK_EQ(requests_of(&from), 1);
    fastpair_column_close(column);
    ranged_end(&from);
    /* Scans: all bytes, each once, in few requests, several at once. */
    for (uint32_t threads = 1; threads < 5; threads += 3)
        for (uint32_t requests = 0; requests < 3; requests++) {
            ranged_start(&from, of.data, of.size);
            from.meet = requests == 1 ? 0 : 2;
            column = open_ranged(&from, requests, threads, NULL);
            decode_all(&of, column, threads);
            CHECK_EQ(from.twice, 0);
            CHECK_EQ(from.bytes, of.size);
            CHECK(from.requests <= 4 + threads + of.size / (3 * MIB));
            CHECK(requests != 1 || threads > 1 || from.most_under_way == 1);
            CHECK(requests == 1 || from.most_under_way > 1);
            fastpair_column_close(column);
            ranged_end(&from);
        }
    /* Chunk after chunk, each in a call of its own. */
    ranged_start(&from, of.data, of.size);
    column = open_ranged(&from, 0, 1, NULL);
    for (uint64_t i = 0; i < totals.chunks; i++) {
        fastpair_column_get_chunk(of.column, i, &info, NULL);
        verify_decode(column, &of.s, NULL, info.first_row, info.rows, 32, 1, 1);
        CHECK(i > 0 || from.bytes <= 64000 + info.file_bytes + 70000);
    }
    CHECK_EQ(from.twice, 0);
    CHECK_EQ(from.bytes, of.size);
    CHECK(from.requests <= 8 && totals.chunks > 16);
    fastpair_column_close(column);
    ranged_end(&from);
    image_free(&of);
}

/* Small files are read in one request, and never again. */
static void small_file(void) {
    image of;
    ranged from;
    fastpair_compress_options options = {.struct_size = sizeof options};
    image_make(&of, SHAPE_WORDS, 60000, &options);
    CHECK(of.size < 62000);
    ranged_start(&from, of.data, of.size);
    fastpair_column *column = open_ranged(&from, 0, 2, NULL);
    decode_all(&of, column, 2);
    verify_ok(fastpair_column_validate(column, NULL), NULL, "validate");
    CHECK_EQ(from.requests, 1);
    CHECK_EQ(from.bytes, of.size);
    fastpair_column_close(column);
    ranged_end(&from);
    image_free(&of);
}

/* A footer that is larger than the tail takes one request more. */
static void large_footer(void) {
    image of;
    ranged from;
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_STORED,
                                         .chunk_bytes = 1024,
                                         .expert = EXPERT(.bound_bytes = 64)};
    image_make(&of, SHAPE_WORDS, MIB, &options);
    ranged_start(&from, of.data, of.size);
    fastpair_column *column = open_ranged(&from, 0, 1, NULL);
    CHECK_EQ(from.requests, 3);
    decode_all(&of, column, 1);
    CHECK_EQ(from.twice, 0);
    CHECK_EQ(from.bytes, of.size);
    fastpair_column_close(column);
    ranged_end(&from);
    image_free(&of);
}

/* Figures take headers and dictionaries, not chunks. */
static void figures(void) {
    image of;
    ranged from;
    uint64_t random = 5;
    truth t = truth_mixed(4 * MIB, 4000, 64, &random);
    of.data = t.image.file.data, of.size = t.image.file.size;
    CHECK_EQ(fastpair_column_open(of.data, of.size, NULL, &of.column, NULL), FASTPAIR_OK);
    ranged_start(&from, of.data, of.size);
    fastpair_column *column = open_ranged(&from, 0, 1, NULL);
    fastpair_column_info info = {.struct_size = sizeof info}, other = {.struct_size = sizeof info};
    fastpair_chunk_header header = {.struct_size = sizeof header},
                          same = {.struct_size = sizeof same};
    CHECK_EQ(fastpair_column_get_chunk_header(column, 9, &header, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_chunk_header(of.column, 9, &same, NULL), FASTPAIR_OK);
    CHECK(!memcmp(&header, &same, sizeof header));
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_info(of.column, &other, NULL), FASTPAIR_OK);
    CHECK(!memcmp(&info, &other, sizeof info));
    CHECK(info.dictionaries > 1 && info.chunks > 9);
    CHECK(from.bytes <=
          64000 + 320 * info.chunks + info.dictionary_bytes + 400 * info.dictionaries);
    uint64_t requests = requests_of(&from);
    CHECK(requests <= 2 + info.chunks + info.dictionaries);
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    CHECK_EQ(requests_of(&from), 0);
    fastpair_column_close(column);
    fastpair_column_close(of.column);
    ranged_end(&from);
    truth_free(&t);
}

/* Searches give the same, and leave chunks alone that bounds rule out. */
static void searches(void) {
    image of;
    ranged from;
    enum { ROWS = 60000 };
    uint8_t *bytes = malloc(ROWS * 16), *valid = malloc(ROWS);
    uint64_t *offsets = malloc((ROWS + 1) * 8);
    char text[17];
    for (uint64_t i = 0; i <= ROWS; i++) {
        offsets[i] = i * 16;
        if (i == ROWS) break;
        valid[i] = 1;
        snprintf(text, sizeof text, "row %08llu xyz", (unsigned long long)i);
        memcpy(bytes + i * 16, text, 15), bytes[i * 16 + 15] = '.';
    }
    shape_from_rows(&of.s, "sorted", bytes, offsets, valid, ROWS);
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .chunk_bytes = 60000,
                                         .expert = EXPERT(.bound_bytes = 32)};
    fastpair_error error;
    verify_ok(fastpair_compress(&of.s.rows, &options, &of.data, &of.size, &error), &error, "make");
    verify_ok(fastpair_column_open(of.data, of.size, NULL, &of.column, &error), &error, "open");
    ranged_start(&from, of.data, of.size);
    fastpair_column *columns[2] = {of.column, open_ranged(&from, 0, 2, NULL)};
    static const struct {
        fastpair_predicate_kind kind;
        const char *text;
        uint64_t most_requests, matches;
    } cases[] = {{FASTPAIR_EQUALS, "row 00031415 xy.", 2, 1},
                 {FASTPAIR_EQUALS, "row 00031415 xyz", 0, 0},
                 {FASTPAIR_STARTS_WITH, "row 0005999", 1, 10},
                 {FASTPAIR_CONTAINS, "777 x", 4, 60}};
    requests_of(&from);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t matches[2] = {7, 8};
        for (int c = 0; c < 2; c++) {
            fastpair_pattern pattern = {cases[i].text, strlen(cases[i].text)};
            fastpair_predicate predicate = {.struct_size = sizeof predicate,
                                            .kind = cases[i].kind,
                                            .patterns = &pattern,
                                            .pattern_count = 1};
            fastpair_search *search = NULL;
            verify_ok(fastpair_search_open(columns[c], &predicate, NULL, &search, &error), &error,
                      "search");
            fastpair_matches found = {.struct_size = sizeof found};
            verify_ok(fastpair_search_run(search, 0, ROWS, &found, &error), &error, "run");
            matches[c] = found.matches;
            fastpair_search_close(search);
        }
        CHECK_EQ(matches[0], matches[1]);
        CHECK_EQ(matches[1], cases[i].matches);
        CHECK(requests_of(&from) <= cases[i].most_requests);
    }
    CHECK_EQ(from.twice, 0);
    fastpair_column_close(columns[1]);
    ranged_end(&from);
    image_free(&of);
    free(bytes), free(valid), free(offsets);
}

/* A scan does not keep the file, and converting gives the same file. */
static void memory(void) {
    image of;
    ranged from;
    counting count;
    fastpair_error error;
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_STORED};
    image_make(&of, SHAPE_RANDOM_BYTES, 80 * MIB, &options);
    ranged_start(&from, of.data, of.size);
    counting_start(&count);
    fastpair_allocator hooks = counting_hooks(&count);
    fastpair_column *column = open_ranged(&from, 4, 2, &hooks);
    decode_all(&of, column, 2);
    CHECK_EQ(from.twice, 0);
    CHECK_EQ(from.bytes, of.size);
    CHECK(count.peak_bytes < 45 * MIB && count.peak_bytes > 16 * MIB);
    printf("a scan of 80 MiB held up to %llu KiB\n", (unsigned long long)count.peak_bytes >> 10);
    CHECK(count.live_bytes <= 33 * MIB);
    forge_bytes made = {0};
    fastpair_sink sink = {forge_write, &made};
    verify_ok(fastpair_column_convert(column, NULL, &sink, &error), &error, "convert");
    CHECK(same_bytes(&made, of.data, of.size));
    free(made.data);
    fastpair_column_close(column);
    CHECK_EQ(count.live, 0);
    ranged_end(&from);
    image_free(&of);
}

int main(void) {
    one_dictionary();
    small_file();
    large_footer();
    figures();
    searches();
    memory();
    return check_done();
}
