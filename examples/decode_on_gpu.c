/* decode_on_gpu.c - decodes a file; bytes and row offsets stay in device memory. */
#include <cuda_runtime_api.h>
#include <fastpair_gpu.h>
#include <stdio.h>

int main(int count, char **arguments) {
    fastpair_column *column;
    fastpair_gpu *gpu;
    fastpair_gpu_job *job;
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .outputs = FASTPAIR_GPU_OFFSETS};
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    fastpair_gpu_output to = {.struct_size = sizeof to, .offset_bits = 64};
    fastpair_error error = {.message = "usage: decode_on_gpu FILE.fpc"};
    uint64_t memory = 0, status = 1;
    if (count != 2 || fastpair_column_open_file(arguments[1], NULL, &column, &error) ||
        fastpair_gpu_open(NULL, &gpu, &error) ||
        fastpair_gpu_job_open(gpu, (const fastpair_column *[]){column}, 1, &options, &job,
                              &error) ||
        fastpair_gpu_job_get_info(job, &info, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    to.bytes_capacity = (info.decoded_bytes + 7) / 8 * 8;
    cudaMalloc((void **)&memory, info.device_bytes + to.bytes_capacity + 8 * info.rows + 16);
    to.bytes = memory + info.device_bytes;
    to.offsets = to.bytes + to.bytes_capacity;
    to.status = to.offsets + 8 * (info.rows + 1);
    cudaMemset((void *)to.status, 0, 8);
    if (fastpair_gpu_job_upload(job, memory, info.device_bytes, NULL, NULL, &error) ||
        fastpair_gpu_job_decode(job, &to, NULL, NULL, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    cudaMemcpy(&status, (void *)to.status, 8, cudaMemcpyDeviceToHost);
    return printf("%s\n", status ? "corrupt" : "decoded"), status != 0;
}
