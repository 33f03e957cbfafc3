/* test_export.c - Arrow's device arrays over decoded columns: which memory they name, who gives it
 * back and how often, when rows may be called text, and what is refused. Kernels do nothing here:
 * exporting reads no device memory. */
#include "fastpair_arrow.h"
#include "host_job.h"
#include "shapes.h"

static counting memory;
static fastpair_gpu *gpu;
static int released;

static void give_back(void *context) {
    CHECK(context == &released);
    released++;
}

typedef struct setting {
    columns c;
    fastpair_gpu_job *job;
    fastpair_gpu_output output;
    fastpair_gpu_array from;
    fastpair_arrow_options options;
} setting;

static int an_event;

/* A column of rows with a recorded type, in a job; the memory is made up. */
static void open_setting(setting *s, shape_kind kind, fastpair_type type, fastpair_codec codec,
                         int validates, uint64_t image) {
    shape rows;
    uint8_t *made = NULL;
    forge_bytes copy = {0};
    uint64_t size = 0;
    shape_make(&rows, kind, 7, &(shape_options){.bytes = 60000, .null_percent = 20});
    fastpair_metadata metadata = {.struct_size = sizeof metadata, .type = type, .name = "words"};
    fastpair_compress_options compress = {
        .struct_size = sizeof compress, .codec = codec, .metadata = &metadata};
    CHECK_EQ(fastpair_compress(&rows.rows, &compress, &made, &size, NULL), FASTPAIR_OK);
    forge_append(&copy, made, size);
    fastpair_free(NULL, made);
    shape_free(&rows);
    memset(s, 0, sizeof *s);
    add_image(&s->c, copy);
    if (validates) CHECK_EQ(fastpair_column_validate(s->c.of[0], NULL), FASTPAIR_OK);
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .outputs = FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY,
                                        .device_images = image ? &image : NULL};
    s->job = open_job(gpu, &s->c, &options);
    s->output = (fastpair_gpu_output){.struct_size = sizeof s->output,
                                      .bytes = 0x10000,
                                      .bytes_capacity = s->job->columns[0].decoded_bytes,
                                      .offsets = 0x20000,
                                      .offset_bits = 32,
                                      .validity = 0x30000};
    s->from = (fastpair_gpu_array){.struct_size = sizeof s->from,
                                   .output = &s->output,
                                   .event = &an_event,
                                   .release = give_back,
                                   .context = &released,
                                   .column = s->c.of[0]};
    s->options = (fastpair_arrow_options){.struct_size = sizeof s->options,
                                          .allocator = counting_hooks(&memory)};
}

static void close_setting(setting *s) {
    fastpair_gpu_job_close(s->job);
    close_columns(&s->c);
}

/* Exports; the format, or NULL if it is refused. */
static const char *format_of(const setting *s) {
    static char format[4];
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
    fastpair_error error = {.message = ""};
    int before = released;
    fastpair_status status =
        fastpair_gpu_export_array(s->job, 0, &s->from, &s->options, &schema, &array, &error);
    if (status) {
        CHECK_EQ(status, FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(error.message[0] && !schema.release && !array.array.release);
        CHECK_EQ(released, before);
        return NULL;
    }
    snprintf(format, sizeof format, "%s", schema.format);
    array.array.release(&array.array);
    CHECK_EQ(released, before + 1);
    schema.release(&schema);
    return format;
}

static int is(const char *got, const char *wanted) {
    return got && wanted ? !strcmp(got, wanted) : got == wanted;
}

/* When rows are text. */
static void types(void) {
    static const struct {
        shape_kind kind;
        fastpair_type type;
        fastpair_codec codec;
        int validates, status_was_zero, on_device;
        fastpair_arrow_type wanted;
        const char *format;
    } cases[] = {
        /* Bad chunks leave memory as it was: somebody must have looked. */
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 0, 0, 0, 0, NULL},
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 0, 0, 0, FASTPAIR_ARROW_BYTES,
         NULL},
        /* Tokens are ASCII. */
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 0, 1, 0, 0, "u"},
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 0, 1, 1, 0, "u"},
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 1, 0, 0, 0, "u"},
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 0, 1, 0, FASTPAIR_ARROW_BYTES,
         "z"},
        {SHAPE_WORDS, FASTPAIR_TYPE_BYTES, FASTPAIR_CODEC_ONPAIR, 0, 1, 0, 0, "z"},
        {SHAPE_WORDS, FASTPAIR_TYPE_BYTES, FASTPAIR_CODEC_ONPAIR, 0, 1, 0, FASTPAIR_ARROW_TEXT,
         "u"},
        /* Stored chunks may hold anything. */
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_STORED, 0, 1, 0, 0, "z"},
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_STORED, 1, 0, 0, 0, "u"},
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_STORED, 1, 1, 1, 0, "z"},
        {SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_STORED, 1, 0, 1, 0, NULL},
        /* Tokens are not ASCII. */
        {SHAPE_UTF8, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 0, 1, 0, 0, "z"},
        {SHAPE_UTF8, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 0, 1, 0, FASTPAIR_ARROW_TEXT, NULL},
        {SHAPE_UTF8, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 1, 0, 0, 0, "u"},
        {SHAPE_UTF8, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 1, 0, 0, FASTPAIR_ARROW_TEXT, "u"},
        /* Validating does not look at the text of what is no text. */
        {SHAPE_UTF8, FASTPAIR_TYPE_BYTES, FASTPAIR_CODEC_ONPAIR, 1, 1, 0, FASTPAIR_ARROW_TEXT,
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setting s;
        open_setting(&s, cases[i].kind, cases[i].type, cases[i].codec, cases[i].validates,
                     cases[i].on_device ? 0x40000 : 0);
        s.from.status_was_zero = cases[i].status_was_zero;
        s.options.type = cases[i].wanted;
        CHECK(is(format_of(&s), cases[i].format));
        if (!is(format_of(&s), cases[i].format)) fprintf(stderr, "  ^ case %zu\n", i);
        close_setting(&s);
    }
}

/* What the structs say, and who releases what. */
static void structs(void) {
    setting s;
    for (int as_struct = 0; as_struct < 2; as_struct++)
        for (int validates = 0; validates < 2; validates++) {
            open_setting(&s, SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, validates, 0);
            const fp_job_column column = s.job->columns[0];
            struct ArrowSchema schema;
            struct ArrowDeviceArray array;
            s.from.status_was_zero = 1;
            s.options.as_struct = as_struct;
            CHECK_EQ(
                fastpair_gpu_export_array(s.job, 0, &s.from, &s.options, &schema, &array, NULL),
                FASTPAIR_OK);
            close_setting(&s); /* neither job nor column is needed any more */
            CHECK_EQ(array.device_type, ARROW_DEVICE_CUDA);
            CHECK_EQ(array.device_id, 0);
            CHECK(array.sync_event && *(void **)array.sync_event == &an_event);
            CHECK(!array.reserved[0] && !array.reserved[1] && !array.reserved[2]);
            struct ArrowArray *strings = as_struct ? array.array.children[0] : &array.array;
            const struct ArrowSchema *field = as_struct ? schema.children[0] : &schema;
            CHECK(!strcmp(field->format, "u") && !strcmp(field->name, "words"));
            CHECK_EQ(strings->length, column.rows);
            CHECK(column.nulls > 0);
            CHECK(strings->null_count == (validates ? (int64_t)column.nulls : -1));
            CHECK_EQ(strings->n_buffers, 3);
            CHECK_EQ((uintptr_t)strings->buffers[0], 0x30000);
            CHECK_EQ((uintptr_t)strings->buffers[1], 0x20000);
            CHECK_EQ((uintptr_t)strings->buffers[2], 0x10000);
            int before = released;
            if (as_struct) { /* a child that was moved outlives the struct */
                struct ArrowArray moved = *strings;
                strings->release = NULL;
                array.array.release(&array.array);
                CHECK_EQ(released, before);
                moved.release(&moved);
            } else {
                array.array.release(&array.array);
            }
            CHECK_EQ(released, before + 1);
            schema.release(&schema);
        }
    CHECK_EQ(memory.live, 1); /* the GPU */
}

/* Selected rows have sizes of their own, and nobody has counted their nulls. */
static void selections(void) {
    setting s;
    struct ArrowDeviceArray array;
    open_setting(&s, SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 1, 0);
    CHECK(s.job->columns[0].rows > 5 && s.job->columns[0].decoded_bytes > 100);
    s.from.is_selection = 1;
    s.from.selected_rows = 5;
    s.from.selected_bytes = s.output.bytes_capacity = 100;
    /* That the column is good says nothing of the room that its rows were given. */
    CHECK(format_of(&s) == NULL);
    s.from.status_was_zero = 1;
    CHECK(is(format_of(&s), "u"));
    CHECK_EQ(fastpair_gpu_export_array(s.job, 0, &s.from, NULL, NULL, &array, NULL), FASTPAIR_OK);
    CHECK_EQ(array.array.length, 5);
    CHECK(array.array.null_count == -1);
    array.array.release(&array.array);
    s.from.selected_bytes = 101;
    CHECK_EQ(fastpair_gpu_export_array(s.job, 0, &s.from, NULL, NULL, &array, NULL),
             FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    /* Rows may repeat, so there may be more than the column has. */
    s.from.selected_bytes = s.output.bytes_capacity = (uint64_t)INT32_MAX + 1;
    CHECK_EQ(fastpair_gpu_export_array(s.job, 0, &s.from, NULL, NULL, &array, NULL),
             FASTPAIR_ERROR_LIMIT);
    s.output.offset_bits = 64;
    CHECK(is(format_of(&s), "U"));
    close_setting(&s);
}

static void refusals(void) {
    setting s;
    struct ArrowDeviceArray array;
    open_setting(&s, SHAPE_WORDS, FASTPAIR_TYPE_TEXT, FASTPAIR_CODEC_ONPAIR, 1, 0);
    fastpair_gpu_output good = s.output;
    fastpair_gpu_array from = s.from;
    CHECK(is(format_of(&s), "u"));
    s.options.layout = FASTPAIR_ARROW_VIEWS;
    CHECK(format_of(&s) == NULL);
    s.options.layout = FASTPAIR_ARROW_OFFSETS64;
    CHECK(format_of(&s) == NULL);
    s.output.offset_bits = 64;
    CHECK(is(format_of(&s), "U"));
    s.options.layout = FASTPAIR_ARROW_OFFSETS;
    CHECK(is(format_of(&s), "U"));
    s.output = good, s.output.validity = 0;
    CHECK(format_of(&s) == NULL);
    s.output = good, s.output.offsets = 0;
    CHECK(format_of(&s) == NULL);
    s.output = good, s.output.bytes = 0;
    CHECK(format_of(&s) == NULL);
    s.output = good, s.output.offset_bits = 0;
    CHECK(format_of(&s) == NULL);
    s.output = good, s.output.struct_size = 0;
    CHECK(format_of(&s) == NULL);
    s.output = good, s.output.bytes_capacity--;
    CHECK_EQ(fastpair_gpu_export_array(s.job, 0, &s.from, NULL, NULL, &array, NULL),
             FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    s.output = good, s.from.output = NULL;
    CHECK(format_of(&s) == NULL);
    s.from = from, s.from.struct_size = 8;
    CHECK(format_of(&s) == NULL);
    s.from = from;
    CHECK_EQ(fastpair_gpu_export_array(s.job, 1, &s.from, NULL, NULL, &array, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_export_array(NULL, 0, &s.from, NULL, NULL, &array, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_export_array(s.job, 0, &s.from, NULL, NULL, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    for (int as_struct = 0; as_struct < 2; as_struct++) /* each allocation fails */
        for (uint64_t n = 0; n < 2u + 2u * (unsigned)as_struct; n++) {
            struct ArrowSchema schema;
            int before = released;
            uint64_t live = memory.live;
            s.options.as_struct = as_struct;
            memory.fail_at = memory.calls + n;
            CHECK_EQ(
                fastpair_gpu_export_array(s.job, 0, &s.from, &s.options, &schema, &array, NULL),
                FASTPAIR_ERROR_OUT_OF_MEMORY);
            CHECK(!schema.release && !array.array.release);
            CHECK_EQ(released, before);
            CHECK_EQ(memory.live, live);
        }
    memory.fail_at = UINT64_MAX;
    close_setting(&s);
}

int main(void) {
    counting_start(&memory);
    gpu = open_gpu(&memory);
    types();
    structs();
    selections();
    refusals();
    fastpair_gpu_close(gpu);
    CHECK_EQ(memory.live, 0);
    return check_done();
}
