# Libraries that have adapters (include/hotpath/*.h). Only the examples and tests of these adapters need them, and
# are left out if a library is missing.
include(CheckCSourceCompiles)
find_package(PkgConfig QUIET)

# Sets HOTPATH_HAS_<name>, and HOTPATH_<name> to what is linked: <modules> of pkg-config, if this compiler finds
# <header>.
function(hotpath_find_adapted name header package)
  set(found OFF)
  if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(adapted_${name} QUIET IMPORTED_TARGET ${ARGN})
    if(adapted_${name}_FOUND)
      set(CMAKE_REQUIRED_LIBRARIES PkgConfig::adapted_${name})
      set(CMAKE_REQUIRED_QUIET ON)
      check_c_source_compiles("#include <${header}>\nint main(void) { return 0; }" HOTPATH_COMPILES_${name})
      set(found ${HOTPATH_COMPILES_${name}})
    endif()
  endif()
  if(NOT found)
    message(STATUS "${header} (Debian: ${package}) is not there: without the examples and tests that need it")
  endif()
  set(HOTPATH_HAS_${name} ${found} PARENT_SCOPE)
  set(HOTPATH_${name} PkgConfig::adapted_${name} PARENT_SCOPE)
endfunction()

if(HOTPATH_BUILD_TESTS OR HOTPATH_BUILD_EXAMPLES)
  hotpath_find_adapted(UV uv.h libuv1-dev libuv)
  hotpath_find_adapted(EVENT event2/event.h libevent-dev libevent libevent_pthreads)
  hotpath_find_adapted(GLIB gio/gio.h libglib2.0-dev gio-2.0)
endif()
