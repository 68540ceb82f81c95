/* What open zones have allocated so far. SPDX-License-Identifier: MIT */
#ifndef HP_MODEL_OPEN_ALLOCS_H
#define HP_MODEL_OPEN_ALLOCS_H

#include "site_sums.h"

/*
 * For the open zones of a stack, from the innermost outwards: sets what each has allocated, by the counters of its
 * thread; NULL: it has none.
 */
void hp_open_allocs_settle(const struct hp_snapshot *session, const struct hp_thread *thread,
                           const struct hp_alloc_thread *counters, struct hp_open_link *innermost);

#endif
