/*
 * How long a CPU was free: tells processes whose locks are counted, by the file of their locks (lock_layout.h), so
 * that they know of each wait for how much of it there was one for the thread that waited.
 *
 * The kernel counts the idle time of each CPU in hundredths of a second, so each reading is compared with one some
 * of these earlier. Of the CPUs that a process may use, the idle time counts together, up to the time that went by.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_FREE_CPUS_H
#define HP_RUN_FREE_CPUS_H

/* For the processes that have, or will have, a file of locks in the folder. */
void hp_free_cpus_begin(const char *folder);
/* Every ten milliseconds, if that takes less than a hundredth of the time; between that it does nothing. */
void hp_free_cpus_look(void);
void hp_free_cpus_end(void);

#endif
