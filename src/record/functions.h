/* Functions that the compiler measures: see functions.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_FUNCTIONS_H
#define HP_RECORD_FUNCTIONS_H

#include <stdint.h>

struct hotpath_site;

/* Calls of a function that the compiler measures, which is that site: so that what they cost can be measured. */
void hp_functions_rehearse(struct hotpath_site *site, uint32_t calls);

#endif
