# Installs the components `core` and `examples`, as the guide's first pages do: the guide's commands find their programs (guide_programs.py).
cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK_DIR}/parts)
set(outside ${WORK_DIR}/outside)
file(REMOVE_RECURSE ${prefix} ${outside})
include(${CMAKE_CURRENT_LIST_DIR}/support.cmake)

foreach(component core examples)
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component ${component} --prefix ${prefix})
endforeach()
run(${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/guide_programs.py ${SOURCE_DIR} ${prefix})

# A program of the user's in PATH comes before an example of the same name.
file(WRITE ${outside}/bin/hello "#!/bin/sh\necho mine\n")
file(CHMOD ${outside}/bin/hello PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
run(${CMAKE_COMMAND} -E env PATH=${outside}/bin:/usr/bin:/bin ${prefix}/bin/situ run -n 1 hello)
expect("${output}" "^mine\n$")
