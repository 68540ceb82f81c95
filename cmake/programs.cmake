# hotpath_needed_by(quick|plain|asan|tsan target...): ./dev test --quick needs these targets, or ./dev test in that
# build; plain is the one without sanitizers.
if(HOTPATH_BUILD_TESTS)
  foreach(group quick plain asan tsan)
    add_custom_target(${group})
  endforeach()
endif()
function(hotpath_needed_by group)
  if(TARGET ${group} AND HOTPATH_BUILD_TESTS)
    add_dependencies(${group} ${ARGN})
  endif()
endfunction()

# All targets of the current folder.
function(hotpath_folder_is_needed_by group)
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  hotpath_needed_by(${group} ${targets})
endfunction()

# hotpath_add_program(name [CXX] [STATIC] [OFF] [MODULE] [ALLOC] [QUICK] [ASAN] [LIBRARIES lib...]
#   [OPTIONS flag...])
#
# Builds name.c (CXX: name.cc) of the current folder into <build>/<folder>/name, measured, with libhotpath.so.
#   STATIC   also <build>/<folder>/name_static, with libhotpath.a
#   OFF      also <build>/<folder>/name_off, with hotpath compiled out and nothing linked: what a test compares with
#   ALLOC    with libhotpath_alloc.so, too: allocations are counted
#   MODULE   a shared object name.so to dlopen instead of a program
#   QUICK    ./dev test --quick runs it, too
#   ASAN     ./dev test runs it with AddressSanitizer, too
function(hotpath_add_program name)
  cmake_parse_arguments(arg "CXX;STATIC;OFF;MODULE;ALLOC;QUICK;ASAN" "" "LIBRARIES;OPTIONS" ${ARGN})
  if(arg_CXX AND NOT HOTPATH_CXX)
    return()
  endif()
  hotpath_build_program(${name} "" hotpath_shared)
  if(arg_STATIC)
    hotpath_build_program(${name} _static hotpath_static)
  endif()
  if(arg_OFF)
    hotpath_build_program(${name} _off "")
  endif()
endfunction()

# One of the variants above; reads arg_* of its caller.
function(hotpath_build_program name suffix library)
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  set(target ${folder}_${name}${suffix})
  set(source ${name}.c)
  set(language C)
  if(arg_CXX)
    set(source ${name}.cc)
    set(language CXX)
  endif()
  if(suffix STREQUAL "_static") # compiled as the first, so not once more
    set(source $<TARGET_OBJECTS:${folder}_${name}>)
  endif()
  if(arg_MODULE)
    add_library(${target} MODULE ${source})
    set_target_properties(${target} PROPERTIES PREFIX "")
  else()
    add_executable(${target} ${source})
  endif()
  if(arg_QUICK)
    hotpath_needed_by(quick ${target})
  endif()
  if(arg_ASAN)
    hotpath_needed_by(asan ${target})
  endif()
  hotpath_flags(${target})
  target_compile_options(${target} PRIVATE ${arg_OPTIONS})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE ${library} ${arg_LIBRARIES} Threads::Threads ${CMAKE_DL_LIBS})
  if(library)
    target_compile_definitions(${target} PRIVATE HOTPATH=1)
    if(arg_ALLOC)
      target_link_libraries(${target} PRIVATE hotpath_alloc_shared)
    endif()
  endif()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}${suffix} C_STANDARD 11 CXX_STANDARD 11 LINKER_LANGUAGE ${language}
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
endfunction()
