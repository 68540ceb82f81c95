/* How places in the sources and threads are called, and the names of rows that stand for neither. SPDX-License-Identifier: MIT */
#ifndef HP_MODEL_LABELS_H
#define HP_MODEL_LABELS_H

#include <stdint.h>

#define HP_STARTUP "<startup>" /* what processes used before they were measured */
#define HP_OUTSIDE "<outside>" /* what is outside of all measured functions */

/* A place in the sources. */
struct hp_location {
    const char *file;
    const char *function;
    uint32_t line;
};

/* A thread, or several that recorded one after the other in the same place: then the last of them. */
struct hp_thread_label {
    const char *name; /* as the kernel knows it; may be empty */
    uint32_t pid;
    uint32_t tid;
    uint32_t threads;
    uint32_t number; /* unlike that of any other of the run */
};

#endif
