/* Used in builds without libmicrohttpd. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "server.h"

const char *hp_server_is_missing(void)
{
    return "this hotpath was built without a server: install libmicrohttpd-dev and rebuild it";
}

bool hp_server_run(struct hp_serving *serving, const struct hp_listener *listener,
                   const struct hp_server_settings *settings, const volatile sig_atomic_t *told, char *problem,
                   size_t size)
{
    (void)serving;
    (void)settings;
    (void)told;
    close(listener->fd);
    snprintf(problem, size, "%s", hp_server_is_missing());
    return false;
}
