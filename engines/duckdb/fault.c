/* fault.c - failures in words. Each names the file, what is wrong, the place in the file and what
 * helps, since DuckDB's users see nothing else. */
#include "engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A path may fill the message: its end says more than its beginning. */
static const char *short_path(const char *path) {
    size_t length = strlen(path), most = 1024;
    return length > most ? path + length - most : path;
}

int fpd_fail(fpd_fault *fault, const char *path, const char *format, ...) {
    int used =
        path ? snprintf(fault->message, sizeof fault->message, "fastpair: %s: ", short_path(path))
             : snprintf(fault->message, sizeof fault->message, "fastpair: ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->message + used, sizeof fault->message - (size_t)used, format, arguments);
    va_end(arguments);
    return -1;
}

int fpd_fail_memory(fpd_fault *fault) {
    return fpd_fail(fault, NULL, "out of memory; SET threads to fewer, or free some");
}

/* A library message about a file may begin with the end of its name, which is said already. */
static const char *without_name(const char *message, const char *path) {
    const char *colon = strstr(message, ": ");
    size_t length = colon ? (size_t)(colon - message) : 0, whole = strlen(path);
    bool repeats =
        length > 0 && length <= whole && memcmp(path + whole - length, message, length) == 0;
    return repeats ? colon + 2 : message;
}

int fpd_fail_status(fpd_fault *fault, const char *path, const fastpair_error *error) {
    char place[40] = "", number[24];
    const char *remedy = "";
    if (error->status == FASTPAIR_ERROR_OUT_OF_MEMORY) return fpd_fail_memory(fault);
    if (error->position != FASTPAIR_NO_POSITION) {
        snprintf(number, sizeof number, "%" PRIu64, error->position);
        if (!strstr(error->message, number)) snprintf(place, sizeof place, " (offset %s)", number);
    }
    if (error->status == FASTPAIR_ERROR_CORRUPT && !strstr(error->message, "restore"))
        remedy = "; if it was a column, restore it from a good copy";
    return fpd_fail(fault, path, "%s: %s%s%s", fastpair_status_text(error->status),
                    without_name(error->message, path), place, remedy);
}

void fpd_make_utf8(char *text) {
    duckdb_error_data wrong = duckdb_valid_utf8_check(text, strlen(text));
    if (!wrong) return;
    duckdb_destroy_error_data(&wrong);
    for (char *byte = text; *byte; byte++) {
        if ((unsigned char)*byte > 127) *byte = '?';
    }
}
