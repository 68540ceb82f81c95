/*
 * The critical path: what recorders and hooks tell of waits. SPDX-License-Identifier: MIT
 */
#include "paths.h"

#include <errno.h>
#include <string.h>

#include "holding.h"
#include "hook_entries.h"
#include "thread_context.h"
#include "threads.h"

_Static_assert(HOTPATH_PATH_THREAD_ == HP_PATH_FOR_THREAD && HOTPATH_PATH_LOCK_ == HP_PATH_FOR_LOCK &&
                   HOTPATH_PATH_CONDITION_ == HP_PATH_FOR_CONDITION &&
                   HOTPATH_PATH_SEMAPHORE_ == HP_PATH_FOR_SEMAPHORE &&
                   HOTPATH_PATH_BARRIER_ == HP_PATH_FOR_BARRIER && HOTPATH_PATH_CHANNEL_ == HP_PATH_FOR_CHANNEL,
               "one list");

#define LONGEST_NAME 63u /* of what is waited for */

/* ------------------------------------------------------------------------------------------ waits of recorders */

void hp_path_await(struct hp_thread_context *context, uint64_t object)
{
    struct hp_paths *paths = hp_paths_of(context);
    struct hp_path_trace *trace = paths != NULL ? hp_path_trace_to_write(context, paths, object) : NULL;
    if (trace == NULL)
        return;
    HOTPATH_ADD_(trace->waiters, 1);
    hp_path_give_trace(paths, object);
}

/* The trace may have been given to another object meanwhile, and back. */
void hp_path_awaited(struct hp_thread_context *context, uint64_t object)
{
    struct hp_paths *paths = hp_paths_of(context);
    struct hp_path_trace *trace = paths != NULL ? hp_path_take_trace(paths, context->hot.base, object) : NULL;
    if (trace == NULL)
        return;
    if (trace->waiters != 0)
        HOTPATH_PUT_(trace->waiters, trace->waiters - 1);
    hp_path_give_trace(paths, object);
}

bool hp_path_is_awaited_by_others(const struct hp_thread_context *context, uint64_t object)
{
    const struct hp_paths *paths = hp_paths_of(context);
    return paths != NULL && hp_path_is_awaited(paths, context->hot.base, object);
}

void hp_path_leave_if_awaited(struct hp_thread_context *context, uint64_t object, uint64_t now)
{
    if (hp_path_is_awaited_by_others(context, object))
        hp_path_leave_at(context,
                         &(struct hp_path_release){.object = object, .now = now, .kind = HP_PATH_FOR_CHANNEL});
}

/* The key of a wait that ends with this trace. 0: there is no room. */
static uint32_t wait_key(struct hp_thread_context *context, struct hp_paths *paths,
                         const struct hp_path_waited *waited)
{
    const uint32_t found = hp_path_find_wait(paths, context->hot.base, waited);
    if (HOTPATH_LIKELY_(found != 0) || HOTPATH_GET_(paths->waits) >= HP_PATH_WAITS)
        return found;
    const size_t length = strlen(waited->name);
    uint32_t name = 0;
    if (length != 0) {
        name = hp_thread_allocate(context, (uint32_t)(sizeof(struct hp_string) + length), 8);
        if (name == 0)
            return 0;
        struct hp_string *string = (struct hp_string *)(void *)(context->hot.base + name);
        memcpy(string->bytes, waited->name, length);
        string->length = (uint32_t)length;
    }
    return hp_path_make_wait(paths, context->hot.base, waited, name);
}

/* The newer of two traces that were left during the wait. 0: none was. */
static uint64_t newest_of(struct hp_paths *paths, struct hp_thread_context *context, const struct hp_path_end *end,
                          struct hp_path_peek *ret_peek)
{
    const uint64_t objects[2] = {end->object, end->second};
    uint64_t newest = 0;
    *ret_peek = (struct hp_path_peek){.left = end->since};
    for (size_t at = 0; at < 2; at++) {
        struct hp_path_peek peek;
        if (objects[at] == 0 || !hp_path_peek(paths, context->hot.base, objects[at], &peek) ||
            peek.left < ret_peek->left || peek.tid == context->thread_id)
            continue;
        newest = objects[at];
        *ret_peek = peek;
    }
    return newest;
}

static bool adopt(struct hp_thread_context *context, struct hp_paths *paths, struct hp_path_thread *path,
                  const struct hp_path_end *end, struct hp_path_wait *wait)
{
    struct hp_path_peek peek;
    const uint64_t object = newest_of(paths, context, end, &peek);
    if (object == 0)
        return hp_path_is_known(path, wait, 0);
    if (hp_path_is_known(path, wait, peek.left))
        return true;
    wait->key = wait_key(context, paths,
                         &(struct hp_path_waited){.kind = end->kind,
                                                  .site = peek.site,
                                                  .place = end->place,
                                                  .caller = peek.site == HP_SITE_ROOT ? peek.caller : 0,
                                                  .name = end->name});
    struct hp_path_trace *trace = hp_path_take_trace(paths, context->hot.base, object);
    if (trace == NULL)
        return false;
    const bool is_there = trace->left >= end->since;
    if (is_there && trace->left > wait->now) { /* another one came meanwhile: the path cannot lead back in time */
        wait->now = trace->left;
        hp_path_count_own(context, path, wait->now);
    }
    if (is_there && hp_path_was_asked(trace, wait))
        hp_path_stay(paths, path, wait);
    else if (is_there)
        hp_path_adopt(paths, path, trace, wait);
    hp_path_give_trace(paths, object);
    return is_there;
}

void hp_path_take(struct hp_thread_context *context, const struct hp_path_end *end)
{
    struct hp_paths *paths = hp_paths_of(context);
    struct hp_path_thread *path = paths != NULL ? hp_path_of(context) : NULL;
    if (path == NULL)
        return;
    struct hp_path_wait wait = {.since = end->since, .now = end->now, .kind = end->kind};
    hp_path_count_own(context, path, end->now);
    wait.site_key = hp_path_end_here(context, path, end->kind, end->caller, end->now);
    if (!adopt(context, paths, path, end, &wait))
        hp_path_adopt_none(paths, path, &wait);
}

/* ---------------------------------------------------------------------------------------------- waits of hooks */

int hotpath_v1_path_is_on(void) { return hp_paths_are_on() && HOTPATH_GET_(hp_runtime->gate) != 0; }

/* The calling thread's context, held. NULL: it has none. */
static struct hp_thread_context *hold(void)
{
    if (!hotpath_v1_path_is_on() || hp_thread_context_of_if_free() == NULL)
        return NULL;
    return hp_thread_hold();
}

uint64_t hotpath_v1_path_clock(void)
{
    const int saved = errno;
    struct hp_thread_context *context = hold();
    const uint64_t now = context != NULL ? hp_now() : 0;
    if (context != NULL)
        hp_context_let_go(&context->hot);
    errno = saved;
    return now;
}

void hotpath_v1_path_leave(const void *object, uint32_t kind, uint32_t caller)
{
    const int saved = errno;
    struct hp_thread_context *context = hold();
    if (context != NULL) {
        hp_path_leave_at(context, &(struct hp_path_release){.object = hp_path_object(object, HP_PATH_OBJECT),
                                                            .now = hp_now(),
                                                            .kind = kind,
                                                            .caller = caller});
        hp_context_let_go(&context->hot);
    }
    errno = saved;
}

static uint64_t place_of(const void *address, uint32_t kind)
{
    const bool is_thread = kind == HOTPATH_PATH_THREAD_;
    return address != NULL ? hp_path_object(address, is_thread ? HP_PATH_THREAD : HP_PATH_OBJECT) : 0;
}

void hotpath_v1_path_take(const struct hotpath_path_wait_ *wait)
{
    const int saved = errno;
    struct hp_thread_context *context = wait->since != 0 ? hold() : NULL;
    if (context != NULL) {
        char name[LONGEST_NAME + 1] = "";
        if (wait->site != NULL && wait->site->name != NULL)
            strncpy(name, wait->site->name, LONGEST_NAME);
        hp_path_take(context, &(struct hp_path_end){.object = place_of(wait->object, wait->kind),
                                                    .second = place_of(wait->second, wait->kind),
                                                    .since = wait->since,
                                                    .now = hp_now(),
                                                    .kind = wait->kind,
                                                    .place = wait->place,
                                                    .caller = wait->caller,
                                                    .name = name});
        hp_context_let_go(&context->hot);
    }
    errno = saved;
}

/* ------------------------------------------------------------------------------------------------------ threads */

uint32_t hotpath_v1_path_create(void)
{
    const int saved = errno;
    struct hp_thread_context *context = hold();
    const uint32_t created = context != NULL ? hp_path_create(context, hp_now()) : 0;
    if (context != NULL)
        hp_context_let_go(&context->hot);
    errno = saved;
    return created;
}

/*
 * Registers the thread, which may have no zone for a long time, or never: others wait for its end nevertheless. Its
 * name is most often set after that.
 */
void hotpath_v1_path_begin(uint32_t created)
{
    const int saved = errno;
    if (hotpath_v1_path_is_on() && hp_clock_may_be_read() && hp_thread_context_of_for_pools() != NULL) {
        struct hp_thread_context *context = hp_thread_hold();
        if (context != NULL) {
            hp_path_begin_created(context, created, hp_now());
            context->is_named_early = true;
            hp_context_let_go(&context->hot);
        }
    }
    errno = saved;
}

void hotpath_v1_path_drop(uint32_t created)
{
    const int saved = errno;
    struct hp_thread_context *context = hold();
    if (context != NULL) {
        hp_path_drop(context, created);
        hp_context_let_go(&context->hot);
    }
    errno = saved;
}
