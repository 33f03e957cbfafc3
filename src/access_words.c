/* access_words.c - all rows of a coded and cold chunk. In: a chunk whose frame may hold anything. Out: bytes,
 * offsets and validity in the caller's memory, and whether the rows are UTF-8.
 *
 * The trick: the chunk is not made warm. Words are codes, and ends of rows are tokens of no bytes. A
 * decoder says now and then how far it has come, so where rows are long, few words need to be measured: those
 * between such a place and the end of a row. Where they are short, all words are measured before any is
 * decoded. Refuses frames that hold anything else than the headers say. */
#include "access.h"

#include "pack.h"

/* ---------------------------------------------------------------- nulls */

/* ORs bits into a byte that is shared with the tasks for the chunks before and after. */
static void share_bits(uint8_t *byte, uint32_t bits) {
    __atomic_fetch_or(byte, (uint8_t)bits, __ATOMIC_RELAXED);
}

/* Sets bits from .. to, which are 0 before. */
static void set_bits(uint8_t *bitmap, uint64_t from, uint64_t to) {
    uint64_t first = from / 8, last = (to - 1) / 8;
    uint32_t low = 0xffu << from % 8, high = 0xffu >> (7 - (to - 1) % 8);
    if (first == last) {
        share_bits(&bitmap[first], low & high);
        return;
    }
    share_bits(&bitmap[first], low);
    memset(bitmap + first + 1, 0xff, (size_t)(last - first - 1));
    share_bits(&bitmap[last], high);
}

/* Nulls of all rows, from the words. */
static fastpair_status put_nulls(const fp_range_job *job, const fp_chunk_view *cold,
                                 const uint16_t *words, uint64_t index, fastpair_error *error) {
    const fp_chunk *chunk = cold->chunk;
    uint8_t *bitmap = job->destination->validity;
    const fastpair_allocator *allocator = &job->column->settings.allocator;
    uint64_t bytes = (chunk->rows + 7) / 8, skip = index % 8;
    uint8_t *bits = fp_allocate_zero(allocator, bytes + 1, 1);
    if (!bits) return fp_fail_memory(error, bytes + 1);
    fastpair_status status = FASTPAIR_OK;
    if (!fp_cold_validity(chunk, words, cold->dictionary->dict.code_slots, bits, skip))
        status = fp_chunk_fault(cold, FP_SECTION_CODES, 0,
                                "the frame holds other nulls than the header says", error);
    uint64_t end = (skip + chunk->rows + 7) / 8;
    for (uint64_t i = 0; i < end && bitmap && !status; i++) {
        uint8_t *to = &bitmap[index / 8 + i];
        if (i == 0 || i + 1 == end)
            share_bits(to, bits[i]);
        else
            *to = bits[i];
    }
    fp_release(allocator, bits);
    return status;
}

/* ---------------------------------------------------------------- offsets of short rows */

/* Rows whose offsets are computed together. */
#define PIECE_ROWS 512u

/* Offsets of all rows, from the words. Returns how many bytes these have. */
static uint64_t put_offsets(const fp_range_job *job, const fp_chunk_view *cold,
                            const uint8_t *lengths, const uint16_t *words, uint64_t index) {
    const uint32_t slots = cold->dictionary->dict.code_slots;
    const uint64_t base = job->begin - job->column->starts.byte[cold->number];
    uint64_t position = 0;
    for (uint64_t done = 0; done < cold->chunk->rows;) {
        uint64_t starts[PIECE_ROWS + 1], left = cold->chunk->rows - done;
        uint32_t rows = left < PIECE_ROWS ? (uint32_t)left : PIECE_ROWS;
        starts[0] = position;
        /* No branch depends on whether a row ends here: rows are too short to guess that. */
        for (uint32_t row = 0; row < rows;) {
            uint16_t word = *words++;
            position += lengths[word];
            row += word >= slots;
            starts[row + (word < slots)] = position;
        }
        fp_put_offsets(job->destination, index + done, starts, rows, base);
        done += rows;
    }
    return position;
}

/* ---------------------------------------------------------------- offsets of long rows */

/* Rows of so many words are long. */
#define LONG_ROW 64u

/* Where somebody stands who goes over words and what they decode to. */
typedef struct word_walk {
    const fastpair_destination *destination;
    const uint8_t *lengths;
    fastpair_cpu_level level;
    uint32_t slots;
    int are_long;          /* offsets are written while words are decoded */
    const uint16_t *words; /* the next ones */
    uint64_t position;     /* where they go in the destination */
    uint64_t row, end;     /* the row that has begun, in the destination, and the end of all rows */
    fp_text_rows rows;     /* those whose offsets are there */
    fp_text_walk text;
    int looks; /* whether bytes are UTF-8 */
    fp_decode_watch watch;
} word_walk;

/* So many words that compilers compare several at once. */
#define STEP 256u

static inline __attribute__((always_inline)) uint32_t ends_among(const uint16_t *words,
                                                                 uint32_t count, uint16_t slots) {
    uint32_t ends = 0;
    for (; count >= STEP; count -= STEP, words += STEP) {
        uint16_t here = 0;
        for (uint32_t k = 0; k < STEP; k++) here = (uint16_t)(here + (words[k] >= slots));
        ends += here;
    }
    for (uint32_t k = 0; k < count; k++) ends += words[k] >= slots;
    return ends;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint32_t ends_among_avx2(const uint16_t *words,
                                                                uint32_t count, uint16_t slots) {
    return ends_among(words, count, slots);
}
#endif

/* How many of `count` words, FP_SEEN_BLOCK * FP_SEEN_BLOCKS or fewer, end rows. */
static uint32_t count_ends(const word_walk *walk, const uint16_t *words, uint32_t count) {
#if defined(__x86_64__)
    if (walk->level >= FASTPAIR_CPU_AVX2)
        return ends_among_avx2(words, count, (uint16_t)walk->slots);
#endif
    return ends_among(words, count, (uint16_t)walk->slots);
}

/* The bytes of the last `bricks` bricks of words before `end`. */
static uint64_t last_bricks(const word_walk *walk, const uint16_t *end, uint32_t bricks) {
    uint64_t bytes = 0;
    while (bricks) {
        uint32_t length = walk->lengths[*--end], has = (length + FP_SEEN_BRICK - 1) / FP_SEEN_BRICK;
        if (has > bricks) length -= (has - bricks) * FP_SEEN_BRICK;
        bricks -= has < bricks ? has : bricks;
        bytes += length;
    }
    return bytes;
}

/* Writes where rows begin, after the next `ends` ends of rows. Words from `word` on are at `position`. */
static void put_ends(word_walk *walk, const uint16_t *word, uint32_t ends, uint64_t position) {
    for (; ends; word++) {
        position += walk->lengths[*word];
        if (*word < walk->slots) continue;
        ends--;
        /* The offset after the last row is that of another chunk. */
        if (++walk->row < walk->end) fp_put_offset(walk->destination, walk->row, position);
    }
}

/* The same for all of `count` words that a loop has decoded to bytes from `position` on. */
static void put_seen(word_walk *walk, uint64_t position, uint32_t count,
                     const fp_decode_blocks *blocks) {
    const uint16_t *word = walk->words, *end = word + count;
    const uint32_t known = blocks ? blocks->count : 0;
    uint64_t at = position;
    for (uint32_t n = 0; word < end; n++) {
        const uint32_t words = n < known ? FP_SEEN_BLOCK : (uint32_t)(end - word);
        const uint32_t ends = count_ends(walk, word, words);
        if (ends && n && blocks)
            at = position + blocks->after[n - 1].bytes +
                 last_bricks(walk, word, blocks->after[n - 1].left);
        put_ends(walk, word, ends, at);
        word += words;
    }
    walk->words = end;
}

static void look(void *context, const fp_decode_seen *seen) {
    word_walk *walk = context;
    if (walk->are_long) {
        put_seen(walk, walk->position, (uint32_t)seen->codes, seen->blocks);
        walk->position = (uint64_t)(seen->end - walk->destination->bytes);
        walk->rows.end = walk->row < walk->end ? walk->row + 1 : walk->end;
    }
    if (!walk->looks) return;
    walk->text.watch.look(walk->text.watch.context, seen);
    walk->watch.wants_text = walk->text.watch.wants_text;
}

/* ---------------------------------------------------------------- all of it */

/* Begins to walk over the words of a chunk, whose bytes begin at `from` in the destination. */
static void begin(word_walk *walk, const fp_range_job *job, const fp_chunk_view *cold,
                  uint64_t from, uint64_t index) {
    const fp_chunk *chunk = cold->chunk;
    const fastpair_destination *destination = job->destination;
    walk->destination = destination;
    walk->level = job->column->settings.level;
    walk->slots = cold->dictionary->dict.code_slots;
    walk->are_long = destination->offset_bits && chunk->rows <= chunk->codes / LONG_ROW;
    walk->row = index;
    walk->end = index + chunk->rows;
    walk->position = from;
    walk->rows = (fp_text_rows){destination, index, walk->are_long ? index + 1 : walk->end,
                                fp_text_level(job->column, job->bulk)};
    /* If all tokens are UTF-8 by themselves, rows are. */
    walk->looks = job->text && !fp_chunk_is_whole(cold);
    walk->watch = (fp_decode_watch){.look = look, .context = walk};
    if (walk->are_long) fp_put_offset(destination, index, from);
    fp_text_begin(&walk->text, &walk->rows, from, 0);
    walk->text.has_ends = 1;
}

/* Decodes words of 16 bits to bytes and offsets. 0 if they are not as many bytes as the header says. */
static int decode(fp_range_job *job, const fp_chunk_view *cold, const fp_decoder *decoder,
                  fp_code_range range, word_walk *walk) {
    const uint64_t from = walk->position, size = cold->chunk->decoded_bytes;
    const uint16_t *end = walk->words + range.count;
    if (job->destination->offset_bits && !walk->are_long &&
        put_offsets(job, cold, walk->lengths, walk->words, walk->row) != size)
        return 0;
    if (walk->looks || walk->are_long) range.watch = &walk->watch;
    if (fp_decode_codes(decoder, &range, job->destination->bytes + from, size) != size) return 0;
    if (walk->are_long) { /* the last words are decoded without a word */
        put_seen(walk, walk->position, (uint32_t)(end - walk->words), NULL);
        walk->rows.end = walk->end;
    }
    if (walk->looks && !fp_text_end(&walk->text, from + size, (fp_text_edges){1, 1}))
        job->text->is_wrong = 1;
    return 1;
}

static fastpair_status decode_words(fp_range_job *job, const fp_chunk_view *cold, uint16_t *words,
                                    uint64_t words_bytes, uint64_t index, fastpair_error *error) {
    const fp_chunk *chunk = cold->chunk;
    const fp_decoder *decoder;
    word_walk walk = {.words = words};
    fp_frame_reader reader = fp_column_take_reader(job->column);
    fastpair_status status =
        fp_cold_open_reader(cold, &job->column->settings.allocator, &reader, error);
    if (!status) status = fp_cold_read_words(cold, words, &reader, error);
    fp_column_give_reader(job->column, reader);
    if (!status) status = fp_column_dict_word_decoder(cold->dictionary, &decoder, error);
    if (!status) status = fp_column_dict_lengths(cold->dictionary, &walk.lengths, error);
    if (status) return status;
    begin(&walk, job, cold, job->column->starts.byte[cold->number] - job->begin, index);
    fp_code_range range = {
        (const uint8_t *)words,       words_bytes, 0, chunk->codes + chunk->rows, cold->bulk,
        fp_chunk_rarely_above(chunk), NULL};
    if (!decode(job, cold, decoder, range, &walk))
        return fp_chunk_fault(cold, FP_SECTION_CODES, 0,
                              "words have no token or do not decode to the size the header gives",
                              error);
    atomic_fetch_add_explicit(&job->nulls, chunk->nulls, memory_order_relaxed);
    if (chunk->has_validity) return put_nulls(job, cold, words, index, error);
    if (job->destination->validity)
        set_bits(job->destination->validity, index, index + chunk->rows);
    return FASTPAIR_OK;
}

fastpair_status fp_decode_words(fp_range_job *job, const fp_chunk_view *cold, uint64_t index,
                                fastpair_error *error) {
    const fastpair_allocator *allocator = &job->column->settings.allocator;
    const fp_chunk *chunk = cold->chunk;
    fastpair_status status = fp_cold_look(cold, error);
    if (status) return status;
    /* Loops read whole units of 16 bytes. */
    uint64_t bytes = fp_packed_size(chunk->codes + chunk->rows, 16);
    uint16_t *words = fp_allocate(allocator, bytes, 1);
    if (!words) return fp_fail_memory(error, bytes);
    memset((uint8_t *)words + bytes - 16, 0, 16);
    status = decode_words(job, cold, words, bytes, index, error);
    fp_release(allocator, words);
    return status;
}
