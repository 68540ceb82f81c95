/* Memory that src/os/memory.h hands out, from the heap and with an account of it. SPDX-License-Identifier: MIT */
#ifndef FUZZ_EXACT_MEMORY_H
#define FUZZ_EXACT_MEMORY_H

#include <stddef.h>

/* Pieces that were never given back: how many there are, and giving back those above so many. */
size_t fuzz_memory_pieces(void);
void fuzz_memory_forget(size_t pieces);

#endif
