/* How system calls are called, by their numbers on this machine. SPDX-License-Identifier: MIT */
#ifndef HP_STACKS_CALL_NAMES_H
#define HP_STACKS_CALL_NAMES_H

#include <stddef.h>

/* "read"; NULL: not known. */
const char *hp_call_name(long number);

#endif
