/*
 * Lends memory for sessions and rings of stacks to processes of a run that cannot reach its folder, because they
 * have given up their user or changed their root (src/os/lending.h). A thread of its own answers requests, at once.
 *
 * The folder has a link under the name that the file would have, to the descriptor of the memory in this process.
 * So everything that reads the folder finds it. When the process has ended, a file replaces the link.
 *
 * Whoever asks is not trusted. It must be a process of the run, has a limited number of loans, of a limited size
 * that it cannot change, and never makes us wait. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_LENDER_H
#define HP_RUN_LENDER_H

#include <stddef.h>
#include <stdint.h>

#include "lending.h"

/* Chooses a name for the socket. Before the program is forked, which is told the name. */
void hp_lender_name(char name[HP_LENDER_NAME]);

/* Listens, for processes of the table. `most_bytes`: of a session; 0: the default. */
void hp_lender_begin(const char *folder, const char *name, uint64_t most_bytes);

/* The process of a session has ended, and nothing else will be added to it: a file replaces the memory. */
void hp_lender_settle(const char *session);

struct hp_lender_sums {
    size_t refused; /* processes that got nothing */
    size_t cut_off; /* sessions of processes that still run: what they record from now on is lost */
};

/* No more loans; all sessions become files. */
struct hp_lender_sums hp_lender_end(void);

#endif
