/* fuzz_grep.c - any words as the command line of fpgrep, and the last of them as a row.
 *
 * The input is the words, each ended by a NUL. What is demanded: what is refused is refused with a
 * message that a terminal can show; what is taken is in the ranges the header gives; what is to be
 * coloured in a row are parts of it, in order, each of which is one of the patterns, and there is
 * none only if no pattern is there. Files of patterns (-f) are not opened: words that could name
 * one are left out. */
#include "capture.h"
#include "grep.h"

#include <getopt.h>
#include <strings.h>

enum { LARGEST_INPUT = 4096, MOST_WORDS = 64 };

static void demand_sense(const grep_options *o, char **words, int count) {
    const cli_options *common = &o->common;
    DEMAND(o->answer <= GREP_VERSION && o->names <= GREP_NEVER && o->color <= GREP_NEVER);
    if (o->answer == GREP_HELP || o->answer == GREP_VERSION) return;
    DEMAND(o->kind >= FASTPAIR_EQUALS && o->kind <= FASTPAIR_LIKE);
    DEMAND(o->escape >= -1 && o->escape <= 255 && (o->escape < 0 || o->kind == FASTPAIR_LIKE));
    DEMAND(common->threads <= 1024 && common->backend <= CLI_BACKEND_GPU);
    DEMAND(common->first_row <= common->end_row);
    DEMAND(common->file_count >= 0 && common->files + common->file_count == words + count);
    DEMAND(o->patterns.count > 0 && o->patterns.count <= (uint64_t)count);
    for (uint64_t i = 0; i < o->patterns.count; i++)
        DEMAND(strlen(o->patterns.list[i].bytes) == o->patterns.list[i].size);
}

static int equal(const grep_options *o, const char *a, const char *b, size_t size) {
    return o->ignore_case ? !strncasecmp(a, b, size) : !memcmp(a, b, size);
}

/* Whether a part of a row is one of the patterns. */
static int is_pattern(const grep_options *o, const char *part, uint64_t size) {
    for (uint64_t i = 0; i < o->patterns.count; i++)
        if (o->patterns.list[i].size == size && equal(o, part, o->patterns.list[i].bytes, size))
            return 1;
    return 0;
}

static void demand_parts(const grep_options *o, const char *row) {
    grep_highlight highlight;
    uint64_t size = strlen(row), start = 0, length = 0, done = 0, found = 0;
    DEMAND(grep_highlight_open(&highlight, &o->patterns, o->kind, o->ignore_case) == CLI_OK);
    while (grep_highlight_next(&highlight, (const uint8_t *)row, size, &start, &length)) {
        DEMAND(start >= done && length > 0 && length <= size && start <= size - length);
        DEMAND(o->kind == FASTPAIR_EQUALS || is_pattern(o, row + start, length));
        DEMAND(o->kind != FASTPAIR_STARTS_WITH || start == 0);
        DEMAND(o->kind != FASTPAIR_ENDS_WITH || start + length == size);
        done = start += length;
        found++;
    }
    if (o->kind == FASTPAIR_CONTAINS && found == 0)
        for (uint64_t at = 0; at < size; at++)
            for (uint64_t i = 1; i <= size - at; i++) DEMAND(!is_pattern(o, row + at, i));
    grep_highlight_close(&highlight);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char program[] = "fpgrep", *words[MOST_WORDS + 2] = {program}, *text;
    int count = 1;
    if (size > LARGEST_INPUT) return 0;
    text = fuzz_need(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    for (size_t at = 0; at < size && count <= MOST_WORDS; at += strlen(text + at) + 1)
        if (text[at] != '-' || !strchr(text + at, 'f')) words[count++] = text + at;
    words[count] = NULL;
    grep_options options;
    capture said;
    optind = 0; /* makes getopt forget the last command line */
    cli_program("fpgrep", "");
    capture_begin(&said);
    int result = grep_options_parse(count, words, &options);
    capture_end(&said);
    if (result == CLI_OK) {
        DEMAND(said.size == 0);
        demand_sense(&options, words, count);
        if (strlen(words[count - 1]) < 200) demand_parts(&options, words[count - 1]);
    } else {
        DEMAND(result == CLI_FAILED);
        demand_message(&said, "fpgrep: ");
    }
    grep_patterns_close(&options.patterns);
    free(said.text);
    free(text);
    return 0;
}
