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
