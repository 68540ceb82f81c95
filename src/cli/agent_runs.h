/*
 * Programs that a client of `hotpath mcp` has run: one at a time, under `hotpath run`, in the folder where the
 * server was started. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_AGENT_RUNS_H
#define HP_CLI_AGENT_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allowed_runs.h"
#include "mcp_source.h"

struct hp_agent_run {
    const struct hp_allowed_runs *allowed;
    const char *folder; /* of sessions: --dir; NULL: the usual ones */
    pid_t pid;          /* of `hotpath run`; 0: nothing runs */
    uint64_t began_ns;  /* wall clock */
    uint64_t end_ns;    /* when it is asked to end, or made to */
    bool is_asked;
    char session[64]; /* its name, once it has ended */
    char problem[300];
};

/* What struct hp_mcp_server asks for; the context is the run. */
bool hp_agent_run_start(void *run, const struct hp_mcp_words *argv, size_t seconds, char *problem, size_t size);
void hp_agent_run_stop(void *run);

/* True: it has ended. Its session has a name; if there is none, `problem` says why, or is empty. */
bool hp_agent_run_has_ended(struct hp_agent_run *run);

/*
 * Asks it to end, or makes it, when its time is over. Returns how many milliseconds it may go on; -1: nothing
 * runs.
 */
int hp_agent_run_time_left(struct hp_agent_run *run);

#endif
