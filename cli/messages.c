/* messages.c - what the command says on stderr.
 *
 * In: a name, and what went wrong. Out: one line that names the file, the reason and, where there is one, the
 * remedy; and the exit code that goes with it. Names are cleaned of control characters, so that a file name cannot
 * write escape sequences to a terminal.
 */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *cli_clean_name(const char *name, char buffer[CLI_NAME_ROOM]) {
    size_t length = strlen(name), used = 0;
    for (size_t i = 0; i < length && used + 1 < CLI_NAME_ROOM; i++) {
        unsigned char c = (unsigned char)name[i];
        buffer[used++] = c < 32 || c == 127 ? '?' : (char)c;
    }
    buffer[used] = 0;
    return buffer;
}

static void say(const char *name, const char *format, va_list arguments) {
    char clean[CLI_NAME_ROOM];
    fputs("fastpair: ", stderr);
    if (name) fprintf(stderr, "%s: ", cli_clean_name(name, clean));
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int cli_fail(const char *name, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(name, format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

static const char *remedy_for(int number) {
    switch (number) {
    case ENOSPC: return "; free some space or write elsewhere with -o";
    case EDQUOT: return "; your quota is used up: free some space or write elsewhere with -o";
    case EPIPE: return "; whatever read this output has gone away";
    case EEXIST: return "; use -f to overwrite it, or -o to choose another name";
    case EACCES:
    case EPERM:
    case EROFS: return "; check the permissions, or write elsewhere with -o";
    case ENOMEM: return "; use fewer threads (-T1) or smaller chunks (--chunk)";
    default: return "";
    }
}

int cli_fail_errno(const char *name, int number) {
    return cli_fail(name, "%s%s", strerror(number), remedy_for(number));
}

/* A library message about a file may begin with the end of its name, which is said already. */
static const char *without_name(const char *message, const char *name) {
    const char *colon = strstr(message, ": ");
    size_t length = colon ? (size_t)(colon - message) : 0, whole = name ? strlen(name) : 0;
    bool repeats = length > 0 && length <= whole && memcmp(name + whole - length, message, length) == 0;
    return repeats ? colon + 2 : message;
}

/* Library messages mostly name the place and the remedy; what one lacks is added. */
int cli_fail_status(const char *name, const fastpair_error *error) {
    bool input_at_fault =
        error->status == FASTPAIR_ERROR_CORRUPT || error->status == FASTPAIR_ERROR_UNSUPPORTED;
    char place[40] = "", number[24];
    const char *remedy = "";
    if (input_at_fault && error->position != FASTPAIR_NO_POSITION) {
        snprintf(number, sizeof(number), "%" PRIu64, error->position);
        if (!strstr(error->message, number)) snprintf(place, sizeof(place), " (offset %s)", number);
    }
    if (error->status == FASTPAIR_ERROR_CORRUPT && !strstr(error->message, "restore"))
        remedy = "; if it was a column, restore it from a good copy";
    else if (error->status == FASTPAIR_ERROR_OUT_OF_MEMORY)
        remedy = remedy_for(ENOMEM);
    cli_fail(name, "%s: %s%s%s", fastpair_status_text(error->status), without_name(error->message, name),
             place, remedy);
    return input_at_fault ? CLI_CORRUPT : CLI_FAILED;
}

void cli_note(const cli_options *options, const char *format, ...) {
    if (options->verbosity < 0) return;
    va_list arguments;
    va_start(arguments, format);
    say(NULL, format, arguments);
    va_end(arguments);
}

const char *cli_size_text(uint64_t bytes, char buffer[32]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 6) value /= 1024, unit++;
    if (unit == 0)
        snprintf(buffer, 32, "%" PRIu64 " B", bytes);
    else
        snprintf(buffer, 32, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[unit]);
    return buffer;
}

double cli_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
