/* sample.c - which bytes of a column training looks at. In: rows, a cap in bytes, a seed. Out:
 * pieces of rows, copied back to back in the order training reads them, at most cap bytes.
 *
 * The trick: the column is read front to back, because jumping about in it costs more than
 * training. Its pieces are divided into equally large strata. Each stratum gives a piece, or a few
 * neighbours, that the seed chooses. These pieces are dealt at random to a number of decks. The
 * sample is deck after deck, so that every stretch of it comes from all over the column. Refuses
 * nothing: null and empty rows are left out, and a column without bytes gives an empty sample. */
#include "sample.h"

#include "format.h"
#include "parse.h"
#include "rows.h"
#include "utf8.h"

#include <string.h>

#define PIECE_SHIFT FP_SAMPLE_PIECE_SHIFT
#define PIECE       (1u << PIECE_SHIFT) /* 4 KiB */
#define DECK_BITS   FP_SAMPLE_DECK_BITS
#define DECKS       (1u << DECK_BITS)
#define LOOK_AHEAD  16u /* pieces between the prefetch of a piece and its copy */

/* A chosen piece is one number. From the low bits up: its size, its deck, and its offset from the
 * column's first byte, below 2^45. */
#define SIZE_BITS (PIECE_SHIFT + 1)

static inline uint32_t piece_size(uint64_t piece) {
    return (uint32_t)piece & ((1u << SIZE_BITS) - 1);
}
static inline uint32_t piece_deck(uint64_t piece) {
    return (uint32_t)(piece >> SIZE_BITS) & (DECKS - 1);
}
static inline uint64_t piece_offset(uint64_t piece) { return piece >> (SIZE_BITS + DECK_BITS); }

static inline uint64_t row_size(const fastpair_rows *rows, uint64_t row) {
    return fp_row_start(rows, row + 1) - fp_row_start(rows, row);
}

/* The number of the row's first piece. Numbers are such that no sum over rows is needed: a row has
 * one number, and one more for each multiple of 4 KiB that the column's bytes reach in it. That is
 * enough for its pieces; numbers left over stand for empty pieces. */
static inline uint64_t first_number(const fastpair_rows *rows, uint64_t row) {
    return row + ((fp_row_start(rows, row) - fp_row_start(rows, 0)) >> PIECE_SHIFT);
}

/* The row of a piece number, given that it is not before `row`. */
static uint64_t find_row(const fastpair_rows *rows, uint64_t row, uint64_t number) {
    while (first_number(rows, row + 1) <= number) {
        /* If each row between had one number, `most` would be the row. It is too far by at most the
         * excess of its number. */
        uint64_t most = row + (number - first_number(rows, row));
        if (most > rows->rows) most = rows->rows;
        uint64_t top = first_number(rows, most), excess = top > number ? top - number : 0;
        row = most - row > excess ? most - excess : row + 1;
    }
    return row;
}

/* A random number, the same for the same seed and number. */
static inline uint64_t mix(uint64_t seed, uint64_t number) {
    uint64_t x = seed + (number + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 29)) * 0xa0761d6478bd642fu;
    return x ^ (x >> 32);
}

/* How pieces are drawn: `numbers` piece numbers are divided into runs of `run`, and the runs into
 * `strata`. */
typedef struct drawing {
    uint64_t seed, numbers, run, strata;
} drawing;

/* Fills `chosen` with the pieces of one run per stratum, in column order, empty pieces left out, and
 * returns how many they are. With as many strata as runs that is all pieces. `rows` gives lengths
 * (fp_rows_lengths), `source` says where the bytes lie. */
static uint64_t choose(const fastpair_rows *rows, const fastpair_rows *source, const drawing *how,
                       uint64_t *chosen) {
    const uint64_t seed = how->seed, numbers = how->numbers, run = how->run, strata = how->strata;
    const uint64_t runs = (numbers + run - 1) / run;
    const unsigned __int128 width =
        ((unsigned __int128)runs << 32) / strata; /* of a stratum, in 2^-32 */
    uint64_t count = 0, row = 0, first = 0;
    for (uint64_t stratum = 0; stratum < strata; stratum++) {
        uint64_t next = (uint64_t)(width * (stratum + 1) >> 32), random = mix(seed, stratum);
        uint64_t number =
            (first + (uint64_t)((unsigned __int128)random * (next - first) >> 64)) * run;
        first = next;
        for (uint64_t end = number + run < numbers ? number + run : numbers; number < end;
             number++) {
            row = find_row(rows, row, number);
            uint64_t size = row_size(rows, row), skipped = (number - first_number(rows, row))
                                                           << PIECE_SHIFT;
            if (skipped >= size) continue;
            uint64_t length = size - skipped < PIECE ? size - skipped : PIECE;
            uint64_t offset = fp_row_start(source, row) - fp_row_start(source, 0) + skipped;
            chosen[count++] = (offset << DECK_BITS | (random & (DECKS - 1))) << SIZE_BITS | length;
            random = random >> DECK_BITS; /* neighbours go to different decks */
        }
    }
    return count;
}

/* Copies two halves that overlap. Most pieces are short, and a memcpy of unknown size would become
 * a call or a string instruction. */
static inline void copy_piece(uint8_t *to, const uint8_t *from, uint32_t length) {
    if (length > 32) {
        memcpy(to, from, length);
    } else if (length >= 16) {
        uint8_t head[16], tail[16];
        memcpy(head, from, 16);
        memcpy(tail, from + length - 16, 16);
        memcpy(to, head, 16);
        memcpy(to + length - 16, tail, 16);
    } else if (length >= 8) {
        uint64_t head = fp_load64(from), tail = fp_load64(from + length - 8);
        fp_store64(to, head);
        fp_store64(to + length - 8, tail);
    } else {
        for (uint32_t i = 0; i < length; i++) to[i] = from[i];
    }
}

/* Deals the pieces to their decks, which lie one after the other. What lies beyond the cap is left
 * out. */
static void deal(const uint8_t *column, const uint64_t *chosen, uint64_t count, uint64_t cap,
                 fp_sample *sample) {
    struct {
        uint64_t bytes, pieces;
    } next[DECKS + 1] = {{0, 0}};
    for (uint64_t i = 0; i < count; i++) {
        next[piece_deck(chosen[i]) + 1].bytes += piece_size(chosen[i]);
        next[piece_deck(chosen[i]) + 1].pieces++;
    }
    for (uint32_t deck = 1; deck <= DECKS; deck++) {
        next[deck].bytes += next[deck - 1].bytes;
        next[deck].pieces += next[deck - 1].pieces;
    }
    sample->size = next[DECKS].bytes < cap ? next[DECKS].bytes : cap;
    for (uint64_t i = 0; i < count; i++) {
        if (count - i > LOOK_AHEAD)
            __builtin_prefetch(column + piece_offset(chosen[i + LOOK_AHEAD]));
        uint32_t deck = piece_deck(chosen[i]), length = piece_size(chosen[i]);
        uint64_t at = next[deck].bytes;
        if (at >= cap) continue;
        if (length > cap - at) length = (uint32_t)(cap - at);
        copy_piece(sample->bytes + at, column + piece_offset(chosen[i]), length);
        sample->lengths[next[deck].pieces++] = length;
        next[deck].bytes = at + length;
        sample->pieces++;
    }
}

static int is_text(const fp_sample *sample) {
    const uint8_t *piece = sample->bytes;
    for (uint64_t i = 0; i < sample->pieces; piece += sample->lengths[i++]) {
        uint64_t size = sample->lengths[i], cut = 0; /* bytes of a character that began before */
        while (cut < 3 && cut < size && (piece[cut] & 0xc0) == 0x80) cut++;
        fp_utf8 text = {{0}};
        if (fp_utf8_take(&text, piece + cut, size - cut) != size - cut) return 0;
    }
    return 1;
}

fastpair_status fp_sample_open(const fastpair_rows *source, uint64_t cap, uint64_t seed,
                               const fastpair_allocator *allocator, fp_sample *sample,
                               fastpair_error *error) {
    *sample = (fp_sample){0};
    /* Pieces are numbered by lengths without the bytes of null rows, so that equal rows give equal
     * samples. */
    fastpair_rows lengths, *rows = &lengths;
    uint64_t *own_offsets;
    fastpair_status status = fp_rows_lengths(source, allocator, rows, &own_offsets, error);
    if (status) return status;
    if (rows->rows) sample->column_bytes = fp_row_start(rows, rows->rows) - fp_row_start(rows, 0);

    /* Short pieces are taken in runs of some 256 bytes, because each run costs a few cache misses.
     * There are as many strata as runs of mean size that reach the cap, and some more in case the
     * chosen are smaller. */
    uint64_t numbers = sample->column_bytes ? first_number(rows, rows->rows) : 0, run = 1,
             strata = 0;
    if (numbers) {
        uint64_t mean = sample->column_bytes / numbers;
        run = 256 / (mean < 32 ? 32 : mean > 256 ? 256 : mean);
        strata = (numbers + run - 1) / run;
    }
    if (sample->column_bytes > cap) {
        uint64_t enough = (uint64_t)((unsigned __int128)strata * cap / sample->column_bytes);
        enough += enough / 16 + 16;
        if (enough < strata) strata = enough;
    }
    uint64_t room = sample->column_bytes < cap ? sample->column_bytes : cap;
    uint64_t *chosen = fp_allocate(allocator, strata * run, sizeof *chosen);
    sample->bytes = fp_allocate(allocator, room + FP_SLACK, 1);
    sample->lengths = fp_allocate(allocator, strata * run, sizeof *sample->lengths);
    if (!chosen || !sample->bytes || !sample->lengths) {
        fp_release(allocator, chosen);
        fp_release(allocator, own_offsets);
        fp_sample_close(sample, allocator);
        return fp_fail_memory(error,
                              room + strata * run * (sizeof *chosen + sizeof *sample->lengths));
    }
    if (strata) {
        uint64_t count = choose(rows, source, &(drawing){seed, numbers, run, strata}, chosen);
        deal(source->bytes + fp_row_start(source, 0), chosen, count, cap, sample);
    }
    memset(sample->bytes + sample->size, 0, FP_SLACK);
    sample->is_text = is_text(sample);
    fp_release(allocator, chosen);
    fp_release(allocator, own_offsets);
    return FASTPAIR_OK;
}

fastpair_status fp_sample_copy(const fp_sample_drawn *drawn, const fastpair_allocator *allocator,
                               fp_sample *sample, fastpair_error *error) {
    uint64_t total = 0;
    int is_good = 1;
    *sample = (fp_sample){.size = drawn->size,
                          .pieces = drawn->pieces,
                          .column_bytes = drawn->column_bytes,
                          .bytes = fp_allocate(allocator, drawn->size + FP_SLACK, 1)};
    sample->lengths = fp_allocate(allocator, drawn->pieces, sizeof *sample->lengths);
    if (!sample->bytes || !sample->lengths) {
        fp_sample_close(sample, allocator);
        return fp_fail_memory(error, drawn->size + drawn->pieces * sizeof *sample->lengths);
    }
    for (uint64_t i = 0; i < drawn->pieces; i++) {
        sample->lengths[i] = fp_load16(drawn->lengths + 2 * i);
        is_good &= sample->lengths[i] > 0 && sample->lengths[i] <= PIECE;
        total += sample->lengths[i];
    }
    if (!is_good || total != drawn->size) {
        fp_sample_close(sample, allocator);
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, FASTPAIR_NO_POSITION,
                       "the sample's pieces do not make up its bytes");
    }
    if (drawn->size) memcpy(sample->bytes, drawn->bytes, (size_t)drawn->size);
    memset(sample->bytes + drawn->size, 0, FP_SLACK);
    sample->is_text = is_text(sample);
    return FASTPAIR_OK;
}

void fp_sample_close(fp_sample *sample, const fastpair_allocator *allocator) {
    fp_release(allocator, sample->bytes);
    fp_release(allocator, sample->lengths);
    *sample = (fp_sample){0};
}

uint64_t *fp_sample_offsets(const fp_sample *sample, const fastpair_allocator *allocator) {
    uint64_t *offsets = fp_allocate(allocator, sample->pieces + 1, sizeof *offsets);
    if (!offsets) return NULL;
    offsets[0] = 0;
    for (uint64_t i = 0; i < sample->pieces; i++) offsets[i + 1] = offsets[i] + sample->lengths[i];
    return offsets;
}

uint64_t fp_sample_default(fastpair_codec codec, uint32_t code_bits, uint32_t level) {
    /* At each width, twice as much gains about 1 % of bytes per code at most
     * (docs/lab/training.md), which is for high levels. The lowest make do with less. */
    static const uint8_t onpair_mebibytes[] = {[13] = 6, [14] = 12, [15] = 16, [16] = 24};
    if (codec == FASTPAIR_CODEC_FSST12) return 1u << 20;
    if (level == 1) return 3u << 18;
    uint64_t bytes = (uint64_t)(code_bits > 12 ? onpair_mebibytes[code_bits] : 4) << 20;
    return level == 2 ? bytes / 4 : level < 5 ? bytes : 2 * bytes;
}
