/* cold_write.c - warm chunks to cold ones. In: a valid warm chunk. Out: a cold block, if one is
 * smaller. The trick: tokens are numbered by length and then by frequency, and zstd likes that order
 * better than frequency alone, so codes stay as they are. Refuses nothing but a lack of memory: chunks
 * that cannot be cold, or would not be smaller, stay warm. */
#include "cold_write.h"

#include "lengths.h"
#include "pack.h"

/* Codes unpacked at a time. */
#define PIECE 1024u

/* Text that codes make no smaller than this share of it, one in so many, may be smaller as a frame of
 * its own: random letters, for example. */
#define LITTLE_GAIN 2u
/* Such a frame is read no faster than zstd reads the text, and codes several times as fast. So a frame
 * must be smaller by this share, one in so many. */
#define TEXT_SHARE 50u

/* How text itself is written: its letters are what there is to save. */
static const fp_frame_style text_style = {3, 0, 0};

/* ---------------------------------------------------------------- words */

/* Walks over codes that are unpacked piece by piece. */
typedef struct code_walk {
    const fp_cold_input *input;
    uint64_t next; /* the first code that is not in `codes` */
    uint32_t at, held;
    uint16_t codes[PIECE];
} code_walk;

/* The next code; 0 if there is none. */
static int next_code(code_walk *walk, uint16_t *code) {
    if (walk->at == walk->held) {
        const fp_chunk *chunk = walk->input->warm;
        const fp_section *section = &chunk->sections[FP_SECTION_CODES];
        uint64_t left = chunk->codes - walk->next;
        if (!left) return 0;
        walk->held = left < PIECE ? (uint32_t)left : PIECE;
        walk->at = 0;
        fp_unpack(walk->input->block + section->offset, section->size, walk->input->dict->code_bits,
                  walk->next, walk->held, walk->codes);
        walk->next += walk->held;
    }
    *code = walk->codes[walk->at++];
    return 1;
}

/* Writes codes + rows words. 0 if the block is not the valid one that it was: others may change an
 * image while it is read. */
static int write_words(const fp_cold_input *input, uint16_t *words) {
    const fp_chunk *warm = input->warm;
    const fp_section *lengths = &warm->sections[FP_SECTION_LENGTHS];
    const uint8_t *bitmap = input->block + warm->sections[FP_SECTION_VALIDITY].offset;
    const uint16_t end = (uint16_t)input->dict->code_slots;
    code_walk walk = {.input = input};
    uint64_t position = 0;
    for (uint64_t first = 0; first < warm->rows; first += FP_LENGTH_BLOCK) {
        uint64_t starts[FP_LENGTH_BLOCK + 1];
        uint32_t rows = fp_lengths_block(input->block + lengths->offset, lengths->size, warm->rows,
                                         first / FP_LENGTH_BLOCK, starts);
        if (rows > FP_LENGTH_BLOCK) return 0;
        for (uint32_t i = 0; i < rows; i++) {
            while (position < starts[i + 1]) {
                if (!next_code(&walk, words)) return 0;
                if (*words >= end) return 0;
                position += input->lengths_of_code[*words++];
            }
            uint64_t row = first + i;
            int is_null = warm->has_validity && !(bitmap[row / 8] >> row % 8 & 1);
            *words++ = (uint16_t)(end + is_null);
        }
    }
    return walk.next == warm->codes && walk.at == walk.held;
}

/* ---------------------------------------------------------------- blocks */

/* Writes a frame to where the cold block's codes section will be; *size gets its bytes. */
static fastpair_status write_frame(fp_cold_writer *writer, const fp_cold_input *input,
                                   fp_frame_style style, const void *data, uint64_t bytes,
                                   uint64_t *size) {
    uint64_t at = fp_align(FP_CHUNK_HEADER, input->alignment);
    const fp_chunk *warm = input->warm;
    /* A stored chunk's other sections follow, and take as much as in the warm block. */
    uint64_t room = at + fp_frame_bound(bytes) + warm->block_bytes;
    writer->block.size = 0;
    fastpair_status status = fp_frame_writer_open(&writer->frames, input->allocator);
    if (!status) status = fp_buffer_reserve(&writer->block, input->allocator, room, NULL);
    return status
               ? status
               : fp_frame_write(&writer->frames, style, data, bytes, writer->block.data + at, size);
}

/* Text has few long repetitions and many short ones, which take long to unpack and save little. Without
 * them, words of text are read up to a third faster. They are left out where that makes a frame larger
 * by no more than a small share. It may be a larger share, if the share of repetitions that are gone is
 * many times that: URLs have many of them, logs few (docs/lab/cold.md). Shares are one in so many. */
#define LONG_MATCH   6
#define SMALL_SHARE  33u
#define LARGER_SHARE 20u
#define MANY_TIMES   8u

int fp_cold_is_better(fp_frame_figures without, fp_frame_figures with) {
    if (without.size <= with.size + with.size / SMALL_SHARE) return 1;
    if (without.size > with.size + with.size / LARGER_SHARE) return 0;
    uint64_t gone = with.repetitions - without.repetitions, more = without.size - with.size;
    return with.repetitions > without.repetitions &&
           gone * with.size >= more * with.repetitions * MANY_TIMES;
}

/* Writes the same frame without short repetitions, and takes it if it is better. */
static fastpair_status try_long_matches(fp_cold_writer *writer, const fp_cold_input *input,
                                        fp_frame_style style, uint64_t bytes, uint64_t *size) {
    uint8_t *frame = writer->block.data + fp_align(FP_CHUNK_HEADER, input->alignment);
    uint64_t other = 0;
    writer->other.size = 0;
    fastpair_status status =
        fp_buffer_reserve(&writer->other, input->allocator, fp_frame_bound(bytes), NULL);
    style.least_match = LONG_MATCH;
    if (!status)
        status = fp_frame_write(&writer->frames, style, writer->words.data, bytes,
                                writer->other.data, &other);
    if (status) return status;
    fp_frame_figures with = {*size, fp_frame_repetitions(frame, *size)},
                     without = {other, fp_frame_repetitions(writer->other.data, other)};
    if (!fp_cold_is_better(without, with)) return FASTPAIR_OK;
    memcpy(frame, writer->other.data, (size_t)other);
    *size = other;
    return FASTPAIR_OK;
}

/* Lays the block out around the frame, of `size` bytes, and finishes it. */
static void finish_block(fp_cold_writer *writer, const fp_cold_input *input, uint64_t size,
                         int coded, fp_chunk *chunk) {
    const fp_chunk *warm = input->warm;
    *chunk = *warm;
    chunk->cold = 1;
    chunk->coded = coded;
    chunk->sections[FP_SECTION_CODES].size = size;
    chunk->sections[FP_SECTION_SIDECAR] = (fp_section){0};
    if (coded) {
        chunk->sections[FP_SECTION_LENGTHS] = (fp_section){0};
        chunk->sections[FP_SECTION_VALIDITY] = (fp_section){0};
    } else { /* whatever the warm one is */
        chunk->codes = chunk->batch_codes = chunk->group_batches = 0;
        chunk->largest_batch = chunk->largest_pair = chunk->largest_four = 0;
        memset(chunk->by_length, 0, sizeof chunk->by_length);
    }
    fp_chunk_layout(chunk, input->alignment);
    uint8_t *block = writer->block.data;
    uint64_t end = FP_CHUNK_HEADER;
    for (int s = 0; s < FP_SECTIONS; s++) {
        fp_section *section = &chunk->sections[s];
        if (!section->size) continue;
        memset(block + end, 0, (size_t)(section->offset - end));
        if (s != FP_SECTION_CODES)
            memcpy(block + section->offset, input->block + warm->sections[s].offset,
                   (size_t)section->size);
        section->checksum = fp_checksum(block + section->offset, section->size);
        end = section->offset + section->size;
    }
    memset(block + end, 0, (size_t)(chunk->block_bytes - end));
    fp_chunk_write_header(chunk, block);
    writer->block.size = chunk->block_bytes;
}

static fastpair_status build_coded(fp_cold_writer *writer, const fp_cold_input *input,
                                   fp_chunk *chunk) {
    const fp_chunk *warm = input->warm;
    const uint64_t count = warm->codes + warm->rows;
    const fp_dict *dict = input->dict;
    chunk->cold = 0;
    if (dict->code_slots > FP_MAX_COLD_SLOTS || count > FP_MAX_WORDS ||
        warm->batch_codes * dict->max_token > FP_LARGEST_BATCH ||
        warm->group_batches != fp_group_batches(warm->batch_codes, dict->max_token))
        return FASTPAIR_OK;
    writer->words.size = 0;
    fastpair_status status =
        fp_buffer_reserve(&writer->words, input->allocator, count * sizeof(uint16_t), NULL);
    if (status) return status;
    uint16_t *words = (uint16_t *)(void *)writer->words.data;
    uint64_t size;
    if (!write_words(input, words)) return FASTPAIR_ERROR_CORRUPT;
    fp_frame_style style = fp_frame_style_of(input->level);
    status = write_frame(writer, input, style, words, count * sizeof *words, &size);
    if (!status && style.plain_literals)
        status = try_long_matches(writer, input, style, count * sizeof *words, &size);
    if (!status) finish_block(writer, input, size, 1, chunk);
    return status;
}

static fastpair_status build_stored(fp_cold_writer *writer, const fp_cold_input *input,
                                    const uint8_t *bytes, fp_chunk *chunk) {
    const fp_chunk *warm = input->warm;
    chunk->cold = 0;
    if (!warm->decoded_bytes || warm->decoded_bytes > FP_MAX_COLD_BYTES) return FASTPAIR_OK;
    uint64_t size;
    fastpair_status status =
        write_frame(writer, input, text_style, bytes, warm->decoded_bytes, &size);
    if (!status) finish_block(writer, input, size, 0, chunk);
    return status;
}

fastpair_status fp_cold_build(fp_cold_writer *writer, const fp_cold_input *input, fp_chunk *chunk) {
    const fp_chunk *warm = input->warm;
    if (!warm->coded) {
        fastpair_status status = build_stored(
            writer, input, fp_chunk_section(warm, input->block, FP_SECTION_CODES), chunk);
        if (!status && chunk->block_bytes >= warm->block_bytes) chunk->cold = 0;
        return status;
    }
    fastpair_status status = build_coded(writer, input, chunk);
    if (status) return status;
    uint64_t least = chunk->cold && chunk->block_bytes < warm->block_bytes ? chunk->block_bytes
                                                                           : warm->block_bytes;
    if (input->decoded && least > warm->decoded_bytes / LITTLE_GAIN) {
        fp_chunk stored;
        fp_buffer coded = writer->block;
        writer->block = (fp_buffer){0};
        status = build_stored(writer, input, input->decoded, &stored);
        int wins =
            !status && stored.cold && stored.block_bytes + stored.block_bytes / TEXT_SHARE < least;
        if (wins) *chunk = stored;
        fp_buffer loser = wins ? coded : writer->block;
        if (!wins) writer->block = coded;
        fp_buffer_close(&loser, input->allocator);
    }
    if (chunk->cold && chunk->block_bytes >= warm->block_bytes) chunk->cold = 0;
    return status;
}

void fp_cold_writer_close(fp_cold_writer *writer, const fastpair_allocator *allocator) {
    fp_frame_writer_close(&writer->frames);
    fp_buffer_close(&writer->words, allocator);
    fp_buffer_close(&writer->other, allocator);
    fp_buffer_close(&writer->block, allocator);
}
