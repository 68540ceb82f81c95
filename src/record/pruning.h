/* Removal of sessions of earlier processes when a new one starts. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_PRUNING_H
#define HP_RECORD_PRUNING_H

struct hp_session;

/* Removes old sessions beside this one, which the caller holds. Not under the lock: it is slow. */
void hp_prune(struct hp_session *session);
/* Does this once for a child's session that was started under the lock. Call after unlocking. */
void hp_prune_if_due(void);

#endif
