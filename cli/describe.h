/* describe.h - what the command line says of a column: --name, --meta, --type. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "fastpair.h"

#include <stdbool.h>

/* Most pairs of one command line. */
#define CLI_MOST_PAIRS 256

/* Rows of a text have no type of their own, so the default is FASTPAIR_TYPE_DETECT. Keys are cut out
 * of the command line's own words, which are changed for it. */
typedef struct cli_description {
    fastpair_metadata metadata; /* its pairs are those below; cli_description_finish sets them */
    fastpair_pair pairs[CLI_MOST_PAIRS];
    bool given; /* any of the options was there */
} cli_description;

void cli_description_begin(cli_description *description);

/* One option; CLI_OK, or CLI_FAILED after a message. `word` lasts as long as the description, and
 * the first = of KEY=VALUE becomes its end. */
int cli_describe_name(cli_description *description, const char *word);
int cli_describe_type(cli_description *description, const char *word);
int cli_describe_pair(cli_description *description, char *word);

/* The description is complete and will not move. */
void cli_description_finish(cli_description *description);

#endif
