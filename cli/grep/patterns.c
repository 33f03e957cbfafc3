/* patterns.c - the patterns of a command line.
 *
 * In: words, and files of lines. Out: one list of patterns, in the order given. The words are not
 * copied. A file is read whole, up to what a search takes.
 */
#include "patterns.h"

#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What fastpair_search_open takes at most, with a newline for each pattern. */
#define LARGEST_FILE (32ull << 20)

int grep_patterns_add(grep_patterns *patterns, const void *bytes, uint64_t size) {
    if (patterns->count == patterns->room) {
        uint64_t room = patterns->room ? patterns->room * 2 : 16;
        fastpair_pattern *larger = realloc(patterns->list, room * sizeof(*larger));
        if (!larger) return cli_fail_errno(NULL, ENOMEM);
        patterns->list = larger;
        patterns->room = room;
    }
    patterns->list[patterns->count++] = (fastpair_pattern){.bytes = bytes, .size = size};
    return CLI_OK;
}

/* Keeps what was read until the patterns are closed; false when memory is short. */
static bool keep_file(grep_patterns *patterns, uint8_t *data) {
    uint8_t **larger = realloc(patterns->files, (patterns->file_count + 1) * sizeof(*larger));
    if (!larger) return false;
    patterns->files = larger;
    patterns->files[patterns->file_count++] = data;
    return true;
}

int grep_patterns_load(grep_patterns *patterns, const char *path) {
    cli_input input;
    uint8_t *data;
    uint64_t size;
    patterns->given = true;
    int result = cli_input_open(&input, path);
    if (result != CLI_OK) return result;
    result = cli_input_load(&input, LARGEST_FILE, &data, &size);
    cli_input_close(&input);
    if (result != CLI_OK) return result;
    if (!keep_file(patterns, data)) {
        free(data);
        return cli_fail_errno(input.name, ENOMEM);
    }
    for (uint64_t at = 0; result == CLI_OK && at < size;) {
        const uint8_t *newline = memchr(data + at, '\n', (size_t)(size - at));
        uint64_t end = newline ? (uint64_t)(newline - data) : size;
        result = grep_patterns_add(patterns, data + at, end - at);
        at = end + 1;
    }
    return result;
}

void grep_patterns_close(grep_patterns *patterns) {
    for (uint64_t i = 0; i < patterns->file_count; i++) free(patterns->files[i]);
    free(patterns->files);
    free(patterns->list);
    *patterns = (grep_patterns){0};
}
