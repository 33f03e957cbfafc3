# testing.cmake - fastpair_add_test(NAME COMMAND...) adds a test that runs in tests/, with the
# limits all tests have.

# The longest tests run first, so that the last one to end does not run alone.
set(long_tests cli_roundtrip cli_bench cli_faults test_adapt test_writer test_compress
               test_compress_statistics test_decode test_decode_widths test_jobs
               test_job_kernels test_kernels test_kernels_bad emulated_test_gpu_hostile)

find_program(FASTPAIR_PYTHON python3)

function(fastpair_add_test name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tests)
  # Sanitized programs are slow, and machines are shared. Exit code 77 says that a test cannot run
  # here.
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
  if(name IN_LIST long_tests)
    set_tests_properties(${name} PROPERTIES COST 1000)
  endif()
endfunction()
