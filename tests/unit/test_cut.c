/* test_cut.c - chunks of any size asked for: what they take in memory and in the file.
 *
 * The more chunks there are, the more headers, gaps and tables. A caller who asks for chunks of one
 * byte must get neither gigabytes of tables nor a file several times its rows. */
#include "counting.h"
#include "sink.h"

/* A column of rows that need not compress. */
typedef struct rows_of {
    uint8_t *bytes;
    uint64_t *offsets;
    fastpair_rows rows;
} rows_of;

/* Decimal numbers from 1 on, about `size` bytes of them. */
static rows_of make_numbers(uint64_t size) {
    rows_of made = {.bytes = malloc(size + 32), .offsets = malloc((size + 2) * sizeof(uint64_t))};
    uint64_t rows = 0;
    made.offsets[0] = 0;
    while (made.offsets[rows] < size) {
        int length =
            sprintf((char *)made.bytes + made.offsets[rows], "%llu", (unsigned long long)rows + 1);
        made.offsets[rows + 1] = made.offsets[rows] + (uint64_t)length;
        rows++;
    }
    made.rows = view_rows(rows, made.bytes, made.offsets);
    return made;
}

/* Random rows of `least` to `most` bytes, about `size` bytes of them. */
static rows_of make_random(uint64_t size, uint64_t least, uint64_t most) {
    rows_of made = {.bytes = malloc(size + most),
                    .offsets = malloc((size / (least ? least : 1) * 3 + 2) * sizeof(uint64_t))};
    uint64_t rows = 0, random = least * 31 + most;
    made.offsets[0] = 0;
    while (made.offsets[rows] < size) {
        made.offsets[rows + 1] =
            made.offsets[rows] + least + check_random(&random) % (most - least + 1);
        rows++;
    }
    for (uint64_t i = 0; i < made.offsets[rows]; i++)
        made.bytes[i] = (uint8_t)check_random(&random);
    made.rows = view_rows(rows, made.bytes, made.offsets);
    return made;
}

static void free_rows(rows_of *made) { free(made->bytes), free(made->offsets); }

/* Compresses with a writer. Returns the file's size; *peak is the memory that it took. */
static uint64_t write_counted(const fastpair_rows *rows, fastpair_compress_options options,
                              uint64_t *peak) {
    counting memory;
    counting_start(&memory);
    options.allocator = counting_hooks(&memory);
    sink_state state = {.fail_at = UINT64_MAX};
    fastpair_sink sink = {sink_write, &state};
    fastpair_writer *writer = NULL;
    CHECK_EQ(fastpair_writer_open(&sink, &options, &writer, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_append(writer, rows, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_finish(writer, NULL), FASTPAIR_OK);
    fastpair_writer_close(writer);
    CHECK_EQ(memory.live, 0);
    *peak = memory.peak_bytes;
    uint64_t size = state.out.size;
    free(state.out.data);
    return size;
}

/* Memory of tiny chunks is that of large ones, and a little for each. */
static void memory_of_tiny_chunks(void) {
    rows_of numbers = make_numbers(100000);
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        fastpair_compress_options options = {.struct_size = sizeof options, .threads = threads};
        options.codec = FASTPAIR_CODEC_ONPAIR, options.code_bits = 12;
        uint64_t large, tiny;
        write_counted(&numbers.rows, options, &large);
        for (uint64_t chunk = 1; chunk <= 10000; chunk *= 100) {
            options.chunk_bytes = chunk;
            write_counted(&numbers.rows, options, &tiny);
            CHECK(tiny < large + (8u << 20));
            if (tiny >= large + (8u << 20))
                fprintf(stderr, "  ^ chunks of %llu bytes: %llu bytes of memory, not %llu\n",
                        (unsigned long long)chunk, (unsigned long long)tiny,
                        (unsigned long long)large);
        }
    }
    free_rows(&numbers);
}

/* A file is at most three times its rows and their separators, whatever chunks are asked for. */
static void size_of_tiny_chunks(void) {
    static const uint64_t lengths[][2] = {{0, 1},     {1, 1},       {1, 12},       {0, 700},
                                          {520, 530}, {1030, 1040}, {8000, 70000}, {33000, 33001}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        rows_of random = make_random(150000, lengths[i][0], lengths[i][1]);
        uint64_t text = random.offsets[random.rows.rows] + random.rows.rows;
        for (int aligned = 0; aligned < 2; aligned++)
            for (uint64_t chunk = 1; chunk <= 3000; chunk = chunk * 7 + 3) {
                fastpair_compress_options options = {.struct_size = sizeof options,
                                                     .codec = FASTPAIR_CODEC_STORED,
                                                     .chunk_bytes = chunk};
                options.expert = EXPERT(.section_alignment = aligned ? 4096 : 64);
                uint8_t *image = NULL;
                uint64_t size = 0;
                CHECK_EQ(fastpair_compress(&random.rows, &options, &image, &size, NULL),
                         FASTPAIR_OK);
                CHECK(size <= 3 * text);
                if (size > 3 * text)
                    fprintf(stderr, "  ^ %llu bytes of %llu, rows of %llu..%llu, chunks of %llu\n",
                            (unsigned long long)size, (unsigned long long)text,
                            (unsigned long long)lengths[i][0], (unsigned long long)lengths[i][1],
                            (unsigned long long)chunk);
                fastpair_free(NULL, image);
            }
        free_rows(&random);
    }
}

/* Less than the least counts as the least, in every way to compress. */
static void least_chunk(void) {
    rows_of numbers = make_numbers(20000);
    for (int aligned = 0; aligned < 2; aligned++) {
        const uint64_t least = aligned ? 65536 : 1024;
        fastpair_compress_options options = {.struct_size = sizeof options, .chunk_bytes = least};
        options.expert = EXPERT(.section_alignment = aligned ? 4096 : 64);
        uint8_t *images[2] = {NULL};
        uint64_t sizes[2] = {0};
        CHECK_EQ(fastpair_compress(&numbers.rows, &options, &images[0], &sizes[0], NULL),
                 FASTPAIR_OK);
        uint64_t bound = fastpair_compress_bound(numbers.rows.rows, 20000, &options);
        options.chunk_bytes = 1;
        CHECK_EQ(fastpair_compress(&numbers.rows, &options, &images[1], &sizes[1], NULL),
                 FASTPAIR_OK);
        CHECK_EQ(fastpair_compress_bound(numbers.rows.rows, 20000, &options), bound);
        CHECK(sizes[0] == sizes[1] && !memcmp(images[0], images[1], sizes[0]));
        uint64_t chunks = 0;
        fastpair_column *column = NULL;
        fastpair_column_info info = {.struct_size = sizeof info};
        CHECK_EQ(fastpair_column_open(images[1], sizes[1], NULL, &column, NULL), FASTPAIR_OK);
        CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
        chunks = info.chunks;
        CHECK(aligned ? chunks == 1 : chunks >= 20 && chunks <= 21);
        fastpair_column_close(column);
        fastpair_free(NULL, images[0]), fastpair_free(NULL, images[1]);
    }
    free_rows(&numbers);
}

int main(void) {
    memory_of_tiny_chunks();
    size_of_tiny_chunks();
    least_chunk();
    return check_done();
}
