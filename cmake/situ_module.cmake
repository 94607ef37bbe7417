# situ_module(NAME [APART] [SOURCES ...] [LINKS ...] [PRIVATE_LINKS ...] [FRIEND_OF modules...]): one static library `situ_NAME`, alias `situ::NAME`.
# Static, so that the thread-local place pointer is a plain %fs-relative load (docs/decisions/0001-one-memory-file.md).
# A private link to a library of headers alone is not exported: who uses an installed Situ needs none of those.
# APART: installed, but not part of situ::situ, because few programs need it and what it links.

include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# What a module finds, everything that links the module must see: static libraries hand their private links on.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(SITU_CCACHE ccache)
mark_as_advanced(SITU_CCACHE)
if(SITU_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is for precompiled headers. Paths below the project are hashed relative to it, so another clone finds what this one compiled;
  # what debug information calls the folder of compilation may then be the other clone's.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${SITU_CCACHE})
endif()

add_library(situ_options INTERFACE)
# gcc 12 warns of overlapping copies in std::string's operator+ where there are none (its bug 105329, fixed in 13), and
# of copies too long and blocks not allocated where a function enters its frame page by page (-fstack-clash-protection).
target_compile_options(situ_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-stringop-overflow;-Wno-free-nonheap-object>")
if(SITU_SANITIZE)
  string(REPLACE "," ";" sanitizers "${SITU_SANITIZE}")
  # gcc warns that ThreadSanitizer does not model fences; docs/design/fabric.md says where we use them and why that is sound.
  target_compile_options(situ_options INTERFACE -fsanitize=${SITU_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1
    # With AddressSanitizer, half of the compile time goes into making tests and programs faster by less than that.
    $<IF:$<AND:$<IN_LIST:address,${sanitizers}>,$<NOT:$<BOOL:$<TARGET_PROPERTY:SITU_IS_MODULE>>>>,-O0,-O1>
    $<$<IN_LIST:thread,${sanitizers}>:-Wno-tsan>
    # A third of the compile time, for what crashes anyway or AddressSanitizer finds.
    $<$<IN_LIST:undefined,${sanitizers}>:-fno-sanitize=null,vptr,object-size,pointer-overflow>)
  target_link_options(situ_options INTERFACE -fsanitize=${SITU_SANITIZE})
endif()

# situ_pkg(PACKAGE [VERSION]): the target PkgConfig::PACKAGE. The installed packages ask for the same version.
macro(situ_pkg package)
  find_package(PkgConfig REQUIRED)
  set_property(GLOBAL PROPERTY SITU_VERSION_OF_${package} "${ARGV1}")
  if("${ARGV1}" STREQUAL "")
    pkg_check_modules(${package} REQUIRED IMPORTED_TARGET GLOBAL ${package})
  else()
    pkg_check_modules(${package} REQUIRED IMPORTED_TARGET GLOBAL ${package}>=${ARGV1})
  endif()
endmacro()

set(SITU_HEADER_ONLY_LIBRARIES tomlplusplus::tomlplusplus nlohmann_json::nlohmann_json CLI11::CLI11 Boost::headers)

# situ_friend_of(MODULES...): the sources of this folder include private headers of these modules. tests/docs/check_layers.py compares.
function(situ_friend_of)
  foreach(module ${ARGN})
    if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/src/${module})
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}: a friend of ${module}, which is no module")
    endif()
  endforeach()
endfunction()

function(situ_module name)
  cmake_parse_arguments(arg "APART" "" "SOURCES;LINKS;PRIVATE_LINKS;FRIEND_OF" ${ARGN})
  situ_friend_of(${arg_FRIEND_OF})
  set(private_links $<BUILD_INTERFACE:situ_options>)
  foreach(library ${arg_PRIVATE_LINKS})
    if(library IN_LIST SITU_HEADER_ONLY_LIBRARIES)
      list(APPEND private_links $<BUILD_INTERFACE:${library}>)
    else()
      list(APPEND private_links ${library})
    endif()
  endforeach()
  add_library(situ_${name} STATIC ${arg_SOURCES})
  add_library(situ::${name} ALIAS situ_${name})
  set_target_properties(situ_${name} PROPERTIES EXPORT_NAME ${name} SITU_IS_MODULE ON)
  target_include_directories(situ_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(situ_${name} PUBLIC cxx_std_20)
  # What a source defines for others, a header that it includes declares: else it depends on who is compiled with it.
  target_compile_options(situ_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Werror=missing-declarations>)
  target_compile_definitions(situ_${name} PUBLIC SITU_ASSERT_LEVEL=${SITU_ASSERT_LEVEL})
  target_link_libraries(situ_${name} PUBLIC ${arg_LINKS} PRIVATE ${private_links})
  if(arg_APART)
    set_property(GLOBAL APPEND PROPERTY SITU_MODULES_APART situ_${name})
  else()
    set_property(GLOBAL APPEND PROPERTY SITU_MODULES situ_${name})
  endif()
endfunction()

# situ_together(NAME GROUP [PLAIN] SOURCES...): these sources of the module are compiled as one where the build compiles sources together (CMAKE_UNITY_BUILD);
# sources in no group are then compiled each by itself. PLAIN: at -O1 in Release, for code that runs once: reading, printing, setting up.
function(situ_together name group)
  cmake_parse_arguments(arg "PLAIN" "" "" ${ARGN})
  set_source_files_properties(${arg_UNPARSED_ARGUMENTS} PROPERTIES UNITY_GROUP ${group})
  set_target_properties(situ_${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  if(arg_PLAIN)
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/situ_${name}.dir/Unity/unity_${group}_cxx.cxx PROPERTIES
      COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# situ_compat_headers(NAME): include/ beside the module has headers of others' names, which who links it finds.
function(situ_compat_headers name)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  target_include_directories(situ_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/situ/compat/${folder}>)
  set_target_properties(situ_${name} PROPERTIES SITU_COMPAT ${folder})
  set_property(GLOBAL APPEND PROPERTY SITU_COMPAT_FOLDERS ${folder})
endfunction()

# situ_program(NAME SOURCES ... [LINKS ...]): a program over Situ (tool, example, bench).
function(situ_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} situ_options)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
endfunction()

# situ_stencil_kernels(TARGET): its stencil kernels are compiled for this machine (docs/design/stencil.md, "Kernels").
function(situ_stencil_kernels target)
  target_link_libraries(${target} PRIVATE situ::stencil_kernels)
  if(NOT SITU_SANITIZE)
    target_compile_options(${target} PRIVATE -O3 -march=native)
  endif()
endfunction()

# situ_plain_options(TARGET OUT): its interface's compile options and definitions for this compiler, as one text.
function(situ_plain_options target out)
  get_target_property(options ${target} INTERFACE_COMPILE_OPTIONS)
  get_target_property(definitions ${target} INTERFACE_COMPILE_DEFINITIONS)
  set(text "")
  if(definitions)
    foreach(definition ${definitions})
      string(APPEND text " -D${definition}")
    endforeach()
  endif()
  if(options)
    string(REPLACE ";" " " options "${options}")
    set(condition "\\$<\\$<COMPILE_LANG_AND_ID:CXX,([A-Za-z,]+)>:([^>]*)>")
    while(options MATCHES "${condition}")
      set(whole "${CMAKE_MATCH_0}")
      set(flags "${CMAKE_MATCH_2}")
      string(REPLACE "," ";" compilers "${CMAKE_MATCH_1}")
      if(NOT CMAKE_CXX_COMPILER_ID IN_LIST compilers)
        set(flags "")
      endif()
      string(REPLACE "${whole}" "${flags}" options "${options}")
    endwhile()
    string(APPEND text " ${options}")
  endif()
  if(text MATCHES "\\$<")
    message(FATAL_ERROR "situ_plain_options cannot evaluate ${target}'s options: ${text}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# situ_add_all_parts(): adds every directory below this one that has a CMakeLists.txt.
function(situ_add_all_parts)
  file(GLOB lists RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS */CMakeLists.txt)
  foreach(list ${lists})
    get_filename_component(part ${list} DIRECTORY)
    add_subdirectory(${part})
  endforeach()
endfunction()
