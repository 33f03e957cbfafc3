/* peers_rest.c - columns at rest: how small, and how fast one thread reads them. In: the same column
 * warm and cold. Out: a line each, and one for each level of zstd on the text as one frame, with a
 * newline after each row. Rates are of the decoded bytes, whole columns per call, in turns; ours give
 * bytes, as zstd does. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text_of {
    uint8_t *bytes;
    uint64_t size;
} text_of;

/* The rows with a newline after each. */
static text_of make_text(const bench_column *column) {
    uint64_t rows = column->info.rows, *offsets = bench_memory((rows + 1) * sizeof *offsets);
    text_of text = {bench_memory(column->info.decoded_bytes + rows + 1), 0};
    fastpair_destination to = {.struct_size = sizeof to,
                               .bytes = column->bytes,
                               .bytes_capacity = column->info.decoded_bytes,
                               .offsets = offsets,
                               .offset_bits = 64};
    fastpair_error error;
    if (fastpair_column_decode(column->column, 0, rows, &to, &error))
        bench_die("%s: %s", column->path, error.message);
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t length = offsets[i + 1] - offsets[i];
        memcpy(text.bytes + text.size, column->bytes + offsets[i], (size_t)length);
        text.bytes[text.size + length] = '\n';
        text.size += length + 1;
    }
    free(offsets);
    return text;
}

/* One way to keep the column. */
typedef struct keeper {
    char how[24];
    const bench_column *column; /* ours; NULL: a frame */
    cpu_codec codec;
    uint8_t *frame;
    uint64_t size;
    double best; /* seconds */
    bool verified;
} keeper;

static bool read_once(const keeper *one, const text_of *text, uint8_t *to) {
    if (!one->column)
        return one->codec.decompress(&one->codec, one->frame, one->size, to, text->size);
    fastpair_destination destination = {.struct_size = sizeof destination,
                                        .bytes = to,
                                        .bytes_capacity = one->column->info.decoded_bytes};
    return !fastpair_column_decode(one->column->column, 0, one->column->info.rows, &destination,
                                   NULL);
}

static bool is_right(const keeper *one, const text_of *text, const uint8_t *bytes,
                     const bench_column *warm) {
    return one->column ? memcmp(bytes, warm->bytes, (size_t)warm->info.decoded_bytes) == 0
                       : memcmp(bytes, text->bytes, (size_t)text->size) == 0;
}

static void print_rest(const keeper *one, const bench_column *warm, const text_of *text) {
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "rest");
    cli_json_string(&json, "file", warm->path);
    cli_json_string(&json, "how", one->how);
    cli_json_number(&json, "bytes", text->size);
    cli_json_number(&json, "compressed_bytes", one->size);
    cli_json_real(&json, "ratio", (double)text->size / (double)one->size);
    cli_json_real(&json, "gb_s", (double)text->size / one->best / 1e9);
    cli_json_bool(&json, "verified", one->verified);
    cli_json_end(&json);
    fflush(stdout);
}

enum { LEVELS = 3, KEEPERS = LEVELS + 2 };

/* Frames of the text; returns how many could be made. */
static int make_frames(const text_of *text, keeper *frames) {
    static const int levels[LEVELS] = {3, 9, 19};
    int made = 0;
    cpu_codec codec;
    bool usable;
    for (int i = 0; cpu_codec_get(i, &codec, &usable); i++) {
        bool wanted = false;
        for (int l = 0; l < LEVELS; l++) wanted |= codec.level == levels[l];
        if (!usable || !wanted || strcmp(codec.name, "zstd") != 0) continue;
        keeper *one = &frames[made++];
        *one = (keeper){.codec = codec};
        snprintf(one->how, sizeof one->how, "zstd -%d", codec.level);
        uint64_t room = codec.bound(&codec, text->size);
        one->frame = bench_memory(room);
        one->size = codec.compress(&codec, text->bytes, text->size, one->frame, room);
    }
    return made;
}

void measure_rest(const peer_options *options, const bench_column *warm, const bench_column *cold) {
    text_of text = make_text(warm);
    if (!text.size) return;
    uint8_t *back = bench_memory(text.size);
    memset(back, 0, (size_t)text.size);
    keeper all[KEEPERS] = {
        {.how = "cold", .column = cold, .size = cold->info.compressed_bytes},
        {.how = "warm", .column = warm, .size = warm->info.compressed_bytes},
    };
    int count = 2 + make_frames(&text, all + 2);
    for (int i = 0; i < count; i++) {
        all[i].best = 1e9;
        all[i].verified = read_once(&all[i], &text, back) && is_right(&all[i], &text, back, warm);
    }
    for (double begin = bench_seconds(); bench_seconds() - begin < options->seconds * count;)
        for (int i = 0; i < count; i++) {
            double start = bench_seconds();
            all[i].verified &= read_once(&all[i], &text, back);
            double seconds = bench_seconds() - start;
            if (seconds < all[i].best) all[i].best = seconds;
        }
    for (int i = 0; i < count; i++) {
        print_rest(&all[i], warm, &text);
        free(all[i].frame);
    }
    free(back);
    free(text.bytes);
}
