/* Which counter is reliable on this machine. SPDX-License-Identifier: MIT */
#ifndef HP_OS_COUNTER_H
#define HP_OS_COUNTER_H

#include "clock.h"

/* The CPU's counter if it exists, has a constant rate, agrees between cores and may be read. */
enum hp_counter hp_clock_counter(void);

#endif
