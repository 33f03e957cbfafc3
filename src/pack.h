/* pack.h - packed codes, least significant bit first (docs/format.md, section 3). */
#ifndef FP_PACK_H
#define FP_PACK_H

#include <stdint.h>

/* Bytes of a codes section: whole 16-byte units. */
static inline uint64_t fp_packed_size(uint64_t codes, uint32_t bits) {
    return (codes / 128 * bits + (codes % 128 * bits + 127) / 128) * 16;
}

/* Packs codes[i] (each below 2^bits) into `packed`; all of its fp_packed_size(count, bits) bytes
 * are written. */
void fp_pack(const uint16_t *codes, uint64_t count, uint32_t bits, uint8_t *packed);

/* Unpacks `count` codes from code number `first` on. Reads nothing outside packed[0 ..
 * packed_size). The caller has checked that fp_packed_size(first + count, bits) <= packed_size. */
void fp_unpack(const uint8_t *packed, uint64_t packed_size, uint32_t bits, uint64_t first,
               uint64_t count, uint16_t *codes);

#endif
