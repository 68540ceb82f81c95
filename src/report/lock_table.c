/*
 * The sections `locks` and `blocked-by`: what threads waited for at locks and conditions, and who let them wait.
 * docs/locks.md describes each number. SPDX-License-Identifier: MIT
 */
#include "lock_causes.h"

#include <string.h>

#include "arena.h"
#include "durations.h"
#include "identity.h"
#include "lock_stacks.h"
#include "order.h"
#include "path_sentence.h"
#include "section.h"
#include "sort.h"
#include "text.h"
#include "trust.h"
#include "units.h"

static const struct hp_lock_profile *locks_of(const struct hotpath_results *results)
{
    return results->model->locks;
}

#define KIND_WORDS "mutex|rwlock|spinlock|condition|semaphore|barrier|others|own"

static const char *kind_name(uint32_t kind)
{
    static const char *const names[HP_LOCK_KINDS] = {
        [HP_LOCK_MUTEX] = "mutex",         [HP_LOCK_RWLOCK] = "rwlock",
        [HP_LOCK_SPIN] = "spinlock",       [HP_LOCK_CONDITION] = "condition",
        [HP_LOCK_SEMAPHORE] = "semaphore", [HP_LOCK_BARRIER] = "barrier",
        [HP_LOCK_OTHERS] = "others",       [HP_LOCK_OWN] = "own"};
    return kind < HP_LOCK_KINDS && names[kind] != NULL ? names[kind] : "others";
}

/* Of its waits, in nanoseconds. */
static double percentile_of(const struct hp_lock_row *row, double percentile)
{
    if (percentile >= 100)
        return row->wait_longest_ns;
    const uint32_t step = hp_steps_find(row->wait_steps, HP_LOCK_WAIT_STEPS, percentile / 100);
    const double ns = hp_step_middle(step, HP_LOCK_WAIT_BITS) * row->tick_ns;
    return ns < row->wait_longest_ns ? ns : row->wait_longest_ns;
}

static bool is_condition(const struct hp_lock_row *row) { return row->kind == HP_LOCK_CONDITION; }

static double part(double ns, double of) { return of > 0 ? 100 * (ns < of ? ns / of : 1) : 0; }

/* "worker (pool.c:42)" */
static const char *place_of(struct hp_fields *to, const struct hp_code_place *function)
{
    char bytes[600];
    struct hp_text line;
    if (function->name == NULL)
        return NULL;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, function->name);
    if (function->file[0] != '\0' && function->line != 0) {
        const char *slash = strrchr(function->file, '/');
        hp_text_format(&line, " (%s:%u)", slash != NULL ? slash + 1 : function->file, (unsigned)function->line);
    }
    return hp_fields_copy(to, bytes, line.length);
}

static const char *worst_holder(const struct hp_lock_row *row)
{
    return row->worst != NULL ? row->worst->holder : NULL;
}

enum { HAS_PATH = HP_FACT_OWN };

/* A lock in the order of the table. */
struct shown {
    const struct hp_lock_row *row;
    double path_part; /* of the critical path, in which it was waited for */
    size_t index;     /* in the order by time waited */
};

/* Samples of free CPUs cover at least half of its waiting. */
static bool knows_free(const struct hp_lock_row *row)
{
    return row->watched_ns > 0 && 2 * row->watched_ns >= row->wait_ns;
}

static double free_part(const struct hp_lock_row *row) { return part(row->free_ns, row->watched_ns) / 100; }

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct shown *shown = entry;
    (void)view;
    if (to->row != NULL) {
        to->row->id = hp_identity_with_number(hp_identity_with_text(0, shown->row->name), shown->row->kind);
        to->row->is_self_sampled = knows_free(shown->row);
    }
    HP_FIELD(to, shown->row->name, "name", "Lock", TEXT, HP_COLUMN_FIRST,
             "Its name by HOTPATH_LOCK_NAME; the global variable; for others the function that made it, or that "
             "used it first; <other>: locks "
             "without a row of their own.");
    HP_FIELD(to, kind_name(shown->row->kind), "kind", "Kind", TEXT, HP_COLUMN_SHOWN, .words = KIND_WORDS);
    HP_FIELD_IF(to, !is_condition(shown->row), shown->row->locked, "locked", "Locked", COUNT, HP_COLUMN_SHOWN,
                "How often it was locked, also after waiting for a condition; semaphores: taken; barriers: passed; "
                "conditions: null.");
    HP_FIELD_IF(to, !is_condition(shown->row), shown->row->contended, "contended", "Contended", COUNT, 0,
                "The part of locked that had to wait; conditions: null.");
    HP_FIELD_IF(to, !is_condition(shown->row) && shown->row->locked > 0,
                part((double)shown->row->contended, (double)shown->row->locked), "percent_contended", "% Contended",
                PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_PART);
    HP_FIELD(
        to, shown->row->waits, "waits", "Waits", COUNT, HP_COLUMN_SHOWN,
        "Waits that have ended, also by a timeout; waiting again for the same condition after a timeout is one "
        "wait.");
    HP_FIELD(to, shown->row->wait_ns, "wait_ns", "Wait", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Time that threads waited, all together.");
    HP_FIELD(to, 100 * shown->path_part, "percent_path", "% Path", PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_PART,
             "The part of the critical path in which a thread further along it waited for this lock.",
             .needs = HAS_PATH);
    HP_FIELD_IF(to, shown->row->waits > 0, shown->row->wait_ns / (double)shown->row->waits, "wait_mean_ns",
                "Avg Wait", NS, HP_COLUMN_SHOWN);
    HP_FIELD_FAMILY(to, percentile, shown->row->waits > 0, percentile_of(shown->row, percentile), "_ns", "", NS, 0,
                    "A percentile of waits, within 4 %.", .before = "wait", .title_before = "Wait");
    HP_FIELD_IF(to, shown->row->waits > 0,
                hp_histogram_of_steps(to->results, shown->row->wait_steps, HP_LOCK_WAIT_BITS, HP_LOCK_OCTAVES,
                                      shown->row->tick_ns),
                "wait_histogram_ns", "Wait Times", HISTOGRAM, 0,
                "Distribution of waits: [from, below, waits]; null: there was none.");
    HP_FIELD_IF(to, shown->row->waits > 0, shown->row->wait_longest_ns, "wait_max_ns", "Max Wait", NS,
                HP_COLUMN_SHOWN);
    HP_FIELD(
        to, shown->row->blame_ns, "blocked_ns", "Blocked Others", NS, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
        "The part of wait_ns that holders of the lock are charged with; conditions: until they were signaled.");
    HP_FIELD(to, shown->row->latency_ns, "wakeup_ns", "Wake-up", NS, HP_COLUMN_SHOWN,
             "The part of wait_ns after the lock was free, or the condition signaled, until the thread ran.");
    HP_FIELD(to, shown->row->unknown_ns, "unknown_ns", "Unknown", NS, 0,
             "The part of wait_ns that no thread of the process ended: timeouts, and signals of other processes.");
    HP_FIELD_IF(
        to, knows_free(shown->row), shown->row->wait_ns * free_part(shown->row), "free_cpu_ns", "CPU Free", NS,
        HP_COLUMN_SHOWN | HP_COLUMN_SAMPLED_SELF,
        "The part of wait_ns while a CPU was free, estimated from samples of the idle time of the CPUs that the "
        "process may use; null: these were not sampled for most of it.");
    HP_FIELD_IF(to, knows_free(shown->row), 100 * free_part(shown->row), "percent_free_cpu", "% CPU Free", PERCENT,
                HP_COLUMN_SAMPLED_SELF | HP_COLUMN_PART, "free_cpu_ns as a share of wait_ns.");
    HP_FIELD(
        to, worst_holder(shown->row), "held_by", "Held By", TEXT,
        HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
        "The function that holds it, or signals the condition, for most of blocked_ns; null: none, or unknown.");
    HP_FIELD(to, shown->row->worst != NULL ? shown->row->worst->waiter : NULL, "waited_in", "Waited In", TEXT,
             HP_COLUMN_MAYBE, "The function that waited for that; null: none, or several.");
    HP_FIELD_IF(to, shown->row->holds > 0, shown->row->hold_ns / (double)shown->row->holds, "hold_mean_ns",
                "Avg Hold", NS, HP_COLUMN_SHOWN,
                "How long it was held, on average of those that were timed: one in 64, and every one of locks that "
                "are held for a microsecond or more; null: none was.");
    HP_FIELD_IF(to, shown->row->holds > 0, shown->row->hold_longest_ns, "hold_max_ns", "Max Hold", NS, 0,
                "The longest of the holds that were timed; null: none was.");
    HP_FIELD_IF(to, shown->row->holds > 0,
                hp_histogram_of_steps(to->results, shown->row->hold_steps, HP_LOCK_HOLD_BITS, HP_LOCK_OCTAVES,
                                      shown->row->tick_ns),
                "hold_histogram_ns", "Hold Times", HISTOGRAM, 0,
                "Distribution of the holds that were timed: [from, below, holds]; null: none was.");
    HP_FIELD(to, shown->row->holds, "holds", "Timed Holds", COUNT, 0, "Holds that were timed.");
    HP_FIELD(to, shown->row->longest_queue, "queue_max", "Max Queue", COUNT, HP_COLUMN_SHOWN,
             "The largest number of threads that waited at the same time.");
    HP_FIELD(to, shown->row->timeouts, "timeouts", "Timeouts", COUNT, 0,
             "Waits, or parts of them, that a timeout ended.");
    HP_FIELD(to, shown->row->instances, "instances", "Locks", COUNT, 0,
             "Locks that are in this row: made, or used first, at the same place.");
    HP_FIELD(to, shown->row->processes, "processes", "Processes", COUNT, 0, "Processes that have this lock.",
             .needs = HP_FACT_PROCESSES);
    HP_FIELD(to, place_of(to, &shown->row->function), "place", "Place", TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE,
             "Where it was made, or used first; null: unknown.");
}

/* About all locks. */
struct whole {
    const struct hp_lock_profile *locks;
    uint64_t unseen_ns;
};

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct whole *whole = about;
    (void)view;
    HP_FIELD(to, whole->locks->processes, "recorded_processes", NULL, COUNT, 0,
             "Processes whose locks were counted.");
    HP_FIELD(
        to, whole->locks->unnamed, "unnamed", NULL, COUNT, 0,
        "Locks, and uses of locks, without a row of their own, for lack of space: they are in the row <other>.");
    HP_FIELD(
        to, whole->unseen_ns, "unseen_ns", NULL, COUNT, 0,
        "Waiting that samples found and that was not counted, if that is most of what they found: for locks made "
        "of futexes or atomics, or inside of the C library.");
}

static uint64_t unseen_ns(const struct hotpath_results *results)
{
    return locks_of(results) != NULL ? results->trust->unseen_locks_ns : 0;
}

/* Whether there is something to say. */
static bool has_locks(const struct hotpath_results *results)
{
    return locks_of(results) != NULL && (locks_of(results)->row_count > 0 || unseen_ns(results) > 0);
}

static bool note_unseen(struct hotpath_results *results, struct hotpath_section *section, uint64_t ns)
{
    char bytes[200];
    struct hp_text line;
    if (ns == 0)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(
        &line,
        "threads waited %s, by samples, for locks that are not seen: made of futexes or atomics, or inside "
        "of the C library",
        hp_ns_text((double)ns).bytes);
    return hp_section_note(section, hp_results_keep(results, &line));
}

static const char not_counted[] = "locks were not counted: hotpath run --locks does that";

static int compare_shown(const void *a, const void *b)
{
    const struct shown *x = a, *y = b;
    if (x->path_part != y->path_part)
        return x->path_part < y->path_part ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Those on the critical path first. `path`: NULL: it is not known. NULL: no memory. */
static struct shown **in_order(const struct hotpath_results *results, const struct hp_run_path *path, size_t count)
{
    struct hp_arena *arena = results->model->arena;
    struct shown *all = hp_arena_take_array(arena, count + 1, sizeof *all);
    struct shown **order = hp_arena_take_array(arena, count + 1, sizeof(void *));
    for (size_t at = 0; all != NULL && order != NULL && at < count; at++) {
        const struct hp_lock_row *row = locks_of(results)->rows[at];
        const double part = path != NULL ? hp_path_part(path, hp_path_ticks_for_lock(path, row)) : 0;
        all[at] = (struct shown){row, part, at};
        order[at] = &all[at];
    }
    if (all == NULL || order == NULL)
        return NULL;
    hp_sort(order, count, compare_shown);
    return order;
}

/* False: no memory. */
static bool find_path(const struct hotpath_results *results, const struct hp_run_path **ret_path)
{
    const bool has_path = hp_run_has_path(&results->model->run);
    const struct hp_run_path *path = has_path ? hp_model_path(results->model) : NULL;
    *ret_path = path != NULL && path->is_followed ? path : NULL;
    return !has_path || path != NULL;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_lock_profile *locks = locks_of(results);
    const size_t count = locks != NULL ? locks->row_count : 0;
    const struct hp_run_path *path;
    section->description =
        "Locks and conditions: how often threads had to wait, for how long, and who let them wait.";
    section->if_empty = locks != NULL ? "no lock was used" : not_counted;
    struct shown **rows = find_path(results, &path) ? in_order(results, path, count) : NULL;
    if (rows == NULL || !hp_section_begin(results, section, NULL, path != NULL ? HAS_PATH : 0,
                                          path != NULL ? "percent_path" : "wait_ns", NULL))
        return false;
    if (locks != NULL) {
        const struct whole whole = {locks, unseen_ns(results)};
        hp_section_add_totals(results, section, &whole);
        if (!note_unseen(results, section, whole.unseen_ns))
            return false;
        if (!locks->times_every_hold)
            hp_section_note(section, "of locks held for less than a microsecond, one hold in 64 was timed");
    }
    if (!hp_section_fill_rows(results, section, (const void *const *)rows, count, NULL))
        return false;
    if (hp_section_marks_of_rows(section).is_self_sampled)
        hp_section_note(section, "^ estimated from samples of the idle time of CPUs");
    return true;
}

const struct hp_section_type hp_section_locks = {.name = "locks",
                                                 .is_left_out_empty = true,
                                                 .has_data = has_locks,
                                                 .fill = fill,
                                                 .fields = fields,
                                                 .totals = totals,
                                                 .about = "Locks and conditions of programs run with --locks.",
                                                 .about_row = "A global lock, or all locks made at one place.",
                                                 .always = "order|totals"};

/* --------------------------------------------------------------------------------------------------- blocked-by */

static void fields_of_block(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_lock_block *block = entry;
    const struct hp_lock_stacks *stacks = view;
    if (to->row != NULL) {
        uint64_t id = hp_identity_with_text(0, block->waiter != NULL ? block->waiter : "");
        id = hp_identity_with_text(id, block->holder != NULL ? block->holder : "");
        to->row->id = hp_identity_with_number(hp_identity_with_text(id, block->lock->name), block->lock->kind);
    }
    HP_FIELD(to, block->waiter != NULL ? block->waiter : "<several>", "name", "Waits In", TEXT, HP_COLUMN_FIRST,
             "The function that waited; <several>: threads waited at different places at once.");
    HP_FIELD(to, block->holder != NULL ? block->holder : "<unknown>", "holder", "Blocked By", TEXT,
             HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "The function that held the lock and gave it up, or that signaled the condition.");
    HP_FIELD(to, block->lock->name, "lock", "Lock", TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN);
    HP_FIELD(to, kind_name(block->lock->kind), "kind", "Kind", TEXT, HP_COLUMN_SHOWN, .words = KIND_WORDS);
    HP_FIELD(to, block->count, "count", "Count", COUNT, HP_COLUMN_SHOWN,
             "How often the holder let others wait; of conditions: waits that it ended.");
    HP_FIELD(to, block->ns, "blocked_ns", "Time", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Time that others waited for it: blocked_ns of the lock, divided.");
    HP_FIELD(to, part(block->ns, block->lock->wait_ns), "percent_wait", "% of Wait", PERCENT,
             HP_COLUMN_SHOWN | HP_COLUMN_PART, "blocked_ns as a share of all waiting for the lock.");
    HP_FIELD(to, block->longest_ns, "blocked_max_ns", "Max", NS, HP_COLUMN_SHOWN,
             "The most at once: when one holder gave the lock up, of all threads that waited for it.");
    HP_FIELD(
        to, hp_lock_waiter_stack(to, stacks, block), "waiter_stack", "Waiter's Stack", TEXT, HP_COLUMN_MAYBE,
        "The stack in which samples found the function waiting for longest, for things of that kind: functions, "
        "with semicolons between them; null: it was not found.");
    HP_FIELD(
        to, hp_lock_holder_stack(to, stacks, block), "holder_stack", "Holder's Stack", TEXT, HP_COLUMN_MAYBE,
        "Where samples found the holder for longest while locks were waited for; where that is not known, and of "
        "those who signal, how the function is called, by its time; null: it was not found.");
    HP_FIELD(to, hp_lock_stacks_sentence(to, stacks, block), "stacks", "Stacks", TEXT,
             HP_COLUMN_BELOW | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The innermost functions of both stacks that are the program's, as a sentence; null: none was found.");
}

static bool has_blocks(const struct hotpath_results *results)
{
    return locks_of(results) != NULL && locks_of(results)->block_count > 0;
}

static bool fill_blocks(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_lock_profile *locks = locks_of(results);
    const size_t count = locks != NULL ? locks->block_count : 0;
    section->description = "Which function waits for which, at which lock.";
    section->if_empty = locks != NULL ? "no thread had to wait for another" : not_counted;
    const void **rows = hp_arena_take_array(results->model->arena, count + 1, sizeof(void *));
    for (size_t at = 0; rows != NULL && at < count; at++)
        rows[at] = &locks->blocks[at];
    struct hp_lock_stacks *stacks = hp_lock_stacks_make(results->model->arena, results->model->functions);
    return rows != NULL && stacks != NULL && hp_section_begin(results, section, NULL, 0, "blocked_ns", NULL) &&
           hp_section_fill_rows(results, section, rows, count, stacks);
}

const struct hp_section_type hp_section_blocked_by = {
    .name = "blocked-by",
    .is_left_out_empty = true,
    .has_data = has_blocks,
    .fill = fill_blocks,
    .fields = fields_of_block,
    .about = "Functions that waited for locks and conditions, and those that let them wait, in programs run with "
             "--locks.",
    .about_row = "A function that waits, one that lets it wait, and the lock.",
    .always = "order"};
