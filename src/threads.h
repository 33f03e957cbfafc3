/* threads.h - running independent tasks on several threads. */
#ifndef FP_THREADS_H
#define FP_THREADS_H

#include <stdint.h>

/* Runs task(context, i) once for each i in 0..count-1, on at most `threads` threads, the calling one
 * included, and returns when all are done. Order is unspecified, so results must depend on i alone. Never
 * fails: where threads cannot be made, fewer run. */
void fp_parallel(uint32_t threads, uint64_t count, void (*task)(void *context, uint64_t i),
                 void *context);

#define FP_MAX_THREADS 1024

#endif
