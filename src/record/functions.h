/* Functions instrumented by the compiler: see functions.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_FUNCTIONS_H
#define HP_RECORD_FUNCTIONS_H

#include <stdint.h>

struct hotpath_site;

/* Simulates calls of an instrumented function with that site, to measure their cost. */
void hp_functions_rehearse(struct hotpath_site *site, uint32_t calls);

#endif
