/* test_altered_bytes.c - damaged files: an error that says where, or the right rows; never anything
 * else.
 *
 * Small files of every codec have each byte altered, are cut at each length, get sections and
 * blocks exchanged. First as accidents do it, with checksums left alone: then validation and the
 * reader must notice. Then with all checksums recomputed, as a forger does it: then the library
 * must agree with the oracle on whether the file keeps the rules of docs/format.md. */
#include "convert.h"
#include "forge.h"
#include "frames.h"
#include "probe.h"

typedef struct sample_file {
    const char *name;
    shape s;
    uint8_t *image;
    uint64_t size;
} sample_file;

#define FILES 13

static void make_file(sample_file *file, const char *name, shape_kind kind, uint64_t bytes,
                      const fastpair_compress_options *options, int coded) {
    fastpair_error error;
    file->name = name;
    shape_make(&file->s, kind, 7, &(shape_options){.bytes = bytes, .null_percent = 15});
    if (!verify_ok(fastpair_compress(&file->s.rows, options, &file->image, &file->size, &error),
                   &error, name))
        exit(1);
    CHECK_EQ(forge_block(file->image, file->size, "FPDI", 0) != 0, coded);
    printf("%-24s %llu bytes\n", name, (unsigned long long)file->size);
}

/* A text's rows, with its separator recorded. */
static void make_framed(sample_file *file) {
    forge_bytes out = {0};
    fastpair_sink sink = {forge_write, &out};
    fastpair_writer *writer = NULL;
    file->name = "framed";
    shape_make(&file->s, SHAPE_WORDS, 7, &(shape_options){.bytes = 200});
    CHECK_EQ(fastpair_writer_open(&sink, NULL, &writer, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_set_framing(writer, ',', 1, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_append(writer, &file->s.rows, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_finish(writer, NULL), FASTPAIR_OK);
    fastpair_writer_close(writer);
    file->image = out.data, file->size = out.size; /* malloc made both, so fastpair_free frees it */
}

static void make_files(sample_file *files) {
    fastpair_compress_options o = {.struct_size = sizeof o, .codec = FASTPAIR_CODEC_ONPAIR};
    make_file(&files[0], "onpair", SHAPE_FOUR_VALUES, 2500, &o, 1);
    o.chunk_bytes = 900, o.expert = EXPERT(.batch_codes = 32);
    make_file(&files[1], "onpair, chunks", SHAPE_FOUR_VALUES, 3000, &o, 1);
    o.code_bits = 9, o.max_token = 8, o.expert = EXPERT(.batch_codes = 32, .hot_codes = 4);
    make_file(&files[2], "onpair 9, hot part", SHAPE_PREFIXES, 6000, &o, 1);
    o = (fastpair_compress_options){.struct_size = sizeof o,
                                    .codec = FASTPAIR_CODEC_FSST12,
                                    .expert = EXPERT(.batch_codes = 64)};
    make_file(&files[3], "fsst12", SHAPE_PREFIXES, 5000, &o, 1);
    o.codec = FASTPAIR_CODEC_STORED;
    make_file(&files[4], "stored", SHAPE_RANDOM_BYTES, 500, &o, 0);
    make_file(&files[5], "empty rows", SHAPE_EMPTY_ROWS, 100, &o, 0);
    make_file(&files[6], "no rows", SHAPE_NO_ROWS, 0, &o, 0);
    o.expert = EXPERT(.batch_codes = 64, .section_alignment = 4096);
    make_file(&files[7], "aligned to 4096", SHAPE_UTF8, 100, &o, 0);
    make_framed(&files[8]);
    fastpair_pair pair = {"unit", "EUR", 3};
    fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                  .type = FASTPAIR_TYPE_DETECT,
                                  .name = "described",
                                  .pairs = &pair,
                                  .pair_count = 1};
    o = (fastpair_compress_options){.struct_size = sizeof o,
                                    .codec = FASTPAIR_CODEC_STORED,
                                    .chunk_bytes = 1024,
                                    .metadata = &metadata,
                                    .expert = EXPERT(.bound_bytes = 8)};
    make_file(&files[9], "name, pair, bounds", SHAPE_UTF8, 1500, &o, 0);
    if (!frames_available()) return;
    o = (fastpair_compress_options){
        .struct_size = sizeof o, .codec = FASTPAIR_CODEC_ONPAIR, .cold = 1, .chunk_bytes = 2500};
    make_file(&files[10], "cold", SHAPE_PREFIXES, 6000, &o, 1);
    o.codec = FASTPAIR_CODEC_FSST12;
    make_file(&files[11], "cold, fsst12", SHAPE_FOUR_VALUES, 5000, &o, 1);
    o.codec = FASTPAIR_CODEC_STORED;
    make_file(&files[12], "cold, stored", SHAPE_FOUR_VALUES, 2500, &o, 0);
    for (int i = 10; i < FILES; i++) CHECK(count_cold(files[i].image, files[i].size) > 0);
}

static void untouched(sample_file *file, uint64_t *random) {
    probe(file->name, file->image, file->size, &file->s, PROBE_ACCEPT, random);
    probe_by_oracle(file->name, file->image, file->size, random);
    uint8_t *copy = malloc(file->size);
    memcpy(copy, file->image, file->size);
    forge_reseal(copy, file->size);
    CHECK(!memcmp(copy, file->image, file->size)); /* or the tests below would prove little */
    free(copy);
}

/* Large gaps of an aligned file are all alike: one byte in 97 stands for them. */
static int worth_it(const sample_file *file, uint64_t at) {
    static const uint8_t zero[64];
    if (at % 97 == 0 || at < 64 || at + 64 > file->size) return 1;
    return memcmp(file->image + at / 64 * 64, zero,
                  at / 64 * 64 + 64 <= file->size ? 64 : file->size % 64) != 0;
}

/* Each byte altered, checksums left alone: no changed bit goes unnoticed, in gaps neither. */
static void flip_bytes(sample_file *file, uint32_t step, uint64_t *random) {
    uint8_t *copy = malloc(file->size);
    char what[120];
    for (uint64_t at = check_random(random) % step; at < file->size; at += step) {
        if (!worth_it(file, at)) continue;
        memcpy(copy, file->image, file->size);
        copy[at] ^= (uint8_t)(at % 3 ? 1u << (check_random(random) % 8) : 255);
        snprintf(what, sizeof what, "%s, byte %llu: %02x -> %02x", file->name,
                 (unsigned long long)at, file->image[at], copy[at]);
        probe(what, copy, file->size, NULL, PROBE_REFUSE, random);
    }
    free(copy);
}

/* Each byte altered, checksums recomputed: the oracle decides. */
static void forge_each_byte(sample_file *file, uint32_t step, uint64_t *random) {
    uint8_t *copy = malloc(file->size);
    char what[120];
    for (uint64_t at = check_random(random) % step; at < file->size; at += step) {
        if (!worth_it(file, at)) continue;
        uint8_t old = file->image[at],
                values[] = {(uint8_t)(old + 1), (uint8_t)(old - 1), (uint8_t)(old ^ 0x80),
                            (uint8_t)check_random(random)};
        memcpy(copy, file->image, file->size);
        copy[at] = values[check_random(random) % 4];
        forge_reseal(copy, file->size);
        snprintf(what, sizeof what, "%s, resealed, byte %llu: %02x -> %02x", file->name,
                 (unsigned long long)at, old, copy[at]);
        probe_by_oracle(what, copy, file->size, random);
    }
    free(copy);
}

/* Several fields at once: sizes, counts and sections take numbers that mean something elsewhere. */
static void forge_fields(sample_file *file, uint32_t times, uint64_t *random) {
    static const uint64_t numbers[] = {
        0,    1,    2,     31,    63,         64,         65,         255,        256,
        4095, 4096, 65535, 65536, UINT32_MAX, 1ull << 32, 1ull << 40, 1ull << 63, UINT64_MAX};
    uint8_t *copy = malloc(file->size);
    char what[160];
    for (uint32_t i = 0; i < times; i++) {
        memcpy(copy, file->image, file->size);
        uint64_t at = 0;
        for (uint64_t n = 1 + check_random(random) % 3; n; n--) {
            int width = 1 << check_random(random) % 4;
            do at = check_random(random) % (file->size / (unsigned)width) * (unsigned)width;
            while (!worth_it(file, at));
            uint64_t old = forge_get(copy + at, width), number = numbers[check_random(random) % 18];
            switch (check_random(random) % 4) {
            case 0: number = old + 1; break;
            case 1: number = old * 2; break;
            case 2:
                number = forge_get(copy + check_random(random) % (file->size / 8) * 8, 8);
                break;
            default: break;
            }
            forge_put(copy + at, number, width);
        }
        forge_reseal(copy, file->size);
        snprintf(what, sizeof what, "%s, fields, round %u, last at %llu", file->name, i,
                 (unsigned long long)at);
        probe_by_oracle(what, copy, file->size, random);
    }
    free(copy);
}

/* Every shorter length is refused, and so is a longer file. */
static void truncate_and_extend(sample_file *file, uint32_t step, uint64_t *random) {
    char what[120];
    for (uint64_t size = check_random(random) % step; size < file->size; size += step) {
        snprintf(what, sizeof what, "%s, cut to %llu", file->name, (unsigned long long)size);
        probe(what, file->image, size, NULL, PROBE_REFUSE, random);
    }
    uint8_t *longer = calloc(1, file->size + 4096);
    memcpy(longer, file->image, file->size);
    for (uint64_t more = 1; more <= 4096; more *= 8) {
        snprintf(what, sizeof what, "%s, %llu bytes more", file->name, (unsigned long long)more);
        probe(what, longer, file->size + more, NULL, PROBE_REFUSE, random);
    }
    /* Cut short and closed with its old trailer, which then says the wrong size. */
    if (file->size > 64 * 6) {
        memmove(longer + file->size - 64 - 32, longer + file->size - 32, 32);
        probe("trailer moved up", longer, file->size - 64, NULL, PROBE_REFUSE, random);
    }
    free(longer);
}

/* Exchanges the contents of two sections of equal length, or of two blocks, with and without
 * resealing. */
static void swap_parts(sample_file *file, uint64_t *random) {
    uint64_t chunks[2] = {forge_block(file->image, file->size, "FPCH", 0),
                          forge_block(file->image, file->size, "FPCH", 1)};
    if (!chunks[1]) return;
    for (int section = 0; section < 4; section++) {
        for (int resealed = 0; resealed < 2; resealed++) {
            uint8_t *copy = malloc(file->size), kept[4096];
            memcpy(copy, file->image, file->size);
            uint64_t entry = 208 + 24 * (uint64_t)section, shorter = UINT64_MAX, place[2];
            for (int i = 0; i < 2; i++) {
                uint64_t size = forge_get(copy + chunks[i] + entry + 8, 8);
                place[i] = chunks[i] + forge_get(copy + chunks[i] + entry, 8);
                if (size < shorter) shorter = size;
            }
            if (shorter > sizeof kept) shorter = sizeof kept;
            memcpy(kept, copy + place[0], shorter);
            memcpy(copy + place[0], copy + place[1], shorter);
            memcpy(copy + place[1], kept, shorter);
            char what[100];
            snprintf(what, sizeof what, "%s, section %d exchanged, resealed %d", file->name,
                     section, resealed);
            if (resealed) forge_reseal(copy, file->size);
            if (resealed)
                probe_by_oracle(what, copy, file->size, random);
            else
                probe(what, copy, file->size, &file->s, PROBE_EITHER, random);
            free(copy);
        }
    }
    /* The two blocks in the other order: the footer's rows and sizes no longer fit, unless the
     * blocks are alike. */
    uint64_t sizes[2] = {forge_get(file->image + chunks[0] + 8, 8),
                         forge_get(file->image + chunks[1] + 8, 8)};
    uint8_t *copy = malloc(file->size);
    memcpy(copy, file->image, file->size);
    memcpy(copy + chunks[0], file->image + chunks[1], sizes[1]);
    memcpy(copy + chunks[0] + sizes[1], file->image + chunks[0], sizes[0]);
    probe_by_oracle("blocks exchanged", copy, file->size, random);
    /* The first chunk twice, the second gone. */
    memcpy(copy, file->image, file->size);
    if (sizes[0] == sizes[1]) {
        memcpy(copy + chunks[1], file->image + chunks[0], sizes[0]);
        probe_by_oracle("first chunk twice", copy, file->size, random);
    }
    free(copy);
}

int main(void) {
    uint64_t seed = verify_seed(), random = seed;
    static sample_file files[FILES];
    make_files(files);
    uint32_t times = check_scaled(200), step = 200 / (times > 200 ? 200 : times);
    for (int i = 0; i < (frames_available() ? FILES : 10); i++) {
        untouched(&files[i], &random);
        flip_bytes(&files[i], step, &random);
        forge_each_byte(&files[i], step, &random);
        forge_fields(&files[i], times * 2, &random);
        truncate_and_extend(&files[i], step, &random);
        swap_parts(&files[i], &random);
        fastpair_free(NULL, files[i].image);
        shape_free(&files[i].s);
    }
    return check_done();
}
