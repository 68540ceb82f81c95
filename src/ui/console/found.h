/*
 * The sampled functions of the watched program: of the whole run, of the window, and of the window before it.
 *
 *     hp_found_open(&found, path);                 a session or the folder of a run
 *     hp_found_read(&found, pid, began_ns);        again and again: stacks may come later, or change
 *     hp_found_choose(&found, from_ns, to_ns);     the window; 0, 0: the whole run
 *     ... hp_found_shown(&found)->functions ...
 *     hp_found_close(&found);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_FOUND_H
#define HP_CONSOLE_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "function_sums.h"
#include "named_stacks.h"
#include "stack_watch.h"

/* What stacks know of a part of the run. */
struct hp_found_part {
    bool is_known;
    uint64_t from_ns, to_ns; /* since the run began; while it runs, stacks are known some time later */
    struct hp_named_stacks stacks;
    struct hp_function_profile functions;
};

struct hp_found {
    char folder[2048]; /* of the run; "": there can be no stacks */
    bool is_of_run;    /* all processes of it are watched */
    struct hp_stack_watch watch;
    uint64_t version;     /* rises when they are read again, or another window is chosen */
    uint64_t cut_version; /* when the window was chosen last */
    struct hp_found_part whole, window, before;
    bool has_window; /* the window is not the whole run */
    uint64_t from_ns, to_ns, before_ns;
};

void hp_found_open(struct hp_found *found, const char *path);
/* Reads the stacks if they are new. `pid`: the watched process, of a session; `began_ns`: of the run (run.h). */
void hp_found_read(struct hp_found *found, uint32_t pid, uint64_t began_ns);
/* Those between two moments since the run began, and between `before_ns` and the first of them. */
void hp_found_choose(struct hp_found *found, uint64_t before_ns, uint64_t from_ns, uint64_t to_ns);
void hp_found_close(struct hp_found *found);

/* How much of the run the shown ones are of, in nanoseconds; 0: unknown, all of it. */
uint64_t hp_found_shown_ns(const struct hp_found *found);

/* Of the window or, if that is not known apart, of the whole run; NULL: there are no stacks. */
static inline const struct hp_found_part *hp_found_shown(const struct hp_found *found)
{
    if (found->has_window && found->window.is_known)
        return &found->window;
    return found->whole.is_known ? &found->whole : NULL;
}

/* Whether the shown ones are of more than the window. */
static inline bool hp_found_is_wider(const struct hp_found *found)
{
    return found->has_window && found->whole.is_known && !found->window.is_known;
}

/* How much time a sample stands for; with waiting, the time between two looks at a thread. */
double hp_found_period_ns(const struct hp_found_part *part, bool has_waiting);

/* One of the shown functions, by its identity (identity.h); NULL: it was not found. */
const struct hp_found_function *hp_found_function(const struct hp_found_part *part, uint64_t id);
uint64_t hp_found_identity(const struct hp_found_function *function);

#endif
