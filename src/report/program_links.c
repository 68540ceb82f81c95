/* Which program waited for which. SPDX-License-Identifier: MIT */
#include "program_links.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "model.h"
#include "run_state.h"
#include "sort.h"
#include "wait_profile.h"

static int by_ends(const void *a, const void *b)
{
    const struct hp_program_link *x = a, *y = b;
    int order = strcmp(x->waiter->name, y->waiter->name);
    if (order == 0)
        order = strcmp(x->other->name, y->other->name);
    if (order == 0)
        order = hp_by_number(x->cause, y->cause);
    return order != 0 ? order : hp_by_number(x->is_sender, y->is_sender);
}

static int by_time(const void *a, const void *b)
{
    const struct hp_program_link *x = a, *y = b;
    const int order = hp_by_number(y->ns, x->ns);
    return order != 0 ? order : by_ends(a, b);
}

static bool is_link(const struct hp_snapshot *session, const struct hp_wait *wait)
{
    return (wait->cause == HP_WAIT_PIPE || wait->cause == HP_WAIT_SOCKET) && wait->peer != 0 &&
           wait->peer != session->header.pid;
}

static size_t count_links(const struct hp_run *run)
{
    size_t count = 0;
    for (size_t at = 0; at < run->count; at++) {
        struct hp_walk walk = {0};
        struct hp_wait wait;
        while (hp_snapshot_next_wait(run->sessions[at], &walk, &wait))
            count += is_link(run->sessions[at], &wait);
    }
    return count;
}

static void gather(struct hp_program_links *links, struct hp_program_link *room, const struct hp_run_state *state,
                   const struct hp_snapshot *session)
{
    const struct hp_program_use *waiter = hp_run_state_program(state, session->header.pid);
    struct hp_walk walk = {0};
    struct hp_wait wait;
    while (waiter != NULL && hp_snapshot_next_wait(session, &walk, &wait)) {
        const struct hp_program_use *other =
            is_link(session, &wait) ? hp_run_state_program(state, wait.peer) : NULL;
        if (other == NULL)
            continue;
        room[links->count] =
            (struct hp_program_link){waiter, other, wait.cause, hp_wait_is_for_sender(wait.call), wait.ns};
        links->all[links->count] = &room[links->count];
        links->count++;
    }
}

static void merge(struct hp_program_links *links)
{
    size_t kept = 0;
    hp_sort(links->all, links->count, by_ends);
    for (size_t at = 0; at < links->count; at++)
        if (kept > 0 && by_ends(links->all[kept - 1], links->all[at]) == 0)
            links->all[kept - 1]->ns += links->all[at]->ns;
        else
            links->all[kept++] = links->all[at];
    links->count = kept;
    hp_sort(links->all, links->count, by_time);
}

bool hp_program_links_make(struct hp_program_links *links, const struct hp_run_state *state, struct hp_model *model)
{
    const size_t most = count_links(&model->run);
    struct hp_program_link *room = hp_arena_take_array(model->arena, most + 1, sizeof *room);
    *links = (struct hp_program_links){.all = hp_arena_take_array(model->arena, most + 1, sizeof(void *))};
    if (room == NULL || links->all == NULL)
        return false;
    for (size_t at = 0; at < model->run.count; at++)
        gather(links, room, state, model->run.sessions[at]);
    merge(links);
    return true;
}

const struct hp_program_link *hp_program_link_of(const struct hp_program_links *links,
                                                 const struct hp_program_use *waiter, uint32_t cause)
{
    for (size_t at = 0; at < links->count; at++)
        if (links->all[at]->waiter == waiter && links->all[at]->cause == cause)
            return links->all[at];
    return NULL;
}

/* The longest of either kind, for another program. */
static const struct hp_program_link *longest_of(const struct hp_program_links *links,
                                                const struct hp_program_use *waiter)
{
    size_t at = 0;
    while (at < links->count && (links->all[at]->waiter != waiter || links->all[at]->other == waiter))
        at++;
    return at < links->count ? links->all[at] : NULL;
}

bool hp_program_waits_for(const struct hp_program_links *links, const struct hp_program_use *waiter,
                          const struct hp_program_use *other)
{
    for (size_t step = 0; step <= links->count; step++) { /* they may wait for each other */
        const struct hp_program_link *link = longest_of(links, waiter);
        if (link == NULL || link->other == other)
            return link != NULL;
        waiter = link->other;
    }
    return false;
}
