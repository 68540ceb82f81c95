/*
 * A GAsyncQueue with a producer that keeps it full of work and a consumer that takes a job every 5 ms, of a program
 * without hotpath. SPDX-License-Identifier: MIT
 */
#include <glib.h>
#include <stdio.h>

#define JOBS 60

static gpointer consume(gpointer queue)
{
    for (int at = 0; at < JOBS; at++) {
        g_async_queue_pop(queue);
        g_usleep(5000);
    }
    return NULL;
}

int main(void)
{
    GAsyncQueue *queue = g_async_queue_new();
    gint64 waited = 0;
    GThread *thread = g_thread_new("consumer", consume, queue);
    for (int at = 0; at < JOBS; at++)
        g_async_queue_push(queue, GINT_TO_POINTER(at + 1));
    g_thread_join(thread);
    /* And an empty one, that is waited for in vain. */
    const gint64 before = g_get_monotonic_time();
    gpointer none = g_async_queue_timeout_pop(queue, 100000);
    waited = g_get_monotonic_time() - before;
    g_async_queue_unref(queue);
    printf("waited_ns %lld\nnone %d\n", (long long)waited * 1000, none == NULL);
    return 0;
}
