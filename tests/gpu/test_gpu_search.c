/* test_gpu_search.c - searches on a real GPU through the public calls: columns of several widths, with
 * and without nulls, predicates of every kind, compared row by row with the CPU's. Nothing after the
 * blocks that the library asked for may be written. Without a GPU it is skipped; the made-up driver
 * runs it in the emulator. */
#include "device_rows.h"

/* With a `memory_limit` of 1, byte by byte. */
static void check_predicate_within(const searched *of, const sample *s,
                                   const fastpair_predicate *test, uint64_t memory_limit) {
    fastpair_error error = {0};
    fastpair_search *search = NULL;
    fastpair_gpu_search *gpu_search = NULL;
    fastpair_gpu_search_info info = {.struct_size = sizeof info};
    fastpair_gpu_search_options options = {.struct_size = sizeof options,
                                           .memory_limit = memory_limit};
    uint64_t bytes = bitmap_bytes(s), counts[2];
    uint8_t *wanted = calloc(bytes + 1, 1), *got = malloc(bytes + 1);
    fastpair_matches matches = {.struct_size = sizeof matches, .bitmap = wanted};
    CHECK_EQ(
        fastpair_search_open((fastpair_column *)(uintptr_t)s->column, test, NULL, &search, &error),
        FASTPAIR_OK);
    CHECK_EQ(fastpair_search_run(search, 0, s->rows, &matches, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_search_open(of->rows, search, &options, &gpu_search, &error),
             FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_search_get_info(gpu_search, &info, &error), FASTPAIR_OK);
    CHECK_EQ(info.bitmap_bytes, bytes);
    CHECK_EQ(info.leaves_by_bytes, memory_limit ? info.leaves : 0);
    fastpair_search_close(search);
    fastpair_gpu_block tables = guarded_block(info.device_bytes);
    fastpair_gpu_block scratch = guarded_block(info.scratch_bytes);
    fastpair_gpu_block bitmap = guarded_block(bytes), counted = guarded_block(16);
    cuda_stream stream = of->run.outputs.stream;
    device_ok(&cuda, cuda.stream_wait(NULL));
    CHECK_EQ(fastpair_gpu_search_upload(gpu_search, &tables, stream, &error), FASTPAIR_OK);
    for (int with_counts = 0; with_counts < 2; with_counts++) {
        fastpair_gpu_matches to = {.struct_size = sizeof to, .bitmap = bitmap.address};
        if (with_counts) to.counts = counted.address;
        CHECK_EQ(fastpair_gpu_search_run(gpu_search, &scratch, &to, stream, &error), FASTPAIR_OK);
        device_ok(&cuda, cuda.copy_to_host(got, bitmap.address, bytes, stream));
        device_ok(&cuda, cuda.copy_to_host(counts, counted.address, 16, stream));
        device_ok(&cuda, cuda.stream_wait(stream));
        CHECK(memcmp(got, wanted, bytes) == 0);
    }
    CHECK_EQ(counts[0], matches.matches);
    CHECK_EQ(counts[1], matches.nulls);
    fastpair_gpu_search_close(gpu_search);
    close_block(tables), close_block(scratch), close_block(bitmap), close_block(counted);
    free(wanted), free(got);
}

static void check_predicate(const searched *of, const sample *s, const fastpair_predicate *test) {
    check_predicate_within(of, s, test, 0);
    check_predicate_within(of, s, test, 1);
}

/* Every kind, with words that the samples have. */
static void check_sample(const sample *s) {
    static const char *const words[] = {"the", "ly", "furiously", "e", "zqzq", "re%ly", "%a_e%"};
    searched of = searched_open(s);
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        fastpair_pattern pattern = {words[w], strlen(words[w])};
        fastpair_predicate test = {.struct_size = sizeof test};
        test.patterns = &pattern, test.pattern_count = 1;
        for (int kind = FASTPAIR_EQUALS; kind <= FASTPAIR_LIKE; kind++) {
            test.kind = (fastpair_predicate_kind)kind;
            test.negate = w % 3 == 2;
            check_predicate(&of, s, &test);
        }
    }
    searched_close(&of);
}

int main(void) {
    gpu = open_or_skip(&cuda);
    uint64_t bytes = getenv("FASTPAIR_TEST_SMALL") ? 12000 : 3000000;
    const fastpair_compress_options codecs[] = {{.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12},
                                                {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 14},
                                                {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16},
                                                {.codec = FASTPAIR_CODEC_STORED}};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        fastpair_compress_options options = codecs[i];
        options.struct_size = sizeof options;
        options.chunk_bytes = bytes / 5;
        for (int kind = 0; kind < COLUMN_KINDS; kind++) {
            sample s = sample_open(kind, bytes, &options);
            check_sample(&s);
            sample_close(&s);
        }
    }
    close_both(gpu, &cuda);
    return check_done();
}
