/*
 * System calls: their names, and what those that can block tell about the wait. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_SYSTEM_CALLS_H
#define HP_OBSERVE_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_system_call {
    char name[24];
    int32_t number;
    uint8_t cause;       /* enum hp_wait_cause; for a call on a descriptor, unless the file tells more */
    bool has_descriptor; /* its first argument is one */
    bool is_by_file;     /* the type of that file tells what is waited for */
    bool is_futex;       /* it has the arguments of futex */
    bool is_poll;        /* it has those of poll */
    uint8_t path;        /* it opens a file: which argument is the path, from 1; 0: it does not */
};

/* The call with that number on this machine; NULL: unknown. */
const struct hp_system_call *hp_system_call(int32_t number);

/* "futex"; NULL: unknown. */
const char *hp_system_call_name(int32_t number);

#endif
