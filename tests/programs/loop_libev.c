/* A loop of libev, run twice. SPDX-License-Identifier: MIT */
#include <ev.h>

#include "loop_truth.h"

static struct truth truth;

static void on_event(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)watcher, (void)events;
    if (!truth_callback(&truth))
        ev_break(loop, EVBREAK_ALL);
}

int main(void)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    ev_io watcher;
    truth_begin(&truth);
    ev_init(&watcher, on_event);
    ev_io_set(&watcher, truth.file, EV_READ);
    ev_io_start(loop, &watcher);
    ev_run(loop, 0);
    truth_pause();
    ev_run(loop, 0);
    truth_tell(&truth);
    return 0;
}
