/* test_exchanged_parts.c - small files of every codec, damaged in every way that can be listed:
 * each bit flipped, each section exchanged with each other, each count enlarged.
 *
 * Flipped bits must be noticed, and the error must name a place in the block that was hit.
 * Exchanged sections and enlarged counts come with the layout and all checksums made right: the
 * library must agree with the oracle on what is good, with buffers of exactly the sizes given. */
#include "forge.h"
#include "frames.h"
#include "probe.h"

typedef struct sample_file {
    const char *name;
    uint8_t *image;
    uint64_t size;
} sample_file;

#define FILES 8

/* The last two are cold. */
static int file_count(void) { return frames_available() ? FILES : FILES - 2; }

static void make_files(sample_file *files) {
    static const struct {
        const char *name;
        fastpair_codec codec;
        uint32_t bits, longest, hot;
        shape_kind kind;
        int cold;
    } settings[FILES] = {{"onpair16", FASTPAIR_CODEC_ONPAIR, 16, 16, 0, SHAPE_FOUR_VALUES, 0},
                         {"onpair12", FASTPAIR_CODEC_ONPAIR, 12, 16, 0, SHAPE_FOUR_VALUES, 0},
                         {"onpair:9, hot part", FASTPAIR_CODEC_ONPAIR, 9, 16, 4, SHAPE_PREFIXES, 0},
                         {"onpair:14:8", FASTPAIR_CODEC_ONPAIR, 14, 8, 0, SHAPE_FOUR_VALUES, 0},
                         {"fsst12", FASTPAIR_CODEC_FSST12, 0, 0, 0, SHAPE_FOUR_VALUES, 0},
                         {"stored", FASTPAIR_CODEC_STORED, 0, 0, 0, SHAPE_TINY_ROWS, 0},
                         {"cold", FASTPAIR_CODEC_ONPAIR, 12, 16, 0, SHAPE_PREFIXES, 1},
                         {"cold, stored", FASTPAIR_CODEC_STORED, 0, 0, 0, SHAPE_PERIODIC, 1}};
    for (int i = 0; i < file_count(); i++) {
        int coded = settings[i].codec != FASTPAIR_CODEC_STORED;
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = settings[i].codec};
        options.code_bits = settings[i].bits, options.max_token = settings[i].longest;
        options.expert = EXPERT(.hot_codes = settings[i].hot, .batch_codes = coded ? 32 : 0);
        options.chunk_bytes = coded ? 2000 : 1024;
        options.cold = settings[i].cold;
        shape s;
        fastpair_error error;
        shape_make(&s, settings[i].kind, 7,
                   &(shape_options){.bytes = coded ? 3500 : 1600, .null_percent = 15});
        files[i].name = settings[i].name;
        if (!verify_ok(
                fastpair_compress(&s.rows, &options, &files[i].image, &files[i].size, &error),
                &error, files[i].name))
            exit(1);
        shape_free(&s);
        CHECK_EQ(forge_block(files[i].image, files[i].size, "FPDI", 0) != 0, coded);
        CHECK(forge_block(files[i].image, files[i].size, "FPCH", 1) != 0);
        printf("%-24s %llu bytes\n", files[i].name, (unsigned long long)files[i].size);
    }
}

/* ---------------------------------------------------------------- flipped bits */

/* Where the block begins that holds a byte, and where the next does. The file header counts as a
 * block. */
static void block_of(const sample_file *file, uint64_t byte, uint64_t *begin, uint64_t *end) {
    *begin = 0, *end = 64;
    while (byte >= *end) {
        *begin = *end;
        *end += forge_get(file->image + *begin + 8, 8);
        if (!memcmp(file->image + *begin, "FPFT", 4)) *end = file->size; /* the trailer with it */
    }
}

/* What a reader says of an image; OK if it is good. */
static fastpair_status read_all(const uint8_t *image, uint64_t size, fastpair_error *error) {
    verify_source from = {image, size, 0, 0};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    fastpair_status status = reader_open_with(1, &source, NULL, &reader, error);
    for (int at_end = 0; status == FASTPAIR_OK && !at_end;) {
        fastpair_rows rows = {.struct_size = sizeof rows};
        status = fastpair_reader_next(reader, &rows, &at_end, error);
    }
    fastpair_reader_close(reader);
    return status;
}

/* Fields that say where something else is, or how long: a wrong one is found out there. Offset,
 * size of the field. */
static int is_pointer(const sample_file *file, uint64_t byte, uint64_t begin) {
    uint64_t in_block = byte - begin;
    return byte >= file->size - 32 || (begin && in_block >= 4 && in_block < 16);
}

static void flip_bits(const sample_file *file, uint32_t step) {
    uint8_t *copy = malloc(file->size);
    uint64_t unnoticed = 0, unread = 0, elsewhere = 0, speechless = 0, runs = 0;
    for (uint64_t bit = 0; bit < 8 * file->size; bit += step, runs++) {
        uint64_t byte = bit / 8, begin, end;
        block_of(file, byte, &begin, &end);
        memcpy(copy, file->image, file->size);
        copy[byte] ^= (uint8_t)(1u << (bit % 8));
        fastpair_error error = {.message = ""};
        fastpair_column *column = NULL;
        fastpair_status status = fastpair_column_open(copy, file->size, NULL, &column, &error);
        if (status == FASTPAIR_OK) status = validate_with(1, column, &error);
        fastpair_column_close(column);
        unnoticed += status == FASTPAIR_OK;
        speechless += strlen(error.message) < 10;
        if (status != FASTPAIR_OK && !is_pointer(file, byte, begin) &&
            (error.position < begin || error.position >= end)) {
            if (elsewhere++ < 3)
                fprintf(stderr, "  %s, bit %llu: %s (position %llu)\n", file->name,
                        (unsigned long long)bit, error.message, (unsigned long long)error.position);
        }
        status = read_all(copy, file->size, &error);
        unread += status == FASTPAIR_OK;
        if (status != FASTPAIR_OK && error.position > file->size) elsewhere++;
    }
    CHECK_EQ(unnoticed, 0);
    CHECK_EQ(unread, 0);
    CHECK_EQ(elsewhere, 0);
    CHECK_EQ(speechless, 0);
    free(copy);
}

/* ---------------------------------------------------------------- sections exchanged */

/* Every two sections of the file, of whatever block and size. */
static void exchange_sections(const sample_file *file, uint64_t *random) {
    static forge_parts p;
    CHECK(forge_parts_open(&p, file->image, file->size));
    forge_bytes *sections[FORGE_MOST_BLOCKS * FORGE_SECTIONS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < p.count; i++)
        for (uint32_t k = 0; k < p.blocks[i].section_count; k++)
            sections[count++] = &p.blocks[i].sections[k];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i; k < count; k++) {
            char what[100];
            forge_bytes kept = *sections[i];
            *sections[i] = *sections[k], *sections[k] = kept;
            forge_bytes image = forge_join(&p);
            if (i == k)
                CHECK(image.size == file->size && !memcmp(image.data, file->image, image.size));
            snprintf(what, sizeof what, "%s, sections %u and %u exchanged", file->name, i, k);
            probe_by_oracle(what, image.data, image.size, random);
            free(image.data);
            kept = *sections[i];
            *sections[i] = *sections[k], *sections[k] = kept;
        }
    /* And every two blocks. */
    for (uint32_t i = 0; i < p.count; i++)
        for (uint32_t k = i + 1; k < p.count; k++) {
            forge_part kept = p.blocks[i];
            p.blocks[i] = p.blocks[k], p.blocks[k] = kept;
            forge_bytes image = forge_join(&p);
            probe_by_oracle("blocks exchanged", image.data, image.size, random);
            free(image.data);
            kept = p.blocks[i];
            p.blocks[i] = p.blocks[k], p.blocks[k] = kept;
        }
    forge_parts_close(&p);
}

/* ---------------------------------------------------------------- counts enlarged */

typedef struct count_field {
    const char *kind; /* of its block */
    uint32_t at, width;
} count_field;

static const count_field fields[] = {
    {"FPDI", 8, 8},   {"FPDI", 17, 1},  {"FPDI", 18, 1},  {"FPDI", 24, 4},  {"FPDI", 28, 4},
    {"FPDI", 32, 4},  {"FPDI", 36, 4},  {"FPDI", 48, 8},  {"FPDI", 56, 8},  {"FPDI", 21, 1},
    {"FPDI", 72, 8},  {"FPCH", 8, 8},   {"FPCH", 20, 4},  {"FPCH", 24, 8},  {"FPCH", 32, 8},
    {"FPCH", 40, 8},  {"FPCH", 48, 8},  {"FPCH", 56, 4},  {"FPCH", 60, 4},  {"FPCH", 64, 4},
    {"FPCH", 68, 4},  {"FPCH", 72, 4},  {"FPCH", 80, 8},  {"FPCH", 136, 8}, {"FPCH", 200, 8},
    {"FPCH", 208, 8}, {"FPCH", 216, 8}, {"FPCH", 232, 8}, {"FPCH", 240, 8}, {"FPCH", 256, 8},
    {"FPCH", 264, 8}, {"FPCH", 280, 8}, {"FPCH", 288, 8}, {"FPFT", 8, 8},   {"FPFT", 16, 8},
    {"FPFT", 24, 8},  {"FPFT", 32, 8},  {"FPFT", 40, 8},  {"FPFT", 48, 8},  {"FPFT", 56, 8},
    {"FPFT", 120, 8}, {"FPFT", 128, 4}, {"FPFT", 136, 8}, {"FPFT", 144, 8}, {"FPFT", 152, 8},
    {"FPFT", 160, 8}};

static void enlarge_counts(const sample_file *file, uint64_t *random) {
    uint8_t *copy = malloc(file->size);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        uint64_t block = forge_block(file->image, file->size, fields[i].kind, 0);
        if (!block) continue;
        uint64_t at = block + fields[i].at, old = forge_get(file->image + at, (int)fields[i].width);
        const uint64_t values[] = {old + 1,        old * 2 + 1,     old + 64,   1u << 16,
                                   (1u << 28) + 1, UINT32_MAX,      1ull << 32, 1ull << 40,
                                   1ull << 61,     UINT64_MAX - old};
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            char what[100];
            memcpy(copy, file->image, file->size);
            forge_put(copy + at, values[k], (int)fields[i].width);
            if (!memcmp(copy, file->image, file->size)) continue;
            forge_reseal(copy, file->size);
            snprintf(what, sizeof what, "%s, %s field at %u: %llu -> %llu", file->name,
                     fields[i].kind, fields[i].at, (unsigned long long)old,
                     (unsigned long long)values[k]);
            probe_by_oracle(what, copy, file->size, random);
        }
    }
    free(copy);
}

/* ---------------------------------------------------------------- buffers that are too small */

/* Decoding what nobody validated, into less room than it asks for: nothing is written past the
 * room given. */
static void small_buffers(const sample_file *file, uint32_t times, uint64_t *random) {
    uint8_t *copy = malloc(file->size);
    for (uint32_t i = 0; i < times; i++) {
        memcpy(copy, file->image, file->size);
        for (int changes = 0; changes < 3; changes++) {
            uint64_t chunk = forge_block(copy, file->size, "FPCH", check_random(random) % 2);
            const uint8_t *entry = copy + chunk + 208 + 24 * (check_random(random) % 4);
            uint64_t size = forge_get(entry + 8, 8);
            if (size)
                copy[chunk + forge_get(entry, 8) + check_random(random) % size] =
                    (uint8_t)check_random(random);
        }
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(copy, file->size, NULL, &column, NULL), FASTPAIR_OK);
        fastpair_column_info info = {.struct_size = sizeof info};
        CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
        uint64_t room = check_random(random) % info.decoded_bytes,
                 row = check_random(random) % info.rows;
        guard bytes = guard_make(room), offsets = guard_make((info.rows + 1) * 4);
        fastpair_destination to = to_memory(bytes.data, room, offsets.data, 32, NULL);
        fastpair_error error;
        CHECK(decode_with(1 + i % 2, column, 0, info.rows, &to, &error) != FASTPAIR_OK);
        uint64_t size, little = room < 5 ? room : 5;
        to = to_memory(bytes.data, little, offsets.data, 32, NULL);
        decode_with(1, column, row, info.rows - row, &to, &error);
        fastpair_column_decode_row(column, row, bytes.data, little, &size, NULL, &error);
        CHECK(guard_free(&bytes) && guard_free(&offsets));
        fastpair_column_close(column);
    }
    free(copy);
}

int main(void) {
    uint64_t random = verify_seed();
    static sample_file files[FILES];
    make_files(files);
    uint32_t times = check_scaled(100), step = 100 / (times > 100 ? 100 : times);
    if (step > 1) step |= 1; /* so that all bits of a byte have their turn */
    for (int i = 0; i < file_count(); i++) {
        flip_bits(&files[i], step);
        exchange_sections(&files[i], &random);
        enlarge_counts(&files[i], &random);
        small_buffers(&files[i], times, &random);
        fastpair_free(NULL, files[i].image);
    }
    return check_done();
}
