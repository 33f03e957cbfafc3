/* test_kernel_rows.cc - row offsets made by the kernel, in the emulator, against plain sums; and row-length
 * sections that lie. Sections are laid out here after docs/format.md, without the library's help. */
#include "check.h"
#include "kernel_case.h"

static uint64_t random_state;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

typedef struct rows_case {
    device memory;
    fp_gpu_chunk *chunks;
    uint32_t chunk_count;
    uint8_t *sections[4];
    uint64_t slots; /* entries of row_offsets */
    uint64_t *expected;
    uint8_t *offsets;
    uint32_t *status;
    emulated_parameters parameters;
    uint32_t blocks; /* of 256 rows in the largest chunk */
} rows_case;

/* Lengths of a chunk's rows: often equal, sometimes huge, with empty ones. */
static void draw_lengths(uint32_t *lengths, uint32_t rows) {
    uint32_t kind = draw(5);
    for (uint32_t i = 0; i < rows; i++) {
        switch (kind) {
        case 0: lengths[i] = 15; break;
        case 1: lengths[i] = draw(44); break;
        case 2: lengths[i] = 0; break;
        case 3: lengths[i] = draw(200) ? draw(5) : draw(1u << 20); break;
        default: lengths[i] = 100 + draw(1u << draw(12)); break;
        }
    }
    if (kind == 3 && draw(2)) lengths[draw(rows)] = 0xf0000000u; /* a width of 32 bits */
}

/* `wraps`: minimums so large that a minimum and what is packed add up to the length only modulo 2^32. */
static uint32_t put_section(const uint32_t *lengths, uint32_t rows, int wraps, uint8_t *section) {
    uint32_t blocks = (rows + 255) / 256, begin = 0, packed = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t first = 256 * b, count = rows - first < 256 ? rows - first : 256;
        uint32_t least = lengths[first], most = 0, width = 0;
        for (uint32_t i = first; i < first + count; i++)
            least = lengths[i] < least ? lengths[i] : least;
        for (uint32_t i = first; i < first + count; i++)
            most = lengths[i] - least > most ? lengths[i] - least : most;
        while (width < 32 && most >> width) width++;
        if (wraps) least = 0xffffffffu, width = 32;
        const uint32_t entry[4] = {begin, packed, least, width};
        memcpy(section + 16 * b, entry, 16);
        uint8_t *to = section + 16 * blocks + packed;
        memset(to, 0, (count * width + 31) / 32 * 4);
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t k = 0; k < width; k++) {
                uint32_t bit = i * width + k;
                to[bit / 8] |= (uint8_t)(((lengths[first + i] - least) >> k & 1) << bit % 8);
            }
            begin += lengths[first + i];
        }
        packed += (count * width + 31) / 32 * 4;
    }
    return 16 * blocks + packed;
}

/* Three chunks, in one column or in three. Lengths wrap in chunk `wraps`, if there is one. */
static void make(rows_case *c, uint32_t offset_bits, uint32_t single_column, uint32_t wraps) {
    static uint8_t section[1 << 16];
    static uint32_t lengths[2000];
    memset(c, 0, sizeof *c);
    emulator_reset(check_random(&random_state));
    c->chunk_count = 3;
    c->chunks = (fp_gpu_chunk *)(void *)device_block(&c->memory, c->chunk_count * sizeof *c->chunks,
                                                     0, EMULATOR_READ, "chunk table");
    memset(c->chunks, 0, c->chunk_count * sizeof *c->chunks);
    c->expected = (uint64_t *)calloc(3 * 2001, sizeof *c->expected);
    if (!c->expected) abort();
    uint64_t column = 0;
    for (uint32_t i = 0; i < c->chunk_count; i++) {
        const uint32_t row_counts[] = {1, 255, 256, 257, 1 + draw(1000), 512};
        uint32_t rows = row_counts[draw(6)];
        fp_gpu_chunk *chunk = &c->chunks[i];
        draw_lengths(lengths, rows);
        chunk->lengths_bytes = put_section(lengths, rows, i == wraps, section);
        c->sections[i] =
            device_block(&c->memory, chunk->lengths_bytes, 0, EMULATOR_READ, "row lengths");
        memcpy(c->sections[i], section, chunk->lengths_bytes);
        chunk->lengths = (uint64_t)(uintptr_t)c->sections[i];
        chunk->row_count = rows;
        chunk->first_row_slot = c->slots;
        chunk->column_offset = column;
        chunk->last_in_column = !single_column || i + 1 == c->chunk_count;
        for (uint32_t r = 0; r < rows; r++) {
            c->expected[c->slots++] = column;
            column += lengths[r];
        }
        chunk->decoded_bytes = (uint32_t)(column - chunk->column_offset);
        if (chunk->last_in_column) {
            c->expected[c->slots++] = column;
            column = 0;
        }
        if ((rows + 255) / 256 > c->blocks) c->blocks = (rows + 255) / 256;
    }
    c->offsets =
        device_block(&c->memory, c->slots * offset_bits / 8, 0, EMULATOR_WRITE_ONCE, "row offsets");
    c->status = (uint32_t *)(void *)device_block(&c->memory, 4, 0, EMULATOR_WRITE, "status");
    *c->status = 0;
    c->parameters.launch.chunks = (uint64_t)(uintptr_t)c->chunks;
    c->parameters.launch.row_offsets = (uint64_t)(uintptr_t)c->offsets;
    c->parameters.launch.offset_bits = offset_bits;
    c->parameters.launch.status = (uint64_t)(uintptr_t)c->status;
}

static void release(rows_case *c) {
    free(c->expected);
    device_free(&c->memory);
}

static const char *run(const rows_case *c) {
    uint32_t warps = EMULATED_HELPER_THREADS / 32;
    return emulator_run(emulated_row_offsets, &c->parameters, EMULATED_HELPER_THREADS,
                        (c->blocks + warps - 1) / warps + draw(2), c->chunk_count, 0);
}

/* How many of the offsets first .. first + count are right. */
static uint64_t right_offsets(const rows_case *c, uint32_t offset_bits, uint64_t first,
                              uint64_t count) {
    uint64_t right = 0;
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t value = 0;
        memcpy(&value, c->offsets + i * offset_bits / 8, offset_bits / 8);
        right += value == (offset_bits == 32 ? (uint32_t)c->expected[i] : c->expected[i]);
    }
    return right;
}

static void check_good(void) {
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t offset_bits = i % 2 ? 32 : 64;
        rows_case c;
        make(&c, offset_bits, draw(2), 3);
        const char *error = run(&c);
        CHECK(!error);
        if (error) fprintf(stderr, "  %s\n", error);
        CHECK_EQ(*c.status, 0);
        CHECK_EQ(right_offsets(&c, offset_bits, 0, c.slots), c.slots);
        CHECK_EQ(emulator_bytes_written(), c.slots * offset_bits / 8);
        release(&c);
    }
}

/* Spoils one field of one directory entry, or the sizes; the other chunks must not suffer. */
static void check_lies(void) {
    for (uint32_t i = 0; i < 260; i++) {
        rows_case c;
        uint32_t victim = draw(3), kind = i % 13;
        make(&c, 64, 0, kind == 12 ? victim : 3);
        uint32_t blocks = (uint32_t)(c.chunks[victim].row_count + 255) / 256, block = draw(blocks);
        uint32_t *entry = (uint32_t *)(void *)(c.sections[victim] + 16 * block);
        uint32_t rows =
            block + 1 < blocks ? 256 : (uint32_t)c.chunks[victim].row_count - 256 * block;
        switch (kind) {
        case 0: entry[0] += 1 + draw(100); break; /* begin */
        case 1:
            entry[1] = (uint32_t)c.chunks[victim].lengths_bytes & ~3u;
            break;                                                    /* packed, at the end */
        case 2: entry[1] = 0xfffffffcu; break;                        /* packed, far outside */
        case 3: entry[1] |= 2; break;                                 /* packed, misaligned */
        case 4: entry[2] += 1 + draw(100); break;                     /* minimum */
        case 5: entry[2] = 0xffffffffu; break;                        /* minimum, sums overflow */
        case 6: entry[3] = 33 + draw(222); break;                     /* width */
        case 7: entry[3] = 32; break;                                 /* width, often outside */
        case 8: c.chunks[victim].decoded_bytes += 1 + draw(9); break; /* sum */
        case 9:
            c.chunks[victim].lengths_bytes = 16 * blocks - 1 - draw(16);
            break; /* no whole directory */
        case 11:   /* everything later than it is, and consistent */
            for (uint32_t k = 0; k < blocks; k++)
                ((uint32_t *)(void *)c.sections[victim])[4 * k] += 7;
            c.chunks[victim].decoded_bytes += 7;
            break;
        case 12: break; /* wraps */
        default:        /* lengths grown so that the sum is right modulo 2^32, and wrong */
            entry[2] += 0x80000000u;
            if (rows % 2) c.chunks[victim].decoded_bytes += rows > 1 ? 0x80000000u : 0;
            break;
        }
        const char *error = run(&c);
        CHECK(!error);
        if (error) fprintf(stderr, "  lie %u: %s\n", kind, error);
        bool same = kind == 7 && *c.status == 0 &&
                    right_offsets(&c, 64, 0, c.slots) == c.slots; /* 32 it was */
        if (!same) {
            CHECK_EQ(*c.status, FP_GPU_BAD_LENGTHS);
            if (*c.status != FP_GPU_BAD_LENGTHS) fprintf(stderr, "  lie %u was not found\n", kind);
        }
        for (uint32_t k = 0; k < 3; k++)
            if (k != victim)
                CHECK_EQ(
                    right_offsets(&c, 64, c.chunks[k].first_row_slot, c.chunks[k].row_count + 1),
                    c.chunks[k].row_count + 1);
        release(&c);
    }
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 77;
    printf("seed %llu\n", (unsigned long long)random_state);
    check_good();
    check_lies();
    return check_done();
}
