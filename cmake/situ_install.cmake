# The umbrella target situ::situ, and what `cmake --install` puts where: libraries, headers, machine files, the gdb script and the package
# that find_package(Situ) reads. The programs are installed where they are built.

include(CMakePackageConfigHelpers)
option(SITU_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})

get_property(situ_modules GLOBAL PROPERTY SITU_MODULES)
get_property(situ_modules_apart GLOBAL PROPERTY SITU_MODULES_APART)
add_library(situ_umbrella INTERFACE)
add_library(situ::situ ALIAS situ_umbrella)
set_target_properties(situ_umbrella PROPERTIES EXPORT_NAME situ)
target_link_libraries(situ_umbrella INTERFACE ${situ_modules})

# situ_dependency_of(LIBRARY OUT): the line of SituConfig.cmake that finds a library the modules link. Static libraries hand their private
# links on to whoever links them, so the package must find these too.
function(situ_dependency_of library out)
  set(line "")
  if(library MATCHES "^(situ::|situ_|-|\\$<BUILD_INTERFACE:)" OR NOT library MATCHES "::")
    # of this project, of this build, or a plain -l: nothing to find
  elseif(library STREQUAL "fmt::fmt")
    set(line "find_dependency(fmt)")
  elseif(library STREQUAL "Threads::Threads")
    set(line "find_dependency(Threads)")
  elseif(library STREQUAL "Boost::context")
    set(line "find_dependency(boost_context CONFIG)")
  elseif(library MATCHES "^PkgConfig::(.+)$")
    set(module ${CMAKE_MATCH_1})
    string(TOLOWER ${module} package)
    set(line "find_dependency(PkgConfig)\npkg_check_modules(${module} REQUIRED IMPORTED_TARGET ${package})")
  else()
    message(FATAL_ERROR "cmake/situ_install.cmake does not know how a user of the installed Situ finds ${library}; add it there")
  endif()
  set(${out} "${line}" PARENT_SCOPE)
endfunction()

set(SITU_DEPENDENCIES)
foreach(module ${situ_modules} ${situ_modules_apart})
  get_target_property(libraries ${module} LINK_LIBRARIES)
  foreach(library ${libraries})
    situ_dependency_of("${library}" line)
    list(APPEND SITU_DEPENDENCIES "${line}")
  endforeach()
endforeach()
list(REMOVE_ITEM SITU_DEPENDENCIES "")
list(REMOVE_DUPLICATES SITU_DEPENDENCIES)
list(JOIN SITU_DEPENDENCIES "\n" SITU_DEPENDENCIES)

if(NOT SITU_INSTALL)
  return()
endif()

set(SITU_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Situ)
install(TARGETS ${situ_modules} ${situ_modules_apart} situ_umbrella situ_stencil_kernels EXPORT SituTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT SituTargets NAMESPACE situ:: DESTINATION ${SITU_PACKAGE_DIR})
install(DIRECTORY include/situ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.inl")
install(DIRECTORY compat/ops/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/situ/compat/ops)
install(DIRECTORY machines DESTINATION ${CMAKE_INSTALL_DATADIR}/situ FILES_MATCHING PATTERN "*.toml")
install(FILES tools/gdb/situ_gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/situ/gdb)

configure_package_config_file(cmake/SituConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/SituConfig.cmake
  INSTALL_DESTINATION ${SITU_PACKAGE_DIR})
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/SituConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/SituConfig.cmake ${PROJECT_BINARY_DIR}/cmake/SituConfigVersion.cmake
  DESTINATION ${SITU_PACKAGE_DIR})
