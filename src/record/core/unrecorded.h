/* Zones without a session: see unrecorded.c. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_UNRECORDED_H
#define HP_CORE_UNRECORDED_H

/*
 * When this copy is loaded and no session has started: makes the program's first zone noted, unless silence is
 * requested.
 */
void hp_unrecorded_listen(void);
/* A zone found no session. `site`: its site, or NULL for a compiler-instrumented function. */
void hp_unrecorded_meet(const void *site);
/* A session was requested; its caller learns if there is none. */
void hp_unrecorded_forget(void);
/* The process ends: prints one line if there were zones and no session was ever requested. */
void hp_unrecorded_explain(void);

#endif
