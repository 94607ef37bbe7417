# See CMakeLists.txt. Starts from empty directories, so that a file that is no longer installed is missed.
cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK_DIR}/prefix)
set(build ${WORK_DIR}/build)
file(REMOVE_RECURSE ${prefix} ${build})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect output expected)
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "expected '${expected}' in:\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})

# The install can be moved: nothing in the package names the tree it came from.
file(GLOB_RECURSE package_files ${prefix}/*.cmake)
if(NOT package_files)
  message(FATAL_ERROR "no CMake package was installed")
endif()
foreach(file ${package_files})
  file(READ ${file} text)
  foreach(tree ${SOURCE_DIR} ${BUILD_DIR})
    string(FIND "${text}" "${tree}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${tree}")
    endif()
  endforeach()
endforeach()

set(moved ${WORK_DIR}/moved)
file(REMOVE_RECURSE ${moved})
file(RENAME ${prefix} ${moved})

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${DOWNSTREAM_DIR} -B ${build} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${moved}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${build})

# Alone it is one place; under the installed launcher it is three.
run(${build}/ring)
expect("${output}" "1 places, sum 0")
run(${moved}/bin/situ run -n 3 ${build}/ring)
expect("${output}" "3 places, sum 3")

file(REMOVE ${build}/halves.h5)
run(${build}/halves ${build}/halves.h5)
expect("${output}" "sum 142.5")
