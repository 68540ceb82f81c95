/*
 * Open guards: which of the variables that macros leave in the host's frames have begun and not ended. A `goto` or
 * a `case` label jumps over a macro, but at the end of the braces the compiler runs its cleanup on whatever the
 * stack contains there, perhaps on the remains of an earlier guard. So a guard is believed only if its address is
 * in this table, with the mark that the guard got when it began.
 *
 * For guards that need not be as fast as zones: zones are known by their frames, streams by their record.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_GUARDS_H
#define HP_CORE_GUARDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The guard begins. `mark` is not 0, is kept in the guard, and differs from those of earlier guards at that
 * address: a time will do. No lock and no system call: any thread, signal handlers, forked children, with or
 * without a session.
 */
void hp_guard_open(const void *guard, uint64_t mark);
/* It ends. False: it never began, or has ended before. `mark` is what the guard contains, and may be anything. */
bool hp_guard_close(const void *guard, uint64_t mark);

#endif
