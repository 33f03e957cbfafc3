/* frames.c - zstd frames for tests. In: bytes, or a frame that may be anything. Out: a frame, or its
 * bytes, or the rule that it breaks. It shares no code with the library. */
#include "frames.h"

#ifdef FASTPAIR_ZSTD
#include <zstd.h>
#endif

enum { MAGIC_BYTES = 4, HEAD = 14, LARGEST_BLOCK = 1 << 17 };
static const uint8_t magic[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};

/* ---------------------------------------------------------------- reading */

/* RFC 8878, section 3.1.1.1: where the frame's header ends, and what it says. */
static const char *read_head(const uint8_t *frame, uint64_t frame_size, uint64_t *end,
                             uint64_t *content) {
    static const uint32_t size_bytes[4] = {0, 2, 4, 8}, id_bytes[4] = {0, 1, 2, 4};
    if (frame_size < 5 || memcmp(frame, magic, MAGIC_BYTES) != 0) return "no zstd frame";
    uint32_t flags = frame[4], single = flags >> 5 & 1, in_size = size_bytes[flags >> 6],
             in_id = id_bytes[flags & 3];
    if (flags >> 6 == 0) in_size = single;
    *end = 5 + !single + in_id + in_size;
    if (*end > frame_size) return "frame cut short";
    if (forge_get(frame + 5 + !single, (int)in_id)) return "frame with a dictionary";
    if (!in_size) return "frame without content size";
    *content = forge_get(frame + *end - in_size, (int)in_size) + (in_size == 2 ? 256 : 0);
    return NULL;
}

/* Section 3.1.1.2: blocks follow, then a checksum if the header says so, then nothing. */
static const char *walk_blocks(const uint8_t *frame, uint64_t frame_size, uint64_t at) {
    for (int is_last = 0; !is_last;) {
        if (frame_size - at < 3) return "frame cut short";
        uint64_t head = forge_get(frame + at, 3), type = head >> 1 & 3, size = head >> 3;
        is_last = head & 1;
        if (type == 1) size = 1;
        if (type == 3) return "frame with a reserved block";
        at += 3;
        if (frame_size - at < size) return "frame cut short";
        at += size;
    }
    if (frame[4] >> 2 & 1) {
        if (frame_size - at < 4) return "frame cut short";
        at += 4;
    }
    return at == frame_size ? NULL : "bytes after the frame";
}

const char *frame_unpack(const uint8_t *frame, uint64_t frame_size, uint8_t *out, uint64_t size) {
    uint64_t end = 0, content = 0;
    const char *fault = read_head(frame, frame_size, &end, &content);
    if (!fault && content != size) fault = "frame of another size";
    if (!fault) fault = walk_blocks(frame, frame_size, end);
    if (fault) return fault;
#ifdef FASTPAIR_ZSTD
    return ZSTD_decompress(out, size, frame, frame_size) == size ? NULL : "damaged frame";
#else
    (void)out;
    return "frame in a build without zstd";
#endif
}

int frames_available(void) {
#ifdef FASTPAIR_ZSTD
    return 1;
#else
    return 0;
#endif
}

/* ---------------------------------------------------------------- writing */

static forge_bytes begin_frame(uint64_t size) {
    forge_bytes frame = {0};
    uint8_t *head = forge_append(&frame, NULL, HEAD);
    memcpy(head, magic, MAGIC_BYTES);
    head[4] = 3 << 6; /* a content size of 8 bytes, and a window */
    head[5] = 7 << 3; /* of 128 KiB */
    forge_put(head + 6, size, 8);
    return frame;
}

/* Blocks of at most 128 KiB. `data` is NULL for repeats of `byte`. */
static forge_bytes write_frame(const uint8_t *data, uint8_t byte, uint64_t size) {
    forge_bytes frame = begin_frame(size);
    uint64_t at = 0;
    do {
        uint64_t left = size - at, take = left < LARGEST_BLOCK ? left : LARGEST_BLOCK;
        uint8_t head[3];
        forge_put(head, (take == left) | (data ? 0u : 2u) | take << 3, 3);
        forge_append(&frame, head, 3);
        forge_append(&frame, data ? data + at : &byte, data ? take : 1);
        at += take;
    } while (at < size);
    return frame;
}

forge_bytes frame_raw(const void *data, uint64_t size) {
    return write_frame(size ? data : (const uint8_t *)"", 0, size);
}

forge_bytes frame_repeat(uint8_t byte, uint64_t size) { return write_frame(NULL, byte, size); }

forge_bytes frame_pack(const void *data, uint64_t size) {
#ifdef FASTPAIR_ZSTD
    forge_bytes frame = {0};
    uint64_t room = ZSTD_compressBound(size);
    uint8_t *to = forge_append(&frame, NULL, room);
    frame.size = ZSTD_compress(to, room, data, size, 3);
    if (frame.size > room) abort();
    return frame;
#else
    return frame_raw(data, size);
#endif
}
