/*
 * What an agent may run: the prefixes that the user gave with --allow-run, and nothing else. A prefix is a program
 * and its leading arguments. A program is compared by its path after links are followed, and exactly that path is
 * run. What runs other programs or code (shells, env, interpreters, debuggers) is allowed only as it was named:
 * with all of its arguments, and no others. SPDX-License-Identifier: MIT
 */
#ifndef HP_MCP_ALLOWED_RUNS_H
#define HP_MCP_ALLOWED_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#define HP_ALLOWED_RUNS_MOST 16u
#define HP_ALLOWED_WORDS_MOST 32u
#define HP_ALLOWED_BYTES 4096u

struct hp_allowed_run {
    char path[HP_ALLOWED_BYTES];              /* resolved */
    char text[HP_ALLOWED_BYTES];              /* storage of the words */
    const char *words[HP_ALLOWED_WORDS_MOST]; /* the first is the program, as it was named */
    size_t count;
    bool is_whole; /* it runs other programs: nothing may follow */
};

struct hp_allowed_runs {
    struct hp_allowed_run all[HP_ALLOWED_RUNS_MOST];
    size_t count;
};

/* Adds "PROGRAM ARGUMENT...", words with blanks between them. False: `problem` says why. */
bool hp_allowed_runs_add(struct hp_allowed_runs *runs, const char *prefix, char *problem, size_t size);

/* The path to run. NULL: it is not allowed; `problem` says what is. */
const char *hp_allowed_runs_find(const struct hp_allowed_runs *runs, char *const *argv, size_t count, char *problem,
                                 size_t size);

/* Whether a program of that name runs what its arguments say. */
bool hp_is_wrapper(const char *path);

#endif
