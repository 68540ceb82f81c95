# What is installed: the libraries, the header with its parts, the adapters, the program and its demo, man pages,
# completions, pkg-config files and a CMake package; the two files, too (single.cmake). All of it may be moved to
# another prefix afterwards.
include(CMakePackageConfigHelpers)

install(TARGETS hotpath_shared hotpath_static hotpath_alloc_shared hotpath_alloc_linked hotpath_alloc_static
  hotpath_alloc_wrap_static hotpath_locks hotpath_locks_linked hotpath_locks_wrap_static hotpath_program
  EXPORT hotpath
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS hotpath_preload hotpath_io hotpath_locks_io
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
install(TARGETS hotpath_qemu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/hotpath)
install(TARGETS hotpath_demo RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/hotpath)
install(FILES include/hotpath.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/hotpath DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright) # where Debian wants it
install(FILES docs/prometheus/dashboard.json docs/prometheus/alerts.yml
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/prometheus)
install(FILES docs/systemd/hotpath-agent.service DESTINATION lib/systemd/system)
install(FILES docs/agents.md DESTINATION ${CMAKE_INSTALL_DOCDIR}) # the workflow, for agents that need no server

foreach(section 1 3 5 7)
  file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/man/*.${section}")
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# Completions, where each shell looks by itself; a tree without them installs without them.
function(hotpath_install_completion file folder name)
  install(CODE "
    set(file \"${PROJECT_SOURCE_DIR}/completions/${file}\")
    get_filename_component(folder \"${CMAKE_INSTALL_DATADIR}/${folder}\" ABSOLUTE
      BASE_DIR \"\${CMAKE_INSTALL_PREFIX}\")
    if(EXISTS \"\${file}\")
      file(INSTALL \"\${file}\" DESTINATION \"\${folder}\" RENAME ${name})
    endif()")
endfunction()
hotpath_install_completion(hotpath.bash bash-completion/completions hotpath)
hotpath_install_completion(_hotpath zsh/site-functions _hotpath)
hotpath_install_completion(hotpath.fish fish/vendor_completions.d hotpath.fish)

# The .pc files find their prefix from where they lie, unless the folders were given as absolute paths.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(hotpath_pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(hotpath_pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(hotpath_pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
  string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
  set(hotpath_pc_prefix "\${pcfiledir}/${to_prefix}")
  set(hotpath_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(hotpath_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
list(JOIN hotpath_wrap_flags " " hotpath_pc_wrap_flags)
list(JOIN hotpath_locks_wrap_flags " " hotpath_pc_locks_wrap_flags)
foreach(module hotpath hotpath_alloc hotpath_alloc_wrap hotpath_locks hotpath_locks_wrap)
  configure_file(cmake/${module}.pc.in ${module}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${module}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hotpath)
install(EXPORT hotpath NAMESPACE hotpath:: FILE hotpath-targets.cmake DESTINATION ${package})
configure_package_config_file(cmake/hotpath-config.cmake.in hotpath-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(hotpath-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hotpath-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/hotpath-config-version.cmake" DESTINATION ${package})
