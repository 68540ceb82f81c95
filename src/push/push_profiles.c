/* What each session did since it was looked at last. SPDX-License-Identifier: MIT */
#include "push_profiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "clock.h"
#include "export.h"
#include "growing_array.h"
#include "process.h"
#include "push_sums.h"
#include "session_dirs.h"
#include "stack_watch.h"
#include "text.h"
#include "weight_sources.h"

#define ASKED_MOST 32u                   /* sessions that are asked for stacks at a time ... */
#define LOOK_NS UINT64_C(200000000)      /* ... how often it is looked whether they have answered ... */
#define PATIENCE_NS UINT64_C(6000000000) /* ... and for how long */
#define WORKING_PART 10u                 /* at most one part in this many of the time is spent reading */
#define SUMS_MOST ((size_t)800000)       /* of all sessions: 32 MB */
#define SESSIONS_MOST 11000u             /* as many as have metrics */

enum stage { IS_DONE, IS_WANTED, IS_ASKED }; /* in a round */

/* What it is pushed by: chosen once, or some of it would be pushed twice. */
enum source { UNKNOWN, OF_ZONES, OF_STACKS };

struct hp_push_session {
    char *path;
    uint64_t key; /* what it is known by beside its path, which another may get */
    uint64_t began_ns;
    enum stage stage;
    enum source source;
    bool is_listed, is_known, is_over;
    char service[256]; /* "": not read yet */
    struct hp_stack_watch watch;
    uint64_t asked_ns;
    uint64_t read_ns; /* since the run began: what came before was pushed */
    struct hp_push_sums sums;
};

static uint64_t hash_below(uint64_t above, uint64_t what) { return hp_mixed(above * 31 + what + 1); }

static uint64_t hash_of_text(const char *text) { return hp_text_hash(text, strlen(text)); }

/* ------------------------------------------------------------------------------------------------------- stacks */

/* Numbers of programs and of code of the kernel may be others in the next file: names are the same. */
static uint64_t hash_of_node(const struct hp_named_stacks *stacks, const struct hp_named_node *node)
{
    if (hp_is_process(node))
        return hash_below(hash_of_text(hp_process_program_name(stacks, node)), hp_process_pid(node));
    if (node->image < stacks->image_count)
        return hash_below(hash_of_text(stacks->images[node->image].path), node->place);
    if (node->image == HP_STACK_NO_IMAGE || node->frame_count == 0)
        return hash_below(node->image, node->place);
    return hash_of_text(stacks->functions[stacks->frames[node->first_frame].function].name);
}

/* Leaves in the stacks what is new. False: no memory. */
static bool cut_stacks(struct hp_push_session *session, struct hp_named_stacks *stacks)
{
    struct hp_push_reading reading = {0};
    uint64_t *hashes = calloc(stacks->node_count + 1, sizeof *hashes);
    for (uint32_t at = 1; hashes != NULL && at < stacks->node_count; at++) {
        struct hp_named_node *node = &stacks->nodes[at];
        uint64_t *weight = node->weight;
        hashes[at] = hash_below(hashes[node->parent], hash_of_node(stacks, node));
        hp_push_reading_add(&reading, at, hashes[at],
                            (uint64_t[HP_PUSH_VALUES]){weight[HP_STACK_USER_NS] + weight[HP_STACK_KERNEL_NS],
                                                       weight[HP_STACK_SAMPLES], weight[HP_STACK_WAITED_NS],
                                                       weight[HP_STACK_WAITS]});
        memset(weight, 0, sizeof node->weight);
    }
    const bool is_done = hashes != NULL && hp_push_sums_take(&session->sums, &reading);
    for (size_t at = 0; is_done && at < reading.count; at++) {
        const uint64_t *values = reading.all[at].values;
        uint64_t *weight = stacks->nodes[reading.nodes[at]].weight;
        weight[HP_STACK_USER_NS] = values[HP_PUSH_CPU_NS];
        weight[HP_STACK_SAMPLES] = values[HP_PUSH_CPU_COUNT];
        weight[HP_STACK_WAITED_NS] = values[HP_PUSH_WAITING_NS];
        weight[HP_STACK_WAITS] = values[HP_PUSH_WAITING_COUNT];
    }
    stacks->share_count = 0; /* zones of stacks are not told */
    free(hashes);
    hp_push_reading_free(&reading);
    return is_done;
}

/* ------------------------------------------------------------------------------------------- measured functions */

static const struct {
    enum hp_dimension dimension;
    size_t ns, count;
} zone_values[] = {{HP_OF_ZONE_CPU, HP_PUSH_CPU_NS, HP_PUSH_CPU_COUNT},
                   {HP_OF_ZONE_WAITS, HP_PUSH_WAITING_NS, HP_PUSH_WAITING_COUNT}};

static uint64_t hash_of_function(const struct hp_weighted *weighted, const struct hp_weighted_node *node)
{
    const struct hp_weighted_function *function = &weighted->functions[node->function];
    return hash_below(hash_below(hash_of_text(function->name), hash_of_text(function->file)), node->line);
}

static void set_weights(struct hp_weights *weights, const struct hp_push_reading *reading, size_t ns, size_t count)
{
    weights->total = weights->counted = 0;
    for (size_t at = 0; at < reading->count; at++) {
        const uint32_t node = reading->nodes[at];
        if (node >= weights->room)
            continue;
        weights->total += weights->own[node] = reading->all[at].values[ns];
        weights->counted += weights->counts[node] = reading->all[at].values[count];
    }
}

static bool cut_zones(struct hp_push_session *session, struct hp_weighted *weighted)
{
    struct hp_push_reading reading = {0};
    uint64_t *hashes = calloc(weighted->node_count + 1, sizeof *hashes);
    for (uint32_t at = 1; hashes != NULL && at < weighted->node_count; at++) {
        const struct hp_weighted_node *node = &weighted->nodes[at];
        uint64_t values[HP_PUSH_VALUES];
        hashes[at] = hash_below(hashes[node->parent], hash_of_function(weighted, node));
        for (size_t kind = 0; kind < sizeof zone_values / sizeof zone_values[0]; kind++) {
            const struct hp_weights *weights = &weighted->weights[zone_values[kind].dimension];
            values[zone_values[kind].ns] = hp_weight_own(weights, at);
            values[zone_values[kind].count] = hp_weight_count(weights, at);
        }
        hp_push_reading_add(&reading, at, hashes[at], values);
    }
    const bool is_done = hashes != NULL && hp_push_sums_take(&session->sums, &reading);
    for (size_t kind = 0; is_done && kind < sizeof zone_values / sizeof zone_values[0]; kind++)
        set_weights(&weighted->weights[zone_values[kind].dimension], &reading, zone_values[kind].ns,
                    zone_values[kind].count);
    free(hashes);
    hp_push_reading_free(&reading);
    return is_done;
}

/* ------------------------------------------------------------------------------------------------------ reading */

/* Its runner is there: its stacks may be named again. */
static bool goes_on(const struct hp_push_session *session)
{
    return hp_session_dir_is_of_run(session->path) && !hp_session_dir_is_of_past_run(session->path);
}

static void forget_sums(struct hp_push_profiles *profiles, struct hp_push_session *session)
{
    profiles->sums -= session->sums.count;
    hp_push_sums_free(&session->sums);
}

static void push(struct hp_push_profiles *profiles, const struct hp_push_session *session, struct hp_export *export)
{
    static const enum hp_dimension kinds[][2] = {
        [OF_ZONES] = {HP_OF_ZONE_CPU, HP_OF_ZONE_WAITS}, [OF_STACKS] = {HP_OF_CPU, HP_OF_WAITS}};
    static char buffer[65536];
    struct hp_body body = {0};
    struct hp_text text;
    for (size_t at = 0; at < 2; at++) { /* a wait that has just begun counts, and has no time yet */
        const struct hp_weights *weights = &export->weighted->weights[kinds[session->source][at]];
        if (weights->total > 0 || weights->counted > 0)
            export->dimensions[export->dimension_count++] = kinds[session->source][at];
    }
    if (export->dimension_count == 0)
        return;
    export->service = session->service;
    export->host = profiles->host;
    export->stacks_limit = HP_PUSH_STACKS;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &body);
    if (hp_format_otlp.write(export, &text) && hp_text_finish(&text))
        profiles->sink(profiles->context, body.bytes, body.length);
    hp_body_free(&body);
}

/* What is new since the last reading, if that is asked for. False: no memory. */
static bool push_new(struct hp_push_profiles *profiles, struct hp_push_session *session, struct hp_model *model,
                     struct hp_named_stacks *named)
{
    const struct hp_snapshot *first = model->run.sessions[0];
    struct hp_weighted weighted = {.has_lines = true,
                                   .hides_texts = profiles->serving->host_metrics.hides_texts,
                                   .processes = HP_FRAMES_BY_PROGRAM};
    const bool is_asked_for = session->is_known || session->began_ns >= profiles->began_ns;
    const uint64_t elapsed_ns = hp_run_elapsed_ns(&model->run);
    profiles->sums -= session->sums.count;
    const bool is_done = session->source == OF_STACKS
                             ? cut_stacks(session, named) && hp_stack_weights_add(&weighted, named)
                             : hp_zone_weights_add(&weighted, model) && cut_zones(session, &weighted);
    profiles->sums += session->sums.count;
    struct hp_export export = {.weighted = &weighted,
                               .command = hp_snapshot_text(first, first->header.command),
                               .pid = first->header.pid,
                               .began_ns = first->header.wall_start_ns + session->read_ns,
                               .elapsed_ns = hp_less(elapsed_ns, session->read_ns),
                               .counts_instructions = hp_run_counts_instructions(&model->run),
                               .period_ns = named->counts.period_ns};
    if (is_done && is_asked_for)
        push(profiles, session, &export);
    session->read_ns = elapsed_ns;
    session->is_known = true;
    hp_weighted_free(&weighted);
    return is_done;
}

/* `named` has nothing if there are no new stacks; `is_last`: nor will there be any. */
static void read_session(struct hp_push_profiles *profiles, struct hp_push_session *session,
                         struct hp_named_stacks *named, bool is_last)
{
    struct hp_reader reader;
    if (named->node_count > 1)
        session->source = OF_STACKS;
    if (hp_serving_read(profiles->serving, session->path, &reader)) {
        struct hp_model *model = hp_reader_model(&reader);
        const bool is_running = hp_run_state(&model->run) == HP_SNAPSHOT_RUNNING;
        if (session->source == UNKNOWN)
            session->source = OF_ZONES;
        if (session->service[0] == '\0')
            hp_metrics_service(session->service, sizeof session->service, model);
        const bool is_left_out = (session->source == OF_ZONES || named->node_count > 1) &&
                                 (!push_new(profiles, session, model, named) || profiles->sums > SUMS_MOST);
        profiles->left_out += is_left_out;
        session->is_over = is_left_out || (!is_running && is_last);
    }
    hp_reader_close(&reader);
    if (session->is_over)
        forget_sums(profiles, session);
}

/* ------------------------------------------------------------------------------------------------------- rounds */

static void forget(struct hp_push_profiles *profiles, struct hp_push_session *session)
{
    forget_sums(profiles, session);
    free(session->path);
}

void hp_push_profiles_free(struct hp_push_profiles *profiles)
{
    for (size_t at = 0; at < profiles->count; at++)
        forget(profiles, &profiles->sessions[at]);
    free(profiles->sessions);
    hp_hash_free(&profiles->index);
    profiles->sessions = NULL;
    profiles->count = profiles->room = 0;
}

static uint32_t hash_of_session(const struct hp_push_profiles *profiles, const char *path, uint64_t key)
{
    return hp_hash_with_text(&profiles->index, hp_hash_with(&profiles->index, 0, key), path);
}

/* The one that is listed, known or new. NULL: there are too many, or there is no memory. */
static struct hp_push_session *take_session(struct hp_push_profiles *profiles,
                                            const struct hp_stored_session *listed)
{
    const uint64_t key = hp_session_dir_is_of_run(listed->path) ? 0 : listed->began_ns;
    if (!hp_hash_make_room(&profiles->index) ||
        !HP_MAKE_ROOM(profiles->sessions, profiles->count + 1, profiles->room))
        return NULL;
    const uint32_t hash = hash_of_session(profiles, listed->path, key);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&profiles->index, hash, &slot)) != 0;) {
        struct hp_push_session *session = &profiles->sessions[number - 1];
        if (session->key == key && strcmp(session->path, listed->path) == 0)
            return session;
    }
    char *path = profiles->count < SESSIONS_MOST ? strdup(listed->path) : NULL;
    if (path == NULL)
        return NULL;
    struct hp_push_session *session = &profiles->sessions[profiles->count++];
    *session = (struct hp_push_session){.path = path, .key = key, .began_ns = listed->began_ns};
    /* It had ended before anybody asked: its past is not pushed. */
    session->is_over = (listed->state == HP_SESSION_FINISHED || listed->state == HP_SESSION_CRASHED) &&
                       listed->began_ns < profiles->began_ns;
    hp_hash_put(&profiles->index, slot, hash, (uint32_t)profiles->count);
    return session;
}

/* Those that are not listed any more are gone. */
static void leave_behind(struct hp_push_profiles *profiles)
{
    size_t kept = 0;
    for (size_t at = 0; at < profiles->count; at++)
        if (profiles->sessions[at].is_listed)
            profiles->sessions[kept++] = profiles->sessions[at];
        else
            forget(profiles, &profiles->sessions[at]);
    if (kept == profiles->count)
        return;
    profiles->count = kept;
    hp_hash_free(&profiles->index);
    for (size_t at = 0; at < profiles->count && hp_hash_make_room(&profiles->index); at++) {
        const struct hp_push_session *session = &profiles->sessions[at];
        const uint32_t hash = hash_of_session(profiles, session->path, session->key);
        size_t slot = HP_HASH_BEGIN;
        while (hp_hash_next(&profiles->index, hash, &slot) != 0) {
        }
        hp_hash_put(&profiles->index, slot, hash, (uint32_t)at + 1);
    }
}

static void begin_round(struct hp_push_profiles *profiles, uint64_t now_ns)
{
    struct hp_serving *serving = profiles->serving;
    struct hp_sessions listed = {0};
    if (profiles->host[0] == '\0')
        hp_process_host(profiles->host, sizeof profiles->host);
    profiles->due_ns = now_ns + profiles->every_ns;
    profiles->is_round = true;
    const bool is_complete = serving->source->list(serving->source->context, &listed);
    for (size_t at = 0; at < profiles->count; at++)
        profiles->sessions[at].is_listed = !is_complete;
    for (size_t at = 0; at < listed.count; at++) {
        struct hp_push_session *session = take_session(profiles, &listed.all[at]);
        profiles->left_out += session == NULL;
        if (session == NULL)
            continue;
        session->is_listed = true;
        session->stage = session->is_over ? IS_DONE : IS_WANTED;
    }
    hp_sessions_free(&listed);
    leave_behind(profiles);
}

static void ask(struct hp_push_session *session, uint64_t now_ns)
{
    session->stage = IS_ASKED;
    session->asked_ns = now_ns;
    hp_stack_watch_renew(&session->watch, session->path);
}

/* Whether its stacks were named after they were asked for, or will not be. */
static bool has_answered(struct hp_push_session *session, uint64_t now_ns, struct hp_named_stacks *ret_named)
{
    if (!hp_session_dir_is_of_run(session->path) || hp_stack_watch_look(&session->watch, session->path, ret_named))
        return true;
    if (goes_on(session) && now_ns < session->asked_ns + PATIENCE_NS)
        return false;
    session->watch.inode = 0; /* any */
    hp_stack_watch_look(&session->watch, session->path, ret_named);
    return true;
}

/* False: all that were asked are still at it. */
static bool read_one(struct hp_push_profiles *profiles, uint64_t now_ns)
{
    size_t asked = 0;
    for (size_t at = 0; at < profiles->count && asked < ASKED_MOST; at++) {
        struct hp_push_session *session = &profiles->sessions[at];
        struct hp_named_stacks named = {0};
        if (session->stage == IS_DONE)
            continue;
        if (session->stage == IS_WANTED)
            ask(session, now_ns);
        asked++;
        const bool is_last = !goes_on(session); /* before its stacks are read: they may be written meanwhile */
        if (!has_answered(session, now_ns, &named))
            continue;
        read_session(profiles, session, &named, is_last);
        hp_named_stacks_free(&named);
        session->stage = IS_DONE;
        return true;
    }
    profiles->is_round = asked > 0;
    return false;
}

uint64_t hp_push_profiles_turn(struct hp_push_profiles *profiles, uint64_t now_ns)
{
    if (!profiles->is_round && now_ns < profiles->due_ns)
        return profiles->due_ns;
    if (now_ns < profiles->rest_ns)
        return profiles->rest_ns;
    const uint64_t begun_ns = hp_clock_thread_ns();
    if (!profiles->is_round)
        begin_round(profiles, now_ns);
    const bool has_read = read_one(profiles, now_ns);
    profiles->rest_ns = now_ns + (has_read ? WORKING_PART * (hp_clock_thread_ns() - begun_ns) : LOOK_NS);
    return profiles->is_round ? profiles->rest_ns : profiles->due_ns;
}
