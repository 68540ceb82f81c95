/* Several copies of the library in one process act as one: see copies.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_COPIES_H
#define HP_RECORD_COPIES_H

/* Finds the state of an active copy of the library. Called once, when this copy is loaded or first used. */
void hp_copies_join(void);

#endif
