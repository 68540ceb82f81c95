set(CMAKE_SYSTEM_PROCESSOR armv7)
set(triple arm-linux-gnueabihf)
set(emulator qemu-arm-static)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
