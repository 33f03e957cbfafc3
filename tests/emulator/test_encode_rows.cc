/* test_encode_rows.cc - the encoder's kernels around the parse, in the emulator, on random rows,
 * against what the library makes of the same rows on a CPU: chunks, moved text, ends of rows, row
 * lengths, validity, bounds, UTF-8. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "check.h"
#include "encode_case.h"

static uint64_t random_state;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

/* ---------------------------------------------------------------- rows */

enum { MOST_ROWS = 6000, MOST_BYTES = 1 << 19 };

/* What rows are made of. */
typedef enum row_content {
    ANY_BYTES,
    LETTERS,
    TEXT,
    NEARLY_TEXT,
    PREFIXED,
    ZEROS,
    CONTENTS
} row_content;

/* A character of 1 to 4 bytes, near the edges of what is allowed. */
static uint32_t put_character(uint8_t *to) {
    const uint32_t edges[] = {0x7f,   0x80,   0x7ff,  0x800,   0xfff,   0x1000,  0xcfff,   0xd000,
                              0xd7ff, 0xe000, 0xffff, 0x10000, 0x3ffff, 0x40000, 0x10ffff, 0x41};
    uint32_t c = draw(3) ? 'a' + draw(26) : draw(3) ? edges[draw(16)] : 0xac00 + draw(11172);
    if (c < 0x80) return to[0] = (uint8_t)c, 1;
    if (c < 0x800) return to[0] = (uint8_t)(0xc0 | c >> 6), to[1] = (uint8_t)(0x80 | (c & 63)), 2;
    if (c < 0x10000) {
        to[0] = (uint8_t)(0xe0 | c >> 12);
        to[1] = (uint8_t)(0x80 | (c >> 6 & 63)), to[2] = (uint8_t)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (uint8_t)(0xf0 | c >> 18), to[1] = (uint8_t)(0x80 | (c >> 12 & 63));
    to[2] = (uint8_t)(0x80 | (c >> 6 & 63)), to[3] = (uint8_t)(0x80 | (c & 63));
    return 4;
}

/* A row of about `size` bytes; returns how many it has. */
static uint32_t put_row(uint8_t *to, uint32_t size, row_content content) {
    uint32_t at = 0;
    switch (content) {
    case TEXT:
    case NEARLY_TEXT:
        while (at < size) at += put_character(to + at);
        if (content == NEARLY_TEXT && at && draw(400) == 0) { /* a byte is wrong, or missing */
            if (draw(2)) return at - 1;
            to[draw(2) ? at - 1 : draw(at)] = (uint8_t)draw(256);
        }
        return at;
    case PREFIXED:
        for (uint32_t i = 0; i < size; i++)
            to[i] = (uint8_t)(i < 20 ? 'p' : i < 62 ? 'q' + (draw(40) == 0) : 'a' + draw(2));
        return size;
    default:
        for (uint32_t i = 0; i < size; i++)
            to[i] = (uint8_t)(content == ANY_BYTES ? draw(256)
                              : content == ZEROS   ? draw(9) == 0
                                                   : 'a' + draw(26));
        return size;
    }
}

static uint32_t draw_size(uint32_t kind) {
    switch (kind) {
    case 0: return draw(20);
    case 1: return draw(4) ? 0 : draw(100);
    case 2: return 64 + draw(3) - 1;
    case 3: return draw(300) ? draw(30) : draw(9000);
    case 4: return 8;
    default: return draw(200);
    }
}

/* Random rows, in memory that the next call uses again. `least_null` of 8 rows are null. */
static encode_rows draw_rows(uint64_t rows, int with_validity) {
    static uint8_t bytes[MOST_BYTES + 4096], validity[MOST_ROWS / 8 + 64];
    static uint64_t offsets[MOST_ROWS + 1];
    static uint32_t narrow[MOST_ROWS + 1];
    const row_content content = (row_content)draw(CONTENTS);
    const uint32_t kind = draw(6), nulls = draw(4) ? draw(9) : 0, bare = draw(2);
    const uint32_t descending = draw(4) == 0;
    encode_rows made = {};
    uint64_t at = draw(2) ? draw(40) : 0; /* a slice has bytes before */
    made.validity_first = draw(3) ? draw(70) : 0;
    for (uint64_t i = 0; i < sizeof validity; i++) validity[i] = (uint8_t)draw(256);
    for (uint64_t i = 0; i < at; i++) bytes[i] = (uint8_t)draw(256);
    made.rows = rows;
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t bit = made.validity_first + i;
        int is_null = with_validity && draw(8) < nulls;
        if (i > 2000 && i < 2600) is_null = with_validity; /* some chunks are null altogether */
        validity[bit / 8] = (uint8_t)((validity[bit / 8] & ~(1u << bit % 8)) | !is_null << bit % 8);
        offsets[i] = at;
        if (is_null && bare) continue;
        if (at >= MOST_BYTES - 10000) continue;
        uint32_t size = put_row(bytes + at, draw_size(kind), content);
        if (descending && size) bytes[at] = (uint8_t)(255 - i * 250 / rows);
        at += size;
    }
    offsets[rows] = at;
    for (uint64_t i = 0; i <= rows; i++) narrow[i] = (uint32_t)offsets[i];
    made.bytes = bytes;
    made.bytes_size = at + (draw(2) ? draw(40) : 0);
    made.offset_bits = draw(2) ? 32 : 64;
    made.offsets = made.offset_bits == 32 ? (void *)narrow : (void *)offsets;
    made.validity = with_validity ? validity : NULL;
    made.validity_bytes = (made.validity_first + rows + 7) / 8;
    return made;
}

static fastpair_rows rows_view(const encode_rows *rows) {
    fastpair_rows view = {};
    view.struct_size = sizeof view;
    view.rows = rows->rows;
    view.bytes = rows->bytes;
    view.offsets = rows->offsets;
    view.offset_bits = rows->offset_bits;
    view.validity = rows->validity;
    view.validity_bit_offset = rows->validity_first;
    return view;
}

static encode_oracle_rules draw_rules(void) {
    encode_oracle_rules rules = {};
    rules.chunk_bytes = draw(3) ? 512u << draw(8) : 1 + draw(2000);
    rules.unit_bytes = rules.chunk_bytes * (1 + draw(5)) + draw(2) * draw(100);
    rules.first_bytes = 2 * rules.unit_bytes + draw(3) * draw(20000);
    rules.units = 1 + draw(3);
    rules.has_before = draw(4) == 0;
    rules.append = draw(2) ? 1 + draw(3000) : 0;
    return rules;
}

/* ---------------------------------------------------------------- what must be right */

static uint32_t seen_first, seen_later, seen_units, seen_moved, seen_not_text, seen_text,
    seen_no_row;

static void check_chunks(const encode_case *c, const encode_oracle *oracle) {
    uint64_t segment = 0, place = 0, block = 0;
    CHECK_EQ(c->state->status, 0);
    CHECK_EQ(c->state->chunks, oracle->count);
    if (c->state->chunks != oracle->count) return;
    for (uint64_t i = 0; i < oracle->count; i++) {
        const encode_oracle_chunk *wanted = &oracle->chunks[i];
        const fp_gpu_encode_chunk *chunk = &c->chunks[i];
        CHECK(chunk->first_row == wanted->first_row && chunk->rows == wanted->rows);
        CHECK(chunk->first_byte == wanted->first_byte && chunk->bytes == wanted->bytes);
        CHECK(chunk->in_first == wanted->in_first && chunk->ends_unit == wanted->ends_unit);
        CHECK(chunk->first_segment == segment && chunk->first_block == block);
        CHECK(chunk->segments == (chunk->bytes + 511) / 512 && chunk->code_place % 16 == 0);
        CHECK(i == 0 || chunk->code_place > place + c->chunks[i - 1].bytes);
        CHECK(chunk->is_text == 1 && chunk->coded == 0 && chunk->by_length[7] == 0);
        CHECK(chunk->largest[8] == 0 && chunk->has_row == 0);
        place = chunk->code_place;
        segment += (chunk->segments + 31) / 32 * 32;
        block += (chunk->rows + 255) / 256;
        seen_first += chunk->in_first, seen_later += !chunk->in_first;
        seen_units += chunk->ends_unit;
    }
    CHECK_EQ(c->state->segments, segment);
    CHECK(place + (oracle->count ? c->chunks[oracle->count - 1].bytes : 0) <
          c->launch.input.bytes_size + 16 * (c->launch.scratch.most_chunks + 2));
}

static void check_measured(const encode_case *c, const encode_oracle *oracle) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < oracle->count; i++) {
        wrong += c->chunks[i].lengths_bytes != oracle->chunks[i].lengths_bytes;
        wrong += c->chunks[i].nulls != oracle->chunks[i].nulls;
    }
    CHECK_EQ(wrong, 0);
    uint64_t words = (c->launch.input.bytes_size + 32) / 32 + 1;
    uint32_t *ends = (uint32_t *)calloc(words, 4);
    for (uint64_t row = 1; row <= oracle->rows; row++)
        if (oracle->starts[row]) ends[oracle->starts[row] / 32] |= 1u << oracle->starts[row] % 32;
    CHECK(!memcmp(ends, c->ends, 4 * words));
    free(ends);
    CHECK_EQ(c->state->text_bytes, oracle->bytes);
    if (!c->state->moves_text) return;
    seen_moved++;
    CHECK(!memcmp((void *)(uintptr_t)c->launch.scratch.text, oracle->text, oracle->bytes));
    CHECK(!memcmp((void *)(uintptr_t)c->launch.scratch.starts, oracle->starts,
                  8 * (oracle->rows + 1)));
}

static void check_sections(const encode_case *c, const encode_oracle *oracle) {
    uint64_t wrong = 0, validity_bytes = 0;
    for (uint64_t i = 0; i < oracle->count; i++) {
        const encode_oracle_chunk *wanted = &oracle->chunks[i];
        const uint8_t *block = c->output + (c->chunks[i].block - c->state->image_begin);
        wrong += memcmp(block + 320, wanted->lengths, wanted->lengths_bytes) != 0;
        wrong +=
            memcmp(block + c->chunks[i].section[3], wanted->validity, wanted->validity_bytes) != 0;
        validity_bytes += wanted->validity_bytes;
    }
    CHECK_EQ(wrong, 0);
    if (c->launch.input.validity) CHECK_EQ(emulator_bytes_written(), validity_bytes);
}

static void check_facts(const encode_case *c, const encode_oracle *oracle) {
    uint64_t wrong_bounds = 0, wrong_text = 0;
    for (uint64_t i = 0; i < oracle->count; i++) {
        const encode_oracle_chunk *wanted = &oracle->chunks[i];
        const fp_gpu_encode_chunk *chunk = &c->chunks[i];
        wrong_bounds += chunk->has_row != wanted->has_row ||
                        memcmp(chunk->smallest, wanted->smallest, sizeof wanted->smallest) != 0 ||
                        memcmp(chunk->largest, wanted->largest, sizeof wanted->largest) != 0;
        wrong_text += chunk->is_text != wanted->is_text;
        seen_text += wanted->is_text, seen_not_text += !wanted->is_text;
        seen_no_row += !wanted->has_row;
    }
    CHECK_EQ(wrong_bounds, 0);
    CHECK_EQ(wrong_text, 0);
}

static int is_fine(const char *error) {
    CHECK(!error);
    if (error) fprintf(stderr, "  %s\n", error);
    return !error;
}

static void check_one(const encode_rows *rows) {
    const encode_oracle_rules rules = draw_rules();
    const fastpair_rows view = rows_view(rows);
    encode_oracle oracle = encode_oracle_open(&view, &rules);
    encode_case c;
    emulator_reset(check_random(&random_state));
    encode_case_make(&c, rows, &rules, draw(2) ? 0 : oracle.count);
    if (is_fine(encode_case_cut(&c))) check_chunks(&c, &oracle);
    if (c.state->chunks == oracle.count && is_fine(encode_case_measure(&c))) {
        check_measured(&c, &oracle);
        encode_case_lay_out(&c, draw(2) ? 0 : 64 * draw(1000));
        if (is_fine(encode_case_sections(&c))) check_sections(&c, &oracle);
        if (is_fine(encode_case_facts(&c))) check_facts(&c, &oracle);
    }
    encode_case_free(&c);
    encode_oracle_close(&oracle);
}

static void check_random_rows(void) {
    const uint32_t counts[] = {0, 1, 2, 255, 256, 257, 1023, 1024, 1025};
    for (uint32_t i = 0; i < check_scaled(150); i++) {
        uint32_t rows = draw(4) == 0 ? counts[draw(9)] : draw(3) ? draw(400) : draw(MOST_ROWS);
        encode_rows made = draw_rows(rows, (int)draw(2));
        check_one(&made);
    }
    printf("chunks: %u of first lists, %u later, %u units; %u moved; %u text, %u not; %u null\n",
           seen_first, seen_later, seen_units, seen_moved, seen_text, seen_not_text, seen_no_row);
    if (check_scale() >= 1)
        CHECK(seen_first > 100 && seen_later > 100 && seen_units > 100 && seen_moved > 10 &&
              seen_text > 100 && seen_not_text > 100 && seen_no_row > 0);
}

/* ---------------------------------------------------------------- many rows */

/* Chunks and units that end by their rows, and places that no window holds. The cut alone. */
static void check_many_rows(void) {
    const uint64_t rows = 9 << 20;
    uint64_t *offsets = (uint64_t *)malloc((rows + 1) * 8);
    uint64_t by_rows = 0;
    for (uint32_t kind = 0; kind < 6; kind++) {
        encode_rows made = {};
        uint64_t at = 0;
        for (uint64_t i = 0; i <= rows; i++) {
            offsets[i] = at;
            at += kind == 0 ? 0 : kind == 1 ? i % 3 : kind == 2 ? i / (1 << 20) % 2 * 40 : draw(20);
            if (kind == 5 && draw(400000) == 0) at += 6000000;
        }
        made.offsets = offsets, made.offset_bits = 64, made.rows = rows;
        if (kind == 4) made.rows = (4 << 20) + draw(3) - 1;
        encode_oracle_rules rules = {8 << 20, 8 << 20, 32 << 20, 1, 0, 0};
        if (kind == 3) rules.chunk_bytes = 1 << 20;
        fastpair_rows view = rows_view(&made);
        uint8_t *bytes = (uint8_t *)calloc(offsets[rows] + 1, 1);
        view.bytes = bytes; /* the kernel does not look at them */
        encode_oracle oracle = encode_oracle_cut(&view, &rules);
        free(bytes);
        encode_case c;
        emulator_reset(check_random(&random_state));
        encode_case_make(&c, &made, &rules, 40000);
        c.launch.input.bytes_size = offsets[made.rows];
        c.launch.scratch.most_segments = 1ull << 60;
        c.state->text_bytes = offsets[made.rows];
        is_fine(encode_case_chunks(&c));
        check_chunks(&c, &oracle);
        for (uint64_t i = 0; i < oracle.count; i++) by_rows += oracle.chunks[i].rows == 1 << 20;
        encode_oracle_close(&oracle);
        encode_case_free(&c);
    }
    CHECK(by_rows > 8);
    free(offsets);
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 22;
    printf("seed %llu\n", (unsigned long long)random_state);
    check_random_rows();
    check_many_rows();
    return check_done();
}
