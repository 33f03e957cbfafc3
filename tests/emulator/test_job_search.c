/* test_job_search.c - searches on the made-up GPU, whose kernels run in the emulator, against the
 * CPU's: random columns of all widths, random predicates of all kinds, memory of exactly the sizes
 * that the library states. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "fastpair_gpu_search.h"
#include "gpu/rows.h"
#include "search.h"
#include "search_columns.h"

/* ---------------------------------------------------------------- predicates */

enum { MOST_NODES = 24, MOST_PATTERNS = 64, MOST_PATTERN = 80 };

typedef struct drawn {
    fastpair_predicate node[MOST_NODES];
    uint32_t nodes;
    fastpair_pattern pattern[MOST_PATTERNS];
    uint8_t bytes[MOST_PATTERNS][MOST_PATTERN];
    uint32_t patterns;
} drawn;

/* Decoded rows, to take patterns from. */
static uint8_t *text;
static uint64_t text_size;

static void draw_pattern(drawn *d, int is_like) {
    uint8_t *to = d->bytes[d->patterns];
    uint64_t size = draw(3) ? 1 + draw(6) : draw(40),
             from = text_size ? draw((uint32_t)text_size) : 0;
    switch (draw(4)) {
    case 0: /* periodic */
        for (uint64_t i = 0; i < size; i++) to[i] = (uint8_t)(i % 3 ? 'a' : 'b');
        break;
    case 1:
        for (uint64_t i = 0; i < size; i++) to[i] = draw_letter();
        break;
    default:
        if (size > text_size - from) size = text_size - from;
        memcpy(to, text + from, size);
    }
    for (uint64_t i = 0; is_like && i < size; i++)
        if (!draw(4)) to[i] = draw(3) ? '%' : '_';
    if (is_like && draw(2)) to[size++] = '%';
    d->pattern[d->patterns++] = (fastpair_pattern){to, size};
}

static void draw_node(drawn *d, fastpair_predicate *node, uint32_t depth) {
    *node = (fastpair_predicate){.struct_size = sizeof *node, .negate = !draw(4)};
    uint32_t kind = draw(depth < 3 ? 10 : 6);
    if (kind >= 8 && d->nodes + 4 <= MOST_NODES) {
        node->kind = kind == 8 ? FASTPAIR_ALL_OF : FASTPAIR_ANY_OF;
        node->children = &d->node[d->nodes];
        node->child_count = 1 + draw(3);
        d->nodes += (uint32_t)node->child_count;
        for (uint64_t i = 0; i < node->child_count; i++)
            draw_node(d, (fastpair_predicate *)(uintptr_t)&node->children[i], depth + 1);
        return;
    }
    node->kind = kind == 5 ? FASTPAIR_IS_NULL : (fastpair_predicate_kind)(1 + kind % 5);
    if (node->kind == FASTPAIR_IS_NULL) return;
    node->ignore_case = !draw(4);
    node->patterns = &d->pattern[d->patterns];
    node->pattern_count = 1 + (draw(3) ? 0 : draw(3));
    if (d->patterns + node->pattern_count > MOST_PATTERNS) abort();
    for (uint64_t i = 0; i < node->pattern_count; i++) draw_pattern(d, node->kind == FASTPAIR_LIKE);
}

/* ---------------------------------------------------------------- runs */

/* Blocks of a search on the device. */
enum { ROWS, ROWS_SCRATCH, TABLES, SCRATCH, BITMAP, VALIDITY, COUNTS, STATUS, BLOCKS };
static void *blocks[BLOCKS];

static fastpair_gpu_block block(int i, uint64_t size) {
    return (fastpair_gpu_block){fake_block(&blocks[i], 0, size), size};
}

static void free_blocks(void) {
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]), blocks[i] = NULL;
}

static void explain(const drawn *d, const char *what) {
    fprintf(stderr, "  %s; predicate of kind %d, %u nodes, first pattern of %d bytes\n", what,
            (int)d->node[0].kind, d->nodes, (int)(d->patterns ? d->pattern[0].size : 0));
}

/* How a predicate is searched: as the library likes, the same on a device without room for the filter,
 * from the start of every row, or byte by byte. */
typedef enum way { ANY_WAY, NO_FILTER, WALK_ROWS, BY_BYTES } way;

/* Room for four warps of any width, and for no filter from 12 bits on. */
#define LITTLE_SHARED ((uint32_t)FP_GPU_SEARCH_SHARED(16, 4, 4096))

/* Runs a predicate over the column and compares all that comes out. */
static void check_predicate(fastpair_gpu_rows *rows, const fastpair_column *column, const drawn *d,
                            way how) {
    uint64_t count = column->totals.rows, bytes = (count + 31) / 32 * 4;
    fastpair_error error = {0};
    fastpair_search *search = NULL;
    fastpair_gpu_search *gpu_search = NULL;
    fastpair_gpu_search_options options = {.struct_size = sizeof options,
                                           .walk_rows = how == WALK_ROWS,
                                           .memory_limit = how == BY_BYTES};
    fastpair_gpu_search_info info = {.struct_size = sizeof info};
    uint8_t *bitmap = calloc(bytes + 1, 1), *validity = calloc(bytes + 1, 1);
    fastpair_matches wanted = {
        .struct_size = sizeof wanted, .bitmap = bitmap, .validity = validity};
    fastpair_status status =
        fastpair_search_open((fastpair_column *)(uintptr_t)column, d->node, NULL, &search, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (!status) status = fastpair_search_run(search, 0, count, &wanted, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (!status) status = fastpair_gpu_search_open(rows, search, &options, &gpu_search, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status) fprintf(stderr, "  %s\n", error.message), abort();
    CHECK_EQ(fastpair_gpu_search_get_info(gpu_search, &info, &error), FASTPAIR_OK);
    if (d->node[0].pattern_count > MOST_PATTERNS) CHECK(!search->predicate.leaf[0].automaton.next);
    CHECK_EQ(info.leaves_by_bytes, how == BY_BYTES ? info.leaves : 0);
    fastpair_search_close(search);
    fastpair_gpu_block tables = block(TABLES, info.device_bytes);
    fastpair_gpu_block scratch = block(SCRATCH, info.scratch_bytes);
    fastpair_gpu_matches to = {.struct_size = sizeof to};
    to.bitmap = block(BITMAP, info.bitmap_bytes).address;
    to.validity = block(VALIDITY, info.bitmap_bytes).address;
    to.counts = block(COUNTS, 16).address;
    fake_wish.seed = check_random(&random_state);
    uint32_t shared = fake.gpu.info.shared_per_block;
    if (how == NO_FILTER) fake.gpu.info.shared_per_block = LITTLE_SHARED;
    CHECK_EQ(fastpair_gpu_search_upload(gpu_search, &tables, NULL, &error), FASTPAIR_OK);
    status = fastpair_gpu_search_run(gpu_search, &scratch, &to, NULL, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    const uint64_t *counts = (const uint64_t *)blocks[COUNTS];
    int is_right = !memcmp(blocks[BITMAP], bitmap, bytes);
    CHECK(is_right);
    if (!is_right) explain(d, "rows differ");
    CHECK(!memcmp(blocks[VALIDITY], validity, bytes));
    CHECK_EQ(counts[0], wanted.matches);
    CHECK_EQ(counts[1], wanted.nulls);
    /* The bitmap alone, which may take another way. */
    memset(blocks[BITMAP], 0xee, bytes);
    to.validity = to.counts = 0;
    CHECK_EQ(fastpair_gpu_search_run(gpu_search, &scratch, &to, NULL, &error), FASTPAIR_OK);
    is_right = !memcmp(blocks[BITMAP], bitmap, bytes);
    CHECK(is_right);
    if (!is_right) explain(d, "rows differ in the bitmap alone");
    fake.gpu.info.shared_per_block = shared;
    fastpair_gpu_search_close(gpu_search);
    free(bitmap), free(validity);
    for (int i = TABLES; i <= COUNTS; i++) free(blocks[i]), blocks[i] = NULL;
}

/* Decodes the column for patterns to be taken from. */
static void decode_text(const fastpair_column *column) {
    text_size = column->totals.decoded_bytes;
    text = malloc(text_size + 1);
    if (!text) abort();
    fastpair_destination to = to_memory(text, text_size, NULL, 0, NULL);
    CHECK_EQ(fastpair_column_decode(column, 0, column->totals.rows, &to, NULL), FASTPAIR_OK);
}

/* A column as the library writes it: rows with bytes, whose bits may go straight to the result. */
static void add_written_column(uint32_t bits) {
    static uint8_t bytes[40000];
    static uint64_t offsets[2001];
    uint64_t size = 0, rows = 1 + draw(2000), image_size = 0;
    for (uint64_t r = 0; r < rows; r++) {
        offsets[r] = size;
        for (uint32_t length = 1 + draw(19); length; length--) bytes[size++] = draw_letter();
    }
    offsets[rows] = size;
    fastpair_rows view = view_rows(rows, bytes, offsets);
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = bits,
                                         .chunk_bytes = draw(2) ? 0 : 9000};
    uint8_t *image = NULL;
    CHECK_EQ(fastpair_compress(&view, &options, &image, &image_size, NULL), FASTPAIR_OK);
    add_image(&columns, (forge_bytes){image, image_size});
}

/* The rows of the first column, uploaded, and the memory that preparing them takes. */
typedef struct prepared {
    fastpair_gpu_job *job;
    fastpair_gpu_rows *rows;
    fastpair_gpu_block memory, scratch;
    uint64_t status_word;
} prepared;

static prepared open_rows(void) {
    prepared p = {.job = open_job(&columns, NULL, 0)};
    fastpair_gpu_rows_info info = {.struct_size = sizeof info};
    fake_allocate(p.job, 0);
    upload(p.job, NULL);
    CHECK_EQ(fastpair_gpu_rows_open(p.job, 0, &p.rows, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_rows_get_info(p.rows, &info, NULL), FASTPAIR_OK);
    p.memory = block(ROWS, info.device_bytes);
    p.scratch = block(ROWS_SCRATCH, info.scratch_bytes);
    p.status_word = block(STATUS, 4).address;
    memset(blocks[STATUS], 0, 4);
    return p;
}

/* Codes and row lengths that are wrong: prepare says so, and neither prepare nor a search touches
 * memory that is not theirs, which the emulator would notice. */
static void check_hostile(uint32_t round) {
    prepared p = open_rows();
    fastpair_gpu_job *job = p.job;
    fastpair_gpu_rows *rows = p.rows;
    fastpair_error error = {0};
    const fp_job_chunk *chunk = &job->chunks[0];
    uint8_t *section =
        fake.memory + chunk->sections[round % 2 ? FP_SECTION_LENGTHS : FP_SECTION_CODES];
    uint64_t size = round % 2 ? chunk->lengths_bytes : chunk->codes / 8;
    for (uint32_t i = draw(40); size && i < 40; i++)
        section[draw((uint32_t)size)] = (uint8_t)draw(256);
    if (round % 4 == 2) memset(section, 255, size);
    CHECK_EQ(fastpair_gpu_rows_prepare(rows, &p.memory, &p.scratch, p.status_word, NULL, &error),
             FASTPAIR_OK);
    /* Codes of few bits may all stand for tokens of one length. */
    if (round % 4 == 2 && chunk->codes > 200 && job->dicts[chunk->dict].code_bits > 3)
        CHECK(*(const uint32_t *)blocks[STATUS] != 0);
    fastpair_pattern pattern = {"ab", 2};
    fastpair_predicate predicate = {.struct_size = sizeof predicate, .kind = FASTPAIR_CONTAINS};
    predicate.patterns = &pattern, predicate.pattern_count = 1;
    fastpair_search *search = NULL;
    fastpair_gpu_search *gpu_search = NULL;
    fastpair_gpu_search_info searched = {.struct_size = sizeof searched};
    CHECK_EQ(fastpair_search_open((fastpair_column *)(uintptr_t)columns.column[0], &predicate, NULL,
                                  &search, &error),
             FASTPAIR_OK);
    fastpair_gpu_search_options options = {.struct_size = sizeof options,
                                           .memory_limit = round % 5 == 1};
    CHECK_EQ(fastpair_gpu_search_open(rows, search, &options, &gpu_search, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_search_get_info(gpu_search, &searched, &error), FASTPAIR_OK);
    fastpair_gpu_block tables = block(TABLES, searched.device_bytes);
    fastpair_gpu_block found = block(SCRATCH, searched.scratch_bytes);
    fastpair_gpu_matches to = {.struct_size = sizeof to};
    to.bitmap = block(BITMAP, searched.bitmap_bytes).address;
    to.counts = round % 3 ? block(COUNTS, 16).address : 0;
    CHECK_EQ(fastpair_gpu_search_upload(gpu_search, &tables, NULL, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_search_run(gpu_search, &found, &to, NULL, &error), FASTPAIR_OK);
    fastpair_gpu_search_close(gpu_search);
    fastpair_search_close(search);
    fastpair_gpu_rows_close(rows);
    fake_release();
    fastpair_gpu_job_close(job);
    free_blocks();
}

/* As many patterns as no automaton holds, which are run as a trie: most are random, some are in the
 * rows. */
static void check_many_patterns(fastpair_gpu_rows *rows, const fastpair_column *column) {
    enum { COUNT = 3000, SIZE = 32 };
    static uint8_t bytes[COUNT][SIZE];
    static fastpair_pattern patterns[COUNT];
    static drawn d;
    for (int i = 0; i < COUNT; i++) {
        uint64_t size = SIZE, from = draw((uint32_t)text_size);
        for (int k = 0; k < SIZE; k++) bytes[i][k] = (uint8_t)draw(256);
        if (i % 8 == 0) {
            size = 1 + draw(12);
            if (size > text_size - from) size = text_size - from;
            memcpy(bytes[i], text + from, size);
        }
        patterns[i] = (fastpair_pattern){bytes[i], size};
    }
    d.nodes = 1, d.patterns = 0;
    for (int kind = FASTPAIR_EQUALS; kind <= FASTPAIR_CONTAINS; kind++) {
        d.node[0] = (fastpair_predicate){.struct_size = sizeof *d.node,
                                         .kind = (fastpair_predicate_kind)kind,
                                         .ignore_case = kind % 2,
                                         .patterns = patterns,
                                         .pattern_count = COUNT};
        check_predicate(rows, column, &d, BY_BYTES);
        fake_forget_memory();
        fake_know_memory(blocks[ROWS], rows->device_bytes);
    }
}

/* A pattern of many tokens: what is met in one lane's codes ends in those of lanes further on. Tables by
 * code hold it whatever their width. */
static void check_long_pattern(fastpair_gpu_rows *rows, const fastpair_column *column) {
    static drawn d;
    uint64_t size = 1 + draw(200), from = text_size ? draw((uint32_t)text_size) : 0;
    if (size > text_size - from) size = text_size - from;
    d.nodes = 1, d.patterns = 1;
    d.pattern[0] = (fastpair_pattern){text + from, size};
    d.node[0] = (fastpair_predicate){.struct_size = sizeof *d.node,
                                     .kind = FASTPAIR_CONTAINS,
                                     .patterns = d.pattern,
                                     .pattern_count = 1};
    for (int how = ANY_WAY; how <= BY_BYTES; how++) {
        check_predicate(rows, column, &d, (way)how);
        fake_forget_memory();
        fake_know_memory(blocks[ROWS], rows->device_bytes);
    }
}

static void check_column_search(uint32_t predicates, int with_many) {
    const fastpair_column *column = columns.column[0];
    prepared p = open_rows();
    fastpair_gpu_job *job = p.job;
    fastpair_gpu_rows *rows = p.rows;
    fastpair_error error = {0};
    fastpair_status status =
        fastpair_gpu_rows_prepare(rows, &p.memory, &p.scratch, p.status_word, NULL, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    CHECK_EQ(*(const uint32_t *)blocks[STATUS], 0);
    decode_text(column);
    for (uint32_t i = 0; i < predicates; i++) {
        static drawn d;
        d.nodes = 1, d.patterns = 0;
        draw_node(&d, &d.node[0], 0);
        check_predicate(rows, column, &d,
                        (way)(i % 8 == 7   ? WALK_ROWS
                              : i % 8 == 3 ? NO_FILTER
                              : i % 3 == 2 ? BY_BYTES
                                           : ANY_WAY));
        fake_forget_memory();
        fake_know_memory(blocks[ROWS], p.memory.bytes);
    }
    check_long_pattern(rows, column);
    if (with_many) check_many_patterns(rows, column);
    free(text);
    fastpair_gpu_rows_close(rows);
    fake_release();
    fastpair_gpu_job_close(job);
    free_blocks();
}

int main(void) {
    start_random(20);
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t bits = 1; bits <= 16; bits++) {
            start();
            add_search_column(&columns, bits);
            check_column_search(10, 0);
            check_hostile(draw(12));
            if (bits < 9) continue;
            start();
            add_written_column(bits);
            check_column_search(6, round == 0 && bits % 4 == 0);
            check_hostile(draw(12));
        }
    close_columns(&columns);
    return check_done();
}
