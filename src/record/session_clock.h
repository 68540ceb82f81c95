/* The latest moment that a session knows of. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_SESSION_CLOCK_H
#define HP_RECORD_SESSION_CLOCK_H

#include "store.h"

/* Stores the present moment as the session's latest, and what the process has used up to now. The session is held. */
struct hp_clock_pair hp_session_touch(struct hp_store *store);

#endif
