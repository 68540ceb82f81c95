/* A loop of libevent, run twice. SPDX-License-Identifier: MIT */
#include <event2/event.h>

#include "loop_truth.h"

static struct truth truth;

static void on_event(evutil_socket_t file, short what, void *base)
{
    (void)file, (void)what;
    if (!truth_callback(&truth))
        event_base_loopbreak(base);
}

int main(int count, char **arguments)
{
    (void)count, (void)arguments;
    struct event_base *base = event_base_new();
    truth_begin(&truth);
    struct event *event = event_new(base, truth.file, EV_READ | EV_PERSIST, on_event, base);
    event_add(event, NULL);
    event_base_dispatch(base);
    truth_pause();
    event_base_loop(base, 0);
    event_free(event);
    event_base_free(base);
    truth_tell(&truth);
    return 0;
}
