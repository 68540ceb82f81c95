/*
 * A child process that stays in our process group with all signals blocked. If it has received a signal, too, the
 * signal was sent to the whole group, and the program has it already. The sender's data in the signal does not tell
 * that.
 *
 * While we are stopped, it watches the program: someone who does not know of us may continue it.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_WITNESS_H
#define HP_CLI_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct hp_witness {
    pid_t pid; /* 0: none */
    int link;
};

/*
 * Call it with all signals blocked: the witness inherits that. Without a witness (false) the other functions do
 * nothing.
 */
bool hp_witness_start(struct hp_witness *witness);

enum hp_testimony { HP_TESTIMONY_ALONE, HP_TESTIMONY_GROUP, HP_TESTIMONY_NONE };

/* Whether a signal that we received went to the group or to us alone. The witness drops its copy. */
enum hp_testimony hp_witness_ask(const struct hp_witness *witness, const siginfo_t *info);

/*
 * From now on it continues us as soon as the program is not stopped, until it is told to stop guarding or is asked.
 * False: not possible.
 */
bool hp_witness_guard(const struct hp_witness *witness, pid_t program);
void hp_witness_rest(const struct hp_witness *witness);

void hp_witness_end(struct hp_witness *witness);

/* The witness was killed and has been reaped. */
void hp_witness_forget(struct hp_witness *witness);

#endif
