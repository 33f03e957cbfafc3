/* test_random_sections.c - random bytes in sections and frames: accidents are noticed, forgeries do
 * no harm.
 *
 * Bytes altered with checksums left alone must be noticed, all of them. With checksums made right,
 * decoding must stay in its memory and fail in the same way whatever the threads. */
#include "guard.h"
#include "truth.h"

/* What opening an image, and validating it where that went well, says. */
static fastpair_status open_and_validate(const uint8_t *image, uint64_t size,
                                         fastpair_error *error) {
    fastpair_column *column = NULL;
    fastpair_status status = fastpair_column_open(image, size, NULL, &column, error);
    CHECK((column != NULL) == (status == FASTPAIR_OK));
    if (!status) status = fastpair_column_validate(column, error);
    fastpair_column_close(column);
    return status;
}

/* Random nonsense in sections of a column large enough for many windows of work. With every
 * checksum made right, decoding must stay in its memory; and whether it fails, and how, must not
 * depend on the number of threads. */
static void lying_sections(uint64_t *random) {
    truth t;
    truth_begin(&t, 64, 0);
    truth_chunk shape = {.rows = 900, .batch = 32, .longest_row = 200, .null_percent = 5};
    truth_add_dictionary(&t, 200, random);
    truth_add_coded(&t, &shape, random);
    shape.batch = 1024;
    truth_add_coded(&t, &shape, random);
    forge_finish(&t.image);
    uint64_t size = t.image.file.size, list[500];
    uint8_t *copy = malloc(size);
    for (int attempt = 0; attempt < 200; attempt++) {
        memcpy(copy, t.image.file.data, size);
        uint64_t chunk = forge_block(copy, size, "FPCH", check_random(random) % 2);
        uint8_t *entry = copy + chunk + 208 + 24 * (check_random(random) % 4);
        uint64_t length = forge_get(entry + 8, 8), changes = 1 + check_random(random) % 3;
        uint8_t *section = copy + chunk + forge_get(entry, 8);
        uint64_t narrow =
            attempt % 2 && length > 64 ? 64 : length; /* the first bytes: directories, positions */
        for (uint64_t i = 0; i < changes; i++)
            section[check_random(random) % narrow] = (uint8_t)check_random(random);
        forge_reseal(copy, size);
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(copy, size, NULL, &column, NULL), FASTPAIR_OK);
        guard bytes = guard_make(t.size), offsets = guard_make((t.rows + 1) * 8),
              validity = guard_make((t.rows + 7) / 8);
        fastpair_error first = {.message = ""}, error = {.message = ""};
        fastpair_destination to = to_memory(bytes.data, t.size, offsets.data, 64, validity.data);
        fastpair_status valid = validate_with(2, column, &error), one;
        one = decode_with(1, column, 0, t.rows, &to, &first);
        if (valid == FASTPAIR_OK) CHECK_EQ(one, FASTPAIR_OK);
        for (uint32_t threads = 2; threads < 4; threads++) {
            error.message[0] = 0;
            CHECK_EQ(decode_with(threads, column, 0, t.rows, &to, &error), one);
            CHECK(!strcmp(first.message, error.message));
        }
        for (uint64_t i = 0; one == FASTPAIR_OK && i < t.rows; i++)
            CHECK(((uint64_t *)(void *)offsets.data)[i] <=
                  ((uint64_t *)(void *)offsets.data)[i + 1]);
        for (uint64_t i = 0; i < 500; i++) list[i] = check_random(random) % t.rows;
        uint64_t listed = 0;
        if (fastpair_column_listed_size(column, list, 500, &listed, NULL) == FASTPAIR_OK &&
            listed < 1u << 24) {
            guard some = guard_make(listed);
            fastpair_destination there = to_memory(some.data, listed, NULL, 0, NULL);
            one = decode_listed_with(1, column, list, 500, &there, &first);
            CHECK_EQ(decode_listed_with(2, column, list, 500, &there, &error), one);
            CHECK(guard_free(&some));
        }
        CHECK(guard_free(&bytes) && guard_free(&offsets) && guard_free(&validity));
        fastpair_column_close(column);
    }
    free(copy);
    truth_free(&t);
}

/* A first row that begins at 1 and ends where it should: only its start is wrong. */
static void first_row_not_at_0(void) {
    uint32_t lengths[3] = {4, 2, 1};
    truth t;
    truth_begin(&t, 64, 0);
    forge_chunk c = forge_stored_chunk("abcdefg", 7, &(forge_rows){lengths, NULL, 3});
    forge_put(c.sections[FORGE_LENGTHS].data, 1, 4);
    forge_put(c.sections[FORGE_LENGTHS].data + 16, 3, 4);
    forge_add_chunk(&t.image, &c);
    forge_finish(&t.image);
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(t.image.file.data, t.image.file.size, NULL, &column, NULL),
             FASTPAIR_OK);
    uint8_t bytes[7];
    uint64_t offsets[4], size;
    fastpair_destination to = to_memory(bytes, sizeof bytes, offsets, 64, NULL);
    CHECK_EQ(decode_with(1, column, 0, 3, &to, NULL), FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(fastpair_column_decode_row(column, 0, bytes, 7, &size, NULL, NULL),
             FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(validate_with(1, column, NULL), FASTPAIR_ERROR_CORRUPT);
    fastpair_column_close(column);
    truth_free(&t);
}

/* Lies of the file header, the footer and the trailer, with every checksum made right. */
static void lying_frame(uint64_t *random) {
    truth t = truth_mixed(0, 16, 64, random);
    uint64_t size = t.image.file.size, footer = forge_block(t.image.file.data, size, "FPFT", 0),
             rows;
    uint64_t chunks = footer + 112 + 24 * t.image.dictionaries;
    struct {
        uint64_t at, size, add;
    } lies[] = {{8, 2, 1},
                {20, 4, 2},
                {20, 4, 1u << 31},
                {24, 1, 1},
                {12, 4, 64},
                {16, 1, 1},
                {18, 1, 1},
                {55, 1, 1},
                {footer + 4, 4, 8},
                {footer + 8, 8, 24},
                {footer + 16, 8, 1},
                {footer + 16, 8, -1},
                {footer + 24, 8, 1},
                {footer + 24, 8, -1},
                {footer + 32, 8, 1},
                {footer + 40, 8, 1},
                {footer + 48, 8, 1},
                {footer + 56, 8, 1},
                {footer + 64, 1, 1},
                {footer + 65, 1, 2},
                {footer + 66, 1, 1},
                {footer + 68, 4, 1},
                {footer + 68, 4, 65},
                {footer + 80, 8, 64},
                {footer + 88, 1, 1},
                {footer + 103, 1, 1},
                {footer + 112, 8, 64},
                {footer + 120, 8, 64},
                {footer + 132, 4, 1},
                {chunks, 8, 64},
                {chunks + 8, 8, 64},
                {chunks + 8, 8, -64},
                {chunks + 8, 8, 1},
                {chunks + 16, 8, 1},
                {chunks + 24, 8, 1},
                {chunks + 24, 8, 1ull << 63},
                {size - 32, 8, 64},
                {size - 32, 8, -64},
                {size - 24, 8, 1}};
    uint8_t *copy = malloc(size);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(copy, t.image.file.data, size);
        uint8_t *field = copy + lies[i].at;
        forge_put(field, forge_get(field, (int)lies[i].size) + lies[i].add, (int)lies[i].size);
        forge_reseal(copy, size);
        fastpair_error error;
        fastpair_status expected = lies[i].at < 12 || lies[i].at == 20 ? FASTPAIR_ERROR_UNSUPPORTED
                                                                       : FASTPAIR_ERROR_CORRUPT;
        fastpair_status status = open_and_validate(copy, size, &error);
        CHECK_EQ(status, expected);
        CHECK(error.position < size);
        drip from = {copy, size, 0, 0, UINT64_MAX};
        CHECK_EQ(stream(&from, NULL, 1, NULL, &rows, &error), expected);
        if (status != expected) fprintf(stderr, "  ^ lie %zu\n", i);
    }
    /* Rows moved from one chunk's entry to another's: the sums still agree. */
    memcpy(copy, t.image.file.data, size);
    forge_put(copy + chunks + 16, forge_get(copy + chunks + 16, 8) + 1, 8);
    forge_put(copy + chunks + 48, forge_get(copy + chunks + 48, 8) - 1, 8);
    forge_reseal(copy, size);
    fastpair_column *column = NULL;
    fastpair_error error;
    CHECK_EQ(open_and_validate(copy, size, &error), FASTPAIR_ERROR_CORRUPT);
    drip from = {copy, size, 0, 0, UINT64_MAX};
    CHECK_EQ(stream(&from, NULL, 1, NULL, &rows, &error), FASTPAIR_ERROR_CORRUPT);
    free(copy);
    truth_free(&t);
    /* A gap before the footer. */
    truth_begin(&t, 64, 0);
    truth_add_dictionary(&t, 9, random);
    truth_add_coded(&t, &(truth_chunk){.rows = 10, .batch = 32, .longest_row = 9}, random);
    forge_append(&t.image.file, NULL, 64);
    forge_finish(&t.image);
    CHECK_EQ(fastpair_column_open(t.image.file.data, t.image.file.size, NULL, &column, &error),
             FASTPAIR_ERROR_CORRUPT);
    drip gap = {t.image.file.data, t.image.file.size, 0, 0, UINT64_MAX};
    CHECK_EQ(stream(&gap, NULL, 1, NULL, &rows, &error), FASTPAIR_ERROR_CORRUPT);
    truth_free(&t);
}

/* Every byte of a small image, altered without new checksums: opening, validating or streaming must
 * notice. */
static void every_byte(uint64_t *random) {
    truth t = truth_mixed(0, 16, 64, random);
    uint64_t size = t.image.file.size, unnoticed = 0, streamed = 0, rows;
    uint8_t *copy = malloc(size);
    for (uint64_t i = 0; i < size; i += 1 + (i > 2000 ? check_random(random) % 97 : 0)) {
        memcpy(copy, t.image.file.data, size);
        copy[i] ^= (uint8_t)(1 + check_random(random) % 255);
        fastpair_column *column = NULL;
        fastpair_status status = fastpair_column_open(copy, size, NULL, &column, NULL);
        if (!status) status = validate_with(1, column, NULL);
        unnoticed += status == FASTPAIR_OK;
        fastpair_column_close(column);
        drip from = {copy, size, 0, 0, UINT64_MAX};
        fastpair_error error;
        streamed += stream(&from, NULL, 1 + (uint32_t)(i % 3), NULL, &rows, &error) == FASTPAIR_OK;
    }
    CHECK_EQ(unnoticed, 0);
    CHECK_EQ(streamed, 0);
    free(copy);
    truth_free(&t);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 53, random = seed;
    printf("seed %" PRIu64 "\n", seed);
    lying_sections(&random);
    first_row_not_at_0();
    lying_frame(&random);
    every_byte(&random);
    return check_done();
}
