/* The latest time that a session knows. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_SESSION_CLOCK_H
#define HP_CORE_SESSION_CLOCK_H

#include "store.h"

/*
 * Stores the current time as the session's latest, and what the process has used so far. The caller holds the
 * session.
 */
struct hp_clock_pair hp_session_touch(struct hp_store *store);

#endif
