/* Labels of source locations and threads, and names of special rows. SPDX-License-Identifier: MIT */
#ifndef HP_MODEL_LABELS_H
#define HP_MODEL_LABELS_H

#include <stdint.h>

#define HP_STARTUP "<startup>" /* what processes used before they were measured */
#define HP_OUTSIDE "<outside>" /* outside all measured functions */

/* A source location. */
struct hp_location {
    const char *file;
    const char *function;
    uint32_t line;
};

/* A thread, or several that used the same record in succession: then the last of them. */
struct hp_thread_label {
    const char *name; /* comm, from the kernel; may be empty */
    uint32_t pid;
    uint32_t tid;
    uint32_t threads;
    uint32_t number; /* unique in the run */
};

#endif
