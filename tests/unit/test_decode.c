/* test_decode.c - decoding at every CPU level against tokens appended one by one, with output and
 * packed buffers that notice any access beside them: all widths, dictionaries of all shapes, any
 * range, exact and too small outputs, codes that are not in the dictionary. */
#include "decode_private.h"

#include "check.h"
#include "counting.h"
#include "guard.h"
#include "pack.h"
#include "utf8.h"

/* What lengths the tokens of a test dictionary have. */
typedef enum shape {
    SHAPE_MIXED, /* 1..16 in classes, as training makes them */
    SHAPE_SHORT, /* 1..8 in classes */
    SHAPE_ONES,
    SHAPE_EIGHTS, /* the longest that 8-byte rows hold */
    SHAPE_NINES,
    SHAPE_SIXTEENS,
    SHAPE_ENDS,   /* the first half of one byte, the others of 16 */
    SHAPE_HALVES, /* as mixed, but classes begin at multiples of 32 codes, not 64 */
    SHAPE_WILD,   /* 1..16 in any order, with slots that hold no token */
    SHAPE_TO_32,  /* from 1 up, without classes, as training makes them */
    SHAPE_TO_64,
    SHAPE_TEXT_64, /* the same without bytes 255, but for the first of 16; so are the next four */
    SHAPE_SEVENTEENS,
    SHAPE_THIRTY_TWOS,
    SHAPE_SIXTY_FOURS,
    SHAPE_ENDS_64,
    SHAPE_WILD_32,
    SHAPE_WILD_64,
    SHAPE_GAPS_32, /* as TO_32, and some slots after each length have no token */
    SHAPES
} shape;

/* The longest token of shapes that have several lengths. */
static uint32_t longest_of(shape kind) {
    return kind == SHAPE_SHORT                              ? 8
           : kind == SHAPE_TO_32 || kind == SHAPE_WILD_32   ? 32
           : kind == SHAPE_GAPS_32                          ? 32
           : kind == SHAPE_TO_64 || kind == SHAPE_TEXT_64   ? 64
           : kind == SHAPE_WILD_64 || kind == SHAPE_ENDS_64 ? 64
                                                            : 16;
}

/* Whether the shape suits the AVX-512 loop that takes tokens as bricks. */
static int is_text(shape kind) {
    return kind == SHAPE_TO_32 || kind == SHAPE_GAPS_32 ||
           (kind >= SHAPE_TEXT_64 && kind <= SHAPE_ENDS_64);
}

typedef struct subject {
    fp_dict dict;
    uint8_t (*rows)[FP_MAX_TOKEN];
    uint8_t *lengths;
    fp_decoder *decoders[4];
    int decoder_count;
} subject;

static fastpair_allocator allocator_of_test(void) {
    fastpair_allocator allocator;
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    return allocator;
}

/* A byte of text, at `place` in its token. Where text may have 255, it often does. */
static uint8_t text_byte(uint32_t place, uint64_t *random) {
    uint64_t r = check_random(random);
    return (uint8_t)(place % 16 == 0 && r / 256 % 4 == 0 ? 255 : r % 255);
}

static void add_run(fp_dict *dict, uint32_t first, uint32_t count, uint32_t length, shape kind,
                    uint64_t *random) {
    dict->runs[dict->run_count++] = (fp_run){first, count, length};
    dict->tokens += count;
    for (uint32_t i = 0; i < count * length; i++)
        dict->bytes[dict->bytes_size++] =
            is_text(kind) ? text_byte(i % length, random) : (uint8_t)check_random(random);
}

/* A dictionary of exactly `slots` code slots. Classes are aligned to 64 codes if there is room, as
 * at 16 bits. */
static fp_dict make_dict(uint32_t bits, uint32_t slots, shape kind, uint64_t *random) {
    fp_dict dict = {
        .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = bits, .max_token = 64, .code_slots = slots};
    dict.runs = malloc(slots * sizeof *dict.runs);
    dict.bytes = malloc((size_t)slots * FP_MAX_TOKEN);
    static const uint32_t only[SHAPES] = {
        [SHAPE_ONES] = 1,        [SHAPE_EIGHTS] = 8,      [SHAPE_NINES] = 9,
        [SHAPE_SIXTEENS] = 16,   [SHAPE_SEVENTEENS] = 17, [SHAPE_THIRTY_TWOS] = 32,
        [SHAPE_SIXTY_FOURS] = 64};
    if (only[kind]) {
        add_run(&dict, 0, slots, only[kind], kind, random);
    } else if (kind == SHAPE_ENDS || kind == SHAPE_ENDS_64) {
        if (slots > 1) add_run(&dict, 0, slots / 2, 1, kind, random);
        add_run(&dict, slots / 2, slots - slots / 2, longest_of(kind), kind, random);
    } else if (kind == SHAPE_WILD || kind == SHAPE_WILD_32 || kind == SHAPE_WILD_64) {
        for (uint32_t at = 0; at < slots;) {
            uint32_t count = 1 + (uint32_t)(check_random(random) % (1 + slots / 7));
            if (count > slots - at) count = slots - at;
            add_run(&dict, at, count, 1 + (uint32_t)(check_random(random) % longest_of(kind)), kind,
                    random);
            at += count + (uint32_t)(check_random(random) % 3);
        }
    } else {
        uint32_t lengths = longest_of(kind), group = kind == SHAPE_HALVES ? 32 : 64;
        if (slots < group * lengths || lengths > 16) group = 1;
        for (uint32_t at = 0, length = 1; at < slots; length++) {
            uint32_t share = (slots - at) / (lengths - length + 1) / group * group;
            uint32_t count = length == lengths ? slots - at : share;
            if (kind == SHAPE_HALVES && length < lengths && count > group && !(count & group))
                count -= group; /* so that not all are multiples of 64 */
            uint32_t gap =
                kind == SHAPE_GAPS_32 ? (uint32_t)(check_random(random) % (1 + count / 16)) : 0;
            if (count) add_run(&dict, at, count - gap, length, kind, random);
            at += count;
        }
    }
    return dict;
}

/* Text has bricks where the CPU has the instructions, unless there are more than 65534. */
static void check_bricks(const subject *s, shape kind) {
#if defined(__x86_64__)
    uint64_t bricks = 0;
    for (uint32_t r = s->dict.run_count, end = s->dict.code_slots; r-- > 0;) {
        const fp_run *run = &s->dict.runs[r];
        bricks += (uint64_t)(end - run->first_code) * ((run->length + 15) / 16);
        end = run->first_code;
    }
    const fp_decoder *best = s->decoders[s->decoder_count - 1];
    int expected = is_text(kind) && best->cell_bytes > 16 && bricks <= 65534 &&
                   fastpair_cpu_detect() == FASTPAIR_CPU_AVX512;
    if (is_text(kind)) CHECK_EQ(best->bulk.plain == fp_decode_bricks_avx512, expected);
#else
    (void)s, (void)kind;
#endif
}

static subject make_subject(uint32_t bits, uint32_t slots, shape kind, uint64_t *random) {
    subject s = {.dict = make_dict(bits, slots, kind, random)};
    fastpair_allocator allocator = allocator_of_test();
    s.rows = malloc((size_t)FP_MAX_TOKEN << bits);
    s.lengths = malloc((size_t)1 << bits);
    fp_dict_expand(&s.dict, s.rows[0], FP_MAX_TOKEN, s.lengths);
    for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++)
        CHECK_EQ(fp_decoder_open(&s.dict, (fastpair_cpu_level)level, &allocator,
                                 &s.decoders[s.decoder_count++], NULL),
                 FASTPAIR_OK);
    /* Tokens in classes have a loop of their own for bulk where the CPU has the instructions. */
    if ((kind == SHAPE_SHORT || kind == SHAPE_MIXED) && bits >= 6 && slots == 1u << bits &&
        fastpair_cpu_detect() == FASTPAIR_CPU_AVX512)
        CHECK(s.decoders[s.decoder_count - 1]->bulk.plain !=
              s.decoders[s.decoder_count - 1]->few.plain);
    check_bricks(&s, kind);
    return s;
}

static void free_subject(subject *s) {
    fastpair_allocator allocator = allocator_of_test();
    for (int i = 0; i < s->decoder_count; i++) fp_decoder_close(s->decoders[i], &allocator);
    free(s->rows);
    free(s->lengths);
    free(s->dict.runs);
    free(s->dict.bytes);
}

/* What the codes decode to, by definition. Returns the size. */
static uint64_t append_tokens(const subject *s, const uint16_t *codes, uint64_t count,
                              uint8_t *out) {
    uint64_t size = 0;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(out + size, s->rows[codes[i]], s->lengths[codes[i]]);
        size += s->lengths[codes[i]];
    }
    return size;
}

/* Codes with repeats and the two ends of the range more often than chance would have them. */
static uint16_t any_code(uint32_t slots, uint64_t *random) {
    uint64_t r = check_random(random);
    return (uint16_t)(r % 16 == 0 ? slots - 1 : r % 16 == 1 ? 0 : r / 16 % slots);
}

/* Whoever watches sees bytes that are final, farther each time, and never past the end. What is said
 * of them is true. */
typedef struct watcher {
    fp_decode_watch watch;
    const uint8_t *out, *bytes;
    uint64_t size, seen, wrong;
} watcher;

static void look(void *context, const fp_decode_seen *seen) {
    watcher *w = context;
    uint64_t from = (uint64_t)(seen->begin - w->out), to = (uint64_t)(seen->end - w->out);
    w->wrong += from < w->seen || to < from || to > w->size ||
                memcmp(w->out + w->seen, w->bytes + w->seen, to - w->seen) != 0;
    w->wrong += seen->known < seen->begin || seen->known > seen->end;
    int has_fault = 0;
    for (const uint8_t *at = seen->begin; at < seen->known; at++)
        has_fault |=
            fp_utf8_is_fault(at[0], at[-1], at[-2], at[-3]) || (seen->is_ascii && at[0] > 127);
    w->wrong += has_fault || (seen->known > seen->begin && !w->watch.wants_text);
    w->watch.wants_text = to >= 3 && w->size % 2;
    w->seen = to;
}

/* Decodes a range at all levels with a capacity and expects a result (FP_DECODE_BAD included).
 * (Seven parameters: a call and its outcome, listed like a row of a table.) */
static void expect(const subject *s, const guard *packed, uint64_t first, uint64_t count,
                   uint64_t capacity, uint64_t expected, const uint8_t *bytes) {
    /* Each decoder; each of them for bulk; each as if long tokens were rare, be it true or not. */
    int ways = s->decoders[0]->rare.plain ? 3 : 2;
    for (int i = 0; i < ways * s->decoder_count; i++) {
        int way = i / s->decoder_count;
        guard out = guard_make(capacity);
        watcher watches = {{look, &watches, 0, NULL}, out.data, bytes, expected, 0, 0};
        fp_code_range range = {packed->data,
                               packed->size,
                               first,
                               count,
                               way == 1,
                               way == 2 ? 16 : 0,
                               bytes ? &watches.watch : NULL};
        uint64_t size =
            fp_decode_codes(s->decoders[i % s->decoder_count], &range, out.data, capacity);
        CHECK_EQ(size, expected);
        CHECK_EQ(watches.wrong, 0);
        CHECK(!bytes || count < 256 || watches.seen > 0);
        if (size == expected && size != FP_DECODE_BAD) CHECK(!memcmp(out.data, bytes, size));
        CHECK(guard_free(&out));
    }
}

/* Some parts of a range, of which a whole one decodes to `size` bytes, and one that goes past its end. */
static void expect_parts(const subject *s, const fp_code_range *range, const uint8_t *bytes,
                         uint64_t size, uint64_t *random) {
    for (int i = 0; i < 4 * s->decoder_count && size; i++) {
        const fp_decoder *decoder = s->decoders[i % s->decoder_count];
        uint64_t from = check_random(random) % size, most = size - from;
        uint64_t wanted = 1 + check_random(random) % (most < FP_MOST_PART ? most : FP_MOST_PART);
        if (i / s->decoder_count == 3 && most <= FP_MOST_PART) wanted = most; /* to the very end */
        guard out = guard_make(wanted);
        /* The size of all is not known, or known, or a lie. */
        uint64_t lie = from + wanted + check_random(random) % 300, result;
        for (int known = 0; known < 2; known++) {
            const fp_code_part part = {from, from + wanted, known ? size : 0};
            memset(out.data, 0, wanted);
            CHECK_EQ(fp_decode_part(decoder, range, &part, out.data), wanted);
            CHECK(!memcmp(out.data, bytes + from, wanted));
        }
        result =
            fp_decode_part(decoder, range, &(fp_code_part){from, from + wanted, lie}, out.data);
        CHECK(result == wanted || (result == FP_DECODE_BAD && lie != size));
        if (most < FP_MOST_PART)
            CHECK_EQ(fp_decode_part(decoder, range, &(fp_code_part){from, size + 1, 0}, out.data),
                     FP_DECODE_BAD);
        CHECK(guard_free(&out));
    }
}

/* Parts of a range with a bad code, which begins at byte `at`: no part that has this byte is decoded, and
 * none reads or writes where it should not. */
static void expect_bad_parts(const subject *s, const fp_code_range *range, uint64_t at,
                             uint64_t size, uint64_t *random) {
    for (int i = 0; i < 4 * s->decoder_count && size; i++) {
        uint64_t from = check_random(random) % size, most = size - from;
        uint64_t wanted = 1 + check_random(random) % (most < FP_MOST_PART ? most : FP_MOST_PART);
        guard out = guard_make(wanted);
        uint64_t result =
            fp_decode_part(s->decoders[i % s->decoder_count], range,
                           &(fp_code_part){from, from + wanted, i % 3 ? size : 0}, out.data);
        CHECK(result == FP_DECODE_BAD || (result == wanted && !(from <= at && at < from + wanted)));
        CHECK(guard_free(&out));
    }
}

/* One random range of `total` codes, with capacities from far too small to ample, then with one bad
 * code in it. */
static void decode_range(const subject *s, uint64_t total, uint64_t first, uint64_t count,
                         uint64_t *random) {
    uint32_t bits = s->dict.code_bits, slots = s->dict.code_slots;
    guard packed = guard_make(fp_packed_size(total, bits));
    uint16_t *codes = malloc(total * 2 + 2);
    uint8_t *bytes = malloc(count * FP_MAX_TOKEN + 1);
    for (uint64_t i = 0; i < total; i++) codes[i] = any_code(slots, random);
    fp_pack(codes, total, bits, packed.data);
    uint64_t size = append_tokens(s, codes + first, count, bytes);
    const fp_code_range range = {packed.data, packed.size, first / 8 * 8, count, 0, 0, NULL};
    expect(s, &packed, first, count, size, size, bytes);
    if (first % 8 == 0) expect_parts(s, &range, bytes, size, random);
    expect(s, &packed, first, count, size + 1 + check_random(random) % 6000, size, bytes);
    if (size) {
        uint64_t less = 1 + check_random(random) % 40;
        expect(s, &packed, first, count, size - (less < size ? less : size), FP_DECODE_BAD, NULL);
        expect(s, &packed, first, count, check_random(random) % size, FP_DECODE_BAD, NULL);
        expect(s, &packed, first, count, size - 1, FP_DECODE_BAD, NULL);
    }
    if (count && slots < 1u << bits) {
        uint64_t where = first + check_random(random) % count;
        uint64_t bad = slots + check_random(random) % ((1u << bits) - slots);
        codes[where] = (uint16_t)(check_random(random) % 2 ? slots : bad);
        fp_pack(codes, total, bits, packed.data);
        expect(s, &packed, first, count, size, FP_DECODE_BAD, NULL);
        expect(s, &packed, first, count, count * FP_MAX_TOKEN + 9000, FP_DECODE_BAD, NULL);
        /* A bad code outside the range is none of its business. */
        uint64_t before = append_tokens(s, codes + first, where - first, bytes);
        expect(s, &packed, first, where - first, before, before, bytes);
        if (first % 8 == 0) expect_bad_parts(s, &range, before, size, random);
    }
    CHECK(guard_free(&packed));
    free(codes);
    free(bytes);
}

/* A bad code at every position of the first groups and at many later ones, in codes that are
 * otherwise all as short as can be. */
static void bad_code_anywhere(uint32_t bits, uint32_t slots, shape kind, uint64_t *random) {
    subject s = make_subject(bits, slots, kind, random);
    enum { TOTAL = 300 }; /* more than a block of any loop */
    guard packed = guard_make(fp_packed_size(TOTAL, bits));
    uint16_t codes[TOTAL];
    for (uint64_t where = 0; where < TOTAL; where += where < 70 ? 1 : 5) {
        for (int i = 0; i < TOTAL; i++) codes[i] = 0;
        codes[where] = (uint16_t)slots;
        fp_pack(codes, TOTAL, bits, packed.data);
        expect(&s, &packed, 0, TOTAL, TOTAL * FP_MAX_TOKEN + 8192, FP_DECODE_BAD, NULL);
    }
    CHECK(guard_free(&packed));
    free_subject(&s);
}

static void all_ranges(uint32_t bits, uint32_t slots, shape kind, uint64_t *random) {
    subject s = make_subject(bits, slots, kind, random);
    for (uint64_t count = 0; count < 40; count++) decode_range(&s, count, 0, count, random);
    static const uint64_t around[] = {63,  64,  65,  127, 128, 129,  255,
                                      256, 257, 511, 512, 513, 1000, 1024};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        decode_range(&s, around[i] + check_random(random) % 3, 0, around[i], random);
    for (int i = 0; i < 12; i++) {
        uint64_t total = check_random(random) % 1500, first = check_random(random) % (total + 1);
        decode_range(&s, total, first, check_random(random) % (total - first + 1), random);
    }
    free_subject(&s);
}

/* Long enough for many runs, compared at once. */
static void long_column(uint32_t bits, uint32_t slots, shape kind, uint64_t *random) {
    subject s = make_subject(bits, slots, kind, random);
    decode_range(&s, 60000, 32, 60000 - 32, random);
    free_subject(&s);
}

static void creation(shape kind) {
    uint64_t random = 1;
    fp_dict dict = make_dict(12, 4096, kind, &random);
    fp_decoder *decoder = NULL;
    counting counter;
    counting_start(&counter);
    fastpair_allocator allocator = counting_hooks(&counter);
    fastpair_error error;
    CHECK(fastpair_cpu_detect() >= FASTPAIR_CPU_PORTABLE);
    counter.fail_at = counter.calls;
    CHECK_EQ(fp_decoder_open(&dict, fastpair_cpu_detect(), &allocator, &decoder, &error),
             FASTPAIR_ERROR_OUT_OF_MEMORY);
    CHECK(decoder == NULL);
    CHECK_EQ(fp_decoder_open(&dict, fastpair_cpu_detect(), &allocator, &decoder, &error),
             FASTPAIR_OK);
    fp_decoder_close(decoder, &allocator);
    fp_decoder_close(NULL, &allocator);
    CHECK_EQ(counter.live, 0);
    free(dict.runs);
    free(dict.bytes);
}

int main(void) {
    uint64_t seed = 5150, random = seed, number = 0;
    printf("seed %" PRIu64 ", cpu level %d\n", seed, (int)fastpair_cpu_detect());
    creation(SHAPE_MIXED);
    creation(SHAPE_TO_64);
    for (uint32_t bits = 1; bits <= 16; bits++) {
        uint32_t most = 1u << bits, least = bits == 1 ? 1 : most / 2 + 1;
        for (int kind = 0; kind < SHAPES; kind++) {
            /* Guarded memory takes its time: of four extreme shapes one for each width. */
            if (kind >= SHAPE_SEVENTEENS && kind <= SHAPE_ENDS_64 && bits % 4 != (uint32_t)kind % 4)
                continue;
            if (!check_takes(number++)) continue;
            uint32_t some = least + (uint32_t)(check_random(&random) % (most - least + 1));
            all_ranges(bits, some, (shape)kind, &random);
            if (kind < 2) all_ranges(bits, most, (shape)kind, &random);
            if (some < most) bad_code_anywhere(bits, some, (shape)kind, &random);
            long_column(bits, some, (shape)kind, &random);
        }
    }
    return check_done();
}
