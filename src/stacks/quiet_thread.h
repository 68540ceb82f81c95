/*
 * Threads that no signal goes to, not even those that the C library keeps for itself: whoever sends one to us means the program that
 * we run. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_QUIET_THREAD_H
#define HP_STACKS_QUIET_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Returns when it is quiet. What the calling thread holds stays held. False: there is none. */
bool hp_quiet_thread_start(pthread_t *ret_thread, void *(*run)(void *));

#endif
