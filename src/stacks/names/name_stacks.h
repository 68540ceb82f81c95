/*
 * Names the stacks of a run, as the program would have them without hotpath (program_stacks.h): once, when it is
 * over, or again and again while it goes on.
 *
 *     struct hp_stack_namer namer = {0};
 *     while (!hp_stack_namer_prepare(&namer, found, 10000000)) ...;
 *     hp_stack_namer_name(&namer, found, zones, &named);        from time to time
 *     hp_stack_namer_finish(&namer, found, zones, &named);      at the end, also without the others
 *     hp_stack_namer_free(&namer);
 *
 * Nodes have the same numbers each time. SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_NAME_STACKS_H
#define HP_NAMES_NAME_STACKS_H

#include "kernel_names.h"
#include "named_stacks.h"
#include "program_stacks.h"
#include "symbolizer.h"

/* Names a zone, which is a site of a session by number (event_queue.h). NULL: unknown. */
struct hp_zone_namer {
    const char *(*name)(void *context, uint32_t session, uint32_t site);
    void *context;
};

/* Private. */
struct hp_stack_namer {
    struct hp_program_stacks program;
    struct hp_symbolizer symbolizer;
    struct hp_kernel_names kernel;
    bool has_kernel, has_read_kernel;
    uint64_t chosen_ns;      /* the time that was seen when lines were chosen; 0: they are not */
    size_t loaded, prepared; /* nodes whose files, and whose names, were read */
    bool has_chosen;         /* lines, among those of the files that are loaded */
};

/*
 * Reads what is needed to name them: files, symbols, lines. It takes time when code is seen for the first time, so
 * it returns after about `most_ns`. True: it is done.
 */
bool hp_stack_namer_prepare(struct hp_stack_namer *namer, const struct hp_stacks *found, uint64_t most_ns);

/*
 * Names what was found; without a namer of zones (NULL) they are left out. False: no memory. Slots remain those of
 * `found`; everything else may be freed.
 */
bool hp_stack_namer_name(struct hp_stack_namer *namer, const struct hp_stacks *found,
                         const struct hp_zone_namer *zones, struct hp_named_stacks *ret_named);

/* The same with the best names that there are, as if they were named for the first time. */
bool hp_stack_namer_finish(struct hp_stack_namer *namer, const struct hp_stacks *found,
                           const struct hp_zone_namer *zones, struct hp_named_stacks *ret_named);
void hp_stack_namer_free(struct hp_stack_namer *namer);

/* Names them once. */
bool hp_name_stacks(const struct hp_stacks *found, const struct hp_zone_namer *zones,
                    struct hp_named_stacks *ret_named);

#endif
