/*
 * Which code executed how many instructions: a file that the plugin of QEMU (src/qemu) maps and `hotpath run` reads
 * when the program has ended, however it ended. One for each program that a process executes, PID-NUMBER.blocks,
 * with its mappings in PID-NUMBER.maps, as in /proc, and programs that it executed natively in PID-NUMBER.native, a
 * line each: why, a tab, the path. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_INSTRUCTION_BLOCKS_H
#define HP_OS_INSTRUCTION_BLOCKS_H

#include <stdint.h>

#define HP_BLOCKS_SUFFIX ".blocks"
#define HP_BLOCK_MAPS_SUFFIX ".maps"
#define HP_BLOCK_NATIVE_SUFFIX ".native"
#define HP_BLOCKS_MAGIC UINT64_C(0x32736b636f6c4248)
#define HP_MOST_BLOCKS (UINT32_C(1) << 21)
#define HP_BLOCK_LANES 32u

/* Code without a jump into or out of its middle. */
struct hp_instruction_block {
    uint64_t address;
    uint64_t executed; /* how often; lanes have more of it */
    uint32_t instructions, bytes;
};

struct hp_instruction_blocks {
    uint64_t magic;
    uint64_t count;   /* of blocks, as far as there was space */
    uint64_t lost;    /* without space */
    uint32_t lanes;   /* a bit for each that is in use */
    uint32_t refused; /* requests of the library that could not be read or answered */
    struct hp_instruction_block all[HP_MOST_BLOCKS];
    /* How often each block was executed by one thread at a time: threads that share a count wait for each other. */
    uint64_t by_lane[HP_BLOCK_LANES][HP_MOST_BLOCKS];
};

#endif
