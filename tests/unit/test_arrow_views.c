/* test_arrow_views.c - views of rows in place of their offsets, over as many buffers as it takes: each
 * row is where its view says, buffers begin at multiples of 64, and none is larger than allowed unless
 * one row is. */
#include "arrow.h"
#include "arrow_read.h"
#include "forge.h"

/* Views as bytes come, some at a time. */
static void make_views(fp_arrow_views *views, const uint64_t *starts, uint64_t *random) {
    const uint64_t count = views->count;
    for (uint64_t ready = 0; ready < starts[count] && check_random(random) % 8;
         ready += check_random(random) % 400) {
        fp_arrow_make_views(views, ready);
        CHECK(starts[views->row] <= ready);
        CHECK(views->row == count || starts[views->row + 1] > ready);
    }
    fp_arrow_make_views(views, UINT64_MAX);
    CHECK_EQ(views->row, count);
    CHECK(!views->is_stuck);
}

/* A row that no view can count is where views end, whatever is asked for. */
static void too_long(void) {
    static const uint64_t starts[] = {0, 5, 5 + (1ull << 31), 6 + (1ull << 31)};
    uint8_t views[4 * 16] = {0}, bytes[32] = "short";
    uint64_t start = 0;
    int64_t size = 0;
    fp_arrow_cuts cuts = {&start, &size, 0, 100};
    fp_arrow_views made = {
        .views = views, .count = 3, .offset_bits = 64, .bytes = bytes, .cuts = &cuts};
    for (int i = 0; i < 4; i++)
        forge_put(views + fp_arrow_offsets_in_views(3, 64) + i * 8, starts[i], 8);
    for (int i = 0; i < 3; i++) {
        fp_arrow_make_views(&made, i ? UINT64_MAX : 1000);
        CHECK_EQ(made.row, 1);
        CHECK_EQ(made.is_stuck, i > 0);
    }
    CHECK_EQ(forge_get(views, 4), 5);
}

/* Rows over several buffers, which take a GiB each outside of tests. */
static void cut_views(uint64_t *random) {
    for (uint32_t turn = 0; turn < 200; turn++) {
        uint64_t count = check_random(random) % 90, at = 0, most = 65 + check_random(random) % 300;
        uint32_t bits = turn % 2 ? 32 : 64;
        uint8_t *views = calloc(count + 1, 16), *bytes = calloc(90 * 120 + 128, 1);
        uint64_t *starts = malloc((count + 1) * 8);
        uint8_t *offsets = views + fp_arrow_offsets_in_views(count, bits);
        for (uint64_t i = 0; i < 90 * 120; i++) bytes[i] = (uint8_t)check_random(random);
        for (uint64_t i = 0; i <= count; i++) {
            starts[i] = at;
            forge_put(offsets + i * (bits / 8), at, (int)bits / 8);
            at += check_random(random) % (turn % 3 ? 30 : 120);
        }
        uint64_t room = fp_arrow_most_cuts(starts[count], most);
        fp_arrow_cuts cuts = {malloc(room * 8), malloc(room * 8), 0, most};
        make_views(
            &(fp_arrow_views){
                .views = views, .count = count, .offset_bits = bits, .bytes = bytes, .cuts = &cuts},
            starts, random);
        CHECK(cuts.count <= room);
        const void *buffers[400] = {NULL, views};
        struct ArrowArray array = {
            .length = (int64_t)count, .n_buffers = 3 + (int64_t)cuts.count, .buffers = buffers};
        for (uint64_t i = 0; i < cuts.count; i++) {
            buffers[2 + i] = bytes + cuts.starts[i];
            CHECK_EQ(cuts.starts[i] % 64, 0);
            CHECK(cuts.sizes[i] <= (int64_t)(most > 64 + 120 ? most : 64 + 120));
        }
        buffers[2 + cuts.count] = cuts.sizes;
        for (uint64_t i = 0; i < count; i++) {
            arrow_row row = arrow_get("vz", &array, (int64_t)i);
            CHECK_EQ(row.size, starts[i + 1] - starts[i]);
            CHECK(!row.size || !memcmp(row.bytes, bytes + starts[i], row.size));
        }
        free(views), free(bytes), free(starts), free(cuts.starts), free(cuts.sizes);
    }
}

int main(void) {
    uint64_t random = verify_seed();
    cut_views(&random);
    too_long();
    return check_done();
}
