# situ_test(NAME SOURCES ... [LINKS ...] [LABELS ...] [TIMEOUT seconds] [DEPENDS targets...] [ARGS ...] [ENVIRONMENT ...] [SERIAL] [DRIVER] [AS_USED] [HUGE_PAGES] [TOGETHER] [MODELLED]):
# one GoogleTest executable, bin/tests/NAME, and one ctest test of the same name.
#   LINKS        what the test uses, e.g. situ::memory; GoogleTest and GoogleMock come by themselves. A test with a main of its own
#                keeps it (gtest_main is a static archive: its main is taken only where there is none).
#   LABELS       `fast` unless given (and `core`, if SITU_CORE_TESTS has it); `make asan` builds (target fast_tests) and runs those, `make tsan` those that are not `sequential` as well, which
#                have one thread, or threads whose ways others go too; `slow` what `make test` alone has;
#                `nightly` what takes minutes or gigabytes: `make nightly` runs those, `make test` and CI do not.
#   TIMEOUT      the watchdog, 60 s unless given; sanitized builds get four times as long.
#   DEPENDS      programs that the test starts. They lie in SITU_TEST_BIN_DIR.
#   SERIAL       not beside other tests (it measures, or fills the machine).
#   HUGE_PAGES   takes reserved huge pages where some are free: not beside others that do.
#   AS_USED      compiled at -O3 in Release, as programs are: what tests lock-free code of headers, or measures. The others are at -O1, in two thirds of the
#                time; what they test lies in the modules, which are at -O3.
#   TOGETHER     its sources have no names in common, and are compiled as one.
#   DRIVER       only starts programs and reads what they print: not sanitized itself. (Sanitizers triple the time that gcc takes for a JSON parser.)
#   MODELLED     the test starts programs on modelled machines, whose libraries take long to compile. Only `make test-modelled`, `make test-modelled-some` and
#                `make test-MODULE` build and run it. Its label is modelled-some.
# Target tests_of_PART, PART being the folder below tests/: its tests and what they start.
# Exit code 77 from a main of one's own reports the test as skipped, as in automake.
# In the code: #include "support/...", and private headers as in src; SITU_TEST_BIN_DIR and SITU_TEST_SOURCE_DIR (tests/) stand in support's build_paths, which the build makes.

# Programs do not wait for a second at their end in case a race is about to happen: tests start hundreds of them.
set(SITU_TSAN_OPTIONS "halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=0:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
# The tests labelled fast, and what they start. Where ThreadSanitizer is on, not those that are sequential, too.
add_custom_target(fast_tests)
# Of the fast tests, those of the code that handles raw memory, bytes from other processes, or threads (label core): CI builds and runs these under the
# sanitizers, as all fast tests would take it more than an hour of processor time. A test that is not in this list is still in `make asan` and `make tsan`.
add_custom_target(core_tests)
set(SITU_CORE_TESTS
  base_test
  os_test
  memory_heap_test move_test bell_test place_status_test
  am_test am_misuse_test atomic_test channel_test copy_test far_test refusal_test rma_test shared_span_test
  delivery_test host_frames_test hosts_alive_test hosts_test records_test
  at_test barrier_test bodies_test collective_test collective_loss_test completion_test finish_test future_test launch_test loss_test ordering_test payload_test
  place_threads_test stack_test standstill_test team_test wait_test
  graph_test graph_at_test graph_offload_test
  pool_test pool_damage_test pool_move_test
  rmem_test rmem_chains_test rmem_region_test rmem_replicas_test
  pim_test pim_bmem_test pim_execute_test
  heap_test heap_faults_test heap_moves_test heap_random_test
  task_graph_test place_graph_test queue_test task_pool_test
  death_told_test regress_test
  hostile_cell_test hostile_wire_test graph_message_replay_test pool_replay_test rmem_replay_test cluster_replay_test frames_replay_test squeak_image_replay_test)
if(NOT SITU_SANITIZE MATCHES "thread")
  list(APPEND SITU_CORE_TESTS death_points_test)        # its places are processes
  list(APPEND SITU_CORE_TESTS pim_row_test)  # one thread
endif()
# The tests with the label modelled-some; and those together with the tests labelled modelled.
add_custom_target(some_modelled_tests)
add_custom_target(modelled_tests DEPENDS some_modelled_tests)

set(SITU_TEST_GENERATED_DIR ${PROJECT_BINARY_DIR}/tests/generated)
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_paths.h.in ${SITU_TEST_GENERATED_DIR}/support/build_paths.h @ONLY)

function(situ_test name)
  cmake_parse_arguments(arg "SERIAL;DRIVER;AS_USED;HUGE_PAGES;TOGETHER;MODELLED" "TIMEOUT" "SOURCES;LINKS;LABELS;DEPENDS;ARGS;ENVIRONMENT" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "situ_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "situ_test(${name}): SOURCES is missing")
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  if(arg_TOGETHER)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
  endif()
  # The base of itself: each of our headers names how the libraries were compiled (base/detail/abi.h). The floor for what starts programs (support/).
  target_link_libraries(${name} PRIVATE ${arg_LINKS} situ_options situ::os situ::base GTest::gmock GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests ${SITU_TEST_GENERATED_DIR})
  if(NOT arg_AS_USED)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  target_precompile_headers(${name} REUSE_FROM situ_test_headers)
  if(arg_DRIVER AND SITU_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=all)
  endif()
  if(arg_MODELLED)
    set(arg_LABELS modelled-some)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(some_modelled_tests ${name})
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests OUTPUT_VARIABLE part)
  string(REGEX REPLACE "/.*" "" part ${part})
  if(NOT TARGET tests_of_${part})
    add_custom_target(tests_of_${part})
  endif()
  add_dependencies(tests_of_${part} ${name})
  if((NOT arg_LABELS OR "fast" IN_LIST arg_LABELS) AND NOT (SITU_SANITIZE MATCHES "thread" AND "sequential" IN_LIST arg_LABELS))
    add_dependencies(fast_tests ${name})
    if(name IN_LIST SITU_CORE_TESTS)
      add_dependencies(core_tests ${name})
      list(APPEND arg_LABELS fast core)
      list(REMOVE_DUPLICATES arg_LABELS)
    endif()
  endif()
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  situ_test_properties(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} ENVIRONMENT ${arg_ENVIRONMENT})
  set(text)
  foreach(source ${arg_SOURCES})
    file(STRINGS ${source} found REGEX "on_places|launch_on|support/places.h")
    string(APPEND text "${found}")
  endforeach()
  if(text)
    target_link_libraries(${name} PRIVATE situ_test_places)
  endif()
  if(text MATCHES "on_places|launch_on")
    set_property(GLOBAL APPEND PROPERTY SITU_TESTS_WITH_PLACES ${name})
    set_property(TARGET ${name} PROPERTY SITU_TEST_ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(arg_HUGE_PAGES)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK huge_pages)
  endif()
  if(arg_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

# situ_test_properties(NAME [LABELS ...] [TIMEOUT seconds] [ENVIRONMENT ...]): what every ctest test of this project has, however added.
function(situ_test_properties name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  # ctest begins with the tests that take longest, so that none of them runs alone at the end. A clean clone knows no times yet: those that may take minutes.
  if(arg_TIMEOUT GREATER 120)
    set_tests_properties(${name} PROPERTIES COST ${arg_TIMEOUT})
  endif()
  if(SITU_SANITIZE)
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  # A sanitizer's report must fail the test, in the places that the test starts too: these reach them through the environment.
  set(environment
    "ASAN_OPTIONS=abort_on_error=0:detect_stack_use_after_return=0:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1"
    "TSAN_OPTIONS=${SITU_TSAN_OPTIONS}"
    # hwloc's plugins for GPUs bring drivers whose thread-local memory LeakSanitizer takes for what it is not, and ends.
    "HWLOC_PLUGINS_BLACKLIST=hwloc_opencl.so,hwloc_gl.so"
    "SITU_CACHE_DIRECTORY=off"  # nothing is measured once and kept in the home of whoever tests
    ${arg_ENVIRONMENT})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}")
endfunction()

# situ_modules_again(NAME DEFINITION): the modules from pages to graph as one library, compiled once more with this definition.
function(situ_modules_again name definition)
  set(sources)
  foreach(module pages memory fabric cluster launch runtime graph)
    get_target_property(files situ_${module} SOURCES)
    list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/src/${module}/)
    list(APPEND sources ${files})
  endforeach()
  find_package(fmt REQUIRED)
  find_package(Boost REQUIRED COMPONENTS context)
  find_package(Threads REQUIRED)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${sources})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON)  # compiled in a third of the time
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PUBLIC ${definition} PRIVATE $<TARGET_PROPERTY:situ_launch,COMPILE_DEFINITIONS>)
  target_compile_options(${name} PRIVATE -O1)  # compiled in half the time
  # The C++ library comes before the modules' own archives: else the linker takes members of these for the templates in
  # them, and with these a second copy of the modules.
  target_link_libraries(${name} PUBLIC stdc++ situ::machine Threads::Threads PRIVATE situ_options fmt::fmt Boost::context)
endfunction()
