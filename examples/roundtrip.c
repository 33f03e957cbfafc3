/* roundtrip.c - compresses three rows, then reads one of them back from the compressed column. */
#include <fastpair.h>
#include <stdio.h>

int main(void) {
    const uint64_t offsets[] = {0, 6, 12, 19}; /* row i is bytes offsets[i] to offsets[i + 1] */
    fastpair_rows rows = {.struct_size = sizeof rows,
                          .rows = 3,
                          .bytes = (const uint8_t *)"orangebananacurrant",
                          .offsets = offsets};
    uint8_t *image, row[64];
    uint64_t image_size, row_size;
    fastpair_column *column;
    fastpair_error error;
    if (fastpair_compress(&rows, NULL, &image, &image_size, &error) != FASTPAIR_OK ||
        fastpair_column_open(image, image_size, NULL, &column, &error) != FASTPAIR_OK ||
        fastpair_column_decode_row(column, 1, row, sizeof row, &row_size, NULL, &error) !=
            FASTPAIR_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    printf("row 1 is %.*s\n", (int)row_size, (const char *)row);
    fastpair_column_close(column);
    fastpair_free(NULL, image);
    return 0;
}
