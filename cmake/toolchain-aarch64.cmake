set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
# Without SVE: while a mapping grows, qemu takes it for unmapped for a moment, which only loads of vectors of any length notice.
set(emulator qemu-aarch64-static -cpu cortex-a72)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
