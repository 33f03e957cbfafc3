/* test_job_select.c - selections on the made-up GPU, whose kernels run in the emulator, against rows
 * taken from what the CPU decodes: random columns of all widths, bitmaps and lists of all kinds, memory
 * of exactly the sizes that the library states. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "fastpair_gpu_select.h"
#include "gpu/rows.h"
#include "search_columns.h"

/* Blocks of a selection on the device. */
enum {
    ROWS,
    ROWS_SCRATCH,
    SELECT,
    GIVEN,
    SCRATCH,
    BYTES,
    OFFSETS,
    VALIDITY,
    STATUS,
    DECODED,
    DECODED_OFFSETS,
    BLOCKS
};
static void *blocks[BLOCKS];

static fastpair_gpu_block block(int i, uint64_t size) {
    return (fastpair_gpu_block){fake_block(&blocks[i], 0, size), size};
}

/* The column as the CPU decodes it. */
typedef struct decoded {
    uint64_t rows, size;
    uint8_t *bytes, *validity;
    uint64_t *offsets;
} decoded;

static decoded decode_column(const fastpair_column *column) {
    decoded d = {column->totals.rows, column->totals.decoded_bytes, NULL, NULL, NULL};
    d.bytes = malloc(d.size + 1);
    d.validity = calloc(d.rows / 8 + 8, 1);
    d.offsets = malloc((d.rows + 1) * sizeof *d.offsets);
    if (!d.bytes || !d.validity || !d.offsets) abort();
    fastpair_destination to = to_memory(d.bytes, d.size, d.offsets, 64, d.validity);
    CHECK_EQ(fastpair_column_decode(column, 0, d.rows, &to, NULL), FASTPAIR_OK);
    return d;
}

/* A column on the device, prepared for selections. */
typedef struct prepared {
    fastpair_gpu_job *job;
    fastpair_gpu_rows *rows;
    fastpair_gpu_select *select;
    fastpair_gpu_block memory[BLOCKS];
} prepared;

/* Uploads the column; `damage` is called before rows are derived, if it is not NULL. */
static prepared open_column(void (*damage)(fastpair_gpu_job *job)) {
    prepared p = {.job = open_job(&columns, NULL, 0)};
    fastpair_gpu_rows_info info = {.struct_size = sizeof info};
    fastpair_gpu_select_info select_info = {.struct_size = sizeof select_info};
    fake_allocate(p.job, 0);
    upload(p.job, NULL);
    CHECK_EQ(fastpair_gpu_rows_open(p.job, 0, &p.rows, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_rows_get_info(p.rows, &info, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_select_open(p.rows, &p.select, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_select_get_info(p.select, &select_info, NULL), FASTPAIR_OK);
    p.memory[ROWS] = block(ROWS, info.device_bytes);
    p.memory[ROWS_SCRATCH] = block(ROWS_SCRATCH, info.scratch_bytes);
    p.memory[SELECT] = block(SELECT, select_info.device_bytes);
    if (damage) damage(p.job);
    CHECK_EQ(
        fastpair_gpu_rows_prepare(p.rows, &p.memory[ROWS], &p.memory[ROWS_SCRATCH], 0, NULL, NULL),
        FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_select_upload(p.select, &p.memory[SELECT], NULL, NULL), FASTPAIR_OK);
    return p;
}

static void close_column(prepared *p) {
    fastpair_gpu_select_close(p->select);
    fastpair_gpu_rows_close(p->rows);
    fake_release();
    fastpair_gpu_job_close(p->job);
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]), blocks[i] = NULL;
}

/* Row numbers that are selected, and their bytes. */
typedef struct wanted {
    uint64_t *rows, count, bytes;
    int has_bad;
} wanted;

static uint64_t length_of(const decoded *d, uint64_t row) {
    return row < d->rows ? d->offsets[row + 1] - d->offsets[row] : 0;
}

static void want(wanted *w, const decoded *d, uint64_t row) {
    w->rows[w->count++] = row;
    w->bytes += length_of(d, row);
    w->has_bad |= row >= d->rows;
}

/* Draws a bitmap of the column's rows, or a list, in device memory. */
static wanted draw_selection(const decoded *d, fastpair_gpu_selection *selection) {
    uint32_t percent = (uint32_t[]){0, 1, 10, 50, 90, 100}[draw(6)];
    uint64_t words = (d->rows + 31) / 32;
    wanted w = {malloc((d->rows + 300) * sizeof *w.rows), 0, 0, 0};
    *selection = (fastpair_gpu_selection){.struct_size = sizeof *selection};
    if (draw(2)) {
        selection->bitmap = block(GIVEN, 4 * words + 4).address;
        uint8_t *bits = blocks[GIVEN];
        for (uint64_t row = 0; row < 32 * words; row++) {
            int is_there = row >= d->rows || draw(100) < percent; /* spare bits mean nothing */
            bits[row / 8] &= (uint8_t) ~(1 << row % 8);
            bits[row / 8] |= (uint8_t)(is_there << row % 8);
            if (is_there && row < d->rows) want(&w, d, row);
        }
        if (draw(2)) selection->most_rows = w.count + draw(3);
        return w;
    }
    /* In order, or anyhow; with rows that do not exist. */
    uint64_t count = draw(3) ? draw(200) : draw((uint32_t)d->rows + 1), row = 0;
    int in_order = draw(3) == 0, may_be_bad = draw(4) == 0;
    selection->number_bits = draw(2) ? 32 : 64;
    selection->most_rows = count;
    selection->numbers = block(GIVEN, selection->number_bits / 8 * count).address;
    for (uint64_t i = 0; i < count; i++) {
        row = in_order ? (d->rows ? (row + draw(3)) % d->rows : 0) : draw((uint32_t)d->rows + 1);
        if (row >= d->rows && !may_be_bad && d->rows) row = d->rows - 1;
        want(&w, d, row);
        if (selection->number_bits == 32)
            ((uint32_t *)blocks[GIVEN])[i] = (uint32_t)row;
        else
            ((uint64_t *)blocks[GIVEN])[i] = row;
    }
    return w;
}

/* Compares everything that a selection wrote. */
static const char *differs(const decoded *d, const wanted *w, const fastpair_gpu_selected *to) {
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)to->bytes;
    uint64_t at = 0;
    for (uint64_t i = 0; i <= w->count; i++) {
        uint64_t offset = to->offset_bits == 32 ? ((const uint32_t *)blocks[OFFSETS])[i]
                                                : ((const uint64_t *)blocks[OFFSETS])[i];
        if (offset != at) return "offsets differ";
        if (i == w->count) break;
        uint64_t row = w->rows[i], size = length_of(d, row);
        if (size && memcmp(bytes + at, d->bytes + d->offsets[row], size)) return "bytes differ";
        int valid = row < d->rows && d->validity[row / 8] >> row % 8 & 1;
        if ((((const uint8_t *)blocks[VALIDITY])[i / 8] >> i % 8 & 1) != valid)
            return "validity differs";
        at += size;
    }
    for (uint64_t i = w->count; i < (w->count + 31) / 32 * 32; i++)
        if (((const uint8_t *)blocks[VALIDITY])[i / 8] >> i % 8 & 1) return "a spare bit is set";
    return NULL;
}

/* Room for a selection, `less` bytes too little, at any distance from 16 bytes. */
static fastpair_gpu_selected make_room(const wanted *w, uint64_t less) {
    fastpair_gpu_selected to = {.struct_size = sizeof to, .rows_capacity = w->count};
    uint32_t skip = draw(20);
    to.bytes_capacity = w->bytes - less;
    to.bytes = fake_block(&blocks[BYTES], skip, to.bytes_capacity);
    to.offset_bits = draw(2) ? 32 : 64;
    to.offsets = block(OFFSETS, to.offset_bits / 8 * (w->count + 1)).address;
    to.validity = block(VALIDITY, (w->count + 31) / 32 * 4).address;
    to.status = block(STATUS, 4).address;
    memset(blocks[STATUS], 0, 4);
    return to;
}

static void close_room(const prepared *p) {
    for (int i = GIVEN; i <= STATUS; i++) free(blocks[i]), blocks[i] = NULL;
    fake_forget_memory();
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i] && p->memory[i].bytes) fake_know_memory(blocks[i], p->memory[i].bytes);
}

/* The column in device memory, to copy rows from. */
static void copy_from(prepared *p, const decoded *d, fastpair_gpu_selected *to) {
    if (!blocks[DECODED]) {
        p->memory[DECODED] = block(DECODED, d->size);
        p->memory[DECODED_OFFSETS] = block(DECODED_OFFSETS, 8 * (d->rows + 1));
        memcpy(blocks[DECODED], d->bytes, d->size);
        memcpy(blocks[DECODED_OFFSETS], d->offsets, 8 * (d->rows + 1));
    }
    to->decoded = p->memory[DECODED].address;
    to->decoded_offsets = p->memory[DECODED_OFFSETS].address;
    to->decoded_offset_bits = 64;
}

/* A list that is changed after its sizes were computed: rows that are longer than what they were do
 * not get into memory of others. */
static void check_changed(const prepared *p, const decoded *d, const wanted *w,
                          const fastpair_gpu_selection *selection,
                          const fastpair_gpu_block *scratch, const fastpair_gpu_selected *to) {
    uint64_t longest = 0;
    for (uint64_t row = 0; row < d->rows; row++)
        if (length_of(d, row) > length_of(d, longest)) longest = row;
    for (uint64_t i = 0; i < w->count; i++) {
        if (selection->number_bits == 32)
            ((uint32_t *)blocks[GIVEN])[i] = (uint32_t)longest;
        else
            ((uint64_t *)blocks[GIVEN])[i] = longest;
    }
    memset(blocks[STATUS], 0, 4);
    CHECK_EQ(fastpair_gpu_select_decode(p->select, selection, scratch, to, NULL, NULL),
             FASTPAIR_OK);
    uint32_t reported = *(const uint32_t *)blocks[STATUS];
    CHECK_EQ(reported & FASTPAIR_GPU_TOO_SMALL,
             w->count * length_of(d, longest) > w->bytes ? FASTPAIR_GPU_TOO_SMALL : 0);
}

static void check_selection(prepared *p, const decoded *d) {
    fastpair_gpu_selection selection;
    wanted w = draw_selection(d, &selection);
    uint64_t size = 0;
    fastpair_error error = {0};
    fastpair_status status = fastpair_gpu_select_scratch(p->select, &selection, &size, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    fastpair_gpu_block scratch = block(SCRATCH, size);
    fake_wish.seed = check_random(&random_state);
    status = fastpair_gpu_select_sizes(p->select, &selection, &scratch, NULL, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status) fprintf(stderr, "  %s\n", error.message), abort();
    CHECK_EQ(((const uint64_t *)blocks[SCRATCH])[0], w.count);
    CHECK_EQ(((const uint64_t *)blocks[SCRATCH])[1], w.bytes);
    uint32_t less = w.bytes && !draw(6);
    fastpair_gpu_selected to = make_room(&w, less);
    if (draw(3) == 0 && d->size) copy_from(p, d, &to);
    if (!less && draw(6) == 0 && w.count) to.rows_capacity -= ++less;
    if (!less && selection.bitmap && w.count > 1 && draw(4) == 0) { /* a list of too few rows */
        selection.most_rows = w.count - ++less;
        CHECK_EQ(fastpair_gpu_select_sizes(p->select, &selection, &scratch, NULL, &error),
                 FASTPAIR_OK);
        CHECK_EQ(((const uint64_t *)blocks[SCRATCH])[0], w.count);
    }
    CHECK_EQ(fastpair_gpu_select_decode(p->select, &selection, &scratch, &to, NULL, &error),
             FASTPAIR_OK);
    uint32_t reported = *(const uint32_t *)blocks[STATUS];
    if (less) {
        CHECK_EQ(reported, FASTPAIR_GPU_TOO_SMALL);
        const uint8_t *bytes = (const uint8_t *)(uintptr_t)to.bytes;
        uint64_t untouched = 0;
        while (untouched < to.bytes_capacity && bytes[untouched] == 0xee) untouched++;
        CHECK_EQ(untouched, to.bytes_capacity);
    } else {
        const char *what = differs(d, &w, &to);
        CHECK_EQ(reported, w.has_bad ? FASTPAIR_GPU_BAD_ROW : 0);
        CHECK(!what);
        if (what)
            fprintf(stderr, "  %s: %llu rows, %llu bytes, %s%s\n", what,
                    (unsigned long long)w.count, (unsigned long long)w.bytes,
                    selection.bitmap ? "bitmap" : "list", to.decoded ? ", copied" : "");
        if (!selection.bitmap) check_changed(p, d, &w, &selection, &scratch, &to);
    }
    free(w.rows);
    close_room(p);
}

static void check_column_select(uint32_t selections) {
    prepared p = open_column(NULL);
    decoded d = decode_column(columns.column[0]);
    for (uint32_t i = 0; i < selections; i++) check_selection(&p, &d);
    free(d.bytes), free(d.validity), free(d.offsets);
    close_column(&p);
}

/* ---------------------------------------------------------------- hostile columns */

static void damage(fastpair_gpu_job *job) {
    const fp_job_chunk *chunk = &job->chunks[0];
    int is_lengths = (int)draw(2);
    uint8_t *section =
        fake.memory + chunk->sections[is_lengths ? FP_SECTION_LENGTHS : FP_SECTION_CODES];
    uint64_t size = is_lengths ? chunk->lengths_bytes : chunk->codes / 8;
    for (uint32_t i = draw(40); size && i < 40; i++)
        section[draw((uint32_t)size)] = (uint8_t)draw(256);
    if (size && !draw(4)) memset(section, 255, size);
}

/* Whatever codes and row lengths say, memory of others is not touched, which the emulator would
 * notice; and what prepare derived may be anything, too. */
static void check_hostile(void) {
    prepared p = open_column(damage);
    decoded d = {.rows = columns.column[0]->totals.rows};
    fastpair_gpu_selection selection;
    d.offsets = calloc(d.rows + 1, sizeof *d.offsets);
    wanted w = draw_selection(&d, &selection);
    uint64_t size = 0;
    if (draw(2))
        for (uint32_t i = 0; i < 200 && p.memory[ROWS].bytes > p.rows->lengths_bytes; i++)
            ((uint8_t *)
                 blocks[ROWS])[p.rows->lengths_bytes +
                               draw((uint32_t)(p.memory[ROWS].bytes - p.rows->lengths_bytes))] =
                (uint8_t)draw(256);
    CHECK_EQ(fastpair_gpu_select_scratch(p.select, &selection, &size, NULL), FASTPAIR_OK);
    fastpair_gpu_block scratch = block(SCRATCH, size);
    CHECK_EQ(fastpair_gpu_select_sizes(p.select, &selection, &scratch, NULL, NULL), FASTPAIR_OK);
    uint64_t *totals = blocks[SCRATCH];
    CHECK_EQ(totals[0], w.count);
    w.bytes = totals[1] < 4000000 ? totals[1] : 1000;
    fastpair_gpu_selected to = make_room(&w, 0);
    CHECK_EQ(fastpair_gpu_select_decode(p.select, &selection, &scratch, &to, NULL, NULL),
             FASTPAIR_OK);
    /* A list that is changed in between. */
    if (!selection.bitmap && w.count) {
        for (uint64_t i = 0; i < w.count * selection.number_bits / 8; i++)
            if (!draw(3)) ((uint8_t *)blocks[GIVEN])[i] = (uint8_t)draw(256);
        CHECK_EQ(fastpair_gpu_select_decode(p.select, &selection, &scratch, &to, NULL, NULL),
                 FASTPAIR_OK);
    }
    free(w.rows), free(d.offsets);
    close_column(&p);
}

int main(void) {
    start_random(21);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t bits = 1; bits <= 16; bits++) {
            start();
            add_search_column(&columns, bits);
            check_column_select(10);
            check_hostile();
            check_hostile();
        }
    for (uint32_t i = 0; i < 8; i++) {
        start();
        add_phrases(&columns, (uint32_t[]){9, 12, 14, 16}[i % 4], (uint32_t[]){16, 64}[i / 4], 0);
        check_column_select(8);
        check_hostile();
    }
    start();
    add_phrases(&columns, 0, 0, 0); /* stored */
    check_column_select(8);
    start();
    add_phrases(&columns, 9, 16, 5 * FP_GPU_SELECT_PIECE); /* a row of several pieces */
    check_column_select(6);
    /* Tiles of several pieces: of rows that are longer than a piece, and of some that are not. */
    for (uint32_t i = 0; i < 10; i++) {
        start();
        add_long_rows(&columns, (uint32_t[]){12, 9, 0, 16, 12}[i % 5],
                      (uint32_t[]){16, 16, 0, 16, 64}[i % 5],
                      (i < 5 ? 3 : 1) * FP_GPU_SELECT_PIECE / (i < 5 ? 1 : 8));
        check_column_select(4);
        check_hostile();
    }
    close_columns(&columns);
    return check_done();
}
