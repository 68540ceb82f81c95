/*
 * What is kept of a site's calls besides numbers, as stored in `keeps` of a thread's stat. call_log.h does the
 * keeping. SPDX-License-Identifier: MIT
 */
#ifndef HP_ZONES_CALL_LOG_STAT_H
#define HP_ZONES_CALL_LOG_STAT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

#define HP_KEEPS_LOG 1u        /* the latest calls */
#define HP_KEEPS_SLOWEST 2u    /* the slowest call, with everything inside it */
#define HP_KEEPS_NO_SLOWEST 4u /* never again: its calls were suspended, so not everything below them is theirs */
static inline uint32_t hp_stat_log(const struct hotpath_stat_ *stat)
{
    return stat->keeps & (HP_KEEPS_LOG | HP_KEEPS_SLOWEST);
}

/* What to keep of a site that is new to this thread. */
uint32_t hp_call_log_from_start(const struct hp_thread_context *context, uint32_t site);
/* Whether calls of the site may be followed on this thread. */
bool hp_call_log_may_follow(const struct hp_thread_context *context, uint32_t site);

#endif
