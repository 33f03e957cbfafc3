/* gpu.h - a search of a whole column on the GPU. */
#ifndef CLI_GREP_GPU_H
#define CLI_GREP_GPU_H

#include "file.h"

/* Uploads the column of a file and searches it. *bitmap gets a bit per row, 1 where the row
 * matches, and some bytes of 0 after them (free it). Prints what is wrong; CLI_OK or another exit
 * code. */
int grep_gpu_search(fastpair_gpu *gpu, const grep_file *file, uint8_t **bitmap);

#endif
