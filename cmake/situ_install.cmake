# The umbrella target situ::situ, and what `cmake --install` puts where: libraries, headers, machine files, the gdb script, the licence, and the packages
# that find_package(Situ) and pkg-config read. The programs are installed where they are built.
#
# Install components: `core` has all that a project needs which links situ::runtime, and the command `situ` with what it needs for several hosts (build the target
# situ_core, then `cmake --install BUILD --component core`). `modules` has the modules of situ::situ above the runtime, and situ::situ itself (target situ_modules);
# it needs `core`. Each APART module and each other program is a component of its name. `examples` has the programs of the guide, as programs and as sources
# (target situ_examples). `modelled` is installed only if it is named.
#
# Each module is an export set of its own, and each module apart a component of find_package(Situ): what it needs is looked for only where
# it is wanted. pkg-config has a file for each module (cmake/situ_pkgconfig.cmake).

include(CMakePackageConfigHelpers)
option(SITU_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})

get_property(situ_modules GLOBAL PROPERTY SITU_MODULES)
get_property(situ_modules_apart GLOBAL PROPERTY SITU_MODULES_APART)
add_library(situ_umbrella INTERFACE)
add_library(situ::situ ALIAS situ_umbrella)
set_target_properties(situ_umbrella PROPERTIES EXPORT_NAME situ)
target_link_libraries(situ_umbrella INTERFACE ${situ_modules})

# situ_links_of(TARGET OURS OTHERS): the modules that it links, without their situ_, and the libraries of others that an installed copy of it needs.
# Static libraries hand their private links on to whoever links them, so these count.
function(situ_links_of target ours others)
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  set(own)
  set(foreign)
  foreach(library ${libraries})
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.+)>$" "\\1" library "${library}")
    if(library MATCHES "^situ(::|_)(.+)$")
      list(APPEND own ${CMAKE_MATCH_2})
    elseif(library AND NOT library MATCHES "^(\\$<BUILD_INTERFACE:|-)")
      list(APPEND foreign ${library})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES own)
  list(REMOVE_DUPLICATES foreign)
  set(${ours} "${own}" PARENT_SCOPE)
  set(${others} "${foreign}" PARENT_SCOPE)
endfunction()

# situ_find_command(LIBRARY OUT): the line of SituConfig.cmake that looks for it.
function(situ_find_command library out)
  if(library STREQUAL "fmt::fmt")
    set(line "find_package(fmt QUIET)")
  elseif(library STREQUAL "Zydis::Zydis")
    set(line "find_package(zydis QUIET)")
  elseif(library STREQUAL "Threads::Threads")
    set(line "find_package(Threads QUIET)")
  elseif(library STREQUAL "Boost::context")
    set(line "find_package(boost_context CONFIG QUIET)")
  elseif(library MATCHES "^PkgConfig::(.+)$")
    set(package ${CMAKE_MATCH_1})
    situ_pkgconfig_requirement(${package} requirement)
    string(REPLACE " " "" requirement "${requirement}")
    set(line "find_package(PkgConfig QUIET)\n  pkg_check_modules(${package} QUIET IMPORTED_TARGET ${requirement})")
  else()
    message(FATAL_ERROR "cmake/situ_install.cmake does not know how a user of the installed Situ finds ${library}; add it there")
  endif()
  set(${out} "${line}" PARENT_SCOPE)
endfunction()

# situ_component_block(MODULE OUT): the lines of SituConfig.cmake that make its target, where it is wanted.
function(situ_component_block module out)
  situ_links_of(situ_${module} ours others)
  set(block "if(${module} IN_LIST situ_wanted)\n")
  foreach(library ${others})
    situ_find_command(${library} line)
    string(APPEND block "  ${line}\n")
  endforeach()
  set(needs ${others})
  foreach(other ${ours})
    list(APPEND needs situ::${other})
  endforeach()
  list(JOIN needs " " needs)
  string(APPEND block "  situ_component(${module} ${needs})\nendif()\n")
  set(${out} "${block}" PARENT_SCOPE)
endfunction()

if(NOT SITU_INSTALL)
  return()
endif()
include(cmake/situ_pkgconfig.cmake)

set(SITU_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Situ)
set(SITU_COMPONENT_LINKS)
set(SITU_COMPONENT_BLOCKS)
set(SITU_COMPONENTS)
set(SITU_ALWAYS)
# The core: what runtime links, and what that links.
set(core_modules runtime)
set(core_left runtime)
while(core_left)
  list(POP_FRONT core_left module)
  situ_links_of(situ_${module} ours others)
  list(REMOVE_ITEM ours ${core_modules})
  list(APPEND core_left ${ours})
  list(APPEND core_modules ${ours})
endwhile()
list(TRANSFORM core_modules PREPEND situ_)
set(further_modules ${situ_modules})
list(REMOVE_ITEM further_modules ${core_modules})
foreach(target ${situ_modules} ${situ_modules_apart})
  string(REGEX REPLACE "^situ_" "" module ${target})
  set(component ${module})
  if(target IN_LIST core_modules)
    set(component core)
  elseif(target IN_LIST further_modules)
    set(component modules)
  endif()
  install(TARGETS ${target} EXPORT SituTargets_${module} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT SituTargets_${module} NAMESPACE situ:: DESTINATION ${SITU_PACKAGE_DIR} FILE SituTargets-${module}.cmake COMPONENT ${component})
  situ_links_of(${target} ours others)
  situ_component_block(${module} block)
  string(APPEND SITU_COMPONENT_LINKS "set(situ_links_of_${module} ${ours})\n")
  string(APPEND SITU_COMPONENT_BLOCKS "${block}")
  string(APPEND SITU_COMPONENTS " ${module}")
  if(target IN_LIST situ_modules)
    string(APPEND SITU_ALWAYS " ${module}")
  endif()
  situ_install_pkgconfig(situ-${module} "Situ's module ${module}" ${target} ${component})
endforeach()
situ_install_pkgconfig(situ "${PROJECT_DESCRIPTION}" situ_umbrella modules)
install(TARGETS situ_umbrella EXPORT SituTargets_situ)
install(EXPORT SituTargets_situ NAMESPACE situ:: DESTINATION ${SITU_PACKAGE_DIR} FILE SituTargets-situ.cmake COMPONENT modules)
add_custom_target(situ_core DEPENDS situ ${core_modules})
add_custom_target(situ_modules DEPENDS ${further_modules})
if(TARGET situ_network)  # for jobs over several hosts
  add_dependencies(situ_core situ_network situ_host_server)
endif()

# The component `modelled`: the modelled form of each module of situ::situ, the executor, and situ_add_modelled. Modelled forms take longer to compile than all
# modules, so a build and an install leave them out unless the user asks for them:
#   cmake --build BUILD --target situ_modelled_forms && cmake --install BUILD --component modelled
if(TARGET situ_model_runtime)
  set(modelled_forms)
  foreach(target ${situ_modules} situ_umbrella)
    situ_modelled_library(${target} form)
    get_target_property(name ${target} EXPORT_NAME)
    set_target_properties(${form} PROPERTIES EXPORT_NAME ${name}_modelled)
    list(APPEND modelled_forms ${form})
  endforeach()
  add_custom_target(situ_modelled_forms)
  add_dependencies(situ_modelled_forms situ_model_sealed situ_hooked_as ${modelled_forms})
  install(TARGETS ${modelled_forms} situ_model_runtime EXPORT SituTargets_modelled
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT modelled EXCLUDE_FROM_ALL)
  install(EXPORT SituTargets_modelled NAMESPACE situ:: DESTINATION ${SITU_PACKAGE_DIR} FILE SituTargets-modelled.cmake COMPONENT modelled EXCLUDE_FROM_ALL)
  install(FILES ${SITU_MODEL_SEALED} DESTINATION ${CMAKE_INSTALL_LIBDIR}/situ RENAME model_executor.o COMPONENT modelled EXCLUDE_FROM_ALL)
  get_filename_component(version ${SITU_HOOKED_AS_DIR} NAME)
  set(SITU_INSTALLED_HOOKED_AS ${CMAKE_INSTALL_LIBEXECDIR}/situ/hooked/${version})
  install(TARGETS situ_hooked_as RUNTIME DESTINATION ${SITU_INSTALLED_HOOKED_AS} COMPONENT modelled EXCLUDE_FROM_ALL)
  install(FILES ${SITU_ATOMIC_MARKS} DESTINATION ${SITU_INSTALLED_HOOKED_AS} COMPONENT modelled EXCLUDE_FROM_ALL)
  install(FILES cmake/situ_modelled.cmake DESTINATION ${SITU_PACKAGE_DIR} COMPONENT modelled EXCLUDE_FROM_ALL)
  situ_find_command(Zydis::Zydis line)
  string(APPEND SITU_COMPONENTS " modelled")
  string(APPEND SITU_COMPONENT_BLOCKS "if(modelled IN_LIST situ_wanted)\n  ${line}\n  situ_component(modelled fmt::fmt Zydis::Zydis)\n"
    "  include(\"\${CMAKE_CURRENT_LIST_DIR}/situ_modelled.cmake\" OPTIONAL)\nendif()\n")
endif()

install(DIRECTORY include/situ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT core FILES_MATCHING PATTERN "*.h" PATTERN "*.inl")
get_property(folders GLOBAL PROPERTY SITU_COMPAT_FOLDERS)
foreach(folder ${folders})
  install(DIRECTORY compat/${folder}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/situ/compat/${folder} COMPONENT core)
endforeach()
install(DIRECTORY machines DESTINATION ${CMAKE_INSTALL_DATADIR}/situ COMPONENT core FILES_MATCHING PATTERN "*.toml")
install(FILES tools/gdb/situ_gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/situ/gdb COMPONENT core)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT core)

configure_package_config_file(cmake/SituConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/SituConfig.cmake
  INSTALL_DESTINATION ${SITU_PACKAGE_DIR})
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/SituConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/SituConfig.cmake ${PROJECT_BINARY_DIR}/cmake/SituConfigVersion.cmake
  DESTINATION ${SITU_PACKAGE_DIR} COMPONENT core)
