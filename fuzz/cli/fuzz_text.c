/* fuzz_text.c - any bytes as a text that the command cuts into rows.
 *
 * The first byte chooses the separator. What is demanded: rows hold no separator, and put together
 * with separators between them, and after the last if the cutter says so, they are the text. */
#define _GNU_SOURCE /* memfd_create */

#include "fuzz.h"
#include "text.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    uint8_t separator = data[0];
    data++, size--;
    cli_input input = {.fd = memfd_create("text", MFD_CLOEXEC), .path = "text", .name = "text"};
    DEMAND(input.fd >= 0 && write(input.fd, data, size) == (ssize_t)size &&
           lseek(input.fd, 0, SEEK_SET) == 0);
    cli_text text;
    fastpair_rows rows;
    size_t at = 0;
    int begun = 0;
    DEMAND(cli_text_open(&text, &input, separator) == CLI_OK);
    for (;;) {
        DEMAND(cli_text_next(&text, &rows) == CLI_OK);
        if (rows.rows == 0) break;
        for (uint64_t i = 0; i < rows.rows; i++) {
            uint64_t length = row_start(&rows, i + 1) - row_start(&rows, i);
            if (begun) DEMAND(at < size && data[at++] == separator);
            begun = 1;
            DEMAND(length <= size - at &&
                   !memcmp(data + at, rows.bytes + row_start(&rows, i), length));
            DEMAND(!length || !memchr(data + at, separator, length));
            at += length;
        }
    }
    if (text.final_separator) DEMAND(begun && at < size && data[at++] == separator);
    DEMAND(at == size && input.done == size);
    cli_text_close(&text);
    close(input.fd);
    return 0;
}
