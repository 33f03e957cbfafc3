/* predicate.c - named parameters in, a predicate of fastpair_search.h out. Each of contains, like,
 * prefix, suffix and equals is a text, a blob or a list of them, of which one must fit; all that are
 * given must hold. Refused: NULL, other types, and parameters that nothing uses. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    fastpair_predicate_kind kind;
} kinds[FPD_PREDICATE_KINDS] = {
    {"contains", FASTPAIR_CONTAINS}, {"like", FASTPAIR_LIKE},     {"prefix", FASTPAIR_STARTS_WITH},
    {"suffix", FASTPAIR_ENDS_WITH},  {"equals", FASTPAIR_EQUALS},
};

void fpd_predicate_declare(duckdb_table_function function) {
    duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY),
                        text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR),
                        flag = duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);
    for (size_t i = 0; i < FPD_PREDICATE_KINDS; i++)
        duckdb_table_function_add_named_parameter(function, kinds[i].name, any);
    duckdb_table_function_add_named_parameter(function, "ignore_case", flag);
    duckdb_table_function_add_named_parameter(function, "escape", text);
    duckdb_table_function_add_named_parameter(function, "search_column", text);
    duckdb_destroy_logical_type(&any);
    duckdb_destroy_logical_type(&text);
    duckdb_destroy_logical_type(&flag);
}

/* ---------------------------------------------------------------- patterns */

/* Copies the bytes of a text or a blob. DuckDB's getters end texts at their first NUL and read escapes
 * in blobs, so a vector is made of the value: it shows the bytes as they are. */
static int copy_bytes(fastpair_pattern *pattern, const char *name, duckdb_value value,
                      fpd_fault *fault) {
    /* The type belongs to the value. */
    duckdb_logical_type type = value ? duckdb_get_value_type(value) : NULL;
    duckdb_type id = type ? duckdb_get_type_id(type) : DUCKDB_TYPE_INVALID;
    if (!value || duckdb_is_null_value(value))
        return fpd_fail(fault, NULL, "parameter %s must not be NULL", name);
    if (id != DUCKDB_TYPE_VARCHAR && id != DUCKDB_TYPE_BLOB)
        return fpd_fail(fault, NULL, "parameter %s must be text, a blob or a list of them", name);
    duckdb_vector vector = duckdb_create_vector(type, 1);
    if (!vector) return fpd_fail_memory(fault);
    duckdb_vector_reference_value(vector, value);
    duckdb_string_t *string = duckdb_vector_get_data(vector);
    uint32_t size = duckdb_string_t_length(*string);
    char *copy = malloc(size ? size : 1);
    if (copy) memcpy(copy, duckdb_string_t_data(string), size);
    duckdb_destroy_vector(&vector);
    if (!copy) return fpd_fail_memory(fault);
    *pattern = (fastpair_pattern){.bytes = copy, .size = size};
    return 0;
}

/* Fills in the patterns of a leaf from a value, which may be a list. */
static int read_patterns(fastpair_predicate *leaf, const char *name, duckdb_value value,
                         fpd_fault *fault) {
    duckdb_type id = duckdb_get_type_id(duckdb_get_value_type(value));
    bool list = id == DUCKDB_TYPE_LIST && !duckdb_is_null_value(value);
    uint64_t count = list ? duckdb_get_list_size(value) : 1;
    if (count == 0) return fpd_fail(fault, NULL, "parameter %s must not be an empty list", name);
    fastpair_pattern *patterns = calloc(count, sizeof *patterns);
    if (!patterns) return fpd_fail_memory(fault);
    leaf->patterns = patterns;
    int status = 0;
    for (uint64_t i = 0; i < count && status == 0; i++) {
        duckdb_value item = list ? duckdb_get_list_child(value, i) : value;
        status = copy_bytes(&patterns[i], name, item, fault);
        if (status == 0) leaf->pattern_count++;
        if (list) duckdb_destroy_value(&item);
    }
    return status;
}

void fpd_predicate_close(fpd_predicate *predicate) {
    for (uint64_t i = 0; i < predicate->root.child_count; i++) {
        const fastpair_predicate *leaf = &predicate->child[i];
        for (uint64_t k = 0; k < leaf->pattern_count; k++) free((void *)leaf->patterns[k].bytes);
        free((void *)leaf->patterns);
    }
    *predicate = (fpd_predicate){0};
}

/* ---------------------------------------------------------------- the other parameters */

/* A text parameter; *text is NULL if it was not given, and else the caller's to free with
 * duckdb_free. */
static int read_text(duckdb_bind_info info, const char *name, char **text, fpd_fault *fault) {
    duckdb_value value = duckdb_bind_get_named_parameter(info, name);
    *text = NULL;
    if (!value) return 0;
    if (!duckdb_is_null_value(value)) *text = duckdb_get_varchar(value);
    duckdb_destroy_value(&value);
    return *text ? 0 : fpd_fail(fault, NULL, "parameter %s must not be NULL", name);
}

static int find_field(fpd_predicate *predicate, const char *name, const fpd_table *table,
                      fpd_fault *fault) {
    if (!name && table->fields == 1) return 0;
    for (size_t i = 0; name && i < table->fields; i++) {
        predicate->field = i;
        if (strcasecmp(table->field[i].name, name) == 0) return 0;
    }
    char known[600] = "";
    for (size_t i = 0; i < table->fields; i++) {
        if (strlen(known) + strlen(table->field[i].name) + 4 > sizeof known) break;
        if (i > 0) strcat(known, ", ");
        strcat(known, table->field[i].name);
    }
    return name ? fpd_fail(fault, NULL, "there is no column \"%s\" to search; there are: %s", name,
                           known)
                : fpd_fail(fault, NULL,
                           "which column is to be searched? Say search_column := 'NAME'; there "
                           "are: %s",
                           known);
}

/* What holds for all leaves: case, and the escape character of LIKE. */
static int read_manner(fpd_predicate *predicate, duckdb_bind_info info, fpd_fault *fault) {
    int escape = -1;
    bool ignore_case = false, used = false;
    duckdb_value flag = duckdb_bind_get_named_parameter(info, "ignore_case");
    if (flag) {
        ignore_case = !duckdb_is_null_value(flag) && duckdb_get_bool(flag);
        duckdb_destroy_value(&flag);
    }
    char *text;
    if (read_text(info, "escape", &text, fault) != 0) return -1;
    if (text) {
        bool one = text[0] && !text[1];
        escape = (unsigned char)text[0];
        duckdb_free(text);
        if (!one || escape > 127)
            return fpd_fail(fault, NULL, "parameter escape must be one ASCII character");
    }
    for (uint64_t i = 0; i < predicate->root.child_count; i++) {
        fastpair_predicate *leaf = &predicate->child[i];
        leaf->ignore_case = ignore_case;
        leaf->escape = leaf->kind == FASTPAIR_LIKE ? escape : -1;
        used = used || leaf->kind == FASTPAIR_LIKE;
    }
    if (escape >= 0 && !used)
        return fpd_fail(fault, NULL, "parameter escape goes with like; say like := 'PATTERN'");
    return 0;
}

int fpd_predicate_read(fpd_predicate *predicate, duckdb_bind_info info, const fpd_table *table,
                       fpd_fault *fault) {
    *predicate = (fpd_predicate){.root = {.struct_size = sizeof predicate->root,
                                          .kind = FASTPAIR_ALL_OF,
                                          .escape = -1,
                                          .children = predicate->child}};
    for (size_t i = 0; i < FPD_PREDICATE_KINDS; i++) {
        duckdb_value value = duckdb_bind_get_named_parameter(info, kinds[i].name);
        if (!value) continue;
        fastpair_predicate *leaf = &predicate->child[predicate->root.child_count++];
        *leaf = (fastpair_predicate){.struct_size = sizeof *leaf, .kind = kinds[i].kind};
        int status = read_patterns(leaf, kinds[i].name, value, fault);
        duckdb_destroy_value(&value);
        if (status != 0) return status;
    }
    if (read_manner(predicate, info, fault) != 0) return -1;
    char *name;
    if (read_text(info, "search_column", &name, fault) != 0) return -1;
    int status = 0;
    if (predicate->root.child_count > 0) {
        status = find_field(predicate, name, table, fault);
    } else if (name) {
        status = fpd_fail(fault, NULL,
                          "search_column goes with contains, like, prefix, suffix or equals");
    }
    duckdb_free(name);
    return status;
}
