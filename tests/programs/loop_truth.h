/*
 * For programs with an event loop and without hotpath: each callback takes one event from a descriptor and puts the
 * next one there,
 * so every wait returns one event and there is nothing else to wait for. One callback computes for SPIN_NS by the
 * program's own clock. The program prints the truth. SPDX-License-Identifier: MIT
 */
#ifndef LOOP_TRUTH_H
#define LOOP_TRUTH_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#ifdef LOOP_IS_MEASURED /* callbacks are zones, and nothing else is reported */
#include <hotpath.h>
#define MEASURE_CALLBACK() HOTPATH_MEASURE_AS("on_event")
#else
#define MEASURE_CALLBACK() (void)0
#endif

#define EVENTS 20u /* of one run */
#define SLOW 7u    /* the callback that takes long */
#define SPIN_NS UINT64_C(50000000)
#define PAUSE_NS 300000000L

static uint64_t loop_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

struct truth {
    int file;
    unsigned callbacks;
    uint64_t previous; /* when the last callback began */
    uint64_t before;   /* that of the one before the slow one */
    /* Duration of the slow callback; upper bound of its turn: from the callback before to the one after. */
    uint64_t callback, turn;
};

static inline void truth_post(struct truth *truth)
{
    const uint64_t one = 1;
    if (write(truth->file, &one, sizeof one) != sizeof one)
        perror("write");
}

static inline void truth_begin(struct truth *truth)
{
    truth->file = eventfd(0, EFD_CLOEXEC);
    truth_post(truth);
}

/* Of every callback. False: the loop is to end. */
static inline bool truth_callback(struct truth *truth)
{
    MEASURE_CALLBACK();
    uint64_t count;
    const uint64_t began = loop_now();
    if (read(truth->file, &count, sizeof count) != sizeof count)
        perror("read");
    truth->callbacks++;
    if (truth->callbacks == SLOW) {
        truth->before = truth->previous;
        const uint64_t from = loop_now();
        while (loop_now() - from < SPIN_NS)
            ;
        truth->callback = loop_now() - from;
    } else if (truth->callbacks == SLOW + 1) {
        truth->turn = began - truth->before;
    }
    truth->previous = began;
    truth_post(truth);
    return truth->callbacks % EVENTS != 0;
}

/* Between two runs of the loop. */
static inline void truth_pause(void)
{
    const struct timespec pause = {0, PAUSE_NS};
    nanosleep(&pause, NULL);
}

static inline void truth_tell(const struct truth *truth)
{
    printf("events %u\n", truth->callbacks);
    printf("callback_ns %" PRIu64 "\nturn_ns %" PRIu64 "\n", truth->callback, truth->turn);
}

#endif
