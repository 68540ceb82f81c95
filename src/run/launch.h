/*
 * Runs another program as if we were not there: terminal, signals, job control and exit status pass through.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_LAUNCH_H
#define HP_RUN_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* ---------------------------------------------------------------------------------------------- held signals */

/*
 * Signals are blocked and taken one by one, with the kernel's own 64-bit masks: the C library keeps two or three
 * signals out of its sets, but one that is sent to us is for the program as well.
 */

#define HP_HELD_FOREVER UINT64_MAX

static inline uint64_t hp_held_bit(int signal) { return UINT64_C(1) << (signal - 1); }

/* Blocks all signals; returns the previous mask. A fault of our own still ends us: the kernel sees to that. */
uint64_t hp_held_begin(void);
void hp_held_end(uint64_t before);

/* Takes the next signal of a set that is pending or arrives within that time; 0: none did. */
int hp_held_take(uint64_t set, siginfo_t *ret_info, uint64_t ns);

bool hp_held_is_pending(int signal);

/* ------------------------------------------------------------------------------------- inherited descriptors */

/*
 * The descriptors that we were started with. The program has them, too. As long as we keep ours open, nobody
 * notices that the program closed its own: a pipe never ends, a lock stays held, a port stays taken.
 */

/*
 * Closes them. Descriptors that we opened stay, and standard error, for the report; also those that refer to the
 * file `output`, such as /dev/stdout. `output` may be empty.
 */
void hp_inherited_let_go(const char *output);

/* Closes all inherited descriptors and our own, except `fd`. */
void hp_inherited_keep_only(int fd);

/* ---------------------------------------------------------------------------------------------------- launch */

/* perf needs one descriptor per thread and CPU, more than a program has. Returns the former limit; 0: unknown. */
struct rlimit hp_raise_descriptor_limit(void);

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
