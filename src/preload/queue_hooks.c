/*
 * Interposed message queues of libraries: POSIX message queues, and GLib's GAsyncQueue, in the library that
 * `hotpath run` preloads. All calls are forwarded unchanged. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <mqueue.h>
#include <stdbool.h>
#include <stddef.h>

#include "descriptors.h"
#include "real_functions.h"

/* ---------------------------------------------------------------------------------------------- POSIX queues */

/* clang-format off */
#define EACH(DO, AS)                                                                                               \
    DO(mq_send) DO(mq_timedsend) DO(mq_receive) DO(mq_timedreceive) DO(mq_close)
/* clang-format on */
HP_REAL_FUNCTIONS(EACH)

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

/* A queue is a descriptor, but only these functions know that it is a queue. */
static bool begin(mqd_t queue, bool is_sending, struct hotpath_transfer_ *ret_transfer)
{
    if ((unsigned)queue >= HP_DESCRIPTORS || HOTPATH_GET_(hotpath_v1_context->skip) != 0)
        return false;
    uint64_t entry = hp_descriptor_entry(queue);
    if (hp_descriptor_what(entry) < HP_FIRST_CHANNEL)
        entry = hp_descriptor_look_for_queue(queue);
    return hp_descriptor_what(entry) != HP_NO_CHANNEL && hp_descriptor_transfer(entry, is_sending, ret_transfer);
}

#define MOVE(type, is_sending, size, name, ...)                                                                    \
    struct hotpath_transfer_ transfer;                                                                             \
    HP_NEED(name);                                                                                                 \
    const bool is_known = begin(queue, is_sending, &transfer);                                                     \
    const type result = HP_CALL(name, __VA_ARGS__);                                                                \
    if (is_known)                                                                                                  \
        hotpath_v1_transferred(&transfer, result >= 0, result >= 0 ? (uint64_t)(size) : 0,                         \
                               result < 0 && (is_sending) && (errno == EAGAIN || errno == ETIMEDOUT));             \
    return result

HP_PUBLIC int mq_send(mqd_t queue, const char *bytes, size_t size, unsigned priority)
{
    MOVE(int, true, size, mq_send, queue, bytes, size, priority);
}
HP_PUBLIC int mq_timedsend(mqd_t queue, const char *bytes, size_t size, unsigned priority,
                           const struct timespec *until)
{
    MOVE(int, true, size, mq_timedsend, queue, bytes, size, priority, until);
}
HP_PUBLIC ssize_t mq_receive(mqd_t queue, char *bytes, size_t size, unsigned *priority)
{
    MOVE(ssize_t, false, result, mq_receive, queue, bytes, size, priority);
}
HP_PUBLIC ssize_t mq_timedreceive(mqd_t queue, char *bytes, size_t size, unsigned *priority,
                                  const struct timespec *until)
{
    MOVE(ssize_t, false, result, mq_timedreceive, queue, bytes, size, priority, until);
}

HP_PUBLIC int mq_close(mqd_t queue)
{
    HP_NEED(mq_close);
    const uint64_t was = hp_descriptor_forget(queue);
    const int result = HP_CALL(mq_close, queue);
    hp_descriptor_forget(queue);
    hp_descriptor_closed(was);
    return result;
}

/* ------------------------------------------------------------------------------------------------ GAsyncQueue */

static struct hotpath_site glib = {
    .id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_OBJECT_, .name = "GAsyncQueue", .function = "", .file = "glib"};

static __thread bool is_inside __attribute__((tls_model("initial-exec"))); /* one of them may call another */

static bool begin_glib(const void *queue, unsigned how, struct hotpath_transfer_ *ret_transfer)
{
    if (is_inside || HOTPATH_GET_(hotpath_v1_context->skip) != 0 || hp_descriptors_are_off())
        return false;
    *ret_transfer = (struct hotpath_transfer_){.site = &glib,
                                               .channel = queue,
                                               .kind = HOTPATH_QUEUE_,
                                               .is_sending = (how & HP_SENDING) != 0,
                                               .never_waits = (how & HP_AT_ONCE) != 0};
    hotpath_v1_transfer(ret_transfer);
    is_inside = ret_transfer->since != 0;
    return is_inside;
}

static void end_glib(const struct hotpath_transfer_ *transfer, bool is_moved)
{
    is_inside = false;
    hotpath_v1_transferred(transfer, is_moved, 0, 0);
}

/* As in their header, which is not needed to build us. If there is none, the caller would not have found it. */
#define DECLARE(type, name, parameters)                                                                            \
    static struct hp_bound_function hooked_##name = HP_BOUND(#name);                                               \
    HP_LIBRARY_HOOK(type, name, parameters);                                                                       \
    type hook_##name parameters
#define FIND_GLIB(name)                                                                                            \
    struct hp_loaded_function found;                                                                               \
    const bool is_there = hp_bound_find(&hooked_##name, __builtin_return_address(0), queue, &found);               \
    struct hotpath_transfer_ transfer

#define PUSH(name, parameters, ...)                                                                                \
    DECLARE(void, name, parameters)                                                                                \
    {                                                                                                              \
        FIND_GLIB(name);                                                                                           \
        const bool is_known = is_there && begin_glib(queue, HP_SENDING | HP_AT_ONCE, &transfer);                   \
        if (is_there)                                                                                              \
            ((__typeof__(hook_##name) *)found.address)(__VA_ARGS__);                                               \
        if (is_known)                                                                                              \
            end_glib(&transfer, true);                                                                             \
    }
#define POP(how, name, parameters, ...)                                                                            \
    DECLARE(void *, name, parameters)                                                                              \
    {                                                                                                              \
        FIND_GLIB(name);                                                                                           \
        const bool is_known = is_there && begin_glib(queue, how, &transfer);                                       \
        void *const result = is_there ? ((__typeof__(hook_##name) *)found.address)(__VA_ARGS__) : NULL;            \
        if (is_known)                                                                                              \
            end_glib(&transfer, result != NULL);                                                                   \
        return result;                                                                                             \
    }

typedef int compare_data(const void *a, const void *b, void *context);

PUSH(g_async_queue_push, (void *queue, void *data), queue, data)
PUSH(g_async_queue_push_unlocked, (void *queue, void *data), queue, data)
PUSH(g_async_queue_push_front, (void *queue, void *data), queue, data)
PUSH(g_async_queue_push_front_unlocked, (void *queue, void *data), queue, data)
PUSH(g_async_queue_push_sorted, (void *queue, void *data, compare_data *compare, void *context), queue, data,
     compare, context)
PUSH(g_async_queue_push_sorted_unlocked, (void *queue, void *data, compare_data *compare, void *context), queue,
     data, compare, context)
POP(HP_RECEIVING, g_async_queue_pop, (void *queue), queue)
POP(HP_RECEIVING, g_async_queue_pop_unlocked, (void *queue), queue)
POP(HP_AT_ONCE, g_async_queue_try_pop, (void *queue), queue)
POP(HP_AT_ONCE, g_async_queue_try_pop_unlocked, (void *queue), queue)
POP(HP_RECEIVING, g_async_queue_timeout_pop, (void *queue, uint64_t timeout), queue, timeout)
POP(HP_RECEIVING, g_async_queue_timeout_pop_unlocked, (void *queue, uint64_t timeout), queue, timeout)
