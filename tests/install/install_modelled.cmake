# Installs this build with its component `modelled`, and runs somebody else's program on a modelled machine.
cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK_DIR}/modelled_prefix)
set(build ${WORK_DIR}/modelled_build)
file(REMOVE_RECURSE ${prefix} ${build})
include(${CMAKE_CURRENT_LIST_DIR}/support.cmake)

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix} --component modelled)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${DOWNSTREAM_DIR} -B ${build} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${prefix} -DWITH_OPS=OFF -DWITH_MODELLED=ON
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${build} --target ring_modelled)
run(${prefix}/bin/situ model run --machine nemesys-4x4 --check-coherence -n 3 ${build}/ring)
expect("${output}" "3 places, sum 3")
expect("${output}" "0 stale reads")
