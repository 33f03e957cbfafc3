/* json.c - one JSON object per line, always valid.
 *
 * In: members in order. Out: text on a FILE. File names are bytes and JSON is Unicode: bytes that
 * are not UTF-8 become U+FFFD, control characters become escapes. Numbers that are not finite
 * become null. The locale is never set, so printf writes decimal points.
 */
#include "json.h"

#include "cli.h"

#include <inttypes.h>
#include <math.h>

void cli_json_begin(cli_json *json, FILE *file) {
    *json = (cli_json){.file = file, .first = true};
    fputc('{', file);
}

static void put_string(FILE *file, const char *value) {
    fputc('"', file);
    while (*value) {
        int length = cli_utf8_length(value);
        if (length == 0) {
            fputs("\\ufffd", file);
            length = 1;
        } else if (length == 1 && (*value < 0x20 || *value == 0x7f))
            fprintf(file, "\\u%04x", (unsigned char)*value);
        else if (*value == '"' || *value == '\\')
            fprintf(file, "\\%c", *value);
        else
            fwrite(value, 1, (size_t)length, file);
        value += length;
    }
    fputc('"', file);
}

static void put_key(cli_json *json, const char *key) {
    if (!json->first) fputs(", ", json->file);
    json->first = false;
    put_string(json->file, key);
    fputs(": ", json->file);
}

void cli_json_string(cli_json *json, const char *key, const char *value) {
    put_key(json, key);
    put_string(json->file, value);
}

void cli_json_number(cli_json *json, const char *key, uint64_t value) {
    put_key(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void cli_json_bool(cli_json *json, const char *key, bool value) {
    put_key(json, key);
    fputs(value ? "true" : "false", json->file);
}

void cli_json_real(cli_json *json, const char *key, double value) {
    put_key(json, key);
    if (isfinite(value))
        fprintf(json->file, "%.6g", value);
    else
        fputs("null", json->file);
}

void cli_json_open(cli_json *json, const char *key) {
    put_key(json, key);
    fputc('{', json->file);
    json->first = true;
}

void cli_json_close(cli_json *json) {
    fputc('}', json->file);
    json->first = false;
}

void cli_json_end(cli_json *json) { fputs("}\n", json->file); }
