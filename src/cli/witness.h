/*
 * A process of ours that stays in our process group with all signals held, as a witness: what it has, too, was sent to the
 * whole group, and the program has it by itself. What a signal says of its sender does not tell that.
 *
 * While we are stopped it looks after the program, which somebody may continue who does not know of us.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_WITNESS_H
#define HP_CLI_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct hp_witness {
    pid_t pid; /* 0: there is none */
    int link;
};

/* With all signals held, which it inherits. Without a witness (false) its functions do nothing. */
bool hp_witness_start(struct hp_witness *witness);

enum hp_testimony { HP_TESTIMONY_ALONE, HP_TESTIMONY_GROUP, HP_TESTIMONY_NONE };

/* Whether a signal that we have taken went to the group or to us alone. It forgets its own. */
enum hp_testimony hp_witness_ask(const struct hp_witness *witness, const siginfo_t *info);

/* From now on it continues us as soon as the program is not stopped, until it rests or is asked. False: it cannot. */
bool hp_witness_guard(const struct hp_witness *witness, pid_t program);
void hp_witness_rest(const struct hp_witness *witness);

void hp_witness_end(struct hp_witness *witness);

/* Somebody has killed it, and it has been waited for. */
void hp_witness_forget(struct hp_witness *witness);

#endif
