/* values.c - values of options: numbers, sizes, ranges of rows, words.
 *
 * In: the text of a value. Out: the value, within its range. Refuses signs, spaces, and anything
 * after the value, with a message that says what the option takes.
 */
#include "values.h"

#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool cli_read_number(const char *text, uint64_t *value, const char **end) {
    if (*text < '0' || *text > '9') return false;
    char *stop;
    errno = 0;
    unsigned long long number = strtoull(text, &stop, 10);
    *value = number;
    *end = stop;
    return errno == 0;
}

int cli_parse_number(const char *option, const char *text, uint64_t least, uint64_t most,
                     uint64_t *value) {
    const char *end;
    if (cli_read_number(text, value, &end) && *end == 0 && *value >= least && *value <= most)
        return CLI_OK;
    return cli_mistake("%s takes a number from %llu to %llu, not '%s'", option,
                       (unsigned long long)least, (unsigned long long)most, text);
}

int cli_parse_size(const char *option, const char *text, uint64_t least, uint64_t most,
                   uint64_t *value) {
    const char *end;
    if (cli_read_number(text, value, &end)) {
        unsigned shift = 0;
        switch (*end) {
        case 'k':
        case 'K': shift = 10; break;
        case 'm':
        case 'M': shift = 20; break;
        case 'g':
        case 'G': shift = 30; break;
        default: break;
        }
        if (shift) end++;
        if (shift && strcmp(end, "iB") == 0) end += 2;
        if (strcmp(end, "B") == 0) end++;
        if (*end == 0 && *value <= UINT64_MAX >> shift) {
            *value <<= shift;
            if (*value >= least && *value <= most) return CLI_OK;
        }
    }
    char low[32], high[32];
    return cli_mistake("%s takes a size from %s to %s, such as 500K, 16M or 1G, not '%s'", option,
                       cli_size_text(least, low), cli_size_text(most, high), text);
}

int cli_parse_rows(const char *text, uint64_t *first, uint64_t *end) {
    const char *at = text;
    *first = 0;
    *end = UINT64_MAX;
    bool good = strncmp(text, "..", 2) == 0 || cli_read_number(text, first, &at);
    good = good && strncmp(at, "..", 2) == 0;
    if (good && at[2] != 0) good = cli_read_number(at + 2, end, &at) && *at == 0;
    if (!good)
        return cli_mistake("--rows takes a range such as 10..20, 10.. or ..20, not '%s'", text);
    if (*first > *end) return cli_mistake("--rows=%s: the first row is past the end", text);
    return CLI_OK;
}

int cli_parse_word(const char *option, const char *text, const char *const *words, int *index) {
    for (*index = 0; words[*index]; ++*index)
        if (strcmp(text, words[*index]) == 0) return CLI_OK;
    return cli_mistake("%s takes %s, %s or %s, not '%s'", option, words[0], words[1], words[2],
                       text);
}
