/* test_lengths.c - row lengths: what is written comes back, altered sections are noticed or
 * harmless. */
#include "check.h"
#include "guard.h"
#include "lengths.h"

/* Makes `rows` row offsets whose lengths have at most `width` bits above `minimum`; the sum stays
 * below 2^32. */
static void make_offsets(uint64_t *offsets, uint64_t rows, uint64_t minimum, uint32_t width,
                         uint64_t *random) {
    uint64_t budget = UINT32_MAX;
    offsets[0] = check_random(random) % 1000; /* any base */
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t length = minimum + (width ? check_random(random) >> (64 - width) : 0);
        if (length > budget) length = budget;
        budget -= length;
        offsets[i + 1] = offsets[i] + length;
    }
}

/* 1 if every block of the section gives the row starts of `offsets`. */
static int same_starts(const uint8_t *section, uint64_t size, const uint64_t *offsets,
                       uint64_t rows) {
    uint64_t starts[FP_LENGTH_BLOCK + 1], start;
    for (uint64_t first = 0; first < rows; first += FP_LENGTH_BLOCK) {
        uint64_t expected = rows - first < FP_LENGTH_BLOCK ? rows - first : FP_LENGTH_BLOCK;
        uint32_t count = fp_lengths_block(section, size, rows, first / FP_LENGTH_BLOCK, starts);
        if (count != expected) return 0;
        for (uint32_t i = 0; i <= count; i++)
            if (starts[i] != offsets[first + i] - offsets[0]) return 0;
        for (uint32_t i = 0; i < count; i++)
            if (fp_lengths_row(section, size, rows, first + i, NULL) != starts[i + 1] - starts[i] ||
                fp_lengths_row(section, size, rows, first + i, &start) !=
                    starts[i + 1] - starts[i] ||
                start != starts[i])
                return 0;
    }
    return 1;
}

/* The size the format asks for when every width is as small as it can be. */
static uint64_t narrowest(const uint64_t *offsets, uint64_t rows) {
    uint64_t size = 0;
    for (uint64_t first = 0; first < rows; first += 256) {
        uint64_t count = rows - first < 256 ? rows - first : 256, least = UINT64_MAX, most = 0,
                 width = 0;
        for (uint64_t i = first; i < first + count; i++) {
            uint64_t length = offsets[i + 1] - offsets[i];
            least = length < least ? length : least;
            most = length > most ? length : most;
        }
        while ((most - least) >> width) width++;
        size += 16 + (count * width + 31) / 32 * 4;
    }
    return size;
}

static void round_trip(uint64_t rows, uint64_t minimum, uint32_t width, uint64_t *random) {
    uint64_t *offsets = malloc((rows + 1) * sizeof *offsets), where;
    make_offsets(offsets, rows, minimum, width, random);
    uint64_t size = fp_lengths_size(offsets, rows), decoded = offsets[rows] - offsets[0];
    guard section = guard_make(size);
    fp_lengths_write(offsets, rows, section.data);
    CHECK(same_starts(section.data, size, offsets, rows));
    CHECK(fp_lengths_check(section.data, size, rows, decoded, &where) == NULL);
    CHECK_EQ(size, narrowest(offsets, rows));
    CHECK(fp_lengths_check(section.data, size, rows, decoded + 1, &where) != NULL);
    if (decoded) CHECK(fp_lengths_check(section.data, size, rows, decoded - 1, &where) != NULL);
    CHECK(guard_free(&section));
    free(offsets);
}

/* 1 if all blocks follow each other from 0 to `decoded`. */
static int consistent(const uint8_t *section, uint64_t size, uint64_t rows, uint64_t decoded) {
    uint64_t starts[FP_LENGTH_BLOCK + 1], at = 0;
    for (uint64_t b = 0; b * 256 < rows; b++) {
        uint32_t count = fp_lengths_block(section, size, rows, b, starts);
        if (count == UINT32_MAX || starts[0] != at) return 0;
        at = starts[count];
    }
    return at == decoded;
}

/* Alters every byte in turn. What passes the check must be as good as any other section: one byte
 * can hold two rows of which one gets shorter and the other longer. */
static void altered(uint64_t rows, uint32_t width, uint64_t *random) {
    uint64_t *offsets = malloc((rows + 1) * sizeof *offsets), where, refused = 0;
    make_offsets(offsets, rows, 3, width, random);
    uint64_t size = fp_lengths_size(offsets, rows), decoded = offsets[rows] - offsets[0];
    guard section = guard_make(size);
    fp_lengths_write(offsets, rows, section.data);
    for (uint64_t i = 0; i < size; i++) {
        uint8_t before = section.data[i];
        section.data[i] ^= (uint8_t)(1 + check_random(random) % 255);
        where = UINT64_MAX;
        const char *fault = fp_lengths_check(section.data, size, rows, decoded, &where);
        if (fault)
            refused++;
        else
            CHECK(consistent(section.data, size, rows, decoded));
        CHECK(!fault || where <= size);
        CHECK(fault || i >= (rows + 255) / 256 * 16 ||
              i % 16 == 12); /* directories tolerate nothing else */
        section.data[i] = before;
    }
    CHECK(refused * 10 >= size * 9);
    CHECK(fp_lengths_check(section.data, size, rows, decoded, &where) == NULL);
    /* Cut short, and one word too long. */
    for (uint64_t cut = 0; cut < size; cut++) {
        guard shorter = guard_make(cut);
        memcpy(shorter.data, section.data, cut);
        CHECK(fp_lengths_check(shorter.data, cut, rows, decoded, &where) != NULL);
        CHECK(guard_free(&shorter));
    }
    guard longer = guard_make(size + 4);
    memcpy(longer.data, section.data, size);
    memset(longer.data + size, 0, 4);
    CHECK(fp_lengths_check(longer.data, size + 4, rows, decoded, &where) != NULL);
    CHECK(guard_free(&longer));
    CHECK(guard_free(&section));
    free(offsets);
}

/* Random bytes as a section: no read outside, and what comes out keeps the promises of
 * lengths.h. */
static void garbage(uint64_t *random) {
    uint64_t rows = 1 + check_random(random) % 1500, blocks = (rows + 255) / 256;
    uint64_t size = blocks * 16 + check_random(random) % 600, starts[FP_LENGTH_BLOCK + 1], where;
    if (check_random(random) % 8 == 0) size = check_random(random) % (blocks * 16);
    guard section = guard_make(size);
    for (uint64_t i = 0; i < size; i++) section.data[i] = (uint8_t)check_random(random);
    for (uint64_t b = 0; b < blocks && (b + 1) * 16 <= size; b++) { /* plausible now and then */
        if (check_random(random) % 4)
            fp_store32(section.data + b * 16 + 4, (uint32_t)check_random(random) % 300);
        if (check_random(random) % 4) section.data[b * 16 + 12] %= 34;
    }
    for (uint64_t b = 0; b < blocks; b++) {
        uint32_t count = fp_lengths_block(section.data, size, rows, b, starts);
        uint64_t row =
            b * 256 + check_random(random) % (rows - b * 256 < 256 ? rows - b * 256 : 256);
        uint64_t start, one = fp_lengths_row(section.data, size, rows, row, NULL);
        CHECK_EQ(fp_lengths_row(section.data, size, rows, row, &start), one);
        if (count == UINT32_MAX) {
            CHECK_EQ(one, UINT64_MAX);
            continue;
        }
        /* From where the block begins, or from where the next one does. */
        uint64_t other = start;
        if (b + 1 < blocks)
            other = fp_load32(section.data + (b + 1) * 16) - (starts[count] - starts[row % 256]);
        CHECK(start == starts[row % 256] || start == other);
        CHECK(one == starts[row % 256 + 1] - starts[row % 256]);
        int rising = starts[0] <= UINT32_MAX && starts[count] - starts[0] < 1ull << 41;
        for (uint32_t i = 0; i < count; i++) rising &= starts[i] <= starts[i + 1];
        CHECK(rising);
    }
    fp_lengths_check(section.data, size, rows, check_random(random) >> 32, &where);
    CHECK(guard_free(&section));
}

int main(void) {
    uint64_t seed = 20241, random = seed;
    printf("seed %" PRIu64 "\n", seed);
    for (uint32_t width = 0; width <= 32; width++)
        for (int i = 0; i < 8; i++) {
            static const uint64_t rows[8] = {1, 2, 31, 255, 256, 257, 512, 1300};
            round_trip(rows[i], 0, width, &random);
            round_trip(rows[i], 7 + width, width, &random);
        }
    round_trip(0, 0, 0, &random);
    round_trip(2, UINT32_MAX, 0,
               &random); /* one row of 4 GiB less a byte, then none left: 32 bits wide */
    for (uint32_t width = 0; width <= 20; width += 3) {
        altered(1, width, &random);
        altered(300, width, &random);
        altered(512, width, &random);
    }
    for (int i = 0; i < 3000; i++) garbage(&random);
    return check_done();
}
