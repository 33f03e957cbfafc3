# kernels.cmake - compiles the GPU kernels into one fat binary, where nvcc is installed.
#
# In: src/gpu/kernels/kernels.cu and what it includes. Out: FASTPAIR_KERNEL_FATBIN, the path of the
# file that src/gpu/kernel_binary.c takes into the library. It is empty where there is no nvcc or
# nvcc does not work; the library then says so when asked for a GPU.
#
# Machine code is made for each architecture in FASTPAIR_CUDA_ARCHITECTURES that this nvcc knows
# (code for 8.0 also runs on 8.6 and 8.9, code for 10.0 on 10.3), and PTX for the lowest, which the
# driver compiles for all others.
set(FASTPAIR_CUDA_ARCHITECTURES "80;90;100;120" CACHE STRING "Architectures to compile the kernels for")
find_program(FASTPAIR_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)

set(kernel_flags "")
if(FASTPAIR_NVCC)
  # nvcc needs a C++ compiler of its own, so finding nvcc is not enough.
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

# fastpair_compile_kernels(FATBIN WHAT FLAG...): a rule that makes FATBIN, with more flags.
function(fastpair_compile_kernels fatbin what)
  add_custom_command(OUTPUT ${fatbin}
    COMMAND ${FASTPAIR_NVCC} -std=c++17 -O3 -fatbin ${compress_flags} ${kernel_flags} ${ARGN} -o ${fatbin}
            ${PROJECT_SOURCE_DIR}/src/gpu/kernels/kernels.cu
    DEPENDS ${kernel_sources} COMMENT "Compiling ${what}" VERBATIM)
endfunction()

if(kernel_flags)
  set(FASTPAIR_KERNEL_FATBIN ${PROJECT_BINARY_DIR}/kernels/kernels.fatbin)
  file(GLOB_RECURSE kernel_sources CONFIGURE_DEPENDS src/gpu/kernels/*)
  execute_process(COMMAND ${FASTPAIR_NVCC} --help OUTPUT_VARIABLE nvcc_help ERROR_QUIET)
  # The kernels are much alike: compressed, all of them together take a tenth of their size.
  set(compress_flags "")
  if(nvcc_help MATCHES "--compress-mode")
    set(compress_flags --compress-mode=size)
  endif()
  # The library waits for this file; with --threads, nvcc compiles for all architectures at once, to
  # the same bytes.
  set(at_once "")
  if(nvcc_help MATCHES "--threads")
    set(at_once --threads 0)
  endif()
  fastpair_compile_kernels(${FASTPAIR_KERNEL_FATBIN} "the GPU kernels" ${at_once})
  # kernel_binary.c alone depends on the file; the target lets other targets build it first.
  add_custom_target(fastpair_kernels DEPENDS ${FASTPAIR_KERNEL_FATBIN})
  message(STATUS "GPU kernels: compiled by ${FASTPAIR_NVCC}")
else()
  set(FASTPAIR_KERNEL_FATBIN "")
  message(STATUS "GPU kernels: none, as there is no working nvcc; everything else is built")
endif()
