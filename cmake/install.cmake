# What is installed: both libraries, the header, the program, man pages, hotpath.pc and a CMake package.
include(CMakePackageConfigHelpers)

install(TARGETS hotpath_shared hotpath_static hotpath_program EXPORT hotpath
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/hotpath.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES man/hotpath.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES man/hotpath.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)

file(RELATIVE_PATH hotpath_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
configure_file(cmake/hotpath.pc.in hotpath.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hotpath.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hotpath)
install(EXPORT hotpath NAMESPACE hotpath:: FILE hotpath-targets.cmake DESTINATION ${package})
configure_package_config_file(cmake/hotpath-config.cmake.in hotpath-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(hotpath-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hotpath-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/hotpath-config-version.cmake" DESTINATION ${package})
