/* The clock of a session: the latest time that it knows, and ticks per millisecond. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_SESSION_CLOCK_H
#define HP_CORE_SESSION_CLOCK_H

#include "runtime.h"
#include "store.h"

/*
 * Stores the current time as the session's latest, and what the process has used so far. The caller holds the
 * session.
 */
struct hp_clock_pair hp_session_touch(struct hp_store *store);

/*
 * Converts times to ticks, for decisions while the program runs. Readers know the rate better: they have the whole
 * run to compare clocks. Measured once the session is old enough, a guess before. The caller holds the context; not
 * if system calls are fatal.
 */
uint64_t hp_tick_rate_measure(const struct hp_thread_context *context);

static inline uint64_t hp_ticks_per_ms(const struct hp_thread_context *context)
{
    const uint64_t known = HOTPATH_GET_(hp_runtime->ticks_per_ms);
    return HOTPATH_LIKELY_(known != 0) ? known : hp_tick_rate_measure(context);
}

#endif
