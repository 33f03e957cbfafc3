/* json.c - one JSON object per line, always valid.
 *
 * In: members in order. Out: text on a FILE. File names are bytes and JSON is Unicode: bytes that
 * are not UTF-8 become U+FFFD, control characters become escapes. Numbers that are not finite
 * become null. Values that may be any bytes keep them, as base64. The locale is never set, so printf writes decimal points.
 */
#include "json.h"

#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void cli_json_begin(cli_json *json, FILE *file) {
    *json = (cli_json){.file = file, .first = true};
    fputc('{', file);
}

/* One character at `text`, of which `left` bytes are there and a NUL after them; returns its size. */
static size_t put_character(FILE *file, const char *text, size_t left) {
    int length = cli_utf8_length(text);
    if (length == 0 || (size_t)length > left) {
        fputs("\\ufffd", file);
        length = 1;
    } else if (length == 1 && (*text < 0x20 || *text == 0x7f))
        fprintf(file, "\\u%04x", (unsigned char)*text);
    else if (*text == '"' || *text == '\\')
        fprintf(file, "\\%c", *text);
    else
        fwrite(text, 1, (size_t)length, file);
    return (size_t)length;
}

static void put_string(FILE *file, const char *value) {
    size_t left = strlen(value);
    fputc('"', file);
    while (left > 0) {
        size_t length = put_character(file, value, left);
        value += length;
        left -= length;
    }
    fputc('"', file);
}

static void put_key(cli_json *json, const char *key) {
    if (!json->first) fputs(", ", json->file);
    json->first = false;
    if (!key) return; /* an item of a list */
    put_string(json->file, key);
    fputs(": ", json->file);
}

/* The character at bytes[0], with zeros after the last byte. */
static void copy_character(const uint8_t *bytes, size_t left, char text[5]) {
    memset(text, 0, 5);
    memcpy(text, bytes, left < 4 ? left : 4);
}

static bool is_utf8(const uint8_t *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        char text[5];
        copy_character(bytes + at, size - at, text);
        int length = cli_utf8_length(text);
        if (length == 0 || (size_t)length > size - at) return false;
        at += (size_t)length;
    }
    return true;
}

static void put_base64(FILE *file, const uint8_t *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < size; at += 3) {
        size_t left = size - at;
        uint32_t three = (uint32_t)bytes[at] << 16 | (left > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) |
                         (left > 2 ? bytes[at + 2] : 0);
        fputc(digits[three >> 18], file);
        fputc(digits[three >> 12 & 63], file);
        fputc(left > 1 ? digits[three >> 6 & 63] : '=', file);
        fputc(left > 2 ? digits[three & 63] : '=', file);
    }
}

void cli_json_bytes(cli_json *json, const char *key, const void *value, size_t size) {
    const uint8_t *bytes = value;
    put_key(json, key);
    if (is_utf8(bytes, size)) {
        fputc('"', json->file);
        for (size_t at = 0; at < size;) {
            char text[5];
            copy_character(bytes + at, size - at, text);
            at += put_character(json->file, text, size - at);
        }
        fputc('"', json->file);
    } else {
        fputs("{\"base64\": \"", json->file);
        put_base64(json->file, bytes, size);
        fputs("\"}", json->file);
    }
}

void cli_json_null(cli_json *json, const char *key) {
    put_key(json, key);
    fputs("null", json->file);
}

void cli_json_open_list(cli_json *json, const char *key) {
    put_key(json, key);
    fputc('[', json->file);
    json->first = true;
}

void cli_json_close_list(cli_json *json) {
    fputc(']', json->file);
    json->first = false;
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
