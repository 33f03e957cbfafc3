/* backend.c - where decoding runs: the one place that knows which backends this build has.
 *
 * In: --backend. Out: whether it can be had, and if not, why.
 */
#include "cli.h"

const char *cli_backend_no_gpu_reason(void) { return "this build has no GPU backend"; }

int cli_backend_check(const cli_options *options) {
    const char *reason = cli_backend_no_gpu_reason();
    if (options->backend != CLI_BACKEND_GPU || !reason) return CLI_OK;
    return cli_fail(NULL, "--backend=gpu: %s; use --backend=cpu or auto", reason);
}
