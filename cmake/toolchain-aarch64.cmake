set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
# Without SVE: while a mapping grows, qemu briefly treats it as unmapped, which only vector loads of variable length
# notice.
set(emulator qemu-aarch64-static -cpu cortex-a72)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
