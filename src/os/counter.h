/* Which counter can be trusted on this machine. SPDX-License-Identifier: MIT */
#ifndef HP_OS_COUNTER_H
#define HP_OS_COUNTER_H

#include "clock.h"

/* The CPU's counter if it is there, runs at one rate, agrees between cores and may be read. */
enum hp_counter hp_clock_counter(void);

#endif
