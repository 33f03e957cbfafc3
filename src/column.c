/* column.c - opening and closing columns. In: an untrusted image in memory or a file to map. Out: a fastpair_column
 * whose headers, footer and dictionaries have passed every check, so that decoding need not look at them again.
 *
 * Nothing is allocated for a count before the image is known to be large enough to hold what it counts. Refuses
 * everything that docs/format.md, section 5, says is checked before use. */
#include "column.h"

#include "options.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

fastpair_status fp_check_threads(uint32_t threads, fastpair_error *error) {
    if (threads <= FP_MAX_THREADS) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                   "threads is %" PRIu32 "; the most is %u", threads, FP_MAX_THREADS);
}

fastpair_status fp_open_options_resolve(const fastpair_open_options *options,
                                        fastpair_allocator *allocator, fp_cpu_level *level,
                                        fastpair_error *error) {
    fastpair_open_options given;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (!status) status = fp_allocator_resolve(&given.allocator, allocator, error);
    if (status) return status;
    if (given.cpu_level > FP_CPU_AVX512)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "cpu_level is %" PRIu32 "; it must be in 0..4", given.cpu_level);
    *level = given.cpu_level == FP_CPU_BEST ? fp_cpu_detect() : (fp_cpu_level)given.cpu_level;
    /* Checked here too, so that a column without dictionaries refuses what others refuse. */
    if (*level > fp_cpu_detect())
        return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                       "this CPU lacks the instructions of cpu_level %" PRIu32 "; use 0",
                       given.cpu_level);
    return FASTPAIR_OK;
}

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

/* ---------------------------------------------------------------- dictionaries */

void fp_column_dict_close(fp_column_dict *dictionary, const fastpair_allocator *allocator) {
    if (dictionary->decoder) fp_decoder_free(dictionary->decoder, allocator);
    fp_release(allocator, dictionary->length_of_code);
    fp_dict_free(&dictionary->dict, allocator);
    *dictionary = (fp_column_dict){0};
}

/* What fp_dict_read leaves alone: the gaps of the block. */
static fastpair_status check_dict_gaps(const fp_dict *dict, const uint8_t *block,
                                       uint32_t alignment, uint64_t position,
                                       fastpair_error *error) {
    uint64_t section = fp_align(FP_DICT_HEADER, alignment);
    uint64_t end = section + (uint64_t)dict->run_count * FP_RUN_ENTRY + dict->bytes_size;
    if (fp_all_zero(block + FP_DICT_HEADER, section - FP_DICT_HEADER) &&
        fp_all_zero(block + end, fp_load64(block + 8) - end))
        return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position,
                   "dictionary at offset %" PRIu64
                   ": the bytes before or behind its tokens are not all zero",
                   position);
}

static fastpair_status make_tables(fp_column_dict *dictionary, fp_cpu_level level,
                                   const fastpair_allocator *allocator, fastpair_error *error) {
    const fp_dict *dict = &dictionary->dict;
    dictionary->length_of_code = fp_allocate_zero(allocator, 1ull << dict->code_bits, 1);
    if (!dictionary->length_of_code) return fp_fail_memory(error, 1ull << dict->code_bits);
    for (uint32_t r = 0; r < dict->run_count; r++)
        memset(dictionary->length_of_code + dict->runs[r].first_code, (int)dict->runs[r].length,
               dict->runs[r].count);
    fastpair_status status = fp_decoder_create(dict, level, allocator, &dictionary->decoder, error);
    if (status) dictionary->decoder = NULL;
    return status;
}

fastpair_status fp_column_dict_open(const uint8_t *block, uint64_t available,
                                    const fp_file_header *file, uint64_t position,
                                    uint64_t image_bytes, fp_cpu_level level,
                                    const fastpair_allocator *allocator, uint64_t *table_bytes,
                                    fp_column_dict *dictionary, fastpair_error *error) {
    *dictionary = (fp_column_dict){0};
    fastpair_status status = fp_dict_read(block, available, file->alignment, position, allocator,
                                          &dictionary->dict, error);
    if (status) return status;
    dictionary->entry = (fp_dict_entry){position, fp_load64(block + 8), 0};
    dictionary->checksum = fp_load64(block + 64);
    status = check_dict_gaps(&dictionary->dict, block, file->alignment, position, error);
    *table_bytes += 18ull << dictionary->dict.code_bits; /* a 16-byte row and two lengths a code */
    if (!status && *table_bytes > fp_table_limit(image_bytes))
        status = fp_fail(error, FASTPAIR_ERROR_LIMIT, position,
                         "dictionary at offset %" PRIu64
                         ": too many wide, nearly empty dictionaries for a file of this size",
                         position);
    if (!status) status = make_tables(dictionary, level, allocator, error);
    if (status) fp_column_dict_close(dictionary, allocator);
    return status;
}

/* ---------------------------------------------------------------- opening */

/* Reads all blocks in file order. The footer's entries have been checked to tile the file. */
static fastpair_status read_blocks(fastpair_column *column, const uint8_t *entries,
                                   fp_cpu_level level, uint32_t *code_bits, fastpair_error *error) {
    const fp_footer *totals = &column->totals;
    uint64_t dict = 0, chunk = 0, rows = 0, bytes = 0, nulls = 0, codes = 0, table_bytes = 0;
    while (dict < totals->dictionaries || chunk < totals->chunks) {
        fp_dict_entry next = {.position = UINT64_MAX};
        if (dict < totals->dictionaries) next = fp_footer_dict(entries, dict);
        if (chunk == totals->chunks ||
            next.position < fp_footer_chunk(entries, totals, chunk).position) {
            fp_column_dict *dictionary = &column->dictionaries[dict];
            fastpair_status status = fp_column_dict_open(
                column->image + next.position, next.block_bytes, &column->file, next.position,
                column->size, level, &column->allocator, &table_bytes, dictionary, error);
            if (status) return status;
            if (dictionary->entry.block_bytes != next.block_bytes)
                return fp_fail(error, FASTPAIR_ERROR_CORRUPT, next.position,
                               "dictionary %" PRIu64 " (offset %" PRIu64
                               "): the footer gives another size",
                               dict, next.position);
            dictionary->entry.tokens_in_use = next.tokens_in_use;
            code_bits[dict++] = dictionary->dict.code_bits;
            continue;
        }
        fp_chunk_entry entry = fp_footer_chunk(entries, totals, chunk);
        fp_chunk *parsed = &column->chunks[chunk];
        if (entry.block_bytes < FP_CHUNK_HEADER)
            return fp_fail(error, FASTPAIR_ERROR_CORRUPT, entry.position,
                           "chunk %" PRIu64 " (offset %" PRIu64
                           "): the block is smaller than a chunk's header",
                           chunk, entry.position);
        fastpair_status status =
            fp_chunk_read_header(column->image + entry.position, entry.position,
                                 column->file.alignment, code_bits, dict, parsed, error);
        if (status) return status;
        if (parsed->block_bytes != entry.block_bytes || parsed->rows != entry.rows ||
            parsed->decoded_bytes != entry.decoded_bytes)
            return fp_fail(error, FASTPAIR_ERROR_CORRUPT, entry.position,
                           "chunk %" PRIu64 " (offset %" PRIu64
                           "): the footer gives another size or row count",
                           chunk, entry.position);
        column->first_row[chunk] = rows;
        column->first_byte[chunk++] = bytes;
        rows += parsed->rows; /* fp_footer_check_entries found that these two sums fit */
        bytes += parsed->decoded_bytes;
        nulls += parsed->nulls; /* at most the rows */
        codes += parsed->codes; /* at most the bytes */
    }
    column->first_row[chunk] = rows;
    column->first_byte[chunk] = bytes;
    if (nulls != totals->nulls || codes != totals->codes)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, column->size - FP_TRAILER,
                       "footer: the chunks' null rows or codes do not add up to the totals");
    return FASTPAIR_OK;
}

static fastpair_status parse_image(fastpair_column *column, fp_cpu_level level,
                                   fastpair_error *error) {
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
    column->dictionaries =
        fp_allocate_zero(&column->allocator, totals->dictionaries, sizeof *column->dictionaries);
    column->chunks = fp_allocate(&column->allocator, totals->chunks, sizeof *column->chunks);
    column->first_row =
        fp_allocate(&column->allocator, totals->chunks + 1, sizeof *column->first_row);
    column->first_byte =
        fp_allocate(&column->allocator, totals->chunks + 1, sizeof *column->first_byte);
    uint32_t *code_bits = fp_allocate(&column->allocator, totals->dictionaries, sizeof *code_bits);
    if (column->dictionaries && column->chunks && column->first_row && column->first_byte &&
        code_bits)
        status = read_blocks(column, entries, level, code_bits, error);
    else
        status = fp_fail_memory(error, totals->chunks * sizeof *column->chunks);
    fp_release(&column->allocator, code_bits);
    return status;
}

/* Makes the column; takes over the mapping, if there is one, even on failure. */
static fastpair_status open_image(const uint8_t *data, uint64_t size, size_t mapped_bytes,
                                  const fastpair_allocator *allocator, fp_cpu_level level,
                                  fastpair_column **column, fastpair_error *error) {
    fastpair_column *opened = fp_allocate_zero(allocator, 1, sizeof *opened);
    if (!opened) {
        if (mapped_bytes) munmap((void *)(uintptr_t)data, mapped_bytes);
        return fp_fail_memory(error, sizeof *opened);
    }
    opened->allocator = *allocator;
    opened->image = data;
    opened->size = size;
    opened->mapped_bytes = mapped_bytes;
    fastpair_status status = parse_image(opened, level, error);
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
    fastpair_allocator allocator;
    fp_cpu_level level;
    fastpair_status status = fp_open_options_resolve(options, &allocator, &level, error);
    return status ? status : open_image(data, size, 0, &allocator, level, column, error);
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
    fastpair_allocator allocator;
    fp_cpu_level level;
    const uint8_t *data = NULL;
    uint64_t size = 0;
    fastpair_status status = fp_open_options_resolve(options, &allocator, &level, error);
    if (!status) status = map_file(path, &data, &size, error);
    if (status) return status;
    fastpair_error inner = {.message = ""};
    status = open_image(data, size, (size_t)size, &allocator, level, column, &inner);
    return status ? fp_fail(error, status, inner.position, "%s: %s", path_end(path), inner.message)
                  : FASTPAIR_OK;
}

void fastpair_column_close(fastpair_column *column) {
    if (!column) return;
    fastpair_allocator allocator = column->allocator;
    for (uint64_t i = 0; column->dictionaries && i < column->totals.dictionaries; i++)
        fp_column_dict_close(&column->dictionaries[i], &allocator);
    fp_release(&allocator, column->dictionaries);
    fp_release(&allocator, column->chunks);
    fp_release(&allocator, column->first_row);
    fp_release(&allocator, column->first_byte);
    if (column->mapped_bytes) munmap((void *)(uintptr_t)column->image, column->mapped_bytes);
    fp_release(&allocator, column);
}
