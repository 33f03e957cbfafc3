/* test_cold_choice.c - what a writer of cold files chooses: letters for random letters, and only there;
 * packed codes before a frame of the text that is hardly smaller; frames without short repetitions where
 * that is worth it. */
#include "auto.h"
#include "check.h"
#include "cold_write.h"
#include "fastpair.h"
#include "rows.h"

enum { ROWS = 12000, ROW = 25 };

/* Rows of one length: random letters, `letters` of them, or words of a few letters. */
static fastpair_rows make_rows(uint32_t letters, int words, uint8_t *bytes, uint64_t *offsets) {
    uint64_t random = 7;
    for (uint32_t i = 0; i < ROWS * ROW; i++) {
        uint64_t r = check_random(&random);
        if (words && i % 5) /* each word is told by its first letter */
            bytes[i] = (uint8_t)('0' + (bytes[i - 1] * 7u + i % 5) % letters);
        else
            bytes[i] = (uint8_t)('0' + r % letters);
    }
    for (uint64_t i = 0; i <= ROWS; i++) offsets[i] = i * ROW;
    return (fastpair_rows){.struct_size = sizeof(fastpair_rows),
                           .rows = ROWS,
                           .bytes = bytes,
                           .offsets = offsets,
                           .offset_bits = 64};
}

static fp_codec_choice choice_for(const fastpair_rows *rows, int cold) {
    fastpair_compress_options options = {.struct_size = sizeof options, .cold = cold};
    fp_settings settings;
    fp_sample sample;
    fp_codec_choice choice = {0};
    CHECK_EQ(fp_settings_resolve(&options, &settings, NULL), FASTPAIR_OK);
    CHECK_EQ(fp_sample_open(rows, fp_auto_cap(&settings), settings.seed, &settings.allocator,
                            &sample, NULL),
             FASTPAIR_OK);
    CHECK_EQ(fp_auto_choose(&sample, &settings, ROWS * ROW, &choice, NULL), FASTPAIR_OK);
    fp_sample_close(&sample, &settings.allocator);
    return choice;
}

static void letters(void) {
    static uint8_t bytes[ROWS * ROW];
    static uint64_t offsets[ROWS + 1];
    static const uint32_t counts[] = {2, 16, 64, 120, 140, 200};
    for (int i = 0; i < 6; i++) {
        fastpair_rows rows = make_rows(counts[i], 0, bytes, offsets);
        /* More than 128 letters need 8 bits, as bytes do. */
        CHECK_EQ(choice_for(&rows, 1).code_bits == FP_LETTER_BITS, counts[i] <= 128);
        CHECK(choice_for(&rows, 0).code_bits > FP_LETTER_BITS);
        rows = make_rows(counts[i], 1, bytes, offsets);
        CHECK(choice_for(&rows, 1).code_bits > FP_LETTER_BITS);
    }
}

/* The only chunk of a column of random letters: coded and warm, though a frame of the text would be
 * smaller by less than 2 %. */
static void packed_letters(void) {
    static uint8_t bytes[ROWS * ROW], frame[ROWS * ROW * 2];
    static uint64_t offsets[ROWS + 1];
    fastpair_rows rows = make_rows(64, 0, bytes, offsets);
    fastpair_compress_options options = {.struct_size = sizeof options, .cold = 1};
    uint8_t *image = NULL;
    uint64_t size = 0, frame_size = 0;
    fastpair_column *column;
    fastpair_chunk_header info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_compress(&rows, &options, &image, &size, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_open(image, size, NULL, &column, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_chunk_header(column, 0, &info, NULL), FASTPAIR_OK);
    CHECK_EQ(info.cold, 0);
    CHECK_EQ(info.code_bits, 6);
    fastpair_allocator allocator;
    fp_frame_writer writer = {0};
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    CHECK_EQ(fp_frame_writer_open(&writer, &allocator), FASTPAIR_OK);
    CHECK_EQ(
        fp_frame_write(&writer, (fp_frame_style){3, 0, 0}, bytes, sizeof bytes, frame, &frame_size),
        FASTPAIR_OK);
    CHECK(size > frame_size && size < frame_size + frame_size / 40); /* with all but the codes */
    fp_frame_writer_close(&writer);
    fastpair_column_close(column);
    fastpair_free(NULL, image);
}

/* Random bytes that repeat nothing, among them `count` copies of pieces before them. */
static void repetitions(uint32_t count) {
    enum { PIECE = 64, PIECES = 100, BETWEEN = 16 };
    static uint8_t bytes[PIECES * PIECE + 3000 * (PIECE + BETWEEN)],
        frame[sizeof bytes + sizeof bytes / 128 + 1024];
    uint64_t random = 11, size = PIECES * PIECE, written;
    for (uint64_t i = 0; i < size; i++) bytes[i] = (uint8_t)check_random(&random);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(bytes + size, bytes + check_random(&random) % PIECES * PIECE, PIECE);
        size += PIECE;
        for (uint32_t k = 0; k < BETWEEN; k++) bytes[size++] = (uint8_t)check_random(&random);
    }
    fastpair_allocator allocator;
    fp_frame_writer writer = {0};
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    CHECK_EQ(fp_frame_writer_open(&writer, &allocator), FASTPAIR_OK);
    CHECK(fp_frame_bound(size) <= sizeof frame);
    CHECK_EQ(fp_frame_write(&writer, (fp_frame_style){9, 1, 0}, bytes, size, frame, &written),
             FASTPAIR_OK);
    uint64_t found = fp_frame_repetitions(frame, written);
    /* zstd may miss some, find some by chance, and cut some at the end of a block. */
    CHECK(found >= count - count / 20 && found <= count + count / 20);
    fp_frame_writer_close(&writer);
}

static void judged(void) {
    static const struct {
        fp_frame_figures without, with;
        int better;
    } cases[] = {
        {{1030, 100}, {1000, 100}, 1}, {{990, 200}, {1000, 100}, 1}, /* small, whatever is gone */
        {{1040, 100}, {1000, 100}, 0}, {{1040, 69}, {1000, 100}, 0}, /* too little is gone */
        {{1040, 68}, {1000, 100}, 1},  {{1050, 60}, {1000, 100}, 1},  {{1051, 10}, {1000, 100}, 0},
        {{1050, 61}, {1000, 100}, 0},  {{1040, 110}, {1000, 100}, 0}, {{1040, 0}, {1000, 0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_EQ(fp_cold_is_better(cases[i].without, cases[i].with), cases[i].better);
}

int main(void) {
    judged();
    if (!fp_frames_available()) {
        printf("this build has no zstd: no cold chunks\n");
        return check_done();
    }
    letters();
    packed_letters();
    repetitions(0);
    repetitions(60);   /* a byte says how many */
    repetitions(1000); /* two */
    repetitions(3000); /* in two blocks */
    return check_done();
}
