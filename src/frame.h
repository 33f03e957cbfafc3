/* frame.h - zstd frames, which cold blocks consist of (docs/format.md). Nothing else of the library
 * knows zstd. A library that was built without it refuses frames by name. */
#ifndef FP_FRAME_H
#define FP_FRAME_H

#include "memory.h"

/* 1 if this library can read and write frames. */
int fp_frames_available(void);

/* UNSUPPORTED, and what to do about it. `position` is where the file says that it has frames. */
fastpair_status fp_frames_missing(uint64_t position, fastpair_error *error);

/* The most bytes that a frame of `size` bytes takes. */
uint64_t fp_frame_bound(uint64_t size);

/* Writes frames, and keeps its tables from one to the next. All zero is an empty one. One thread at a
 * time. */
typedef struct fp_frame_writer {
    void *context;
} fp_frame_writer;

/* How a frame is written. Any frame is read by the same code, at a rate that differs by a factor of
 * five. */
typedef struct fp_frame_style {
    int level; /* of zstd */
    /* What repeats is left out, and the rest stays as it is: some percent larger, and twice to five
     * times as fast to read. */
    int plain_literals;
    /* The shortest repetition that is left out, in bytes, 3..7; 0: what the level has. With longer ones
     * frames are larger and faster to read. */
    int least_match;
} fp_frame_style;

/* What a level of ours means for frames. */
fp_frame_style fp_frame_style_of(uint32_t level);

/* Makes a writer ready, if it is not. `allocator` must outlive it. OUT_OF_MEMORY if there is no
 * memory. */
fastpair_status fp_frame_writer_open(fp_frame_writer *writer, const fastpair_allocator *allocator);

/* Writes a frame of data[0 .. size) to `out`, which has fp_frame_bound bytes. *written is 0 and the
 * status OUT_OF_MEMORY if there is no memory. */
fastpair_status fp_frame_write(const fp_frame_writer *writer, fp_frame_style style,
                               const void *data, uint64_t size, uint8_t *out, uint64_t *written);
void fp_frame_writer_close(fp_frame_writer *writer);

/* How many repetitions a frame has, which is what reading it takes time for. The frame must be one that
 * fp_frame_write has written with plain literals. */
uint64_t fp_frame_repetitions(const uint8_t *frame, uint64_t size);

/* What is wrong with a frame as far as it can be seen without reading it, NULL if nothing: it must say
 * that it holds `size` bytes. For callers that are about to allocate as much. */
const char *fp_frame_fault(const uint8_t *frame, uint64_t frame_size, uint64_t size);

/* Reads frames, and keeps what reading needs from one to the next. That takes about as many bytes as
 * FP_FRAME_MEMORY says. On a virtual machine it also takes 20 microseconds to make, since zstd asks each
 * time what the CPU is. All zero is an empty one. One thread at a time. */
typedef struct fp_frame_reader {
    void *context;
} fp_frame_reader;

#define FP_FRAME_MEMORY (200u << 10)

/* Makes a reader ready, if it is not. `allocator` must outlive it. Statuses: OUT_OF_MEMORY,
 * UNSUPPORTED. */
fastpair_status fp_frame_reader_open(fp_frame_reader *reader, const fastpair_allocator *allocator);

/* Reads a frame from untrusted bytes to `out`, which has `size` bytes: exactly what the frame must
 * hold. *fault is what is wrong, NULL if nothing. Takes no memory. CORRUPT if anything is wrong; the
 * reader is good for other frames all the same. */
fastpair_status fp_frame_read(const fp_frame_reader *reader, const uint8_t *frame,
                              uint64_t frame_size, void *out, uint64_t size, const char **fault);
void fp_frame_reader_close(fp_frame_reader *reader);

/* The same with a reader of its own. Statuses: CORRUPT, OUT_OF_MEMORY, UNSUPPORTED. */
fastpair_status fp_frame_read_once(const uint8_t *frame, uint64_t frame_size, void *out,
                                   uint64_t size, const fastpair_allocator *allocator,
                                   const char **fault);

#endif
