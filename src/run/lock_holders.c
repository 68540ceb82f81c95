/*
 * Looks at locks twice.
 *
 * The longer the pause, the more samples fall into it, and the fewer locks are still held by the same thread. Both
 * together are best when half of them are: so the pause gets longer as long as more are.
 * SPDX-License-Identifier: MIT
 */
#include "lock_holders.h"

#include <stdlib.h>

#include "clock.h"
#include "growing_array.h"
#include "process.h"
#include "sources.h"
#include "wait_cause.h"

#define SHORTEST_NS UINT64_C(50000)
#define LONGEST_NS UINT64_C(2000000)

static struct {
    struct hp_wait_held *all; /* those of a lock are next to each other once they are sorted */
    size_t count, room;
    bool has_running;
    uint64_t since_ns; /* all were looked at by then */
    uint64_t pause_ns;
} holders = {.pause_ns = 4 * SHORTEST_NS};

void hp_lock_holders_add(const struct hp_wait_held *held)
{
    if (!HP_MAKE_ROOM(holders.all, holders.count + 1, holders.room))
        return;
    holders.all[holders.count++] = *held;
    holders.has_running |= held->holder != 0 && held->holder_wait == 0;
    holders.since_ns = hp_clock_monotonic_ns();
}

void hp_lock_holders_forget(uint32_t pid)
{
    size_t kept = 0;
    for (size_t at = 0; at < holders.count; at++)
        if (holders.all[at].pid != pid)
            holders.all[kept++] = holders.all[at];
    holders.count = kept;
}

uint64_t hp_lock_holders_pause_ns(void) { return holders.has_running ? holders.pause_ns : 0; }

static int by_lock(const void *a, const void *b)
{
    const struct hp_wait_held *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->lock < y->lock ? -1 : x->lock > y->lock;
}

/* ---------------------------------------------------------------------------------------------- the second look */

/* It has not run since then, and was not woken. */
static bool sleeps_since(uint32_t pid, uint32_t tid, uint64_t slices)
{
    char text[96];
    uint64_t start;
    if (!hp_task_read(pid, tid, "schedstat", text, sizeof text))
        return false;
    const char *at = text;
    hp_task_number(&at);
    hp_task_number(&at);
    if (hp_task_number(&at) != slices)
        return false;
    const char state = hp_task_state(pid, tid, &start);
    return state == 'S' || state == 'D';
}

static bool has_owner(const struct hp_wait_held *wait)
{
    struct hp_wait_finder finder = {.pid = wait->pid};
    struct hp_wait_found found;
    return hp_wait_find(&finder, wait->tid, 'S', &found) && found.lock == wait->lock &&
           found.thread == wait->holder;
}

/* Of all waits for a lock: the same owner was read from it each time, and it still is the owner. */
static bool have_owner(const struct hp_wait_held *waits, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (waits[at].holder == 0 || waits[at].holder != waits[0].holder)
            return false;
    return has_owner(&waits[0]);
}

static bool is_still_held(const struct hp_wait_held *waits, size_t count)
{
    const struct hp_wait_held *first = &waits[0];
    if (!have_owner(waits, count))
        return false;
    if (first->holder_wait != 0 && !sleeps_since(first->pid, first->holder, first->holder_slices))
        return false;
    for (size_t at = 0; at < count; at++)
        if (!sleeps_since(waits[at].pid, waits[at].tid, waits[at].slices))
            return false;
    return true;
}

/* Of a running holder, all waits are told, since those that were seen twice stand for them. */
static void tell(const struct hp_wait_held *wait, bool is_held, uint64_t until_ns)
{
    if (is_held || (wait->holder != 0 && wait->holder_wait == 0))
        hp_wait_source_hold(&(struct hp_held_lock){.wait = wait->wait,
                                                   .holder_wait = wait->holder_wait,
                                                   .tid = wait->holder,
                                                   .from_ns = is_held ? holders.since_ns : 0,
                                                   .to_ns = until_ns,
                                                   .ns = wait->ns});
}

static size_t count_alike(size_t first)
{
    size_t count = 1;
    while (first + count < holders.count && by_lock(&holders.all[first], &holders.all[first + count]) == 0)
        count++;
    return count;
}

static void choose_pause(size_t running, size_t held)
{
    if (running > 0 && 2 * held >= running)
        holders.pause_ns = 2 * holders.pause_ns < LONGEST_NS ? 2 * holders.pause_ns : LONGEST_NS;
    else if (running > 0)
        holders.pause_ns = holders.pause_ns / 2 > SHORTEST_NS ? holders.pause_ns / 2 : SHORTEST_NS;
}

void hp_lock_holders_look(void)
{
    const uint64_t until_ns = hp_clock_monotonic_ns();
    size_t running = 0, held = 0;
    if (holders.count > 1)
        qsort(holders.all, holders.count, sizeof *holders.all, by_lock);
    for (size_t first = 0, count; first < holders.count; first += count) {
        count = count_alike(first);
        const bool is_held = is_still_held(&holders.all[first], count);
        const bool is_running = holders.all[first].holder != 0 && holders.all[first].holder_wait == 0;
        running += is_running;
        held += is_running && is_held;
        for (size_t at = first; at < first + count; at++)
            tell(&holders.all[at], is_held, until_ns);
    }
    choose_pause(running, held);
    holders.count = 0;
    holders.has_running = false;
}

void hp_lock_holders_free(void)
{
    free(holders.all);
    holders.all = NULL;
    holders.count = holders.room = 0;
    holders.has_running = false;
}
