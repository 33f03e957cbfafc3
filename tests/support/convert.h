/* convert.h - images of columns from warm to cold and back, in memory. */
#ifndef FP_TESTS_CONVERT_H
#define FP_TESTS_CONVERT_H

#include "forge.h"
#include "verify.h"

/* Converts an image; the result is empty if that fails, and *error says why. */
static inline forge_bytes convert_with(const uint8_t *image, uint64_t size,
                                       const fastpair_open_options *open,
                                       const fastpair_convert_options *options,
                                       fastpair_error *error) {
    forge_bytes made = {0};
    fastpair_sink sink = {forge_write, &made};
    fastpair_column *column = NULL;
    fastpair_status status = fastpair_column_open(image, size, open, &column, error);
    if (!status) status = fastpair_column_convert(column, options, &sink, error);
    fastpair_column_close(column);
    if (!status) return made;
    free(made.data);
    return (forge_bytes){0};
}

/* The same, which must succeed. */
static inline forge_bytes convert_image(const uint8_t *image, uint64_t size, int cold,
                                        uint32_t threads) {
    fastpair_error error = {.message = ""};
    fastpair_open_options open = {.struct_size = sizeof open, .threads = threads};
    fastpair_convert_options options = {.struct_size = sizeof options, .cold = cold};
    forge_bytes made = convert_with(image, size, &open, &options, &error);
    CHECK(made.size > 0);
    if (!made.size) fprintf(stderr, "  ^ convert: %s\n", error.message), exit(1);
    return made;
}

/* Chunks whose section is a frame. */
static inline uint64_t count_cold(const uint8_t *image, uint64_t size) {
    fastpair_column *column = NULL;
    fastpair_column_info info = {.struct_size = sizeof info};
    if (fastpair_column_open(image, size, NULL, &column, NULL) ||
        fastpair_column_get_info(column, &info, NULL))
        CHECK(!"a good column");
    fastpair_column_close(column);
    return info.cold_chunks;
}

/* What a test of cold files is in a build without zstd: such files are refused by name. Returns the
 * exit code. */
static inline int only_refusals(void) {
    forge_bytes image = forge_empty_column();
    fastpair_column *column = NULL;
    fastpair_error error = {.message = ""};
    image.data[20] = 1;
    forge_reseal(image.data, image.size);
    CHECK_EQ(fastpair_column_open(image.data, image.size, NULL, &column, &error),
             FASTPAIR_ERROR_UNSUPPORTED);
    CHECK(strstr(error.message, "zstd") != NULL);
    free(image.data);
    return check_done();
}

static inline int same_bytes(const forge_bytes *a, const uint8_t *b, uint64_t size) {
    return a->size == size && !memcmp(a->data, b, size);
}

#endif
