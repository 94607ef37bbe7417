# See CMakeLists.txt. Compiles CASE twice: with the control it must succeed, without it must fail for each expected reason.
cmake_minimum_required(VERSION 3.25)

# An expectation goes on in the comment's lines below it.
file(READ ${CASE} text)
string(REPLACE ";" "." text "\n${text}")  # no list; as a pattern it matches the same
string(REPLACE "\n// expect: " "\n@expect: " text "${text}")
string(REPLACE "\n// one error" "\n@one error" text "${text}")
string(REPLACE "\n// " " " text "${text}")
string(REGEX MATCHALL "\n@expect: [^\n]*" expectations "${text}")
if(NOT expectations)
  message(FATAL_ERROR "It gives no reason, add '// expect: <regular expression>': ${CASE}")
endif()

set(ENV{LC_ALL} C)  # plain quotes, English messages
separate_arguments(FLAGS)
set(command ${COMPILER} ${FLAGS} -fsyntax-only)

execute_process(COMMAND ${command} -DSITU_COMPILE_FAIL_CONTROL ${CASE} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "The control does not compile: ${CASE}\n${output}")
endif()

execute_process(COMMAND ${command} ${CASE} RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "It compiled, and must not: ${CASE}")
endif()
foreach(expectation IN LISTS expectations)
  string(REGEX REPLACE "^\n@expect: " "" expected "${expectation}")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "It failed for another reason than '${expected}': ${CASE}\n${output}")
  endif()
endforeach()
if(text MATCHES "\n@one error")
  string(REGEX MATCHALL "error:" errors "${output}")
  list(LENGTH errors count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "It failed with ${count} errors, not one: ${CASE}\n${output}")
  endif()
endif()
