# The files that pkg-config reads: situ.pc for situ::situ, and situ-MODULE.pc for each module, which require each other as the modules link
# each other. Written from the targets, so they say what find_package(Situ) says. They name their prefix by their own place: an install can be moved.
# The libraries are static, so what they link privately stands in Requires and Libs, too.

# situ_pkgconfig_requirement(PACKAGE OUT): "liburing >= 2.0", the version as situ_pkg() asked for it.
function(situ_pkgconfig_requirement package out)
  get_property(version GLOBAL PROPERTY SITU_VERSION_OF_${package})
  if(version)
    set(version " >= ${version}")
  endif()
  set(${out} "${package}${version}" PARENT_SCOPE)
endfunction()

# situ_install_pkgconfig(NAME DESCRIPTION TARGET COMPONENT): installs NAME.pc, which stands for the target, with that component.
function(situ_install_pkgconfig name description target component)
  situ_links_of(${target} ours others)
  set(requires)
  set(libs)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    set(libs " -L\${libdir} -l${target}")
  endif()
  foreach(module ${ours})
    list(APPEND requires "situ-${module} = ${PROJECT_VERSION}")
  endforeach()
  foreach(library ${others})
    if(library STREQUAL "fmt::fmt")
      list(APPEND requires fmt)
    elseif(library STREQUAL "Threads::Threads")
      string(APPEND libs " -pthread")
    elseif(library STREQUAL "Boost::context")
      string(APPEND libs " -lboost_context")
    elseif(library MATCHES "^PkgConfig::(.+)$")
      situ_pkgconfig_requirement(${CMAKE_MATCH_1} requirement)
      list(APPEND requires "${requirement}")
    else()
      message(FATAL_ERROR "cmake/situ_pkgconfig.cmake does not know pkg-config's name of ${library}; add it there")
    endif()
  endforeach()
  list(JOIN requires ", " requires)
  situ_plain_options(${target} options)
  set(includes "")
  if(NOT target STREQUAL "situ_umbrella")
    set(includes " -I\${includedir}")
  endif()
  get_target_property(compat ${target} SITU_COMPAT)
  if(compat)
    string(APPEND includes " -I\${includedir}/situ/compat/${compat}")
  endif()
  file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" up "${up}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc @ONLY CONTENT
"prefix=\${pcfiledir}/@up@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@

Name: @name@
Description: @description@
Version: @PROJECT_VERSION@
Requires: @requires@
Cflags:@includes@@options@
Libs:@libs@
")
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
