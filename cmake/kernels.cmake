# kernels.cmake - compiles the GPU kernels into one fat binary, where nvcc is installed.
#
# In: src/gpu/kernels/kernels.cu. Out: FASTPAIR_KERNEL_FATBIN, the path of the file that src/gpu/kernel_image.c takes into
# the library; empty if there is no nvcc or if it does not work, and then the library says so when asked for a GPU.
#
# Machine code for each architecture in FASTPAIR_CUDA_ARCHITECTURES that this nvcc knows (code for 8.0 also runs on 8.6 and
# 8.9, code for 10.0 on 10.3), and PTX of the lowest, which the driver compiles for all others.
set(FASTPAIR_CUDA_ARCHITECTURES "80;90;100;120" CACHE STRING "Architectures to compile the kernels for")
find_program(FASTPAIR_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)

set(kernel_flags "")
if(FASTPAIR_NVCC)
  # nvcc needs a C++ compiler of its own, so that being there is not enough.
  file(WRITE ${PROJECT_BINARY_DIR}/kernels/trial.cu "extern \"C\" __global__ void trial(int *x) { *x = 0; }\n")
  execute_process(COMMAND ${FASTPAIR_NVCC} -cubin -o trial.cubin trial.cu WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/kernels
                  RESULT_VARIABLE trial_result OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND ${FASTPAIR_NVCC} --list-gpu-arch OUTPUT_VARIABLE known_architectures ERROR_QUIET)
  if(trial_result EQUAL 0)
    foreach(architecture ${FASTPAIR_CUDA_ARCHITECTURES})
      if(known_architectures MATCHES "compute_${architecture}\n")
        if(NOT kernel_flags)
          list(APPEND kernel_flags -gencode arch=compute_${architecture},code=compute_${architecture})
        endif()
        list(APPEND kernel_flags -gencode arch=compute_${architecture},code=sm_${architecture})
      endif()
    endforeach()
  endif()
endif()

if(kernel_flags)
  set(FASTPAIR_KERNEL_FATBIN ${PROJECT_BINARY_DIR}/kernels/kernels.fatbin)
  # The library's objects wait for this file: an nvcc that knows --threads compiles for all architectures at once, to the same bytes.
  execute_process(COMMAND ${FASTPAIR_NVCC} --help OUTPUT_VARIABLE nvcc_help ERROR_QUIET)
  set(at_once "")
  if(nvcc_help MATCHES "--threads")
    set(at_once --threads 0)
  endif()
  file(GLOB kernel_sources CONFIGURE_DEPENDS src/gpu/kernels/*)
  add_custom_command(OUTPUT ${FASTPAIR_KERNEL_FATBIN}
    COMMAND ${FASTPAIR_NVCC} -std=c++17 -O3 -fatbin ${at_once} ${kernel_flags} -o ${FASTPAIR_KERNEL_FATBIN}
            ${PROJECT_SOURCE_DIR}/src/gpu/kernels/kernels.cu
    DEPENDS ${kernel_sources} COMMENT "Compiling the GPU kernels" VERBATIM)
  # kernel_image.c alone depends on the file; the target lets other targets build it first.
  add_custom_target(fastpair_kernels DEPENDS ${FASTPAIR_KERNEL_FATBIN})
  message(STATUS "GPU kernels: compiled by ${FASTPAIR_NVCC}")
else()
  set(FASTPAIR_KERNEL_FATBIN "")
  message(STATUS "GPU kernels: none, as there is no working nvcc; everything else is built")
endif()
