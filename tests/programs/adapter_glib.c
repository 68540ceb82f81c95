/*
 * GLib and hotpath/glib.h. Each argument selects a scene with known tasks; the program behaves and prints the same
 * without hotpath.
 */
#include <hotpath/glib.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static GMainLoop *loop;

/* ------------------------------------------------------------------------------------------------------ sources */

static hotpath_task load[1];
static int beats;

static gboolean end_load(gpointer data)
{
    printf("loaded %s\n", (const char *)data);
    HOTPATH_TASK_READY(load);
    return G_SOURCE_REMOVE;
}

static gboolean go_on(gpointer data)
{
    g_timeout_add(20, end_load, data);
    return G_SOURCE_REMOVE;
}

static void begin_load(char *name)
{
    HOTPATH_TASK(load, "load");
    HOTPATH_TASK_POLL(load);
    g_idle_add(go_on, name);
}

static gboolean beat(gpointer data) { return ++*(int *)data < 5; }

static void is_gone(gpointer data)
{
    printf("gone after %d\n", *(int *)data);
    g_main_loop_quit(loop);
}

static gboolean never(gpointer data)
{
    (void)data;
    abort();
}

static void sources(void)
{
    static char name[] = "a file";
    static int unused;
    GSource *source = g_timeout_source_new(30);
    begin_load(name);
    g_source_set_callback(source, beat, &beats, is_gone);
    g_source_attach(source, NULL);
    g_source_unref(source);
    g_timeout_add(100000, never, &unused);
    printf("%d\n", g_source_remove_by_user_data(&unused));
    g_main_loop_run(loop);
}

/* ------------------------------------------------------------------------------------------------------- GTasks */

static hotpath_task query[1];

static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    (void)source;
    (void)data;
    (void)cancellable;
    g_usleep(30000);
    g_task_return_int(task, 42);
}

static void is_cancelled(GObject *source, GAsyncResult *result, gpointer data)
{
    GError *error = NULL;
    (void)source;
    (void)data;
    g_task_propagate_int(G_TASK(result), &error);
    printf("%s\n", error != NULL && error->code == G_IO_ERROR_CANCELLED ? "cancelled" : "?");
    g_clear_error(&error);
    g_main_loop_quit(loop);
}

/* It comes back before its thread begins, or while that is at work. */
static gboolean begin_cancelled(gpointer data)
{
    GCancellable *cancellable = g_cancellable_new();
    GTask *task = g_task_new(NULL, cancellable, is_cancelled, NULL);
    (void)data;
    g_task_set_return_on_cancel(task, TRUE);
    g_task_run_in_thread(task, work);
    g_cancellable_cancel(cancellable);
    g_object_unref(task);
    g_object_unref(cancellable);
    return G_SOURCE_REMOVE;
}

static void is_answered(GObject *source, GAsyncResult *result, gpointer data)
{
    (void)source;
    printf("%d %s\n", (int)g_task_propagate_int(G_TASK(result), NULL), (const char *)data);
    HOTPATH_TASK_READY(query);
    g_idle_add(begin_cancelled, NULL);
}

static void begin_query(void)
{
    static char text[] = "data";
    HOTPATH_TASK(query, "query");
    HOTPATH_TASK_POLL(query);
    GTask *task = g_task_new(NULL, NULL, is_answered, text);
    g_task_run_in_thread(task, work);
    g_object_unref(task);
}

static void gtasks(void)
{
    begin_query();
    g_main_loop_run(loop);
    g_usleep(60000); /* for the thread whose task was cancelled */
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    setvbuf(stdout, NULL, _IOLBF, 0);
    loop = g_main_loop_new(NULL, FALSE);
    if (argc > 1 && strcmp(argv[1], "sources") == 0)
        sources();
    if (argc > 1 && strcmp(argv[1], "gtasks") == 0)
        gtasks();
    g_main_loop_unref(loop);
    return 0;
}
