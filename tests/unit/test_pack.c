/* test_pack.c - packing and unpacking against bit-by-bit versions, at every width, in buffers that
 * notice any access beside them. */
#include "pack.h"

#include "check.h"
#include "guard.h"

/* Code `number` by the definition of docs/format.md, a bit at a time. */
static uint16_t code_by_bits(const uint8_t *packed, uint32_t bits, uint64_t number) {
    uint32_t code = 0;
    for (uint32_t i = 0; i < bits; i++) {
        uint64_t bit = number * bits + i;
        code |= (uint32_t)(packed[bit / 8] >> (bit % 8) & 1) << i;
    }
    return (uint16_t)code;
}

static int padding_is_zero(const guard *packed, uint64_t bits_used) {
    for (uint64_t bit = bits_used; bit < packed->size * 8; bit++)
        if (packed->data[bit / 8] >> (bit % 8) & 1) return 0;
    return 1;
}

static void pack_and_unpack(uint64_t count, uint32_t bits, uint64_t *random) {
    guard codes = guard_make(count * 2), packed = guard_make(fp_packed_size(count, bits));
    uint16_t *code = malloc(count * 2 + 2);
    for (uint64_t i = 0; i < count; i++)
        code[i] = (uint16_t)(check_random(random) >> (check_random(random) % 4 ? 64 - bits : 63));
    memcpy(codes.data, code, count * 2);
    fp_pack((const uint16_t *)(void *)codes.data, count, bits, packed.data);
    int same = 1;
    for (uint64_t i = 0; i < count; i++) same &= code_by_bits(packed.data, bits, i) == code[i];
    CHECK(same);
    CHECK(padding_is_zero(&packed, count * bits));
    memset(codes.data, 0xee, count * 2);
    fp_unpack(packed.data, packed.size, bits, 0, count, (uint16_t *)(void *)codes.data);
    CHECK(!memcmp(codes.data, code, count * 2));

    /* Any range, with a packed buffer that ends as early as the contract lets it. */
    for (int i = 0; i < 4; i++) {
        uint64_t first = check_random(random) % (count + 1),
                 some = check_random(random) % (count - first + 1);
        guard cut = guard_make(fp_packed_size(first + some, bits)), part = guard_make(some * 2);
        memcpy(cut.data, packed.data, cut.size);
        fp_unpack(cut.data, cut.size, bits, first, some, (uint16_t *)(void *)part.data);
        CHECK(!memcmp(part.data, code + first, some * 2));
        CHECK(guard_free(&cut) && guard_free(&part));
    }
    CHECK(guard_free(&codes) && guard_free(&packed));
    free(code);
}

/* The size formula against 128-bit arithmetic, where the plain product would overflow too. */
static void sizes(void) {
    static const uint64_t counts[] = {0,   1,   7,        8,          127,
                                      128, 129, 1u << 28, 1ull << 40, (1ull << 60) - 1};
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            unsigned __int128 needed = ((unsigned __int128)counts[i] * bits + 127) / 128 * 16;
            CHECK_EQ(fp_packed_size(counts[i], bits), (uint64_t)needed);
        }
}

int main(void) {
    uint64_t seed = 7301, random = seed;
    printf("seed %" PRIu64 "\n", seed);
    sizes();
    for (uint32_t bits = 1; bits <= 16; bits++) {
        for (uint64_t count = 0; count <= 140; count++) pack_and_unpack(count, bits, &random);
        for (int i = 0; i < 20; i++) pack_and_unpack(check_random(&random) % 5000, bits, &random);
    }
    return check_done();
}
