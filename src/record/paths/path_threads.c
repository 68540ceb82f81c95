/* The paths of threads. SPDX-License-Identifier: MIT */
#include "path_threads.h"

#include <pthread.h>
#include <string.h>

#include "holding.h"
#include "hook_entries.h"
#include "thread_context.h"

#define MOST_THREADS 1024u /* with a path, at a time: 8 MB */
#define MOST_NODES 2048u   /* of a thread that are counted one by one: a walk of some microseconds */

void hp_paths_begin(struct hp_store *store)
{
    struct hp_paths *paths;
    const bool is_wanted = hp_paths_are_on();
    const uint32_t offset = is_wanted ? hp_store_allocate(store, sizeof *paths, HP_APART) : 0;
    if (offset == 0)
        return;
    paths = hp_store_at(store, offset);
    paths->used = HP_PATH_WAKE_UP + 1;
    __atomic_store_n(&hp_store_header(store)->paths, offset, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------------------- what its call tree has */

static struct hp_node_chunk *chunk_at(const struct hp_thread_context *context, uint32_t offset)
{
    return (struct hp_node_chunk *)(void *)(context->hot.base + offset);
}

/*
 * Many nodes: from now on only those that exist are counted one by one. Later ones, which lie at higher offsets,
 * are what is left of the time; and so is the time outside of all zones.
 */
static void stop_at_last_node(const struct hp_thread_context *context, struct hp_paths *paths,
                              struct hp_path_thread *path)
{
    const uint32_t outside = hp_path_site_key(paths, HP_SITE_ROOT);
    HOTPATH_PUT_(path->last_node, context->record->node_chunks + (uint32_t)sizeof(struct hp_node_chunk) +
                                      chunk_at(context, context->record->node_chunks)->used *
                                          (uint32_t)sizeof(struct hotpath_node_) -
                                      1);
    HOTPATH_ADD_(path->sums[outside].ticks, path->own[outside]);
    HOTPATH_PUT_(path->sums[HP_PATH_OTHER].ticks, path->sums[HP_PATH_OTHER].ticks - path->own[outside]);
    path->own[outside] = 0;
}

static uint64_t count_nodes(const struct hp_thread_context *context, struct hp_paths *paths,
                            struct hp_path_thread *path)
{
    const uint32_t last = path->last_node != 0 ? path->last_node : UINT32_MAX;
    uint64_t sum = 0;
    for (uint32_t at = context->record->node_chunks; at != 0; at = chunk_at(context, at)->next) {
        const struct hp_node_chunk *chunk = chunk_at(context, at);
        const uint32_t first = at + (uint32_t)sizeof *chunk;
        for (uint32_t index = 0; index < chunk->used; index++) {
            const struct hotpath_node_ *node = &chunk->nodes[index];
            if (node->self == 0 || first + index * (uint32_t)sizeof *node > last || node->site == HP_SITE_ROOT)
                continue;
            path->own[hp_path_site_key(paths, node->site)] += node->self;
            sum += node->self;
        }
    }
    return sum;
}

/* Open calls, up to now or to the call inside them. The start of an untimed one is not known. */
static uint64_t count_open(const struct hp_thread_context *context, struct hp_paths *paths,
                           struct hp_path_thread *path, uint64_t now)
{
    const uint32_t last = path->last_node != 0 ? path->last_node : UINT32_MAX;
    uint64_t sum = 0, end = now;
    for (const struct hotpath_frame_ *frame = context->hot.top; frame->zone != UINT64_MAX; frame--) {
        if (frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_))
            continue;
        const uint64_t ticks = end - frame->start - frame->child;
        end = frame->start;
        if (frame->node > last)
            continue;
        path->own[hp_path_site_key(paths, hp_node_at(context, frame->node)->site)] += ticks;
        sum += ticks;
    }
    return sum;
}

/* All time is somewhere: what is in no zone is outside. */
void hp_path_count_own(const struct hp_thread_context *context, struct hp_path_thread *path, uint64_t now)
{
    struct hp_paths *paths = hp_paths_of(context);
    if (context->record->node_count > MOST_NODES && path->last_node == 0)
        stop_at_last_node(context, paths, path);
    memset(path->own, 0, __atomic_load_n(&paths->used, __ATOMIC_ACQUIRE) * sizeof path->own[0]);
    const uint64_t sum = count_nodes(context, paths, path) + count_open(context, paths, path, now);
    path->own[path->last_node != 0 ? HP_PATH_OTHER : hp_path_site_key(paths, HP_SITE_ROOT)] += now - sum;
}

/* ----------------------------------------------------------------------------------------------------- leaving */

struct hp_path_thread *hp_path_of(const struct hp_thread_context *context)
{
    struct hp_path_thread *path = context->record->path != 0
                                      ? (struct hp_path_thread *)(void *)(context->hot.base + context->record->path)
                                      : NULL;
    return path != NULL && path->generation == context->generation ? path : NULL;
}

static uint32_t innermost_site(const struct hp_thread_context *context)
{
    return hp_node_at(context, context->hot.top->node)->site;
}

/* Apart, and jumped to: less stack in all. */
static __attribute__((noinline)) struct hp_path_trace *make_trace(struct hp_thread_context *context,
                                                                  struct hp_paths *paths, uint64_t object)
{
    const uint32_t spare =
        hp_path_has_room(paths, object) ? hp_thread_allocate(context, sizeof(struct hp_path_trace), 64) : 0;
    return hp_path_make_trace(paths, context->hot.base, object, spare);
}

struct hp_path_trace *hp_path_trace_to_write(struct hp_thread_context *context, struct hp_paths *paths,
                                             uint64_t object)
{
    struct hp_path_trace *trace = hp_path_take_trace(paths, context->hot.base, object);
    return HOTPATH_LIKELY_(trace != NULL) ? trace : make_trace(context, paths, object);
}

uint32_t hp_path_end_here(const struct hp_thread_context *context, struct hp_path_thread *path, uint32_t kind,
                          uint32_t caller, uint64_t now)
{
    struct hp_paths *paths = hp_paths_of(context);
    const uint32_t site = innermost_site(context);
    if (site != HP_SITE_ROOT || path->last_node != 0)
        return hp_path_site_key(paths, site);
    const uint32_t key = hp_path_segment_key(paths, &(struct hp_path_ending){kind, caller, context->thread_id});
    hp_path_end_segment(paths, path, context->thread_id, key, now);
    return key != HP_PATH_OTHER ? key : hp_path_site_key(paths, site);
}

void hp_path_leave_at(struct hp_thread_context *context, const struct hp_path_release *release)
{
    struct hp_paths *paths = hp_paths_of(context);
    struct hp_path_thread *path = paths != NULL ? hp_path_of(context) : NULL;
    if (path == NULL)
        return;
    hp_path_count_own(context, path, release->now);
    hp_path_end_here(context, path, release->kind, release->caller, release->now);
    struct hp_path_trace *trace = hp_path_trace_to_write(context, paths, release->object);
    if (trace == NULL)
        return;
    hp_path_leave(paths, path, trace,
                  &(struct hp_path_waker){.site = innermost_site(context),
                                          .tid = context->thread_id,
                                          .caller = release->caller,
                                          .period = release->period,
                                          .name = context->record->name},
                  release->now);
    hp_path_give_trace(paths, release->object);
    __atomic_fetch_add(&paths->left, 1, __ATOMIC_RELAXED);
    path->left++;
}

__attribute__((noinline)) void hp_path_arrive(const struct hp_thread_context *context, uint64_t now)
{
    struct hp_path_thread *path = hp_path_of(context);
    if (path != NULL)
        HOTPATH_PUT_(path->arrived, now);
}

/* ---------------------------------------------------------------------------------------------------- beginning */

/* The list of free ones is under `lock`, which is held for a moment only; if it is in use, memory is taken. */

static bool take_list(struct hp_paths *paths)
{
    uint32_t is_taken = 0;
    return __atomic_compare_exchange_n(&paths->lock, &is_taken, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void give_list(struct hp_paths *paths) { __atomic_store_n(&paths->lock, 0, __ATOMIC_RELEASE); }

static struct hp_path_thread *path_at(const struct hp_thread_context *context, uint32_t offset)
{
    return (struct hp_path_thread *)(void *)(context->hot.base + offset);
}

static uint32_t take_free(const struct hp_thread_context *context, struct hp_paths *paths)
{
    if (!take_list(paths))
        return 0;
    const uint32_t offset = paths->free_threads;
    if (offset != 0)
        paths->free_threads = path_at(context, offset)->next;
    give_list(paths);
    return offset;
}

/* All zero. 0: there is no space, or there are too many. */
static uint32_t new_path(struct hp_thread_context *context, struct hp_paths *paths)
{
    uint32_t offset = take_free(context, paths);
    if (offset != 0)
        memset(path_at(context, offset), 0, sizeof(struct hp_path_thread));
    else if (__atomic_fetch_add(&paths->threads, 1, __ATOMIC_RELAXED) < MOST_THREADS)
        offset = hp_thread_allocate(context, sizeof(struct hp_path_thread), 64);
    else
        __atomic_fetch_sub(&paths->threads, 1, __ATOMIC_RELAXED);
    return offset;
}

static void give_back(const struct hp_thread_context *context, struct hp_paths *paths, uint32_t offset)
{
    if (!take_list(paths))
        return; /* lost to the session: 8 KB */
    path_at(context, offset)->next = paths->free_threads;
    paths->free_threads = offset;
    give_list(paths);
}

/* The path of the creator, with all times in it: it is of no call tree. */
uint32_t hp_path_create(struct hp_thread_context *context, uint64_t now)
{
    struct hp_paths *paths = hp_paths_of(context);
    struct hp_path_thread *creator = paths != NULL ? hp_path_of(context) : NULL;
    const uint32_t offset = creator != NULL ? new_path(context, paths) : 0;
    if (offset == 0)
        return 0;
    struct hp_path_thread *path = path_at(context, offset);
    hp_path_count_own(context, creator, now);
    hp_path_end_here(context, creator, HP_PATH_FOR_THREAD, 0, now);
    for (uint32_t key = 0; key < HP_PATH_KEYS; key++) {
        path->sums[key].ticks = creator->sums[key].ticks + creator->own[key];
        path->sums[key].more = creator->sums[key].more;
    }
    path->began = creator->began;
    path->arrived = now;
    return offset;
}

void hp_path_drop(struct hp_thread_context *context, uint32_t path)
{
    struct hp_paths *paths = hp_paths_of(context);
    if (paths != NULL)
        give_back(context, paths, path);
}

/* The call tree may have time of earlier threads with this record: none of it is this thread's. */
static void begin_at(const struct hp_thread_context *context, struct hp_path_thread *path, uint64_t now)
{
    hp_path_count_own(context, path, now);
    for (uint32_t key = 0; key < HP_PATH_KEYS; key++)
        path->sums[key].ticks -= path->own[key];
    const uint32_t outside = hp_path_site_key(hp_paths_of(context), HP_SITE_ROOT);
    path->sums[outside].ticks += now - path->arrived;
    path->segment = path->own[outside] - (now - path->arrived);
    path->generation = context->generation;
}

void hp_path_begin_thread(struct hp_thread_context *context, uint64_t now)
{
    struct hp_paths *paths = hp_paths_of(context);
    if (paths == NULL || context->is_handler)
        return;
    if (context->record->path != 0) /* its thread ended unnoticed */
        give_back(context, paths, context->record->path);
    const uint32_t offset = new_path(context, paths);
    context->record->path = 0;
    if (offset == 0)
        return;
    struct hp_path_thread *path = path_at(context, offset);
    path->is_unbegun = !hp_context_is_of_first_thread(context);
    path->began = path->arrived =
        path->is_unbegun ? now : ((const struct hp_header *)(const void *)context->hot.base)->clock_start.ticks;
    begin_at(context, path, now);
    __atomic_store_n(&context->record->path, offset, __ATOMIC_RELEASE);
}

void hp_path_begin_created(struct hp_thread_context *context, uint32_t created, uint64_t now)
{
    struct hp_paths *paths = hp_paths_of(context);
    if (paths == NULL)
        return;
    struct hp_path_thread *path = path_at(context, created);
    const uint32_t before = context->record->path;
    if (now > path->arrived) /* this has the time at which its creator made it */
        path->sums[HP_PATH_WAKE_UP].ticks += now - path->arrived;
    path->sums[HP_PATH_WAKE_UP].more++;
    path->arrived = now;
    begin_at(context, path, now);
    __atomic_store_n(&context->record->path, created, __ATOMIC_RELEASE);
    if (before != 0)
        give_back(context, paths, before);
}

/* ------------------------------------------------------------------------------------------------------- ending */

#define LEAST_SLEEPS 4u /* fewer may be its work */
#define IDLE_PART 10u   /* it used less than this part of its life */

/* 0: it woke others, or was woken, or worked. */
static uint64_t period_of(const struct hp_thread_context *context, const struct hp_path_thread *path,
                          const struct hp_cpu_time *used, uint64_t now)
{
    const uint64_t lived = now - path->arrived, ticks = used->ns * hp_ticks_per_ms(context) / 1000000;
    const bool is_alone = path->waker_tid == 0 && path->left == 0 && used->waits >= LEAST_SLEEPS;
    return is_alone && ticks < lived / IDLE_PART ? lived / used->waits : 0;
}

/* Who waits for the end of this thread takes its path. The program may have named it since it was registered. */
void hp_path_end_thread(struct hp_thread_context *context, const struct hp_cpu_time *used, uint64_t now)
{
    struct hp_paths *paths = context->record != NULL ? hp_paths_of(context) : NULL;
    const struct hp_path_thread *path = paths != NULL ? hp_path_of(context) : NULL;
    if (path == NULL || hp_context_is_of_first_thread(context))
        return;
    hp_thread_note_name(context);
    hp_path_leave_at(context, &(struct hp_path_release){
                                  .object = hp_path_object((const void *)(uintptr_t)pthread_self(), HP_PATH_THREAD),
                                  .now = now,
                                  .kind = HP_PATH_FOR_THREAD,
                                  .period = period_of(context, path, used, now)});
    const uint32_t offset = context->record->path;
    __atomic_store_n(&context->record->path, 0, __ATOMIC_RELEASE);
    give_back(context, paths, offset);
}
