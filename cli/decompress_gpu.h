/* decompress_gpu.h - decompressing a whole file on the GPU. */
#ifndef CLI_DECOMPRESS_GPU_H
#define CLI_DECOMPRESS_GPU_H

#include "emit.h"
#include "fastpair_gpu.h"
#include "progress.h"

/* Reads the input into pinned memory, uploads and decodes it in parts, and writes the text. Prints
 * what is wrong. */
int cli_decompress_gpu(const cli_options *options, fastpair_gpu *gpu, cli_input *input,
                       cli_output *output, cli_progress *progress);

#endif
