/* test_access_text.c - rows that are exported as text are UTF-8, whatever the file says: one byte out
 * of place anywhere is found, in every kind of chunk, in ranges, lists and streams, with any number of
 * threads and at every CPU level, and the row is named. Rows that are good are never refused. */
#include "access.h"
#include "arrow_read.h"
#include "convert.h"
#include "fastpair_arrow.h"
#include "oracle_parts.h"
#include "utf8.h"
#include "verify.h"

#include <errno.h>

/* ---------------------------------------------------------------- pieces, as decoders give them */

/* Shows bytes as decoders do, which know of some of them whether they are UTF-8, if they are asked. */
static void show(const fp_decode_watch *watch, const uint8_t *bytes, uint32_t size,
                 uint64_t *random) {
    fp_decode_seen seen = {.begin = bytes, .end = bytes + size, .known = bytes, .is_ascii = 1};
    int is_wrong = 0;
    if (watch->wants_text && check_random(random) % 4)
        seen.known += check_random(random) % 2 ? size : check_random(random) % (size + 1);
    for (const uint8_t *at = bytes; at < seen.known; at++) {
        is_wrong |= fp_utf8_is_fault(at[0], at[-1], at[-2], at[-3]);
        seen.is_ascii &= at[0] < 0x80;
    }
    if (is_wrong) seen.known = bytes;
    if (is_wrong || check_random(random) % 4 == 0) seen.is_ascii = 0;
    watch->look(watch->context, &seen);
}

/* Windows of random sizes that begin anywhere, judged as fp_column_decode does it. */
static int judge_in_windows(const fp_text_rows *rows, uint64_t size, uint64_t *random) {
    uint64_t seams[64], count = 0;
    int good = 1;
    for (uint64_t from = 0; from < size;) {
        uint64_t window = count < 60 ? check_random(random) % 700 : size, seen = from;
        uint64_t to = window < size - from ? from + window : size;
        fp_text_walk walk;
        fp_text_begin(&walk, rows, from, 0);
        for (; check_random(random) % 3 && seen < to;) {
            uint64_t hidden = check_random(random) % 4 ? 0 : check_random(random) % (to - seen + 1);
            uint64_t begin = seen + hidden;
            seen = begin + check_random(random) % (to - begin + 1);
            show(&walk.watch, rows->destination->bytes + begin, (uint32_t)(seen - begin), random);
        }
        good &= fp_text_end(&walk, to, (fp_text_edges){from == 0, to == size});
        if (from) seams[count++] = from;
        from = to;
    }
    for (uint64_t i = 0; i < count; i++)
        good &= fp_text_seam_is_good(rows->destination, seams[i], size);
    return good;
}

static void windows(uint64_t *random) {
    static const char *const parts[] = {"a",  "\xc3\xa9",     "\xe2\x82\xac", "\xf0\x9f\x92\xa9",
                                        "bc", "\xe0\xa4\x85", "\xed\x95\x9c"};
    uint64_t wrong = 0, outcomes[2] = {0};
    for (uint32_t i = 0; i < check_scaled(8000); i++) {
        uint8_t bytes[3000];
        uint64_t offsets[400], size = 0, rows = 0, most = 1 + check_random(random) % 60;
        uint32_t narrow[400];
        int is_ascii = i % 5 == 0;
        offsets[0] = 0;
        while (rows < 390 && size < 2500) {
            for (uint64_t k = check_random(random) % most; k && size < 2900; k--) {
                const char *part = parts[is_ascii ? 0 : check_random(random) % 7];
                memcpy(bytes + size, part, strlen(part));
                size += strlen(part);
            }
            offsets[++rows] = size;
        }
        if (i % 2 && size) bytes[check_random(random) % size] = (uint8_t)check_random(random);
        if (i % 7 == 0 && rows > 2) { /* a boundary that may cut a character */
            uint64_t row = 1 + check_random(random) % (rows - 1);
            if (offsets[row] < offsets[row + 1]) offsets[row]++;
        }
        if (i % 11 == 0 && size > 2) offsets[rows] = size -= 1 + check_random(random) % 2;
        if (offsets[rows - 1] > size) continue;
        int expected = 1;
        for (uint64_t row = 0; row < rows; row++)
            expected &= oracle_is_utf8(bytes + offsets[row], offsets[row + 1] - offsets[row]) != 0;
        for (uint64_t row = 0; row <= rows; row++) narrow[row] = (uint32_t)offsets[row];
        fastpair_destination to = {.bytes = bytes, .offsets = offsets, .offset_bits = 64};
        if (i % 3 == 0) to.offsets = narrow, to.offset_bits = 32;
        for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++) {
            fp_text_rows view = {&to, 0, rows, (fastpair_cpu_level)level};
            wrong += judge_in_windows(&view, size, random) != expected;
            wrong += fp_text_is_good(&view, 0, size) != expected;
        }
        outcomes[expected]++;
    }
    CHECK_EQ(wrong, 0);
    CHECK(outcomes[0] > 100 && outcomes[1] > 100);
}

/* ---------------------------------------------------------------- whole columns */

/* Makes a file say that it is text. */
static void say_text(forge_bytes *image) {
    image->data[forge_block(image->data, image->size, "FPFT", 0) + 65] = 1;
    forge_reseal(image->data, image->size);
}

typedef struct lie {
    const shape *s;
    uint64_t first_bad; /* row, or the number of rows */
} lie;

static void check_failure(const lie *l, fastpair_status status, const fastpair_error *error,
                          uint64_t row) {
    CHECK_EQ(status, FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(error->position, row);
    CHECK(strstr(error->message, "UTF-8") != NULL);
    if (status != FASTPAIR_ERROR_CORRUPT || error->position != row)
        fprintf(stderr, "  ^ %s\n", l->s->name);
}

/* An array must have the rows. */
static void check_success(const lie *l, const char *format, struct ArrowArray *array,
                          uint64_t first) {
    arrow_check_rows(format, array, l->s, NULL, first);
    array->release(array);
}

/* All ways to export, of which those that meet the bad row must fail. */
static void export_all(fastpair_column *column, const lie *l, uint64_t *random) {
    fastpair_error error = {0};
    struct ArrowArray array;
    uint64_t rows = l->s->rows.rows, bad = l->first_bad;
    for (int k = 0; k < 3; k++) {
        static const char *const formats[][2] = {{"u", "z"}, {"U", "Z"}, {"vu", "vz"}};
        fastpair_arrow_options options = {.struct_size = sizeof options,
                                          .layout = (fastpair_arrow_layout)(k + 1)};
        uint64_t first = k ? check_random(random) % rows : 0,
                 count = k ? check_random(random) % (rows - first) : rows;
        fastpair_status status =
            fastpair_column_export_array(column, first, count, &options, NULL, &array, &error);
        if (bad >= first && bad < first + count)
            check_failure(l, status, &error, bad);
        else if (verify_ok(status, &error, l->s->name))
            check_success(l, formats[k][0], &array, first);
        uint64_t listed[] = {0, bad % rows, rows - 1};
        status = fastpair_column_export_listed(column, listed, 3, &options, NULL, &array, &error);
        if (bad < rows)
            check_failure(l, status, &error, bad);
        else if (verify_ok(status, &error, l->s->name))
            array.release(&array);
        options.type = FASTPAIR_ARROW_BYTES;
        if (verify_ok(fastpair_column_export_array(column, 0, rows, &options, NULL, &array, &error),
                      &error, l->s->name))
            check_success(l, formats[k][1], &array, 0);
    }
    struct ArrowArrayStream stream;
    int code = 0;
    uint64_t row = 0;
    verify_ok(fastpair_column_export_stream(column, 0, rows, NULL, &stream, &error), &error,
              l->s->name);
    while (!(code = stream.get_next(&stream, &array)) && array.release) {
        row += (uint64_t)array.length;
        array.release(&array);
    }
    CHECK_EQ(code, bad < rows ? EILSEQ : 0);
    CHECK(bad < rows ? row <= bad : row == rows);
    CHECK_EQ(bad < rows, stream.get_last_error(&stream) != NULL);
    CHECK_EQ(stream.get_next(&stream, &array), code); /* a failure stays */
    CHECK(array.release == NULL);
    stream.release(&stream);
}

static void try_file(const forge_bytes *image, const lie *l, uint64_t *random) {
    for (uint32_t threads = 1; threads < 4; threads += 2) {
        fastpair_open_options options = {.struct_size = sizeof options, .threads = threads};
        options.cpu_level =
            (fastpair_cpu_level)(check_random(random) % (fastpair_cpu_detect() + 1));
        fastpair_column *column = NULL;
        fastpair_error error;
        if (!verify_ok(fastpair_column_open(image->data, image->size, &options, &column, &error),
                       &error, l->s->name))
            return;
        export_all(column, l, random);
        fastpair_column_close(column);
    }
}

/* One byte of a text is another one: in coded, stored and cold chunks. `place` is what byte. */
static void alter(const char *unit, uint64_t units, uint64_t place, uint8_t byte,
                  const fastpair_compress_options *options, uint64_t *random) {
    enum { UNITS_PER_ROW = 9 };
    uint64_t length = strlen(unit), size = units * length, rows = units / UNITS_PER_ROW;
    uint8_t *bytes = malloc(size);
    uint64_t *offsets = malloc((rows + 1) * 8), first_bad = rows;
    for (uint64_t i = 0; i < units; i++) memcpy(bytes + i * length, unit, length);
    for (uint64_t i = 0; i <= rows; i++) offsets[i] = i * UNITS_PER_ROW * length;
    bytes[place] = byte;
    for (uint64_t i = rows; i-- > 0;)
        if (!oracle_is_utf8(bytes + offsets[i], offsets[i + 1] - offsets[i])) first_bad = i;
    shape s;
    shape_from_rows(&s, "altered", bytes, offsets, NULL, rows);
    uint8_t *made = NULL;
    forge_bytes image = {0};
    fastpair_error error;
    if (verify_ok(fastpair_compress(&s.rows, options, &made, &image.size, &error), &error,
                  "compress")) {
        image.data = made;
        say_text(&image);
        lie l = {&s, first_bad};
        snprintf(s.name, sizeof s.name, "codec %d cold %d place %" PRIu64 " byte %02x",
                 (int)options->codec, options->cold, place, byte);
        try_file(&image, &l, random);
    }
    fastpair_free(NULL, made);
    shape_free(&s);
    free(bytes);
    free(offsets);
}

static void altered_columns(uint64_t *random) {
    static const uint8_t bad_bytes[] = {'x', 0x80, 0xc3, 0xff, 0xf0};
    fastpair_compress_options coded = {
        .struct_size = sizeof coded, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .level = 1};
    fastpair_compress_options stored = {.struct_size = sizeof stored,
                                        .codec = FASTPAIR_CODEC_STORED};
    fastpair_compress_options cold = coded, small = coded;
    cold.cold = 1, cold.chunk_bytes = 20000;
    small.chunk_bytes = 5000;
    /* Windows of stored chunks are cut at multiples of 128 KiB, inside characters. */
    for (int64_t near = -4; near <= 4; near++)
        for (int k = 0; k < 5; k++)
            alter("\xe0\xa4\x85", 120000, (uint64_t)((128 << 10) * (1 + k % 2) + near),
                  bad_bytes[k], &stored, random);
    for (uint32_t i = 0; i < check_scaled(12); i++) {
        uint8_t byte = bad_bytes[check_random(random) % 5];
        alter("ab\xf0\x9f\x92\xa9", 60000, check_random(random) % 300000, byte, &coded, random);
        alter("ab\xf0\x9f\x92\xa9", 9000, check_random(random) % 50000, byte, &cold, random);
        alter("ab\xc3\xa9", 9000, check_random(random) % 30000, byte, &small, random);
        alter("abcdefgh", 4000, check_random(random) % 30000, byte, &small, random);
    }
    /* The first and the last byte, and a byte that does no harm. */
    alter("\xc3\xa9", 900, 0, 0xa9, &coded, random);
    alter("\xc3\xa9", 900, 1799, 0xc3, &coded, random);
    alter("\xc3\xa9", 900, 1799, 0xaa, &coded, random);
}

/* Tokens that are UTF-8, each for itself, and rows that cut one of them. */
static void cut_tokens(uint64_t *random) {
    static const char *const text[] = {"\xc3\xa9", "a"};
    static const uint8_t length_of[] = {2, 1};
    uint32_t codes[] = {0, 1, 0, 0};
    for (int split = 0; split < 2; split++) {
        uint32_t lengths[] = {3, 2, 2};
        if (split) lengths[1] = 1, lengths[2] = 3;
        forge f;
        forge_begin(&f, 64, 0, 0);
        f.type = 1;
        forge_dictionary d = forge_plain_dictionary(text, 2);
        forge_chunk c = forge_coded_chunk(&(forge_codes){codes, 4, 1, length_of, 256},
                                          &(forge_rows){lengths, NULL, 3});
        forge_add_dictionary(&f, &d);
        forge_add_chunk(&f, &c);
        forge_finish(&f);
        shape s;
        uint64_t offsets[] = {0, 3, 3 + lengths[1], 7};
        shape_from_rows(&s, "cut tokens",
                        (const uint8_t *)"\xc3\xa9"
                                         "a\xc3\xa9\xc3\xa9",
                        offsets, NULL, 3);
        lie l = {&s, split ? 1 : 3};
        try_file(&f.file, &l, random);
        shape_free(&s);
        free(f.file.data);
    }
}

int main(void) {
    uint64_t random = verify_seed();
    windows(&random);
    altered_columns(&random);
    cut_tokens(&random);
    return check_done();
}
