/*
 * Which code executed how many instructions, called by which functions: a file that the plugin of QEMU (src/qemu)
 * maps and `hotpath run` reads when the program has ended, however it ended. One for each program that a process
 * executes, PID-NUMBER.blocks, with its mappings in PID-NUMBER.maps, as in /proc, and programs that it executed
 * natively in PID-NUMBER.native, a line each: why, a tab, the path. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_INSTRUCTION_BLOCKS_H
#define HP_OS_INSTRUCTION_BLOCKS_H

#include <stdint.h>

/* An argument of the plugin, beside the folder: only functions and their own instructions. */
#define HP_PLUGIN_WITHOUT_CALLERS "callers=no"

#define HP_BLOCKS_SUFFIX ".blocks"
#define HP_BLOCK_MAPS_SUFFIX ".maps"
#define HP_BLOCK_NATIVE_SUFFIX ".native"
#define HP_BLOCKS_MAGIC UINT64_C(0x33736b636f6c4248)
#define HP_MOST_BLOCKS (UINT32_C(1) << 21)
#define HP_BLOCK_LANES 32u

/* Code without a jump into or out of its middle. */
struct hp_instruction_block {
    uint64_t address;
    uint64_t executed; /* how often; lanes have more of it */
    uint32_t instructions, bytes;
    uint64_t function; /* where it begins; 0: callers are not known */
};

/*
 * A function that was called by another one, which was called by another one, and so on: a path of calls. Numbers
 * begin with 1. The outermost of each thread, of depth 0, is no function.
 */
#define HP_MOST_PATHS (UINT32_C(1) << 19)
struct hp_call_path {
    uint64_t function;     /* where it begins */
    uint64_t instructions; /* its own */
    uint32_t caller;       /* always a lower number */
    uint32_t depth;
};

struct hp_instruction_blocks {
    uint64_t magic;
    uint64_t count;   /* of blocks, as far as there was space */
    uint64_t lost;    /* without space */
    uint32_t lanes;   /* a bit for each that is in use */
    uint32_t refused; /* requests of the library that could not be read or answered */
    uint32_t paths;   /* how many */
    uint32_t has_paths;
    struct hp_instruction_block all[HP_MOST_BLOCKS];
    struct hp_call_path path[HP_MOST_PATHS + 1];
    /* How often each block was executed by one thread at a time: threads that share a count wait for each other. */
    uint64_t by_lane[HP_BLOCK_LANES][HP_MOST_BLOCKS];
};

#endif
