# The whole library as two files, in <build>/single. Tests compile them as they are there, and they are installed.
if(NOT EXISTS "${HOTPATH_PYTHON}")
  message(WARNING "${HOTPATH_PYTHON} is missing (HOTPATH_PYTHON): hotpath.c and hotpath.h as two files are neither "
    "made nor installed")
  return()
endif()

set(hotpath_single "${PROJECT_BINARY_DIR}/single")
set(amalgamate "${PROJECT_SOURCE_DIR}/tools/amalgamate.py")
add_custom_command(OUTPUT "${hotpath_single}/hotpath.c" "${hotpath_single}/hotpath.h"
  COMMAND "${HOTPATH_PYTHON}" "${amalgamate}" --depfile "${PROJECT_BINARY_DIR}/single.d" "${hotpath_single}"
  DEPENDS "${amalgamate}"
  DEPFILE "${PROJECT_BINARY_DIR}/single.d"
  COMMENT "Making the library in two files"
  VERBATIM)
add_custom_target(hotpath_single ALL DEPENDS "${hotpath_single}/hotpath.c" "${hotpath_single}/hotpath.h")
install(FILES "${hotpath_single}/hotpath.c" "${hotpath_single}/hotpath.h"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/hotpath)
