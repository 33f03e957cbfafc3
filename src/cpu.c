/* cpu.c - which instructions this CPU has. In: nothing. Out: the highest level of decoding loops that
 * can run here. Refuses nothing: every machine has a level. */
#include "error.h"

fastpair_cpu_level fastpair_cpu_detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
        return FASTPAIR_CPU_BASELINE;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
                   __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt")
               ? FASTPAIR_CPU_AVX512
               : FASTPAIR_CPU_AVX2;
#else
    return FASTPAIR_CPU_PORTABLE;
#endif
}
