/* bind.c - a call of read_fastpair in, an open table with its columns and a predicate out. Binding
 * opens every file, so that names, types and the number of rows are known; it touches no chunk. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void fpd_bind_fail(duckdb_bind_info info, fpd_fault *fault) {
    fpd_make_utf8(fault->message);
    duckdb_bind_set_error(info, fault->message);
}

void fpd_bind_column(duckdb_bind_info info, const char *name, duckdb_type id) {
    duckdb_logical_type type = duckdb_create_logical_type(id);
    duckdb_bind_add_result_column(info, name, type);
    duckdb_destroy_logical_type(&type);
}

void fpd_declare_paths(duckdb_table_function function) {
    /* A second function of the same name, for lists, would replace the first. */
    duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
    duckdb_table_function_add_parameter(function, any);
    duckdb_destroy_logical_type(&any);
}

static int expand(fpd_names *names, duckdb_value value, bool may_list, fpd_fault *fault) {
    bool text = value && !duckdb_is_null_value(value) &&
                duckdb_get_type_id(duckdb_get_value_type(value)) == DUCKDB_TYPE_VARCHAR;
    char *path = text ? duckdb_get_varchar(value) : NULL;
    if (!path) return fpd_fail(fault, NULL, "the path must be a text or a list of texts");
    int status = fpd_names_expand(names, path, may_list, fault);
    duckdb_free(path);
    return status;
}

static int expand_all(fpd_names *names, duckdb_bind_info info, bool may_list, fpd_fault *fault) {
    duckdb_value value = duckdb_bind_get_parameter(info, 0);
    bool list = value && !duckdb_is_null_value(value) &&
                duckdb_get_type_id(duckdb_get_value_type(value)) == DUCKDB_TYPE_LIST;
    int status = list ? 0 : expand(names, value, may_list, fault);
    for (idx_t i = 0; list && i < duckdb_get_list_size(value) && status == 0; i++) {
        duckdb_value item = duckdb_get_list_child(value, i);
        status = expand(names, item, may_list, fault);
        duckdb_destroy_value(&item);
    }
    duckdb_destroy_value(&value);
    return status;
}

int fpd_bind_table(duckdb_bind_info info, fpd_table *table, fpd_fault *fault) {
    fpd_names names = {0};
    duckdb_client_context context;
    duckdb_table_function_get_client_context(info, &context);
    duckdb_value setting =
        duckdb_client_context_get_config_option(context, "enable_external_access", NULL);
    fpd_access access = {.kept = duckdb_bind_get_extra_info(info),
                         .system = duckdb_client_context_get_file_system(context),
                         .may_list = !setting || duckdb_get_bool(setting)};
    duckdb_destroy_value(&setting);
    duckdb_destroy_client_context(&context);
    int status = expand_all(&names, info, access.may_list, fault);
    if (status == 0) status = fpd_table_open(table, &names, &access, fault);
    fpd_names_close(&names);
    duckdb_destroy_file_system(&access.system);
    return status;
}

static void close_bound(void *memory) {
    fpd_bound *bound = memory;
    fpd_predicate_close(&bound->predicate);
    fpd_table_close(&bound->table);
    free(bound);
}

/* The columns that read_parquet can add as well, by the same names. */
static const struct {
    const char *name;
    duckdb_type type;
} extras[FPD_EXTRAS] = {{"filename", DUCKDB_TYPE_VARCHAR}, {"file_row_number", DUCKDB_TYPE_BIGINT}};

/* Extra columns come first: DuckDB asks for the first column where it only counts rows, and a number or
 * a name costs nothing, while rows have to be decoded. */
static int add_columns(duckdb_bind_info info, fpd_bound *bound, fpd_fault *fault) {
    for (size_t i = 0; i < FPD_EXTRAS; i++) {
        duckdb_value value = duckdb_bind_get_named_parameter(info, extras[i].name);
        bool wanted = value && !duckdb_is_null_value(value) && duckdb_get_bool(value);
        duckdb_destroy_value(&value);
        if (!wanted) continue;
        for (size_t k = 0; k < bound->table.fields; k++) {
            if (strcasecmp(bound->table.field[k].name, extras[i].name) == 0) {
                return fpd_fail(fault, bound->table.part[0].file[k].path,
                                "the column is called \"%s\" itself; leave out %s := true",
                                extras[i].name, extras[i].name);
            }
        }
        bound->extra[bound->extras++] = (fpd_extra)i;
        fpd_bind_column(info, extras[i].name, extras[i].type);
    }
    for (size_t i = 0; i < bound->table.fields; i++) {
        const fpd_field *field = &bound->table.field[i];
        fpd_bind_column(info, field->name,
                        field->type == FASTPAIR_TYPE_TEXT ? DUCKDB_TYPE_VARCHAR : DUCKDB_TYPE_BLOB);
    }
    return 0;
}

void fpd_bind(duckdb_bind_info info) {
    fpd_fault fault = {""};
    fpd_bound *bound = calloc(1, sizeof *bound);
    if (!bound) {
        fpd_fail_memory(&fault);
        fpd_bind_fail(info, &fault);
        return;
    }
    if (fpd_bind_table(info, &bound->table, &fault) != 0 ||
        fpd_predicate_read(&bound->predicate, info, &bound->table, &fault) != 0 ||
        add_columns(info, bound, &fault) != 0) {
        close_bound(bound);
        fpd_bind_fail(info, &fault);
        return;
    }
    /* How many rows pass a predicate is known only after the search. */
    duckdb_bind_set_cardinality(info, bound->table.rows, bound->predicate.root.child_count == 0);
    duckdb_bind_set_bind_data(info, bound, close_bound);
}
