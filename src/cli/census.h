/*
 * Who belongs to a run, seen from outside: its processes, and the programs that each of them was in turn. It is for those that leave
 * no session, and for the end of those that leave one without finishing it.
 *
 * Where the kernel tells (task_events.h) it is exact. Elsewhere /proc is looked through now and then, which misses what is shorter
 * than two looks are apart. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_CENSUS_H
#define HP_CLI_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One program that a process was. The first one of a process is its parent's, from fork to exec or to the end. */
struct hp_executed {
    uint64_t began_ns;  /* by CLOCK_MONOTONIC */
    char name[16];      /* as the kernel has it */
    char *file;         /* NULL: not known */
    char *command;      /* NULL: it ended before anybody looked */
    uint64_t looked_ns; /* when the command had been read */
};

struct hp_citizen {
    uint32_t pid, parent;
    uint64_t began_ns, ended_ns;   /* 0: it lives */
    uint32_t threads;              /* that live, where the kernel tells */
    uint64_t cpu_ns;               /* of all its programs */
    uint64_t seen_cpu_ns, seen_ns; /* by its own clock, when it last was read */
    uint64_t waited_ns; /* since that was read: for how long it had children, and is taken to wait for them */
    bool is_hidden; /* the kernel told no more of it since it became a program with rights that we do not have */
    struct hp_executed *images;
    size_t image_count;
};

struct hp_census {
    struct hp_citizen *all; /* the program itself first */
    size_t count;
    bool is_exact;
    bool has_missed;      /* there were more */
    bool may_have_missed; /* there may have been */
};

/* The program has been forked and waits. Forgets a census before this one. */
void hp_census_begin(uint32_t pid);

/*
 * A process left a session: what that says of it is given, with an end if it is gone already. Its parents may be gone, and it may have
 * ended before anybody looked; without this its time would be given to others. On the thread that looks.
 */
void hp_census_meet(const struct hp_citizen *met);

/* Takes in what has happened since. From one thread at a time. */
void hp_census_look(void);

/* The newest with this id, or NULL. */
const struct hp_citizen *hp_census_find(uint32_t pid);

/* The last look. What it returns stays until the end of the process. */
const struct hp_census *hp_census_end(void);

#endif
