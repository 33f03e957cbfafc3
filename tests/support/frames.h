/* frames.h - zstd frames for tests, written and read after RFC 8878 without the library's help. */
#ifndef FP_TESTS_FRAMES_H
#define FP_TESTS_FRAMES_H

#include "forge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if this build can read compressed frames, and so can the library. */
int frames_available(void);

/* What is wrong with a frame that must hold `size` bytes and nothing else; NULL if nothing, and `out`
 * has the bytes. The header and the places of blocks are read here, the blocks by libzstd. */
const char *frame_unpack(const uint8_t *frame, uint64_t frame_size, uint8_t *out, uint64_t size);

/* A frame of blocks that are not compressed, so that anything can be forged without libzstd. The
 * header has the content size in 8 bytes. */
forge_bytes frame_raw(const void *data, uint64_t size);

/* A frame of `size` times the same byte, in blocks of 4 bytes for each 128 KiB: a bomb. */
forge_bytes frame_repeat(uint8_t byte, uint64_t size);

/* A frame as zstd makes it; frame_raw in a build without zstd. */
forge_bytes frame_pack(const void *data, uint64_t size);

#ifdef __cplusplus
}
#endif
#endif
