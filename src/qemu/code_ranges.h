/*
 * Where functions of the program begin and end, by the index of its files for exceptions (.eh_frame_hdr), which
 * stripped files have, too. Not safe for threads. SPDX-License-Identifier: MIT
 */
#ifndef HP_QEMU_CODE_RANGES_H
#define HP_QEMU_CODE_RANGES_H

#include <stdint.h>

struct hp_code_range {
    uint64_t begin, end;
};

/* A mapping of the beginning of a file; `inode` tells it from others that were at this address before. */
void hp_code_ranges_add_file(uint64_t begin, uint64_t inode);
/* The function that has this address; of code that no index has, its page. */
struct hp_code_range hp_code_range_of(uint64_t address);

#endif
