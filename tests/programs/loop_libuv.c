/* A loop of libuv, run twice. SPDX-License-Identifier: MIT */
#include <uv.h>

#include "loop_truth.h"

static struct truth truth;

static void on_event(uv_poll_t *handle, int status, int events)
{
    (void)status, (void)events;
    if (!truth_callback(&truth))
        uv_stop(handle->loop);
}

int main(int count, char **arguments)
{
    (void)count, (void)arguments;
    uv_loop_t *loop = uv_default_loop();
    uv_poll_t handle;
    truth_begin(&truth);
    uv_poll_init(loop, &handle, truth.file);
    uv_poll_start(&handle, UV_READABLE, on_event);
    uv_run(loop, UV_RUN_DEFAULT);
    truth_pause();
    uv_run(loop, UV_RUN_DEFAULT);
    uv_poll_stop(&handle);
    uv_loop_close(loop);
    truth_tell(&truth);
    return 0;
}
