/* test_frame_bombs.c - cold blocks that keep all rules, or nearly, and hold far more than they have
 * bytes: read in memory that the format bounds, or refused by name. */
#include "convert.h"
#include "forge.h"
#include "frames.h"
#include "probe.h"

/* Frames that keep all rules and hold as much as the format allows: 2^25 words in some hundred bytes.
 * They are read, in memory that the format bounds. */
static void honest_bombs(void) {
    static const char *const token[2] = {"a", "b"};
    uint32_t code = 0, length = 1;
    static const uint8_t length_of[2] = {1, 1};
    forge_dictionary d = forge_plain_dictionary(token, 2);
    forge_chunk c = forge_coded_chunk(&(forge_codes){&code, 1, 1, length_of, 256},
                                      &(forge_rows){&length, NULL, 1});
    for (int i = 0; i < FORGE_SECTIONS; i++)
        free(c.sections[i].data), c.sections[i] = (forge_bytes){0};
    /* Word 0 over and over, and one end of a row. */
    c.encoding = 3, c.codes = (1u << 25) - 1, c.decoded = c.codes, c.group = 16;
    c.largest = 256, c.largest_pair = 512, c.largest_four = 1024, c.by_length[0] = c.codes;
    forge_bytes frame = frame_repeat(0, (1u << 26) - 2);
    frame.data[frame.size - 4] &= 0xfe; /* its last block is not the last */
    forge_append(&frame, "\x11\0\0\2\0", 5);
    forge_put(frame.data + 6, 1u << 26, 8);
    c.sections[FORGE_CODES] = frame;
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_says_cold(&f);
    forge_add_dictionary(&f, &d);
    forge_add_chunk(&f, &c);
    forge_finish(&f);
    CHECK(f.file.size < 4096);
    counting memory;
    counting_start(&memory);
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = counting_hooks(&memory)};
    fastpair_column *column = NULL;
    fastpair_error error;
    CHECK_EQ(fastpair_column_open(f.file.data, f.file.size, &options, &column, &error),
             FASTPAIR_OK);
    verify_ok(fastpair_column_validate(column, &error), &error, "a bomb within the limits");
    CHECK(memory.peak_bytes < 200u << 20);
    uint8_t byte[2];
    uint64_t size;
    CHECK_EQ(fastpair_column_decode_row(column, 0, byte, 1, &size, NULL, &error),
             FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    CHECK_EQ(size, (1u << 25) - 1);
    fastpair_column_close(column);
    CHECK_EQ(memory.live, 0);
    /* A reader refuses it by its limit. */
    verify_source from = {f.file.data, f.file.size, 0, 0};
    fastpair_source source = {verify_read, &from};
    options.memory_limit = 16u << 20;
    memory.peak_bytes = 0;
    fastpair_reader *reader = NULL;
    fastpair_rows rows = {.struct_size = sizeof rows};
    int at_end = 0;
    CHECK_EQ(reader_open_with(1, &source, &options, &reader, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_reader_next(reader, &rows, &at_end, &error), FASTPAIR_ERROR_LIMIT);
    fastpair_reader_close(reader);
    CHECK(memory.peak_bytes <= 16u << 20);
    free(f.file.data);
}

/* Hundreds of cold dictionaries of 4 MiB in 300 bytes each: the limit on tables counts them. */
static void bombs_of_dictionaries(void) {
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_says_cold(&f);
    for (int i = 0; i < 300; i++) {
        forge_dictionary d = {
            .codec = 1, .bits = 16, .longest = 64, .slots = 65534, .tokens = 65534, .runs = 1};
        uint64_t size = 8 + 65534ull * 64;
        forge_bytes runs = {0}, frame = frame_repeat(0, size - 8);
        forge_append(&runs, "\0\0\0\0\xfd\xff\x40\0", 8);
        forge_append(&d.section, frame.data, 14);
        forge_put(d.section.data + 6, size, 8);
        forge_append(&d.section, "\x40\0\0", 3); /* a raw block of the run entry */
        forge_append(&d.section, runs.data, 8);
        forge_append(&d.section, frame.data + 14, frame.size - 14);
        d.cold = 1, d.warm_size = size;
        free(runs.data), free(frame.data);
        forge_add_dictionary(&f, &d);
    }
    forge_finish(&f);
    oracle_column oracle;
    CHECK(oracle_decode(f.file.data, f.file.size, &oracle)); /* it breaks no rule */
    if (oracle.why[0]) fprintf(stderr, "  ^ %s\n", oracle.why);
    oracle_free(&oracle);
    counting memory;
    counting_start(&memory);
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = counting_hooks(&memory)};
    fastpair_column *column = NULL;
    fastpair_error error;
    CHECK_EQ(fastpair_column_open(f.file.data, f.file.size, &options, &column, &error),
             FASTPAIR_ERROR_LIMIT);
    CHECK(memory.peak_bytes <= 100 * f.file.size + (12u << 20));
    verify_source from = {f.file.data, f.file.size, 0, 0};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    fastpair_rows rows = {.struct_size = sizeof rows};
    int at_end = 0;
    fastpair_status status = reader_open_with(1, &source, &options, &reader, &error);
    while (!status && !at_end) status = fastpair_reader_next(reader, &rows, &at_end, &error);
    CHECK_EQ(status, FASTPAIR_ERROR_LIMIT);
    fastpair_reader_close(reader);
    CHECK(memory.peak_bytes <= 100 * f.file.size + (12u << 20));
    CHECK_EQ(memory.live, 0);
    free(f.file.data);
}

/* N of 65535 or 65536 leaves no words for the ends of rows; slots without a token are no words. */
static void slots(uint64_t *random) {
    for (uint32_t n = 65533; n <= 65536; n++)
        for (uint32_t bad = 0; bad < 2; bad++) {
            forge_dictionary d = {.codec = 1, .bits = 16, .longest = 8, .slots = n, .tokens = 1};
            forge_add_run(&d, 0, 1, 3);
            forge_append(&d.section, "abc", 3);
            static uint8_t length_of[1 << 16];
            memset(length_of, 3, sizeof length_of);
            uint32_t codes[3] = {0, bad ? n - 1 : 0, 0}, lengths[1] = {9};
            forge_codes all = {codes, 3, 16, length_of, 32};
            forge_rows rows = {lengths, NULL, 1};
            forge_chunk c = forge_coded_chunk(&all, &rows);
            forge_make_coded_cold(&c, &all, &rows, n, 8);
            forge f;
            forge_begin(&f, 64, 0, 0);
            forge_says_cold(&f);
            forge_add_dictionary(&f, &d);
            forge_add_chunk(&f, &c);
            forge_finish(&f);
            oracle_column oracle;
            CHECK_EQ(oracle_decode(f.file.data, f.file.size, &oracle), n <= 65534 && !bad);
            oracle_free(&oracle);
            probe_by_oracle("slots of a cold chunk", f.file.data, f.file.size, random);
            free(f.file.data);
        }
}

int main(void) {
    if (!frames_available()) return only_refusals();
    uint64_t random = verify_seed();
    honest_bombs();
    bombs_of_dictionaries();
    slots(&random);
    return check_done();
}
