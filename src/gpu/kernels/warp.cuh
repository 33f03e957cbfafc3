/* warp.cuh - the words that kernels are written in. In: nothing. Out: some fifty small functions
 * with one meaning each.
 *
 * Kernels use these words and plain C, no other CUDA. On a GPU the words are defined here, each a
 * single instruction or two; on the host emulate.h defines the same words, so that the very same
 * kernel text runs in tests under sanitizers. All 32 lanes of a warp reach a warp_* word together.
 * Data that lanes exchange through shared memory needs a warp_sync between the store and the load;
 * the other warp words order nothing. */
#ifndef FP_GPU_WARP_CUH
#define FP_GPU_WARP_CUH

#include "params.h"

/* What a 16-byte access moves. */
typedef struct fp_words4 {
    uint32_t word[4];
} fp_words4;

#if !defined(__CUDACC__)
#include "emulate.h"
#else

#define DEVICE                     static __device__ __forceinline__
#define UNROLL                     _Pragma("unroll")
/* For loops with much in them: the compiler leaves them as they are. */
#define ROLLED                     _Pragma("unroll 1")
/* Memory of the block, 16-byte aligned: of a size known to the compiler, or what the launch asked
 * for. */
#define SHARED_BYTES(name, bytes)  __shared__ __align__(16) uint8_t name[bytes]
#define SHARED_DYNAMIC_BYTES(name) extern __shared__ __align__(16) uint8_t name[]

/* ---------------------------------------------------------------- where am I */
DEVICE uint32_t lane(void) { return threadIdx.x & 31; }
DEVICE uint32_t thread_in_block(void) { return threadIdx.x; }
DEVICE uint32_t threads_in_block(void) { return blockDim.x; }
DEVICE uint32_t warp_in_block(void) { return threadIdx.x >> 5; }
DEVICE uint32_t block_x(void) { return blockIdx.x; }
DEVICE uint32_t block_y(void) { return blockIdx.y; }
DEVICE uint32_t blocks_x(void) { return gridDim.x; }

/* ---------------------------------------------------------------- lanes together */
#define ALL_LANES                  0xffffffffu
/* The value of the lane `distance` below; a lane's own value where there is none. */
DEVICE uint32_t warp_shfl_up(uint32_t value, uint32_t distance) {
    return __shfl_up_sync(ALL_LANES, value, distance);
}
DEVICE uint32_t warp_shfl(uint32_t value, uint32_t from) {
    return __shfl_sync(ALL_LANES, value, from);
}
/* Of the lane that is `distance` further up; of this lane where there is none. */
DEVICE uint32_t warp_shfl_down(uint32_t value, uint32_t distance) {
    return __shfl_down_sync(ALL_LANES, value, distance);
}
/* Bit i is set where lane i's condition holds. */
DEVICE uint32_t warp_ballot(int condition) { return __ballot_sync(ALL_LANES, condition); }
/* Bits that are set in any lane's value. */
DEVICE uint32_t warp_or(uint32_t value) { return __reduce_or_sync(ALL_LANES, value); }
/* A value that is the same in all lanes, in a form that tells the compiler so: branches on the
 * value are then decided once per warp, and addresses made of the value are kept once. */
DEVICE uint32_t warp_same(uint32_t value) { return __shfl_sync(ALL_LANES, value, 0); }
DEVICE void warp_sync(void) { __syncwarp(); }
DEVICE void block_sync(void) { __syncthreads(); }

/* ---------------------------------------------------------------- bits */
DEVICE uint32_t popcount(uint32_t value) { return (uint32_t)__popc((int)value); }
/* The number of the lowest bit that is set; the value is not 0. */
DEVICE uint32_t first_bit(uint32_t value) { return (uint32_t)__ffs((int)value) - 1; }
/* The number of the highest bit that is set; the value is not 0. */
DEVICE uint32_t last_bit(uint32_t value) { return 31 - (uint32_t)__clz((int)value); }
/* The upper word of a * b. */
DEVICE uint32_t multiply_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
/* Bits shift .. shift + 31 of high:low, 0 <= shift < 32. */
DEVICE uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t shift) {
    return __funnelshift_r(low, high, shift);
}
/* The upper word of high:low << shift; of shift, the lowest five bits count. */
DEVICE uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t shift) {
    return __funnelshift_l(low, high, shift);
}
/* (a & b) | c by one instruction, also where the compiler would rather add c. */
DEVICE uint32_t and_or(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}
/* The value itself, of which the compiler then knows nothing. */
DEVICE uint32_t hidden(uint32_t value) {
    asm("" : "+r"(value));
    return value;
}
/* value >> shift, 0 <= shift <= 64 */
DEVICE uint64_t shift_right64(uint64_t value, uint32_t shift) {
    uint64_t shifted;
    asm("shr.u64 %0, %1, %2;" : "=l"(shifted) : "l"(value), "r"(shift));
    return shifted;
}
DEVICE uint32_t byte_of(uint32_t value, uint32_t i) { return __byte_perm(value, 0, 0x4440 + i); }
/* Four bytes out of eight, `low` first: digit i of `order`, in base 16, says which byte i is. */
DEVICE uint32_t pick_bytes(uint32_t low, uint32_t high, uint32_t order) {
    return __byte_perm(low, high, order);
}
/* sum plus the four bytes of value */
DEVICE uint32_t add_bytes(uint32_t value, uint32_t sum) { return __dp4a(value, 0x01010101u, sum); }
DEVICE uint32_t least(uint32_t a, uint32_t b) { return min(a, b); }
DEVICE uint32_t greatest(uint32_t a, uint32_t b) { return max(a, b); }
/* a - b, but at least 0 */
DEVICE uint32_t excess(uint32_t a, uint32_t b) { return (uint32_t)max((int)(a - b), 0); }

/* ---------------------------------------------------------------- global memory */
/* Addresses are integers; saying that they are global lets the compiler leave out the search for
 * the right memory. */
#define GLOBAL(type, address)      ((type *)__cvta_global_to_generic((size_t)(address)))
/* Loads of memory that nothing writes during the launch; addresses are aligned to the size. */
DEVICE uint32_t global_load1(uint64_t address) { return __ldg(GLOBAL(const uint8_t, address)); }
DEVICE uint32_t global_load2(uint64_t address) { return __ldg(GLOBAL(const uint16_t, address)); }
DEVICE uint32_t global_load4(uint64_t address) { return __ldg(GLOBAL(const uint32_t, address)); }
DEVICE uint64_t global_load8(uint64_t address) {
    return __ldg(GLOBAL(const unsigned long long, address));
}
DEVICE fp_words4 global_load16(uint64_t address) {
    uint4 loaded = __ldg(GLOBAL(const uint4, address));
    return fp_words4{{loaded.x, loaded.y, loaded.z, loaded.w}};
}
/* The same, where the lane will load the bytes after it soon: brings 128 bytes to the L2 cache. */
DEVICE fp_words4 global_load16_ahead(uint64_t address) {
    fp_words4 loaded;
    asm("ld.global.nc.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(loaded.word[0]), "=r"(loaded.word[1]), "=r"(loaded.word[2]), "=r"(loaded.word[3])
        : "l"(address));
    return loaded;
}
/* The same for memory that this launch writes too. */
DEVICE uint32_t global_reload1(uint64_t address) { return *GLOBAL(const uint8_t, address); }
DEVICE uint32_t global_reload4(uint64_t address) { return *GLOBAL(const uint32_t, address); }
DEVICE uint64_t global_reload8(uint64_t address) {
    return *GLOBAL(const unsigned long long, address);
}
DEVICE fp_words4 global_reload16(uint64_t address) {
    uint4 loaded = *GLOBAL(const uint4, address);
    return fp_words4{{loaded.x, loaded.y, loaded.z, loaded.w}};
}
DEVICE void global_store1(uint64_t address, uint32_t value) {
    *GLOBAL(uint8_t, address) = (uint8_t)value;
}
DEVICE void global_store4(uint64_t address, uint32_t value) { *GLOBAL(uint32_t, address) = value; }
DEVICE void global_store8(uint64_t address, uint64_t value) { *GLOBAL(uint64_t, address) = value; }
DEVICE void global_store16(uint64_t address, fp_words4 value) {
    *GLOBAL(uint4, address) =
        make_uint4(value.word[0], value.word[1], value.word[2], value.word[3]);
}
DEVICE void global_or4(uint64_t address, uint32_t bits) {
    atomicOr(GLOBAL(unsigned int, address), bits);
}
DEVICE void global_and4(uint64_t address, uint32_t bits) {
    atomicAnd(GLOBAL(unsigned int, address), bits);
}

/* The word becomes `value` if that is greater. */
DEVICE void global_max4(uint64_t address, uint32_t value) {
    atomicMax(GLOBAL(unsigned int, address), value);
}
/* Adds to a word that other lanes add to as well; returns what it was before. */
DEVICE uint32_t global_add4(uint64_t address, uint32_t value) {
    return atomicAdd(GLOBAL(unsigned int, address), value);
}
DEVICE void global_add8(uint64_t address, uint64_t value) {
    atomicAdd(GLOBAL(unsigned long long, address), (unsigned long long)value);
}

/* ---------------------------------------------------------------- shared memory */
DEVICE uint32_t shared_load1(const uint8_t *at) { return *at; }
DEVICE uint32_t shared_load2(const uint8_t *at) { return *(const uint16_t *)at; }
DEVICE uint32_t shared_load4(const uint8_t *at) { return *(const uint32_t *)at; }
DEVICE uint64_t shared_load8(const uint8_t *at) { return *(const uint64_t *)at; }
DEVICE fp_words4 shared_load16(const uint8_t *at) {
    uint4 loaded = *(const uint4 *)at;
    return fp_words4{{loaded.x, loaded.y, loaded.z, loaded.w}};
}
DEVICE void shared_store1(uint8_t *at, uint32_t value) { *at = (uint8_t)value; }
DEVICE void shared_store2(uint8_t *at, uint32_t value) { *(uint16_t *)at = (uint16_t)value; }
DEVICE void shared_store4(uint8_t *at, uint32_t value) { *(uint32_t *)at = value; }
DEVICE void shared_store8(uint8_t *at, uint64_t value) { *(uint64_t *)at = value; }
DEVICE void shared_store16(uint8_t *at, fp_words4 value) {
    *(uint4 *)at = make_uint4(value.word[0], value.word[1], value.word[2], value.word[3]);
}
/* Adds to a word that other lanes add to as well; returns what it was before. */
DEVICE uint32_t shared_add4(uint8_t *at, uint32_t value) {
    return atomicAdd((unsigned int *)at, value);
}
/* Sets bits of a word that other lanes set bits of as well. */
DEVICE void shared_or4(uint8_t *at, uint32_t bits) { atomicOr((unsigned int *)at, bits); }

/* ---------------------------------------------------------------- either memory */
/* A token's cell of L bytes, 8 or 16, at `at` bytes into the first halves. If that is below
 * `near_end`: its first half from shared memory and, from `split` on, its second half, else zeros.
 * Further up: all of it from global memory. Without a branch, so that several can be on their way.
 * (Seven parameters: each is an operand of the one statement.) */
template <int L>
DEVICE void near_or_far(const uint8_t *firsts, const uint8_t *seconds, uint64_t far_cells,
                        uint32_t at, uint32_t near_end, uint32_t split, uint32_t *cell) {
    uint32_t first = (uint32_t)__cvta_generic_to_shared(firsts + at);
    uint32_t second = (uint32_t)__cvta_generic_to_shared(seconds + at);
    uint64_t far_at = far_cells + 2 * (uint64_t)at;
    if (L == 16) {
        asm volatile("{\n\t.reg .pred near, both;\n\t"
                     "setp.lt.u32 near, %4, %5;\n\tsetp.ge.and.u32 both, %4, %6, near;\n\t"
                     "mov.u32 %2, 0;\n\tmov.u32 %3, 0;\n\t"
                     "@near ld.shared.v2.u32 {%0, %1}, [%7];\n\t"
                     "@both ld.shared.v2.u32 {%2, %3}, [%8];\n\t"
                     "@!near ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%9];\n\t}"
                     : "=&r"(cell[0]), "=&r"(cell[1]), "=&r"(cell[L / 8]), "=&r"(cell[L / 4 - 1])
                     : "r"(at), "r"(near_end), "r"(split), "r"(first), "r"(second), "l"(far_at));
    } else {
        asm volatile("{\n\t.reg .pred near, both;\n\t"
                     "setp.lt.u32 near, %2, %3;\n\tsetp.ge.and.u32 both, %2, %4, near;\n\t"
                     "mov.u32 %1, 0;\n\t"
                     "@near ld.shared.u32 %0, [%5];\n\t"
                     "@both ld.shared.u32 %1, [%6];\n\t"
                     "@!near ld.global.nc.v2.u32 {%0, %1}, [%7];\n\t}"
                     : "=&r"(cell[0]), "=&r"(cell[1])
                     : "r"(at), "r"(near_end), "r"(split), "r"(first), "r"(second), "l"(far_at));
    }
}

/* ---------------------------------------------------------------- copies that go on by themselves */
/* From global to shared memory, 16 bytes, or zeros if they are not there; done when async_wait of
 * the same lane returns. */
DEVICE void async_load16(uint8_t *to, uint64_t from, int is_there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(is_there ? 16 : 0)
                 : "memory");
}
DEVICE void async_wait(void) { asm volatile("cp.async.wait_all;" ::: "memory"); }

/* From shared to global memory, whole 16-byte units. All lanes give the same arguments. Lanes that
 * wrote the bytes have called bulk_fence and then warp_sync. The bytes have been read when
 * bulk_wait_read and a warp_sync have passed, and written when bulk_wait has. Devices before Hopper
 * copy at once, all lanes together. */
#if __CUDA_ARCH__ >= 900
DEVICE void bulk_store(uint64_t to, const uint8_t *from, uint32_t bytes) {
    if (lane() == 0 && bytes)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
                     "cp.async.bulk.commit_group;" ::"l"(to),
                     "r"((uint32_t)__cvta_generic_to_shared(from)), "r"(bytes)
                     : "memory");
}
DEVICE void bulk_fence(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void bulk_wait_read(void) {
    if (lane() == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
DEVICE void bulk_wait(void) {
    if (lane() == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
#else
DEVICE void bulk_store(uint64_t to, const uint8_t *from, uint32_t bytes) {
    for (uint32_t at = 16 * lane(); at < bytes; at += 16 * 32)
        global_store16(to + at, shared_load16(from + at));
}
DEVICE void bulk_fence(void) {}
DEVICE void bulk_wait_read(void) {}
DEVICE void bulk_wait(void) {}
#endif

#endif

/* ---------------------------------------------------------------- words made of words */
DEVICE uint64_t words_low(fp_words4 w) { return (uint64_t)w.word[1] << 32 | w.word[0]; }
DEVICE uint64_t words_high(fp_words4 w) { return (uint64_t)w.word[3] << 32 | w.word[2]; }

/* How many lanes below this one have their bit set. */
DEVICE uint32_t rank_in(uint32_t mask) { return popcount(mask & ((1u << lane()) - 1u)); }

/* Sum over this lane and the lanes below it. */
DEVICE uint32_t warp_inclusive_sum(uint32_t value) {
    UNROLL for (uint32_t distance = 1; distance < 32; distance *= 2) {
        uint32_t below = warp_shfl_up(value, distance);
        if (lane() >= distance) value += below;
    }
    return value;
}

/* The same for 64 bits. */
DEVICE uint64_t warp_inclusive_sum8(uint64_t value) {
    UNROLL for (uint32_t distance = 1; distance < 32; distance *= 2) {
        uint64_t low = warp_shfl_up((uint32_t)value, distance);
        uint64_t high = warp_shfl_up((uint32_t)(value >> 32), distance);
        if (lane() >= distance) value += high << 32 | low;
    }
    return value;
}

/* Reports corrupt data: ORs the bits of fastpair_gpu.h into the status word, if the caller gave
 * one. By one lane. */
DEVICE void report(uint64_t status, uint32_t bits) {
    if (status) global_or4(status, bits);
}

#endif
