/* test_poll.c - progress and cancelling: the caller is asked about once per MiB of work, while
 * training, parsing and writing alike, from its own thread, and can stop the work at any call. */
#include "counting.h"
#include "sink.h"

#include <pthread.h>

typedef struct asked {
    uint64_t calls, stop_at; /* the call that says stop, from 0 */
    uint64_t last_done, most_total, without_progress;
    pthread_t thread;
} asked;

static int ask(void *context, uint64_t done, uint64_t total) {
    asked *a = context;
    CHECK(pthread_equal(a->thread, pthread_self()));
    CHECK(done >= a->last_done && (!total || done <= total));
    if (!done) a->without_progress++;
    a->last_done = done;
    a->most_total = total;
    return a->calls++ == a->stop_at;
}

typedef enum way { AT_ONCE, STREAMED, TRAINED, WAYS } way;

/* Compresses or trains, with `ask` to be asked. */
static fastpair_status work(way how, const shape *s, fastpair_compress_options options, asked *a,
                            uint64_t *written) {
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_dictionary *dictionary = NULL;
    fastpair_status status;
    fastpair_error error = {0};
    options.progress = ask, options.progress_context = a;
    a->thread = pthread_self();
    sink_state state = {.fail_at = UINT64_MAX};
    if (how == AT_ONCE)
        status = fastpair_compress(&s->rows, &options, &image, &size, &error);
    else if (how == STREAMED)
        status = write_column(&state, s, &options, 5000, 3, &error);
    else
        status = fastpair_dictionary_train(&s->rows, &options, &dictionary, &error);
    if (status) CHECK(!image && !dictionary && error.status == status);
    *written = size + state.out.size;
    fastpair_free(&options.allocator, image);
    fastpair_dictionary_close(dictionary);
    free(state.out.data);
    return status;
}

int main(void) {
    shape s;
    shape_make(&s, SHAPE_LOG_LINES, verify_seed(), &(shape_options){.bytes = 3u << 20});
    for (int how = 0; how < WAYS; how++)
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            counting memory;
            counting_start(&memory);
            fastpair_compress_options options = {.struct_size = sizeof options,
                                                 .codec = FASTPAIR_CODEC_ONPAIR,
                                                 .code_bits = 12,
                                                 .chunk_bytes = threads == 1 ? 0 : 300000,
                                                 .threads = threads,
                                                 .allocator = counting_hooks(&memory)};
            asked all = {.stop_at = UINT64_MAX};
            uint64_t written;
            CHECK_EQ(work((way)how, &s, options, &all, &written), FASTPAIR_OK);
            CHECK(all.calls >= (how == TRAINED ? 2 : 4)); /* 3 MiB of each */
            CHECK(all.without_progress >= 2);             /* while training */
            if (how != TRAINED) CHECK_EQ(all.last_done, s.out_size);
            CHECK_EQ(all.most_total, how == STREAMED ? 0 : s.out_size);
            for (uint64_t stop_at = 0; stop_at < all.calls; stop_at += 1 + all.calls / 4) {
                asked some = {.stop_at = stop_at};
                fastpair_status status = work((way)how, &s, options, &some, &written);
                /* With threads, who parses what is not always the same. */
                CHECK(status == FASTPAIR_ERROR_CANCELLED || (threads > 1 && !status));
                if (status) CHECK_EQ(some.calls, stop_at + 1); /* never asked again */
                if (!stop_at) CHECK_EQ(written, 0);
                CHECK_EQ(memory.live, 0);
            }
        }
    shape_free(&s);
    return check_done();
}
