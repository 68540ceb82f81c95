# The Debian package: everything that is installed, in one. ./dev package makes it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hotpath)
set(CPACK_PACKAGE_CONTACT "the hotpath authors <authors@hotpath.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiler for C and C++ programs, compiled in with two macros")
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "A program that is compiled with hotpath ends with a table of what was called
how often and how long it took. While it runs, the numbers live in a file in
memory, so they outlive a crash; the hotpath program reads them at any time.
.
This package has the program, the shared and the static library, the header,
and the whole library as two source files in /usr/share/hotpath.")
# Loaded for source lines, by hotpath serve, for exports; qemu-user counts instructions.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libdw1, libmicrohttpd12, zlib1g")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gcc | clang, pkg-config, qemu-user, libcurl4")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # also triggers ldconfig
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
