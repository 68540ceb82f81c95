/*
 * System calls that a thread can wait in: their names, and what they say about what it waits for.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_SYSTEM_CALLS_H
#define HP_SESSION_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_system_call {
    const char *name;
    int32_t number;
    uint32_t cause;      /* enum hp_wait_cause; of one about a descriptor, where the file does not say it better */
    bool has_descriptor; /* its first argument is one */
    bool is_by_file;     /* the file behind it says what is waited for */
    bool is_futex;       /* its arguments are those of futex */
};

/* The call of that number on this machine, or NULL: one that is none of those. */
const struct hp_system_call *hp_system_call(int32_t number);

/* "futex"; NULL: not known. */
const char *hp_system_call_name(int32_t number);

#endif
