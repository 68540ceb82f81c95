/* Zones that no session records: see unrecorded.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_UNRECORDED_H
#define HP_RECORD_UNRECORDED_H

/* When this copy is loaded and no session has begun: has the first zone of the program noted, if nobody wants silence. */
void hp_unrecorded_listen(void);
/* A zone found no session: its site, or NULL for a function that the compiler measures. */
void hp_unrecorded_meet(const void *site);
/* Somebody wants a session, and will hear if there is none. */
void hp_unrecorded_forget(void);
/* The process ends: one line if zones were met and nobody ever wanted a session. */
void hp_unrecorded_explain(void);

#endif
