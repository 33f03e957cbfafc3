/* image.c - a column in memory that may be anything: open, validate, decode in every way there is.
 *
 * What is demanded: no crash, memory within what the header promises, a column that validates
 * decodes everywhere to the same rows, and the library and the oracle (tests/oracle.h) agree on
 * which files are good. */
#include "image.h"

#include "fuzz.h"
#include "oracle.h"
#include "ranged.h"

enum {
    MEMORY_CAP = 256 << 20,
    LARGEST_COLUMN =
        64 << 20,          /* decoded bytes, and bytes of offsets, of columns that are decoded */
    OPEN_FACTOR = 16,      /* "a small multiple of size" */
    OPEN_FIXED = 64 << 10, /* for a column with nothing in it */
    OPEN_DICTIONARY = 1258292, /* 1.2 MiB */
    OPEN_COLD = 10 << 20,      /* a dictionary beside its frame's contents */
    ROWS_PROBED = 64,
};

/* A decoded column, in the caller's memory. */
typedef struct decoded {
    uint64_t rows;
    uint64_t size;
    uint8_t *bytes;
    uint64_t *offsets;
    uint8_t *validity;
    fastpair_destination destination;
} decoded;

static decoded decoded_create(uint64_t rows, uint64_t size) {
    decoded d = {.rows = rows, .size = size};
    d.bytes = fuzz_need(size);
    d.offsets = fuzz_need((rows + 1) * sizeof *d.offsets);
    d.validity = fuzz_need((rows + 7) / 8);
    d.destination = (fastpair_destination){.struct_size = sizeof d.destination,
                                           .bytes = d.bytes,
                                           .bytes_capacity = size,
                                           .offsets = d.offsets,
                                           .offset_bits = 64,
                                           .validity = d.validity};
    return d;
}

static void decoded_free(decoded *d) { free(d->bytes), free(d->offsets), free(d->validity); }

static int is_valid(const decoded *d, uint64_t row) {
    return d->validity[row / 8] >> (row % 8) & 1;
}

/* The rows a streaming reader gives must be the same. */
typedef struct stream {
    const uint8_t *data;
    size_t left;
    size_t piece;
} stream;

static int stream_read(void *context, void *data, size_t size, size_t *got) {
    stream *s = context;
    if (size > s->piece) size = s->piece;
    if (size > s->left) size = s->left;
    memcpy(data, s->data, size);
    s->data += size;
    s->left -= size;
    *got = size;
    return 0;
}

static int row_is_null(const fastpair_rows *rows, uint64_t row) {
    uint64_t bit = rows->validity_bit_offset + row;
    return rows->validity && !(rows->validity[bit / 8] >> (bit % 8) & 1);
}

/* `expected` is NULL when the column did not validate: then anything may come, but nothing may
 * break. */
static void run_reader(const uint8_t *data, size_t size, const fastpair_open_options *options,
                       const decoded *expected) {
    stream s = {data, size, 1 + size / 3};
    fastpair_source source = {stream_read, &s};
    fastpair_reader *reader;
    fastpair_error error;
    fastpair_status status = fastpair_reader_open(&source, options, &reader, &error);
    if (status != FASTPAIR_OK) {
        DEMAND(!expected);
        return;
    }
    uint64_t row = 0, total = 0;
    int at_end = 0;
    while (!at_end && total < LARGEST_COLUMN && row < LARGEST_COLUMN / 8) {
        fastpair_rows rows = {.struct_size = sizeof rows};
        status = fastpair_reader_next(reader, &rows, &at_end, &error);
        if (status != FASTPAIR_OK) {
            if (expected) fprintf(stderr, "reader: %s\n", error.message);
            DEMAND(!expected);
            break;
        }
        DEMAND(at_end == (rows.rows == 0));
        if (at_end) break;
        DEMAND(!expected || rows.rows <= expected->rows - row);
        for (uint64_t i = 0; expected && i < rows.rows; i++) {
            uint64_t length = row_start(&rows, i + 1) - row_start(&rows, i);
            uint64_t from = expected->offsets[row + i];
            DEMAND(length == expected->offsets[row + i + 1] - from);
            DEMAND(!length ||
                   !memcmp(rows.bytes + row_start(&rows, i), expected->bytes + from, length));
            DEMAND(row_is_null(&rows, i) == !is_valid(expected, row + i));
        }
        row += rows.rows;
        total += row_start(&rows, rows.rows) - row_start(&rows, 0);
    }
    DEMAND(!expected || (at_end && row == expected->rows));
    fastpair_reader_close(reader);
}

/* Single rows, ranges and lists, at places spread over the column. With `all` they must agree with
 * it; without, the column did not validate, and calls may fail but not break. */
static void probe_rows(const fastpair_column *column, const fastpair_column_totals *totals,
                       const decoded *all) {
    fastpair_error error;
    uint64_t step = totals->rows / ROWS_PROBED + 1, listed[ROWS_PROBED + 1], count = 0;
    uint8_t small[256];
    for (uint64_t row = 0; row < totals->rows; row += step) {
        uint64_t size;
        int is_null = -1;
        listed[count++] = totals->rows - 1 - row;
        uint8_t *bytes = small;
        fastpair_status status =
            fastpair_column_decode_row(column, row, bytes, sizeof small, &size, &is_null, &error);
        if (status == FASTPAIR_ERROR_BUFFER_TOO_SMALL && size <= LARGEST_COLUMN) {
            bytes = fuzz_need(size);
            status = fastpair_column_decode_row(column, row, bytes, size, &size, &is_null, &error);
        }
        if (all) {
            DEMAND_OK(status, &error);
            DEMAND(size == all->offsets[row + 1] - all->offsets[row]);
            DEMAND(!memcmp(bytes, all->bytes + all->offsets[row], size));
            DEMAND(is_null == !is_valid(all, row));
        }
        if (bytes != small) free(bytes);
    }
    if (count == 0) return;
    uint64_t size;
    if (fastpair_column_listed_size(column, listed, count, &size, &error) == FASTPAIR_OK &&
        size <= LARGEST_COLUMN) {
        decoded some = decoded_create(count, size);
        fastpair_status status =
            fastpair_column_decode_listed(column, listed, count, &some.destination, &error);
        if (all) DEMAND_OK(status, &error);
        for (uint64_t i = 0; all && i < count; i++) {
            uint64_t from = all->offsets[listed[i]], length = all->offsets[listed[i] + 1] - from;
            DEMAND(some.offsets[i + 1] - some.offsets[i] == length);
            DEMAND(!memcmp(some.bytes + some.offsets[i], all->bytes + from, length));
            DEMAND(is_valid(&some, i) == is_valid(all, listed[i]));
        }
        decoded_free(&some);
    } else {
        DEMAND(!all || size > LARGEST_COLUMN);
    }
    uint64_t first = totals->rows / 3, in_range = totals->rows / 2;
    if (fastpair_column_rows_size(column, first, in_range, &size, &error) == FASTPAIR_OK &&
        size <= LARGEST_COLUMN) {
        decoded some = decoded_create(in_range, size);
        fastpair_status status =
            fastpair_column_decode(column, first, in_range, &some.destination, &error);
        if (all) {
            DEMAND_OK(status, &error);
            DEMAND(size == all->offsets[first + in_range] - all->offsets[first]);
            DEMAND(!memcmp(some.bytes, all->bytes + all->offsets[first], size));
        }
        decoded_free(&some);
    } else {
        DEMAND(!all);
    }
}

/* Name, pairs and bounds. A column that validates has good ones, and its bounds leave out no chunk
 * that holds a row. */
static void probe_metadata(const fastpair_column *column, const fastpair_column_totals *totals,
                           const decoded *all) {
    fastpair_error error;
    fastpair_metadata metadata = {.struct_size = sizeof metadata};
    fastpair_status status = fastpair_column_get_metadata(column, &metadata, &error);
    if (all) DEMAND_OK(status, &error);
    DEMAND(!metadata.name || strlen(metadata.name) <= 1024);
    for (uint64_t i = 0; i < metadata.pair_count; i++) {
        const fastpair_pair *found;
        DEMAND_OK(fastpair_column_find_pair(column, metadata.pairs[i].key, &found, &error), &error);
        DEMAND(found == &metadata.pairs[i]);
    }
    for (uint64_t chunk = 0; chunk < totals->chunks && chunk < ROWS_PROBED; chunk++) {
        fastpair_chunk_bounds bounds = {.struct_size = sizeof bounds};
        fastpair_chunk_info info = {.struct_size = sizeof info};
        status = fastpair_column_get_chunk_bounds(column, chunk, &bounds, &error);
        if (all) DEMAND_OK(status, &error);
        DEMAND_OK(fastpair_column_get_chunk(column, chunk, &info, &error), &error);
        for (uint64_t i = 0; all && i < info.rows; i += info.rows / 16 + 1) {
            uint64_t row = info.first_row + i, from = all->offsets[row];
            uint64_t size = all->offsets[row + 1] - from;
            int equal, prefix;
            if (!is_valid(all, row)) continue;
            fastpair_column_may_hold(column, chunk, FASTPAIR_ROW_EQUAL, all->bytes + from, size,
                                     &equal, &error);
            fastpair_column_may_hold(column, chunk, FASTPAIR_ROW_PREFIX, all->bytes + from,
                                     size / 2, &prefix, &error);
            DEMAND(equal && prefix);
        }
    }
}

/* The same image, read in small ranges: what is said of it, and its rows, are the same. `said` is the
 * status of opening and validating it in memory. */
static void run_ranged(const uint8_t *data, size_t size, fuzz_memory *memory, fastpair_status said,
                       const decoded *all) {
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = fuzz_allocator(memory)};
    ranged from;
    ranged_start(&from, data, size);
    fastpair_range_source source = ranged_source(&from, 1);
    fp_source_sizes sizes = ranged_sizes(data, size, size);
    fastpair_column *column;
    fastpair_error error;
    fastpair_status status = fp_column_open_sized(&source, &sizes, &options, &column, &error);
    if (status == FASTPAIR_OK) {
        fastpair_column_totals totals = {.struct_size = sizeof totals};
        DEMAND_OK(fastpair_column_get_totals(column, &totals, &error), &error);
        if (totals.decoded_bytes <= LARGEST_COLUMN && totals.rows <= LARGEST_COLUMN / 8)
            probe_rows(column, &totals, all);
        status = fastpair_column_validate(column, &error);
        fastpair_column_close(column);
    }
    DEMAND(status == said || memory->refused);
    DEMAND(!from.was_outside);
    ranged_end(&from);
}

static void compare_with_oracle(const uint8_t *data, size_t size, const decoded *all) {
    oracle_column oracle;
    int good = oracle_decode(data, size, &oracle);
    if (!good && all)
        fprintf(stderr, "oracle: %s at %llu\n", oracle.why, (unsigned long long)oracle.where);
    if (all) {
        DEMAND(good);
        DEMAND(oracle.rows == all->rows && oracle.decoded_bytes == all->size);
        DEMAND(!memcmp(oracle.bytes, all->bytes, all->size));
        DEMAND(!memcmp(oracle.offsets, all->offsets, (all->rows + 1) * sizeof *all->offsets));
        for (uint64_t row = 0; row < all->rows; row++)
            DEMAND(oracle.valid[row] == is_valid(all, row));
    } else {
        /* Departures that the page leaves to the reader excuse a refusal; a good file has none. */
        DEMAND(!good || oracle.gaps_not_zero || oracle.padding_not_zero || oracle.rows_cut_tokens ||
               oracle.empty_slots_used);
    }
    oracle_free(&oracle);
}

void fuzz_run_image(const uint8_t *data, size_t size) {
    fuzz_memory memory = {.cap = MEMORY_CAP};
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = fuzz_allocator(&memory)};
    fastpair_column *column;
    fastpair_error error = {.status = FASTPAIR_OK};
    fastpair_status status = fastpair_column_open(data, size, &options, &column, &error);
    if (status != FASTPAIR_OK) {
        DEMAND(error.status == status && memchr(error.message, 0, sizeof error.message));
        DEMAND(memory.in_use == 0);
        if (!memory.refused && status != FASTPAIR_ERROR_LIMIT)
            compare_with_oracle(data, size, NULL);
        run_reader(data, size, &options, NULL);
        run_ranged(data, size, &memory, status, NULL);
        DEMAND(memory.in_use == 0);
        return;
    }
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_column_info info = {.struct_size = sizeof info};
    DEMAND_OK(fastpair_column_get_totals(column, &totals, &error), &error);
    status = fastpair_column_get_info(column, &info, &error);
    DEMAND(status == FASTPAIR_OK || status == FASTPAIR_ERROR_CORRUPT || memory.refused);
    int is_cold = data[20] & 1; /* a frame may hold far more than it has bytes */
    DEMAND(is_cold || (totals.decoded_bytes <= 512 * (uint64_t)size &&
                       totals.rows <= 16 * (uint64_t)size)); /* SECURITY.md */
    DEMAND(memory.peak <= OPEN_FIXED + OPEN_FACTOR * (uint64_t)size +
                              OPEN_DICTIONARY * totals.dictionaries + (is_cold ? OPEN_COLD : 0));

    status = fastpair_column_validate(column, &error);
    const fastpair_status said = status;
    int valid = status == FASTPAIR_OK;
    DEMAND(valid || status == FASTPAIR_ERROR_CORRUPT || memory.refused);
    if (totals.decoded_bytes <= LARGEST_COLUMN && totals.rows <= LARGEST_COLUMN / 8) {
        decoded all = decoded_create(totals.rows, totals.decoded_bytes);
        status = fastpair_column_decode(column, 0, totals.rows, &all.destination, &error);
        if (valid) {
            DEMAND_OK(status, &error);
            DEMAND(all.offsets[0] == 0 && all.offsets[totals.rows] == totals.decoded_bytes);
            DEMAND(all.destination.nulls == totals.nulls);
        }
        probe_rows(column, &totals, valid ? &all : NULL);
        probe_metadata(column, &totals, valid ? &all : NULL);
        fuzz_probe_arrow(column, totals.rows, &options.allocator, valid);
        if (valid || !memory.refused) compare_with_oracle(data, size, valid ? &all : NULL);
        run_reader(data, size, &options, valid ? &all : NULL);
        run_ranged(data, size, &memory, said, valid ? &all : NULL);

        /* The portable decoder must give what the best one gave. */
        fastpair_open_options portable = options;
        portable.cpu_level = 1;
        fastpair_column *again;
        if (valid && fastpair_column_open(data, size, &portable, &again, &error) == FASTPAIR_OK) {
            decoded other = decoded_create(totals.rows, totals.decoded_bytes);
            DEMAND_OK(fastpair_column_decode(again, 0, totals.rows, &other.destination, &error),
                      &error);
            DEMAND(!memcmp(all.bytes, other.bytes, all.size));
            decoded_free(&other);
            fastpair_column_close(again);
        }
        decoded_free(&all);
    }
    fastpair_column_close(column);
    DEMAND(memory.in_use == 0);
}
