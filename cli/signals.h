/* signals.h - a signal that ends the command leaves no temporary file. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>

/* Installs the handlers. Once, before the first thread and the first temporary file. */
void cli_signals_prepare(void);

/* Creates a file that must not exist yet, and notes it for removal if a signal ends the program.
 * There is one such file at a time. The path is copied. Returns a descriptor, or -1 with errno. */
int cli_temporary_create(const char *path);

/* The file got its final name, or was removed: a signal has nothing to remove any more. */
void cli_temporary_release(void);

/* Holds all ending signals back from this thread, and lets them through again. */
void cli_signals_hold(sigset_t *before);
void cli_signals_resume(const sigset_t *before);

#endif
