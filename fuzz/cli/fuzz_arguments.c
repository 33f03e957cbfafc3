/* fuzz_arguments.c - any words as the command line, and as names in JSON.
 *
 * The input is the words, each ended by a NUL. What is demanded: what is refused is refused with a
 * message that a terminal can show; what is taken is in the ranges the header gives, and the
 * library takes it too; a name makes a valid JSON string, whatever its bytes. */
#include "capture.h"
#include "cli.h"
#include "json.h"

#include <getopt.h>
#include <math.h>

enum { LARGEST_INPUT = 4096, MOST_WORDS = 64 };

static int write_nothing(void *context, const void *data, size_t size) {
    (void)context, (void)data, (void)size;
    return 0;
}

static void demand_sense(const cli_options *o, char **words, int count) {
    DEMAND(o->threads <= 1024 && o->codec <= FASTPAIR_CODEC_STORED &&
           o->goal <= FASTPAIR_GOAL_SPEED);
    DEMAND(o->code_bits == 0 || (o->code_bits >= 9 && o->code_bits <= 16));
    DEMAND(o->max_token == 0 || o->max_token == 8 || o->max_token == 16 || o->max_token == 32 ||
           o->max_token == 64);
    DEMAND(o->chunk_bytes <= 1ull << 30 && o->expert.sample_bytes <= 1ull << 40);
    DEMAND(o->expert.batch_codes % 32 == 0 && o->expert.batch_codes <= 1024);
    uint32_t alignment = o->expert.section_alignment;
    DEMAND(alignment == 0 || alignment == 64 || alignment == 4096);
    DEMAND(o->first_row <= o->end_row && (o->slice || (!o->first_row && o->end_row == UINT64_MAX)));
    DEMAND(isfinite(o->bench_seconds) && o->bench_seconds >= 0 && o->bench_seconds <= 3600);
    DEMAND(o->backend <= CLI_BACKEND_GPU && (o->separator == '\n' || o->separator == 0));
    DEMAND(o->mode == CLI_MODE_HELP || o->mode == CLI_MODE_VERSION ||
           (o->file_count >= 0 && o->files + o->file_count == words + count));
    if (o->mode != CLI_MODE_COMPRESS && o->mode != CLI_MODE_BENCH && o->mode != CLI_MODE_TRAIN)
        return;
    fastpair_compress_options options = cli_compress_options(o);
    options.threads = 1; /* the number was looked at; starting that many takes long */
    fastpair_sink sink = {write_nothing, NULL};
    fastpair_writer *writer;
    fastpair_error error;
    fastpair_status status = fastpair_writer_open(&sink, &options, &writer, &error);
    /* What names and keys may be is the library's to say. */
    if (status == FASTPAIR_ERROR_INVALID_ARGUMENT && o->description.given)
        DEMAND(strstr(error.message, "metadata") != NULL);
    else
        DEMAND_OK(status, &error);
    fastpair_writer_close(writer);
}

/* Reads back what json.c made of a name: one string, UTF-8, nothing in it that JSON does not
 * allow. */
static void demand_json(const char *name) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file) abort();
    cli_json json;
    cli_json_begin(&json, file);
    cli_json_string(&json, "f", name);
    cli_json_end(&json);
    fclose(file);
    const char *at = text + strlen("{\"f\": \"");
    DEMAND(!strncmp(text, "{\"f\": \"", 7));
    while (*at != '"') {
        unsigned char c = (unsigned char)*at++;
        DEMAND(c >= 32 && c != 127);
        int more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        DEMAND(c < 0x80 || (c >= 0xc2 && c <= 0xf4));
        while (more--) DEMAND((*at++ & 0xc0) == 0x80);
        if (c != '\\') continue;
        c = (unsigned char)*at++;
        DEMAND(c == '"' || c == '\\' || c == 'u');
        if (c != 'u') continue;
        DEMAND(strspn(at, "0123456789abcdef") >= 4);
        at += 4;
    }
    DEMAND(!strcmp(at, "\"}\n"));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char program[] = "fastpair", *words[MOST_WORDS + 2] = {program}, *text;
    int count = 1;
    if (size > LARGEST_INPUT) return 0;
    text = fuzz_need(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    for (size_t at = 0; at < size && count <= MOST_WORDS; at += strlen(text + at) + 1) {
        words[count++] = text + at;
        demand_json(text + at);
    }
    words[count] = NULL;
    cli_options options;
    capture said;
    optind = 0; /* makes getopt forget the last command line */
    capture_begin(&said);
    int result = cli_options_parse(count, words, &options);
    capture_end(&said);
    if (result == CLI_OK) {
        DEMAND(said.size == 0);
        demand_sense(&options, words, count);
    } else {
        DEMAND(result == CLI_FAILED);
        demand_message(&said, "fastpair: ");
    }
    free(said.text);
    free(text);
    return 0;
}
