/*
 * The kernel's numbers for a thread: /proc/PID/task/TID/schedstat. Its file stays open while the budget of the
 * sampler allows it, which saves a path lookup per sample. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_SCHEDSTAT_H
#define HP_SESSION_SCHEDSTAT_H

#include "sampler_state.h"

struct hp_account {
    uint64_t ran, ready, slices;
};

void hp_account_keep_open(const struct hp_proc_sampler *sampler, struct hp_watched *thread);

void hp_account_close(const struct hp_proc_sampler *sampler, struct hp_watched *thread);

/* False: the thread has ended. */
bool hp_account_read(const struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                     struct hp_account *ret_account);

#endif
