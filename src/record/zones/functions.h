/* Functions instrumented by the compiler: see functions.c. SPDX-License-Identifier: MIT */
#ifndef HP_ZONES_FUNCTIONS_H
#define HP_ZONES_FUNCTIONS_H

#include <stdint.h>

struct hotpath_site;

/* Simulates calls of an instrumented function with that site, to measure their cost. */
void hp_functions_rehearse(struct hotpath_site *site, uint32_t calls);

/* A library was closed. Under the lock. */
void hp_functions_forget_gone(void);
/* Counts functions of closed libraries that nothing told us of: others may have counted as them. Under the lock. */
void hp_functions_end_session(void);

#endif
