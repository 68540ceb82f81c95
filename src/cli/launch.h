/*
 * Running another program as if we were not there: terminal, signals, job control and exit status pass through.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_LAUNCH_H
#define HP_CLI_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hp_launch {
    char **argv;
    uint32_t timeout_ms;                  /* 0: never */
    void (*prepare)(const void *context); /* in the new process, before the program */
    const void *context;
    /* In this one, before the program runs, with all signals held. */
    void (*is_starting)(const void *context, pid_t pid);
    void (*is_stopping)(void); /* the program has stopped, and now we do; both may be NULL */
    pid_t pid;                 /* out: of the program */
    int status;                /* out: as waitpid gives it */
    int error;                 /* out: why it could not be started; 0: it was */
    bool is_asked_to_end;      /* out: its time was over */
};

/* Starts the program and waits for its end. False: it could not be started. */
bool hp_launch(struct hp_launch *launch);

/* Ends this process as that one ended: with its exit status, or by the same signal. */
_Noreturn void hp_launch_end_like(int status);

#endif
