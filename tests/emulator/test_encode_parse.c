/* Runs the encoder's parse in the emulator on tokens and rows that are hard to parse, and compares
 * with the CPU's parse: random sets of tokens of all widths and lengths, rows cut anywhere, chunks of
 * a few segments, text that repeats itself so that guesses stay wrong, text at any address. */
#include "emulated_parse.h"
#include "gpu/encode_tables.h"
#include "matcher.h"
#include "token_sets.h"

static const fastpair_allocator *hooks(void) {
    static fastpair_allocator resolved;
    CHECK_EQ(fp_allocator_resolve(NULL, &resolved, NULL), FASTPAIR_OK);
    return &resolved;
}

/* A dictionary of these tokens, whose codes are a permutation of the ids. */
static fastpair_dictionary *make_dictionary(uint64_t *random, uint32_t limit, uint32_t max_token,
                                            const letters *alphabet) {
    const fp_codec_choice choice = {FASTPAIR_CODEC_ONPAIR, 16, max_token};
    fastpair_dictionary *made = fp_model_open(choice, 1, hooks());
    CHECK_EQ(fp_tokens_open(&made->tokens, max_token, hooks(), NULL), FASTPAIR_OK);
    fill_tokens(&made->tokens, random, alphabet, limit);
    CHECK_EQ(fp_matcher_open(&made->tokens, hooks(), &made->matcher, NULL), FASTPAIR_OK);
    made->code_of_id = fp_allocate(hooks(), FP_MAX_TOKENS, sizeof *made->code_of_id);
    const uint32_t count = made->tokens.count;
    for (uint32_t id = 0; id < count; id++) made->code_of_id[id] = id;
    for (uint32_t id = count; id-- > 1;) {
        const uint32_t other = (uint32_t)(check_random(random) % (id + 1));
        const uint32_t code = made->code_of_id[id];
        made->code_of_id[id] = made->code_of_id[other];
        made->code_of_id[other] = code;
    }
    made->dict.code_bits = 9;
    while (1u << made->dict.code_bits < count) made->dict.code_bits++;
    return made;
}

/* What the kernels are given, in memory of exactly the right size. */
typedef struct piece {
    uint8_t *text; /* at no alignment */
    uint8_t *text_memory;
    uint64_t *offsets;
    uint64_t rows, bytes;
    fp_gpu_encode_state state;
    fp_gpu_encode_chunk *chunks;
    uint32_t *ends, *seg[3];
    uint16_t *codes;
    uint8_t *hard, *tables;
    uint64_t hard_bytes, ends_words, most_codes;
} piece;

static uint64_t address_of(const void *at) { return (uint64_t)(uintptr_t)at; }

static void *new_memory(uint64_t bytes, int is_written, const char *name) {
    void *made = aligned_alloc(256, (bytes + 511) / 256 * 256);
    memset(made, 0xee, bytes);
    emulated_parse_know(made, bytes, is_written, name);
    return made;
}

/* Cuts the rows into chunks, some without bytes. */
static void cut_chunks(piece *p, uint64_t *random, uint64_t mean_bytes) {
    uint64_t row = 0, segments = 0, place = 0;
    p->chunks = calloc(p->rows + 2, sizeof *p->chunks);
    while (row < p->rows) {
        fp_gpu_encode_chunk *chunk = &p->chunks[p->state.chunks++];
        const uint64_t wanted =
            check_random(random) % 8 ? check_random(random) % (2 * mean_bytes) : 0;
        const uint64_t first = p->offsets[row] - p->offsets[0];
        chunk->first_row = row;
        chunk->first_byte = first;
        chunk->first_segment = segments;
        chunk->code_place = place;
        do row++;
        while (row < p->rows && p->offsets[row] - p->offsets[0] - first < wanted);
        chunk->rows = (uint32_t)(row - chunk->first_row);
        chunk->bytes = (uint32_t)(p->offsets[row] - p->offsets[0] - first);
        chunk->segments = (chunk->bytes + FP_GPU_ENCODE_SEGMENT - 1) / FP_GPU_ENCODE_SEGMENT;
        segments += (chunk->segments + 31) / 32 * 32;
        place = (place + chunk->bytes + 31) / 16 * 16;
    }
    p->state.segments = segments;
    p->most_codes = place;
}

/* The launch of a piece; everything is in memory of the emulator then. */
static fp_gpu_encode_launch prepare(piece *p, const fp_encode_tables *tables, uint32_t align) {
    const uint64_t segments = p->state.segments, words = (p->bytes + 1 + 31) / 32 + 1;
    p->ends_words = words;
    p->ends = new_memory(4 * words, 0, "ends");
    memset(p->ends, 0, 4 * words);
    for (uint64_t row = 1; row <= p->rows; row++) {
        const uint64_t end = p->offsets[row] - p->offsets[0];
        if (end) p->ends[end / 32] |= 1u << end % 32;
    }
    const uint64_t before = p->offsets[0];
    p->text_memory = aligned_alloc(256, (before + p->bytes + align + 511) / 256 * 256);
    uint8_t *text = p->text_memory + align;
    memcpy(text, p->text - before, before + p->bytes);
    emulated_parse_know(text, before + p->bytes, 0, "text");
    for (int i = 0; i < 3; i++) p->seg[i] = new_memory(4 * segments, 1, "segments");
    p->codes = new_memory(2 * p->most_codes, 1, "codes");
    p->hard_bytes = fp_gpu_encode_hard_bytes(segments, p->state.chunks, tables->at.longest);
    p->hard = new_memory(p->hard_bytes, 1, "hard");
    p->tables = new_memory(tables->bytes, 0, "tables");
    memcpy(p->tables, tables->memory, tables->bytes);
    emulated_parse_know(&p->state, sizeof p->state, 1, "state");
    emulated_parse_know(p->chunks, p->state.chunks * sizeof *p->chunks, 1, "chunks");
    emulated_parse_know(p->offsets, 8 * (p->rows + 1), 0, "offsets");
    p->state.text_bytes = p->bytes;
    fp_gpu_encode_launch launch = {0};
    launch.input = (fp_gpu_encode_input){.bytes = address_of(text),
                                         .bytes_size = before + p->bytes,
                                         .offsets = address_of(p->offsets),
                                         .rows = p->rows,
                                         .offset_bits = 64};
    launch.scratch = (fp_gpu_encode_scratch){.state = address_of(&p->state),
                                             .chunks = address_of(p->chunks),
                                             .ends = address_of(p->ends),
                                             .codes = address_of(p->codes),
                                             .seg_first = address_of(p->seg[0]),
                                             .seg_end = address_of(p->seg[1]),
                                             .seg_count = address_of(p->seg[2]),
                                             .most_segments = segments,
                                             .most_chunks = p->state.chunks,
                                             .hard = address_of(p->hard)};
    launch.tables = fp_encode_tables_at(tables, address_of(p->tables));
    return launch;
}

static void release(piece *p) {
    free(p->text_memory);
    free(p->ends);
    for (int i = 0; i < 3; i++) free(p->seg[i]);
    free(p->codes);
    free(p->hard);
    free(p->tables);
    free(p->chunks);
}

/* Whether a chunk's codes are those of the CPU. */
static int is_chunk_right(const piece *p, const fastpair_dictionary *dictionary,
                          const fp_gpu_encode_chunk *chunk, uint16_t *ids) {
    const uint64_t *offsets = p->offsets + chunk->first_row;
    const uint64_t count =
        fp_parse_rows(dictionary->matcher, p->text - p->offsets[0], offsets, chunk->rows, ids);
    uint64_t at = 0;
    for (uint32_t i = 0; i < chunk->segments; i++) {
        const uint16_t *codes = p->codes + chunk->code_place + (uint64_t)i * FP_GPU_ENCODE_SEGMENT;
        const uint32_t here = p->seg[2][chunk->first_segment + i];
        if (here > FP_GPU_ENCODE_SEGMENT || at + here > count) return 0;
        for (uint32_t k = 0; k < here; k++)
            if (codes[k] != dictionary->code_of_id[ids[at + k]]) return 0;
        at += here;
    }
    return at == count;
}

/* Counts of what the tests met, so that they cannot pass by missing it. */
static uint64_t bad_seams, hard_seams, shapes_seen[FP_GPU_ENCODE_SHAPES];

static void check_rows(const fastpair_dictionary *dictionary, const fp_encode_tables *tables,
                       const test_rows *rows, uint64_t *random) {
    piece p = {.offsets = rows->offsets, .rows = rows->rows};
    p.bytes = rows->offsets[rows->rows] - rows->offsets[0];
    p.text = rows->bytes + rows->offsets[0];
    emulated_parse_begin(check_random(random));
    cut_chunks(&p, random, 1 + check_random(random) % (p.bytes + 1));
    const fp_gpu_encode_launch launch = prepare(&p, tables, (uint32_t)(check_random(random) % 32));
    const uint32_t threads = 32u << check_random(random) % 3, blocks = 1 + check_random(random) % 3;
    const char *error = emulated_parse(&launch, blocks, threads);
    if (error) fprintf(stderr, "%s\n", error);
    CHECK(!error);
    uint16_t *ids = malloc(2 * p.bytes + 2);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < p.state.chunks && !error; i++)
        wrong += !is_chunk_right(&p, dictionary, &p.chunks[i], ids);
    CHECK_EQ(wrong, 0);
    bad_seams += p.state.bad_seams;
    hard_seams += p.state.hard_seams;
    shapes_seen[tables->at.shape]++;
    free(ids);
    release(&p);
}

/* Text that repeats a few bytes, in long rows: parses that begin at different bytes stay apart. */
static void make_periodic(test_rows *rows, const fp_tokens *tokens, uint64_t *random) {
    const uint32_t id = (uint32_t)(check_random(random) % tokens->count);
    const uint32_t period = check_random(random) % 2 ? 1 : tokens->lengths[id];
    const uint64_t end = rows->offsets[rows->rows];
    for (uint64_t i = 0; i < end; i++) rows->bytes[i] = fp_token(tokens, id)[i % period];
    rows->offsets[1] = end;
    rows->rows = 1;
}

int main(void) {
    uint64_t random = 1;
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    if (seed) random = strtoull(seed, NULL, 10);
    printf("seed %" PRIu64 "\n", random);
    static const uint32_t limits[] = {256, 300, 512, 4096, 16384};
    static const uint32_t longest[] = {8, 16, 16, 32, 64};
    for (uint32_t round = 0; round < check_scaled(60); round++) {
        const letters alphabet = random_alphabet(&random);
        const uint32_t limit = limits[check_random(&random) % 5];
        fastpair_dictionary *dictionary =
            make_dictionary(&random, limit, longest[check_random(&random) % 5], &alphabet);
        fp_encode_tables tables;
        /* Little shared memory makes small dictionaries take the shapes of large ones. */
        const uint32_t shared =
            (uint32_t)(check_random(&random) % 4 ? check_random(&random) % 65536 : 227 << 10);
        CHECK_EQ(fp_encode_tables_open(dictionary, shared, hooks(), &tables, NULL), FASTPAIR_OK);
        for (int i = 0; i < 3; i++) {
            static const uint64_t sizes[] = {0, 1, 40, 600, 5000, 60000};
            const uint64_t size = sizes[check_random(&random) % 6] + check_random(&random) % 40;
            test_rows rows =
                make_rows(&random, &dictionary->tokens, &alphabet, size,
                          check_random(&random) % 2 ? 4 : 3000, check_random(&random) % 40);
            if (rows.rows && check_random(&random) % 4 == 0)
                make_periodic(&rows, &dictionary->tokens, &random);
            if (rows.rows) check_rows(dictionary, &tables, &rows, &random);
            free_rows(&rows);
        }
        fp_encode_tables_close(&tables, hooks());
        fp_model_close(dictionary);
    }
    printf("seams: %" PRIu64 " bad, %" PRIu64 " hard; shapes", bad_seams, hard_seams);
    for (uint32_t i = 0; i < FP_GPU_ENCODE_SHAPES; i++) printf(" %" PRIu64, shapes_seen[i]);
    printf("\n");
    if (check_scale() >= 1) {
        CHECK(bad_seams > 0);
        CHECK(hard_seams > 0);
        for (uint32_t i = 0; i < FP_GPU_ENCODE_SHAPES; i++) CHECK(shapes_seen[i] > 0);
    }
    return check_done();
}
