/*
 * The paths of threads: where a thread's path begins, what its own call tree adds to it, and where it leaves it
 * when it ends. The caller holds the context, except where it says otherwise. SPDX-License-Identifier: MIT
 */
#ifndef HP_PATHS_PATH_THREADS_H
#define HP_PATHS_PATH_THREADS_H

#include "cpu.h"
#include "path_sums.h"
#include "runtime.h"

/* What an object is besides its address: hp_path_object. */
enum hp_path_place {
    HP_PATH_OBJECT,       /* memory of the program that hooks know: a lock, a condition */
    HP_PATH_THREAD,       /* a pthread_t */
    HP_PATH_CHANNEL,      /* items of a channel, ... */
    HP_PATH_CHANNEL_ROOM, /* ... and room in it */
    HP_PATH_TRANSFER,     /* the same of channels that the program does not report */
    HP_PATH_TRANSFER_ROOM
};

/* Whether paths are followed. Any thread, any time. */
static inline bool hp_paths_are_on(void)
{
    return __builtin_expect(HOTPATH_GET_(hp_runtime->live_settings.path) != 0, 0);
}

/* A session begins; makes space for paths, if they are to be followed. Under the lock. */
void hp_paths_begin(struct hp_store *store);

/* Those of the context's session; NULL: not followed. */
static inline struct hp_paths *hp_paths_of(const struct hp_thread_context *context)
{
    const struct hp_header *header = (const struct hp_header *)(const void *)context->hot.base;
    return header->paths != 0 ? (struct hp_paths *)(void *)(context->hot.base + header->paths) : NULL;
}

/* The thread's path; NULL: it has none. */
struct hp_path_thread *hp_path_of(const struct hp_thread_context *context);

/* Counts into `own` what the thread's call tree has now. */
void hp_path_count_own(const struct hp_thread_context *context, struct hp_path_thread *path, uint64_t now);

/* The trace of an object, made if there is none; as hp_path_take_trace. */
struct hp_path_trace *hp_path_trace_to_write(struct hp_thread_context *context, struct hp_paths *paths,
                                             uint64_t object);
/* The thread's segment ends, if it is outside of all zones; its own time was counted. Returns its key, or that of
 * the innermost zone. */
uint32_t hp_path_end_here(const struct hp_thread_context *context, struct hp_path_thread *path, uint32_t kind,
                          uint32_t caller, uint64_t now);

/* Something that others wait for: where it is, what it is (enum hp_path_kind), and who releases it. */
struct hp_path_release {
    uint64_t object, now;
    uint32_t kind;
    uint32_t caller; /* site in the file of locks; 0: unknown */
    uint64_t period; /* as in struct hp_path_trace */
};
/* Leaves the path of the thread at an object. */
void hp_path_leave_at(struct hp_thread_context *context, const struct hp_path_release *release);

/* An event loop of the thread gets work: who waited for the thread before waited for that, which is on no path. */
void hp_path_arrive(const struct hp_thread_context *context, uint64_t now);

/* ------------------------------------------------------------------------------------ the beginning and the end */

/* The path of a thread that is about to be created, as it is now; its offset in the session. 0: none. */
uint32_t hp_path_create(struct hp_thread_context *context, uint64_t now);
/* No thread was created. */
void hp_path_drop(struct hp_thread_context *context, uint32_t created);
/* The thread, which has just begun and been registered, is the one that was created. */
void hp_path_begin_created(struct hp_thread_context *context, uint32_t created, uint64_t now);

/* A thread gets a record: its path begins there, as long as nothing is known of its creator. Under the lock. */
void hp_path_begin_thread(struct hp_thread_context *context, uint64_t now);
/* The calling thread ends, after its last zone; what it used, all 0: unknown. Under the lock. */
void hp_path_end_thread(struct hp_thread_context *context, const struct hp_cpu_time *used, uint64_t now);

#endif
