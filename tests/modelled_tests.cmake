# The tests of places once more, on modelled places: each test program that uses support/places.h is compiled by situ_add_modelled, too, and its places,
# as threads, run on three machines (docs/design/model_execution.md):
#   NAME.flat      sixteen tiles with coherent caches
#   NAME.nemesys   sixteen tiles whose caches are not coherent; only times are the machine's
#   NAME.checked   the same, where each tile sees the bytes that it would see there, and a stale read or a lost write fails the test
# `make test-modelled` builds them all and runs `flat` and `checked` (label modelled), but for those of `checked` that take minutes. `make test-modelled-all`
# runs these, too, and `nemesys`, whose accesses are those of `checked`, which sees their bytes besides (label modelled-long). A handful of all three is in
# `make test-modelled-some` (label modelled-some). What cannot run there says why: programs and tests that fail on some machine by situ_not_modelled
# (not_modelled.cmake), tests that no machine can run by GTEST_SKIP.

set(SITU_SOME_MODELLED_TESTS rma_test shared_span_test ghost_zones_test)
set(SITU_LONG_MODELLED_TESTS graph_at_test.checked collective_loss_test.checked collective_spans_test.checked)

# situ_not_modelled(NAME REASON [MACHINES ...] [CASES patterns...]): on these machines (all unless given) the tests of that program, or those of its cases, are
# left out; ctest reports each such line as skipped, with the reason.
function(situ_not_modelled name reason)
  cmake_parse_arguments(arg "" "" "MACHINES;CASES" ${ARGN})
  if(NOT arg_MACHINES)
    set(arg_MACHINES flat nemesys checked)
  endif()
  foreach(machine ${arg_MACHINES})
    if(arg_CASES)
      list(JOIN arg_CASES ":" cases)
      set_property(GLOBAL PROPERTY SITU_CASES_NOT_MODELLED_${name}.${machine} "-${cases}")
      situ_say_not_modelled(${name}.${machine}.left_out "${cases}: ${reason}")
    else()
      set_property(GLOBAL PROPERTY SITU_NOT_MODELLED_${name}.${machine} ON)
      situ_say_not_modelled(${name}.${machine} "${reason}")
    endif()
  endforeach()
endfunction()

function(situ_say_not_modelled test reason)
  add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} -E echo "not modelled: ${reason}")
  situ_test_properties(${test} LABELS modelled)
  set_tests_properties(${test} PROPERTIES SKIP_REGULAR_EXPRESSION "^not modelled: ")
endfunction()

# situ_modelled_test(NAME): the tests of one program.
function(situ_modelled_test name)
  set(label modelled)
  if(name IN_LIST SITU_SOME_MODELLED_TESTS)
    set(label modelled-some)
  endif()
  get_target_property(environment ${name} SITU_TEST_ENVIRONMENT)
  set(on_flat flat)
  set(on_nemesys ${PROJECT_SOURCE_DIR}/machines/nemesys-4x4.toml)
  set(on_checked ${PROJECT_SOURCE_DIR}/machines/nemesys-4x4.toml --check-coherence)
  foreach(machine flat nemesys checked)
    set(test ${name}.${machine})
    get_property(is_left_out GLOBAL PROPERTY SITU_NOT_MODELLED_${test})
    if(is_left_out)
      continue()
    endif()
    if(NOT TARGET ${name}_modelled)
      situ_add_modelled(${name})
      add_dependencies(modelled_tests ${name}_modelled situ-model)
      if(label STREQUAL "modelled-some")
        add_dependencies(some_modelled_tests ${name}_modelled)
      endif()
    endif()
    get_property(left_out GLOBAL PROPERTY SITU_CASES_NOT_MODELLED_${test})
    set(filter)
    if(left_out)
      set(filter --gtest_filter=${left_out})
    endif()
    set(label_here ${label})
    if(label STREQUAL "modelled" AND (machine STREQUAL "nemesys" OR test IN_LIST SITU_LONG_MODELLED_TESTS))
      set(label_here modelled-long)
    endif()
    # Graphs of these tests lie anywhere, in tiles' own memories, too, beside which no unit copies them.
    add_test(NAME ${test} COMMAND situ model run --quiet --machine ${on_${machine}} --graph-units software $<TARGET_FILE:${name}_modelled> --gtest_brief=1 ${filter})
    situ_test_properties(${test} LABELS ${label_here} TIMEOUT 900 ENVIRONMENT ${environment})
    if(machine STREQUAL "checked")
      set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "coherence: [1-9];, [1-9][0-9]* lost writes")
    endif()
  endforeach()
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/not_modelled.cmake)
get_property(programs GLOBAL PROPERTY SITU_TESTS_WITH_PLACES)
foreach(program ${programs})
  situ_modelled_test(${program})
endforeach()
