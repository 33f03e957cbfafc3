/* list_json.c - what a column holds, as one JSON object.
 *
 * In: an open column and its figures. Out: a line on standard output. Names, keys and values that
 * are UTF-8 are strings; other bytes are {"base64": ...}. Bounds of chunks are listed only if
 * --chunks asks for them, as there may be many.
 */
#include "json.h"
#include "list.h"

static void print_column(cli_json *json, const fastpair_column_info *info) {
    cli_figures figures = cli_figures_of(info);
    cli_json_number(json, "rows", info->rows);
    cli_json_number(json, "nulls", info->nulls);
    cli_json_number(json, "bytes", info->decoded_bytes);
    cli_json_number(json, "text_bytes", figures.text_bytes);
    cli_json_number(json, "compressed_bytes", info->compressed_bytes);
    cli_json_string(json, "codec", figures.codec);
    cli_json_number(json, "code_bits", info->code_bits);
    cli_json_number(json, "codes", info->codes);
    cli_json_number(json, "tokens", info->tokens);
    cli_json_number(json, "tokens_in_use", info->tokens_in_use);
    cli_json_real(json, "mean_token", figures.mean_token);
    cli_json_real(json, "share_le8", figures.share_le8);
    cli_json_real(json, "ratio", figures.ratio);
    cli_json_real(json, "ratio_total", figures.ratio_total);
    cli_json_number(json, "sidecar_bytes", info->sidecar_bytes);
    cli_json_number(json, "chunks", info->chunks);
    cli_json_number(json, "stored_chunks", info->stored_chunks);
    cli_json_number(json, "cold_chunks", info->cold_chunks);
    cli_json_number(json, "dictionaries", info->dictionaries);
    cli_json_number(json, "largest_batch", info->largest_batch);
    cli_json_number(json, "batch_codes", info->batch_codes);
    cli_json_open(json, "sections");
    cli_json_number(json, "dictionary", info->dictionary_bytes);
    cli_json_number(json, "codes", info->code_bytes);
    cli_json_number(json, "sidecar", info->sidecar_bytes);
    cli_json_number(json, "lengths", info->length_bytes);
    cli_json_number(json, "validity", info->validity_bytes);
    cli_json_number(json, "other", info->compressed_bytes - figures.section_bytes);
    cli_json_close(json);
}

static void print_metadata(cli_json *json, const fastpair_metadata *metadata) {
    if (metadata->name)
        cli_json_string(json, "name", metadata->name);
    else
        cli_json_null(json, "name");
    cli_json_string(json, "type", metadata->type == FASTPAIR_TYPE_TEXT ? "text" : "bytes");
    cli_json_open(json, "metadata");
    for (uint64_t i = 0; i < metadata->pair_count; i++) {
        const fastpair_pair *pair = &metadata->pairs[i];
        cli_json_bytes(json, pair->key, pair->value, (size_t)pair->value_size);
    }
    cli_json_close(json);
}

static void print_bounds(cli_json *json, const fastpair_chunk_bounds *bounds) {
    if (!bounds->has_bounds) return;
    if (!bounds->has_row) {
        cli_json_null(json, "smallest");
        cli_json_null(json, "largest");
        return;
    }
    cli_json_bytes(json, "smallest", bounds->smallest, (size_t)bounds->smallest_size);
    cli_json_bool(json, "smallest_is_cut", bounds->smallest_is_cut);
    cli_json_bytes(json, "largest", bounds->largest, (size_t)bounds->largest_size);
    cli_json_bool(json, "largest_is_cut", bounds->largest_is_cut);
}

/* The chunks up to the first that cannot be read. */
static fastpair_status print_chunks(cli_json *json, const cli_listed *listed,
                                    fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    cli_json_open_list(json, "chunk_list");
    for (uint64_t i = 0; i < listed->info.chunks && status == FASTPAIR_OK; i++) {
        fastpair_chunk_info chunk = {.struct_size = sizeof(chunk)};
        fastpair_chunk_bounds bounds = {.struct_size = sizeof(bounds)};
        status = fastpair_column_get_chunk(listed->column, i, &chunk, error);
        if (status == FASTPAIR_OK)
            status = fastpair_column_get_chunk_bounds(listed->column, i, &bounds, error);
        if (status != FASTPAIR_OK) break;
        cli_json_open(json, NULL);
        cli_json_number(json, "first_row", chunk.first_row);
        cli_json_number(json, "rows", chunk.rows);
        cli_json_number(json, "bytes", chunk.decoded_bytes);
        cli_json_number(json, "file_offset", chunk.file_offset);
        cli_json_number(json, "file_bytes", chunk.file_bytes);
        print_bounds(json, &bounds);
        cli_json_close(json);
    }
    cli_json_close_list(json);
    return status;
}

fastpair_status cli_list_json(const cli_listed *listed, const char *path, bool with_chunks,
                              fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "file", path);
    print_metadata(&json, &listed->metadata);
    print_column(&json, &listed->info);
    if (with_chunks) status = print_chunks(&json, listed, error);
    cli_json_end(&json);
    return status;
}
