/* What threads wait for: its place in the session, and who watches. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_WAITS_H
#define HP_RECORD_WAITS_H

#include "options.h"

/* Makes the place, if somebody is to watch. Under the lock, before the session can be seen. */
void hp_waits_begin(void);

/* Starts the thread that watches, if the settings ask for one. After the session has begun, not under the lock. */
void hp_waits_start(const struct hp_record_settings *settings);

#endif
