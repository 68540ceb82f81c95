/* A loop of GLib, run twice; "turns": turn by turn. SPDX-License-Identifier: MIT */
#include <glib-unix.h>
#include <glib.h>

#include "loop_truth.h"

static struct truth truth;
static bool goes_on;

static gboolean on_event(gint file, GIOCondition condition, gpointer loop)
{
    (void)file, (void)condition;
    goes_on = truth_callback(&truth);
    if (!goes_on && loop != NULL)
        g_main_loop_quit(loop);
    return G_SOURCE_CONTINUE;
}

static void run_by_turns(void)
{
    for (goes_on = true; goes_on;)
        g_main_context_iteration(NULL, TRUE);
}

int main(int count, char **arguments)
{
    (void)arguments;
    GMainLoop *loop = count > 1 ? NULL : g_main_loop_new(NULL, FALSE);
    truth_begin(&truth);
    const guint source = g_unix_fd_add(truth.file, G_IO_IN, on_event, loop);
    for (int run = 0; run < 2; run++) {
        if (loop != NULL)
            g_main_loop_run(loop);
        else
            run_by_turns();
        if (run == 0)
            truth_pause();
    }
    g_source_remove(source);
    truth_tell(&truth);
    return 0;
}
