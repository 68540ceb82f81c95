/*
 * The call tree thread by thread, for the page: what each thread has in each row of the section calltree by itself.
 * Rows in which a thread has nothing are left out, and so are all rows that the section has left out.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "hash_index.h"
#include "page.h"
#include "profile.h"
#include "section.h"
#include "sort.h"
#include "thread_usage_profile.h"
#include "units.h"
#include "wait_profile.h"

#define MOST_THREADS 256u
#define MOST_RECORDS 400000u       /* of all threads: what takes a second or two, and three megabytes */
#define MOST_SERVED_RECORDS 20000u /* the same of a page that is made again and again */
#define ROUNDS 20u                 /* of fitting waits: after five they hardly change */

/* What a thread has in a row itself. */
struct place {
    const struct hp_thread_label *thread;
    uint32_t row; /* from 1 */
    uint64_t own_ns, cpu_ns;
    uint32_t session, site;      /* its function: the first session that has it, and its id there */
    struct hp_node_waits *waits; /* NULL: none was seen */
};

struct thread {
    const struct place *const *places; /* by row */
    size_t count;
    uint64_t own_ns;
};

struct threads {
    struct hp_model *model;
    const struct hp_profile *profile; /* by thread */
    const struct hp_cpu *cpu;         /* NULL: none was sampled */
    bool has_waits;
    struct place **places; /* by thread and row */
    size_t place_count;
    struct thread **all; /* the one with the most time first */
    size_t count;
    bool has_memory;
};

/* ------------------------------------------------------------------------------------------------- rows */

/* Rows of the section by the row above and the name. */
struct row_index {
    const struct hotpath_section *section;
    struct hp_hash_index hashes;
};

/* Its number; 0: none, and the slot is free for it. */
static uint32_t find_row(const struct row_index *index, uint32_t parent, const char *name, uint32_t *ret_hash,
                         size_t *ret_slot)
{
    const struct hp_hash_index *hashes = &index->hashes;
    uint32_t number;
    *ret_hash = hp_hash_with_text(hashes, hp_hash_with(hashes, 0, parent), name);
    *ret_slot = HP_HASH_BEGIN;
    while ((number = hp_hash_next(hashes, *ret_hash, ret_slot)) != 0) {
        const struct hp_row *row = &index->section->rows[number - 1];
        if (row->parent == parent && strcmp(row->cells[0].text, name) == 0)
            break;
    }
    return number;
}

static bool index_rows(struct row_index *index)
{
    for (uint32_t at = 0; at < index->section->row_count; at++) {
        const struct hp_row *row = &index->section->rows[at];
        uint32_t hash;
        size_t slot;
        if (!hp_hash_make_room(&index->hashes))
            return false;
        if (find_row(index, row->parent, row->cells[0].text, &hash, &slot) == 0)
            hp_hash_put(&index->hashes, slot, hash, at + 1);
    }
    return index->hashes.size > 0;
}

/* 0: the section has no such row. */
static uint32_t row_of(const struct row_index *index, const struct hp_tree_node *node, const uint32_t *rows)
{
    uint32_t hash;
    size_t slot;
    const uint32_t parent = node->parent != NULL ? rows[node->parent->index] : 0;
    if (node->parent != NULL && parent == 0)
        return 0;
    return find_row(index, parent, node->site->name, &hash, &slot);
}

/* ----------------------------------------------------------------------------------------------- places */

static void add_place(struct threads *threads, const struct hp_tree_node *node, uint32_t row)
{
    const struct place place = {
        .thread = node->site->thread,
        .row = row,
        .own_ns = hp_units_round(hp_run_ns(threads->profile->run, hp_sums_self(&node->sums))),
        .cpu_ns = threads->cpu != NULL ? hp_cpu_ns(&threads->cpu->nodes[node->index]) : 0,
        .session = node->site->session,
        .site = node->site->id,
    };
    if (row == 0 || place.thread == NULL || (place.own_ns == 0 && place.cpu_ns == 0))
        return;
    struct place *kept = hp_arena_take(threads->model->arena, sizeof *kept);
    if (kept == NULL) {
        threads->has_memory = false;
        return;
    }
    *kept = place;
    threads->places[threads->place_count++] = kept;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    const int order = hp_by_number(x->thread->number, y->thread->number);
    return order != 0 ? order : hp_by_number(x->row, y->row);
}

static void find_places(struct threads *threads, struct row_index *index)
{
    const size_t count = threads->profile->node_count;
    struct hp_arena *arena = threads->model->arena;
    uint32_t *rows = hp_arena_take_array(arena, count + 1, sizeof *rows);
    threads->places = hp_arena_take_array(arena, count + 1, sizeof(void *));
    threads->has_memory = rows != NULL && threads->places != NULL && index_rows(index);
    for (size_t at = 0; threads->has_memory && at < count; at++) {
        const struct hp_tree_node *node = threads->profile->nodes[at];
        rows[at] = row_of(index, node, rows);
        add_place(threads, node, rows[at]);
    }
    hp_sort(threads->places, threads->place_count, compare_places);
}

/* ------------------------------------------------------------------------------------------------ waits */

/*
 * Waits are known by function and cause, and by thread and cause. What a thread waited for in a function is fitted
 * to both, for each cause alone: at first it is its time off CPU there; then, in turns, it is scaled to the sums of
 * the functions and to those of the threads. The time of a thread outside of all functions is one more place.
 */
struct cell {
    uint32_t site, thread;
    double off_ns; /* time off CPU */
    double ns;     /* of the current cause */
};

struct fitting {
    struct cell *cells; /* of the places, then of the threads outside of all functions */
    size_t count;
    struct hp_pair_table numbers; /* sites by session and id; the first is outside of all */
    struct hp_site_waits *sites;
    const struct hp_thread_usage_member **members; /* by thread; NULL: what it waited for in all is unknown */
    size_t thread_count;
    double *site_sums, *thread_sums;
};

/* Only threads that were watched alone under this id. */
static const struct hp_thread_usage_member *find_member(const struct hp_run_thread_usage *usage,
                                                        const struct hp_thread_label *label)
{
    const struct hp_thread_usage_member *found = NULL;
    for (size_t at = 0; usage != NULL && at < usage->count; at++) {
        const struct hp_thread_usage_member *member = usage->all[at];
        if (!member->is_watched || member->label->pid != label->pid || member->label->tid != label->tid)
            continue;
        if (found != NULL || member->label->threads != 1)
            return NULL;
        found = member;
    }
    return found;
}

static void add_cell(struct fitting *fitting, uint32_t site, double off_ns)
{
    fitting->cells[fitting->count++] =
        (struct cell){.site = site, .thread = (uint32_t)fitting->thread_count, .off_ns = off_ns > 0 ? off_ns : 0};
}

static bool make_cells(struct fitting *fitting, const struct threads *threads)
{
    const struct place *const *places = (const struct place *const *)threads->places;
    const struct hp_run_thread_usage *usage =
        hp_run_has_thread_usage(&threads->model->run) ? hp_model_thread_usage(threads->model) : NULL;
    struct hp_arena *arena = threads->model->arena;
    fitting->cells = hp_arena_take_array(arena, 2 * threads->place_count + 1, sizeof *fitting->cells);
    fitting->members = hp_arena_take_array(arena, threads->place_count + 1, sizeof(void *));
    double *outside_ns = hp_arena_take_array(arena, threads->place_count + 1, sizeof *outside_ns);
    if (fitting->cells == NULL || fitting->members == NULL || outside_ns == NULL ||
        hp_pair_table_put(&fitting->numbers, UINT32_MAX, UINT32_MAX) == HP_NO_PAIR)
        return false;
    for (size_t at = 0; at < threads->place_count; at++) {
        const uint32_t site = hp_pair_table_put(&fitting->numbers, places[at]->session, places[at]->site);
        if (site == HP_NO_PAIR)
            return false;
        if (at == 0 || places[at]->thread->number != places[at - 1]->thread->number) {
            fitting->thread_count += at > 0;
            const struct hp_thread_usage_member *member = find_member(usage, places[at]->thread);
            fitting->members[fitting->thread_count] = member;
            if (member != NULL)
                outside_ns[fitting->thread_count] =
                    (double)member->lived_ns - (double)hp_thread_usage_cpu_ns(member);
        }
        const double off_ns = (double)hp_less(places[at]->own_ns, places[at]->cpu_ns);
        add_cell(fitting, site, off_ns);
        outside_ns[fitting->thread_count] -= off_ns;
    }
    const size_t last = fitting->thread_count;
    for (fitting->thread_count = 0; threads->place_count > 0 && fitting->thread_count <= last;
         fitting->thread_count++)
        add_cell(fitting, 0, outside_ns[fitting->thread_count]);
    return true;
}

static bool read_sites(struct fitting *fitting, const struct threads *threads, const struct hp_run_waits *waits)
{
    struct hp_arena *arena = threads->model->arena;
    const size_t count = fitting->numbers.count;
    fitting->sites = hp_arena_take_array(arena, count, sizeof *fitting->sites);
    fitting->site_sums = hp_arena_take_array(arena, count, sizeof *fitting->site_sums);
    fitting->thread_sums = hp_arena_take_array(arena, fitting->thread_count + 1, sizeof *fitting->thread_sums);
    if (fitting->sites == NULL || fitting->site_sums == NULL || fitting->thread_sums == NULL)
        return false;
    hp_waits_of_site(waits, NULL, &fitting->sites[0]);
    for (size_t at = 1; at < count; at++) {
        const struct hp_pair *site = &fitting->numbers.all[at];
        const struct hp_site_sums *named = hp_profile_site(threads->model->profile, site->first, site->second);
        if (named != NULL)
            hp_waits_of_site(waits, named, &fitting->sites[at]);
    }
    return true;
}

static void sum_up(struct fitting *fitting)
{
    memset(fitting->site_sums, 0, fitting->numbers.count * sizeof *fitting->site_sums);
    memset(fitting->thread_sums, 0, fitting->thread_count * sizeof *fitting->thread_sums);
    for (size_t at = 0; at < fitting->count; at++) {
        fitting->site_sums[fitting->cells[at].site] += fitting->cells[at].ns;
        fitting->thread_sums[fitting->cells[at].thread] += fitting->cells[at].ns;
    }
}

static double scaled(double ns, double sum, uint64_t known) { return sum > 0 ? ns * ((double)known / sum) : 0; }

/* Ends with the threads, so that none waits longer than it was seen waiting. */
static void fit(struct fitting *fitting, uint32_t cause)
{
    for (size_t at = 0; at < fitting->count; at++)
        fitting->cells[at].ns = fitting->cells[at].off_ns;
    for (unsigned round = 0; round < ROUNDS; round++) {
        sum_up(fitting);
        for (size_t at = 0; at < fitting->count; at++) {
            struct cell *cell = &fitting->cells[at];
            cell->ns = scaled(cell->ns, fitting->site_sums[cell->site], fitting->sites[cell->site].by_cause[cause]);
        }
        sum_up(fitting);
        for (size_t at = 0; at < fitting->count; at++) {
            struct cell *cell = &fitting->cells[at];
            const struct hp_thread_usage_member *member = fitting->members[cell->thread];
            if (member != NULL)
                cell->ns = scaled(cell->ns, fitting->thread_sums[cell->thread], member->waited_ns[cause]);
        }
    }
}

static bool keep(const struct fitting *fitting, struct threads *threads, uint32_t cause)
{
    for (size_t at = 0; at < threads->place_count; at++) {
        struct hp_node_waits *waits = threads->places[at]->waits;
        const uint64_t ns = hp_units_round(fitting->cells[at].ns);
        if (ns == 0)
            continue;
        if (waits == NULL && (waits = hp_arena_take(threads->model->arena, sizeof *waits)) == NULL)
            return false;
        waits->by_cause[cause] = ns;
        threads->places[at]->waits = waits;
    }
    return true;
}

static void find_waits(struct threads *threads)
{
    struct fitting fitting = {0};
    const struct hp_run_waits *waits = hp_model_waits(threads->model);
    threads->has_memory = waits != NULL && make_cells(&fitting, threads) && read_sites(&fitting, threads, waits);
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES && threads->has_memory; cause++) {
        uint64_t seen_ns = 0;
        for (size_t at = 0; at < fitting.numbers.count; at++)
            seen_ns += fitting.sites[at].by_cause[cause];
        if (seen_ns == 0)
            continue;
        fit(&fitting, cause);
        threads->has_memory = keep(&fitting, threads, cause);
    }
    hp_pair_table_free(&fitting.numbers);
}

static int compare_times(const void *a, const void *b)
{
    const struct thread *x = a, *y = b;
    const int order = hp_by_number(y->own_ns, x->own_ns);
    return order != 0 ? order : hp_by_number(x->places[0]->thread->number, y->places[0]->thread->number);
}

static void find_threads(struct threads *threads)
{
    struct hp_arena *arena = threads->model->arena;
    threads->all = hp_arena_take_array(arena, threads->place_count + 1, sizeof(void *));
    threads->has_memory &= threads->all != NULL;
    for (size_t at = 0, end; threads->has_memory && at < threads->place_count; at = end) {
        struct thread *thread = hp_arena_take(arena, sizeof *thread);
        if (thread == NULL) {
            threads->has_memory = false;
            return;
        }
        *thread = (struct thread){.places = (const struct place *const *)&threads->places[at]};
        for (end = at; end < threads->place_count &&
                       threads->places[end]->thread->number == threads->places[at]->thread->number;
             end++)
            thread->own_ns += threads->places[end]->own_ns;
        thread->count = end - at;
        threads->all[threads->count++] = thread;
    }
    hp_sort(threads->all, threads->count, compare_times);
    if (threads->count > MOST_THREADS)
        threads->count = MOST_THREADS;
}

/* ------------------------------------------------------------------------------------------------- JSON */

static bool has_waited(const struct thread *thread, uint32_t cause)
{
    for (size_t at = 0; at < thread->count; at++)
        if (thread->places[at]->waits != NULL && thread->places[at]->waits->by_cause[cause] > 0)
            return true;
    return false;
}

static bool put_waits(struct hp_json *json, const struct thread *thread, struct hp_page_column *column)
{
    bool has_memory = true;
    hp_json_key(json, "waits");
    hp_json_begin_object(json);
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES && has_memory; cause++) {
        if (!has_waited(thread, cause))
            continue;
        for (size_t at = 0; at < thread->count; at++)
            hp_page_column_add(column,
                               thread->places[at]->waits != NULL ? thread->places[at]->waits->by_cause[cause] : 0);
        has_memory = hp_page_column_put(column, json, hp_wait_cause_name(cause));
    }
    hp_json_end_object(json);
    return has_memory;
}

/* Rows as distances from the one before, which are short. */
static bool put_thread(struct hp_json *json, const struct threads *threads, const struct thread *thread,
                       struct hp_page_column *column)
{
    const struct hp_thread_label *label = thread->places[0]->thread;
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", label->name);
    hp_json_put_u64(json, "pid", label->pid);
    hp_json_put_u64(json, "tid", label->tid);
    hp_json_put_u64(json, "count", thread->count);
    for (size_t at = 0; at < thread->count; at++)
        hp_page_column_add(column, thread->places[at]->row - (at > 0 ? thread->places[at - 1]->row : 0));
    bool has_memory = hp_page_column_put(column, json, "rows");
    for (size_t at = 0; at < thread->count; at++)
        hp_page_column_add(column, thread->places[at]->own_ns);
    has_memory &= hp_page_column_put(column, json, "own");
    for (size_t at = 0; at < thread->count && threads->cpu != NULL; at++)
        hp_page_column_add(column, thread->places[at]->cpu_ns);
    if (threads->cpu != NULL)
        has_memory &= hp_page_column_put(column, json, "cpu");
    if (threads->has_waits)
        has_memory &= put_waits(json, thread, column);
    hp_json_end_object(json);
    return has_memory;
}

static bool put_threads(struct hp_json *json, const struct threads *threads)
{
    struct hp_page_column column;
    bool has_memory = hp_page_column_begin(&column, threads->place_count);
    hp_json_begin_array(json);
    for (size_t at = 0; at < threads->count && has_memory; at++)
        has_memory = put_thread(json, threads, threads->all[at], &column);
    hp_json_end_array(json);
    hp_page_column_free(&column);
    return has_memory;
}

static const struct hotpath_section *call_tree(const hotpath_results *results)
{
    for (size_t at = 0; at < results->section_count; at++)
        if (strcmp(results->sections[at]->name, "calltree") == 0)
            return results->sections[at];
    return NULL;
}

static size_t count_records(const struct hp_forest *forest)
{
    size_t count = 0;
    for (size_t at = 0; at < forest->tree_count; at++)
        count += forest->trees[at]->count;
    return count;
}

/* The numbers of a time range are not known by thread. */
static bool is_known(const struct hp_model *model, const struct hotpath_section *section, bool is_served)
{
    return section != NULL && section->row_count > 0 && model->run.range == NULL &&
           count_records(&model->profile->forest) <= (is_served ? MOST_SERVED_RECORDS : MOST_RECORDS);
}

bool hp_page_put_threads(struct hp_json *json, const hotpath_results *results, bool is_served)
{
    struct hp_model *model = results->model;
    struct row_index index = {.section = call_tree(results)};
    struct threads threads = {.model = model, .has_memory = true, .has_waits = hp_run_has_waits(&model->run)};
    if (is_known(model, index.section, is_served)) {
        threads.profile = hp_model_by_thread(model);
        threads.cpu = hp_run_has_cpu(&model->run) ? hp_model_cpu_by_thread(model) : NULL;
        threads.has_memory = threads.profile != NULL && (threads.cpu != NULL || !hp_run_has_cpu(&model->run));
        if (threads.has_memory)
            find_places(&threads, &index);
        if (threads.has_memory && threads.has_waits)
            find_waits(&threads);
        if (threads.has_memory)
            find_threads(&threads);
    }
    const bool has_written = put_threads(json, &threads);
    hp_hash_free(&index.hashes);
    return threads.has_memory && has_written;
}
