/* The sessions being served. SPDX-License-Identifier: MIT */
#include "served.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "demangle.h"
#include "function_sums.h"
#include "page.h"
#include "text.h"
#include "weight_sources.h"

/* ------------------------------------------------------------------------------------------------------- served */

#define SETTLING_NS 3000000000u /* after the end of a program, new data may arrive for this long */

static void forget_stacks(struct hp_served *served)
{
    hp_weighted_free(&served->weighted);
    hp_function_sums_free(&served->functions);
    hp_named_stacks_free(&served->named);
    served->has_stacks = false;
}

static void close_one(struct hp_served *served)
{
    if (!served->is_open)
        return;
    hp_reader_close(&served->reader);
    forget_stacks(served);
    hp_side_watch_free(&served->sides);
    hp_body_free(&served->data);
    hp_metric_points_free(&served->metric_points);
    hp_metric_sums_free(&served->metric_sums);
    served->is_open = false;
}

static void open_one(struct hp_served *served, const char *path)
{
    memset(served, 0, sizeof *served);
    memcpy(served->path, path, strlen(path) + 1);
    hp_reader_open(&served->reader, hp_demangle);
    served->is_open = true;
}

void hp_serving_free(struct hp_serving *serving)
{
    for (size_t at = 0; at < HP_SERVED_MOST; at++)
        if (serving->served[at] != NULL) {
            close_one(serving->served[at]);
            free(serving->served[at]);
            serving->served[at] = NULL;
        }
    hp_host_metrics_free(&serving->host_metrics);
}

/* ------------------------------------------------------------------------------------------------ reading */

bool hp_serving_read(const struct hp_serving *serving, const char *path, struct hp_reader *ret_reader)
{
    struct hp_sessions parts = {0};
    hp_reader_open(ret_reader, hp_demangle);
    if (serving->source->parts(&parts, path))
        for (size_t at = 0; at < parts.count; at++)
            hp_reader_add(ret_reader, parts.all[at].path);
    hp_sessions_free(&parts);
    return ret_reader->count > 0 && hp_reader_refresh(ret_reader);
}

static bool has_session(const struct hp_reader *reader, const char *path)
{
    for (size_t at = 0; at < reader->count; at++)
        if (strcmp(reader->sessions[at]->path, path) == 0)
            return true;
    return false;
}

/* Processes of a run appear one after the other. True: there are new ones. */
static bool add_parts(struct hp_serving *serving, struct hp_served *served)
{
    struct hp_sessions parts = {0};
    const size_t before = served->reader.count;
    if (serving->source->parts(&parts, served->path))
        for (size_t at = 0; at < parts.count; at++)
            if (!has_session(&served->reader, parts.all[at].path))
                hp_reader_add(&served->reader, parts.all[at].path);
    hp_sessions_free(&parts);
    return served->reader.count > before;
}

/* Stacks are written while a run goes on, and at its end. True: they are others than before. */
static bool read_stacks(struct hp_served *served)
{
    struct hp_named_stacks named;
    if (!hp_stack_watch_look(&served->watch, served->path, &named))
        return false;
    forget_stacks(served);
    served->named = named;
    served->weighted = hp_page_weighted();
    served->has_stacks = hp_function_sums_make(&served->named, &served->functions) &&
                         hp_stack_weights_add(&served->weighted, &served->named);
    hp_reader_model(&served->reader)->functions = served->has_stacks ? &served->functions : NULL;
    return served->has_stacks;
}

/* Locks and I/O are counted in files that are read at any time; how a run ended is written when it has. */
static void read_sides(struct hp_serving *serving, struct hp_served *served)
{
    struct hp_model *model = hp_reader_model(&served->reader);
    serving->source->take_facts(model, served->path, &served->facts);
    hp_side_watch_look_at(&served->sides, served->path, model->run.sessions[0]->header.pid);
    model->locks = served->sides.locks;
    model->io = served->sides.io;
}

/* False: *ret_problem says why. */
static bool read_all(struct hp_served *served, const char **ret_problem)
{
    if (served->reader.count == 0) {
        *ret_problem = served->reader.problem[0] != '\0' ? served->reader.problem : "this run has no session yet";
        return false;
    }
    if (!hp_reader_refresh(&served->reader)) {
        *ret_problem = served->reader.problem;
        return false;
    }
    served->is_live = hp_run_state(&hp_reader_model(&served->reader)->run) == HP_SNAPSHOT_RUNNING;
    return true;
}

/*
 * Reading a live program leaves traces: floors keep its counters from falling. And the observer writes its last
 * numbers after the program's end. So after the end everything is read again from scratch, as for a report.
 */
static bool read_from_the_beginning(struct hp_serving *serving, struct hp_served *served, const char **ret_problem)
{
    hp_reader_close(&served->reader);
    hp_reader_open(&served->reader, hp_demangle);
    hp_reader_model(&served->reader)->functions = served->has_stacks ? &served->functions : NULL;
    add_parts(serving, served);
    return read_all(served, ret_problem);
}

bool hp_served_refresh(struct hp_serving *serving, struct hp_served *served, const char **ret_problem)
{
    const bool is_first = served->generation == 0, was_live = served->is_live;
    bool has_more = read_stacks(served);
    if (is_first || was_live) {
        has_more |= add_parts(serving, served);
        if (!read_all(served, ret_problem))
            return false;
    }
    if (!is_first && !served->is_live && !read_from_the_beginning(serving, served, ret_problem))
        return false;
    read_sides(serving, served);
    const uint64_t now = hp_clock_monotonic_ns();
    served->ended_ns = served->is_live ? 0 : was_live ? now : served->ended_ns;
    const bool is_settling = served->ended_ns != 0 && now - served->ended_ns < SETTLING_NS;
    served->generation += is_first || was_live || has_more || is_settling;
    return true;
}

/* ------------------------------------------------------------------------------------------------ finding */

/* An open session, or the slot of the one not requested for the longest time. NULL: no memory. */
static struct hp_served *take(struct hp_serving *serving, const char *path)
{
    struct hp_served **oldest = &serving->served[0];
    for (size_t at = 0; at < HP_SERVED_MOST; at++) {
        struct hp_served **one = &serving->served[at];
        if (*one == NULL) {
            *one = calloc(1, sizeof **one);
            oldest = one;
            break;
        }
        if ((*one)->is_open && strcmp((*one)->path, path) == 0)
            return *one;
        if ((*one)->used_ns < (*oldest)->used_ns)
            oldest = one;
    }
    if (*oldest == NULL)
        return NULL;
    close_one(*oldest);
    open_one(*oldest, path);
    return *oldest;
}

/* False: there is no such session. */
static bool find_path(struct hp_serving *serving, const char *name, char *path, size_t size)
{
    struct hp_sessions programs = {0};
    const struct hp_stored_session *found = NULL;
    if (name[0] == '\0' && serving->usual != NULL) {
        if (strlen(serving->usual) >= size)
            return false;
        memcpy(path, serving->usual, strlen(serving->usual) + 1);
        return true;
    }
    if (serving->usual != NULL && hp_session_is_called(serving->usual, name))
        return find_path(serving, "", path, size);
    serving->source->list(serving->source->context, &programs);
    for (size_t at = 0; at < programs.count && found == NULL; at++)
        if (name[0] == '\0' || hp_session_is_called(programs.all[at].path, name))
            found = &programs.all[at];
    if (found != NULL)
        memcpy(path, found->path, strlen(found->path) + 1);
    hp_sessions_free(&programs);
    return found != NULL;
}

struct hp_served *hp_serving_find(struct hp_serving *serving, const char *name, const char **ret_problem)
{
    char path[sizeof serving->served[0]->path];
    *ret_problem = name[0] != '\0'
                       ? "no session of that name; see / for a list"
                       : "no session yet: run a program with 'hotpath run', or one built with -DHOTPATH";
    if (!find_path(serving, name, path, sizeof path))
        return NULL;
    struct hp_served *served = take(serving, path);
    *ret_problem = "not enough memory for another session";
    if (served == NULL)
        return NULL;
    served->used_ns = hp_clock_monotonic_ns();
    return hp_served_refresh(serving, served, ret_problem) ? served : NULL;
}

struct hp_served *hp_serving_watch(struct hp_serving *serving, const char *path, uint64_t round)
{
    const char *problem;
    struct hp_served *served = take(serving, path);
    if (served == NULL)
        return NULL;
    served->used_ns = hp_clock_monotonic_ns();
    if (served->round == round)
        return served->generation > 0 ? served : NULL;
    served->round = round;
    return hp_served_refresh(serving, served, &problem) ? served : NULL;
}

bool hp_serving_restarted(struct hp_serving *serving, struct hp_served *served,
                          struct hp_stored_session *ret_session)
{
    struct hp_sessions programs = {0};
    const struct hp_snapshot *first = hp_reader_model(&served->reader)->run.sessions[0];
    const char *command = hp_snapshot_text(first, first->header.command);
    serving->source->list(serving->source->context, &programs);
    const struct hp_stored_session *found =
        hp_sessions_restarted(&programs, served->path, command, first->header.wall_start_ns);
    if (found != NULL)
        *ret_session = *found;
    hp_sessions_free(&programs);
    return found != NULL;
}

const struct hp_body *hp_served_page_data(struct hp_serving *serving, struct hp_served *served)
{
    char buffer[4096];
    struct hp_text text;
    if (served->data_generation == served->generation)
        return &served->data;
    hp_body_empty(&served->data);
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &served->data);
    served->named.began_ns = hp_reader_model(&served->reader)->run.start_ns;
    const bool has_memory = hp_page_write_data(hp_reader_model(&served->reader), serving->settings,
                                               &(struct hp_page_content){.is_served = true,
                                                                         .session = hp_text_base_name(served->path),
                                                                         .weighted = &served->weighted,
                                                                         .named = &served->named},
                                               &text);
    if (!hp_text_finish(&text) || !has_memory)
        return NULL;
    served->data_generation = served->generation;
    return &served->data;
}
