/*
 * Memory that `hotpath run` lends to processes of the run that cannot make files in its folder: they have given up
 * the user who started the run, or have another root directory.
 *
 * The runner listens on an abstract socket, which needs no file, and answers a request with a descriptor of memory
 * (memfd) for a session or a ring of stacks (src/run/lender.h). Its length is fixed by seals, so the borrower can
 * neither grow it nor take it away from under a reader.
 *
 *     struct hp_loan loan;
 *     hp_borrow_from(hp_environment(HP_RUN_LENDER), 0);                once, when the process starts
 *     const int fd = hp_borrow(&(struct hp_loan_request){.kind = HP_LOAN_SESSION, .bytes = capacity}, &loan);
 *
 * Nothing here calls the C library: usable in signal handlers. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_LENDING_H
#define HP_OS_LENDING_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set by `hotpath run`: the name of the socket, without the zero in front that makes it abstract. */
#define HP_RUN_LENDER "HOTPATH_RUN_LENDER"
#define HP_LENDER_NAME 48u /* its longest name, with a final zero */

/* Set by `hotpath run` if it is in a sandbox itself: its hp_task_confinement. */
#define HP_RUN_CONFINEMENT "HOTPATH_RUN_CONFINEMENT"

#define HP_LOAN_MAGIC 0x6e616f6cu

enum hp_loan_kind {
    HP_LOAN_SESSION,
    HP_LOAN_HEAP_RING,    /* beside a session: sampled allocations */
    HP_LOAN_ZONE_RING,    /* beside a session: samples of the recorder */
    HP_LOAN_PROCESS_RING, /* samples of threads without zones */
    HP_LOAN_KINDS
};

/* The request, one packet. */
struct hp_loan_request {
    uint32_t magic;
    uint32_t kind;    /* enum hp_loan_kind */
    uint32_t session; /* of a ring beside a session: its number */
    uint32_t unused;
    uint64_t bytes;     /* at most; of a ring: of its records */
    uint64_t period_ns; /* of a ring: as in its header */
};

/* The answer, one packet, with the descriptor. */
struct hp_loan {
    uint32_t magic;
    int32_t error;   /* errno; 0: granted */
    uint64_t bytes;  /* of the memory */
    uint32_t number; /* of a session: sessions of the process before it */
    char name[44];   /* under which the folder of the run has it */
};

/* An address of the family AF_UNIX, as bind and connect take it. */
struct hp_lender_address {
    uint16_t family;
    char name[1 + HP_LENDER_NAME]; /* begins with a zero */
};

/* Returns the number of bytes that are used. */
uint32_t hp_lender_address(struct hp_lender_address *address, const char *name);

/* Whether a file could not be made since its folder cannot be reached, or only by others. */
static inline bool hp_loan_may_help(int error)
{
    return error == EACCES || error == EPERM || error == ENOENT || error == ENOTDIR || error == EROFS;
}

/* As hp_task_confinement, of this thread, with little stack and nothing of the C library. */
uint64_t hp_confinement(void);
/* Whether this thread is in a sandbox that is not around the whole run. */
bool hp_is_confined_in_run(void);

/*
 * NULL, or an empty or too long name: there is no lender. `around`: the lender's hp_task_confinement, of a sandbox
 * around the whole run.
 */
void hp_borrow_from(const char *name, uint64_t around);

/*
 * A descriptor, close-on-exec, that the caller closes; or -errno. Waits for the lender, but no longer than 200 ms.
 * A process whose lender did not answer does not ask it again. In a sandbox nothing is asked.
 */
int hp_borrow(const struct hp_loan_request *request, struct hp_loan *ret_loan);

#endif
