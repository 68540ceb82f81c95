# The same machine with musl instead of glibc. Programs run natively; libraries built for glibc cannot be used.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER musl-gcc)
# Kernel headers, which musl-tools lacks; musl's own come first.
set(CMAKE_C_FLAGS_INIT "-idirafter /usr/include -idirafter /usr/include/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu")
set(CMAKE_FIND_ROOT_PATH /usr/lib/musl)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
