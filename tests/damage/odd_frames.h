/* odd_frames.h - frames with one fault each, from what they are to hold: the lies of
 * forged_frames.def. */
#ifndef FP_TESTS_ODD_FRAMES_H
#define FP_TESTS_ODD_FRAMES_H

#include "frames.h"

static inline forge_bytes as_zstd_does(const forge_bytes *data) {
    return frame_pack(data->data, data->size);
}

static inline forge_bytes with_size(const forge_bytes *data, uint64_t claim) {
    forge_bytes frame = frame_raw(data->data, data->size);
    forge_put(frame.data + 6, claim, 8);
    return frame;
}
static inline forge_bytes claims_more(const forge_bytes *data) {
    return with_size(data, data->size + 2);
}
static inline forge_bytes claims_less(const forge_bytes *data) {
    return with_size(data, data->size - 2);
}
static inline forge_bytes claims_a_terabyte(const forge_bytes *data) {
    return with_size(data, 1ull << 40);
}

static inline forge_bytes holds_more(const forge_bytes *data) {
    forge_bytes longer = {0};
    forge_append(&longer, data->data, data->size);
    forge_append(&longer, NULL, 2);
    forge_bytes frame = with_size(&longer, data->size);
    free(longer.data);
    return frame;
}
static inline forge_bytes holds_less(const forge_bytes *data) {
    return with_size(&(forge_bytes){data->data, data->size - 2}, data->size);
}
/* A gigabyte in 32 KB, with the size that is asked for in its header. */
static inline forge_bytes bomb(const forge_bytes *data) {
    forge_bytes frame = frame_repeat(0, 1u << 30);
    forge_put(frame.data + 6, data->size, 8);
    return frame;
}
static inline forge_bytes cut(const forge_bytes *data) {
    forge_bytes frame = as_zstd_does(data);
    frame.size -= 5;
    return frame;
}
static inline forge_bytes cut_in_the_header(const forge_bytes *data) {
    forge_bytes frame = as_zstd_does(data);
    frame.size = 5;
    return frame;
}
static inline forge_bytes bytes_after(const forge_bytes *data) {
    forge_bytes frame = as_zstd_does(data);
    forge_append(&frame, NULL, 1);
    return frame;
}
static const uint8_t skippable[10] = {0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'x', 'y'};
static inline forge_bytes skippable_first(const forge_bytes *data) {
    forge_bytes all = {0}, frame = as_zstd_does(data);
    forge_append(&all, skippable, sizeof skippable);
    forge_append(&all, frame.data, frame.size);
    free(frame.data);
    return all;
}
static inline forge_bytes skippable_after(const forge_bytes *data) {
    forge_bytes frame = as_zstd_does(data);
    forge_append(&frame, skippable, sizeof skippable);
    return frame;
}
static inline forge_bytes two_frames(const forge_bytes *data) {
    forge_bytes first = frame_pack(data->data, 10),
                second = frame_pack(data->data + 10, data->size - 10);
    forge_append(&first, second.data, second.size);
    free(second.data);
    return first;
}
static inline forge_bytes dictionary_id(const forge_bytes *data) {
    forge_bytes plain = frame_raw(data->data, data->size), frame = {0};
    forge_append(&frame, plain.data, 6);
    forge_append(&frame, "\7", 1);
    forge_append(&frame, plain.data + 6, plain.size - 6);
    frame.data[4] |= 1;
    free(plain.data);
    return frame;
}
static inline forge_bytes no_content_size(const forge_bytes *data) {
    forge_bytes plain = frame_raw(data->data, data->size), frame = {0};
    forge_append(&frame, plain.data, 6);
    forge_append(&frame, plain.data + 14, plain.size - 14);
    frame.data[4] = 0;
    free(plain.data);
    return frame;
}
static inline forge_bytes no_frame(const forge_bytes *data) {
    forge_bytes plain = {0};
    forge_append(&plain, data->data, data->size);
    return plain;
}
static inline forge_bytes no_magic(const forge_bytes *data) {
    forge_bytes frame = as_zstd_does(data);
    frame.data[0] ^= 1;
    return frame;
}
/* The frame promises a checksum, and has a wrong one. */
static inline forge_bytes checksum_wrong(const forge_bytes *data) {
    forge_bytes frame = frame_raw(data->data, data->size);
    frame.data[4] |= 4;
    forge_append(&frame, "\1\2\3\4", 4);
    return frame;
}
/* A block that says it is compressed and is not. */
static inline forge_bytes damaged(const forge_bytes *data) {
    forge_bytes frame = frame_raw(data->data, data->size);
    frame.data[14] |= 4;
    return frame;
}

#endif
