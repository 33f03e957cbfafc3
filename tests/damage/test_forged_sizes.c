/* test_forged_sizes.c - terabytes claimed by files of a few hundred bytes, with an allocator that
 * counts.
 *
 * Opening and reading must refuse them and must not have asked for more memory than the file's size
 * justifies: counts whose products wrap around 64 bits, blocks that never come, dictionaries that
 * are nearly empty, too many rows. */
#include "forge.h"
#include "probe.h"

static void must_stay_small(const char *what, const uint8_t *data, uint64_t size) {
    unsigned long long before = check_failed;
    counting memory;
    counting_start(&memory);
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = counting_hooks(&memory)};
    fastpair_column *column = NULL;
    fastpair_error error;
    fastpair_status status = fastpair_column_open(data, size, &options, &column, &error);
    if (!status) { /* opening does not look at chunks; whatever does finds the lie */
        fastpair_column_info info = {.struct_size = sizeof info};
        uint64_t bytes = 1;
        CHECK_EQ(fastpair_column_get_info(column, &info, &error), FASTPAIR_ERROR_CORRUPT);
        CHECK(info.struct_size == sizeof info && info.rows == 0 && error.position < size);
        CHECK_EQ(fastpair_column_rows_size(column, 0, 1, &bytes, &error), FASTPAIR_ERROR_CORRUPT);
        CHECK(bytes == 0 && error.position < size);
        status = fastpair_column_validate(column, &error);
        CHECK(status == FASTPAIR_ERROR_CORRUPT && error.position < size);
        fastpair_column_close(column);
    }
    CHECK(status != FASTPAIR_OK && status != FASTPAIR_ERROR_OUT_OF_MEMORY);
    CHECK(memory.peak_bytes <= 64 * size + 1300000);
    memory.peak_bytes = 0;
    verify_source from = {data, size, 0, 0};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    fastpair_rows rows = {.struct_size = sizeof rows};
    int at_end = 0;
    status = reader_open_with(2, &source, &options, &reader, &error);
    while (!status && !at_end) status = fastpair_reader_next(reader, &rows, &at_end, &error);
    CHECK(status == FASTPAIR_ERROR_CORRUPT || status == FASTPAIR_ERROR_LIMIT);
    fastpair_reader_close(reader);
    CHECK(memory.peak_bytes <= 4u << 20);
    if (memory.peak_bytes > 4u << 20)
        fprintf(stderr, "  ^ the reader took %llu\n", (unsigned long long)memory.peak_bytes);
    CHECK_EQ(memory.live, 0);
    verify_note(before, what, "claim");
}

/* A file of 208 bytes whose footer claims dictionaries and chunks; 2^61 * 24 is 0 in 64 bits. */
static void footer_claims(void) {
    static const uint64_t claims[][6] = {
        /* dictionaries, chunks, rows, nulls, codes, decoded */
        {1ull << 61, 0, 0, 0, 0, 0},
        {0, 1ull << 59, 0, 0, 0, 0},
        {1ull << 61, 1ull << 59, 1ull << 40, 0, 1ull << 40, 1ull << 40},
        {4, UINT64_MAX - 2, 0, 0, 0, 0},
        {1, 0, 0, 0, 0, 0},
        {0, 1ull << 28, 0, 0, 0, 0},
        {0, 0, 1ull << 40, 0, 0, 1ull << 40},
        {0, 0, 0, 1, 0, 0}};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        for (int told_size = 0; told_size < 2; told_size++) {
            forge f;
            forge_begin(&f, 64, 0, 0);
            forge_finish(&f);
            CHECK_EQ(f.file.size, 208);
            uint8_t *h = f.file.data + 64;
            for (int k = 0; k < 6; k++) forge_put(h + 16 + 8 * k, claims[i][k], 8);
            if (told_size)
                forge_put(h + 8, 112 + 24 * claims[i][0] + 32 * claims[i][1],
                          8); /* wraps as it likes */
            forge_reseal(f.file.data, f.file.size);
            must_stay_small("footer", f.file.data, f.file.size);
            free(f.file.data);
        }
    }
}

static forge_bytes small_file(void) {
    static const char *const tokens[3] = {"a", "bc", "def"};
    static const uint8_t length_of[3] = {1, 2, 3};
    uint32_t codes[300], lengths[300];
    for (uint32_t i = 0; i < 300; i++) codes[i] = i % 3, lengths[i] = length_of[i % 3];
    forge_dictionary d = forge_plain_dictionary(tokens, 3);
    forge_chunk c = forge_coded_chunk(&(forge_codes){codes, 300, d.bits, length_of, 32},
                                      &(forge_rows){lengths, NULL, 300});
    return forge_column(&d, &c);
}

/* A block that says it goes on for a terabyte, and a file that ends. Field values are written over
 * the header of a file with one chunk or dictionary; sections are moved so that sizes and offsets
 * agree as far as they can. */
static void block_claims(void) {
    static const struct {
        const char *kind;
        int at;
        uint64_t value;
    } claims[][4] = {
        {{"FPDI", 8, 1ull << 40}, {"FPDI", 48 + 8, (1ull << 40) - 128}},
        {{"FPDI", 24, 65536}, {"FPDI", 28, 65536}, {"FPDI", 36, 65536}, {"FPDI", 17, 16}},
        {{"FPCH", 8, 1ull << 40}, {"FPCH", 48, UINT32_MAX}},
        {{"FPCH", 24, 1u << 28}, {"FPCH", 256 + 8, (1u << 24) + (1u << 30)}},
        {{"FPCH", 40, 1ull << 61}, {"FPCH", 208 + 8, 0}, {"FPCH", 208, 0}},
        {{"FPCH", 40, 1ull << 60},
         {"FPCH", 80, 1ull << 60},
         {"FPCH", 48, UINT32_MAX},
         {"FPCH", 208 + 8, 1ull << 59}},
        {{"FPCH", 208 + 8, UINT64_MAX - 100}, {"FPCH", 8, 320}},
        {{"FPCH", 208, UINT64_MAX - 63}, {"FPCH", 8, UINT64_MAX - 63}},
        {{"FPCH", 8, UINT64_MAX}, {"FPCH", 8, UINT64_MAX - 63}},
        {{"FPCH", 8, 0}, {"FPCH", 8, 0}},
    };
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        forge_bytes image = small_file();
        for (int k = 0; k < 4 && claims[i][k].kind; k++) {
            uint64_t at = forge_block(image.data, image.size, claims[i][k].kind, 0);
            forge_put(image.data + at + claims[i][k].at, claims[i][k].value,
                      claims[i][k].at == 17 ? 1
                      : claims[i][k].at >= 24 && claims[i][k].at < 40 && claims[i][k].kind[2] == 'D'
                          ? 4
                          : 8);
        }
        forge_reseal(image.data, image.size);
        must_stay_small("block", image.data, image.size);
        free(image.data);
    }
    /* A stored chunk of 4 GiB that a pipe never delivers: the reader may keep only what came. */
    uint32_t lengths[1] = {UINT32_MAX};
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_chunk c = forge_stored_chunk("abcd", 4, &(forge_rows){lengths, NULL, 1});
    c.decoded = UINT32_MAX;
    forge_add_chunk(&f, &c);
    forge_finish(&f);
    uint8_t *h = f.file.data + 64;
    forge_put(h + 208 + 8, UINT32_MAX, 8);
    forge_put(h + 256, 384 + (1ull << 32), 8);
    forge_put(h + 8, 384 + (1ull << 32) + 64, 8);
    forge_reseal(f.file.data, f.file.size);
    must_stay_small("stored", f.file.data, f.file.size);
    free(f.file.data);
}

/* 150 wide dictionaries of one token each, in 29 KB: tables of 65536 entries for each would take
 * 170 MB. */
static void many_wide_dictionaries(void) {
    forge f;
    forge_begin(&f, 64, 0, 0);
    for (int i = 0; i < 150; i++) {
        forge_dictionary d = {
            .codec = 1, .bits = 16, .longest = 16, .slots = 65536, .tokens = 1, .runs = 1};
        uint8_t *run_entry = forge_append(&d.section, NULL, 8);
        run_entry[6] = 1;
        forge_append(&d.section, "x", 1);
        forge_add_dictionary(&f, &d);
    }
    forge_finish(&f);
    oracle_column oracle;
    CHECK(oracle_decode(f.file.data, f.file.size, &oracle)); /* it breaks no rule */
    oracle_free(&oracle);
    counting memory;
    counting_start(&memory);
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = counting_hooks(&memory)};
    fastpair_column *column = NULL;
    fastpair_status status =
        fastpair_column_open(f.file.data, f.file.size, &options, &column, NULL);
    CHECK(status == FASTPAIR_OK || status == FASTPAIR_ERROR_LIMIT);
    CHECK(memory.peak_bytes <= 100 * f.file.size + (4u << 20));
    fastpair_column_close(column);
    memory.peak_bytes = 0;
    verify_source from = {f.file.data, f.file.size, 0, 0};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    fastpair_rows rows = {.struct_size = sizeof rows};
    int at_end = 0;
    status = reader_open_with(1, &source, &options, &reader, NULL);
    while (status == FASTPAIR_OK && !at_end)
        status = fastpair_reader_next(reader, &rows, &at_end, NULL);
    CHECK(status == FASTPAIR_OK || status == FASTPAIR_ERROR_LIMIT);
    CHECK(memory.peak_bytes <= 100 * f.file.size + (4u << 20));
    fastpair_reader_close(reader);
    CHECK_EQ(memory.live, 0);
    free(f.file.data);
}

/* The limit on dictionaries counts the file up to each of them, so it does not matter who reads: a
 * large chunk before them pays for them, one after them does not. */
static void one_limit_for_all(void) {
    static uint8_t text[400000];
    for (int after = 0; after < 2; after++) {
        uint32_t length = sizeof text;
        forge f;
        forge_begin(&f, 64, 0, 0);
        forge_chunk c = forge_stored_chunk(text, sizeof text, &(forge_rows){&length, NULL, 1});
        if (!after) forge_add_chunk(&f, &c);
        for (int i = 0; i < 20; i++) {
            forge_dictionary d = {
                .codec = 1, .bits = 16, .longest = 16, .slots = 65536, .tokens = 1, .runs = 1};
            forge_append(&d.section, NULL, 8)[6] = 1;
            forge_append(&d.section, "x", 1);
            forge_add_dictionary(&f, &d);
        }
        if (after) forge_add_chunk(&f, &c);
        forge_finish(&f);
        fastpair_column *column = NULL;
        fastpair_error opening = {.message = ""}, reading = {.message = ""};
        fastpair_status expected = after ? FASTPAIR_ERROR_LIMIT : FASTPAIR_OK;
        CHECK_EQ(fastpair_column_open(f.file.data, f.file.size, NULL, &column, &opening), expected);
        if (column) CHECK_EQ(fastpair_column_validate(column, NULL), FASTPAIR_OK);
        fastpair_column_close(column);
        verify_source from = {f.file.data, f.file.size, 0, 0};
        fastpair_source source = {verify_read, &from};
        fastpair_reader *reader = NULL;
        fastpair_rows rows = {.struct_size = sizeof rows};
        int at_end = 0;
        fastpair_status status = reader_open_with(1, &source, NULL, &reader, &reading);
        while (!status && !at_end) status = fastpair_reader_next(reader, &rows, &at_end, &reading);
        CHECK_EQ(status, expected);
        CHECK(!strcmp(opening.message, reading.message) && opening.position == reading.position);
        fastpair_reader_close(reader);
        free(f.file.data);
    }
}

/* Chunks of no rows and of 2^28 + 256 empty rows, right but for that. */
static void row_limits(uint64_t *random) {
    for (int many = 0; many < 2; many++) {
        forge f;
        forge_begin(&f, 64, 0, 0);
        forge_chunk c = {.dictionary = 0xffffffffu, .rows = many ? (1u << 28) + 256 : 0};
        forge_append(&c.sections[FORGE_LENGTHS], NULL, c.rows / 256 * 16);
        forge_add_chunk(&f, &c);
        forge_finish(&f);
        oracle_column oracle;
        CHECK(!oracle_decode(f.file.data, f.file.size, &oracle));
        oracle_free(&oracle);
        counting memory;
        counting_start(&memory);
        fastpair_open_options options = {.struct_size = sizeof options,
                                         .allocator = counting_hooks(&memory)};
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(f.file.data, f.file.size, &options, &column, NULL),
                 FASTPAIR_ERROR_CORRUPT);
        CHECK(memory.peak_bytes < 100000);
        if (!many)
            probe("no rows in a chunk", f.file.data, f.file.size, NULL, PROBE_REFUSE, random);
        free(f.file.data);
    }
}

int main(void) {
    uint64_t random = verify_seed();
    footer_claims();
    block_claims();
    many_wide_dictionaries();
    one_limit_for_all();
    row_limits(&random);
    return check_done();
}
