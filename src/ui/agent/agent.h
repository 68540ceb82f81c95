/*
 * The agent: it answers collectors with the metrics and profiles of a host, or of a user. What it knows is from its
 * readers (agent_users.h); it opens no session itself. SPDX-License-Identifier: MIT
 */
#ifndef HP_AGENT_H
#define HP_AGENT_H

#include <stdio.h>

#include "agent_users.h"
#include "push.h"
#include "server.h"
#include "session_folders.h"

struct hp_agent {
    struct hp_session_folders folders;
    struct hp_agent_users users;
    struct hp_push *push;                    /* NULL: profiles are not pushed */
    uint64_t searched_ns, asked_ns, told_ns; /* when folders were searched, readers asked, and had all answered */
    bool is_asking;
    uint64_t interval_ns;            /* at least, from one question to the next: it grows with what they cost */
    uint64_t cpu_ns;                 /* of all processes, at the last question */
    struct hp_agent_answer *answers; /* that readers still owe */
};

/*
 * How long sessions are not read again, if reading them took so much CPU time since they were read before: 1 % of a
 * core at most.
 */
uint64_t hp_agent_interval(uint64_t interval_ns, uint64_t used_ns, uint64_t passed_ns);

/* For a server. The settings of folders and users are there. */
struct hp_slow_answers hp_agent_answers(struct hp_agent *agent);

/* What is done in the loop of that server; the context is the agent. */
uint64_t hp_agent_turn(void *context, uint64_t now_ns);

/* What was found, what is served, and what is left out, and why. */
void hp_agent_print(struct hp_agent *agent, FILE *to);

void hp_agent_free(struct hp_agent *agent);

#endif
