/*
 * Runs another program as if we were not there: terminal, signals, job control and exit status pass through.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_LAUNCH_H
#define HP_RUN_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hp_launch {
    char **argv;
    uint32_t timeout_ms;                  /* 0: no limit */
    void (*prepare)(const void *context); /* called in the child, before exec */
    const void *context;
    /* Called in the parent, before the program runs, with all signals blocked. */
    void (*is_starting)(const void *context, pid_t pid);
    void (*is_stopping)(void); /* the program has stopped, and we stop next; both may be NULL */
    pid_t pid;                 /* out: pid of the program */
    int status;                /* out: status from waitpid */
    int error;                 /* out: errno, if it could not be started; else 0 */
    bool is_asked_to_end;      /* out: the timeout was reached */
};

/* Starts the program and waits for its end. False: it could not be started. */
bool hp_launch(struct hp_launch *launch);

/* Ends this process as the program ended: with its exit status, or by the same signal. */
_Noreturn void hp_launch_end_like(int status);

#endif
