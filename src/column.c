/* column.c - opening and closing columns. In: an untrusted image in memory or a file to map. Out: a
 * fastpair_column whose file header, footer and dictionaries have passed every check. Chunks are not
 * looked at: column_chunk.c reads their headers on first use.
 *
 * Nothing is allocated for a count before the image is known to be large enough to hold what it
 * counts. Refuses everything that docs/format.md, section 5, says is checked before use. */
#include "column_source.h"
#include "options.h"
#include "warm_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

fastpair_status fp_column_check_range(const fastpair_column *column, uint64_t first, uint64_t count,
                                      fastpair_error *error) {
    uint64_t rows = column->totals.rows;
    if (first <= rows && count <= rows - first) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, first,
                   "rows %" PRIu64 " .. + %" PRIu64 " are not in the column, which has %" PRIu64
                   " rows",
                   first, count, rows);
}

/* ---------------------------------------------------------------- opening */

fastpair_status fp_column_open_dict(const fastpair_column *column, uint64_t number,
                                    const uint8_t *bytes, fp_table_budget *budget,
                                    fastpair_error *error) {
    fp_dict_entry entry = fp_column_dict_entry(column, number);
    fp_column_dict *dictionary = &column->dictionaries[number];
    fp_dict_block block = {bytes,
                           entry.block_bytes,
                           entry.position,
                           column->file.alignment,
                           column->file.minor,
                           column->file.features};
    fastpair_status status =
        fp_column_dict_open(&block, &column->settings, budget, dictionary, error);
    if (status) return status;
    if (dictionary->entry.block_bytes != entry.block_bytes) {
        fp_column_dict_close(dictionary);
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, entry.position,
                       "dictionary %" PRIu64 " (offset %" PRIu64 "): the footer gives another size",
                       number, entry.position);
    }
    dictionary->entry.tokens_in_use = entry.tokens_in_use;
    column->code_bits[number] = dictionary->dict.code_bits;
    return FASTPAIR_OK;
}

static fastpair_status read_dictionaries(fastpair_column *column, fastpair_error *error) {
    fp_table_budget budget = {0};
    fastpair_status status = FASTPAIR_OK;
    for (uint64_t i = 0; i < column->totals.dictionaries && !status; i++)
        status = fp_column_open_dict(
            column, i, column->image + fp_column_dict_entry(column, i).position, &budget, error);
    return status;
}

/* Makes the tables. All counts are bounded by the image: a dictionary has 192 bytes of it, a chunk
 * 384. */
static fastpair_status make_tables(fastpair_column *column, fastpair_error *error) {
    const fastpair_allocator *allocator = &column->settings.allocator;
    const fp_footer *totals = &column->totals;
    uint64_t pages = totals->chunks / FP_PAGE_CHUNKS + 1;
    column->dictionaries =
        fp_allocate_zero(allocator, totals->dictionaries, sizeof *column->dictionaries);
    column->code_bits = fp_allocate(allocator, totals->dictionaries, sizeof *column->code_bits);
    column->starts.row = fp_allocate(allocator, totals->chunks + 1, sizeof *column->starts.row);
    column->starts.byte = fp_allocate(allocator, totals->chunks + 1, sizeof *column->starts.byte);
    column->pages = fp_allocate_zero(allocator, pages, sizeof *column->pages);
    column->parts = fp_allocate_zero(allocator, 1, sizeof *column->parts);
    if (column->dictionaries && column->code_bits && column->starts.row && column->starts.byte &&
        column->pages && column->parts)
        return FASTPAIR_OK;
    return fp_fail_memory(error, (totals->chunks + 1) * sizeof *column->starts.row);
}

static fastpair_status parse_image(fastpair_column *column, fastpair_error *error) {
    uint64_t size = column->size, footer_at = 0;
    if (size < FP_FILE_HEADER + FP_FOOTER_HEADER + FP_TRAILER)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, 0,
                       "%" PRIu64 " bytes are too few for a fastpair column, which has at least %u",
                       size, FP_FILE_HEADER + FP_FOOTER_HEADER + FP_TRAILER);
    const uint8_t *head = column->image, *trailer = column->image;
    fastpair_status status = FASTPAIR_OK;
    if (column->source)
        status = fp_source_read_ends(column, &head, &trailer, error);
    else
        trailer += size - FP_TRAILER;
    if (!status) status = fp_file_header_read(head, &column->file, error);
    if (!status) status = fp_trailer_read(trailer, size, &column->file, &footer_at, error);
    column->footer_position = footer_at;
    if (!status && column->source) status = fp_source_read_footer(column, footer_at, error);
    if (status) return status;
    const uint8_t *footer = fp_column_footer(column);
    fp_footer *totals = &column->totals;
    status = fp_footer_read(footer, footer_at, &column->file, totals, error);
    if (status) return status;
    if (totals->block_bytes != size - FP_TRAILER - footer_at)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, footer_at + 8,
                       "footer: it does not end where the trailer begins (offset %" PRIu64 ")",
                       footer_at + 8);
    if (!fp_all_zero(head + FP_FILE_HEADER,
                     fp_first_block(column->file.alignment) - FP_FILE_HEADER))
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, FP_FILE_HEADER,
                       "the bytes between the file header and the first block are not all zero");
    status = make_tables(column, error);
    if (!status && (column->file.features & FP_FEATURE_COLD))
        status = fp_warm_cache_open(column, error);
    if (!status)
        status = fp_footer_check_entries(footer + FP_FOOTER_HEADER, footer_at, &column->file,
                                         totals, &column->starts, error);
    if (status) return status;
    return column->source ? fp_source_make_places(column, error) : read_dictionaries(column, error);
}

/* Where the bytes of a column are. */
typedef struct origin {
    const uint8_t *data; /* NULL: in `source` */
    uint64_t size;
    size_t mapped_bytes; /* 0: `data` is not mapped */
    const fastpair_range_source *source;
    const fp_source_sizes *sizes;
} origin;

/* Makes the column; takes over the mapping, if there is one, even on failure. */
static fastpair_status open_image(const origin *from, const fp_open_settings *settings,
                                  fastpair_column **column, fastpair_error *error) {
    fastpair_column *opened = fp_allocate_zero(&settings->allocator, 1, sizeof *opened);
    if (!opened) {
        if (from->mapped_bytes) munmap((void *)(uintptr_t)from->data, from->mapped_bytes);
        return fp_fail_memory(error, sizeof *opened);
    }
    opened->settings = *settings;
    opened->settings.on_close = NULL; /* not for a column that fails to open */
    opened->references = 1;
    opened->image = from->data;
    opened->size = from->size;
    opened->mapped_bytes = from->mapped_bytes;
    fastpair_status status = FASTPAIR_OK;
    if (from->source) status = fp_source_open(opened, from->source, from->sizes, error);
    if (!status) status = parse_image(opened, error);
    if (status) {
        fastpair_column_close(opened);
        return status;
    }
    opened->settings.on_close = settings->on_close;
    *column = opened;
    return FASTPAIR_OK;
}

fastpair_status fastpair_column_open(const uint8_t *data, uint64_t size,
                                     const fastpair_open_options *options, fastpair_column **column,
                                     fastpair_error *error) {
    if (column) *column = NULL;
    if (!column || !data)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_open: data and column must not be NULL");
    fp_open_settings settings;
    fastpair_status status = fp_open_settings_resolve(options, &settings, error);
    origin from = {.data = data, .size = size};
    return status ? status : open_image(&from, &settings, column, error);
}

fastpair_status fp_column_open_sized(const fastpair_range_source *source,
                                     const fp_source_sizes *sizes,
                                     const fastpair_open_options *options, fastpair_column **column,
                                     fastpair_error *error) {
    if (column) *column = NULL;
    if (!column || !source)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_open_source: source and column must not be NULL");
    fp_open_settings settings;
    fastpair_status status = fp_struct_check("source", source, sizeof *source, error);
    if (!status) status = fp_open_settings_resolve(options, &settings, error);
    if (status) return status;
    if (!source->read_at || source->requests > FP_RANGES_AT_ONCE)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "source: read_at is NULL, or requests is %" PRIu32
                       ", which must be at most %u",
                       source->requests, FP_RANGES_AT_ONCE);
    origin from = {.size = source->file_size, .source = source, .sizes = sizes};
    return open_image(&from, &settings, column, error);
}

fastpair_status fastpair_column_open_source(const fastpair_range_source *source,
                                            const fastpair_open_options *options,
                                            fastpair_column **column, fastpair_error *error) {
    /* Both ends are less than 64,000 bytes. Footers of most files are smaller than the tail, and the
     * first dictionary of a file of 12-bit codes is smaller than the head. */
    static const fp_source_sizes sizes = {36u << 10, FP_READ_AT_OPENING, 4u << 20};
    return fp_column_open_sized(source, &sizes, options, column, error);
}

/* The end of a path, so that a long one leaves room for the reason. */
static const char *path_end(const char *path) {
    size_t length = strlen(path);
    return length > 120 ? path + length - 120 : path;
}

static fastpair_status io_fault(const char *path, const char *what, int code,
                                fastpair_error *error) {
    errno = code; /* what %m prints; unlike strerror it is safe among threads */
    return fp_fail(error, FASTPAIR_ERROR_IO, FASTPAIR_NO_POSITION, "%s: %s: %m", path_end(path),
                   what);
}

/* Maps a regular file; *data stays NULL for anything else. */
static fastpair_status map_file(const char *path, const uint8_t **data, uint64_t *size,
                                fastpair_error *error) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return io_fault(path, "cannot open", errno, error);
    struct stat about;
    fastpair_status status = FASTPAIR_OK;
    if (fstat(file, &about) != 0) {
        status = io_fault(path, "cannot look at", errno, error);
    } else if (S_ISDIR(about.st_mode)) {
        status = fp_fail(error, FASTPAIR_ERROR_IO, FASTPAIR_NO_POSITION, "%s: is a directory",
                         path_end(path));
    } else if (!S_ISREG(about.st_mode)) {
        status =
            fp_fail(error, FASTPAIR_ERROR_IO, FASTPAIR_NO_POSITION,
                    "%s: is no regular file and cannot be mapped; read it with a fastpair_reader",
                    path_end(path));
    } else if (about.st_size == 0) {
        status =
            fp_fail(error, FASTPAIR_ERROR_CORRUPT, 0,
                    "%s: the file is empty; a column without rows has 208 bytes", path_end(path));
    } else {
        *size = (uint64_t)about.st_size;
        void *mapping = mmap(NULL, (size_t)*size, PROT_READ, MAP_PRIVATE, file, 0);
        if (mapping == MAP_FAILED)
            status = io_fault(path, "cannot map", errno, error);
        else
            *data = mapping;
    }
    close(file); /* the mapping holds the file */
    return status;
}

fastpair_status fastpair_column_open_file(const char *path, const fastpair_open_options *options,
                                          fastpair_column **column, fastpair_error *error) {
    if (column) *column = NULL;
    if (!column || !path)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_open_file: path and column must not be NULL");
    fp_open_settings settings;
    const uint8_t *data = NULL;
    uint64_t size = 0;
    fastpair_status status = fp_open_settings_resolve(options, &settings, error);
    if (!status) status = map_file(path, &data, &size, error);
    if (status) return status;
    fastpair_error inner = {.message = ""};
    origin from = {.data = data, .size = size, .mapped_bytes = (size_t)size};
    status = open_image(&from, &settings, column, &inner);
    return status ? fp_fail(error, status, inner.position, "%s: %s", path_end(path), inner.message)
                  : FASTPAIR_OK;
}

fastpair_column *fastpair_column_retain(fastpair_column *column) {
    if (column) __atomic_fetch_add(&column->references, 1, __ATOMIC_RELAXED);
    return column;
}

void fastpair_column_close(fastpair_column *column) {
    /* What other owners did before they closed must be over before the memory goes. */
    if (!column || __atomic_sub_fetch(&column->references, 1, __ATOMIC_ACQ_REL)) return;
    fp_open_settings settings = column->settings;
    fastpair_allocator allocator = settings.allocator;
    for (uint64_t i = 0; column->dictionaries && i < column->totals.dictionaries; i++)
        fp_column_dict_close(&column->dictionaries[i]);
    fp_warm_cache_close(column);
    fp_release(&allocator, column->dictionaries);
    fp_release(&allocator, column->code_bits);
    fp_column_chunks_close(column);
    if (column->parts) fp_release(&allocator, column->parts->described);
    fp_release(&allocator, column->parts);
    fp_source_close(column);
    if (column->mapped_bytes) munmap((void *)(uintptr_t)column->image, column->mapped_bytes);
    fp_release(&allocator, column);
    if (settings.on_close) settings.on_close(settings.on_close_context);
}
