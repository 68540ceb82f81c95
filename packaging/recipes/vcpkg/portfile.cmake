# From the source archive of the release, which lies beside this file.
vcpkg_download_distfile(archive
  URLS "file://${CMAKE_CURRENT_LIST_DIR}/hotpath-@VERSION@.tar.gz"
  FILENAME hotpath-@VERSION@.tar.gz
  SHA512 @SOURCE_SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")
# hotpath finds its libraries from where it is.
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  -DHOTPATH_BUILD_TESTS=OFF -DHOTPATH_BUILD_EXAMPLES=OFF -DHOTPATH_BUILD_BENCH=OFF
  -DCMAKE_INSTALL_BINDIR=tools/hotpath)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/hotpath)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/debug/tools")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/hotpath")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
