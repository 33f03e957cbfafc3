/* encode_text.cuh - whether the rows of each chunk are UTF-8. In: the text, and where rows end. Out:
 * is_text of chunks, which is 1 beforehand, is 0 where a row is not UTF-8: as fp_rows_not_text says.
 *
 * A lane judges 16 bytes. Where they and the three before are ASCII nothing is wrong. Else bytes are
 * judged eight at a time without regard to rows: a byte must continue a character if and only if one
 * of the three before has begun a character that is long enough, and some beginnings have rules of
 * their own. Where that is broken, or a row begins with a byte that continues a character, bytes are
 * judged again, one by one, row by row: only then it is known which row is wrong, and so which chunk.
 * A row that ends inside a character is found at the row after it, or at the end of the text. */
#ifndef FP_GPU_ENCODE_TEXT_CUH
#define FP_GPU_ENCODE_TEXT_CUH

#include "encode_input.cuh"

FP_GPU_ASSERT(offsetof(fp_gpu_encode_chunk, in_first) % 4 == 0 &&
                  offsetof(fp_gpu_encode_chunk, is_text) ==
                      offsetof(fp_gpu_encode_chunk, in_first) + 2,
              "it is read as part of a word");

/* Bytes of a lane. */
#define ENCODE_TEXT_UNIT  16u
#define ENCODE_TEXT_EACH  (FP_GPU_ENCODE_JUDGED / FP_GPU_HELPER_THREADS / ENCODE_TEXT_UNIT)
#define ENCODE_HIGH_BITS4 0x80808080u
#define ENCODE_HIGH_BITS  0x8080808080808080ull
#define ENCODE_EACH       0x0101010101010101ull

/* Bits of the ends from position `at` on, at least 32 - at % 32 of them. */
DEVICE uint32_t encode_end_bits(const fp_gpu_encode_launch *launch, uint64_t at) {
    return global_load4(launch->scratch.ends + at / 32 * 4) >> at % 32;
}

/* Whether a row begins at a position, or the text ends there. */
DEVICE int encode_is_edge(const fp_gpu_encode_launch *launch, uint64_t at) {
    return at == 0 || (encode_end_bits(launch, at) & 1);
}

/* Three bytes of a row before position `at`, the nearest one lowest; 0 where the row begins later.
 * `is_edge`: the row may end at `at`, else it goes on there. */
DEVICE uint32_t encode_before(const fp_gpu_encode_launch *launch, const encode_view *view,
                              uint64_t at, int is_edge) {
    uint32_t before = 0;
    ROLLED for (uint32_t i = 0; i < 3; i++) {
        if (at == i || (i || !is_edge ? encode_is_edge(launch, at - i) : 0)) break;
        before |= global_load1(view->text + at - i - 1) << 8 * i;
    }
    return before;
}

/* Whether a character lacks a byte after these: the reverse of fp_utf8_is_whole. */
DEVICE int encode_is_wanted(uint32_t before) {
    return byte_of(before, 0) >= 0xc2 || byte_of(before, 1) >= 0xe0 || byte_of(before, 2) >= 0xf0;
}

/* fp_utf8_is_fault */
DEVICE int encode_is_fault(uint32_t now, uint32_t before) {
    uint32_t one = byte_of(before, 0);
    if (encode_is_wanted(before) != ((now & 0xc0) == 0x80) || now >= 0xf5 || (now & 0xfe) == 0xc0)
        return 1;
    return (one == 0xe0 && now < 0xa0) || (one == 0xed && now > 0x9f) ||
           (one == 0xf0 && now < 0x90) || (one == 0xf4 && now > 0x8f);
}

/* The chunk that holds a byte of the text, found by one lane. */
DEVICE uint32_t encode_chunk_with(const fp_gpu_encode_launch *launch, uint64_t byte) {
    uint32_t low = 0, high = encode_chunks(launch);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (global_reload8(ENCODE_CHUNK(launch, middle, first_byte)) <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

DEVICE void encode_not_text(const fp_gpu_encode_launch *launch, uint64_t byte) {
    global_store1(ENCODE_CHUNK(launch, encode_chunk_with(launch, byte), is_text), 0);
}

/* Whether positions from .. to are of one chunk that is known not to be text. Where hardly any byte is
 * right this is what saves time. */
DEVICE int encode_is_known(const fp_gpu_encode_launch *launch, uint64_t from, uint64_t to) {
    if (!from) return 0; /* its row begins here, and what is before is nobody's */
    uint32_t chunk = encode_chunk_with(launch, from - 1);
    uint64_t first = global_reload8(ENCODE_CHUNK(launch, chunk, first_byte));
    uint32_t bytes = global_reload4(ENCODE_CHUNK(launch, chunk, bytes));
    return to <= first + bytes &&
           !byte_of(global_reload4(ENCODE_CHUNK(launch, chunk, in_first)), 2);
}

/* Judges positions from .. to, exactly. What is wrong with a row's end is wrong with the byte before
 * the position. */
DEVICE void encode_judge_rows(const fp_gpu_encode_launch *launch, const encode_view *view,
                              uint64_t from, uint64_t to) {
    ROLLED for (uint64_t at = from; at < to; at++) {
        int is_edge = encode_is_edge(launch, at);
        if (at && is_edge && encode_is_wanted(encode_before(launch, view, at, 1)))
            encode_not_text(launch, at - 1);
        if (at < view->bytes &&
            encode_is_fault(global_load1(view->text + at), encode_before(launch, view, at, 0)))
            encode_not_text(launch, at);
    }
}

/* The highest bits of those of 8 bytes that are `value`. */
DEVICE uint64_t encode_equal(uint64_t bytes, uint32_t value) {
    uint64_t others = bytes ^ value * ENCODE_EACH, low = ENCODE_HIGH_BITS - ENCODE_EACH;
    return ~(((others & low) + low) | others) & ENCODE_HIGH_BITS;
}

/* Whether 8 bytes, of which the lowest is the first, look odd after the three before, which are the
 * upper bytes of `before`: fp_utf8_is_fault for eight at once, in the highest bits of bytes, and
 * without regard to rows. `edges`: bit i is set if a row begins at byte i. C0 and C1 count as
 * beginnings here, but they are wrong themselves. A shift moves a lower bit of a byte to its highest
 * one. */
DEVICE int encode_looks_odd(uint64_t now, uint64_t before, uint32_t edges) {
    uint64_t one = now << 8 | before >> 56, two = now << 16 | before >> 48,
             three = now << 24 | before >> 40;
    uint64_t wanted = (one & one << 1) | (two & two << 1 & two << 2) |
                      (three & three << 1 & three << 2 & three << 3);
    uint64_t continues = now & ~(now << 1);
    uint64_t odd = wanted ^ continues;
    odd |= now & ((now & ~ENCODE_HIGH_BITS) + 0x0b * ENCODE_EACH); /* F5 and above */
    odd |= encode_equal(now & ~ENCODE_EACH, 0xc0);                 /* C0, C1 */
    odd |= encode_equal(one, 0xe0) & ~(now << 2);                  /* then below A0 */
    odd |= encode_equal(one, 0xed) & now << 2;                     /* then above 9F */
    odd |= encode_equal(one, 0xf0) & ~(now << 2) & ~(now << 3);    /* then below 90 */
    odd |= encode_equal(one, 0xf4) & (now << 2 | now << 3);        /* then above 8F */
    odd &= ENCODE_HIGH_BITS;
    for (; edges; edges &= edges - 1) odd |= continues >> 8 * first_bit(edges) & 0x80;
    return odd != 0;
}

/* The same for a lane's 16 bytes at position `at`. `last`: the four bytes before. */
DEVICE int encode_unit_is_odd(const fp_gpu_encode_launch *launch, uint64_t at, fp_words4 bytes,
                              uint32_t last) {
    uint32_t edges = encode_end_bits(launch, at);
    if (at % 32 > 16) edges |= encode_end_bits(launch, at + 32 - at % 32) << (32 - at % 32);
    if (at == 0) edges |= 1;
    uint64_t low = words_low(bytes), high = words_high(bytes);
    return encode_looks_odd(low, (uint64_t)last << 32, edges & 0xff) ||
           encode_looks_odd(high, low, edges >> 8 & 0xff);
}

/* A lane's units, at multiples of 16: places count from `base`, which is such a multiple; the text
 * begins at `skew` and ends before `end`. */
typedef struct encode_units {
    uint64_t base, end;
    uint32_t skew;
} encode_units;

DEVICE int encode_is_inside(const encode_units *units, uint64_t place) {
    return place >= units->skew && place + ENCODE_TEXT_UNIT <= units->end;
}

/* Judges a unit whose bytes are loaded if it is inside. `last`: the four bytes before it, if they are
 * of the text; else it is the first one. */
DEVICE void encode_judge(const fp_gpu_encode_launch *launch, const encode_view *view,
                         const encode_units *units, uint64_t place, fp_words4 bytes,
                         uint32_t last) {
    const uint32_t skew = units->skew;
    if (encode_is_inside(units, place) && place >= skew + ENCODE_TEXT_UNIT) {
        uint32_t all = bytes.word[0] | bytes.word[1] | bytes.word[2] | bytes.word[3] | last;
        if (!(all & ENCODE_HIGH_BITS4)) return;
        if (!encode_unit_is_odd(launch, place - skew, bytes, last)) return;
    }
    if (place > units->end || place + ENCODE_TEXT_UNIT <= skew) return;
    uint64_t from = place < skew ? 0 : place - skew, to = place + ENCODE_TEXT_UNIT - skew;
    if (to > view->bytes + 1) to = view->bytes + 1;
    if (!encode_is_known(launch, from, to)) encode_judge_rows(launch, view, from, to);
}

/* A kernel: a block takes FP_GPU_ENCODE_JUDGED bytes. The position after the last byte is judged as
 * well, by the unit that has it. */
DEVICE void encode_text(const fp_gpu_encode_launch *launch) {
    if (!encode_chunks(launch)) return;
    encode_view view = encode_open(launch);
    const uint32_t skew = (uint32_t)(view.text % ENCODE_TEXT_UNIT);
    const encode_units units = {view.text - skew, skew + view.bytes, skew};
    uint64_t first = (uint64_t)block_x() * FP_GPU_ENCODE_JUDGED + ENCODE_TEXT_UNIT * lane() +
                     32 * ENCODE_TEXT_UNIT * ENCODE_TEXT_EACH * warp_in_block();
    fp_words4 bytes[ENCODE_TEXT_EACH];
    UNROLL for (uint32_t i = 0; i < ENCODE_TEXT_EACH; i++) {
        uint64_t place = first + 32 * ENCODE_TEXT_UNIT * i;
        bytes[i] = fp_words4{{0, 0, 0, 0}};
        if (encode_is_inside(&units, place)) bytes[i] = global_load16(units.base + place);
    }
    UNROLL for (uint32_t i = 0; i < ENCODE_TEXT_EACH; i++) {
        uint64_t place = first + 32 * ENCODE_TEXT_UNIT * i;
        uint32_t last = warp_shfl_up(bytes[i].word[3], 1);
        if (lane() == 0 && encode_is_inside(&units, place) && place >= skew + ENCODE_TEXT_UNIT)
            last = global_load4(units.base + place - 4);
        encode_judge(launch, &view, &units, place, bytes[i], last);
    }
}

#endif
