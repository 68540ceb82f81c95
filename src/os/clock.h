/*
 * Ticks: the cheapest reliable counter, and its rate.
 *
 * hotpath_ticks_() in hotpath/inline.h reads the time stamp counter unconditionally. Whether it may is decided
 * here, once: if not, hp_clock_kind() is HP_CLOCK_MONOTONIC, every zone takes the slow path, and ticks are
 * nanoseconds. HP_COUNTER_INSTRUCTIONS is chosen on request (instruction_clock.h): ticks are instructions.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_CLOCK_H
#define HP_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum hp_counter { HP_COUNTER_NONE, HP_COUNTER_TSC, HP_COUNTER_CNTVCT, HP_COUNTER_RDTIME, HP_COUNTER_INSTRUCTIONS };

/*
 * Whether measured code reads it itself, as hotpath_ticks_() does. Else zones take the slow path. One test of two
 * bits, as every event asks.
 */
static inline bool hp_counter_is_inline(enum hp_counter counter) { return (counter & 3) != 0; }
_Static_assert((HP_COUNTER_NONE & 3) == 0 && (HP_COUNTER_INSTRUCTIONS & 3) == 0 && HP_COUNTER_RDTIME < 4,
               "other counters have one of the two bits");
/* Whether a tick needs no rate: it is a nanosecond, or stands for itself. */
static inline bool hp_counter_is_its_own_unit(enum hp_counter counter) { return !hp_counter_is_inline(counter); }

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
