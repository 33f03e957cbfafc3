/* list.h - what cmd_list.c and list_json.c share: a column that is being listed. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include "mapping.h"

typedef struct cli_listed {
    cli_input input;
    cli_mapping mapping;
    fastpair_column *column;
    fastpair_column_info info;
    fastpair_metadata metadata;
} cli_listed;

/* Prints a column as a JSON object, on one line. A failure, about bounds of chunks, comes after what
 * could be printed. */
fastpair_status cli_list_json(const cli_listed *listed, const char *path, bool with_chunks,
                              fastpair_error *error);

#endif
