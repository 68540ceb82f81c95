set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(triple x86_64-linux-gnu)
set(emulator qemu-x86_64-static)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
