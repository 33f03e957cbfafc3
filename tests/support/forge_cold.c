/* forge_cold.c - cold chunks and dictionaries, written after docs/format.md, section 3.1, without the
 * library's help. In: honest warm ones. Out: cold ones, in frames that are not compressed. */
#include "forge_private.h"
#include "frames.h"

void forge_says_cold(forge *f) {
    f->file.data[20] |= 1;
    forge_seal(f->file.data, FORGE_HEAD - 8);
}

static void put_frame(forge_bytes *section, const void *data, uint64_t size) {
    forge_bytes frame = frame_raw(data, size);
    free(section->data);
    *section = frame;
}

static void drop(forge_bytes *section) {
    free(section->data);
    *section = (forge_bytes){0};
}

void forge_make_dictionary_cold(forge_dictionary *d) {
    forge_bytes warm = d->section;
    d->section = frame_raw(warm.data, warm.size);
    d->cold = 1, d->warm_size = warm.size;
    free(warm.data);
}

void forge_make_stored_cold(forge_chunk *c) {
    forge_bytes warm = c->sections[FORGE_CODES];
    c->encoding = 2;
    c->sections[FORGE_CODES] = frame_raw(warm.data, warm.size);
    free(warm.data);
}

void forge_make_coded_cold(forge_chunk *c, const forge_codes *codes, const forge_rows *rows,
                           uint32_t slots, uint32_t longest) {
    uint64_t count = codes->count + rows->rows, at = 0, next = 0;
    uint8_t *words = malloc(2 * count);
    if (!words) abort();
    for (uint64_t row = 0; row < rows->rows; row++) {
        for (uint64_t left = rows->lengths[row]; left;
             left -= codes->length_of[codes->codes[next++]])
            forge_put(words + 2 * at++, codes->codes[next], 2);
        forge_put(words + 2 * at++, slots + (rows->valid && !rows->valid[row]), 2);
    }
    put_frame(&c->sections[FORGE_CODES], words, 2 * count);
    free(words);
    for (int i = FORGE_SIDECAR; i < FORGE_SECTIONS; i++) drop(&c->sections[i]);
    c->encoding = 3;
    c->group = 1;
    while (2 * c->group * c->batch <= 4096 && 2 * c->group * c->batch * longest <= 65536)
        c->group *= 2;
}
