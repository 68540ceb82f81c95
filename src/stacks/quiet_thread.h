/*
 * Threads that no signal goes to, not even those that the C library keeps for itself: whoever sends one to us means the program that
 * we run. They work until they are told to end. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_QUIET_THREAD_H
#define HP_STACKS_QUIET_THREAD_H

#include <pthread.h>
#include <stdbool.h>

struct hp_quiet_thread {
    pthread_t id;
    int wake; /* for poll: has something to read when the thread is to end; -1: it has to ask now and then */
    bool is_begun, is_over;
};

/* Returns when it is quiet. What the calling thread holds stays held. False: there is none. */
bool hp_quiet_thread_start(struct hp_quiet_thread *thread, void *(*run)(void *));

/* By the thread itself: whether it is to end. */
bool hp_quiet_thread_is_over(const struct hp_quiet_thread *thread);

/* By the thread itself: so long, or until it is to end. */
void hp_quiet_thread_pause(const struct hp_quiet_thread *thread, int milliseconds);

/* Tells it to end, and returns when it has. One that was never begun, or has ended, stays as it is. */
void hp_quiet_thread_stop(struct hp_quiet_thread *thread);

#endif
