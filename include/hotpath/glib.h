/*
 * GLib's callbacks and GTasks as tasks: include this after <gio/gio.h>, and change nothing else.
 *
 * Each wait of g_idle_add, g_timeout_add or a source's callback is a task named after that function; for repeated
 * callbacks, from one callback to the next. The callback continues the task that was running when it was set; if
 * there was none, it is the last poll of the wait's own task. A GTask is a task "g_task_new" from its creation to
 * its callback, which continues the task that created it. The work of g_task_run_in_thread is a poll of it on that
 * thread; "g_task_run_in_thread, queued" is the time it waited for a thread.
 *
 * Followed: g_idle_add, g_timeout_add, g_timeout_add_seconds and their _full variants, g_source_set_callback of
 * idle and timeout sources, g_task_new with a callback, g_task_run_in_thread. Callbacks get the host's data, and
 * sources are still found by it. Without -DHOTPATH this header does nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_GLIB_H
#define HOTPATH_GLIB_H

#ifdef __cplusplus /* C, not C++ as some like it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#include <gio/gio.h>

#include <hotpath/adapter.h>

#if HOTPATH_ON_

/* ------------------------------------------------------------------------------------------------------ sources */

/*
 * The key of the entry is the source, since `data` is the host's. `other` is the host's destroy function for
 * `data`.
 */
HOTPATH_ADAPTER_ gboolean hotpath_g_dispatched_(gpointer data)
{
    struct hotpath_wait_ wait;
    gboolean stays;
    if (!hotpath_wait_look_(hotpath_wait_find_(g_main_current_source(), HOTPATH_EVENT_), 1, &wait))
        return G_SOURCE_REMOVE;
    {
        HOTPATH_TURN_(&wait, 0);
        stays = ((GSourceFunc)wait.callback)(data);
    }
    if (stays)
        hotpath_wait_again_(wait.key);
    return stays;
}

/* GLib counts the users of the callback: the source, and each call of it. */
HOTPATH_ADAPTER_ void hotpath_g_ref_(gpointer entry)
{
    __atomic_add_fetch(&((struct hotpath_wait_ *)entry)->is_repeated, 1, __ATOMIC_RELAXED);
}

HOTPATH_ADAPTER_ void hotpath_g_unref_(gpointer entry)
{
    struct hotpath_wait_ *wait = (struct hotpath_wait_ *)entry;
    if (__atomic_sub_fetch(&wait->is_repeated, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    const GDestroyNotify notify = (GDestroyNotify)wait->other;
    void *data = wait->argument;
    hotpath_wait_drop_(wait);
    if (notify != NULL)
        notify(data);
}

HOTPATH_ADAPTER_ void hotpath_g_get_(gpointer entry, GSource *source, GSourceFunc *ret_function, gpointer *ret_data)
{
    (void)source;
    *ret_function = hotpath_g_dispatched_;
    *ret_data = ((struct hotpath_wait_ *)entry)->argument;
}

/* Callbacks of other sources have other parameters. */
HOTPATH_ADAPTER_ int hotpath_g_is_plain_(const GSource *source)
{
    return source->source_funcs == &g_idle_funcs || source->source_funcs == &g_timeout_funcs;
}

HOTPATH_ADAPTER_ void hotpath_g_source_set_callback_(struct hotpath_site *site, GSource *source,
                                                     GSourceFunc function, gpointer data, GDestroyNotify notify)
{
    static GSourceCallbackFuncs functions = {hotpath_g_ref_, hotpath_g_unref_, hotpath_g_get_};
    struct hotpath_wait_ *wait = NULL;
    /* If the source is known, it still has its old callback. */
    if (function != NULL && hotpath_g_is_plain_(source) && hotpath_wait_find_(source, HOTPATH_EVENT_) == NULL)
        wait = hotpath_wait_begin_(source, HOTPATH_EVENT_, site, (hotpath_callback_ *)function);
    if (wait == NULL) {
        g_source_set_callback(source, function, data, notify);
        return;
    }
    wait->argument = data;
    wait->other = (hotpath_callback_ *)notify;
    wait->is_repeated = 1;
    g_source_set_callback_indirect(source, wait, &functions);
}

HOTPATH_ADAPTER_ guint hotpath_g_attach_(struct hotpath_site *site, GSource *source, gint priority,
                                         GSourceFunc function, gpointer data, GDestroyNotify notify)
{
    g_source_set_priority(source, priority);
    hotpath_g_source_set_callback_(site, source, function, data, notify);
    const guint id = g_source_attach(source, NULL);
    g_source_unref(source);
    return id;
}

HOTPATH_ADAPTER_ guint hotpath_g_idle_add_full_(struct hotpath_site *site, gint priority, GSourceFunc function,
                                                gpointer data, GDestroyNotify notify)
{
    return hotpath_g_attach_(site, g_idle_source_new(), priority, function, data, notify);
}

HOTPATH_ADAPTER_ guint hotpath_g_idle_add_(struct hotpath_site *site, GSourceFunc function, gpointer data)
{
    return hotpath_g_idle_add_full_(site, G_PRIORITY_DEFAULT_IDLE, function, data, NULL);
}

HOTPATH_ADAPTER_ guint hotpath_g_timeout_add_full_(struct hotpath_site *site, gint priority, guint interval,
                                                   GSourceFunc function, gpointer data, GDestroyNotify notify)
{
    return hotpath_g_attach_(site, g_timeout_source_new(interval), priority, function, data, notify);
}

HOTPATH_ADAPTER_ guint hotpath_g_timeout_add_(struct hotpath_site *site, guint interval, GSourceFunc function,
                                              gpointer data)
{
    return hotpath_g_timeout_add_full_(site, G_PRIORITY_DEFAULT, interval, function, data, NULL);
}

HOTPATH_ADAPTER_ guint hotpath_g_timeout_add_seconds_full_(struct hotpath_site *site, gint priority, guint interval,
                                                           GSourceFunc function, gpointer data,
                                                           GDestroyNotify notify)
{
    return hotpath_g_attach_(site, g_timeout_source_new_seconds(interval), priority, function, data, notify);
}

HOTPATH_ADAPTER_ guint hotpath_g_timeout_add_seconds_(struct hotpath_site *site, guint interval,
                                                      GSourceFunc function, gpointer data)
{
    return hotpath_g_timeout_add_seconds_full_(site, G_PRIORITY_DEFAULT, interval, function, data, NULL);
}

/* ------------------------------------------------------------------------------------------------------- GTasks */

/*
 * The callback and the thread both use the entry, and either may be last: a cancelled GTask may call back before
 * its thread starts.
 */
HOTPATH_ADAPTER_ void hotpath_g_done_with_(struct hotpath_wait_ *wait)
{
    if (__atomic_sub_fetch(&wait->is_repeated, 1, __ATOMIC_ACQ_REL) == 0)
        hotpath_wait_free_(wait);
}

HOTPATH_ADAPTER_ void hotpath_g_ready_(GObject *source, GAsyncResult *result, gpointer data)
{
    struct hotpath_wait_ wait, *entry = hotpath_wait_find_(result, HOTPATH_REQUEST_);
    GCancellable *cancellable = g_task_get_cancellable((GTask *)result);
    const int is_cancelled = cancellable != NULL && g_cancellable_is_cancelled(cancellable);
    if (!hotpath_wait_look_(entry, 0, &wait))
        return;
    hotpath_g_done_with_(entry);
    HOTPATH_TURN_(&wait, is_cancelled);
    ((GAsyncReadyCallback)wait.callback)(source, result, data);
}

/*
 * The callback must be passed before the GTask exists, whose address is the key of the entry. GLib does not call it
 * before one of g_task_return_* is called.
 */
HOTPATH_ADAPTER_ GTask *hotpath_g_task_new_(struct hotpath_site *site, gpointer source, GCancellable *cancellable,
                                            GAsyncReadyCallback callback, gpointer data)
{
    if (callback == NULL || HOTPATH_GET_(hotpath_v1_context->skip) != 0)
        return g_task_new(source, cancellable, callback, data);
    GTask *task = g_task_new(source, cancellable, hotpath_g_ready_, data);
    struct hotpath_wait_ *wait = hotpath_wait_begin_(task, HOTPATH_REQUEST_, site, (hotpath_callback_ *)callback);
    if (wait != NULL) {
        wait->is_repeated = 1;
        return task;
    }
    g_object_unref(task); /* no memory for the entry */
    return g_task_new(source, cancellable, callback, data);
}

HOTPATH_ADAPTER_ void hotpath_g_in_thread_(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    struct hotpath_wait_ wait, *entry = hotpath_wait_find_(task, HOTPATH_REQUEST_);
    if (entry == NULL)
        return;
    hotpath_wait_unqueue_(entry, &wait);
    {
        HOTPATH_WORK_(&wait, 0);
        ((GTaskThreadFunc)wait.other)(task, source, data, cancellable);
    }
    hotpath_g_done_with_(entry);
}

HOTPATH_ADAPTER_ void hotpath_g_task_run_in_thread_(struct hotpath_site *queued, GTask *task,
                                                    GTaskThreadFunc function)
{
    struct hotpath_wait_ *wait = hotpath_wait_find_(task, HOTPATH_REQUEST_);
    if (wait == NULL) {
        g_task_run_in_thread(task, function);
        return;
    }
    wait->is_repeated++;
    hotpath_wait_queue_(wait, queued, (hotpath_callback_ *)function);
    g_task_run_in_thread(task, hotpath_g_in_thread_);
}

/* ---------------------------------------------------------------------------- replacements for the host's calls */

#undef g_task_new /* a GLib macro; the others may be macros, too */
#define g_source_set_callback(...)                                                                                 \
    hotpath_g_source_set_callback_(HOTPATH_TASK_SITE_("g_source_set_callback"), __VA_ARGS__)
#define g_idle_add(...) hotpath_g_idle_add_(HOTPATH_TASK_SITE_("g_idle_add"), __VA_ARGS__)
#define g_idle_add_full(...) hotpath_g_idle_add_full_(HOTPATH_TASK_SITE_("g_idle_add"), __VA_ARGS__)
#define g_timeout_add(...) hotpath_g_timeout_add_(HOTPATH_TASK_SITE_("g_timeout_add"), __VA_ARGS__)
#define g_timeout_add_full(...) hotpath_g_timeout_add_full_(HOTPATH_TASK_SITE_("g_timeout_add"), __VA_ARGS__)
#define g_timeout_add_seconds(...)                                                                                 \
    hotpath_g_timeout_add_seconds_(HOTPATH_TASK_SITE_("g_timeout_add_seconds"), __VA_ARGS__)
#define g_timeout_add_seconds_full(...)                                                                            \
    hotpath_g_timeout_add_seconds_full_(HOTPATH_TASK_SITE_("g_timeout_add_seconds"), __VA_ARGS__)
#define g_task_new(...) hotpath_g_task_new_(HOTPATH_TASK_SITE_("g_task_new"), __VA_ARGS__)
#define g_task_run_in_thread(...)                                                                                  \
    hotpath_g_task_run_in_thread_(HOTPATH_TASK_SITE_("g_task_run_in_thread, queued"), __VA_ARGS__)

#endif /* HOTPATH_ON_ */
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
