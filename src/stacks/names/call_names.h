/* Names of system calls, by their numbers on this machine. SPDX-License-Identifier: MIT */
#ifndef HP_NAMES_CALL_NAMES_H
#define HP_NAMES_CALL_NAMES_H

#include <stddef.h>

/* "read"; NULL: unknown. */
const char *hp_call_name(long number);

#endif
