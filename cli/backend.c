/* backend.c - where decoding runs: the one place that decides it.
 *
 * In: --backend. Out: an opened GPU, or why there is none. `auto` measures and demonstrates on a
 * GPU where there is one; files are decompressed on the GPU only when it is asked for, as the
 * result has to come back to the host anyway.
 */
#include "cli.h"

#include <stdio.h>

fastpair_gpu *cli_backend_open_gpu(const cli_options *options, fastpair_error *why) {
    fastpair_gpu *gpu = NULL;
    if (options->backend != CLI_BACKEND_CPU) {
        fastpair_gpu_open(NULL, &gpu, why);
        return gpu;
    }
    *why = (fastpair_error){FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION, ""};
    snprintf(why->message, sizeof(why->message), "--backend=cpu was given");
    return NULL;
}

int cli_backend_check(const cli_options *options) {
    if (options->backend != CLI_BACKEND_GPU) return CLI_OK;
    fastpair_error why;
    fastpair_gpu *gpu = cli_backend_open_gpu(options, &why);
    if (!gpu) return cli_fail(NULL, "--backend=gpu: %s; use --backend=cpu or auto", why.message);
    fastpair_gpu_close(gpu);
    return CLI_OK;
}
