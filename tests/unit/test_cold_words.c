/* test_cold_words.c - words of cold chunks that have no token, as a crafted file may have: refused by
 * whoever decodes, whether the word is among others or the last, and in dictionaries of every cell
 * size. The same words without it are read. */
#include "check.h"
#include "cold.h"
#include "column_dict.h"
#include "footer.h"

enum { SLOTS = 4, HOLE = 2, MOST_WORDS = 64 };

/* A dictionary of tokens of 1 and `longest` bytes, and two slots without a token. */
static void open_dictionary(uint32_t longest, const fp_open_settings *settings,
                            fp_column_dict *dictionary) {
    static uint8_t block[1024];
    uint8_t tokens[FP_MAX_TOKEN + 1];
    memset(tokens, 'a', sizeof tokens);
    fp_run runs[] = {{0, 1, 1}, {1, 1, longest}};
    fp_dict dict = {.codec = FASTPAIR_CODEC_ONPAIR,
                    .code_bits = 2,
                    .max_token = FP_MAX_TOKEN,
                    .code_slots = SLOTS,
                    .tokens = 2,
                    .run_count = 2,
                    .runs = runs,
                    .bytes = tokens,
                    .bytes_size = 1 + longest};
    fp_dict_write(&dict, 64, block);
    fp_dict_block from = {.bytes = block, .size = sizeof block, .alignment = 64};
    fp_table_budget budget = {0};
    CHECK_EQ(fp_column_dict_open(&from, settings, &budget, dictionary, NULL), FASTPAIR_OK);
}

/* Reads `count` words, `rows` of which end rows, out of a frame of them. */
static fastpair_status read_words(fp_column_dict *dictionary, const uint16_t *words, uint32_t count,
                                  uint32_t rows) {
    const fastpair_allocator *allocator = &dictionary->settings->allocator;
    uint8_t block[1024];
    uint16_t out[MOST_WORDS + 8];
    uint64_t size;
    fp_frame_writer frames = {0};
    CHECK_EQ(fp_frame_writer_open(&frames, allocator), FASTPAIR_OK);
    CHECK_EQ(fp_frame_write(&frames, fp_frame_style_of(3), words, 2 * count, block, &size),
             FASTPAIR_OK);
    fp_frame_writer_close(&frames);
    fp_chunk chunk = {.coded = 1,
                      .cold = 1,
                      .rows = rows,
                      .codes = count - rows,
                      .batch_codes = 32,
                      .group_batches = fp_group_batches(32, FP_MAX_TOKEN),
                      .sections = {[FP_SECTION_CODES] = {0, size, 0}}};
    fp_chunk_view view = {.chunk = &chunk, .block = block, .dictionary = dictionary};
    fp_frame_reader reader = {0};
    CHECK_EQ(fp_cold_open_reader(&view, allocator, &reader, NULL), FASTPAIR_OK);
    fastpair_status status = fp_cold_read_words(&view, out, &reader, NULL);
    fp_frame_reader_close(&reader);
    return status;
}

static void holes(uint32_t longest, const fp_open_settings *settings) {
    fp_column_dict dictionary;
    open_dictionary(longest, settings, &dictionary);
    for (uint32_t count = 2; count <= MOST_WORDS; count++) {
        uint16_t words[MOST_WORDS];
        uint32_t rows = 0;
        for (uint32_t i = 0; i < count; i++) {
            words[i] = i + 1 == count || i % 4 ? SLOTS : i / 4 % 2;
            rows += words[i] == SLOTS;
        }
        CHECK_EQ(read_words(&dictionary, words, count, rows), FASTPAIR_OK);
        for (uint32_t i = 0; i + 1 < count; i += 4) {
            uint16_t before = words[i];
            words[i] = HOLE;
            CHECK_EQ(read_words(&dictionary, words, count, rows), FASTPAIR_ERROR_CORRUPT);
            words[i] = HOLE + 1;
            CHECK_EQ(read_words(&dictionary, words, count, rows), FASTPAIR_ERROR_CORRUPT);
            words[i] = before;
        }
    }
    /* Should a word without a token be decoded all the same, it gives nothing. */
    const fp_decoder *decoder;
    uint8_t out[16];
    uint16_t hole[8] = {HOLE, HOLE, SLOTS, HOLE, 0, HOLE + 1, SLOTS, SLOTS};
    fp_code_range range = {.packed = (const uint8_t *)hole, .packed_size = sizeof hole, .count = 8};
    CHECK_EQ(fp_column_dict_word_decoder(&dictionary, &decoder, NULL), FASTPAIR_OK);
    CHECK_EQ(fp_decode_codes(decoder, &range, out, sizeof out), 1);
    fp_column_dict_close(&dictionary);
}

int main(void) {
    if (!fp_frames_available()) {
        printf("this build has no zstd: no cold chunks\n");
        return check_done();
    }
    fp_open_settings settings;
    CHECK_EQ(fp_open_settings_resolve(NULL, &settings, NULL), FASTPAIR_OK);
    static const uint32_t lengths[] = {8, 16, 32, 64};
    for (int i = 0; i < 4; i++) holes(lengths[i], &settings);
    return check_done();
}
