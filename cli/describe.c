/* describe.c - what the command line says of a column.
 *
 * In: the values of --name, --meta and --type. Out: a fastpair_metadata. Refuses what could only be
 * a mistake; sizes and UTF-8 are the library's to check.
 */
#include "describe.h"

#include "cli.h"

#include <string.h>

void cli_description_begin(cli_description *description) {
    *description = (cli_description){
        .metadata = {.struct_size = sizeof(fastpair_metadata), .type = FASTPAIR_TYPE_DETECT}};
}

int cli_describe_name(cli_description *description, const char *word) {
    description->given = true;
    description->metadata.name = word;
    return CLI_OK;
}

int cli_describe_type(cli_description *description, const char *word) {
    static const struct {
        const char *name;
        fastpair_type type;
    } types[] = {{"text", FASTPAIR_TYPE_TEXT},
                 {"bytes", FASTPAIR_TYPE_BYTES},
                 {"detect", FASTPAIR_TYPE_DETECT}};
    description->given = true;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strcmp(word, types[i].name) == 0) {
            description->metadata.type = types[i].type;
            return CLI_OK;
        }
    return cli_fail(NULL, "--type takes text, bytes or detect, not '%s'", word);
}

int cli_describe_pair(cli_description *description, char *word) {
    char *equals = strchr(word, '=');
    description->given = true;
    if (!equals || equals == word)
        return cli_fail(NULL, "--meta takes KEY=VALUE, such as unit=EUR, not '%s'", word);
    if (description->metadata.pair_count == CLI_MOST_PAIRS)
        return cli_fail(NULL, "--meta may be given %d times at most", CLI_MOST_PAIRS);
    *equals = 0;
    fastpair_pair *pair = &description->pairs[description->metadata.pair_count++];
    *pair = (fastpair_pair){word, equals + 1, strlen(equals + 1)};
    return CLI_OK;
}

void cli_description_finish(cli_description *description) {
    description->metadata.pairs = description->pairs;
}
