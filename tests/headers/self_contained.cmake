# See CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)

string(REPLACE "/" "." name ${HEADER})
set(source ${WORK_DIR}/${name}.cpp)
file(WRITE ${source} "#include <${HEADER}>\n#include <${HEADER}>\n")

# -H lists every header that is read, on standard error. `I` is a macro in C's <complex.h>, which a program may include first.
execute_process(COMMAND ${COMPILER} -std=c++20 -DI=0 -fsyntax-only -H -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers
  -I${INCLUDE_DIR} ${source} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  string(REGEX REPLACE "(^|\n)[.]+ [^\n]*" "" output "${output}")
  message(FATAL_ERROR "<${HEADER}> does not compile alone:\n${output}")
endif()
if(output MATCHES "\n[.]+ ([^\n]*/(iostream|regex|fmt/[a-z]+\\.h|hwloc\\.h|toml\\.hpp|json\\.hpp|CLI\\.hpp|boost/[^\n]*))\n")
  message(FATAL_ERROR "<${HEADER}> is public and includes ${CMAKE_MATCH_1}: keep it in the .cpp files")
endif()
