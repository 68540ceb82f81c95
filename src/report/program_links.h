/*
 * Which program of a run waited for which: at pipes and sockets whose other end is known.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_PROGRAM_LINKS_H
#define HP_REPORT_PROGRAM_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_model;
struct hp_program_use;
struct hp_run_state;

/* What all processes of a program waited for those of another one. */
struct hp_program_link {
    const struct hp_program_use *waiter, *other; /* the same: another process of the program */
    uint32_t cause;                              /* HP_WAIT_PIPE or HP_WAIT_SOCKET */
    bool is_sender; /* the other one was to send: else to receive; not known of sockets */
    uint64_t ns;
};

struct hp_program_links {
    struct hp_program_link **all; /* the longest first */
    size_t count;
};

/* False: no memory. */
bool hp_program_links_make(struct hp_program_links *links, const struct hp_run_state *state,
                           struct hp_model *model);

/* What a program waited for longest, by that cause; NULL: unknown. */
const struct hp_program_link *hp_program_link_of(const struct hp_program_links *links,
                                                 const struct hp_program_use *waiter, uint32_t cause);

/* Whether it waited mostly for that other one, or for one that did so in turn. */
bool hp_program_waits_for(const struct hp_program_links *links, const struct hp_program_use *waiter,
                          const struct hp_program_use *other);

#endif
