/* test_kernel_rows.cc - row offsets made by the kernel, in the emulator, against plain sums: every
 * width, every alignment of the output, counts of rows around the kernel's blocks; and row-length
 * sections that lie. Sections are laid out here after docs/format.md, without the
 * library's help. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "check.h"
#include "device_memory.h"
#include "emulated_table.h"

enum { CHUNKS = 3, MOST_ROWS = 12000, ANY_WIDTH = 33 };

static uint64_t random_state;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

/* Three chunks, in one column or in three, in one launch. */
typedef struct rows_case {
    device memory;
    fp_gpu_offsets entry[CHUNKS]; /* not one more, as kernels get no more */
    uint8_t *sections[CHUNKS];
    uint32_t *status[CHUNKS]; /* of the chunk's column */
    uint64_t expected[CHUNKS][MOST_ROWS + 1];
    uint64_t offsets; /* that are to be written */
    uint32_t blocks;  /* of 256 rows in the largest chunk */
} rows_case;

/* One column; or three, each with a status word of its own, or all with the same word. */
typedef enum rows_columns { ONE_COLUMN, OWN_STATUS, ONE_STATUS, WAYS } rows_columns;

/* Lengths of a block that need `width` bits above their minimum; fewer if a chunk has not so many
 * bytes left. */
static void draw_block(uint32_t *lengths, uint32_t count, uint32_t width, uint64_t *left) {
    uint32_t minimum = draw(50);
    if (width > 16 && (1ull << (width - 1)) + 256 * 320 > *left) width = draw(9);
    uint32_t most = width > 16 ? 1u << (width - 1) : (1u << width) - 1;
    uint32_t bound = width > 16 ? 256 : most + 1;
    for (uint32_t i = 0; i < count; i++) lengths[i] = minimum + draw(bound);
    lengths[0] = minimum + most;
    lengths[count - 1] = minimum;
    for (uint32_t i = count - 1; i > 0; i--) { /* in any order */
        uint32_t k = draw(i + 1), length = lengths[i];
        lengths[i] = lengths[k], lengths[k] = length;
    }
    for (uint32_t i = 0; i < count; i++) *left -= lengths[i];
}

/* Lengths of a chunk's rows: of one width, if it is not ANY_WIDTH; else often equal, sometimes huge,
 * with empty rows, or with a width per block, so that blocks that a warp takes together differ. */
static void draw_lengths(uint32_t *lengths, uint32_t rows, uint32_t width) {
    uint32_t kind = draw(7);
    uint64_t left = 0xffffffffu;
    if (kind > 4 || width != ANY_WIDTH) {
        uint32_t bound = draw(2) ? 9 : draw(2) ? 17 : 33;
        for (uint32_t first = 0; first < rows; first += 256)
            draw_block(lengths + first, rows - first < 256 ? rows - first : 256,
                       width == ANY_WIDTH ? draw(bound) : width, &left);
        return;
    }
    for (uint32_t i = 0; i < rows; i++) {
        switch (kind) {
        case 0: lengths[i] = 15; break;
        case 1: lengths[i] = draw(44); break;
        case 2: lengths[i] = 0; break;
        case 3: lengths[i] = draw(200) ? draw(5) : draw(1u << 18); break;
        default: lengths[i] = 100 + draw(1u << draw(12)); break;
        }
    }
    if (kind == 3 && draw(2)) lengths[draw(rows)] = 0xf0000000u; /* a width of 32 bits */
}

/* How a section is laid out: as writers do; with minimums so large that a minimum and what is packed
 * add up to the length only modulo 2^32; with 32 bits per number, or with more. */
typedef enum rows_layout { AS_WRITERS, WRAPS, WIDE, TOO_WIDE } rows_layout;

/* Bits after a block's last number are drawn: kernels do not look at them. */
static uint32_t put_section(const uint32_t *lengths, uint32_t rows, rows_layout layout,
                            uint8_t *section) {
    uint32_t blocks = (rows + 255) / 256, begin = 0, packed = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t first = 256 * b, count = rows - first < 256 ? rows - first : 256;
        uint32_t least = lengths[first], most = 0, width = 0;
        for (uint32_t i = first; i < first + count; i++)
            least = lengths[i] < least ? lengths[i] : least;
        for (uint32_t i = first; i < first + count; i++)
            most = lengths[i] - least > most ? lengths[i] - least : most;
        while (width < 32 && most >> width) width++;
        if (layout == WRAPS) least = 0xffffffffu;
        if (layout != AS_WRITERS) width = layout == TOO_WIDE ? 33 + draw(8) : 32;
        const uint32_t entry[4] = {begin, packed, least, width};
        memcpy(section + 16 * b, entry, 16);
        uint8_t *to = section + 16 * blocks + packed;
        memset(to, draw(2) ? 0xff : 0, (count * width + 31) / 32 * 4);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t above = lengths[first + i] - least;
            for (uint32_t k = 0; k < width; k++) {
                uint32_t bit = i * width + k;
                to[bit / 8] &= (uint8_t) ~(1u << bit % 8);
                to[bit / 8] |= (uint8_t)((above >> k & 1) << bit % 8);
            }
            begin += lengths[first + i];
        }
        packed += (count * width + 31) / 32 * 4;
    }
    return 16 * blocks + packed;
}

/* Offsets and status words: one column has its chunks' offsets one after the other. */
static void lay_out_outputs(rows_case *c, uint32_t offset_bits, rows_columns columns) {
    uint32_t width = offset_bits / 8;
    uint8_t *next = NULL, *status = NULL;
    uint64_t all = 1;
    for (const fp_gpu_offsets &entry : c->entry) all += entry.rows;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        uint64_t own = columns == ONE_COLUMN ? all : c->entry[i].rows + 1;
        if (i == 0 || columns != ONE_COLUMN)
            next = device_block(&c->memory, own * width, width * draw(9), EMULATOR_WRITE_ONCE,
                                "row offsets");
        if (i == 0 || columns == OWN_STATUS)
            status = device_block(&c->memory, 4, 4, EMULATOR_WRITE, "status");
        c->entry[i].out = device_address(next);
        c->entry[i].offset_bits = offset_bits;
        c->entry[i].status = device_address(status);
        c->status[i] = (uint32_t *)(void *)status;
        *c->status[i] = 0;
        next += width * (uint64_t)c->entry[i].rows;
        c->offsets += c->entry[i].rows + c->entry[i].closes_column;
    }
}

/* How a case is to be: `victim`, if there is such a chunk, is laid out as `layout` says. */
typedef struct rows_wanted {
    uint32_t offset_bits;
    rows_columns columns;
    uint32_t width, victim;
    rows_layout layout;
} rows_wanted;

static rows_wanted any_case(uint32_t offset_bits) {
    return rows_wanted{offset_bits, (rows_columns)draw(WAYS), ANY_WIDTH, CHUNKS, AS_WRITERS};
}

static void make(rows_case *c, rows_wanted wanted) {
    static uint8_t section[1 << 16];
    static uint32_t lengths[MOST_ROWS];
    memset(c, 0, sizeof *c);
    emulator_reset(check_random(&random_state));
    uint64_t at = 0;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        const uint32_t row_counts[] = {1, 255, 256, 257, 1 + draw(1000), 512, 1023 + draw(3)};
        uint32_t rows = draw(40) ? row_counts[draw(7)] : 1 + draw(MOST_ROWS);
        fp_gpu_offsets *entry = &c->entry[i];
        draw_lengths(lengths, rows, wanted.width);
        entry->lengths_bytes =
            put_section(lengths, rows, i == wanted.victim ? wanted.layout : AS_WRITERS, section);
        c->sections[i] = device_copy(&c->memory, section, entry->lengths_bytes, "row lengths");
        entry->lengths = device_address(c->sections[i]);
        entry->rows = rows;
        entry->first_byte = at;
        entry->closes_column = wanted.columns != ONE_COLUMN || i + 1 == CHUNKS;
        for (uint32_t r = 0; r < rows; r++) {
            c->expected[i][r] = at;
            at += lengths[r];
        }
        c->expected[i][rows] = at;
        entry->decoded_bytes = (uint32_t)(at - entry->first_byte);
        if (entry->closes_column) at = 0;
        if ((rows + 255) / 256 > c->blocks) c->blocks = (rows + 255) / 256;
    }
    lay_out_outputs(c, wanted.offset_bits, wanted.columns);
}

static const char *run(const rows_case *c) {
    uint32_t each = FP_GPU_HELPER_THREADS / 32 * FP_GPU_LENGTH_BLOCKS;
    return emulator_run(emulated_row_offsets, c->entry, FP_GPU_HELPER_THREADS,
                        (c->blocks + each - 1) / each + draw(2), CHUNKS, 0);
}

/* How many of a chunk's offsets are wrong. */
static uint32_t wrong_offsets(const rows_case *c, uint32_t chunk) {
    const fp_gpu_offsets *entry = &c->entry[chunk];
    uint32_t wrong = 0, width = entry->offset_bits / 8;
    for (uint32_t i = 0; i < entry->rows + entry->closes_column; i++) {
        uint64_t value = 0, expected = c->expected[chunk][i];
        memcpy(&value, (const uint8_t *)(uintptr_t)entry->out + (uint64_t)i * width, width);
        wrong += value != (width == 4 ? (uint32_t)expected : expected);
    }
    return wrong;
}

/* Every offset is right and written once, and nothing else is. */
static void check_right(const rows_case *c) {
    const char *error = run(c);
    CHECK(!error);
    if (error) fprintf(stderr, "  %s\n", error);
    for (uint32_t k = 0; k < CHUNKS; k++) {
        CHECK_EQ(*c->status[k], 0);
        CHECK_EQ(wrong_offsets(c, k), 0);
    }
    CHECK_EQ(emulator_bytes_written(), c->offsets * c->entry[0].offset_bits / 8);
}

static void check_good(void) {
    for (uint32_t i = 0; i < 120; i++) {
        rows_case c;
        make(&c, any_case(i % 2 ? 32 : 64));
        check_right(&c);
        device_free(&c.memory);
    }
}

/* Each width, and whole blocks at each of the four places that a row may have in 16 bytes. */
static void check_widths(void) {
    uint32_t widths[33] = {0}, places[4] = {0};
    for (uint32_t i = 0; i < 33 * 6; i++) {
        rows_case c;
        rows_wanted wanted = any_case(i / 33 % 3 ? 32 : 64);
        wanted.width = i % 33;
        make(&c, wanted);
        check_right(&c);
        for (uint32_t k = 0; k < CHUNKS; k++) {
            const fp_gpu_offsets *entry = &c.entry[k];
            if (entry->rows >= 256) widths[c.sections[k][12]]++;
            if (entry->rows >= 256 && entry->offset_bits == 32) places[entry->out / 4 % 4]++;
        }
        device_free(&c.memory);
    }
    for (uint32_t times : widths) CHECK(times > 0);
    for (uint32_t times : places) CHECK(times > 4);
}

/* Adds 2^31 to what is packed for a row of a section with 32-bit numbers. */
static void add_half(const rows_case *c, uint32_t victim, uint32_t row) {
    uint32_t blocks = (c->entry[victim].rows + 255) / 256;
    c->sections[victim][16 * blocks + 4 * row + 3] ^= 0x80;
}

/* Spoils one field of one directory entry of a chunk, or the chunk's sizes. */
static void tell_lie(rows_case *c, uint32_t victim, uint32_t kind) {
    fp_gpu_offsets *chunk = &c->entry[victim];
    uint32_t blocks = (chunk->rows + 255) / 256, block = draw(blocks);
    uint32_t *entry = (uint32_t *)(void *)(c->sections[victim] + 16 * block);
    uint32_t rows = block + 1 < blocks ? 256 : chunk->rows - 256 * block;
    const uint32_t far[] = {0, 4 + draw(100), 128 + draw(127)};
    uint32_t least_rows = chunk->rows < 256 ? chunk->rows : 256; /* of block 0 */
    switch (kind) {
    case 0: entry[0] += 1 + draw(100); break;                         /* begin */
    case 1: entry[1] = (uint32_t)chunk->lengths_bytes & ~3u; break;   /* packed, at the end */
    case 2: entry[1] = 0xfffffffcu; break;                            /* packed, far outside */
    case 3: entry[1] |= 2; break;                                     /* packed, misaligned */
    case 4: entry[2] += 1 + draw(100); break;                         /* minimum */
    case 5: entry[2] = 0xffffffffu; break;                            /* minimum, sums overflow */
    case 6: entry[3] = 33 + draw(222); break;                         /* width */
    case 7: entry[3] = 32; break;                                     /* width, often outside */
    case 8: chunk->decoded_bytes += 1 + draw(9); break;               /* sum */
    case 9: chunk->lengths_bytes = 16 * blocks - 1 - draw(16); break; /* no whole directory */
    case 11: /* everything later than it is, and consistent */
        for (uint32_t k = 0; k < blocks; k++) ((uint32_t *)(void *)c->sections[victim])[4 * k] += 7;
        chunk->decoded_bytes += 7;
        break;
    case 12:
    case 13: break; /* lengths that wrap, or too many bits, were laid out */
    case 14:        /* 2^32 more in the sum of 32-bit numbers: in one lane, in two, in two halves */
        add_half(c, victim, 0), add_half(c, victim, 1 + far[draw(3)] % (least_rows - 1));
        break;
    default: /* lengths grown so that the sum is right modulo 2^32, and wrong */
        entry[2] += 0x80000000u;
        if (rows % 2) chunk->decoded_bytes += rows > 1 ? 0x80000000u : 0;
        break;
    }
}

/* A lie is reported in the status word of its column alone, and the other chunks do not suffer. */
static void check_lies(void) {
    for (uint32_t i = 0; i < 600; i++) {
        rows_case c;
        uint32_t kind = i % 15;
        rows_wanted wanted = any_case(draw(2) ? 32 : 64);
        wanted.columns = draw(3) ? OWN_STATUS : ONE_STATUS;
        uint32_t victim = wanted.victim = draw(CHUNKS);
        if (kind > 11) wanted.layout = kind == 12 ? WRAPS : kind == 13 ? TOO_WIDE : WIDE;
        if (kind == 14) wanted.width = draw(9);
        make(&c, wanted);
        if (kind == 14 && c.entry[victim].rows == 1) {
            device_free(&c.memory);
            continue;
        }
        tell_lie(&c, victim, kind);
        const char *error = run(&c);
        CHECK(!error);
        if (error) fprintf(stderr, "  lie %u: %s\n", kind, error);
        /* A width of 32 bits may be what it was. */
        bool same = kind == 7 && *c.status[victim] == 0 && wrong_offsets(&c, victim) == 0;
        if (!same) CHECK_EQ(*c.status[victim], FP_GPU_BAD_LENGTHS);
        if (!same && !*c.status[victim]) fprintf(stderr, "  lie %u was not found\n", kind);
        if (!same) CHECK(emulator_bytes_written() < c.offsets * c.entry[0].offset_bits / 8);
        for (uint32_t k = 0; k < CHUNKS; k++) {
            if (k == victim) continue;
            CHECK_EQ(wrong_offsets(&c, k), 0);
            if (wanted.columns == OWN_STATUS) CHECK_EQ(*c.status[k], 0);
        }
        device_free(&c.memory);
    }
}

/* A block that ends before it begins, or after its chunk, with lengths that add up modulo 2^32: it is
 * not written, and the other blocks are. */
static void check_going_back(void) {
    for (uint32_t i = 0; i < 40;) {
        rows_case c;
        make(&c, rows_wanted{draw(2) ? 32u : 64u, OWN_STATUS, 6, CHUNKS, AS_WRITERS});
        const fp_gpu_offsets *chunk = &c.entry[0];
        if (chunk->rows >= 1024) {
            uint32_t(*entry)[4] = (uint32_t(*)[4])(void *)c.sections[0];
            int beyond = i++ % 2;
            uint32_t end = beyond ? chunk->decoded_bytes : entry[2][0];
            uint32_t more = (end - entry[1][0]) / 256 + 1; /* per row */
            entry[0][2] += more;
            entry[1][0] += 256 * more;
            entry[1][2] += (1u << 24) - more;
            CHECK(!run(&c));
            CHECK_EQ(*c.status[0], FP_GPU_BAD_LENGTHS);
            CHECK_EQ(emulator_bytes_written(),
                     (c.offsets - (beyond ? 512 : 256)) * (chunk->offset_bits / 8));
        }
        device_free(&c.memory);
    }
}

/* The status word is optional. */
static void check_no_status(void) {
    rows_case c;
    make(&c, rows_wanted{32, OWN_STATUS, ANY_WIDTH, 1, WRAPS});
    c.entry[1].status = 0;
    CHECK(!run(&c));
    for (uint32_t k = 0; k < CHUNKS; k++) CHECK_EQ(*c.status[k], 0);
    CHECK_EQ(wrong_offsets(&c, 0) + wrong_offsets(&c, 2), 0);
    device_free(&c.memory);
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 77;
    printf("seed %llu\n", (unsigned long long)random_state);
    check_good();
    check_widths();
    check_lies();
    check_going_back();
    check_no_status();
    return check_done();
}
