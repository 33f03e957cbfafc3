/* cold.h - cold chunks (docs/format.md, section 3.1): from a cold chunk to the warm one.
 *
 * A cold chunk is small on a disk and good for nothing else. Whoever wants rows, whether on a CPU or
 * on a GPU, opens the warm chunk that it stands for, and goes on with that as with any other. */
#ifndef FP_COLD_H
#define FP_COLD_H

#include "chunk_decode.h"
#include "frame.h"

/* The warm chunk: its header's fields, and a block in which its sections lie as they say. The block's
 * own header is not written, and no section has a checksum. */
typedef struct fp_warm {
    fp_chunk chunk;
    uint8_t *block;
} fp_warm;

/* Opens the warm chunk of a cold one. The frame may hold anything: what comes back is a chunk that
 * fp_chunk_validate_rows would pass, but for what the dictionary has to say about single codes, or nothing.
 * The frame's checksum is not looked at. Statuses: CORRUPT, UNSUPPORTED, OUT_OF_MEMORY. */
fastpair_status fp_warm_open(const fp_chunk_view *cold, const fastpair_allocator *allocator,
                             fp_warm *warm, fastpair_error *error);
void fp_warm_close(fp_warm *warm, const fastpair_allocator *allocator);

/* The view of the warm chunk. */
static inline fp_chunk_view fp_warm_view(const fp_warm *warm, const fp_chunk_view *cold) {
    fp_chunk_view view = *cold;
    view.chunk = &warm->chunk;
    view.block = warm->block;
    return view;
}

/* The most memory that opening takes while it lasts, and what the block takes of it afterwards.
 * `bits` is the code width. */
uint64_t fp_warm_peak(const fp_chunk *cold, uint32_t bits);

/* Looks at a cold chunk before memory is allocated for what it claims to hold: its header, and the
 * header of its frame. CORRUPT if they do not fit. */
fastpair_status fp_cold_look(const fp_chunk_view *cold, fastpair_error *error);

/* Makes a reader ready for the frame of a cold chunk. Statuses: OUT_OF_MEMORY, UNSUPPORTED. */
fastpair_status fp_cold_open_reader(const fp_chunk_view *cold, const fastpair_allocator *allocator,
                                    fp_frame_reader *reader, fastpair_error *error);

/* The words of a coded and cold chunk, which fp_cold_look has passed, to `words`, which has room for
 * codes + rows of them. All are at most N + 1, or N if the header says that there are no nulls; `rows`
 * of them are ends of rows, and the last is one. `reader` is ready. Statuses: CORRUPT,
 * OUT_OF_MEMORY. */
fastpair_status fp_cold_read_words(const fp_chunk_view *cold, uint16_t *words,
                                   const fp_frame_reader *reader, fastpair_error *error);

/* Sets the bits of valid rows from bit `bit` of a bitmap on, which are 0 before, by words that were
 * read so. 0 if a null row has codes, or their number is not the header's. */
int fp_cold_validity(const fp_chunk *chunk, const uint16_t *words, uint32_t slots, uint8_t *bitmap,
                     uint64_t bit);

#endif
