/* column.c - opening and closing columns. In: an untrusted image in memory or a file to map. Out: a
 * fastpair_column whose headers, footer and dictionaries have passed every check, so that decoding
 * need not look at them again.
 *
 * Nothing is allocated for a count before the image is known to be large enough to hold what it
 * counts. Refuses everything that docs/format.md, section 5, says is checked before use. */
#include "column.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t fp_column_find_chunk(const fastpair_column *column, uint64_t row) {
    uint64_t low = 0, high = column->totals.chunks;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (column->first_row[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

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

/* Where reading the blocks has got to: the next dictionary and chunk, and sums over the chunks
 * before. */
typedef struct progress {
    const uint8_t *entries; /* of the footer, checked to tile the file */
    uint64_t dict, chunk;
    uint64_t rows, bytes, nulls, codes;
    fp_table_budget budget;
    uint32_t *code_bits; /* of each dictionary before `dict` */
} progress;

static fastpair_status read_dictionary(fastpair_column *column, progress *at,
                                       fastpair_error *error) {
    fp_dict_entry entry = fp_footer_dict(at->entries, at->dict);
    fp_column_dict *dictionary = &column->dictionaries[at->dict];
    fp_dict_block block = {column->image + entry.position, entry.block_bytes, entry.position,
                           column->file.alignment};
    fastpair_status status =
        fp_column_dict_open(&block, &column->settings, &at->budget, dictionary, error);
    if (status) return status;
    if (dictionary->entry.block_bytes != entry.block_bytes)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, entry.position,
                       "dictionary %" PRIu64 " (offset %" PRIu64 "): the footer gives another size",
                       at->dict, entry.position);
    dictionary->entry.tokens_in_use = entry.tokens_in_use;
    at->code_bits[at->dict++] = dictionary->dict.code_bits;
    return FASTPAIR_OK;
}

static fastpair_status read_chunk(fastpair_column *column, progress *at, fastpair_error *error) {
    fp_chunk_entry entry = fp_footer_chunk(at->entries, &column->totals, at->chunk);
    fp_chunk *parsed = &column->chunks[at->chunk];
    if (entry.block_bytes < FP_CHUNK_HEADER)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, entry.position,
                       "chunk %" PRIu64 " (offset %" PRIu64
                       "): the block is smaller than a chunk's header",
                       at->chunk, entry.position);
    fp_chunk_context before = {column->file.alignment, at->code_bits, at->dict};
    fastpair_status status = fp_chunk_read_header(column->image + entry.position, entry.position,
                                                  &before, parsed, error);
    if (status) return status;
    if (parsed->block_bytes != entry.block_bytes || parsed->rows != entry.rows ||
        parsed->decoded_bytes != entry.decoded_bytes)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, entry.position,
                       "chunk %" PRIu64 " (offset %" PRIu64
                       "): the footer gives another size or row count",
                       at->chunk, entry.position);
    column->first_row[at->chunk] = at->rows;
    column->first_byte[at->chunk++] = at->bytes;
    at->rows += parsed->rows; /* fp_footer_check_entries found that these two sums fit */
    at->bytes += parsed->decoded_bytes;
    at->nulls += parsed->nulls; /* at most the rows */
    at->codes += parsed->codes; /* at most the bytes */
    return FASTPAIR_OK;
}

/* Reads all blocks in file order. */
static fastpair_status read_blocks(fastpair_column *column, progress *at, fastpair_error *error) {
    const fp_footer *totals = &column->totals;
    while (at->dict < totals->dictionaries || at->chunk < totals->chunks) {
        int next_is_chunk = at->dict == totals->dictionaries ||
                            (at->chunk < totals->chunks &&
                             fp_footer_chunk(at->entries, totals, at->chunk).position <
                                 fp_footer_dict(at->entries, at->dict).position);
        fastpair_status status =
            next_is_chunk ? read_chunk(column, at, error) : read_dictionary(column, at, error);
        if (status) return status;
    }
    column->first_row[at->chunk] = at->rows;
    column->first_byte[at->chunk] = at->bytes;
    if (at->nulls != totals->nulls || at->codes != totals->codes)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, column->size - FP_TRAILER,
                       "footer: the chunks' null rows or codes do not add up to the totals");
    return FASTPAIR_OK;
}

static fastpair_status parse_image(fastpair_column *column, fastpair_error *error) {
    uint64_t size = column->size, footer_at = 0;
    if (size < FP_FILE_HEADER + FP_FOOTER_HEADER + FP_TRAILER)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, 0,
                       "%" PRIu64 " bytes are too few for a fastpair column, which has at least %u",
                       size, FP_FILE_HEADER + FP_FOOTER_HEADER + FP_TRAILER);
    fastpair_status status = fp_file_header_read(column->image, &column->file, error);
    if (!status)
        status = fp_trailer_read(column->image + size - FP_TRAILER, size, &column->file, &footer_at,
                                 error);
    if (!status)
        status = fp_footer_read(column->image + footer_at, footer_at, &column->file,
                                &column->totals, error);
    if (status) return status;
    fp_footer *totals = &column->totals;
    if (fp_footer_size(totals->dictionaries, totals->chunks) != size - FP_TRAILER - footer_at)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, footer_at + 8,
                       "footer: it does not end where the trailer begins (offset %" PRIu64 ")",
                       footer_at + 8);
    const uint8_t *entries = column->image + footer_at + FP_FOOTER_HEADER;
    status = fp_footer_check_entries(entries, footer_at, &column->file, totals, error);
    if (status) return status;
    if (!fp_all_zero(column->image + FP_FILE_HEADER,
                     fp_first_block(column->file.alignment) - FP_FILE_HEADER))
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, FP_FILE_HEADER,
                       "the bytes between the file header and the first block are not all zero");

    /* All counts are bounded by the image now: a dictionary has 192 bytes of it, a chunk 384. */
    const fastpair_allocator *allocator = &column->settings.allocator;
    column->dictionaries =
        fp_allocate_zero(allocator, totals->dictionaries, sizeof *column->dictionaries);
    column->chunks = fp_allocate(allocator, totals->chunks, sizeof *column->chunks);
    column->first_row = fp_allocate(allocator, totals->chunks + 1, sizeof *column->first_row);
    column->first_byte = fp_allocate(allocator, totals->chunks + 1, sizeof *column->first_byte);
    progress at = {.entries = entries, .budget = {.file_bytes = size}};
    at.code_bits = fp_allocate(allocator, totals->dictionaries, sizeof *at.code_bits);
    if (column->dictionaries && column->chunks && column->first_row && column->first_byte &&
        at.code_bits)
        status = read_blocks(column, &at, error);
    else
        status = fp_fail_memory(error, totals->chunks * sizeof *column->chunks);
    fp_release(allocator, at.code_bits);
    return status;
}

/* Makes the column; takes over the mapping, if there is one, even on failure. */
static fastpair_status open_image(const uint8_t *data, uint64_t size, size_t mapped_bytes,
                                  const fp_open_settings *settings, fastpair_column **column,
                                  fastpair_error *error) {
    fastpair_column *opened = fp_allocate_zero(&settings->allocator, 1, sizeof *opened);
    if (!opened) {
        if (mapped_bytes) munmap((void *)(uintptr_t)data, mapped_bytes);
        return fp_fail_memory(error, sizeof *opened);
    }
    opened->settings = *settings;
    opened->image = data;
    opened->size = size;
    opened->mapped_bytes = mapped_bytes;
    fastpair_status status = parse_image(opened, error);
    if (status) {
        fastpair_column_close(opened);
        return status;
    }
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
    return status ? status : open_image(data, size, 0, &settings, column, error);
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
    status = open_image(data, size, (size_t)size, &settings, column, &inner);
    return status ? fp_fail(error, status, inner.position, "%s: %s", path_end(path), inner.message)
                  : FASTPAIR_OK;
}

void fastpair_column_close(fastpair_column *column) {
    if (!column) return;
    fastpair_allocator allocator = column->settings.allocator;
    for (uint64_t i = 0; column->dictionaries && i < column->totals.dictionaries; i++)
        fp_column_dict_close(&column->dictionaries[i]);
    fp_release(&allocator, column->dictionaries);
    fp_release(&allocator, column->chunks);
    fp_release(&allocator, column->first_row);
    fp_release(&allocator, column->first_byte);
    if (column->mapped_bytes) munmap((void *)(uintptr_t)column->image, column->mapped_bytes);
    fp_release(&allocator, column);
}
