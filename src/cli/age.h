/* How long ago something was, in words. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_AGE_H
#define HP_CLI_AGE_H

#include <stddef.h>
#include <stdint.h>

/* "12s ago", "5m ago", "3h ago", "2d ago": since that moment of CLOCK_REALTIME. */
void hp_put_age(char *text, size_t size, uint64_t began_ns);

#endif
