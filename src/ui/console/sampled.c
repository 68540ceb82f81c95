/* Sampled functions in the window, as those that were measured. SPDX-License-Identifier: MIT */
#include <string.h>

#include "arena.h"
#include "hash_index.h"
#include "wait_cause.h"
#include "watched.h"

#define SECOND 1e9

double hp_watched_sampled_ns(const struct hp_watched *watched)
{
    const uint64_t shown_ns = hp_found_shown_ns(&watched->found);
    const bool is_all = shown_ns == 0 || (watched->is_whole && !watched->is_live);
    const uint64_t ns = is_all ? watched->elapsed_ns : shown_ns;
    return ns > 0 ? (double)ns : 1;
}

/* What takes most of its time, in a word of the report. */
static void find_mostly(struct hp_watched_function *function)
{
    double most = function->parts[HP_PART_USER] + function->parts[HP_PART_KERNEL];
    function->mostly = "cpu";
    for (unsigned part = HP_PART_QUEUE; part < HP_PARTS; part++)
        if (function->parts[part] > most) {
            most = function->parts[part];
            function->mostly = hp_part_name((enum hp_activity)part);
        }
    if (most > 0)
        function->mostly_percent = 100 * most / function->own;
    else
        function->mostly = NULL;
}

static uint64_t blocked_ns(const struct hp_found_function *found) { return found->waiting_ns - found->idle_ns; }

static struct hp_watched_function make(const struct hp_watched *watched, const struct hp_found_function *found)
{
    const double ns = hp_watched_sampled_ns(watched);
    struct hp_watched_function function = {.id = hp_found_identity(found),
                                           .found = found,
                                           .name = found->shown,
                                           .file = found->file,
                                           .own = (double)hp_found_work_ns(found) / ns,
                                           .idle = (double)found->idle_ns / ns,
                                           .bytes_per_second = (double)found->heap.bytes * SECOND / ns,
                                           .has_bytes = found->heap.bytes > 0,
                                           .has_share = true,
                                           .knows_parts = true};
    function.work = function.own;
    function.is_idle = hp_found_work_ns(found) == 0 && found->idle_ns > 0;
    function.parts[HP_PART_USER] = (double)found->user_ns / ns;
    function.parts[HP_PART_KERNEL] = (double)found->kernel_ns / ns;
    for (unsigned part = 0; blocked_ns(found) > 0 && part < HP_PARTS; part++)
        function.parts[part] += (double)found->blocked_ns[part] / ns;
    find_mostly(&function);
    return function;
}

/* By the index of the window's function; functions have the same numbers in both. NULL: no memory. */
static const struct hp_found_function **find_before(struct hp_arena *arena, const struct hp_found *found)
{
    const size_t count = found->before.stacks.function_count;
    const struct hp_found_function **before = hp_arena_take_array(arena, count + 1, sizeof(void *));
    for (size_t at = 0; before != NULL && at < found->before.functions.count; at++)
        before[found->before.functions.all[at].number] = &found->before.functions.all[at];
    return before;
}

/* Numbers of samples vary by the roots of what is expected: twice that is still chance. */
static bool may_be_chance(const struct hp_watched *watched, const struct hp_watched_function *function)
{
    const double period = hp_found_period_ns(&watched->found.window, function->found->waiting_ns > 0);
    const double ns = hp_watched_sampled_ns(watched), samples = (function->own + function->before) * ns / period;
    const double change = (function->own - function->before) * ns / period;
    return change * change <= 4 * samples;
}

static void fill_before(struct hp_watched *watched)
{
    const struct hp_found *found = &watched->found;
    const double ns = (double)(found->before.to_ns - found->before.from_ns);
    const struct hp_found_function **before =
        found->before.is_known ? find_before(hp_reader_model(&watched->reader)->arena, found) : NULL;
    for (size_t at = 0; before != NULL && at < watched->sampled.count; at++) {
        struct hp_watched_function *function = &watched->sampled.all[at];
        const struct hp_found_function *then = before[function->found->number];
        function->has_before = true;
        function->before = then != NULL ? (double)hp_found_work_ns(then) / ns : 0;
    }
    hp_watched_find_changes(&watched->sampled);
    for (size_t at = 0; before != NULL && at < watched->sampled.count; at++)
        if (may_be_chance(watched, &watched->sampled.all[at]))
            watched->sampled.all[at].change = 0;
}

static bool is_listed(const struct hp_found_function *found)
{
    return found->total_ns > 0 || found->total_waiting_ns > 0 || found->heap.bytes > 0;
}

bool hp_watched_add_sampled(struct hp_watched *watched)
{
    const struct hp_found_part *part = hp_found_shown(&watched->found);
    struct hp_watched_functions *sampled = &watched->sampled;
    if (part == NULL)
        return true;
    sampled->all = hp_arena_take_array(hp_reader_model(&watched->reader)->arena, part->functions.count + 1,
                                       sizeof *sampled->all);
    for (size_t at = 0; sampled->all != NULL && at < part->functions.count; at++) {
        if (!is_listed(&part->functions.all[at]))
            continue;
        sampled->all[sampled->count] = make(watched, &part->functions.all[at]);
        sampled->work += sampled->all[sampled->count++].work;
    }
    for (size_t at = 0; at < sampled->count; at++)
        sampled->all[at].share = sampled->work > 0 ? 100 * sampled->all[at].work / sampled->work : 0;
    fill_before(watched);
    return sampled->all != NULL;
}
