/* json.c - one JSON object a line, always valid.
 *
 * In: members in order. Out: text on a FILE. File names are bytes and JSON is Unicode: bytes that are not UTF-8 become
 * U+FFFD, control characters become escapes. Numbers that are not finite become null. The locale is never set, so
 * printf writes decimal points.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>

void cli_json_begin(cli_json *json, FILE *file) {
    *json = (cli_json){.file = file, .first = true};
    fputc('{', file);
}

/* The length of the UTF-8 sequence at `s` (which ends with a NUL), or 0 if there is none. */
static int utf8_length(const unsigned char *s) {
    if (s[0] < 0x80) return 1;
    int length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    /* Overlong forms, surrogates, and what is above U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

static void put_string(FILE *file, const char *value) {
    const unsigned char *s = (const unsigned char *)value;
    fputc('"', file);
    while (*s) {
        int length = utf8_length(s);
        if (length == 0) {
            fputs("\\ufffd", file);
            length = 1;
        } else if (*s < 0x20 || *s == 0x7f)
            fprintf(file, "\\u%04x", *s);
        else if (*s == '"' || *s == '\\')
            fprintf(file, "\\%c", *s);
        else
            fwrite(s, 1, (size_t)length, file);
        s += length;
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
