/* Sessions of earlier processes are removed when a new one begins. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_PRUNING_H
#define HP_RECORD_PRUNING_H

struct hp_session;

/* Removes what is too old beside a session, which the caller holds. Not under the lock: it takes long. */
void hp_prune(struct hp_session *session);
/* A child's session has begun under the lock, which is free again: does that for it, once. */
void hp_prune_if_due(void);

#endif
