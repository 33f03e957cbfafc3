/* json.h - one JSON object per line, with few levels, always valid. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
    FILE *file;
    bool first; /* the open object has no member yet */
} cli_json;

void cli_json_begin(cli_json *json, FILE *file);
void cli_json_string(cli_json *json, const char *key, const char *value);
void cli_json_number(cli_json *json, const char *key, uint64_t value);
void cli_json_bool(cli_json *json, const char *key, bool value);
/* null when the value is not finite. */
void cli_json_real(cli_json *json, const char *key, double value);
void cli_json_null(cli_json *json, const char *key);
/* A string if the bytes are UTF-8, else an object with their base64. */
void cli_json_bytes(cli_json *json, const char *key, const void *bytes, size_t size);
/* An object as a member, until cli_json_close. In a list it has no key: NULL. */
void cli_json_open(cli_json *json, const char *key);
void cli_json_close(cli_json *json);
/* A list as a member, until cli_json_close_list. */
void cli_json_open_list(cli_json *json, const char *key);
void cli_json_close_list(cli_json *json);
/* Ends the object and the line. */
void cli_json_end(cli_json *json);

#endif
