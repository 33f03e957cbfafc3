/* test_utf8.c - UTF-8 against the oracle's definition of it: every first and second byte, every
 * length, cut into pieces anywhere, and rows of a view. */
#include "check.h"
#include "oracle_parts.h"
#include "utf8.h"
#include "verify.h"

/* All sequences of up to three bytes that begin with interesting ones, and of four by their ends. */
static void all_short_texts(void) {
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
                                   0xbf, 0xc0, 0xc1, 0xc2, 0xe0, 0xff};
    uint64_t wrong = 0;
    for (uint32_t first = 0; first < 256; first++)
        for (uint32_t second = 0; second < 256; second++)
            for (uint32_t i = 0; i < sizeof ends * sizeof ends; i++) {
                uint8_t text[4] = {(uint8_t)first, (uint8_t)second, ends[i / sizeof ends],
                                   ends[i % sizeof ends]};
                for (uint64_t size = 0; size <= 4; size++)
                    wrong += (fp_utf8_fault(text, size) == UINT64_MAX) !=
                             (oracle_is_utf8(text, size) != 0);
            }
    CHECK_EQ(wrong, 0);
}

/* The fault is where a text stops being the beginning of one that is good. */
static void places(void) {
    CHECK_EQ(fp_utf8_fault((const uint8_t *)"caf\xc3\xa9", 5), UINT64_MAX);
    CHECK_EQ(fp_utf8_fault((const uint8_t *)"caf\xc3", 4), 4);
    CHECK_EQ(fp_utf8_fault((const uint8_t *)"caf\xe9!", 5), 4);
    CHECK_EQ(fp_utf8_fault((const uint8_t *)"abcdefgh\xff", 9), 8);
    CHECK_EQ(fp_utf8_fault((const uint8_t *)"\xed\xa0\x80", 3), 1);
}

/* Texts in pieces are judged as a whole. */
static void pieces(uint64_t *random) {
    static const char *const parts[] = {
        "a",    "plain text", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x92\xa9",
        "\x80", "\xc3",       "\xed\xa0"};
    uint64_t wrong = 0, bad_ones = 0;
    for (int i = 0; i < 4000; i++) {
        uint8_t text[200];
        uint64_t size = 0, bad = check_random(random) % 4 == 0;
        for (int k = 0; k < 12; k++) {
            const char *part = parts[check_random(random) % (bad ? 8 : 5)];
            memcpy(text + size, part, strlen(part));
            size += strlen(part);
        }
        fp_utf8 state = {{0}};
        uint64_t at = 0, good = 1;
        while (at < size && good) {
            uint64_t piece = check_random(random) % 9;
            if (piece > size - at) piece = size - at;
            good = fp_utf8_take(&state, text + at, piece) == piece;
            at += piece;
        }
        int expected = oracle_is_utf8(text, size);
        wrong += (good && fp_utf8_is_whole(&state)) != (expected != 0);
        bad_ones += !expected;
        int ascii = 1;
        for (uint64_t k = 0; k < size; k++) ascii &= text[k] < 128;
        wrong += fp_is_ascii(text, size) != ascii;
    }
    CHECK_EQ(wrong, 0);
    CHECK(bad_ones > 100);
}

/* One bad row among many, in each place, with both widths of offsets; null rows may be bad. */
static void bad_rows(void) {
    enum { ROWS = 300 };
    uint64_t wide[ROWS + 1];
    uint32_t narrow[ROWS + 1];
    uint8_t bytes[ROWS * 3], validity[ROWS / 8 + 1];
    for (uint32_t i = 0; i <= ROWS; i++) wide[i] = 3ull * i, narrow[i] = 3 * i;
    for (uint32_t bad = 0; bad < ROWS; bad++) {
        for (uint32_t i = 0; i < ROWS; i++) memcpy(bytes + 3ull * i, "\xe2\x82\xac", 3);
        bytes[3 * bad + 2] = 'x';
        fastpair_rows rows = view_rows(ROWS, bytes, wide);
        uint64_t byte = 0;
        CHECK_EQ(fp_rows_not_text(&rows, &byte), bad);
        CHECK_EQ(byte, 2);
        rows.offsets = narrow, rows.offset_bits = 32;
        CHECK_EQ(fp_rows_not_text(&rows, &byte), bad);
        memset(validity, 255, sizeof validity);
        validity[bad / 8] = (uint8_t) ~(1u << bad % 8);
        rows.validity = validity;
        CHECK_EQ(fp_rows_not_text(&rows, &byte), ROWS);
    }
    /* A character must not go on in the next row. */
    uint64_t two[3] = {0, 1, 2};
    fastpair_rows rows = view_rows(2, (const uint8_t *)"\xc3\xa9", two);
    uint64_t byte = 0;
    CHECK_EQ(fp_rows_not_text(&rows, &byte), 0);
    CHECK_EQ(byte, 1);
}

/* Every level judges as one byte after the other does, at every size and place, also where only the
 * byte before the first decides. */
static void levels(uint64_t *random) {
    static const char *const parts[] = {"\xc3\xa9",     "\xe2\x82\xac", "\xf0\x9f\x92\xa9",
                                        "\xe0\xa4\x85", "\xed\x95\x9c", "\xf4\x8f\xbf\xbf"};
    uint64_t wrong = 0, bad_ones = 0, good_ones = 0;
    for (uint32_t i = 0; i < check_scaled(20000); i++) {
        uint8_t text[1500];
        uint64_t size = 0, first = 3 + check_random(random) % 70;
        uint64_t dense = check_random(random) % 4;
        while (size < 1400) {
            if (check_random(random) % 4 >= dense) {
                uint64_t plain = check_random(random) % (dense ? 9 : 500);
                for (; plain && size < 1400; plain--) text[size++] = 'a';
            } else {
                const char *part = parts[check_random(random) % 6];
                memcpy(text + size, part, strlen(part));
                size += strlen(part);
            }
        }
        uint64_t count = check_random(random) % (size - first - 4);
        if (i % 3) { /* one byte anywhere in it, or near an end */
            uint64_t at = i % 3 == 1 ? check_random(random) % (count + 1)
                                     : (count < 4 ? 0 : count - check_random(random) % 4);
            text[first + at] = (uint8_t)check_random(random);
        }
        uint32_t expected = 0;
        for (uint64_t k = first; k < first + count; k++) {
            if (fp_utf8_is_fault(text[k], text[k - 1], text[k - 2], text[k - 3]))
                expected |= FP_UTF8_WRONG;
            if (text[k] > 127) expected |= FP_UTF8_HIGH;
        }
        bad_ones += expected & FP_UTF8_WRONG;
        good_ones += !(expected & FP_UTF8_WRONG);
        for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++) {
            uint32_t got = fp_utf8_judge((fastpair_cpu_level)level, text + first, count);
            wrong += (got & FP_UTF8_WRONG) != (expected & FP_UTF8_WRONG);
            wrong += (expected & FP_UTF8_HIGH) && !(got & FP_UTF8_HIGH);
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK(bad_ones > 100 && good_ones > 100);
}

/* All pairs of bytes after each of some beginnings, in the middle of a register and at its ends. */
static void all_pairs(void) {
    static const uint64_t places[] = {0, 1, 63, 64, 127, 300, 508};
    uint64_t wrong = 0;
    for (uint32_t place = 0; place < 7; place++)
        for (uint32_t first = 0x70; first < 256; first++)
            for (uint32_t second = 0x70; second < 256; second++) {
                uint8_t text[600];
                memset(text, 'a', sizeof text);
                uint8_t *at = text + 8 + places[place];
                at[0] = (uint8_t)first, at[1] = (uint8_t)second, at[2] = at[3] = 0x80;
                uint32_t expected = 0;
                for (uint64_t k = 8; k < 8 + 512; k++)
                    expected |=
                        (uint32_t)fp_utf8_is_fault(text[k], text[k - 1], text[k - 2], text[k - 3]);
                for (int level = FASTPAIR_CPU_AVX2; level <= (int)fastpair_cpu_detect(); level++)
                    wrong += (fp_utf8_judge((fastpair_cpu_level)level, text + 8, 512) &
                              FP_UTF8_WRONG) != (expected ? FP_UTF8_WRONG : 0u);
            }
    CHECK_EQ(wrong, 0);
}

int main(void) {
    uint64_t random = verify_seed();
    all_short_texts();
    places();
    pieces(&random);
    bad_rows();
    levels(&random);
    all_pairs();
    return check_done();
}
