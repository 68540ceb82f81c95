/*
 * Where a thread waits: the innermost open zone of its record in the session, which another process may write at
 * the same time. Every offset is checked. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_WAIT_PLACE_H
#define HP_SESSION_WAIT_PLACE_H

#include "sampler_state.h"

/* The place of another thread: a node and its site, or zeros. */
struct hp_wait_place {
    uint32_t node, site;
};

/* False: outside of the session. */
bool hp_wait_place_read(struct hp_proc_sampler *sampler, uint64_t offset, void *to, size_t bytes);

/* False: the session is over. */
bool hp_wait_place_read_header(struct hp_proc_sampler *sampler);

/* Finds the records of all threads at once, if there are new ones. */
void hp_wait_place_find_records(struct hp_proc_sampler *sampler);

/* The site of a node; that of <other> if it cannot be read. */
uint32_t hp_wait_place_site(struct hp_proc_sampler *sampler, uint32_t node);

/* Sets the thread's node, 0 if it has none, and the node's site. */
void hp_wait_place_find(struct hp_proc_sampler *sampler, struct hp_watched *thread);

/* For the listener: the site plus 1; 0: no zone is open. */
uint32_t hp_wait_place_zone(const struct hp_watched *thread);

/* The place of the thread `tid` of the same process. */
struct hp_wait_place hp_wait_place_of(struct hp_proc_sampler *sampler, uint32_t tid);

#endif
