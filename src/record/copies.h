/* Several copies of the library in one process work as one: see copies.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_COPIES_H
#define HP_RECORD_COPIES_H

/* Finds the state of a copy of the library that is at work already. Once, when this copy is loaded or first used. */
void hp_copies_join(void);

#endif
