/*
 * The seventh tab: what threads wait for, and where. Idle time is apart, and in no share. Programs without measured
 * functions also have a table of the functions that wait, by their stacks. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "arith.h"
#include "hash_index.h"
#include "identity.h"
#include "lock_causes.h"
#include "system_calls.h"
#include "views.h"
#include "wait_cause.h"
#include "wait_profile.h"

#define SHOW_AMOUNTS(to, ns_, idle_ns_, all_, window_)                                                             \
    HP_SHOW(to, ((ns_) - (idle_ns_)) / (window_), "waiting", "Waiting", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 0,   \
            "Threads that wait here, on average, without idle time.");                                             \
    HP_SHOW_IF(to, (ns_) > (idle_ns_), 100 * ((ns_) - (idle_ns_)) / (all_), "share", "Share", HP_CELL_FIGURE,      \
               HP_FIGURE_PERCENT, 5, 1, "Of all waiting that is not idle.");                                       \
    HP_SHOW_IF(to, (idle_ns_) > 0, (idle_ns_) / (window_), "idle", "Idle", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5,   \
               2, "Threads that wait here for new work, on average.")

/* ------------------------------------------------------------------------------------------- waits by place */

struct waits {
    struct hp_console *console;
    const struct hp_wait_sums *wait;
    double window_ns, blocked_ns; /* of all threads */
    bool has_what, has_holders, has_ends;
};

static double idle_ns(const struct hp_wait_sums *wait) { return (double)hp_wait_idle_ns(wait); }

static const char *keep(const struct waits *waits, const struct hp_text *text)
{
    return hp_arena_copy(&waits->console->arena, text->bytes, text->length);
}

/* The lock that this function waited for most, if locks were counted. NULL: unknown. */
static const struct hp_lock_block *lock_of(const struct waits *waits)
{
    const struct hp_wait_sums *wait = waits->wait;
    return wait->what[0] == '\0'
               ? hp_lock_awaited(waits->console->watched.locks, wait->site != NULL ? wait->site->name : NULL,
                                 wait->cause, (double)wait->ns)
               : NULL;
}

/* The file, or the lock, or the function of the thread that holds the lock or is waited for. */
static const char *what_of(const struct waits *waits)
{
    const struct hp_wait_sums *wait = waits->wait;
    const struct hp_lock_block *block = lock_of(waits);
    char bytes[300];
    struct hp_text text;
    if (block != NULL) {
        hp_text_init(&text, bytes, sizeof bytes);
        hp_lock_put_block(&text, block, ", ");
        hp_text_end(&text);
        return keep(waits, &text);
    }
    if (wait->what[0] != '\0' || wait->other == NULL)
        return wait->what;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, wait->cause == HP_WAIT_LOCK ? "held in %s" : "in %s", wait->other->name);
    hp_text_end(&text);
    return keep(waits, &text);
}

/* "worker-3, running" or "worker-3, disk" */
static const char *holder_of(const struct waits *waits)
{
    const struct hp_wait_holder *holder = waits->wait->holder;
    char bytes[120];
    struct hp_text text;
    if (holder == NULL)
        return NULL;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s %u, %s", holder->name, (unsigned)holder->tid,
                   holder->waiting > holder->working ? hp_wait_cause_name(holder->cause) : "running");
    hp_text_end(&text);
    return keep(waits, &text);
}

static const char *end_of(const struct waits *waits)
{
    char bytes[120];
    struct hp_text text;
    if (waits->wait->end == NULL)
        return NULL;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_wait_put_end(&text, waits->wait);
    hp_text_end(&text);
    return keep(waits, &text);
}

static void show_wait(struct hp_table_fields *to, const struct waits *waits)
{
    const struct hp_wait_sums *wait = waits->wait;
    HP_SHOW(to, wait->site != NULL ? wait->site->name : HP_OUTSIDE, "name", "Function", HP_CELL_NAME,
            HP_FIGURE_TEXT, 16, 0, "The measured function; <outside>: none.");
    HP_SHOW(to, hp_wait_cause_name(wait->cause), "cause", "Waits for", HP_CELL_TEXT, HP_FIGURE_TEXT, 18, 0,
            "The cause.");
    SHOW_AMOUNTS(to, (double)wait->ns, idle_ns(wait), waits->blocked_ns, waits->window_ns);
    if (waits->has_what)
        HP_SHOW(to, what_of(waits), "what", "What", HP_CELL_TEXT, HP_FIGURE_TEXT, 24, 4,
                "The file, socket, pipe or child; the lock, with --locks; of locks and threads, where the other "
                "thread is.");
    if (waits->has_holders)
        HP_SHOW(to, holder_of(waits), "held_by", "Held by", HP_CELL_TEXT, HP_FIGURE_TEXT, 24, 3,
                "The thread that held the lock at the latest look, and what such threads mostly did.");
    if (waits->has_ends)
        HP_SHOW(to, end_of(waits), "other_end", "Other end", HP_CELL_TEXT, HP_FIGURE_TEXT, 20, 5,
                "The program with the other end of the pipe or socket.");
    HP_SHOW(to, hp_system_call_name(wait->call), "call", "Call", HP_CELL_TEXT, HP_FIGURE_TEXT, 16, 6,
            "The system call.");
    HP_SHOW(to, wait->probes, "looks", "Samples", HP_CELL_FIGURE, HP_FIGURE_COUNT, 7, 7,
            "How often a thread was seen waiting here.");
}

static uint64_t identity_of(const struct hp_wait_sums *wait)
{
    uint64_t id = hp_identity_with_text(hp_identity_of_site(wait->site), hp_wait_cause_name(wait->cause));
    id = hp_identity_with_number(hp_identity_with_text(id, wait->what), (uint64_t)(int64_t)wait->call);
    return wait->other != NULL ? hp_identity_with_number(id, hp_identity_of_site(wait->other)) : id;
}

void hp_view_waits(struct hp_console *console)
{
    const struct hp_watched *watched = &console->watched;
    const struct hp_run_waits *run = watched->waits;
    size_t count = 0;
    const struct hp_wait_sums **shown =
        hp_arena_take_array(&console->arena, run != NULL ? run->count + 1 : 1, sizeof(void *));
    struct waits waits = {.console = console, .window_ns = (double)(watched->to_ns - watched->from_ns)};
    struct hp_table_fields to = {.table = &console->table};
    for (size_t at = 0; shown != NULL && run != NULL && at < run->count; at++) {
        waits.wait = run->all[at];
        if (waits.wait->ns == 0)
            continue;
        shown[count++] = waits.wait;
        waits.blocked_ns += (double)waits.wait->ns - idle_ns(waits.wait);
        waits.has_holders |= waits.wait->holder != NULL;
        waits.has_ends |= waits.wait->end != NULL;
        waits.has_what |= waits.wait->what[0] != '\0' || waits.wait->other != NULL || lock_of(&waits) != NULL;
    }
    console->table.sort = "waiting";
    console->table.if_empty = watched->knows_waits
                                  ? "No thread was seen waiting."
                                  : "Waits are not recorded: use 'hotpath run' or HOTPATH_WAITS=1.";
    show_wait(&to, &waits);
    struct hp_table_row *rows = hp_table_make_rows(&console->table, &console->arena, count);
    for (size_t row = 0; rows != NULL && row < count; row++) {
        waits.wait = shown[row];
        rows[row].id = identity_of(waits.wait);
        rows[row].subject = waits.wait->site != NULL ? hp_identity_of_site(waits.wait->site) : 0;
        rows[row].is_last = waits.wait->ns <= hp_wait_idle_ns(waits.wait);
        to = (struct hp_table_fields){.table = &console->table, .row = &rows[row]};
        show_wait(&to, &waits);
    }
}

/* --------------------------------------------------------------------------------------- waits by their stacks */

/* What one function waits for: the waiter and the text, as numbers of functions of the stacks. */
struct waiter {
    const struct hp_found_function *found; /* NULL: unknown */
    const char *cause;
    size_t cause_length;
    uint64_t id, ns, idle_ns, times;
};

struct waiters {
    struct hp_console *console;
    const struct hp_found_part *part;
    struct hp_pair_table pairs;
    struct waiter *all; /* by pair */
    const struct waiter *waiter;
    double window_ns, blocked_ns;
    bool has_held, has_locks;
};

/* Names the pairs of waiters and causes. False: no memory. */
static bool find_pairs(struct waiters *waiters)
{
    const struct hp_named_stacks *stacks = &waiters->part->stacks;
    for (uint32_t at = 1; at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        if (node->image == HP_STACK_WAITING && node->frame_count > 0 && node->weight[HP_STACK_WAITED_NS] > 0 &&
            hp_pair_table_put(&waiters->pairs, hp_waiter_of(stacks, at),
                              stacks->frames[node->first_frame].function) == HP_NO_PAIR)
            return false;
    }
    return true;
}

static void add_up(struct waiters *waiters)
{
    const struct hp_named_stacks *stacks = &waiters->part->stacks;
    for (uint32_t at = 1; at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        const uint64_t ns = node->weight[HP_STACK_WAITED_NS], idle = node->weight[HP_STACK_IDLE_NS];
        if (node->image != HP_STACK_WAITING || node->frame_count == 0 || ns == 0)
            continue;
        struct waiter *waiter = &waiters->all[hp_pair_table_put(&waiters->pairs, hp_waiter_of(stacks, at),
                                                                stacks->frames[node->first_frame].function)];
        waiter->ns += ns;
        waiter->idle_ns += idle < ns ? idle : ns;
        waiter->times += node->weight[HP_STACK_WAITS];
        waiters->blocked_ns += (double)hp_less(ns, idle);
    }
}

static const struct hp_lock_block *lock_awaited(const struct waiters *waiters, const struct waiter *waiter)
{
    const uint32_t cause = hp_wait_cause_named(waiter->cause, waiter->cause_length);
    return waiter->found != NULL
               ? hp_lock_awaited(waiters->console->watched.locks, waiter->found->name, cause, (double)waiter->ns)
               : NULL;
}

static const char *lock_name(const struct waiters *waiters, const struct waiter *waiter)
{
    const struct hp_lock_block *block = lock_awaited(waiters, waiter);
    return block != NULL ? block->lock->name : NULL;
}

/* Counted, or by samples. */
static const char *held_in(const struct waiters *waiters, const struct waiter *waiter)
{
    const bool is_lock = hp_text_begins(waiter->cause, hp_wait_cause_name(HP_WAIT_LOCK));
    const struct hp_lock_block *block = lock_awaited(waiters, waiter);
    if (block != NULL && block->holder != NULL)
        return block->holder;
    return is_lock && waiter->found != NULL ? waiter->found->held_in : NULL;
}

/* "[waiting: pipe]" is "pipe". */
static void name_waiters(struct waiters *waiters)
{
    const struct hp_named_stacks *stacks = &waiters->part->stacks;
    const size_t before = strlen(HP_WAITING_NAME);
    for (size_t at = 0; at < waiters->pairs.count; at++) {
        struct waiter *waiter = &waiters->all[at];
        const char *name = stacks->functions[waiters->pairs.all[at].second].name;
        const bool has_cause = strlen(name) > before + 1;
        waiter->cause = has_cause ? name + before : name;
        waiter->cause_length = strlen(waiter->cause) - (has_cause ? 1 : 0);
        for (size_t found = 0; found < waiters->part->functions.count; found++)
            if (waiters->part->functions.all[found].number == waiters->pairs.all[at].first)
                waiter->found = &waiters->part->functions.all[found];
        waiter->id = hp_identity_with_text(waiter->found != NULL ? hp_found_identity(waiter->found) : 1, name);
        waiters->has_held |= held_in(waiters, waiter) != NULL;
        waiters->has_locks |= lock_awaited(waiters, waiter) != NULL;
    }
}

static void show_waiter(struct hp_table_fields *to, const struct waiters *waiters)
{
    const struct waiter *waiter = waiters->waiter;
    HP_SHOW(to, waiter->found != NULL ? waiter->found->shown : "unknown", "name", "Function", HP_CELL_NAME,
            HP_FIGURE_TEXT, 16, 0, "The function that waits, itself or in the C library.");
    HP_SHOW(to, hp_arena_copy(&waiters->console->arena, waiter->cause, waiter->cause_length), "cause", "Waits for",
            HP_CELL_TEXT, HP_FIGURE_TEXT, 30, 0, "The cause, and the file, socket or pipe if it is known.");
    SHOW_AMOUNTS(to, (double)waiter->ns, (double)waiter->idle_ns, waiters->blocked_ns, waiters->window_ns);
    if (waiters->has_locks)
        HP_SHOW(to, lock_name(waiters, waiter), "lock", "Lock", HP_CELL_TEXT, HP_FIGURE_TEXT, 16, 3,
                "The lock that it waited for most, with --locks.");
    if (waiters->has_held)
        HP_SHOW(to, held_in(waiters, waiter), "held_in", "Held in", HP_CELL_TEXT, HP_FIGURE_TEXT, 24, 3,
                "The function in which the lock was held for most of that time.");
    HP_SHOW(to, waiter->times, "waits", "Waits", HP_CELL_FIGURE, HP_FIGURE_COUNT, 5, 6,
            "How many waits were seen.");
    HP_SHOW(to, waiter->found != NULL ? waiter->found->library : "", "library", "Library", HP_CELL_TEXT,
            HP_FIGURE_TEXT, 24, 5, "The program or library that contains it.");
}

void hp_view_waiters(struct hp_console *console)
{
    const struct hp_found_part *part = hp_found_shown(&console->watched.found);
    struct waiters waiters = {
        .console = console, .part = part, .window_ns = hp_watched_sampled_ns(&console->watched)};
    struct hp_table_fields to = {.table = &console->table};
    if (part != NULL && find_pairs(&waiters))
        waiters.all = hp_arena_take_array(&console->arena, waiters.pairs.count + 1, sizeof *waiters.all);
    if (waiters.all != NULL) {
        add_up(&waiters);
        name_waiters(&waiters);
    }
    console->table.sort = "waiting";
    console->table.if_empty = "No thread was seen waiting.";
    show_waiter(&to, &waiters);
    const size_t count = waiters.all != NULL ? waiters.pairs.count : 0;
    struct hp_table_row *rows = hp_table_make_rows(&console->table, &console->arena, count);
    for (size_t row = 0; rows != NULL && row < count; row++) {
        waiters.waiter = &waiters.all[row];
        rows[row].id = waiters.waiter->id;
        rows[row].subject = waiters.waiter->found != NULL ? hp_found_identity(waiters.waiter->found) : 0;
        rows[row].is_last = waiters.waiter->ns <= waiters.waiter->idle_ns;
        to = (struct hp_table_fields){.table = &console->table, .row = &rows[row]};
        show_waiter(&to, &waiters);
    }
    hp_pair_table_free(&waiters.pairs);
}
