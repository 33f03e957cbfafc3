/* test_device_dict.c - a dictionary as kernels read it, read back the way kernels do: the resident
 * dictionary and the planes must give every token of the dictionary, and nothing else. */
#include "gpu/staged.h"
#include "gpus.h"
#include "host_job.h"

enum { BEFORE = 512, AFTER = 512 };

/* Where the dictionaries will be on the device. */
static const uint64_t dicts = 0x7f0000100000;

/* A dictionary in the host's copy of device memory, with bytes before and after that must stay. */
typedef struct written {
    const fp_dict *dict;
    fp_plan plan;
    fp_device_dict at;
    uint8_t *memory;
    fp_gpu_dict head;
} written;

static counting memory;

static written write_dict(const fp_dict *dict, const fp_plan *plan, uint8_t filler) {
    uint64_t touched = 0;
    fastpair_allocator allocator = counting_hooks(&memory);
    written w = {.dict = dict, .plan = *plan, .at = fp_device_dict_place(dict, plan, BEFORE)};
    w.memory = malloc(w.at.end + AFTER);
    if (!w.memory) abort();
    memset(w.memory, filler, w.at.end + AFTER);
    CHECK_EQ(fp_device_dict_write(dict, plan, &w.at, w.memory, &allocator, NULL), FASTPAIR_OK);
    fp_device_dict_write_head(plan, &w.at, dicts, w.memory);
    memcpy(&w.head, w.memory + w.at.head, sizeof w.head);
    for (uint64_t i = 0; i < BEFORE; i++) touched += w.memory[i] != filler;
    for (uint64_t i = 0; i < AFTER; i++) touched += w.memory[w.at.end + i] != filler;
    CHECK_EQ(touched, 0);
    CHECK_EQ(w.at.head, BEFORE);
    return w;
}

/* ---------------------------------------------------------------- the truth */

typedef struct token {
    uint8_t bytes[64];
    uint32_t length; /* 0: the code has no token */
} token;

static token *tokens_of(const fp_dict *dict) {
    token *tokens = calloc((size_t)1 << dict->code_bits, sizeof *tokens);
    const uint8_t *next = dict->bytes;
    if (!tokens) abort();
    for (uint32_t r = 0; r < dict->run_count; r++)
        for (uint32_t i = 0; i < dict->runs[r].count; i++) {
            token *t = &tokens[dict->runs[r].first_code + i];
            t->length = dict->runs[r].length;
            memcpy(t->bytes, next, t->length);
            next += t->length;
        }
    return tokens;
}

/* ---------------------------------------------------------------- reading as kernels do */

/* The token of a code that is in the resident dictionary, and the length of its class. */
static uint32_t read_resident(const written *w, uint32_t code, uint8_t read[64]) {
    const uint8_t *resident = w->memory + (w->head.resident - dicts);
    uint32_t bits = w->dict->code_bits, class = code >> FP_GPU_CLASS_SHIFT(bits);
    uint32_t half = w->plan.resident.longest / 2;
    const uint8_t *halves = resident + FP_GPU_CLASS_TABLE(bits);
    memset(read, 0, 64);
    memcpy(read, halves + (size_t)half * code, half);
    if (code >= w->head.split)
        memcpy(read + half, halves + (size_t)half * (w->head.near + code - w->head.split), half);
    return (resident[class / 2] >> class % 2 * 4 & 15) + 1u;
}

/* The same of tokens of up to 32 and 64 bytes, whose lengths are bytes: parts in planes, or all
 * parts of a token after each other. */
static uint32_t read_long(const written *w, uint32_t code, uint8_t read[64]) {
    const uint8_t *resident = w->memory + (w->head.resident - dicts);
    const uint32_t longest = w->plan.resident.longest, size = longest / 4;
    const uint8_t *parts = resident + FP_GPU_LENGTH_TABLE(w->dict->code_bits, longest);
    const uint32_t from[4] = {0, w->head.split, w->head.further[0], w->head.further[1]};
    size_t first = 0; /* part of the plane, or of the token */
    memset(read, 0, 64);
    for (int i = 0; i < 4 && longest == 64; i++) first += code > from[i] ? code - from[i] : 0;
    for (int i = 0; i < 4; i++) {
        size_t at = longest == 64 ? first + (size_t)i : first + code - from[i];
        if (code >= from[i]) memcpy(read + i * size, parts + at * size, size);
        if (longest == 32) first += w->head.near - from[i];
    }
    return resident[code >> FP_GPU_LONG_SHIFT(w->dict->code_bits, longest)];
}

static uint32_t read_far(const written *w, uint32_t code, uint8_t read[64]) {
    const uint8_t *far = w->memory + (w->head.cold - dicts);
    uint32_t entry;
    memcpy(&entry, far + 4ull * code, 4);
    memset(read, 0, 64);
    for (uint32_t i = 0; i < 4 && 16 * i < (entry & 0x7f); i++)
        memcpy(read + 16 * i,
               far + FP_GPU_FAR_TABLE(w->dict->code_bits) + 16ull * ((entry >> 8) + i), 16);
    return entry & 0xff;
}

static void check_long(const written *w, const token *tokens) {
    uint32_t wrong = 0, slots = w->plan.resident.slots;
    uint32_t shift = FP_GPU_LONG_SHIFT(w->dict->code_bits, w->plan.resident.longest);
    int is_far = w->plan.resident.home == FP_GPU_FAR;
    CHECK_EQ(w->head.resident_bytes, w->plan.resident.bytes);
    CHECK(w->head.staging == w->plan.staging && w->head.slots == slots);
    CHECK_EQ(w->head.near, is_far ? 0 : slots);
    for (uint32_t code = 0; code < 1u << w->dict->code_bits; code++) {
        uint8_t read[64];
        if (code >= slots) {
            uint8_t length =
                w->memory[is_far ? w->at.pieces + 4ull * code : w->at.resident + (code >> shift)];
            wrong += length != FP_GPU_NO_LENGTH;
            continue;
        }
        uint32_t length = is_far ? read_far(w, code, read) : read_long(w, code, read);
        if (code >= w->dict->code_slots || !tokens[code].length) continue;
        wrong += length != tokens[code].length || memcmp(read, tokens[code].bytes, 64) != 0;
    }
    CHECK_EQ(wrong, 0);
}

static uint32_t read_nibble(const written *w, uint32_t code) {
    return (w->memory[w->at.nibbles + code / 2] >> code % 2 * 4 & 15) + 1u;
}

static void check_planes(const written *w, const token *tokens) {
    static const uint8_t zeros[16];
    uint32_t slots = w->dict->code_slots, wrong = 0;
    uint64_t cells = w->dict->hot_slots ? 1ull << w->dict->code_bits : fp_align(slots, 64);
    for (uint32_t code = 0; code < cells; code++) {
        const uint8_t *cell = code < slots ? tokens[code].bytes : zeros;
        if (w->at.low8) wrong += memcmp(w->memory + w->at.low8 + 8ull * code, cell, 8) != 0;
        if (w->at.high8) wrong += memcmp(w->memory + w->at.high8 + 8ull * code, cell + 8, 8) != 0;
        if (w->at.cells16) wrong += memcmp(w->memory + w->at.cells16 + 16ull * code, cell, 16) != 0;
        if (w->at.nibbles && code < slots && tokens[code].length)
            wrong += read_nibble(w, code) != tokens[code].length;
        if (w->at.lengths && code < slots && tokens[code].length)
            wrong += w->memory[w->at.lengths + code] != tokens[code].length;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(w->at.low8 != 0, (w->plan.planes & FP_PLANE_LOW8) != 0);
    CHECK_EQ(w->at.high8 != 0, (w->plan.planes & FP_PLANE_HIGH8) != 0);
    CHECK_EQ(w->at.cells16 != 0, (w->plan.planes & FP_PLANE_CELLS16) != 0);
    CHECK_EQ(w->at.nibbles != 0, (w->plan.planes & FP_PLANE_NIBBLES) != 0);
    CHECK_EQ(w->at.lengths != 0, (w->plan.planes & FP_PLANE_LENGTHS) != 0);
    CHECK_EQ(w->at.pieces != 0, (w->plan.planes & FP_PLANE_PIECES) != 0);
}

static void check_resident(const written *w, const token *tokens) {
    uint32_t wrong = 0, longest = w->plan.resident.longest, slots = w->dict->code_slots;
    const fp_gpu_dict *head = &w->head;
    CHECK(head->resident == dicts + w->at.resident && head->resident % 16 == 0);
    CHECK(head->resident_bytes == w->plan.resident.bytes &&
          head->resident_bytes % FP_GPU_LINE == 0);
    CHECK(head->staging == w->plan.staging && head->slots == w->plan.resident.slots);
    CHECK(head->slots >= slots && head->near <= head->slots && head->split <= head->near);
    CHECK_EQ(head->cold, dicts + (longest == 16 ? w->at.cells16 : w->at.low8));
    /* A token before `split` has no second half that a kernel would miss. */
    for (uint32_t code = 0; code < head->split && code < slots; code++)
        wrong += tokens[code].length > longest / 2;
    for (uint32_t code = 0; code < head->near && code < slots; code++) {
        uint8_t read[64];
        uint32_t length = read_resident(w, code, read);
        if (!tokens[code].length) continue; /* of the class alone */
        wrong += length != tokens[code].length || memcmp(read, tokens[code].bytes, longest) != 0;
    }
    /* Classes after the last token are marked, where the mark is not a length. */
    for (uint32_t code = head->slots; code < 1u << w->dict->code_bits && longest == 8; code++) {
        uint32_t class = code >> FP_GPU_CLASS_SHIFT(w->dict->code_bits);
        wrong += (w->memory[w->at.resident + class / 2] >> class % 2 * 4 & 15) < 8;
    }
    CHECK_EQ(wrong, 0);
}

/* ---------------------------------------------------------------- dictionaries */

/* Every byte is written, so that uploads of a dictionary are the same every time. */
static void check_same_twice(const written *w) {
    written again = write_dict(w->dict, &w->plan, 0x11);
    CHECK(again.at.end == w->at.end);
    CHECK(memcmp(again.memory + BEFORE, w->memory + BEFORE, w->at.end - BEFORE) == 0);
    free(again.memory);
}

/* Every kernel that takes the column's dictionary; returns how many there are. */
static uint32_t check_column(const fastpair_column *column) {
    const fp_dict *dict = &column->dictionaries[0].dict;
    fp_shape_chunk chunk = {chunk_of(column, 0), column->image + chunk_of(column, 0)->position};
    uint32_t listed = 0, kernels = 0;
    fp_shape shape = fp_shape_make(dict, &chunk, &listed, 1, 1);
    token *tokens = tokens_of(dict);
    for (uint32_t i = 0; i < FP_KERNELS; i++)
        for (int regenerate = 0; regenerate < 2; regenerate++) {
            fp_plan_request request = {i, regenerate};
            fp_plan plan = fp_plan_make(&shape, &gpus[H100], &request);
            if (!plan.warps) continue;
            written w = write_dict(dict, &plan, 0xee);
            check_planes(&w, tokens);
            if (fp_kernel_is_staged(i))
                CHECK_EQ(w.at.resident, 0);
            else if (plan.resident.longest > 16)
                check_long(&w, tokens);
            else
                check_resident(&w, tokens);
            check_same_twice(&w);
            free(w.memory);
            kernels += !regenerate;
        }
    free(tokens);
    return kernels;
}

static void test_dictionaries(uint64_t *random) {
    uint32_t kernels = 0;
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (uint32_t longest = 8; longest <= 64; longest *= 2)
            for (int hot = 0; hot < (bits < 9 ? 1 : 2); hot++) {
                columns c = {0};
                dict_recipe dict = {bits, longest, hot, bits + longest};
                add_chunks(&c, &dict, &(chunk_recipe){900, 10, 0, 128}, 1, random);
                CHECK_EQ(c.of[0]->dictionaries[0].dict.hot_slots != 0, hot);
                kernels += check_column(c.of[0]);
                close_columns(&c);
            }
    CHECK(kernels > 300);
    /* A dictionary without classes, for the paper's kernels and for one of ours. */
    columns c = {0};
    add_image(&c, forge_plain_column(random));
    uint32_t for_long_tokens = 0;
    for (uint32_t i = 0; i < FP_STAGED_KERNELS; i++)
        for_long_tokens += fp_kernel_table()[i].max_token == 16;
    CHECK_EQ(check_column(c.of[0]), for_long_tokens + 1);
    close_columns(&c);
}

/* A dictionary that training makes: thousands of tokens, classes nearly full. */
static void test_trained(void) {
    enum { ROWS = 20000 };
    uint8_t *bytes = malloc(ROWS * 30);
    uint64_t *offsets = malloc((ROWS + 1) * sizeof *offsets), state = 4;
    if (!bytes || !offsets) abort();
    offsets[0] = 0;
    for (uint64_t i = 0; i < ROWS; i++)
        offsets[i + 1] =
            offsets[i] + (uint64_t)sprintf((char *)bytes + offsets[i], "%llu %llx",
                                           (unsigned long long)check_random(&state) % 5000,
                                           (unsigned long long)check_random(&state) % 900);
    for (uint32_t turn = 0; turn < 6; turn++) {
        fastpair_rows rows = view_rows(ROWS, bytes, offsets);
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = FASTPAIR_CODEC_ONPAIR,
                                             .code_bits = 12 + turn % 3 * 2,
                                             .max_token = turn < 3 ? 16 : 64};
        forge_bytes image = {0};
        columns c = {0};
        CHECK_EQ(fastpair_compress(&rows, &options, &image.data, &image.size, NULL), FASTPAIR_OK);
        add_image(&c, image);
        CHECK(check_column(c.of[0]) > (turn < 3 ? 10 : 0));
        close_columns(&c);
    }
    free(bytes), free(offsets);
}

/* Memory runs out: nothing is kept. */
static void test_memory(uint64_t *random) {
    columns c = {0};
    add_chunks(&c, &(dict_recipe){12, 16, 0, 3}, &(chunk_recipe){900, 10, 0, 256}, 1, random);
    fastpair_allocator allocator = counting_hooks(&memory);
    fastpair_error error = {.message = ""};
    fp_plan plan = {.planes = FP_PLANE_CELLS16};
    const fp_dict *dict = &c.of[0]->dictionaries[0].dict;
    fp_device_dict at = fp_device_dict_place(dict, &plan, 0);
    uint8_t *host = malloc(at.end);
    memory.fail_at = memory.calls;
    CHECK_EQ(fp_device_dict_write(dict, &plan, &at, host, &allocator, &error),
             FASTPAIR_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(error.status, FASTPAIR_ERROR_OUT_OF_MEMORY);
    memory.fail_at = UINT64_MAX;
    free(host);
    close_columns(&c);
}

int main(void) {
    uint64_t random = 17;
    counting_start(&memory);
    test_dictionaries(&random);
    test_trained();
    test_memory(&random);
    CHECK_EQ(memory.live, 0);
    return check_done();
}
