/* emulator_private.h - what the parts of the emulator share: scheduling (emulator.cc), and checks
 * of global and of shared memory (emulator_global.cc, emulator_shared.cc). */
#ifndef FP_TESTS_EMULATOR_PRIVATE_H
#define FP_TESTS_EMULATOR_PRIVATE_H

#include "emulator.h"
#include "gpu/kernels/warp.cuh"

#define EMULATOR_LANES      32u
#define EMULATOR_MOST_WARPS (EMULATOR_MOST_THREADS / EMULATOR_LANES)

/* Synchronisations so far, of each warp and of the block: the time that orders
 * accesses. */
extern uint32_t emulator_warp_time[EMULATOR_MOST_WARPS], emulator_block_time;

/* Set by the first error of a block; no lane of the block runs on. */
extern bool emulator_block_failed;

/* Records an error of the running lane; the text is `what` and `detail`. */
void emulator_fail(const char *what, const char *detail);

/* Goes to the scheduler, which never comes back if the block has failed. */
void emulator_leave_lane(void);

/* An error if the running lane, which is about to return, has copies under way. */
void emulator_check_copies(void);

/* Memory of a block, before it runs and after; of a launch, before it runs. */
void emulator_shared_begin(uint32_t dynamic_bytes);
void emulator_shared_end(void);
void emulator_global_begin(void);

/* Forgets the memory that tests made known. */
void emulator_forget(void);

#endif
