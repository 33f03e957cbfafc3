# bench.cmake - the measuring programs. In: bench/*.c. Out: fastpair-measure and fastpair-peers; with FASTPAIR_GRID also
# fastpair-measure-grid, the same over a library that carries every kernel of the paper's studies: minutes to compile.
option(FASTPAIR_GRID "Build fastpair-measure-grid, with every kernel variant; needs nvcc" OFF)

foreach(program measure peers)
  file(GLOB sources CONFIGURE_DEPENDS bench/${program}*.c)
  add_executable(fastpair_${program} ${sources} bench/harness.c cli/json.c cli/messages.c)
  set_target_properties(fastpair_${program} PROPERTIES OUTPUT_NAME fastpair-${program})
  target_include_directories(fastpair_${program} PRIVATE bench cli src)
  target_link_libraries(fastpair_${program} PRIVATE fastpair_static Threads::Threads ${CMAKE_DL_LIBS} m)
endforeach()

if(FASTPAIR_GRID AND FASTPAIR_KERNEL_FATBIN)
  # The whole table is the same sources with one definition more, for the kernels and for the host.
  set(grid_fatbin ${PROJECT_BINARY_DIR}/kernels/grid.fatbin)
  file(GLOB measure_sources CONFIGURE_DEPENDS bench/measure*.c)
  add_custom_command(OUTPUT ${grid_fatbin}
    COMMAND ${FASTPAIR_NVCC} -std=c++17 -O3 -fatbin --split-compile=0 ${kernel_flags} -DFP_ALL_VARIANTS -o ${grid_fatbin}
            ${PROJECT_SOURCE_DIR}/src/gpu/kernels/kernels.cu
    DEPENDS ${kernel_sources} COMMENT "Compiling every kernel variant" VERBATIM)
  add_custom_target(fastpair_grid_kernels DEPENDS ${grid_fatbin})
  # A copy of the one file that takes the fat binary in: its own has a definition already, the carried kernels.
  configure_file(src/gpu/kernel_image.c grid/kernel_image.c COPYONLY)
  set(grid_sources ${library_sources})
  list(FILTER grid_sources EXCLUDE REGEX "/kernel_image.c$")
  add_library(fastpair_grid STATIC ${grid_sources} ${PROJECT_BINARY_DIR}/grid/kernel_image.c)
  set_source_files_properties(${PROJECT_BINARY_DIR}/grid/kernel_image.c PROPERTIES OBJECT_DEPENDS ${grid_fatbin})
  add_dependencies(fastpair_grid fastpair_grid_kernels)
  target_compile_definitions(fastpair_grid PUBLIC FP_ALL_VARIANTS PRIVATE FASTPAIR_BUILDING
                             FASTPAIR_KERNEL_FATBIN="${grid_fatbin}")
  target_include_directories(fastpair_grid PRIVATE src src/gpu PUBLIC include)
  target_include_directories(fastpair_grid SYSTEM PRIVATE ${XXHASH_INCLUDE_DIR})
  target_link_libraries(fastpair_grid PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  add_executable(fastpair_measure_grid ${measure_sources} bench/harness.c cli/json.c cli/messages.c)
  set_target_properties(fastpair_measure_grid PROPERTIES OUTPUT_NAME fastpair-measure-grid)
  target_include_directories(fastpair_measure_grid PRIVATE bench cli src)
  target_link_libraries(fastpair_measure_grid PRIVATE fastpair_grid Threads::Threads ${CMAKE_DL_LIBS} m)
endif()
