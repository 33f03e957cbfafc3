/* fuzz_dictionary.c - any bytes as an exported dictionary.
 *
 * Runs the input as it is, and again with its checksums recomputed. What is demanded: no crash,
 * bounded memory; what is taken exports to bytes that import again and export the same; and rows
 * compressed with it come back. */
#include "forge.h"
#include "fuzz.h"

enum { LARGEST_INPUT = 2 << 20, MEMORY_CAP = 64 << 20, ROW_BYTES = 7 };

/* Compresses the input itself with the dictionary, cut into short rows, and compares. */
static void demand_round_trip(const fastpair_dictionary *dictionary, const uint8_t *data,
                              size_t size) {
    if (size > 4096) size = 4096;
    uint64_t rows = size / ROW_BYTES, offsets[4096 / ROW_BYTES + 1];
    for (uint64_t i = 0; i <= rows; i++) offsets[i] = i * ROW_BYTES;
    fastpair_rows view = {
        .struct_size = sizeof view, .rows = rows, .bytes = data, .offsets = offsets};
    fastpair_compress_options options = {.struct_size = sizeof options, .dictionary = dictionary};
    fastpair_error error;
    uint8_t *image, bytes[4096];
    uint64_t image_size;
    DEMAND_OK(fastpair_compress(&view, &options, &image, &image_size, &error), &error);
    fastpair_column *column;
    DEMAND_OK(fastpair_column_open(image, image_size, NULL, &column, &error), &error);
    DEMAND_OK(fastpair_column_validate(column, &error), &error);
    fastpair_destination destination = {
        .struct_size = sizeof destination, .bytes = bytes, .bytes_capacity = rows * ROW_BYTES};
    DEMAND_OK(fastpair_column_decode(column, 0, rows, &destination, &error), &error);
    DEMAND(!memcmp(bytes, data, rows * ROW_BYTES));
    fastpair_column_close(column);
    fastpair_free(NULL, image);
}

static void run_dictionary(const uint8_t *data, size_t size) {
    fuzz_memory memory = {.cap = MEMORY_CAP};
    fastpair_allocator allocator = fuzz_allocator(&memory);
    fastpair_dictionary *first, *second;
    fastpair_error error;
    fastpair_status status = fastpair_dictionary_open(data, size, &allocator, &first, &error);
    if (status == FASTPAIR_OK) {
        uint64_t exported_size = fastpair_dictionary_export_size(first), again_size;
        uint8_t *exported = fuzz_need(exported_size), *again = fuzz_need(exported_size);
        DEMAND_OK(
            fastpair_dictionary_export_into(first, exported, exported_size, &exported_size, &error),
            &error);
        DEMAND_OK(fastpair_dictionary_open(exported, exported_size, &allocator, &second, &error),
                  &error);
        DEMAND_OK(
            fastpair_dictionary_export_into(second, again, exported_size, &again_size, &error),
            &error);
        DEMAND(again_size == exported_size && !memcmp(again, exported, exported_size));
        demand_round_trip(second, data, size);
        free(exported), free(again);
        fastpair_dictionary_close(second);
        fastpair_dictionary_close(first);
    }
    DEMAND(memory.refused == 0 && memory.in_use == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > LARGEST_INPUT) return 0;
    run_dictionary(data, size);
    if (size < FORGE_DICTIONARY_HEADER) return 0;
    uint8_t *sealed = fuzz_need(size);
    memcpy(sealed, data, size);
    forge_reseal_dictionary(sealed, size);
    if (memcmp(sealed, data, size)) run_dictionary(sealed, size);
    free(sealed);
    return 0;
}
