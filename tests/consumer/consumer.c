/* consumer.c - a program outside the source tree that knows only the installed header and library.
 * Compresses with two threads, so that a missing -pthread shows, and compares the version it was
 * compiled with with the library's. */
#include <fastpair.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20000, ROW_ROOM = 48 };

static int complain(const char *what, const fastpair_error *error) {
    fprintf(stderr, "consumer: %s: %s\n", what, error->message);
    return 1;
}

int main(void) {
    char expected_version[32];
    snprintf(expected_version, sizeof expected_version, "%d.%d.%d", FASTPAIR_VERSION_MAJOR,
             FASTPAIR_VERSION_MINOR, FASTPAIR_VERSION_PATCH);
    if (strcmp(fastpair_version(), expected_version) != 0) {
        fprintf(stderr, "consumer: header %s, library %s\n", expected_version, fastpair_version());
        return 1;
    }

    char *text = malloc(ROWS * ROW_ROOM);
    uint64_t *offsets = malloc((ROWS + 1) * sizeof *offsets);
    uint8_t *decoded = malloc(ROWS * ROW_ROOM);
    if (!text || !offsets || !decoded) return 1;
    offsets[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        int length = snprintf(text + offsets[i], ROW_ROOM, "the %dth order, from customer %d", i,
                              i * 7919 % 1000);
        offsets[i + 1] = offsets[i] + (uint64_t)length;
    }

    fastpair_rows rows = {.struct_size = sizeof rows,
                          .rows = ROWS,
                          .bytes = (const uint8_t *)text,
                          .offsets = offsets};
    fastpair_compress_options options = {
        .struct_size = sizeof options, .chunk_bytes = 100000, .threads = 2};
    fastpair_error error;
    uint8_t *image;
    uint64_t image_size;
    fastpair_column *column;
    if (fastpair_compress(&rows, &options, &image, &image_size, &error))
        return complain("compress", &error);
    if (fastpair_column_open(image, image_size, NULL, &column, &error))
        return complain("open", &error);
    fastpair_destination destination = {
        .struct_size = sizeof destination, .bytes = decoded, .bytes_capacity = offsets[ROWS]};
    if (fastpair_column_decode(column, 0, ROWS, &destination, &error))
        return complain("decode", &error);
    if (memcmp(decoded, text, offsets[ROWS]) != 0 || image_size >= offsets[ROWS]) {
        fprintf(stderr, "consumer: rows came back changed, or did not get smaller\n");
        return 1;
    }
    fastpair_column_close(column);
    fastpair_free(NULL, image);
    free(text), free(offsets), free(decoded);
    printf("fastpair %s: %d rows came back\n", expected_version, ROWS);
    return 0;
}
