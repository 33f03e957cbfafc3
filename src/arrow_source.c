/* arrow_source.c - reading Arrow arrays of strings. In: a schema and an array, from a producer that
 * may be mistaken. Out: rows, one at a time. Refuses types that are no strings, structs whose numbers
 * contradict their type, and rows that point outside what is known of the buffers. */
#include "arrow_source.h"

#include <inttypes.h>
#include <string.h>

static fastpair_status refuse(const char *what, fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION, "Arrow: %s", what);
}

/* ---------------------------------------------------------------- types */

/* Arrow's names of types that people have and we do not take; by the beginning of the format. */
static const char *type_name(const char *format) {
    static const struct {
        char start[5], name[20];
    } names[] = {{"b", "bool"},        {"c", "int8"},
                 {"C", "uint8"},       {"s", "int16"},
                 {"S", "uint16"},      {"i", "int32"},
                 {"I", "uint32"},      {"l", "int64"},
                 {"L", "uint64"},      {"e", "float16"},
                 {"f", "float"},       {"g", "double"},
                 {"d:", "decimal"},    {"w:", "fixed_size_binary"},
                 {"tdD", "date32"},    {"tdm", "date64"},
                 {"tt", "time"},       {"ts", "timestamp"},
                 {"tD", "duration"},   {"ti", "interval"},
                 {"+l", "list"},       {"+L", "large_list"},
                 {"+vl", "list_view"}, {"+w:", "fixed_size_list"},
                 {"+s", "struct"},     {"+m", "map"},
                 {"+u", "union"},      {"+r", "run_end_encoded"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(format, names[i].start, strlen(names[i].start)) == 0) return names[i].name;
    return "one that is not known";
}

static fastpair_status refuse_type(const char *format, fastpair_error *error) {
    return fp_fail(
        error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
        "Arrow: the type is %s (\"%.20s\"); strings and binary are taken, in any layout, "
        "and dictionaries of them",
        type_name(format), format);
}

static int kind_of(const char *format, fp_arrow_kind *kind) {
    static const struct {
        char format[3];
        fp_arrow_kind kind;
    } kinds[] = {{"u", FP_ARROW_IS_OFFSETS32}, {"z", FP_ARROW_IS_OFFSETS32},
                 {"U", FP_ARROW_IS_OFFSETS64}, {"Z", FP_ARROW_IS_OFFSETS64},
                 {"vu", FP_ARROW_IS_VIEWS},    {"vz", FP_ARROW_IS_VIEWS},
                 {"n", FP_ARROW_IS_NULLS}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(format, kinds[i].format) == 0) {
            *kind = kinds[i].kind;
            return 1;
        }
    return 0;
}

int fp_arrow_is_text(const struct ArrowSchema *schema) {
    const char *format = schema->dictionary ? schema->dictionary->format : schema->format;
    return format && (!strcmp(format, "u") || !strcmp(format, "U") || !strcmp(format, "vu"));
}

static int is_struct(const struct ArrowSchema *schema) { return strcmp(schema->format, "+s") == 0; }

static int has_name(const struct ArrowSchema *schema, const char *name) {
    return strcmp(schema->name ? schema->name : "", name) == 0;
}

static fastpair_status no_such_field(const char *field, const char *why, fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                   "Arrow: field \"%.100s\" %s", field, why);
}

fastpair_status fp_arrow_find_field(const struct ArrowSchema *schema, const char *field,
                                    const struct ArrowSchema **found, int64_t *child,
                                    fastpair_error *error) {
    *found = NULL;
    *child = -1;
    if (!schema || !schema->release || !schema->format)
        return refuse("the schema is NULL or was released", error);
    if (!is_struct(schema)) {
        if (field && !has_name(schema, field))
            return no_such_field(field, "is not the name of the array, which is no struct", error);
        *found = schema;
        return FASTPAIR_OK;
    }
    if (schema->n_children < 0 || (schema->n_children && !schema->children))
        return refuse("the schema's children are not there", error);
    if (!field && schema->n_children != 1)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "Arrow: the struct has %" PRId64 " fields; say which one",
                       schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *one = schema->children[i];
        if (!one || !one->format) return refuse("a child of the schema is not there", error);
        if (field && !has_name(one, field)) continue;
        if (*found) return no_such_field(field, "is there twice", error);
        *found = one;
        *child = i;
    }
    return *found ? FASTPAIR_OK : no_such_field(field, "is not in the struct", error);
}

/* ---------------------------------------------------------------- arrays */

/* The numbers of an array, and its null bitmap. */
static fastpair_status open_array(const struct ArrowArray *array, int64_t least_buffers,
                                  const uint8_t **validity, fastpair_error *error) {
    if (!array || !array->release) return refuse("an array is NULL or was released", error);
    if (array->length < 0 || array->offset < 0 || array->length > INT64_MAX - array->offset)
        return refuse("an array's length or offset is negative or too large", error);
    if (array->n_buffers < least_buffers || (least_buffers && !array->buffers))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "Arrow: an array has %" PRId64 " buffers; its type has %" PRId64 " or more",
                       array->n_buffers, least_buffers);
    *validity = least_buffers ? array->buffers[0] : NULL;
    if (least_buffers && array->null_count > 0 && !*validity)
        return refuse("an array has nulls and no bitmap of them", error);
    return FASTPAIR_OK;
}

static fastpair_status open_views(const struct ArrowArray *array, fp_arrow_strings *strings,
                                  fastpair_error *error) {
    /* A bitmap, views, buffers of bytes, and the sizes of these. */
    strings->view_buffer_count = (uint64_t)array->n_buffers - 3;
    strings->view_buffers = (const void *const *)array->buffers + 2;
    strings->view_sizes = array->buffers[array->n_buffers - 1];
    if (strings->view_buffer_count && !strings->view_sizes)
        return refuse("the sizes of the views' buffers are not there", error);
    return FASTPAIR_OK;
}

static fastpair_status open_strings(const struct ArrowSchema *schema,
                                    const struct ArrowArray *array, fp_arrow_strings *strings,
                                    fastpair_error *error) {
    if (!kind_of(schema->format, &strings->kind)) return refuse_type(schema->format, error);
    int is_null_type = strings->kind == FP_ARROW_IS_NULLS;
    fastpair_status status = open_array(array, is_null_type ? 0 : 3, &strings->validity, error);
    if (status) return status;
    strings->first = (uint64_t)array->offset;
    strings->count = (uint64_t)array->length;
    if (is_null_type) return FASTPAIR_OK;
    strings->rows = array->buffers[1];
    strings->bytes = array->buffers[2];
    if (strings->count && !strings->rows)
        return refuse("the offsets or views of an array are not there", error);
    return strings->kind == FP_ARROW_IS_VIEWS ? open_views(array, strings, error) : FASTPAIR_OK;
}

static fastpair_status open_indices(const struct ArrowSchema *schema,
                                    const struct ArrowArray *array, fp_arrow_indices *indices,
                                    fastpair_error *error) {
    static const char formats[] = "csilCSIL";
    const char *place = schema->format[0] ? strchr(formats, schema->format[0]) : NULL;
    if (!place || schema->format[1])
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "Arrow: a dictionary's indices are of type %s (\"%.20s\"), which is no "
                       "integer",
                       type_name(schema->format), schema->format);
    fastpair_status status = open_array(array, 2, &indices->validity, error);
    if (status) return status;
    indices->width = 1u << (place - formats) % 4;
    indices->is_signed = place - formats < 4;
    indices->first = (uint64_t)array->offset;
    indices->indices = array->buffers[1];
    if (indices->indices) return FASTPAIR_OK;
    if (array->length) return refuse("the indices of an array are not there", error);
    static const uint8_t none;
    indices->indices = &none; /* there are no rows */
    return FASTPAIR_OK;
}

/* Moves to a field of a struct, whose rows are those that the struct has. */
static fastpair_status open_field(const struct ArrowArray **array, int64_t child,
                                  struct ArrowArray *sliced, fp_arrow_source *source,
                                  fastpair_error *error) {
    const struct ArrowArray *outer = *array;
    fastpair_status status = open_array(outer, 1, &source->outer_validity, error);
    if (status) return status;
    if (outer->n_children <= child || !outer->children || !outer->children[child])
        return refuse("a child of the array is not there", error);
    const struct ArrowArray *inner = outer->children[child];
    const uint8_t *ignored;
    if ((status = open_array(inner, 0, &ignored, error))) return status;
    if (inner->length < outer->offset + outer->length)
        return refuse("a field of a struct is shorter than the struct", error);
    source->outer_first = (uint64_t)outer->offset;
    *sliced = *inner; /* a view of our own, never released */
    sliced->offset += outer->offset;
    sliced->length = outer->length;
    *array = sliced;
    return FASTPAIR_OK;
}

fastpair_status fp_arrow_source_open(const struct ArrowSchema *schema,
                                     const struct ArrowArray *array, const char *field,
                                     fp_arrow_source *source, fastpair_error *error) {
    const struct ArrowSchema *type;
    int64_t child;
    struct ArrowArray sliced;
    *source = (fp_arrow_source){0};
    fastpair_status status = fp_arrow_find_field(schema, field, &type, &child, error);
    if (!status && child >= 0) status = open_field(&array, child, &sliced, source, error);
    if (status) return status;
    if (!type->dictionary) {
        status = open_strings(type, array, &source->strings, error);
        source->count = source->strings.count;
        return status;
    }
    if (!type->dictionary->format || type->dictionary->dictionary)
        return refuse("a dictionary's values have no type, or a dictionary of their own", error);
    if ((status = open_indices(type, array, &source->indices, error))) return status;
    source->count = (uint64_t)array->length;
    return open_strings(type->dictionary, array->dictionary, &source->strings, error);
}

/* ---------------------------------------------------------------- rows */

static const char *find_by_offsets(const fp_arrow_strings *strings, uint64_t i, fp_arrow_row *row) {
    int64_t start, end;
    if (strings->kind == FP_ARROW_IS_OFFSETS32) {
        start = (int32_t)fp_load32(strings->rows + (strings->first + i) * 4);
        end = (int32_t)fp_load32(strings->rows + (strings->first + i + 1) * 4);
    } else {
        start = (int64_t)fp_load64(strings->rows + (strings->first + i) * 8);
        end = (int64_t)fp_load64(strings->rows + (strings->first + i + 1) * 8);
    }
    if (start < 0 || end < start) return "its offsets are negative or decrease";
    if (end > start && !strings->bytes) return "its bytes are not there";
    row->size = (uint64_t)(end - start);
    row->bytes = row->size ? strings->bytes + start : NULL;
    return NULL;
}

static const char *find_by_view(const fp_arrow_strings *strings, uint64_t i, fp_arrow_row *row) {
    const uint8_t *view = strings->rows + (strings->first + i) * 16;
    int32_t size = (int32_t)fp_load32(view), buffer = (int32_t)fp_load32(view + 8),
            offset = (int32_t)fp_load32(view + 12);
    if (size < 0) return "the size in its view is negative";
    row->size = (uint64_t)size;
    row->bytes = view + 4;
    if (size <= 12) return NULL;
    if (buffer < 0 || (uint64_t)buffer >= strings->view_buffer_count)
        return "its view names a buffer that the array does not have";
    int64_t buffer_size = (int64_t)fp_load64(strings->view_sizes + (uint64_t)buffer * 8);
    if (offset < 0 || (int64_t)offset + size > buffer_size)
        return "its view goes past the end of a buffer";
    const uint8_t *bytes = strings->view_buffers[buffer];
    if (!bytes) return "its bytes are not there";
    row->bytes = bytes + offset;
    return NULL;
}

static const char *find_string(const fp_arrow_strings *strings, uint64_t i, fp_arrow_row *row) {
    if (strings->kind == FP_ARROW_IS_NULLS ||
        (strings->validity && !fp_arrow_bit(strings->validity, strings->first + i))) {
        row->is_null = 1;
        return NULL;
    }
    return strings->kind == FP_ARROW_IS_VIEWS ? find_by_view(strings, i, row)
                                              : find_by_offsets(strings, i, row);
}

/* An index as an unsigned number; a negative one becomes larger than any dictionary. */
static uint64_t load_index(const fp_arrow_indices *indices, uint64_t i) {
    const uint8_t *at = indices->indices + (indices->first + i) * indices->width;
    switch (indices->width) {
    case 1: return indices->is_signed ? (uint64_t)(int8_t)*at : *at;
    case 2: return indices->is_signed ? (uint64_t)(int16_t)fp_load16(at) : (uint64_t)fp_load16(at);
    case 4: return indices->is_signed ? (uint64_t)(int32_t)fp_load32(at) : (uint64_t)fp_load32(at);
    default: return fp_load64(at);
    }
}

const char *fp_arrow_source_row(const fp_arrow_source *source, uint64_t i, fp_arrow_row *row) {
    const fp_arrow_indices *indices = &source->indices;
    *row = (fp_arrow_row){0};
    if ((source->outer_validity &&
         !fp_arrow_bit(source->outer_validity, source->outer_first + i)) ||
        (indices->indices && indices->validity &&
         !fp_arrow_bit(indices->validity, indices->first + i))) {
        row->is_null = 1;
        return NULL;
    }
    if (!indices->indices) return find_string(&source->strings, i, row);
    uint64_t index = load_index(indices, i);
    if (index >= source->strings.count) return "its index is outside the dictionary";
    return find_string(&source->strings, index, row);
}
