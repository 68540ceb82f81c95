# Does the steps of a vcpkg port with CMake alone: cmake -DPORT=FOLDER -DINTO=FOLDER -P vcpkg_steps.cmake
# vcpkg's functions stand here as far as hotpath's port uses them; vcpkg itself also has them move files and check
# what is installed.
file(READ "${PORT}/vcpkg.json" manifest)
string(JSON PORT_NAME GET "${manifest}" name)
string(JSON VERSION GET "${manifest}" version)
set(CURRENT_PACKAGES_DIR "${INTO}/packages")
set(CURRENT_BUILDTREES_DIR "${INTO}/buildtrees")

function(run_step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_FILE "${INTO}/log" ERROR_FILE "${INTO}/log")
  if(failed)
    file(READ "${INTO}/log" log)
    message(FATAL_ERROR "${ARGN}: ${log}")
  endif()
endfunction()

function(vcpkg_download_distfile variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
  file(DOWNLOAD "${arg_URLS}" "${INTO}/${arg_FILENAME}" EXPECTED_HASH "SHA512=${arg_SHA512}")
  set(${variable} "${INTO}/${arg_FILENAME}" PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
  file(ARCHIVE_EXTRACT INPUT "${arg_ARCHIVE}" DESTINATION "${CURRENT_BUILDTREES_DIR}/src")
  file(GLOB folders "${CURRENT_BUILDTREES_DIR}/src/*")
  set(${variable} "${folders}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  run_step("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${CURRENT_BUILDTREES_DIR}/build" ${arg_OPTIONS}
    "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" -DCMAKE_INSTALL_LIBDIR=lib
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O0)
endfunction()

function(vcpkg_cmake_install)
  run_step("${CMAKE_COMMAND}" --build "${CURRENT_BUILDTREES_DIR}/build" --parallel 2)
  run_step("${CMAKE_COMMAND}" --install "${CURRENT_BUILDTREES_DIR}/build")
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/${PORT_NAME}-config.cmake")
    message(FATAL_ERROR "there is no CMake package in ${arg_CONFIG_PATH}")
  endif()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT_NAME}")
endfunction()

include("${PORT}/portfile.cmake")
