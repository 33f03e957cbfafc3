/* decompress_gpu.c - FILE.fpc back to FILE through the GPU.
 *
 * In: one compressed file. Out: the text it was made from. The file is read into pinned memory,
 * then parts of some chunks go round two streams: upload, decode, copy back, while the part before
 * is being written. Refuses files that do not fit in memory; the CPU backend streams those. */
#include "decompress_gpu.h"

#include "gpu_column.h"

#include <stdlib.h>
#include <string.h>

/* Decoded bytes of one part; the least that keeps copies long. */
#define PART_BYTES (64ull << 20)

/* Chunks of one part and where they lie in the column. */
typedef struct part {
    fastpair_gpu_range range;
    uint64_t first_row, rows;
    uint64_t first_byte, bytes;
    uint64_t file_offset;
    uint64_t nulls;
} part;

/* Pinned memory for a part on its way back. */
typedef struct part_room {
    void *bytes, *offsets;
} part_room;

typedef struct gpu_copy {
    const cli_options *options;
    const char *name;
    cli_gpu_column device;
    const fastpair_column *column;
    fastpair_column_info info;
    part_room room[CLI_GPU_STREAMS];
} gpu_copy;

/* The part that begins at a chunk. */
static fastpair_status part_at(const gpu_copy *copy, uint64_t first_chunk, part *found,
                               fastpair_error *error) {
    *found = (part){.range = {first_chunk, 0}};
    for (uint64_t chunk = first_chunk; chunk < copy->info.chunks; chunk++) {
        fastpair_chunk_info info = {.struct_size = sizeof info};
        fastpair_chunk_header header = {.struct_size = sizeof header};
        fastpair_status status = fastpair_column_get_chunk(copy->column, chunk, &info, error);
        if (!status) status = fastpair_column_get_chunk_header(copy->column, chunk, &header, error);
        if (status) return status;
        if (chunk > first_chunk && found->bytes + info.decoded_bytes > PART_BYTES) break;
        if (chunk == first_chunk) {
            found->first_row = info.first_row;
            found->first_byte = info.first_byte;
            found->file_offset = info.file_offset;
        }
        found->rows += info.rows;
        found->nulls += header.nulls;
        found->bytes += info.decoded_bytes;
        found->range.chunks++;
    }
    return FASTPAIR_OK;
}

static fastpair_status start_part(gpu_copy *copy, const part *p, int stream,
                                  fastpair_error *error) {
    cli_gpu_column *device = &copy->device;
    const fastpair_gpu_output *from = &device->output;
    const part_room *to = &copy->room[stream];
    fastpair_status status = cli_gpu_column_upload(device, &p->range, stream, error);
    if (!status) status = cli_gpu_column_decode(device, &p->range, stream, error);
    if (!status)
        status = cli_gpu_column_fetch(device, from->bytes + p->first_byte, p->bytes, to->bytes,
                                      stream, error);
    if (!status)
        status = cli_gpu_column_fetch(device, from->offsets + 8 * p->first_row, 8 * p->rows,
                                      to->offsets, stream, error);
    return status;
}

/* Waits for a part and writes those of its rows that are asked for. */
static int finish_part(gpu_copy *copy, const part *p, int stream, cli_emitter *emitter) {
    fastpair_error error;
    if (cli_gpu_column_finish(&copy->device, stream, &error))
        return cli_fail_status(copy->name, &error);
    /* Offsets count within the column; the next part has the one where the last row ends. */
    uint64_t *offsets = copy->room[stream].offsets;
    for (uint64_t row = 0; row < p->rows; row++) offsets[row] -= p->first_byte;
    offsets[p->rows] = p->bytes;
    const cli_options *options = copy->options;
    uint64_t first = options->first_row > p->first_row ? options->first_row - p->first_row : 0;
    uint64_t end = options->end_row > p->first_row ? options->end_row - p->first_row : 0;
    if (end > p->rows) end = p->rows;
    fastpair_rows rows = {.struct_size = sizeof rows,
                          .rows = p->rows,
                          .bytes = copy->room[stream].bytes,
                          .offsets = offsets,
                          .offset_bits = 64};
    if (first >= end) return CLI_OK;
    if (p->nulls > 0 && cli_emit_nulls(emitter) != CLI_OK) return CLI_FAILED;
    return cli_emit_rows(emitter, &rows, first, end);
}

static int copy_parts(gpu_copy *copy, cli_emitter *emitter, cli_progress *progress) {
    fastpair_error error;
    part waiting = {0}, p;
    int stream = 0;
    for (uint64_t next = 0; next < copy->info.chunks; stream ^= 1) {
        if (part_at(copy, next, &p, &error) || start_part(copy, &p, stream, &error))
            return cli_fail_status(copy->name, &error);
        /* The dictionaries go up with the first part; the other stream must not run ahead. */
        if (next == 0 && cli_gpu_column_finish(&copy->device, stream, &error))
            return cli_fail_status(copy->name, &error);
        if (waiting.range.chunks) {
            int result = finish_part(copy, &waiting, stream ^ 1, emitter);
            if (result != CLI_OK) return result;
        }
        cli_progress_step(progress, p.file_offset);
        waiting = p;
        next += p.range.chunks;
    }
    return waiting.range.chunks ? finish_part(copy, &waiting, stream ^ 1, emitter) : CLI_OK;
}

static fastpair_status make_room(gpu_copy *copy, fastpair_error *error) {
    uint64_t bytes = 0, rows = 0;
    part p;
    for (uint64_t next = 0; next < copy->info.chunks; next += p.range.chunks) {
        fastpair_status status = part_at(copy, next, &p, error);
        if (status) return status;
        if (p.bytes > bytes) bytes = p.bytes;
        if (p.rows > rows) rows = p.rows;
    }
    const cuda_driver *cuda = &copy->device.cuda;
    int result = 0;
    for (int i = 0; i < CLI_GPU_STREAMS && !result; i++) {
        result = cuda->allocate_pinned(&copy->room[i].bytes, (size_t)bytes + 1);
        if (!result) result = cuda->allocate_pinned(&copy->room[i].offsets, (size_t)(rows + 1) * 8);
    }
    return cuda_status(cuda, result, "allocating pinned memory", error);
}

static void free_room(gpu_copy *copy) {
    for (int i = 0; i < CLI_GPU_STREAMS; i++) {
        void *memory[] = {copy->room[i].bytes, copy->room[i].offsets};
        for (int m = 0; m < 2; m++)
            if (memory[m]) copy->device.cuda.release_pinned(memory[m]);
    }
}

/* Checks the rows that are asked for, and brings the column to the device. The GPU finds what would
 * do harm, not every change; a file that was damaged must not be written as if it were good. */
static fastpair_status open_copy(gpu_copy *copy, fastpair_gpu *gpu, fastpair_error *error) {
    const cli_options *options = copy->options;
    uint64_t end = options->end_row < copy->info.rows ? options->end_row : copy->info.rows;
    uint64_t first = options->first_row < end ? options->first_row : end;
    cli_gpu_how how = {.want_offsets = 1};
    fastpair_status status = fastpair_column_validate_rows(copy->column, first, end - first, error);
    if (!status) status = cli_gpu_column_open(gpu, copy->column, &how, &copy->device, error);
    return status ? status : make_room(copy, error);
}

static int write_column(gpu_copy *copy, fastpair_gpu *gpu, cli_output *output,
                        cli_progress *progress) {
    fastpair_error error;
    const fastpair_column_info *info = &copy->info;
    cli_emitter emitter = {0};
    int result = CLI_OK;
    if (open_copy(copy, gpu, &error)) result = cli_fail_status(copy->name, &error);
    if (result == CLI_OK)
        result =
            cli_emitter_open(&emitter, output, info->has_framing ? info->separator : (uint8_t)'\n',
                             cli_threads(copy->options, 0));
    if (result == CLI_OK) result = copy_parts(copy, &emitter, progress);
    if (result == CLI_OK)
        result = cli_emit_end(&emitter, !info->has_framing || info->final_separator ||
                                            copy->options->end_row < info->rows);
    cli_emitter_close(&emitter);
    if (copy->device.cuda.context) free_room(copy);
    cli_gpu_column_close(&copy->device);
    return result;
}

static int decompress_image(gpu_copy *copy, fastpair_gpu *gpu, const uint8_t *image, uint64_t size,
                            cli_output *output, cli_progress *progress) {
    fastpair_error error;
    fastpair_column *column = NULL;
    int result;
    copy->info.struct_size = sizeof copy->info;
    if (fastpair_column_open(image, size, NULL, &column, &error) ||
        fastpair_column_get_info(column, &copy->info, &error))
        result = cli_fail_status(copy->name, &error);
    else if (copy->options->first_row > copy->info.rows)
        result = cli_fail(copy->name, "has only %llu rows, so --rows cannot begin at %llu",
                          (unsigned long long)copy->info.rows,
                          (unsigned long long)copy->options->first_row);
    else {
        copy->column = column;
        result = write_column(copy, gpu, output, progress);
    }
    fastpair_column_close(column);
    return result;
}

/* Reads a file of known size straight into pinned memory; *size becomes what was really there. */
static int read_pinned(cli_input *input, uint8_t *pinned, uint64_t *size) {
    uint64_t used = 0;
    long got = 1;
    while (got > 0 && used < *size) {
        got = cli_input_read(input, pinned + used, *size - used);
        if (got < 0) return cli_fail_errno(input->name, input->error);
        used += (uint64_t)got;
    }
    *size = used;
    return CLI_OK;
}

int cli_decompress_gpu(const cli_options *options, fastpair_gpu *gpu, cli_input *input,
                       cli_output *output, cli_progress *progress) {
    fastpair_error error;
    cuda_driver cuda = {0};
    uint8_t *data = NULL;
    void *pinned = NULL;
    uint64_t size = (uint64_t)input->info.st_size;
    int result = input->is_regular ? CLI_OK : cli_input_load(input, UINT64_MAX, &data, &size);
    if (result == CLI_OK && (cuda_open(&cuda, 0, &error) ||
                             cuda_status(&cuda, cuda.allocate_pinned(&pinned, (size_t)size + 1),
                                         "allocating pinned memory for the file", &error)))
        result = cli_fail_status(input->name, &error);
    if (result == CLI_OK && data && pinned) memcpy(pinned, data, (size_t)size);
    if (result == CLI_OK && !data) result = read_pinned(input, pinned, &size);
    free(data);
    gpu_copy copy = {.options = options, .name = input->name};
    if (result == CLI_OK) result = decompress_image(&copy, gpu, pinned, size, output, progress);
    if (pinned) cuda.release_pinned(pinned);
    cuda_close(&cuda);
    return result;
}
