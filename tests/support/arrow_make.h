/* arrow_make.h - Arrow arrays of all layouts that the library takes, made of rows, by Arrow's
 * specification alone. Buffers have exactly the size needed, so that a sanitizer sees reads outside;
 * rows before and after those that count are garbage. */
#ifndef FP_TESTS_ARROW_MAKE_H
#define FP_TESTS_ARROW_MAKE_H

#include "arrow_read.h"
#include "forge.h"

enum { ARROW_MAKE_BUFFERS = 8 };

/* An array with its type, and how often they were released. */
typedef struct arrow_made {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffers[ARROW_MAKE_BUFFERS];
    struct ArrowSchema *schema_children[2];
    struct ArrowArray *array_children[2];
    int schema_releases, array_releases;
} arrow_made;

static inline void arrow_made_release_schema(struct ArrowSchema *schema) {
    ((arrow_made *)schema->private_data)->schema_releases++;
    schema->release = NULL;
}

static inline void arrow_made_release(struct ArrowArray *array) {
    ((arrow_made *)array->private_data)->array_releases++;
    array->release = NULL;
}

static inline void *arrow_room(uint64_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory) abort();
    return memory;
}

/* How rows lie in an array. */
typedef struct arrow_place {
    uint64_t before, after; /* garbage rows */
    int has_bitmap;         /* a bitmap even if nothing is null */
} arrow_place;

static inline void arrow_set_bitmap(arrow_made *made, const arrow_row *rows, uint64_t count,
                                    const arrow_place *place, uint64_t *random) {
    uint64_t nulls = 0, all = place->before + count + place->after;
    for (uint64_t i = 0; i < count; i++) nulls += (uint64_t)rows[i].is_null;
    made->array.null_count = check_random(random) % 3 ? (int64_t)nulls : -1;
    if (!nulls && !place->has_bitmap) return;
    uint8_t *bitmap = arrow_room((all + 7) / 8);
    for (uint64_t i = 0; i < (all + 7) / 8; i++) bitmap[i] = (uint8_t)check_random(random);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = place->before + i;
        bitmap[at / 8] &= (uint8_t) ~(1u << at % 8);
        bitmap[at / 8] |= (uint8_t)(!rows[i].is_null << at % 8);
    }
    made->buffers[0] = bitmap;
}

/* Offsets of 4 or 8 bytes. Null rows have bytes that must not matter. */
static inline void arrow_set_offsets(arrow_made *made, const arrow_row *rows, uint64_t count,
                                     const arrow_place *place, int width) {
    uint64_t all = place->before + count + place->after, size = all * 3;
    for (uint64_t i = 0; i < count; i++) size += rows[i].size;
    uint8_t *bytes = arrow_room(size), *offsets = arrow_room((all + 1) * (uint64_t)width);
    uint64_t at = 0;
    for (uint64_t i = 0; i <= all; i++) {
        forge_put(offsets + i * (uint64_t)width, at, width);
        if (i == all) break;
        int counts = i >= place->before && i < place->before + count;
        const arrow_row *row = counts ? &rows[i - place->before] : NULL;
        if (row && !row->is_null) {
            if (row->size) memcpy(bytes + at, row->bytes, row->size);
            at += row->size;
        } else {
            memcpy(bytes + at, "\xff\xfe\xfd", 3);
            at += 3;
        }
    }
    made->buffers[1] = offsets;
    made->buffers[2] = bytes;
    made->array.n_buffers = 3;
}

/* Views over three buffers. Views of null and garbage rows are nonsense. */
static inline void arrow_set_views(arrow_made *made, const arrow_row *rows, uint64_t count,
                                   const arrow_place *place, uint64_t *random) {
    uint64_t all = place->before + count + place->after, used[3] = {0}, total = 0;
    for (uint64_t i = 0; i < count; i++) total += rows[i].size;
    uint8_t *views = arrow_room(all * 16), *bytes[3], *sizes = arrow_room(24);
    for (int k = 0; k < 3; k++) bytes[k] = arrow_room(total);
    memset(views, 0xee, all * 16);
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *view = views + (place->before + i) * 16;
        if (rows[i].is_null) continue;
        memset(view, 0, 16);
        forge_put(view, rows[i].size, 4);
        if (rows[i].size <= 12) {
            if (rows[i].size) memcpy(view + 4, rows[i].bytes, rows[i].size);
            continue;
        }
        uint64_t k = check_random(random) % 3;
        memcpy(bytes[k] + used[k], rows[i].bytes, rows[i].size);
        memcpy(view + 4, rows[i].bytes, 4);
        forge_put(view + 8, k, 4);
        forge_put(view + 12, used[k], 4);
        used[k] += rows[i].size;
    }
    for (int k = 0; k < 3; k++) {
        uint8_t *exact = arrow_room(used[k]);
        if (used[k]) memcpy(exact, bytes[k], used[k]);
        free(bytes[k]);
        made->buffers[2 + k] = exact;
        forge_put(sizes + k * 8, used[k], 8);
    }
    made->buffers[1] = views;
    made->buffers[5] = sizes;
    made->array.n_buffers = 6;
}

static inline void arrow_begin(arrow_made *made, const char *format, uint64_t count,
                               const arrow_place *place) {
    memset(made, 0, sizeof *made);
    made->schema = (struct ArrowSchema){.format = format,
                                        .name = "made",
                                        .flags = ARROW_FLAG_NULLABLE,
                                        .release = arrow_made_release_schema,
                                        .private_data = made};
    made->array = (struct ArrowArray){.length = (int64_t)count,
                                      .offset = (int64_t)place->before,
                                      .buffers = made->buffers,
                                      .release = arrow_made_release,
                                      .private_data = made};
}

/* An array of strings, of format u, z, U, Z, vu or vz. The struct must not move. */
static inline void arrow_make(arrow_made *made, const char *format, const arrow_row *rows,
                              uint64_t count, const arrow_place *place, uint64_t *random) {
    arrow_begin(made, format, count, place);
    if (format[0] == 'v')
        arrow_set_views(made, rows, count, place, random);
    else
        arrow_set_offsets(made, rows, count, place, format[0] == 'u' || format[0] == 'z' ? 4 : 8);
    arrow_set_bitmap(made, rows, count, place, random);
}

/* An array of indices into `values`; row i is nulls[i].is_null or value indices[i]. */
static inline void arrow_make_dictionary(arrow_made *made, const char *format, arrow_made *values,
                                         const uint64_t *indices, const arrow_row *nulls,
                                         uint64_t count, const arrow_place *place,
                                         uint64_t *random) {
    static const char formats[] = "csilCSIL";
    uint64_t width = 1u << (strchr(formats, format[0]) - formats) % 4;
    uint64_t all = place->before + count + place->after;
    arrow_begin(made, format, count, place);
    uint8_t *numbers = arrow_room(all * width);
    memset(numbers, 0xee, all * width);
    for (uint64_t i = 0; i < count; i++)
        if (!nulls[i].is_null)
            forge_put(numbers + (place->before + i) * width, indices[i], (int)width);
    made->buffers[1] = numbers;
    made->array.n_buffers = 2;
    made->schema.dictionary = &values->schema;
    made->array.dictionary = &values->array;
    arrow_set_bitmap(made, nulls, count, place, random);
}

/* A struct of two fields, the first of which is `field`; rows of it begin at place->before. */
static inline void arrow_make_struct(arrow_made *made, arrow_made *field, arrow_made *other,
                                     const arrow_row *nulls, uint64_t count,
                                     const arrow_place *place, uint64_t *random) {
    arrow_begin(made, "+s", count, place);
    made->array.n_buffers = 1;
    made->schema_children[0] = &field->schema, made->array_children[0] = &field->array;
    made->schema_children[1] = &other->schema, made->array_children[1] = &other->array;
    made->schema.n_children = made->array.n_children = 2;
    made->schema.children = made->schema_children;
    made->array.children = made->array_children;
    arrow_set_bitmap(made, nulls, count, place, random);
}

static inline void arrow_made_free(arrow_made *made) {
    for (int i = 0; i < ARROW_MAKE_BUFFERS; i++) free((void *)(uintptr_t)made->buffers[i]);
}

#endif
