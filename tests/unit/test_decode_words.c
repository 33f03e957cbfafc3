/* test_decode_words.c - words of cold chunks to bytes, at every CPU level, against their definition: a
 * code is its token, and an end of a row is nothing. Dictionaries have few bricks, many, and more than
 * can be listed. */
#include "check.h"
#include "decode_private.h"
#include "dict.h"
#include "guard.h"

/* Tokens of 1 .. longest bytes, ascending. */
typedef struct like {
    uint32_t longest, slots;
    int has_padding; /* the byte that bricks are padded with lies within tokens */
    uint32_t unit;   /* of the bricks to expect; 0: none */
    int is_hot;      /* lengths ascend twice, as they do with a hot part */
} like;

static const like all[] = {
    {1, 64, 0, 2, 0},     {16, 3000, 0, 2, 0},  {32, 5000, 0, 2, 0},  {64, 12000, 0, 2, 0},
    {32, 40000, 0, 1, 0}, {64, 20000, 0, 1, 0}, {16, 65534, 0, 1, 0}, {64, 26000, 0, 1, 0},
    {64, 65534, 0, 0, 0}, {32, 60000, 0, 0, 0}, {32, 4000, 1, 0, 0},  {64, 4000, 1, 0, 0},
    {16, 3000, 0, 2, 1},  {16, 65534, 0, 1, 1}, {16, 3000, 1, 0, 1},  {32, 5000, 0, 0, 1},
};

static fp_dict make_dict(const like *of, uint64_t *random) {
    fp_dict dict = {.codec = FASTPAIR_CODEC_ONPAIR,
                    .code_bits = 16,
                    .max_token = 64,
                    .code_slots = of->slots,
                    .tokens = of->slots};
    dict.runs = malloc(2 * FP_MAX_TOKEN * sizeof *dict.runs);
    dict.bytes = malloc((size_t)of->slots * FP_MAX_TOKEN);
    const uint32_t parts = of->is_hot ? 2 : 1, runs = parts * of->longest;
    for (uint32_t run = 0, code = 0; run < runs; run++) {
        uint32_t count = (of->slots - code) / (runs - run), length = run % of->longest + 1;
        dict.runs[dict.run_count++] = (fp_run){code, count, length};
        for (uint32_t i = 0; i < count * length; i++)
            dict.bytes[dict.bytes_size++] = (uint8_t)(check_random(random) % 255);
        code += count;
    }
    if (of->has_padding) dict.bytes[dict.bytes_size - 1] = 255;
    return dict;
}

/* Ends of rows are as frequent as `in` says, up to all words. Returns what the words decode to. */
static uint64_t draw_words(const fp_dict *dict, uint64_t count, uint32_t in, uint16_t *words,
                           uint8_t *bytes, uint64_t *random) {
    uint64_t size = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t r = check_random(random);
        if (r % in == 0) {
            words[i] = (uint16_t)(dict->code_slots + (r >> 32) % 2);
            continue;
        }
        uint32_t code = (uint32_t)((r >> 8) % 16 == 0   ? dict->code_slots - 1
                                   : (r >> 8) % 16 == 1 ? 0
                                                        : (r >> 16) % dict->code_slots);
        words[i] = (uint16_t)code;
        const uint8_t *token = dict->bytes;
        const fp_run *run = dict->runs;
        for (; code >= run->first_code + run->count; run++) token += run->count * run->length;
        memcpy(bytes + size, token + (code - run->first_code) * run->length, run->length);
        size += run->length;
    }
    return size;
}

/* What is told while words are decoded. */
typedef struct told {
    const fp_dict *dict;
    const uint16_t *words;
    const uint8_t *end; /* of what was told */
    uint64_t blocks, wrong;
} told;

static uint32_t length_of(const fp_dict *dict, uint16_t word) {
    for (uint32_t r = 0; r < dict->run_count; r++)
        if (word < dict->runs[r].first_code + dict->runs[r].count) return dict->runs[r].length;
    return 0;
}

/* After a block, the bytes that were written and the bricks that were not are all of its words. */
static void look(void *context, const fp_decode_seen *seen) {
    told *to = context;
    uint64_t bytes = 0;
    to->wrong += seen->begin != to->end || seen->blocks->count * 256ull > seen->codes;
    for (uint64_t i = 0; i < seen->codes; i++) {
        uint32_t n = (uint32_t)(i / 256);
        bytes += length_of(to->dict, to->words[i]);
        if (i % 256 != 255 || n >= seen->blocks->count) continue;
        uint64_t back = 0, left = seen->blocks->after[n].left;
        for (uint64_t k = i + 1; left && k-- > 0;)
            for (uint32_t length = length_of(to->dict, to->words[k]); length && left; left--) {
                uint32_t brick = length % 16 ? length % 16 : 16;
                back += brick;
                length -= brick;
            }
        to->wrong += left != 0 || seen->blocks->after[n].bytes + back != bytes;
        to->blocks++;
    }
    to->wrong += bytes != (uint64_t)(seen->end - seen->begin);
    to->words += seen->codes;
    to->end = seen->end;
}

static void decode(const fp_decoder *decoder, const fp_dict *dict, uint64_t count,
                   uint64_t *random) {
    static const uint32_t rates[] = {1, 2, 6, 1000000};
    guard words = guard_make((2 * count + 15) / 16 * 16);
    uint8_t *bytes = malloc(count * FP_MAX_TOKEN + 1);
    memset(words.data, 0, words.size);
    for (int rate = 0; rate < 4; rate++) {
        uint64_t size =
            draw_words(dict, count, rates[rate], (uint16_t *)(void *)words.data, bytes, random);
        for (int way = 0; way < 4; way++) { /* bulk or not; long tokens are taken for rare or not */
            fp_code_range range = {words.data, words.size,       0,   count,
                                   way & 1,    way & 2 ? 16 : 0, NULL};
            guard out = guard_make(size);
            told to = {dict, (const uint16_t *)(const void *)words.data, out.data, 0, 0};
            const fp_decode_watch watch = {.look = look, .context = &to};
            if (way < 2) range.watch = &watch;
            uint64_t decoded = fp_decode_codes(decoder, &range, out.data, size);
            CHECK_EQ(decoded, size);
            CHECK_EQ(to.wrong, 0);
            if (way == 1 && decoder->bricks && fp_dict_longest(dict) > 16 && count == 6000 &&
                rate == 3)
                CHECK(to.blocks > 4);
            range.watch = NULL;
            if (decoded == size) CHECK(!memcmp(out.data, bytes, size));
            CHECK(guard_free(&out));
            if (!size) continue;
            guard less = guard_make(size - 1);
            CHECK_EQ(fp_decode_codes(decoder, &range, less.data, size - 1), FP_DECODE_BAD);
            CHECK(guard_free(&less));
        }
    }
    CHECK(guard_free(&words));
    free(bytes);
}

static void all_levels(const like *of, uint64_t *random) {
    static const uint64_t counts[] = {1, 15, 16, 17, 255, 256, 257, 300, 512, 2049, 6000};
    fp_dict dict = make_dict(of, random);
    fastpair_allocator allocator;
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++) {
        fp_decoder *decoder;
        CHECK_EQ(
            fp_decoder_open_words(&dict, (fastpair_cpu_level)level, &allocator, &decoder, NULL),
            FASTPAIR_OK);
        uint32_t unit = level == FASTPAIR_CPU_AVX512 ? of->unit : 0;
        CHECK_EQ(decoder->bricks ? decoder->bricks->unit : 0, unit);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            decode(decoder, &dict, counts[i], random);
        fp_decoder_close(decoder, &allocator);
    }
    free(dict.runs);
    free(dict.bytes);
}

int main(void) {
    uint64_t seed = 1812, random = seed;
    printf("seed %" PRIu64 ", cpu level %d\n", seed, (int)fastpair_cpu_detect());
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) all_levels(&all[i], &random);
    return check_done();
}
