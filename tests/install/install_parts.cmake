# Installs the components `core` and `examples`, as the guide's first pages do, and uses them from outside the install: a program in another folder runs over
# two hosts, and the guide's commands find their programs (guide_programs.py).
cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK_DIR}/parts)
set(outside ${WORK_DIR}/outside)
file(REMOVE_RECURSE ${prefix} ${outside})
include(${CMAKE_CURRENT_LIST_DIR}/support.cmake)
unset(ENV{SITU_LIBEXEC})

foreach(component core examples)
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component ${component} --prefix ${prefix})
endforeach()
run(${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/guide_programs.py ${SOURCE_DIR} ${prefix})

# A new project needs no more than the core. One that asks for more is told how to install it, and then finds it.
function(configure_project folder)
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${folder} -B ${folder}/build -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(status ${status} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()
run(${prefix}/bin/situ new ${outside}/sums)
configure_project(${outside}/sums)
expect("${status}" "^0$")
run(${CMAKE_COMMAND} --build ${outside}/sums/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${outside}/sums/build --output-on-failure)
expect("${output}" "100% tests passed")
foreach(asks "REQUIRED" "REQUIRED COMPONENTS graph")
  file(WRITE ${outside}/more/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(more LANGUAGES CXX)\nfind_package(Situ ${asks})\n"
    "if(NOT TARGET situ::situ)\n  message(FATAL_ERROR \"no situ::situ\")\nendif()\n")
  configure_project(${outside}/more)
  if(status EQUAL 0)
    message(FATAL_ERROR "find_package(Situ ${asks}) found modules that were not installed")
  endif()
  expect("${output}" "component graph was not installed: cmake --build BUILD --target situ_modules && cmake --install BUILD --component modules;")
endforeach()
# One that asks for optional components gets what is there, and is told that situ::situ is not.
set(left_out "Situ: the target situ::situ is left out, since graph, [a-z, ]* were not installed: cmake --build BUILD --target situ_modules && cmake --install BUILD --component modules")
foreach(asks "" "QUIET ")
  file(WRITE ${outside}/optional/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(optional LANGUAGES CXX)\nfind_package(Situ ${asks}REQUIRED OPTIONAL_COMPONENTS graph)\n"
    "if(TARGET situ::situ OR TARGET situ::graph OR NOT TARGET situ::runtime)\n  message(FATAL_ERROR \"not the core's targets\")\nendif()\n")
  configure_project(${outside}/optional)
  expect("${status}" "^0$")
  if(asks STREQUAL "")
    expect("${output}" "${left_out}")
  elseif(output MATCHES "situ::situ")
    message(FATAL_ERROR "a quiet find_package spoke:\n${output}")
  endif()
endforeach()
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component modules --prefix ${prefix})
configure_project(${outside}/more)
expect("${status}" "^0$")
if(output MATCHES "situ::situ is left out")
  message(FATAL_ERROR "situ::situ is there, and is told to be left out:\n${output}")
endif()

# A program of the user's in PATH comes before an example of the same name.
file(WRITE ${outside}/bin/hello "#!/bin/sh\necho mine\n")
file(CHMOD ${outside}/bin/hello PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
run(${CMAKE_COMMAND} -E env PATH=${outside}/bin:/usr/bin:/bin ${prefix}/bin/situ run -n 1 hello)
expect("${output}" "^mine\n$")

if(NOT PROBE)  # a build without UCX: its jobs are of one host
  return()
endif()
# Both hosts are this one. For b the stand-in for ssh sets FOLDER_AT_B, as that host's own environment would.
file(WRITE ${outside}/ssh "#!/bin/sh\nhost=$1\nshift\n[ $host != b ] || [ -z \"$FOLDER_AT_B\" ] || export SITU_LIBEXEC=$FOLDER_AT_B\nexec sh -c \"$*\"\n")
file(CHMOD ${outside}/ssh PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
file(COPY_FILE ${PROBE} ${outside}/probe)
set(over_hosts ${prefix}/bin/situ run --hosts a:1,b:1 --rsh ${outside}/ssh ${outside}/probe once)
run(${over_hosts})
expect("${output}" "^2 places, 1 here: done\n$")

# A host that has no such library is named, with the folder, and with what to do; the other host is not.
set(ENV{FOLDER_AT_B} ${outside}/nothing)
execute_process(COMMAND ${over_hosts} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "a host without libsitu_network.so was no error")
endif()
expect("${output}" "b: a job over several hosts needs libsitu_network.so, which is not in ${outside}/nothing .SITU_LIBEXEC names it.: install Situ there")
if(output MATCHES "a: ")
  message(FATAL_ERROR "host a, which lacks nothing, is named:\n${output}")
endif()
