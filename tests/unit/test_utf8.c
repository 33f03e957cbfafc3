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

int main(void) {
    uint64_t random = verify_seed();
    all_short_texts();
    places();
    pieces(&random);
    bad_rows();
    return check_done();
}
