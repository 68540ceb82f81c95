/* The page about a sampled function. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "details.h"
#include "frame.h"
#include "sort.h"

#define MOST_NEIGHBOURS 5u

static double share_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* --------------------------------------------------------------------------------------- callers and callees */

/* Work of the stacks in which a function calls the other one, or is called by it. */
struct neighbour {
    const struct hp_found_function *function;
    uint64_t ns;
};

static int most_first(const void *a, const void *b)
{
    const uint64_t x = ((const struct neighbour *)a)->ns, y = ((const struct neighbour *)b)->ns;
    return x == y ? 0 : x > y ? -1 : 1;
}

/* By node: what ends there, or in what is called from there, without idle time. NULL: no memory. */
static uint64_t *add_up_work(struct hp_arena *arena, const struct hp_function_profile *profile)
{
    uint64_t *work = hp_arena_take_array(arena, profile->node_count + 1, sizeof *work);
    for (size_t at = profile->node_count; work != NULL && at-- > 1;) {
        const struct hp_found_node *node = &profile->nodes[at];
        work[at] += node->user_ns + node->kernel_ns + node->waited_ns - node->idle_ns;
        work[node->parent] += work[at];
    }
    return work;
}

/* The function that a node was called from; HP_NO_FOUND: none. */
static uint32_t caller_of(const struct hp_function_profile *profile, uint32_t node)
{
    const uint32_t function = profile->nodes[node].function;
    uint32_t at = profile->nodes[node].parent;
    while (at != 0 && (profile->nodes[at].function == function || profile->nodes[at].function == HP_NO_FOUND))
        at = profile->nodes[at].parent;
    return profile->nodes[at].function;
}

/* Adds up by function, for each as a caller or as a callee. */
static void gather(const struct hp_function_profile *profile, const uint64_t *work, uint32_t function,
                   bool are_callers, uint64_t *sums)
{
    for (uint32_t at = 1; at < profile->node_count; at++) {
        const struct hp_found_node *node = &profile->nodes[at];
        const uint32_t parent = profile->nodes[node->parent].function;
        if (are_callers && node->function == function && !node->is_inner && caller_of(profile, at) != HP_NO_FOUND)
            sums[caller_of(profile, at)] += work[at];
        if (!are_callers && parent == function && node->function != function && node->function != HP_NO_FOUND)
            sums[node->function] += work[at];
    }
}

/* "called by  handle 75 %, main 25 %" */
static void put_neighbours(struct hp_details *page, const struct hp_function_profile *profile,
                           const struct hp_found_function *found, const uint64_t *work, bool are_callers)
{
    struct hp_arena *arena = &page->console->arena;
    struct neighbour *all = hp_arena_take_array(arena, profile->count + 1, sizeof *all);
    struct neighbour **order = hp_arena_take_array(arena, profile->count + 1, sizeof(void *));
    uint64_t *sums = hp_arena_take_array(arena, profile->count + 1, sizeof *sums), whole = 0;
    size_t count = 0;
    char bytes[800], figure[HP_FIGURE_BYTES];
    struct hp_text text;
    if (all == NULL || order == NULL || sums == NULL || work == NULL)
        return;
    gather(profile, work, (uint32_t)(found - profile->all), are_callers, sums);
    for (size_t at = 0; at < profile->count; at++) {
        if (sums[at] == 0)
            continue;
        all[count] = (struct neighbour){&profile->all[at], sums[at]};
        order[count] = &all[count];
        whole += sums[at];
        count++;
    }
    hp_sort(order, count, most_first);
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, are_callers ? "called by  " : "calls      ");
    for (size_t at = 0; at < count && at < MOST_NEIGHBOURS; at++) {
        hp_text_format(&text, "%s%s %s", at > 0 ? ", " : "", order[at]->function->shown,
                       hp_figure(figure, HP_FIGURE_PERCENT, share_of((double)order[at]->ns, (double)whole)));
    }
    if (count > MOST_NEIGHBOURS) {
        hp_text_format(&text, ", %zu more", count - MOST_NEIGHBOURS);
    }
    if (count == 0)
        hp_text_string(&text, are_callers ? "no function that was found" : "nothing that was found");
    hp_details_put(page, hp_text_end(&text));
}

/* --------------------------------------------------------------------------------------------------- numbers */

/* "CPU time   12 % itself, 34 % with what it calls; 1,203 samples" */
static void put_cpu(struct hp_details *page, const struct hp_function_profile *profile,
                    const struct hp_found_function *found)
{
    char bytes[300], figure[HP_FIGURE_BYTES];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "CPU time   %s itself",
                   hp_figure(figure, HP_FIGURE_PERCENT,
                             share_of((double)(found->user_ns + found->kernel_ns), (double)profile->cpu_ns)));
    hp_text_format(
        &text, ", %s with what it calls",
        hp_figure(figure, HP_FIGURE_PERCENT, share_of((double)found->total_ns, (double)profile->cpu_ns)));
    if (hp_found_has_wall(profile)) {
        hp_text_format(
            &text, "; %s of the time in which the program ran",
            hp_figure(figure, HP_FIGURE_PERCENT, share_of((double)found->total_wall_ns, (double)profile->wall_ns)));
    }
    hp_text_format(&text, "; %s %s", hp_figure(figure, HP_FIGURE_COUNT, (double)found->samples),
                   found->samples == 1 ? "sample" : "samples");
    hp_details_put(page, hp_text_end(&text));
}

/* "waits for  lock: held by worker-3, 0.31 threads; idle 0.20" */
static void put_waits(struct hp_details *page, const struct hp_watched_function *function)
{
    const struct hp_found_function *found = function->found;
    char bytes[500], figure[HP_FIGURE_BYTES];
    struct hp_text text;
    if (found->waiting_ns == 0)
        return;
    const struct hp_found_cause *cause =
        found->waiting_ns > found->idle_ns ? &found->blocked_for : &found->waits_for;
    double waiting = 0;
    for (unsigned part = HP_PART_QUEUE; part < HP_PARTS; part++)
        waiting += function->parts[part];
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "waits for  %.*s", (int)cause->length, cause->text != NULL ? cause->text : "");
    hp_text_format(&text, "; waiting %s threads", hp_figure(figure, HP_FIGURE_THREADS, waiting));
    if (function->idle > 0) {
        hp_text_format(&text, ", idle %s", hp_figure(figure, HP_FIGURE_THREADS, function->idle));
    }
    hp_details_put(page, hp_text_end(&text));
}

/* "before     0.12 threads, now 0.48" */
static void put_before(struct hp_details *page, const struct hp_watched_function *function)
{
    char bytes[200], before[HP_FIGURE_BYTES], now[HP_FIGURE_BYTES];
    if (!function->has_before)
        return;
    snprintf(bytes, sizeof bytes, "before     %s threads in the window before, %s now",
             hp_figure(before, HP_FIGURE_THREADS, function->before),
             hp_figure(now, HP_FIGURE_THREADS, function->own));
    hp_details_put(page, bytes);
}

static void put_heap(struct hp_details *page, const struct hp_watched_function *function)
{
    char bytes[200], figure[HP_FIGURE_BYTES];
    if (!function->has_bytes)
        return;
    snprintf(bytes, sizeof bytes, "allocates  about %s per second",
             hp_figure(figure, HP_FIGURE_BYTES_, function->bytes_per_second));
    hp_details_put(page, bytes);
}

/* Its source, around the line with the most time. */
static void draw_lines(struct hp_details *page, const struct hp_found_part *part,
                       const struct hp_found_function *found)
{
    struct hp_line_sums sums;
    uint64_t most = 0, line = 0;
    if (found->file[0] == '\0' || !hp_line_sums_make(&part->stacks, found->number, HP_LINES_CPU, &sums))
        return;
    for (size_t at = 0; at < sums.lines.count; at++)
        if (sums.lines.all[at].at > 0 && sums.lines.all[at].all_ns > most) {
            most = sums.lines.all[at].all_ns;
            line = sums.lines.all[at].at;
        }
    hp_details_draw_source(page, found->file, (uint32_t)line, &sums);
    hp_line_sums_free(&sums);
}

void hp_details_of_sampled(struct hp_details *page, const struct hp_watched_function *function)
{
    const struct hp_found_part *part = hp_found_shown(&page->console->watched.found);
    const struct hp_function_profile *profile = &part->functions;
    char window[80];
    hp_console_name_stacks(page->console, window, sizeof window);
    hp_screen_put_right(page->screen, page->row, page->column + page->columns, HP_INK_PLAIN, window);
    hp_details_draw_parts(page, function);
    page->row++;
    put_cpu(page, profile, function->found);
    put_waits(page, function);
    put_heap(page, function);
    put_before(page, function);
    const uint64_t *work = add_up_work(&page->console->arena, profile);
    put_neighbours(page, profile, function->found, work, true);
    put_neighbours(page, profile, function->found, work, false);
    draw_lines(page, part, function->found);
}
