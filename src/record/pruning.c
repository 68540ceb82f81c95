/* Removal of old sessions. SPDX-License-Identifier: MIT */
#include "pruning.h"

#include "holders.h"
#include "runtime.h"
#include "sys.h"

/*
 * Scanning the directory takes longer than everything else. A program that forks makes many sessions quickly; it is
 * enough if one in sixteen scans.
 */
static bool is_turn_to_prune(void) { return !hp_is_child() || hp_sys_process_id() % 16 == 0; }

/* Sessions of a run stay until its report is made; `hotpath run` removes them. */
void hp_prune(struct hp_session *session)
{
    if (session->store.path[0] != '\0' && !session->settings.record.is_run && is_turn_to_prune())
        hp_store_prune(&session->store, session->settings.record.keep);
}

void hp_prune_if_due(void)
{
    if (!__atomic_load_n(&hp_runtime->has_to_prune, __ATOMIC_RELAXED) ||
        !__atomic_exchange_n(&hp_runtime->has_to_prune, false, __ATOMIC_RELAXED))
        return;
    struct hp_session *session = hp_session_hold();
    if (session == NULL)
        return;
    hp_prune(session);
    hp_session_let_go(session);
}
