/* The memory of src/os/memory.h, from the heap, with a list of its blocks. SPDX-License-Identifier: MIT */
#ifndef FUZZ_EXACT_MEMORY_H
#define FUZZ_EXACT_MEMORY_H

#include <stddef.h>

/* Blocks that were never freed: their number, and freeing those above a number. */
size_t fuzz_memory_pieces(void);
void fuzz_memory_forget(size_t pieces);

#endif
