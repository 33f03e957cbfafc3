/* messages.c - what the command says on stderr.
 *
 * In: a name, and what went wrong. Out: one line that names the file, the reason and, where there
 * is one, the remedy; and the exit code that goes with it. Messages are cleaned of control
 * characters, so that no file name and no word of the command line can write escape sequences to a
 * terminal.
 */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_ROOM = 2048 };

/* Which command speaks, and what it can do about memory. */
static const char *program_name = "fastpair";
static const char *memory_remedy = "; use fewer threads (-T1) or smaller chunks (--chunk)";

void cli_program(const char *name, const char *when_memory_is_short) {
    program_name = name;
    memory_remedy = when_memory_is_short;
}

int cli_utf8_length(const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return 1;
    int length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    /* Overlong forms, surrogates, and what is above U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

/* What a terminal shows as it is; controls U+0080 to U+009F are C2 80 to C2 9F. */
static bool is_plain(const char *s, int length) {
    unsigned char first = (unsigned char)s[0], second = length > 1 ? (unsigned char)s[1] : 0;
    return length > 0 && first >= 32 && first != 127 && !(first == 0xc2 && second < 0xa0);
}

static const char *clean(const char *text, char *buffer, size_t room) {
    size_t used = 0;
    while (*text && used + 5 < room) { /* the longest sequence, and the end */
        int length = cli_utf8_length(text);
        bool plain = is_plain(text, length);
        if (plain)
            memcpy(buffer + used, text, (size_t)length);
        else
            buffer[used] = '?';
        used += plain ? (size_t)length : 1;
        text += length > 0 ? length : 1;
    }
    buffer[used] = 0;
    return buffer;
}

const char *cli_clean_name(const char *name, char buffer[CLI_NAME_ROOM]) {
    return clean(name, buffer, CLI_NAME_ROOM);
}

/* Messages may hold what users and files say, so they are cleaned as a whole. */
static void say(const char *name, const char *format, va_list arguments) {
    char text[MESSAGE_ROOM], cleaned[MESSAGE_ROOM], clean_name[CLI_NAME_ROOM];
    vsnprintf(text, sizeof(text), format, arguments);
    fprintf(stderr, "%s: %s%s%s\n", program_name, name ? cli_clean_name(name, clean_name) : "",
            name ? ": " : "", clean(text, cleaned, sizeof(cleaned)));
}

int cli_fail(const char *name, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(name, format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_mistake(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(NULL, format, arguments);
    va_end(arguments);
    return cli_fail(NULL, "try '%s --help'", program_name);
}

/* What helps whatever the file was for; cli_output_fail knows more about outputs. */
static const char *remedy_for(int number) {
    switch (number) {
    case ENOSPC: return "; free some space";
    case EPIPE: return "; whatever read this output has gone away";
    case EACCES:
    case EPERM: return "; check the permissions";
    case ENOMEM: return memory_remedy;
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
    bool repeats =
        length > 0 && length <= whole && memcmp(name + whole - length, message, length) == 0;
    return repeats ? colon + 2 : message;
}

/* Library messages mostly name the place and the remedy; what one lacks is added. */
int cli_fail_status(const char *name, const fastpair_error *error) {
    /* What a machine lacks is at no place in the file. */
    bool input_at_fault =
        error->status == FASTPAIR_ERROR_CORRUPT ||
        (error->status == FASTPAIR_ERROR_UNSUPPORTED && error->position != FASTPAIR_NO_POSITION);
    bool on_gpu = strncmp(error->message, "GPU", 3) == 0;
    char place[40] = "", number[24];
    const char *remedy = "";
    if (input_at_fault && error->position != FASTPAIR_NO_POSITION) {
        snprintf(number, sizeof(number), "%" PRIu64, error->position);
        if (!strstr(error->message, number)) snprintf(place, sizeof(place), " (offset %s)", number);
    }
    if (error->status == FASTPAIR_ERROR_CORRUPT && !strstr(error->message, "restore"))
        remedy = "; if it was a column, restore it from a good copy";
    else if (on_gpu && error->status != FASTPAIR_ERROR_CORRUPT)
        remedy = "; or use --backend=cpu";
    else if (error->status == FASTPAIR_ERROR_OUT_OF_MEMORY)
        remedy = remedy_for(ENOMEM);
    cli_fail(name, "%s: %s%s%s", fastpair_status_text(error->status),
             without_name(error->message, name), place, remedy);
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

/* errno of the first failed write to standard output; later calls of stdio forget it. */
static int stdout_error;

bool cli_flush(void) {
    if (fflush(stdout) != 0 && stdout_error == 0) stdout_error = errno;
    return stdout_error == 0;
}

int cli_finish_stdout(void) {
    cli_flush();
    if (close(STDOUT_FILENO) != 0 && stdout_error == 0) stdout_error = errno;
    if (stdout_error == 0 && ferror(stdout)) stdout_error = EIO;
    return stdout_error == 0 ? CLI_OK : cli_fail_errno("standard output", stdout_error);
}

double cli_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
