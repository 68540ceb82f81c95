/*
 * Threads with all signals blocked, including those reserved by the C library: a signal sent to us is for the
 * program that we run. They work until they are told to end. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_QUIET_THREAD_H
#define HP_COLLECT_QUIET_THREAD_H

#include <pthread.h>
#include <stdbool.h>

struct hp_quiet_thread {
    pthread_t id;
    int wake; /* for poll: readable when the thread should end; -1: it must check from time to time */
    bool is_begun, is_over;
};

/*
 * Returns when all signals are blocked in it. Those blocked in the calling thread stay blocked. False: not
 * possible.
 */
bool hp_quiet_thread_start(struct hp_quiet_thread *thread, void *(*run)(void *));

/* Called by the thread itself: whether it should end. */
bool hp_quiet_thread_is_over(const struct hp_quiet_thread *thread);

/* Called by the thread itself: sleeps this long, or until it should end. */
void hp_quiet_thread_pause(const struct hp_quiet_thread *thread, int milliseconds);

/* Tells it to end, and waits for that. No effect if it was never started, or has ended. */
void hp_quiet_thread_stop(struct hp_quiet_thread *thread);

#endif
