# Installs this build with its component `modelled`, and runs somebody else's programs on a modelled machine: one of C++, and one of a project of C alone.
cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK_DIR}/modelled_prefix)
set(build ${WORK_DIR}/modelled_build)
set(build_of_c ${WORK_DIR}/modelled_build_of_c)
file(REMOVE_RECURSE ${prefix} ${build} ${build_of_c})
include(${CMAKE_CURRENT_LIST_DIR}/support.cmake)

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix} --component modelled)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${DOWNSTREAM_DIR} -B ${build} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${prefix} -DWITH_OPS=OFF -DWITH_MODELLED=ON
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${build} --target ring_modelled)
run(${prefix}/bin/situ model run --machine nemesys-4x4 --check-coherence -n 3 ${build}/ring)
expect("${output}" "3 places, sum 3")
expect("${output}" "0 stale reads")

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${DOWNSTREAM_DIR}/../c_only -B ${build_of_c} -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-fno-tree-vectorize -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${build_of_c} --target sum_modelled)
run(${prefix}/bin/situ model run --machine flat ${build_of_c}/sum)
expect("${output}" "sum 499500")
# Reads and writes: each number once, and a few words of the stack.
expect("${output}" " 100[0-9] +100[0-9] ")
