# situ_fuzzer(NAME CORPUS directory SOURCES files... [LIBRARIES ...]): a libFuzzer target, bin/tests/NAME, and a ctest test of
# the same name that runs it for SITU_FUZZ_SECONDS from the kept corpus (25 in CI, a few elsewhere).
#
# Built by clang with objects of what it tests that all fuzzers share, whatever compiler builds the rest; where there is no clang with a fuzzer runtime,
# and in sanitized builds (which replay the corpus), there is no such target. What it finds lies in its work directory, and becomes a
# file of the corpus once it is mended.
set(SITU_FUZZ_OPTIONS -fsanitize=address,undefined -fno-sanitize-recover=all)

find_program(SITU_FUZZ_CXX NAMES clang++-16 clang++ DOC "The compiler of the fuzzers: a clang with libFuzzer")
if(SITU_FUZZ_CXX AND NOT DEFINED SITU_FUZZ_WORKS)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/fuzzer_probe)
  file(WRITE ${probe}.cpp "#include <cstddef>\n#include <cstdint>\nextern \"C\" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }\n")
  execute_process(COMMAND ${SITU_FUZZ_CXX} -std=c++20 ${SITU_FUZZ_OPTIONS} -fsanitize=fuzzer ${probe}.cpp -o ${probe} RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(SITU_FUZZ_WORKS ON CACHE INTERNAL "SITU_FUZZ_CXX builds fuzzers")
  endif()
endif()
if(NOT SITU_FUZZ_WORKS)
  message(STATUS "No clang with libFuzzer (packages clang-16 and libclang-rt-16-dev): the fuzzers are not built, their corpora are replayed only")
endif()

function(situ_fuzzer name)
  if(NOT SITU_FUZZ_WORKS OR SITU_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;LIBRARIES" ${ARGN})
  set(flags -std=c++20 -O1 -g ${SITU_FUZZ_OPTIONS} -DSITU_ASSERT_LEVEL=3
    -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/tests)
  set(objects)
  foreach(source ${arg_SOURCES})
    string(REPLACE "/" "_" stem ${source})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/fuzzers.dir/${stem}.o)
    list(APPEND objects ${object})
    get_property(is_known GLOBAL PROPERTY SITU_FUZZ_OBJECT_${stem})
    if(is_known)
      continue()
    endif()
    set_property(GLOBAL PROPERTY SITU_FUZZ_OBJECT_${stem} ON)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${SITU_FUZZ_CXX} ${flags} -fsanitize=fuzzer-no-link -MD -MF ${object}.d -c ${PROJECT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${PROJECT_SOURCE_DIR}/${source} DEPFILE ${object}.d VERBATIM)
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir ${CMAKE_CURRENT_BINARY_DIR}/fuzzers.dir)
  set(program ${PROJECT_BINARY_DIR}/bin/tests/${name})
  list(TRANSFORM arg_LIBRARIES PREPEND -l)
  add_custom_command(OUTPUT ${program}
    COMMAND ${SITU_FUZZ_CXX} ${SITU_FUZZ_OPTIONS} -fsanitize=fuzzer ${objects} ${arg_LIBRARIES} -o ${program}
    DEPENDS ${objects} VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${program})
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run_fuzzer ${program} ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${arg_CORPUS})
  situ_test_properties(${name} LABELS fuzz TIMEOUT 240)
endfunction()
