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
#include "page_column.h"
#include "profile.h"
#include "section.h"
#include "sort.h"
#include "units.h"
#include "wait_profile.h"

#define MOST_THREADS 256u
#define MOST_RECORDS 400000u             /* of all threads: what takes a second or two, and three megabytes */
#define MOST_SERVED_RECORDS 20000u       /* the same of a page that is made again and again */
#define MOST_SEARCHES UINT64_C(20000000) /* of a tree for the node of a wait: a broken file may have many of both */

/* What a thread has in a row itself. */
struct place {
    const struct hp_thread_label *thread;
    uint32_t row; /* from 1 */
    uint64_t own_ns, cpu_ns;
    const struct hp_node_waits *waits; /* NULL: none was seen */
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

static size_t slot_of(const struct row_index *index, uint32_t parent, const char *name, uint32_t *ret_hash)
{
    const struct hp_hash_index *hashes = &index->hashes;
    const uint32_t hash = hp_hash_with_text(hashes, hp_hash_with(hashes, 0, parent), name);
    size_t slot = hp_hash_first(hashes, hash);
    for (; hashes->slots[slot].number != 0; slot = hp_hash_next(hashes, slot)) {
        const struct hp_row *row = &index->section->rows[hashes->slots[slot].number - 1];
        if (hashes->slots[slot].hash == hash && row->parent == parent && strcmp(row->cells[0].text, name) == 0)
            break;
    }
    *ret_hash = hash;
    return slot;
}

static bool index_rows(struct row_index *index)
{
    for (uint32_t at = 0; at < index->section->row_count; at++) {
        const struct hp_row *row = &index->section->rows[at];
        uint32_t hash;
        if (!hp_hash_make_room(&index->hashes))
            return false;
        const size_t slot = slot_of(index, row->parent, row->cells[0].text, &hash);
        if (index->hashes.slots[slot].number == 0)
            hp_hash_put(&index->hashes, slot, hash, at + 1);
    }
    return index->hashes.size > 0;
}

/* 0: the section has no such row. */
static uint32_t row_of(const struct row_index *index, const struct hp_tree_node *node, const uint32_t *rows)
{
    uint32_t hash;
    const uint32_t parent = node->parent != NULL ? rows[node->parent->index] : 0;
    if (node->parent != NULL && parent == 0)
        return 0;
    return index->hashes.slots[slot_of(index, parent, node->site->name, &hash)].number;
}

/* ------------------------------------------------------------------------------------------------ waits */

/* As they were seen. The page fits them into the time of their function. */
static void find_waits(struct threads *threads, struct hp_node_waits **waits)
{
    const struct hp_run *run = threads->profile->run;
    uint64_t searches_left = MOST_SEARCHES;
    for (uint32_t session = 0; session < run->count; session++) {
        struct hp_walk walk = {0};
        for (struct hp_wait wait; hp_snapshot_next_wait(run->sessions[session], &walk, &wait);) {
            const struct hp_tree_node *node =
                hp_forest_find(&threads->profile->forest, session, wait.node, &searches_left);
            if (node == NULL || wait.cause >= HP_WAIT_CAUSES)
                continue;
            struct hp_node_waits **its = &waits[node->index];
            if (*its == NULL && (*its = hp_arena_take(threads->model->arena, sizeof **its)) == NULL) {
                threads->has_memory = false;
                return;
            }
            (*its)->by_cause[wait.cause] += wait.ns;
        }
    }
}

/* ----------------------------------------------------------------------------------------------- places */

static void add_place(struct threads *threads, const struct hp_tree_node *node, uint32_t row,
                      const struct hp_node_waits *waits)
{
    const struct place place = {
        .thread = node->site->thread,
        .row = row,
        .own_ns = hp_units_round(hp_run_ns(threads->profile->run, hp_sums_self(&node->sums))),
        .cpu_ns = threads->cpu != NULL ? hp_cpu_ns(&threads->cpu->nodes[node->index]) : 0,
        .waits = waits,
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
    struct hp_node_waits **waits = hp_arena_take_array(arena, count + 1, sizeof(void *));
    threads->places = hp_arena_take_array(arena, count + 1, sizeof(void *));
    threads->has_memory = rows != NULL && waits != NULL && threads->places != NULL && index_rows(index);
    if (threads->has_memory && threads->has_waits)
        find_waits(threads, waits);
    for (size_t at = 0; threads->has_memory && at < count; at++) {
        const struct hp_tree_node *node = threads->profile->nodes[at];
        rows[at] = row_of(index, node, rows);
        add_place(threads, node, rows[at], waits[at]);
    }
    hp_sort(threads->places, threads->place_count, compare_places);
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

/* The numbers of a stretch are not known by thread. */
static bool is_known(const struct hp_model *model, const struct hotpath_section *section, bool is_served)
{
    return section != NULL && section->row_count > 0 && model->run.stretch == NULL &&
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
        if (threads.has_memory)
            find_threads(&threads);
    }
    const bool has_written = put_threads(json, &threads);
    hp_hash_free(&index.hashes);
    return threads.has_memory && has_written;
}
