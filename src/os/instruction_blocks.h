/*
 * Which code executed how many instructions: a file that the plugin of QEMU (src/qemu) maps and `hotpath run` reads
 * when the program has ended, however it ended. One for each program that a process executes, PID-NUMBER.blocks,
 * with its mappings in PID-NUMBER.maps, as in /proc. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_INSTRUCTION_BLOCKS_H
#define HP_OS_INSTRUCTION_BLOCKS_H

#include <stdint.h>

#define HP_BLOCKS_SUFFIX ".blocks"
#define HP_BLOCK_MAPS_SUFFIX ".maps"
#define HP_BLOCKS_MAGIC UINT64_C(0x31736b636f6c4248)

/* Code without a jump into or out of its middle. */
struct hp_instruction_block {
    uint64_t address;
    uint64_t executed; /* how often */
    uint32_t instructions, bytes;
};

struct hp_instruction_blocks {
    uint64_t magic;
    uint64_t count; /* of blocks, as far as there was space */
    uint64_t lost;  /* without space */
    uint64_t reserved;
    struct hp_instruction_block all[];
};

#endif
