/* table.c - paths in, an open table out. A table is files that are parts of one column; or a folder of
 * .fpc files, which are the columns of one part, or parts of one column if they are numbered; or
 * folders of columns, a part each. Parts follow each other in the order of their names. Refused are
 * parts that differ in columns or types, files of one part that differ in rows, and mixtures of files
 * and folders. The rules are those of the Python package's open_table. */
#include "engine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void close_file(fpd_file *file) {
    if (file->column) fastpair_column_close(file->column);
    free(file->path);
    free(file->name);
}

static void close_part(fpd_part *part) {
    for (size_t i = 0; i < part->files; i++) close_file(&part->file[i]);
    free(part->file);
    free(part->path);
}

void fpd_table_close(fpd_table *table) {
    for (size_t i = 0; i < table->parts; i++) close_part(&table->part[i]);
    for (size_t i = 0; i < table->fields; i++) free(table->field[i].name);
    free(table->part);
    free(table->field);
    *table = (fpd_table){0};
}

/* ---------------------------------------------------------------- files */

/* The file's name without folder and ending. */
static char *stem_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name), ending = strlen(".fpc");
    if (length > ending && memcmp(name + length - ending, ".fpc", ending) == 0) length -= ending;
    char *stem = strndup(name, length);
    if (stem) fpd_make_utf8(stem);
    return stem;
}

/* Where a column stands among those of its table: whoever wrote the table may have recorded it. */
static uint32_t position_of(const fastpair_column *column) {
    const fastpair_pair *pair = NULL;
    uint32_t position = 0;
    if (fastpair_column_find_pair(column, "fastpair:position", &pair, NULL) != FASTPAIR_OK ||
        !pair || pair->value_size == 0 || pair->value_size > 9)
        return UINT32_MAX;
    for (uint64_t i = 0; i < pair->value_size; i++) {
        char digit = ((const char *)pair->value)[i];
        if (digit < '0' || digit > '9') return UINT32_MAX;
        position = 10 * position + (uint32_t)(digit - '0');
    }
    return position;
}

/* Fails where DuckDB's settings, such as enable_external_access, keep queries from a file. */
static int ask_duckdb(const fpd_access *access, const char *path, fpd_fault *fault) {
    duckdb_file_handle handle = NULL;
    duckdb_file_open_options options = duckdb_create_file_open_options();
    duckdb_file_open_options_set_flag(options, DUCKDB_FILE_FLAG_READ, true);
    duckdb_state state = duckdb_file_system_open(access->system, path, options, &handle);
    duckdb_destroy_file_open_options(&options);
    if (state == DuckDBSuccess) {
        duckdb_file_handle_close(handle);
        duckdb_destroy_file_handle(&handle);
        return 0;
    }
    duckdb_error_data error = duckdb_file_system_error_data(access->system);
    const char *message = duckdb_error_data_message(error);
    fpd_fail(fault, path, "%s", message ? message : "DuckDB cannot open it");
    duckdb_destroy_error_data(&error);
    return -1;
}

/* Threads are DuckDB's: each decodes alone. *file is the caller's to close, also after a failure. */
static int open_file(fpd_file *file, const fpd_access *access, const char *path, fpd_fault *fault) {
    fastpair_open_options options = {.struct_size = sizeof options, .threads = 1};
    fastpair_metadata metadata = {.struct_size = sizeof metadata};
    fastpair_error error;
    file->totals.struct_size = sizeof file->totals;
    file->path = strdup(path);
    if (!file->path) return fpd_fail_memory(fault);
    if (ask_duckdb(access, path, fault) != 0) return -1;
    if (fpd_kept_column(access->kept, path, &options, &file->column, &error) != FASTPAIR_OK ||
        fastpair_column_get_totals(file->column, &file->totals, &error) != FASTPAIR_OK ||
        fastpair_column_get_metadata(file->column, &metadata, &error) != FASTPAIR_OK) {
        return fpd_fail_status(fault, path, &error);
    }
    file->position = position_of(file->column);
    file->name_is_recorded = metadata.name && metadata.name[0];
    file->name = file->name_is_recorded ? strdup(metadata.name) : stem_of(path);
    return file->name ? 0 : fpd_fail_memory(fault);
}

/* ---------------------------------------------------------------- parts */

/* Adds a part with room for `files` files; NULL if there is no memory. */
static fpd_part *add_part(fpd_table *table, const char *path, size_t files) {
    /* The number of parts is a power of two when there is no room left. */
    if ((table->parts & (table->parts - 1)) == 0) {
        size_t capacity = table->parts ? 2 * table->parts : 1;
        fpd_part *larger = realloc(table->part, capacity * sizeof *larger);
        if (!larger) return NULL;
        table->part = larger;
    }
    fpd_part part = {.path = strdup(path), .file = calloc(files, sizeof *part.file)};
    if (!part.path || !part.file) {
        free(part.path);
        free(part.file);
        return NULL;
    }
    table->part[table->parts] = part;
    return &table->part[table->parts++];
}

/* The length of a name without a number at its end, which is "url" for url-00017; 0: there is none. */
static size_t unnumbered(const char *name) {
    size_t length = strlen(name), end = length;
    while (end > 0 && isdigit((unsigned char)name[end - 1])) end--;
    return end < length && end > 1 && strchr("-_.", name[end - 1]) ? end - 1 : 0;
}

/* What files without a recorded name have in common: NAME if all are called NAME-number, else "value".
 * *numbered says which. The caller frees the name; NULL: no memory. */
static char *common_name(const fpd_file *file, size_t count, bool *numbered) {
    char *first = stem_of(file[0].path);
    size_t length = first ? unnumbered(first) : 0;
    bool memory = first != NULL;
    *numbered = length > 0;
    for (size_t i = 1; i < count && memory && *numbered; i++) {
        char *stem = stem_of(file[i].path);
        memory = stem != NULL;
        *numbered = stem && unnumbered(stem) == length && strncmp(stem, first, length) == 0;
        free(stem);
    }
    char *name = !memory ? NULL : *numbered ? strndup(first, length) : strdup("value");
    free(first);
    return name;
}

/* Makes each file of the last part a part of its own, called `name` if its file records no name. */
static int split_part(fpd_table *table, const char *name, fpd_fault *fault) {
    fpd_part whole = table->part[--table->parts];
    int status = 0;
    for (size_t i = 0; i < whole.files; i++) {
        fpd_file *file = &whole.file[i];
        char *given = file->name_is_recorded ? file->name : strdup(name);
        if (given != file->name) free(file->name);
        file->name = given;
        fpd_part *part = status == 0 && given ? add_part(table, file->path, 1) : NULL;
        if (part) {
            part->file[0] = *file;
            part->files = 1;
        } else {
            close_file(file);
            status = fpd_fail_memory(fault);
        }
    }
    free(whole.file);
    free(whole.path);
    return status;
}

static bool same_folder(const char *a, const char *b) {
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    size_t length_a = end_a ? (size_t)(end_a - a) : 0, length_b = end_b ? (size_t)(end_b - b) : 0;
    return length_a == length_b && memcmp(a, b, length_a) == 0;
}

/* Adds files: the columns of one part, or each a part of one column. `folder` is where they were
 * found; NULL: they were listed one by one. */
static int add_files(fpd_table *table, const char *folder, const fpd_names *files,
                     const fpd_access *access, fpd_fault *fault) {
    fpd_part *part = add_part(table, folder ? folder : files->name[0], files->count);
    if (!part) return fpd_fail_memory(fault);
    bool same = true, columns = true, numbered = false;
    for (size_t i = 0; i < files->count; i++) {
        part->files++;
        if (open_file(&part->file[i], access, files->name[i], fault) != 0) return -1;
        const fpd_file *file = &part->file[i], *first = &part->file[0];
        same = same && file->name_is_recorded == first->name_is_recorded &&
               (!file->name_is_recorded || strcmp(file->name, first->name) == 0);
        columns = columns && file->name_is_recorded && same_folder(file->path, first->path);
    }
    if (files->count == 1) return 0;
    char *name = common_name(part->file, part->files, &numbered);
    int status = name ? 0 : fpd_fail_memory(fault);
    if (name && same && (numbered || !folder)) {
        status = split_part(table, name, fault);
    } else if (name && !folder && !columns) {
        status = fpd_fail(fault, files->name[0],
                          "this file and %s are no parts of one column: they record different "
                          "names, or one records none",
                          files->name[files->count - 1]);
    }
    free(name);
    return status;
}

static int add_folder(fpd_table *table, const char *path, bool is_part, const fpd_access *access,
                      fpd_fault *fault) {
    fpd_names files = {0}, folders = {0};
    int status = fpd_names_list(path, &files, &folders, fault);
    if (status == 0 && folders.count > 0 && (files.count > 0 || is_part)) {
        status = fpd_fail(fault, path,
                          "columns are in this folder, so there must be no folder in it, but there "
                          "is %s; move it, or put a dot before its name",
                          folders.name[0]);
    } else if (status == 0 && files.count > 0) {
        status = add_files(table, path, &files, access, fault);
    } else if (status == 0 && folders.count == 0) {
        status = fpd_fail(fault, path,
                          "no .fpc file is in this folder; Parquet files are read by read_parquet");
    }
    for (size_t i = 0; i < folders.count && status == 0; i++)
        status = add_folder(table, folders.name[i], true, access, fault);
    fpd_names_close(&files);
    fpd_names_close(&folders);
    return status;
}

/* ---------------------------------------------------------------- the table */

static int compare_files(const void *a, const void *b) {
    const fpd_file *left = a, *right = b;
    if (left->position != right->position) return left->position < right->position ? -1 : 1;
    return strcmp(left->path, right->path);
}

/* Puts the files of a part in the order of the first part's. */
static int order_files(const fpd_part *model, fpd_part *part, fpd_fault *fault) {
    for (size_t i = 0; i < model->files; i++) {
        size_t found = i;
        while (found < part->files && strcmp(part->file[found].name, model->file[i].name) != 0)
            found++;
        if (found >= part->files) {
            return fpd_fail(fault, part->path,
                            "there is no column \"%s\", which %s has; parts of a table must have "
                            "the same columns",
                            model->file[i].name, model->path);
        }
        fpd_file file = part->file[i];
        part->file[i] = part->file[found];
        part->file[found] = file;
    }
    if (part->files == model->files) return 0;
    return fpd_fail(fault, part->file[model->files].path,
                    "column \"%s\" is not in %s; parts of a table must have the same columns",
                    part->file[model->files].name, model->path);
}

/* Compares the files of a part with each other, and with those of the first part. */
static int check_part(fpd_table *table, fpd_part *part, fpd_fault *fault) {
    const fpd_part *model = &table->part[0];
    if (part != model && order_files(model, part, fault) != 0) return -1;
    for (size_t i = 0; i < part->files; i++) {
        const fpd_file *file = &part->file[i], *like = &model->file[i], *first = &part->file[0];
        if (file->totals.rows != first->totals.rows) {
            return fpd_fail(fault, file->path,
                            "it has %" PRIu64 " rows and %s has %" PRIu64
                            "; the files of a table must have the same rows",
                            file->totals.rows, first->path, first->totals.rows);
        }
        if (file->totals.type != like->totals.type) {
            return fpd_fail(fault, file->path,
                            "column \"%s\" is %s here, and %s in %s; parts of a table must have "
                            "the same types",
                            file->name, file->totals.type ? "text" : "bytes",
                            like->totals.type ? "text" : "bytes", like->path);
        }
    }
    part->rows = part->file[0].totals.rows;
    table->rows += part->rows;
    return 0;
}

static int add_fields(fpd_table *table, fpd_fault *fault) {
    fpd_part *model = &table->part[0];
    qsort(model->file, model->files, sizeof *model->file, compare_files);
    table->field = calloc(model->files, sizeof *table->field);
    if (!table->field) return fpd_fail_memory(fault);
    for (size_t i = 0; i < model->files; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(model->file[k].name, model->file[i].name) != 0) continue;
            return fpd_fail(fault, model->file[i].path,
                            "the column is called \"%s\", as that in %s is; rename one of them",
                            model->file[i].name, model->file[k].path);
        }
        table->field[i].name = strdup(model->file[i].name);
        if (!table->field[i].name) return fpd_fail_memory(fault);
        table->field[i].type = model->file[i].totals.type;
        table->fields++;
    }
    return 0;
}

int fpd_table_open(fpd_table *table, const fpd_names *paths, const fpd_access *access,
                   fpd_fault *fault) {
    *table = (fpd_table){0};
    size_t folders = 0;
    int status = 0;
    for (size_t i = 0; i < paths->count && access->may_list; i++)
        folders += (size_t)fpd_is_folder(paths->name[i]);
    if (paths->count == 0) {
        status = fpd_fail(fault, NULL, "the list of files is empty");
    } else if (folders == 0) {
        status = add_files(table, NULL, paths, access, fault);
    } else if (folders < paths->count) {
        status = fpd_fail(fault, paths->name[0],
                          "some of the paths are folders and some are files; a table is one or the "
                          "other");
    }
    for (size_t i = 0; i < folders && status == 0; i++)
        status = add_folder(table, paths->name[i], folders > 1, access, fault);
    if (status == 0) status = add_fields(table, fault);
    for (size_t i = 0; status == 0 && i < table->parts; i++)
        status = check_part(table, &table->part[i], fault);
    if (status != 0) fpd_table_close(table);
    return status;
}
