/* The critical path in a sentence. SPDX-License-Identifier: MIT */
#include "path_sentence.h"

#include <string.h>

#include "bottleneck.h"
#include "name_marks.h"
#include "path_owner.h"
#include "units.h"

/* A known share of the path's waits below this is said. */
#define NEARLY_ALL 0.95

/* What others waited for went on while it was in the run queue. */
static double waited_share(const struct hp_run_path *path, uint64_t ticks)
{
    const double share = hp_part_of((double)ticks, (double)(path->ticks - path->latency));
    return share < 1 ? share : 1;
}

double hp_path_share(const struct hp_run_path *path, uint64_t ticks)
{
    return hp_part_of((double)ticks, (double)(path->ticks - path->waking - path->queued));
}

const char *hp_path_for_name(const struct hp_path_for *wait)
{
    static const char *const kinds[HP_PATH_KINDS] = {
        [HP_PATH_FOR_THREAD] = "the end of a thread", [HP_PATH_FOR_LOCK] = "a lock",
        [HP_PATH_FOR_CONDITION] = "a condition",      [HP_PATH_FOR_SEMAPHORE] = "a semaphore",
        [HP_PATH_FOR_BARRIER] = "a barrier",          [HP_PATH_FOR_CHANNEL] = "a channel"};
    if (wait->name[0] != '\0')
        return wait->name;
    return kinds[wait->kind < HP_PATH_KINDS ? wait->kind : HP_PATH_FOR_CHANNEL];
}

/* ------------------------------------------------------------------------------------------- what is waited for */

/* All waits for one thing, by whichever function has it. */
struct waited {
    const struct hp_path_for *longest; /* of one such function; NULL: none */
    uint64_t ticks;
};

static bool is_same(const struct hp_path_for *a, const struct hp_path_for *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

static struct waited most_waited(const struct hp_run_path *path)
{
    struct waited most = {0};
    for (size_t at = 0; at < path->wait_count; at++) {
        struct waited sum = {.longest = path->waits[at]};
        for (size_t other = 0; other < path->wait_count; other++)
            if (is_same(path->waits[at], path->waits[other]))
                sum.ticks += path->waits[other]->ticks;
        if (sum.ticks > most.ticks)
            most = sum;
    }
    return most;
}

static const struct hp_path_function *first_function(const struct hp_run_path *path)
{
    for (size_t at = 0; at < path->function_count; at++)
        if (path->functions[at]->time < HP_PATH_WAKING)
            return path->functions[at];
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- the parts */

/* Whether the thread at the end did little but wait. */
static bool ends_in_wait(const struct hp_run_path *path)
{
    return path->end_waker_tid != 0 && waited_share(path, path->end_waited) >= HP_PATH_WAITED_PART;
}

/* "worker 3", or "a thread", if it has the name of the program. */
static void put_waker(struct hp_text *line, const struct hp_run_path *path, const char *program)
{
    if (path->end_waker[0] == '\0' || strncmp(program, path->end_waker, 15) == 0)
        hp_text_string(line, "a thread");
    else
        hp_text_put_marked(line, path->end_waker, strlen(path->end_waker));
}

static void put_holder(struct hp_text *line, const struct hotpath_results *results, const struct hp_path_for *wait)
{
    static const char *const verbs[HP_PATH_KINDS] = {
        [HP_PATH_FOR_THREAD] = ", at the end of ",    [HP_PATH_FOR_LOCK] = ", held by ",
        [HP_PATH_FOR_CONDITION] = ", signalled by ",  [HP_PATH_FOR_SEMAPHORE] = ", posted by ",
        [HP_PATH_FOR_BARRIER] = ", reached last by ", [HP_PATH_FOR_CHANNEL] = ", used at the other end by "};
    const char *holder = wait->holder != NULL ? wait->holder->name : wait->caller;
    if (holder != NULL) {
        hp_text_string(line, verbs[wait->kind < HP_PATH_KINDS ? wait->kind : HP_PATH_FOR_CHANNEL]);
        hp_name_put_marked(line, holder);
    }
    hp_text_format(line, " (%s at a time)",
                   hp_ns_text(hp_run_ns(&results->model->run, wait->ticks) / (double)wait->count).bytes);
}

/* "waits 71 % of the time for cache_lock, held by rebuild (42 ms at a time)" */
static void put_wait(struct hp_text *line, const struct hotpath_results *results, const struct hp_run_path *path,
                     const struct waited *waited)
{
    const char *name = hp_path_for_name(waited->longest);
    hp_text_string(line, "waits ");
    hp_bottleneck_put_share(line, waited_share(path, waited->ticks));
    hp_text_string(line, " of the time for ");
    hp_text_put_marked(line, name, strlen(name));
    put_holder(line, results, waited->longest);
}

/* What the path is in. */
struct owner {
    const char *name, *inner; /* inner: that has most of it, called by the other; NULL: none */
    const char *caller;       /* of a function that calls nothing worth a word; NULL: unknown */
    double share;
    const char *waits_for; /* NULL: it does not */
};

static void put_function(struct hp_text *line, const struct owner *owner)
{
    hp_text_string(line, "of the critical path, ");
    hp_bottleneck_put_share(line, owner->share);
    hp_text_string(line, " is in ");
    hp_name_put_marked(line, owner->name);
    if (owner->inner != NULL) {
        hp_text_string(line, ", most of it in ");
        hp_name_put_marked(line, owner->inner);
    } else if (owner->caller != NULL) {
        hp_text_string(line, ", called by ");
        hp_name_put_marked(line, owner->caller);
    }
    if (owner->waits_for == NULL)
        return;
    hp_text_string(line, " (");
    hp_text_put_marked(line, owner->waits_for, strlen(owner->waits_for));
    hp_text_char(line, ')');
}

/* By stacks. False: they name none, or there is no memory. */
static bool find_unmeasured(const struct hotpath_results *results, const struct hp_run_path *path,
                            struct owner *ret_owner)
{
    const struct hp_model *model = results->model;
    struct hp_path_owner found;
    if (path->node_ns == NULL || !hp_path_find_owner(model->arena, model->functions, path, &found) ||
        found.function == NULL)
        return false;
    *ret_owner = (struct owner){
        .name = found.function->shown,
        .inner = found.inner != NULL ? found.inner->shown : NULL,
        .caller = found.caller != NULL ? found.caller->shown : NULL,
        .share = hp_part_of((double)found.ns, hp_run_ns(&model->run, path->ticks - path->waking - path->queued)),
        .waits_for = found.waits_for};
    return true;
}

static bool find_owner(const struct hotpath_results *results, const struct hp_run_path *path,
                       struct owner *ret_owner)
{
    const struct hp_path_function *function = path != NULL ? first_function(path) : NULL;
    if (path == NULL || find_unmeasured(results, path, ret_owner))
        return path != NULL;
    if (function == NULL || function->site == NULL) /* nothing is known of what is not measured */
        return false;
    *ret_owner = (struct owner){.name = function->site->name,
                                .share = hp_path_share(path, function->ticks),
                                .waits_for = function->time == HP_PATH_WAITING ? function->cause : NULL};
    return true;
}

static void put_unknown(struct hp_text *line, const struct hp_run_path *path)
{
    if (hp_path_known_part(path) >= NEARLY_ALL)
        return;
    hp_text_string(line, "; who ended ");
    hp_bottleneck_put_share(line, 1 - hp_path_known_part(path));
    hp_text_string(line, " of its waits is unknown");
}

/* NULL: it does not decide. */
static const struct hp_run_path *deciding_path(const struct hotpath_results *results)
{
    const struct hp_run *run = &results->model->run;
    if (!hp_run_has_path(run) || run->range != NULL)
        return NULL;
    const struct hp_run_path *path = hp_model_path(results->model);
    const bool is_deciding = path != NULL && path->is_followed && hp_path_known_part(path) >= HP_PATH_KNOWN_PART &&
                             (ends_in_wait(path) || waited_share(path, path->known) >= HP_PATH_WAITED_PART);
    return is_deciding ? path : NULL;
}

/* What the waits along it are for, if they are worth a word; the end of a thread is said of the last one. */
static bool is_for_other(const struct hp_run_path *path, const struct waited *waited)
{
    return waited->longest != NULL && waited->longest->kind != HP_PATH_FOR_THREAD &&
           waited_share(path, waited->ticks) >= HP_PATH_SAID_PART;
}

/* Of a server. */
static void put_busy(struct hp_text *line, const struct hotpath_results *results, const struct hp_run_path *path)
{
    const double all = (double)(path->ticks + path->idle);
    if ((double)path->idle < HP_PATH_SAID_PART * all)
        return;
    hp_text_string(line, "Busy for ");
    hp_bottleneck_put_share(line, hp_part_of((double)path->ticks, all));
    hp_text_format(line, " of %s: ", hp_ns_text(hp_run_ns(&results->model->run, path->ticks + path->idle)).bytes);
}

bool hp_path_sentence_put(struct hp_text *line, const struct hotpath_results *results)
{
    const struct hp_run_path *path = deciding_path(results);
    struct owner owner;
    if (!find_owner(results, path, &owner))
        return false;
    const struct waited waited = most_waited(path);
    const bool has_owner = path->node_ns == NULL || owner.share >= HP_OWNER_PART;
    if (!has_owner && !is_for_other(path, &waited))
        return false;
    const struct hp_snapshot *session = results->model->run.sessions[path->session];
    const char *program = hp_text_base_name(hp_snapshot_text(session, session->header.executable));
    const bool has_end = ends_in_wait(path), has_other = is_for_other(path, &waited);
    const bool has_program = !has_end && path->end_program != NULL;
    put_busy(line, results, path);
    if (has_end || has_program)
        hp_text_string(line, "main waits for ");
    if (has_end)
        put_waker(line, path, program);
    else if (has_program)
        hp_text_put_marked(line, path->end_program, strlen(path->end_program));
    if (has_other) {
        hp_text_string(line, has_end || has_program ? ", which " : "The program ");
        put_wait(line, results, path, &waited);
    } else if (!has_end && !has_program)
        hp_text_string(line, "The program waits for its threads");
    if (has_owner) {
        hp_text_string(line, has_other ? "; " : ": ");
        put_function(line, &owner);
    }
    put_unknown(line, path);
    return true;
}
