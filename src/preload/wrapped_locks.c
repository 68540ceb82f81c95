/*
 * What hooks of locks need of others, in static programs: there the linker puts them in front of the C library
 * (--wrap), nothing is preloaded, and no library is closed. SPDX-License-Identifier: MIT
 */
#include "preload.h"
#include "process.h"
#include "real_functions.h"

uint32_t hp_closed_libraries;
void (*hp_begin_more)(void);

bool hp_preload_has_valgrind(void) { return hp_process_has_valgrind(); }
