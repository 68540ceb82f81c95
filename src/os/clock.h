/*
 * Ticks: the cheapest reliable counter, and its rate.
 *
 * hotpath_ticks_() in hotpath/inline.h reads the time stamp counter unconditionally. Whether it may is decided
 * here, once: if not, hp_clock_kind() is HP_CLOCK_MONOTONIC, every zone takes the slow path, and ticks are
 * nanoseconds.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_CLOCK_H
#define HP_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum hp_counter { HP_COUNTER_NONE, HP_COUNTER_TSC, HP_COUNTER_CNTVCT, HP_COUNTER_RDTIME };

/*
 * False: the process has forbidden itself to read the time stamp counter (PR_SET_TSC). Most clocks of the C library
 * would kill it, too.
 */
bool hp_clock_may_be_read(void);

uint64_t hp_clock_monotonic_ns(void);
uint64_t hp_clock_wall_ns(void);
uint64_t hp_clock_boot_ns(void); /* as the first, and continues while the machine sleeps */
/* CPU time of the calling thread. */
uint64_t hp_clock_thread_ns(void);

/* Reads `counter` (or CLOCK_MONOTONIC for HP_COUNTER_NONE). */
uint64_t hp_clock_ticks(enum hp_counter counter);
/* The same without the C library, for the sampling signal handler. */
uint64_t hp_clock_ticks_raw(enum hp_counter counter);

/* Ticks and nanoseconds of the same moment, as close together as a few tries get. */
void hp_clock_pair(enum hp_counter counter, uint64_t *ret_ticks, uint64_t *ret_ns);

#endif
