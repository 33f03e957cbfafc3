/* compress_gpu.h - FILE to FILE.fpc through the GPU. */
#ifndef CLI_COMPRESS_GPU_H
#define CLI_COMPRESS_GPU_H

#include "progress.h"
#include "text.h"

/* Whether these options and this input are for a GPU: --backend=gpu, or `auto` and a large file.
 * Prints what --backend=gpu cannot do. CLI_OK or CLI_FAILED. */
int cli_compress_wants_gpu(const cli_options *options, const cli_input *input, bool *wants);

/* What is compressed, and where it goes. */
typedef struct cli_gpu_job {
    const cli_options *options;
    fastpair_gpu *gpu;
    cli_text *text;
    const fastpair_dictionary *dictionary; /* of -D; NULL: train one */
    cli_output *output;
    cli_progress *progress;
} cli_gpu_job;

/* Compresses the text, whose first rows are given. With `auto`, a failure of the device is none of
 * the command: *falls_back is set, and nothing of the output is of use. Else prints what is wrong.
 */
int cli_compress_gpu(const cli_gpu_job *job, fastpair_rows rows, bool *falls_back);

#endif
