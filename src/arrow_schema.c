/* arrow_schema.c - what is exported, and as which Arrow type. In: a column and the caller's options.
 * Out: a plan, and ArrowSchema structs. The one decision: whether 32-bit offsets do for every array
 * of a stream, from what the footer says of chunks; rows are measured only where that is too coarse.
 * Refuses options that are unknown. */
#include "arrow.h"

#include "options.h"

#include <inttypes.h>

/* Keys by which Arrow names extension types. A file that nobody trusts must not choose what code a
 * consumer runs for a type. */
#define EXTENSION_KEY "ARROW:extension:"

/* ---------------------------------------------------------------- plans */

fastpair_status fp_arrow_plan_open(const fastpair_column *column,
                                   const fastpair_arrow_options *options, fp_arrow_plan *plan,
                                   fastpair_error *error) {
    fastpair_arrow_options given;
    *plan = (fp_arrow_plan){.column = column};
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (!status) status = fp_allocator_resolve(&given.allocator, &plan->allocator, error);
    if (status) return status;
    if ((uint32_t)given.layout > FASTPAIR_ARROW_VIEWS ||
        (uint32_t)given.type > FASTPAIR_ARROW_BYTES)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "layout is %d and type is %d; they must be in 0..3 and 0..2",
                       (int)given.layout, (int)given.type);
    plan->metadata.struct_size = sizeof plan->metadata;
    if (column && (status = fastpair_column_get_metadata(column, &plan->metadata, error)))
        return status;
    plan->layout = given.layout;
    plan->is_text =
        given.type == FASTPAIR_ARROW_TEXT ||
        (given.type == FASTPAIR_ARROW_AS_RECORDED && plan->metadata.type == FASTPAIR_TYPE_TEXT);
    plan->as_struct = given.as_struct != 0;
    plan->batch_rows = given.batch_rows;
    plan->name = given.name ? given.name : plan->metadata.name ? plan->metadata.name : "";
    return FASTPAIR_OK;
}

static fastpair_chunk_info chunk_of(const fastpair_column *column, uint64_t row) {
    fastpair_chunk_info info = {.struct_size = sizeof info};
    uint64_t chunk = 0;
    fastpair_column_find_chunk(column, row, &chunk, NULL);
    fastpair_column_get_chunk(column, chunk, &info, NULL);
    return info;
}

uint64_t fp_arrow_batch_end(const fp_arrow_plan *plan, uint64_t first, uint64_t end) {
    uint64_t rows = plan->batch_rows;
    if (!rows) {
        fastpair_chunk_info info = chunk_of(plan->column, first);
        rows = info.rows - (first - info.first_row);
    }
    return rows < end - first ? first + rows : end;
}

fastpair_status fp_arrow_plan_stream(fp_arrow_plan *plan, uint64_t first, uint64_t count,
                                     fastpair_error *error) {
    const fastpair_column *column = plan->column;
    if (plan->layout != FASTPAIR_ARROW_OFFSETS) return FASTPAIR_OK;
    plan->layout = FASTPAIR_ARROW_OFFSETS32;
    for (uint64_t row = first; row < first + count;) {
        uint64_t next = fp_arrow_batch_end(plan, row, first + count);
        fastpair_chunk_info from = chunk_of(column, row), to = chunk_of(column, next - 1);
        uint64_t bytes = to.first_byte + to.decoded_bytes - from.first_byte;
        fastpair_status status = FASTPAIR_OK;
        if (bytes > INT32_MAX)
            status = fastpair_column_rows_size(column, row, next - row, &bytes, error);
        if (status) return status;
        if (bytes > INT32_MAX) {
            plan->layout = FASTPAIR_ARROW_OFFSETS64;
            return FASTPAIR_OK;
        }
        row = next;
        /* All batches within a chunk that has few bytes have few. */
        if (plan->batch_rows && to.decoded_bytes <= INT32_MAX) {
            uint64_t left = to.first_row + to.rows - next;
            row += left / plan->batch_rows * plan->batch_rows;
        }
    }
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- schemas */

/* What a schema owns: strings follow it. */
typedef struct schema_block {
    fastpair_allocator allocator;
    struct ArrowSchema child; /* of a struct */
    struct ArrowSchema *children[1];
} schema_block;

static void release_schema(struct ArrowSchema *schema) {
    if (!schema || !schema->release) return;
    schema_block *block = schema->private_data;
    fastpair_allocator allocator = block->allocator;
    if (block->child.release) block->child.release(&block->child);
    fp_release(&allocator, block);
    schema->release = NULL;
}

static int is_exported(const fastpair_pair *pair) {
    return strncmp(pair->key, EXTENSION_KEY, strlen(EXTENSION_KEY)) != 0;
}

/* The pairs as Arrow lays them out: their number, then each key and value after its size. All are
 * 32-bit numbers in the machine's order. Returns the size, 0 if there are no pairs; writes if `out`
 * is not NULL. A file has at most 2^20 bytes of pairs. */
static uint64_t put_pairs(const fastpair_metadata *metadata, char *out) {
    uint64_t size = sizeof(int32_t);
    int32_t count = 0;
    for (uint64_t i = 0; i < metadata->pair_count; i++) {
        const fastpair_pair *pair = &metadata->pairs[i];
        if (!is_exported(pair)) continue;
        const void *parts[2] = {pair->key, pair->value};
        uint64_t sizes[2] = {strlen(pair->key), pair->value_size};
        for (int k = 0; k < 2; k++) {
            int32_t part_size = (int32_t)sizes[k];
            if (out) memcpy(out + size, &part_size, sizeof part_size);
            if (out && part_size)
                memcpy(out + size + sizeof part_size, parts[k], (size_t)part_size);
            size += sizeof part_size + sizes[k];
        }
        count++;
    }
    if (out) memcpy(out, &count, sizeof count);
    return count ? size : 0;
}

static const char *format_of(const fp_arrow_plan *plan) {
    switch (plan->layout) {
    case FASTPAIR_ARROW_VIEWS: return plan->is_text ? "vu" : "vz";
    case FASTPAIR_ARROW_OFFSETS64: return plan->is_text ? "U" : "Z";
    case FASTPAIR_ARROW_OFFSETS:
    case FASTPAIR_ARROW_OFFSETS32: break;
    }
    return plan->is_text ? "u" : "z";
}

static fastpair_status make_field(const fp_arrow_plan *plan, struct ArrowSchema *schema,
                                  fastpair_error *error) {
    uint64_t name_size = strlen(plan->name) + 1, pairs_size = put_pairs(&plan->metadata, NULL);
    uint64_t size = sizeof(schema_block) + name_size + pairs_size;
    schema_block *block = fp_allocate_zero(&plan->allocator, size, 1);
    if (!block) return fp_fail_memory(error, size);
    block->allocator = plan->allocator;
    char *name = (char *)(block + 1), *pairs = name + name_size;
    memcpy(name, plan->name, (size_t)name_size);
    if (pairs_size) put_pairs(&plan->metadata, pairs);
    *schema = (struct ArrowSchema){.format = format_of(plan),
                                   .name = name,
                                   .metadata = pairs_size ? pairs : NULL,
                                   .flags = ARROW_FLAG_NULLABLE,
                                   .release = release_schema,
                                   .private_data = block};
    return FASTPAIR_OK;
}

fastpair_status fp_arrow_make_schema(const fp_arrow_plan *plan, struct ArrowSchema *schema,
                                     fastpair_error *error) {
    if (!plan->as_struct) return make_field(plan, schema, error);
    schema_block *block = fp_allocate_zero(&plan->allocator, 1, sizeof *block);
    if (!block) return fp_fail_memory(error, sizeof *block);
    block->allocator = plan->allocator;
    fastpair_status status = make_field(plan, &block->child, error);
    if (status) {
        fp_release(&plan->allocator, block);
        return status;
    }
    block->children[0] = &block->child;
    *schema = (struct ArrowSchema){.format = "+s",
                                   .name = "",
                                   .n_children = 1,
                                   .children = block->children,
                                   .release = release_schema,
                                   .private_data = block};
    return FASTPAIR_OK;
}

fastpair_status fastpair_column_export_schema(const fastpair_column *column,
                                              const fastpair_arrow_options *options,
                                              struct ArrowSchema *schema, fastpair_error *error) {
    if (schema) *schema = (struct ArrowSchema){0};
    if (!column || !schema)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_export_schema: column and schema must not be NULL");
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fp_arrow_plan plan;
    fastpair_status status = fp_arrow_plan_open(column, options, &plan, error);
    if (!status) status = fastpair_column_get_totals(column, &totals, error);
    if (!status) status = fp_arrow_plan_stream(&plan, 0, totals.rows, error);
    return status ? status : fp_arrow_make_schema(&plan, schema, error);
}
