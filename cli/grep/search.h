/* search.h - searching one file and printing what is found. */
#ifndef CLI_GREP_SEARCH_H
#define CLI_GREP_SEARCH_H

#include "print.h"

/* Searches a file and prints what the options ask for. Sets *found if a row matches, also when the
 * call fails further on. Prints what is wrong; CLI_OK or another exit code. */
int grep_search(const grep_options *options, const char *path, grep_printer *printer, bool *found);

#endif
