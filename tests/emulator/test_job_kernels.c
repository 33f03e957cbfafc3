/* test_job_kernels.c - every kernel by name, through the library's own calls: dictionaries of all
 * widths and odd kinds, what of them lies on the device, sidecars that lie, codes without a token.
 * Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "gpu/staged.h"
#include "job_columns.h"
#include "sidecar.h"

/* Every assembled kernel, by name, also where sidecars do not suit it. Batches have at most 16 KiB. */
static void test_assembled_kernels(void) {
    for (uint32_t i = FP_STAGED_KERNELS; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        for (uint32_t turn = 0; turn < 3; turn++) {
            if (check_scale() < 1 && turn != i % 3) continue; /* every kernel at least once */
            start();
            int ascends = kernel->max_token > 16 && kernel->home != FP_GPU_FAR;
            int hot = kernel->home == FP_GPU_HOT || (turn == 1 && !ascends);
            uint32_t longest = turn == 2 ? 8 : kernel->max_token,
                     most = longest > 16 ? 512 / longest : 32,
                     batch = turn ? 32 * (1 + draw(most)) : 32;
            add_classes(&columns, kernel->code_bits, longest, hot, 100 + turn, 4, 1500, batch, 1);
            add_classes(&columns, kernel->code_bits, longest, hot, 200 + turn, 2, 1500, batch, 0);
            CHECK(check_job(&columns, kernel->name, (int)draw(2)) > 0);
            CHECK(fake.counts.launches[i] > 0);
        }
    }
}

/* The same for the paper's, which read codes of any width, in classes or not. */
static void test_staged_kernels(void) {
    for (uint32_t i = 0; i < FP_STAGED_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        for (uint32_t turn = 0; turn < 2; turn++) {
            start();
            uint32_t batch = turn ? 32 * (1 + draw(32)) : 32;
            add_classes(&columns, 1 + draw(16), kernel->max_token, 0, draw(100), 3, 900, batch, 1);
            if (kernel->max_token == 16) add_plain(&columns);
            add_classes(&columns, 9 + draw(8), 8, 1, draw(100), 2, 900, batch, 0);
            CHECK_EQ(check_job(&columns, kernel->name, (int)draw(2)), 0);
            CHECK(fake.counts.launches[i] > 0);
        }
    }
}

/* The most bytes in so many codes of a column's only chunk, from a multiple of them on, by its
 * sidecar. */
static uint64_t largest_batch(const fastpair_column *column, uint32_t codes) {
    const fp_chunk *chunk = chunk_of(column, 0);
    const uint8_t *sidecar =
        fp_chunk_section(chunk, column->image + chunk->position, FP_SECTION_SIDECAR);
    uint64_t batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes),
             each = codes / chunk->batch_codes;
    uint64_t begin = 0, most = 0;
    for (uint64_t k = each; begin < chunk->decoded_bytes; k += each) {
        uint64_t end = chunk->decoded_bytes;
        if (k < batches) end = fp_sidecar_position(sidecar, batches, chunk->group_batches, k);
        if (end - begin > most) most = end - begin;
        begin = end;
    }
    return most;
}

/* Resident dictionaries are there for assembled kernels, and buffers hold the largest batch or may
 * be filled several times. */
static void test_plans(void) {
    static const uint32_t lengths[] = {8, 16, 32, 64};
    for (uint32_t bits = 9; bits <= 16; bits++)
        for (uint32_t turn = 0; turn < 16; turn++) {
            if (!check_takes(17 * bits + turn)) continue;
            start();
            add_classes(&columns, bits, lengths[turn & 3], turn >> 2 & 1, draw(1000), 1, 3000,
                        turn & 8 ? 32 : 128, 0);
            for (uint32_t i = 0; i < FP_KERNELS; i++) {
                const fp_kernel *kernel = &fp_kernel_table()[i];
                fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                                    .kernel = kernel->name};
                fastpair_gpu_job *job = NULL;
                if (fastpair_gpu_job_open(&fake.gpu, columns.column, 1, &options, &job, NULL))
                    continue;
                const fp_job_dict *dict = &job->dicts[0];
                const fp_resident *resident = &dict->plan.resident;
                CHECK_EQ(dict->plan.kernel, i);
                int gathers = kernel->max_token == 64 && kernel->home == FP_GPU_FAR;
                CHECK_EQ(resident->bytes != 0, !fp_kernel_is_staged(i) && !gathers);
                CHECK(resident->split <= resident->near && resident->near <= resident->slots);
                if (kernel->max_token > 16)
                    CHECK(dict->plan.staging >= FP_GPU_STAGING(FP_GPU_LEAST_ROOM));
                else if (resident->bytes && !job->regenerates)
                    CHECK_EQ(dict->plan.staging,
                             FP_GPU_STAGING(
                                 largest_batch(columns.column[0], 32 * kernel->codes_per_lane)));
                fastpair_gpu_job_close(job);
            }
        }
}

/* A plane of a dictionary on the device: bytes first .. first + width of each token, and zeros up
 * to the end of the last class or, in a dictionary with a hot part, for all codes there may be. */
static void check_plane(uint64_t plane, int is_read, const fp_dict *dict, uint32_t first,
                        uint32_t width) {
    static uint8_t cells[1 << 16][64];
    CHECK_EQ(plane != 0, is_read);
    if (!plane) return;
    const uint8_t *bytes = fake.memory + plane;
    CHECK_EQ(plane % FP_DEVICE_ALIGNMENT, 0);
    uint64_t end = dict->hot_slots ? 1ull << dict->code_bits : fp_align(dict->code_slots, 64),
             wrong = 0;
    CHECK(plane + end * width <= fake.memory_bytes);
    fp_dict_expand(dict, cells[0], 64, NULL);
    for (uint64_t i = 0; i < end; i++)
        for (uint32_t j = 0; j < width; j++)
            wrong += bytes[width * i + j] != (i < dict->code_slots ? cells[i][first + j] : 0);
    CHECK_EQ(wrong, 0);
}

/* Lengths less one, two per byte. */
static void check_nibbles(uint64_t plane, int is_read, const fp_dict *dict) {
    static uint8_t lengths[1 << 16];
    CHECK_EQ(plane != 0, is_read);
    uint64_t wrong = 0;
    fp_dict_expand(dict, NULL, 0, lengths);
    for (uint32_t code = 0; plane && code < dict->code_slots; code++)
        wrong += (fake.memory[plane + code / 2] >> code % 2 * 4 & 15u) + 1 != lengths[code];
    CHECK_EQ(wrong, 0);
}

/* Lengths, a byte each. */
static void check_lengths(uint64_t plane, int is_read, const fp_dict *dict) {
    static uint8_t lengths[1 << 16];
    CHECK_EQ(plane != 0, is_read);
    fp_dict_expand(dict, NULL, 0, lengths);
    if (plane) CHECK(memcmp(fake.memory + plane, lengths, dict->code_slots) == 0);
}

/* The head of a dictionary on the device: places are addresses. */
static void check_head(const fp_job_dict *dict, int gathers) {
    const fp_resident *resident = &dict->plan.resident;
    uint64_t dicts = (uint64_t)(uintptr_t)fake.memory;
    fp_gpu_dict head;
    memcpy(&head, fake.memory + dict->at.head, sizeof head);
    CHECK_EQ(head.resident, dicts + dict->at.resident);
    if (gathers && resident->longest == 64)
        CHECK_EQ(head.cold, dicts + dict->at.pieces);
    else if (gathers)
        CHECK_EQ(head.cold, dicts + (resident->longest == 16 ? dict->at.cells16 : dict->at.low8));
    CHECK_EQ(head.resident_bytes, resident->bytes);
    CHECK(head.slots == resident->slots && head.near == resident->near);
    CHECK(head.split == resident->split && head.staging == dict->plan.staging);
    CHECK(memcmp(head.further, resident->further, sizeof head.further) == 0);
}

/* What each kernel reads of a dictionary is on the device, and nothing else. */
static void test_planes(void) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        int staged = fp_kernel_is_staged(i), whole = kernel->max_token == 16;
        int gathers = staged || kernel->home == FP_GPU_HOT || kernel->home == FP_GPU_FAR;
        if (staged) whole = fp_staged_kernel_at(i)->gathered_bytes == 16;
        for (uint32_t turn = 0; turn < 4; turn++) {
            if (check_scale() < 1 && turn != i % 4) continue;
            uint32_t longest = turn & 1 ? 8 : kernel->max_token,
                     bits = staged ? 9 + draw(5) : kernel->code_bits;
            start();
            int hot = !staged && kernel->home == FP_GPU_HOT;
            add_classes(&columns, bits, longest, hot, draw(1000), 1, 800, 32, 0);
            fastpair_gpu_job *job = open_job(&columns, kernel->name, turn >> 1);
            fake_allocate(job, 0);
            upload(job, NULL);
            const fp_dict *dict = &columns.column[0]->dictionaries[0].dict;
            const fp_device_dict *at = &job->dicts[0].at;
            int cells = gathers && kernel->max_token <= 16;
            check_plane(at->low8, cells && !whole, dict, 0, 8);
            check_plane(at->high8, staged && !whole && kernel->max_token == 16, dict, 8, 8);
            check_plane(at->cells16, cells && whole, dict, 0, 16);
            check_nibbles(at->nibbles, staged, dict);
            check_lengths(at->lengths, job->regenerates, dict);
            CHECK_EQ(at->pieces != 0, gathers && kernel->max_token == 64);
            if (!staged) check_head(&job->dicts[0], gathers);
            CHECK_EQ(at->end, job->sizes.dictionaries);
            fake_release();
            fastpair_gpu_job_close(job);
        }
    }
}

/* Computed positions do without the sidecar, whatever it says; otherwise the status word tells. */
static void test_lying_sidecar(void) {
    for (uint32_t turn = 0; turn < 8; turn++) {
        do {
            start();
            add_classes(&columns, turn < 4 ? 12 : 16, 16, 0, 9, 1, 4000, 256, 0);
        } while (columns.column[0]->totals.codes < 2000);
        uint64_t size = columns.column[0]->totals.decoded_bytes;
        uint8_t *bytes = malloc(size);
        fastpair_destination host = to_memory(bytes, size, NULL, 0, NULL);
        CHECK_EQ(fastpair_column_decode(columns.column[0], 0, columns.column[0]->totals.rows, &host,
                                        NULL),
                 FASTPAIR_OK);
        const fp_chunk *chunk = chunk_of(columns.column[0], 0);
        uint8_t *sidecar =
            columns.file[0].data + chunk->position + chunk->sections[FP_SECTION_SIDECAR].offset;
        uint64_t sidecar_bytes = chunk->sections[FP_SECTION_SIDECAR].size;
        uint64_t batches = fp_sidecar_batches(chunk->codes, 256),
                 groups = (sidecar_bytes - 2 * batches) / 4;
        /* All batches at the beginning, all at the end, some anywhere, or all of one size. */
        if (turn % 4 < 2) memset(sidecar, turn % 4 ? 0xff : 0, sidecar_bytes);
        for (uint64_t i = 0; i < sidecar_bytes && turn % 4 == 2; i++)
            if (draw(4) == 0) sidecar[i] = (uint8_t)draw(256);
        for (uint64_t i = 0; i < batches && turn % 4 == 3; i++) {
            uint64_t group = i / chunk->group_batches * chunk->group_batches;
            forge_put(sidecar + group / chunk->group_batches * 4, size * group / batches, 4);
            forge_put(sidecar + 4 * groups + 2 * i, size * i / batches - size * group / batches, 2);
        }
        for (int regenerate = 0; regenerate < 2; regenerate++) {
            fastpair_gpu_job *job = open_job(&columns, NULL, regenerate);
            CHECK(!fp_kernel_is_staged(job->dicts[0].plan.kernel) || !regenerate);
            fake_allocate(job, 0);
            decode(job, UINT64_MAX);
            CHECK_EQ(fake_status(0), regenerate ? 0 : FASTPAIR_GPU_BAD_SIDECAR);
            CHECK(!regenerate || !memcmp(fake_at(fake.outputs[0].bytes), bytes, size));
            fake_release();
            fastpair_gpu_job_close(job);
        }
        free(bytes);
    }
}

/* Codes after the last token, of its class: assembled kernels take their tokens for zeros. Codes
 * after the class are refused. */
static void test_codes_without_token(void) {
    static const char *const names[] = {"assembled K8 b15 L16 FAR S8 T768",
                                        "assembled K8 b15 L16 HOT S8 T1024"};
    for (uint32_t turn = 0; turn < 8; turn++) {
        static forge_classes c;
        uint64_t seed = turn;
        uint32_t codes[64], rows[1] = {0}, after = turn % 4 == 3;
        start();
        forge_dictionary dictionary = forge_class_dictionary(&c, 15, 16, 1, seed);
        while (c.slots % 64 == 0 || c.slots % 64 > 40) {
            free(dictionary.section.data);
            dictionary = forge_class_dictionary(&c, 15, 16, 1, seed += 10);
        }
        for (uint32_t i = 0; i < 64; i++) {
            codes[i] = (c.slots | 63) - i % 8 + (after && i == 63 ? 8 : 0);
            c.length_of[codes[i]] = 16;
            rows[0] += 16;
        }
        forge_chunk chunk = forge_coded_chunk(&(forge_codes){codes, 64, 15, c.length_of, 256},
                                              &(forge_rows){rows, NULL, 1});
        add_image(&columns, forge_column(&dictionary, &chunk));
        fastpair_gpu_job *job = open_job(&columns, names[turn / 4], 0);
        fake_allocate(job, 0);
        decode(job, UINT64_MAX);
        CHECK_EQ(fake_status(0), after ? FASTPAIR_GPU_BAD_CODE : 0);
        uint32_t wrong = 0; /* a bad batch stays as it was */
        for (uint32_t i = 0; i < 1024; i++)
            wrong += fake_at(fake.outputs[0].bytes)[i] != (after ? 0xee : 0);
        CHECK_EQ(wrong, 0);
        fake_release();
        fastpair_gpu_job_close(job);
    }
}

int main(void) {
    start_random(1203);
    test_assembled_kernels();
    test_staged_kernels();
    test_plans();
    test_planes();
    test_lying_sidecar();
    test_codes_without_token();
    CHECK_EQ(memory.live, 0);
    close_columns(&columns);
    return check_done();
}
