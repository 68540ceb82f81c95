/*
 * Runs a command under `hotpath run` for a benchmark: its output goes to a file, its run to a folder, and it is
 * ended if it takes too long or the user has had enough.
 *
 *     hp_bench_hold_signals();
 *     struct hp_bench_run run = {.command = words, .recording = flags, .folder = "/dev/shm/bench-1"};
 *     if (hp_bench_run(&run) && run.status == 0) ... run.path is its run
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_BENCH_RUN_H
#define HP_CLI_BENCH_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct hp_bench_run {
    char *const *command;   /* ends with NULL */
    char *const *recording; /* flags for `hotpath run`; ends with NULL */
    const char *folder;     /* of ours: the run and the output are put there */
    uint64_t limit_ns;      /* the command must end within that time; 0: it may run on */
    /* What became of it: */
    int status; /* of `hotpath run`, from waitpid */
    uint64_t took_ns;
    bool is_late;      /* it was ended by us */
    char path[1200];   /* of its run; "": it left none */
    char output[1100]; /* the file with its output */
};

/* Signals that ask us to end are taken between runs and while one goes on. */
void hp_bench_hold_signals(void);

/* The signal that asked us to end; 0: none did. */
int hp_bench_interruption(void);

/* False, with a line on stderr: it could not be started, or we were asked to end. Its run is left in the folder. */
bool hp_bench_run(struct hp_bench_run *run);

/* Prints the end of what it wrote, on stderr. */
void hp_bench_show_output(const struct hp_bench_run *run);

#endif
