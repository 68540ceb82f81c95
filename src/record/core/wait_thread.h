/* What threads wait for: its space in the session, and who samples it. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_WAIT_THREAD_H
#define HP_CORE_WAIT_THREAD_H

#include "options.h"

/* Makes the space, if it is to be sampled. Under the lock, before the session is visible. */
void hp_wait_thread_begin(void);

/* Starts the sampling thread, if the settings ask for one. After the session has started, not under the lock. */
void hp_wait_thread_start(const struct hp_record_settings *settings);

#endif
