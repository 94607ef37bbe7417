# situ_fuzzer(NAME CORPUS directory SOURCES files... [LIBRARIES ...]): a libFuzzer target, bin/tests/NAME, and a ctest test of
# the same name that runs it for SITU_FUZZ_SECONDS from the kept corpus (25 in CI, a few elsewhere). Made by situ_make_fuzzers(), after all of them.
#
# Built by clang with objects of what it tests that all fuzzers share, whatever compiler builds the rest: the sources of a module that the same fuzzers
# use are compiled as one, in half the time; where there is no clang with a fuzzer runtime,
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
  set_property(GLOBAL APPEND PROPERTY SITU_FUZZERS ${name})
  set_property(GLOBAL PROPERTY SITU_FUZZ_CORPUS_OF_${name} ${arg_CORPUS})
  set_property(GLOBAL PROPERTY SITU_FUZZ_LIBRARIES_OF_${name} ${arg_LIBRARIES})
  foreach(source ${arg_SOURCES})
    set_property(GLOBAL APPEND PROPERTY SITU_FUZZ_SOURCES ${source})
    set_property(GLOBAL APPEND PROPERTY SITU_FUZZERS_OF_${source} ${name})
  endforeach()
endfunction()

# situ_fuzz_object(STEM FUZZERS SOURCES...): an object of these sources, for these fuzzers.
function(situ_fuzz_object stem fuzzers)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/fuzzers.dir)
  set(object ${folder}/${stem}.o)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  set(compiled ${files})
  list(LENGTH files count)
  if(count GREATER 1)
    set(compiled ${folder}/${stem}.cpp)
    list(TRANSFORM files REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE lines)
    list(JOIN lines "" text)
    file(CONFIGURE OUTPUT ${compiled} CONTENT "${text}")
  endif()
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${SITU_FUZZ_CXX} -std=c++20 -O1 -g ${SITU_FUZZ_OPTIONS} -DSITU_ASSERT_LEVEL=3
      -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/tests
      -fsanitize=fuzzer-no-link -MD -MF ${object}.d -c ${compiled} -o ${object}
    DEPENDS ${compiled} ${files} DEPFILE ${object}.d VERBATIM)
  foreach(fuzzer ${fuzzers})
    set_property(GLOBAL APPEND PROPERTY SITU_FUZZ_OBJECTS_OF_${fuzzer} ${object})
  endforeach()
endfunction()

# situ_make_fuzzers(): what situ_fuzzer has named.
function(situ_make_fuzzers)
  get_property(sources GLOBAL PROPERTY SITU_FUZZ_SOURCES)
  list(REMOVE_DUPLICATES sources)
  set(groups)
  foreach(source ${sources})
    get_property(fuzzers GLOBAL PROPERTY SITU_FUZZERS_OF_${source})
    get_filename_component(group ${source} DIRECTORY)
    list(JOIN fuzzers "-" whose)
    string(REPLACE "/" "_" group "${group}-of-${whose}")
    if(group MATCHES "^tests")  # what a fuzzer has of its own is compiled by itself
      get_filename_component(stem ${source} NAME_WE)
      string(APPEND group "-${stem}")
    endif()
    list(APPEND groups ${group})
    list(APPEND sources_of_${group} ${source})
    set(fuzzers_of_${group} ${fuzzers})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    set(left ${sources_of_${group}})
    set(number 0)
    while(left)  # no more than 13 as one, so that each processor has something to compile
      math(EXPR number "${number} + 1")
      list(SUBLIST left 0 13 some)
      list(REMOVE_ITEM left ${some})
      situ_fuzz_object(${group}-${number} "${fuzzers_of_${group}}" ${some})
    endwhile()
  endforeach()
  get_property(all GLOBAL PROPERTY SITU_FUZZERS)
  foreach(name ${all})
    foreach(what CORPUS LIBRARIES OBJECTS)
      get_property(${what} GLOBAL PROPERTY SITU_FUZZ_${what}_OF_${name})
    endforeach()
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir)
    set(program ${PROJECT_BINARY_DIR}/bin/tests/${name})
    list(TRANSFORM LIBRARIES PREPEND -l)
    add_custom_command(OUTPUT ${program}
      COMMAND ${SITU_FUZZ_CXX} ${SITU_FUZZ_OPTIONS} -fsanitize=fuzzer ${OBJECTS} ${LIBRARIES} -o ${program}
      DEPENDS ${OBJECTS} VERBATIM)
    add_custom_target(${name} ALL DEPENDS ${program})
    add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run_fuzzer ${program} ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${CORPUS})
    situ_test_properties(${name} LABELS fuzz TIMEOUT 240)
  endforeach()
endfunction()
