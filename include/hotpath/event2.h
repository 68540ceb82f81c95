/*
 * libevent's events and bufferevents as tasks: include this after <event2/event.h>, and change nothing else.
 *
 * Each wait for an event is a task "event_add", from event_add to the callback; for persistent events, from one
 * callback to the next. The callback continues the task that was running when the event was added; if there was
 * none, it is the last poll of the wait's own task. The same holds for event_base_once, and for bufferevents
 * ("bufferevent_setcb"), whose callbacks continue the task that was running when they were set.
 *
 * Followed: event_new, event_add, event_del, event_free and the evtimer_ and evsignal_ macros that use them;
 * event_base_once; bufferevent_setcb, bufferevent_free. Not followed: event_assign, because nothing tells when such
 * an event is gone. Callbacks get the host's argument. Without -DHOTPATH this header does nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_EVENT2_H
#define HOTPATH_EVENT2_H

#ifdef __cplusplus /* C, not C++ as some like it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#include <event2/bufferevent.h>
#include <event2/event.h>

#include <hotpath/adapter.h>

#if HOTPATH_ON_

/* ------------------------------------------------------------------------------------------------------- events */

/* `argument` is the entry, which lives as long as the event. */
HOTPATH_ADAPTER_ void hotpath_event_came_(evutil_socket_t file, short what, void *argument)
{
    struct hotpath_wait_ wait, *entry = (struct hotpath_wait_ *)argument;
    hotpath_wait_look_(entry, entry->is_repeated, &wait);
    {
        HOTPATH_TURN_(&wait, 0);
        ((event_callback_fn)wait.callback)(file, what, wait.argument);
    }
    hotpath_wait_again_(wait.key);
}

HOTPATH_ADAPTER_ struct event *hotpath_event_new_(struct event_base *base, evutil_socket_t file, short what,
                                                  event_callback_fn callback, void *argument)
{
    struct event *event = event_new(base, file, what, callback, argument);
    struct hotpath_wait_ *wait =
        event != NULL && callback != NULL
            ? hotpath_wait_make_(hotpath_wait_key_(event, HOTPATH_EVENT_), NULL, (hotpath_callback_ *)callback)
            : NULL;
    if (wait == NULL)
        return event;
    wait->argument = event_get_callback_arg(event); /* may be the event itself */
    wait->is_repeated = (what & EV_PERSIST) != 0;
    event_assign(event, base, file, what, hotpath_event_came_, wait);
    return event;
}

HOTPATH_ADAPTER_ int hotpath_event_add_(struct hotpath_site *site, struct event *event,
                                        const struct timeval *timeout)
{
    struct hotpath_wait_ *wait = hotpath_wait_find_(event, HOTPATH_EVENT_);
    if (wait != NULL) /* before event_add: another thread may run the loop */
        hotpath_wait_start_(wait, site);
    const int status = event_add(event, timeout);
    if (wait != NULL && status != 0)
        hotpath_wait_cancel_(wait);
    return status;
}

HOTPATH_ADAPTER_ int hotpath_event_del_(struct event *event)
{
    const int status = event_del(event); /* waits for a callback that runs on another thread */
    struct hotpath_wait_ *wait = hotpath_wait_find_(event, HOTPATH_EVENT_);
    if (wait != NULL)
        hotpath_wait_cancel_(wait);
    return status;
}

HOTPATH_ADAPTER_ void hotpath_event_free_(struct event *event)
{
    event_del(event);
    hotpath_wait_drop_(hotpath_wait_find_(event, HOTPATH_EVENT_));
    event_free(event);
}

HOTPATH_ADAPTER_ event_callback_fn hotpath_event_get_callback_(const struct event *event)
{
    const struct hotpath_wait_ *wait = hotpath_wait_find_(event, HOTPATH_EVENT_);
    return wait != NULL ? (event_callback_fn)wait->callback : event_get_callback(event);
}

HOTPATH_ADAPTER_ void *hotpath_event_get_callback_arg_(const struct event *event)
{
    const struct hotpath_wait_ *wait = hotpath_wait_find_(event, HOTPATH_EVENT_);
    return wait != NULL ? wait->argument : event_get_callback_arg(event);
}

HOTPATH_ADAPTER_ void hotpath_event_once_(evutil_socket_t file, short what, void *argument)
{
    struct hotpath_wait_ wait, *entry = (struct hotpath_wait_ *)argument;
    hotpath_wait_look_(entry, 0, &wait);
    hotpath_wait_free_(entry);
    HOTPATH_TURN_(&wait, 0);
    ((event_callback_fn)wait.callback)(file, what, wait.argument);
}

HOTPATH_ADAPTER_ int hotpath_event_base_once_(struct hotpath_site *site, struct event_base *base,
                                              evutil_socket_t file, short what, event_callback_fn callback,
                                              void *argument, const struct timeval *timeout)
{
    struct hotpath_wait_ *wait = hotpath_wait_once_(site, (hotpath_callback_ *)callback, argument);
    if (wait == NULL)
        return event_base_once(base, file, what, callback, argument, timeout);
    const int status = event_base_once(base, file, what, hotpath_event_once_, wait, timeout);
    if (status != 0)
        hotpath_wait_drop_(wait);
    return status;
}

/* ------------------------------------------------------------------------------------------------- bufferevents */

/* Copies the entry under its lock, because another thread may set other callbacks. */
HOTPATH_ADAPTER_ int hotpath_bufferevent_look_(struct bufferevent *buffer, struct hotpath_wait_ *ret_wait)
{
    bufferevent_lock(buffer);
    const int is_known = hotpath_wait_look_(hotpath_wait_find_(buffer, HOTPATH_READING_), 1, ret_wait);
    bufferevent_unlock(buffer);
    return is_known;
}

HOTPATH_ADAPTER_ void hotpath_bufferevent_data_(struct bufferevent *buffer, void *argument, int is_written)
{
    struct hotpath_wait_ wait;
    if (!hotpath_bufferevent_look_(buffer, &wait))
        return;
    {
        HOTPATH_TURN_(&wait, 0);
        const bufferevent_data_cb callback = (bufferevent_data_cb)(is_written ? wait.other : wait.callback);
        if (callback != NULL)
            callback(buffer, argument);
    }
    hotpath_wait_again_(wait.key);
}

HOTPATH_ADAPTER_ void hotpath_bufferevent_read_(struct bufferevent *buffer, void *argument)
{
    hotpath_bufferevent_data_(buffer, argument, 0);
}

HOTPATH_ADAPTER_ void hotpath_bufferevent_write_(struct bufferevent *buffer, void *argument)
{
    hotpath_bufferevent_data_(buffer, argument, 1);
}

HOTPATH_ADAPTER_ void hotpath_bufferevent_event_(struct bufferevent *buffer, short what, void *argument)
{
    struct hotpath_wait_ wait;
    if (!hotpath_bufferevent_look_(buffer, &wait))
        return;
    {
        HOTPATH_TURN_(&wait, 0);
        if (wait.third != NULL)
            ((bufferevent_event_cb)wait.third)(buffer, what, argument);
    }
    hotpath_wait_again_(wait.key);
}

HOTPATH_ADAPTER_ void hotpath_bufferevent_setcb_(struct hotpath_site *site, struct bufferevent *buffer,
                                                 bufferevent_data_cb on_read, bufferevent_data_cb on_write,
                                                 bufferevent_event_cb on_event, void *argument)
{
    struct hotpath_wait_ *wait = NULL;
    bufferevent_lock(buffer);
    if (on_read != NULL || on_write != NULL || on_event != NULL)
        wait = hotpath_wait_begin_(buffer, HOTPATH_READING_, site, (hotpath_callback_ *)on_read);
    if (wait != NULL) {
        wait->other = (hotpath_callback_ *)on_write;
        wait->third = (hotpath_callback_ *)on_event;
        bufferevent_setcb(buffer, on_read != NULL ? hotpath_bufferevent_read_ : NULL,
                          on_write != NULL ? hotpath_bufferevent_write_ : NULL,
                          on_event != NULL ? hotpath_bufferevent_event_ : NULL, argument);
    } else {
        bufferevent_setcb(buffer, on_read, on_write, on_event, argument);
        hotpath_wait_drop_(hotpath_wait_find_(buffer, HOTPATH_READING_));
    }
    bufferevent_unlock(buffer);
}

HOTPATH_ADAPTER_ void hotpath_bufferevent_getcb_(struct bufferevent *buffer, bufferevent_data_cb *on_read,
                                                 bufferevent_data_cb *on_write, bufferevent_event_cb *on_event,
                                                 void **argument)
{
    const struct hotpath_wait_ *wait = hotpath_wait_find_(buffer, HOTPATH_READING_);
    bufferevent_getcb(buffer, on_read, on_write, on_event, argument);
    if (wait == NULL)
        return;
    if (on_read != NULL)
        *on_read = (bufferevent_data_cb)wait->callback;
    if (on_write != NULL)
        *on_write = (bufferevent_data_cb)wait->other;
    if (on_event != NULL)
        *on_event = (bufferevent_event_cb)wait->third;
}

/* The bufferevent may outlive this call while a callback is pending; it then has none to call. */
HOTPATH_ADAPTER_ void hotpath_bufferevent_free_(struct bufferevent *buffer)
{
    struct hotpath_wait_ *wait = hotpath_wait_find_(buffer, HOTPATH_READING_);
    if (wait != NULL)
        bufferevent_setcb(buffer, NULL, NULL, NULL, NULL);
    hotpath_wait_drop_(wait);
    bufferevent_free(buffer);
}

/* ---------------------------------------------------------------------------- replacements for the host's calls */

#define event_new(...) hotpath_event_new_(__VA_ARGS__)
#define event_add(...) hotpath_event_add_(HOTPATH_TASK_SITE_("event_add"), __VA_ARGS__)
#define event_del(...) hotpath_event_del_(__VA_ARGS__)
#define event_free(...) hotpath_event_free_(__VA_ARGS__)
#define event_get_callback(...) hotpath_event_get_callback_(__VA_ARGS__)
#define event_get_callback_arg(...) hotpath_event_get_callback_arg_(__VA_ARGS__)
#define event_base_once(...) hotpath_event_base_once_(HOTPATH_TASK_SITE_("event_base_once"), __VA_ARGS__)
#define bufferevent_setcb(...) hotpath_bufferevent_setcb_(HOTPATH_TASK_SITE_("bufferevent_setcb"), __VA_ARGS__)
#define bufferevent_getcb(...) hotpath_bufferevent_getcb_(__VA_ARGS__)
#define bufferevent_free(...) hotpath_bufferevent_free_(__VA_ARGS__)

#endif /* HOTPATH_ON_ */
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
