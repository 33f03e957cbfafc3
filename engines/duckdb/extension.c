/* extension.c - what DuckDB calls when it loads the extension: registers read_fastpair and
 * fastpair_metadata, and answers FROM 'logs.fpc'. */
#define DUCKDB_EXTENSION_NAME fastpair
#include "engine.h"

#include <string.h>
#include <strings.h>

/* DuckDB's one table of functions, which its header wants to be global. */
DUCKDB_EXTENSION_GLOBAL

static duckdb_state register_read(duckdb_connection connection) {
    duckdb_table_function function = duckdb_create_table_function();
    duckdb_logical_type flag = duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);
    duckdb_table_function_set_name(function, "read_fastpair");
    fpd_declare_paths(function);
    fpd_predicate_declare(function);
    duckdb_table_function_add_named_parameter(function, "filename", flag);
    duckdb_table_function_add_named_parameter(function, "file_row_number", flag);
    fpd_kept *kept = fpd_kept_open();
    if (kept) duckdb_table_function_set_extra_info(function, kept, fpd_kept_close);
    duckdb_table_function_set_bind(function, fpd_bind);
    duckdb_table_function_set_init(function, fpd_init);
    duckdb_table_function_set_local_init(function, fpd_local_init);
    duckdb_table_function_set_function(function, fpd_read);
    duckdb_table_function_supports_projection_pushdown(function, true);
    duckdb_state state = duckdb_register_table_function(connection, function);
    duckdb_destroy_logical_type(&flag);
    duckdb_destroy_table_function(&function);
    return state;
}

static duckdb_state register_metadata(duckdb_connection connection) {
    duckdb_table_function function = duckdb_create_table_function();
    duckdb_table_function_set_name(function, "fastpair_metadata");
    fpd_declare_paths(function);
    duckdb_table_function_set_bind(function, fpd_metadata_bind);
    duckdb_table_function_set_init(function, fpd_metadata_init);
    duckdb_table_function_set_function(function, fpd_metadata_read);
    duckdb_state state = duckdb_register_table_function(connection, function);
    duckdb_destroy_table_function(&function);
    return state;
}

/* Called with each name after FROM that DuckDB does not know. */
static void replace(duckdb_replacement_scan_info info, const char *name, void *unused) {
    (void)unused;
    size_t length = strlen(name), ending = strlen(".fpc");
    bool file = length > ending && strcasecmp(name + length - ending, ".fpc") == 0;
    bool folder = length > 1 && name[length - 1] == '/' && fpd_is_folder(name);
    if (!file && !folder) return;
    duckdb_value path = duckdb_create_varchar(name);
    duckdb_replacement_scan_set_function_name(info, "read_fastpair");
    duckdb_replacement_scan_add_parameter(info, path);
    duckdb_destroy_value(&path);
}

DUCKDB_CAPI_ENTRY_VISIBILITY bool fastpair_init_c_api(duckdb_extension_info info,
                                                      struct duckdb_extension_access *access) {
    DUCKDB_EXTENSION_API_INIT(info, access, DUCKDB_EXTENSION_API_VERSION_STRING)
    duckdb_database *database = access->get_database(info);
    duckdb_connection connection;
    if (!database || duckdb_connect(*database, &connection) == DuckDBError) {
        access->set_error(info, "fastpair: no connection to the database");
        return false;
    }
    bool registered = register_read(connection) == DuckDBSuccess &&
                      register_metadata(connection) == DuckDBSuccess;
    duckdb_disconnect(&connection);
    if (!registered) {
        access->set_error(info, "fastpair: the functions could not be registered");
        return false;
    }
    duckdb_add_replacement_scan(*database, replace, NULL, NULL);
    return true;
}
