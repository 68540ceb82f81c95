/* Profiles that a collector fetches. SPDX-License-Identifier: MIT */
#include "pull.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "clock.h"
#include "export.h"
#include "session_dirs.h"
#include "stack_range.h"
#include "text.h"
#include "units.h"
#include "weight_sources.h"

#define PATIENCE_NS UINT64_C(4000000000) /* stacks are named once a second; a busy machine may be late */

/* A session that runs, or has run in these seconds. */
struct pulled {
    char path[2048];
    struct hp_reader before, after; /* measured functions at both ends; one that began later has no `before` */
    struct hp_stack_watch watch;
    struct hp_named_stacks named, range;
    bool has_before, has_after, has_stacks;
};

struct hp_pull {
    struct hp_serving *serving;
    enum hp_route route;
    uint32_t service;        /* 0: it is one session */
    uint64_t began_ns;       /* by CLOCK_REALTIME */
    uint64_t from_ns, to_ns; /* by CLOCK_MONOTONIC */
    struct pulled sessions[HP_HOST_SESSIONS];
    size_t count, left_out;
    bool is_over; /* the second reading was made */
    struct hp_weighted weighted;
};

/* What a path is about, by stacks; and by measured functions, where there are none. */
static const struct {
    enum hp_dimension stacks, zones;
} kinds[HP_ROUTES] = {
    [HP_ROUTE_PULL_CPU] = {HP_OF_CPU, HP_OF_ZONE_CPU},
    [HP_ROUTE_PULL_WAITS] = {HP_OF_WAITS, HP_OF_ZONE_WAITS},
    [HP_ROUTE_PULL_ALLOCS] = {HP_OF_ALLOC, HP_OF_ZONE_ALLOC},
    [HP_ROUTE_PULL_HEAP] = {HP_OF_ALLOC_LEFT, HP_OF_ALLOC_LEFT},
    [HP_ROUTE_PULL_ZONES] = {HP_OF_ZONES, HP_OF_ZONES},
};

/* ---------------------------------------------------------------------------------------------------- beginning */

/* NULL: its path is too long, or there are too many. */
static struct pulled *take_session(struct hp_pull *pull, const char *path)
{
    struct pulled *session = &pull->sessions[pull->count];
    if (pull->count == HP_HOST_SESSIONS || strlen(path) >= sizeof session->path)
        return NULL;
    memcpy(session->path, path, strlen(path) + 1);
    return session;
}

static void add_session(struct hp_pull *pull, const char *path)
{
    struct pulled *session = take_session(pull, path);
    if (session == NULL)
        return;
    session->has_before = hp_serving_read(pull->serving, path, &session->before) &&
                          hp_run_state(&hp_reader_model(&session->before)->run) == HP_SNAPSHOT_RUNNING;
    pull->count += session->has_before;
    if (!session->has_before)
        hp_reader_close(&session->before);
}

/* Those of the service; without one the session that is meant by other addresses, too. */
static const char *add_sessions(struct hp_pull *pull, const struct hp_request *request)
{
    const char *problem;
    struct hp_host_sessions found;
    struct hp_serving *serving = pull->serving;
    if (request->service[0] == '\0') {
        const struct hp_served *served = hp_serving_find(serving, request->session, &problem);
        if (served == NULL)
            return problem;
        add_session(pull, served->path);
        return NULL;
    }
    if (!hp_host_metrics_refresh(&serving->host_metrics, serving->source, serving->settings))
        return "not enough memory for another session";
    pull->service = hp_host_metrics_service(&serving->host_metrics, request->service);
    if (pull->service == 0)
        return "no service or session of that name; see / for a list";
    hp_host_metrics_sessions(&serving->host_metrics, pull->service, UINT64_MAX, &found);
    for (size_t at = 0; at < found.count; at++)
        add_session(pull, found.paths[at]);
    pull->left_out = found.left_out;
    return NULL;
}

static bool is_known_session(const struct hp_pull *pull, const char *path)
{
    for (size_t at = 0; at < pull->count; at++)
        if (strcmp(pull->sessions[at].path, path) == 0)
            return true;
    return false;
}

/* Those of the service that began in the meantime: all they did is of these seconds. */
static void add_later_sessions(struct hp_pull *pull)
{
    struct hp_host_sessions found;
    struct hp_serving *serving = pull->serving;
    if (pull->service == 0 || !hp_host_metrics_refresh(&serving->host_metrics, serving->source, serving->settings))
        return;
    hp_host_metrics_sessions(&serving->host_metrics, pull->service, pull->began_ns, &found);
    for (size_t at = 0; at < found.count; at++) {
        if (is_known_session(pull, found.paths[at]))
            continue;
        if (take_session(pull, found.paths[at]) != NULL)
            pull->count++;
        else
            found.left_out++;
    }
    pull->left_out = found.left_out > pull->left_out ? found.left_out : pull->left_out;
}

static bool read_seconds(const char *text, uint64_t *ret_seconds)
{
    *ret_seconds = HP_PULL_USUAL_S;
    return text[0] == '\0' ||
           (hp_number_unsigned(text, strlen(text), HP_PULL_MOST_S, ret_seconds) && *ret_seconds > 0);
}

struct hp_pull *hp_pull_begin(struct hp_serving *serving, const struct hp_request *request,
                              const char **ret_problem, unsigned *ret_status)
{
    uint64_t seconds;
    *ret_status = 400;
    *ret_problem = "seconds is a number from 1 to 120";
    if (!read_seconds(request->seconds, &seconds))
        return NULL;
    struct hp_pull *pull = calloc(1, sizeof *pull);
    *ret_status = 503;
    *ret_problem = "hotpath serve is out of memory";
    if (pull == NULL)
        return NULL;
    pull->serving = serving;
    pull->route = request->route;
    *ret_problem = add_sessions(pull, request);
    *ret_status = 404;
    if (*ret_problem == NULL && pull->count == 0)
        *ret_problem = "no running session of that name; see / for a list";
    if (*ret_problem != NULL) {
        hp_pull_free(pull);
        return NULL;
    }
    pull->began_ns = hp_clock_wall_ns();
    pull->from_ns = hp_clock_monotonic_ns();
    pull->to_ns = pull->from_ns + seconds * UINT64_C(1000000000);
    hp_pull_is_ready(pull); /* from now on stacks are wanted */
    return pull;
}

void hp_pull_free(struct hp_pull *pull)
{
    if (pull == NULL)
        return;
    hp_weighted_free(&pull->weighted);
    for (size_t at = 0; at < pull->count; at++) {
        struct pulled *session = &pull->sessions[at];
        hp_reader_close(&session->before);
        hp_reader_close(&session->after);
        hp_named_stacks_free(&session->range);
        hp_named_stacks_free(&session->named);
    }
    free(pull);
}

/* ------------------------------------------------------------------------------------------------------ waiting */

static struct hp_model *model_of(struct pulled *session)
{
    return session->has_before  ? hp_reader_model(&session->before)
           : session->has_after ? hp_reader_model(&session->after)
                                : NULL;
}

static void look(struct pulled *session)
{
    struct hp_named_stacks named;
    if (model_of(session) == NULL || !hp_stack_watch_look(&session->watch, session->path, &named))
        return;
    hp_named_stacks_free(&session->named);
    session->named = named;
    session->named.began_ns = model_of(session)->run.start_ns;
    session->has_stacks = true;
}

/* Whether there is nothing to wait for: its stacks are known up to the end, or will not be. */
static bool is_known(struct pulled *session, uint64_t to_ns)
{
    if (model_of(session) == NULL || session->watch.is_final || !hp_text_has_suffix(session->path, HP_RUN_SUFFIX))
        return true;
    return session->has_stacks && session->named.began_ns + hp_named_stacks_known_ns(&session->named) >= to_ns;
}

bool hp_pull_is_ready(struct hp_pull *pull)
{
    const uint64_t now = hp_clock_monotonic_ns();
    bool is_ready = true;
    if (now >= pull->to_ns && !pull->is_over) {
        add_later_sessions(pull);
        for (size_t at = 0; at < pull->count; at++)
            pull->sessions[at].has_after =
                hp_serving_read(pull->serving, pull->sessions[at].path, &pull->sessions[at].after);
        pull->is_over = true;
    }
    for (size_t at = 0; at < pull->count; at++) {
        look(&pull->sessions[at]);
        is_ready &= is_known(&pull->sessions[at], pull->to_ns);
    }
    return now >= pull->to_ns && (is_ready || now >= pull->to_ns + PATIENCE_NS);
}

/* ------------------------------------------------------------------------------------------------------ writing */

/* Never freed is what is live now: that is known of the whole run only. */
static bool add_stacks(struct hp_pull *pull, struct pulled *session)
{
    struct hp_named_stacks *named = &session->named;
    const uint64_t began = named->began_ns, from = pull->from_ns > began ? pull->from_ns : began;
    if (!session->has_stacks)
        return true;
    if (pull->route == HP_ROUTE_PULL_HEAP)
        return hp_stack_weights_add(&pull->weighted, named);
    if (pull->to_ns <= from || !hp_named_stacks_have_ranges(named))
        return true;
    return hp_named_stacks_between(named, from - began, pull->to_ns - began, &session->range) &&
           hp_stack_weights_add(&pull->weighted, &session->range);
}

/* All that stands in the tree becomes what is to be taken off. */
struct taken_off {
    uint64_t *own[HP_DIMENSIONS], *counts[HP_DIMENSIONS];
    size_t room[HP_DIMENSIONS];
};

static void take_off(struct hp_weights *weights, const uint64_t *own, const uint64_t *counts, size_t room)
{
    weights->total = weights->counted = 0;
    for (size_t node = 0; node < weights->room; node++) {
        if (node < room && own != NULL) {
            weights->own[node] = hp_less(weights->own[node], own[node]);
            weights->counts[node] = hp_less(weights->counts[node], counts[node]);
        }
        weights->total += weights->own[node];
        weights->counted += weights->counts[node];
    }
}

static uint64_t *copy_and_clear(uint64_t *numbers, size_t count)
{
    uint64_t *copy = malloc((count + 1) * sizeof *copy);
    if (copy != NULL && count > 0) {
        memcpy(copy, numbers, count * sizeof *copy);
        memset(numbers, 0, count * sizeof *copy);
    }
    return copy;
}

/* Measured functions: those of the second reading without those of the first. They are added before stacks. */
static bool add_zones(struct hp_pull *pull)
{
    struct taken_off off = {0};
    struct hp_weighted *weighted = &pull->weighted;
    bool is_done = true;
    for (size_t at = 0; at < pull->count && is_done; at++)
        if (pull->sessions[at].has_before && pull->sessions[at].has_after)
            is_done = hp_zone_weights_add(weighted, hp_reader_model(&pull->sessions[at].before));
    for (size_t at = 0; at < HP_DIMENSIONS && is_done; at++) {
        off.room[at] = weighted->weights[at].room;
        off.own[at] = copy_and_clear(weighted->weights[at].own, off.room[at]);
        off.counts[at] = copy_and_clear(weighted->weights[at].counts, off.room[at]);
        is_done = off.own[at] != NULL && off.counts[at] != NULL;
    }
    for (size_t at = 0; at < pull->count && is_done; at++)
        if (pull->sessions[at].has_after)
            is_done = hp_zone_weights_add(weighted, hp_reader_model(&pull->sessions[at].after));
    for (size_t at = 0; at < HP_DIMENSIONS; at++) {
        if (is_done)
            take_off(&weighted->weights[at], off.own[at], off.counts[at], off.room[at]);
        free(off.own[at]);
        free(off.counts[at]);
    }
    return is_done;
}

/* The dimension that was asked for first; then the others that have something. */
static void choose_dimensions(const struct hp_pull *pull, struct hp_export *export)
{
    const enum hp_dimension stacks = kinds[pull->route].stacks, zones = kinds[pull->route].zones;
    const enum hp_dimension first =
        hp_weighted_has(&pull->weighted, stacks) || !hp_weighted_has(&pull->weighted, zones) ? stacks : zones;
    export->dimensions[export->dimension_count++] = first;
    for (enum hp_dimension at = 0; at < HP_DIMENSIONS; at++)
        if (at != first && hp_weighted_has(&pull->weighted, at))
            export->dimensions[export->dimension_count++] = at;
}

bool hp_pull_write(struct hp_pull *pull, struct hp_body *ret_body)
{
    char buffer[4096], remark[128], program[256];
    struct hp_text text;
    const struct hp_snapshot *first = hp_reader_model(&pull->sessions[0].before)->run.sessions[0];
    const struct hp_export_format *format = hp_export_format_find("pprof");
    const bool hides_texts = pull->serving->host_metrics.hides_texts;
    const char *command = hp_snapshot_text(first, first->header.command);
    hp_metrics_program(program, sizeof program, command);
    pull->weighted.hides_texts = hides_texts;
    pull->weighted.has_lines = format->has_lines;
    pull->weighted.processes = HP_FRAMES_BY_PROGRAM;
    bool has_memory = pull->route == HP_ROUTE_PULL_HEAP || add_zones(pull);
    for (size_t at = 0; at < pull->count && has_memory; at++)
        has_memory = add_stacks(pull, &pull->sessions[at]);
    struct hp_export export = {.weighted = &pull->weighted,
                               .command = hides_texts ? program : command,
                               .pid = first->header.pid,
                               .began_ns = hp_clock_wall_ns() - (hp_clock_monotonic_ns() - pull->from_ns),
                               .elapsed_ns = pull->to_ns - pull->from_ns,
                               .period_ns = pull->sessions[0].named.counts.period_ns};
    if (pull->left_out > 0) {
        snprintf(remark, sizeof remark,
                 "%zu further sessions of the service are left out: %u are collected at most", pull->left_out,
                 HP_HOST_SESSIONS);
        export.remark = remark;
    }
    choose_dimensions(pull, &export);
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, ret_body);
    has_memory = has_memory && format->write(&export, &text);
    return hp_text_finish(&text) && has_memory;
}
