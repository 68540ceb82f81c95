/*
 * libuv's requests as tasks: include this after <uv.h>, and change nothing else.
 *
 * Each request is a task named after the function that made it (uv_fs_write, uv_getaddrinfo, ...), from the call to
 * its callback. The callback continues the task that made the request: a task of the program that makes one request
 * after another, such as opening, writing and closing a file, is polled in all their callbacks and needs only one
 * HOTPATH_TASK_POLL, where it begins. A callback that continues no task is the last poll of the request's own task.
 * Work of uv_queue_work is polled on its worker thread, and "uv_queue_work, queued" is the time it waited for one.
 * For timers and for streams being read, each wait is a task.
 *
 * Followed: uv_fs_*, uv_queue_work, uv_getaddrinfo, uv_getnameinfo, uv_timer_*, uv_read_start, uv_write, uv_write2,
 * uv_shutdown, uv_tcp_connect, uv_pipe_connect, uv_udp_send, uv_listen, uv_close, and uv_cancel by its effect on
 * these. Calls without a callback are synchronous and left alone. The host's requests, handles and their `data` are
 * not touched. Without -DHOTPATH this header does nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_UV_H
#define HOTPATH_UV_H

#ifdef __cplusplus /* C, not C++ as some like it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#include <uv.h>

#include <hotpath/adapter.h>

#if HOTPATH_ON_

#if UV_VERSION_HEX < 0x012400
#error "hotpath/uv.h needs libuv 1.36 or later"
#endif

/* ----------------------------------------------------------------------------------------------------- requests */

/* The callback passed to libuv: ours if there is a wait. */
#define HOTPATH_UV_CALLBACK_(wait, ours, host) ((wait) != NULL ? (ours) : (host))

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_uv_request_(struct hotpath_site *site, const void *request,
                                                           hotpath_callback_ *callback)
{
    return hotpath_wait_begin_(request, HOTPATH_REQUEST_, site, callback);
}

/* If the call failed, no callback comes. */
HOTPATH_ADAPTER_ int hotpath_uv_begun_(struct hotpath_wait_ *wait, int status)
{
    if (status < 0)
        hotpath_wait_drop_(wait);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- files */

HOTPATH_ADAPTER_ void hotpath_uv_fs_done_(uv_fs_t *req)
{
    struct hotpath_wait_ wait;
    if (!hotpath_wait_take_(req, HOTPATH_REQUEST_, &wait))
        return;
    HOTPATH_TURN_(&wait, req->result == UV_ECANCELED);
    ((uv_fs_cb)wait.callback)(req);
}

#define HOTPATH_UV_LIST_(...) __VA_ARGS__
#define HOTPATH_UV_FS_(name, parameters, arguments)                                                                \
    HOTPATH_ADAPTER_ int hotpath_##name##_(struct hotpath_site *site, uv_loop_t *loop, uv_fs_t *req,               \
                                           HOTPATH_UV_LIST_ parameters, uv_fs_cb cb)                               \
    {                                                                                                              \
        struct hotpath_wait_ *wait = cb != NULL ? hotpath_uv_request_(site, req, (hotpath_callback_ *)cb) : NULL;  \
        return hotpath_uv_begun_(wait, name(loop, req, HOTPATH_UV_LIST_ arguments,                                 \
                                            HOTPATH_UV_CALLBACK_(wait, hotpath_uv_fs_done_, cb)));                 \
    }
HOTPATH_UV_FS_(uv_fs_access, (const char *path, int mode), (path, mode))
HOTPATH_UV_FS_(uv_fs_chmod, (const char *path, int mode), (path, mode))
HOTPATH_UV_FS_(uv_fs_chown, (const char *path, uv_uid_t uid, uv_gid_t gid), (path, uid, gid))
HOTPATH_UV_FS_(uv_fs_close, (uv_file file), (file))
HOTPATH_UV_FS_(uv_fs_copyfile, (const char *path, const char *new_path, int flags), (path, new_path, flags))
HOTPATH_UV_FS_(uv_fs_fchmod, (uv_file file, int mode), (file, mode))
HOTPATH_UV_FS_(uv_fs_fchown, (uv_file file, uv_uid_t uid, uv_gid_t gid), (file, uid, gid))
HOTPATH_UV_FS_(uv_fs_fdatasync, (uv_file file), (file))
HOTPATH_UV_FS_(uv_fs_fstat, (uv_file file), (file))
HOTPATH_UV_FS_(uv_fs_fsync, (uv_file file), (file))
HOTPATH_UV_FS_(uv_fs_ftruncate, (uv_file file, int64_t offset), (file, offset))
HOTPATH_UV_FS_(uv_fs_futime, (uv_file file, double atime, double mtime), (file, atime, mtime))
HOTPATH_UV_FS_(uv_fs_link, (const char *path, const char *new_path), (path, new_path))
HOTPATH_UV_FS_(uv_fs_lstat, (const char *path), (path))
HOTPATH_UV_FS_(uv_fs_mkdir, (const char *path, int mode), (path, mode))
HOTPATH_UV_FS_(uv_fs_mkdtemp, (const char *tpl), (tpl))
HOTPATH_UV_FS_(uv_fs_open, (const char *path, int flags, int mode), (path, flags, mode))
HOTPATH_UV_FS_(uv_fs_read, (uv_file file, const uv_buf_t *bufs, unsigned count, int64_t offset),
               (file, bufs, count, offset))
HOTPATH_UV_FS_(uv_fs_readlink, (const char *path), (path))
HOTPATH_UV_FS_(uv_fs_realpath, (const char *path), (path))
HOTPATH_UV_FS_(uv_fs_rename, (const char *path, const char *new_path), (path, new_path))
HOTPATH_UV_FS_(uv_fs_rmdir, (const char *path), (path))
HOTPATH_UV_FS_(uv_fs_scandir, (const char *path, int flags), (path, flags))
HOTPATH_UV_FS_(uv_fs_sendfile, (uv_file out, uv_file in, int64_t offset, size_t length), (out, in, offset, length))
HOTPATH_UV_FS_(uv_fs_stat, (const char *path), (path))
HOTPATH_UV_FS_(uv_fs_symlink, (const char *path, const char *new_path, int flags), (path, new_path, flags))
HOTPATH_UV_FS_(uv_fs_unlink, (const char *path), (path))
HOTPATH_UV_FS_(uv_fs_utime, (const char *path, double atime, double mtime), (path, atime, mtime))
HOTPATH_UV_FS_(uv_fs_write, (uv_file file, const uv_buf_t *bufs, unsigned count, int64_t offset),
               (file, bufs, count, offset))
HOTPATH_UV_FS_(uv_fs_lchown, (const char *path, uv_uid_t uid, uv_gid_t gid), (path, uid, gid))
HOTPATH_UV_FS_(uv_fs_opendir, (const char *path), (path))
HOTPATH_UV_FS_(uv_fs_readdir, (uv_dir_t * dir), (dir))
HOTPATH_UV_FS_(uv_fs_closedir, (uv_dir_t * dir), (dir))
HOTPATH_UV_FS_(uv_fs_statfs, (const char *path), (path))
HOTPATH_UV_FS_(uv_fs_mkstemp, (const char *tpl), (tpl))
HOTPATH_UV_FS_(uv_fs_lutime, (const char *path, double atime, double mtime), (path, atime, mtime))

#undef HOTPATH_UV_FS_

/* --------------------------------------------------------------------------------------------------------- work */

HOTPATH_ADAPTER_ void hotpath_uv_work_(uv_work_t *req)
{
    struct hotpath_wait_ wait, *entry = hotpath_wait_find_(req, HOTPATH_REQUEST_);
    if (entry == NULL)
        return;
    hotpath_wait_unqueue_(entry, &wait);
    HOTPATH_WORK_(&wait, 0);
    ((uv_work_cb)wait.other)(req);
}

HOTPATH_ADAPTER_ void hotpath_uv_after_work_(uv_work_t *req, int status)
{
    struct hotpath_wait_ wait;
    if (!hotpath_wait_take_(req, HOTPATH_REQUEST_, &wait))
        return;
    hotpath_v1_task_end(&wait.queued, 1); /* does nothing unless it was cancelled in the queue */
    HOTPATH_TURN_(&wait, status == UV_ECANCELED);
    if (wait.callback != NULL)
        ((uv_after_work_cb)wait.callback)(req, status);
}

HOTPATH_ADAPTER_ int hotpath_uv_queue_work_(struct hotpath_site *site, struct hotpath_site *queued, uv_loop_t *loop,
                                            uv_work_t *req, uv_work_cb work, uv_after_work_cb after)
{
    struct hotpath_wait_ *wait = work != NULL ? hotpath_uv_request_(site, req, (hotpath_callback_ *)after) : NULL;
    if (wait == NULL)
        return uv_queue_work(loop, req, work, after);
    hotpath_wait_queue_(wait, queued, (hotpath_callback_ *)work);
    return hotpath_uv_begun_(wait, uv_queue_work(loop, req, hotpath_uv_work_, hotpath_uv_after_work_));
}

/* -------------------------------------------------------------------------------------------------------- names */

HOTPATH_ADAPTER_ void hotpath_uv_addresses_(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct hotpath_wait_ wait;
    if (!hotpath_wait_take_(req, HOTPATH_REQUEST_, &wait))
        return;
    HOTPATH_TURN_(&wait, status == UV_EAI_CANCELED);
    ((uv_getaddrinfo_cb)wait.callback)(req, status, found);
}

HOTPATH_ADAPTER_ int hotpath_uv_getaddrinfo_(struct hotpath_site *site, uv_loop_t *loop, uv_getaddrinfo_t *req,
                                             uv_getaddrinfo_cb cb, const char *node, const char *service,
                                             const struct addrinfo *hints)
{
    struct hotpath_wait_ *wait = cb != NULL ? hotpath_uv_request_(site, req, (hotpath_callback_ *)cb) : NULL;
    return hotpath_uv_begun_(wait, uv_getaddrinfo(loop, req, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_addresses_, cb),
                                                  node, service, hints));
}

HOTPATH_ADAPTER_ void hotpath_uv_name_(uv_getnameinfo_t *req, int status, const char *host, const char *service)
{
    struct hotpath_wait_ wait;
    if (!hotpath_wait_take_(req, HOTPATH_REQUEST_, &wait))
        return;
    HOTPATH_TURN_(&wait, status == UV_EAI_CANCELED);
    ((uv_getnameinfo_cb)wait.callback)(req, status, host, service);
}

HOTPATH_ADAPTER_ int hotpath_uv_getnameinfo_(struct hotpath_site *site, uv_loop_t *loop, uv_getnameinfo_t *req,
                                             uv_getnameinfo_cb cb, const struct sockaddr *address, int flags)
{
    struct hotpath_wait_ *wait = cb != NULL ? hotpath_uv_request_(site, req, (hotpath_callback_ *)cb) : NULL;
    return hotpath_uv_begun_(
        wait, uv_getnameinfo(loop, req, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_name_, cb), address, flags));
}

/* ------------------------------------------------------------------------------------------------------ streams */

/* Requests with a status only. The end is recorded even if the host has no callback. */
#define HOTPATH_UV_STATUS_(done, type, callback_type)                                                              \
    HOTPATH_ADAPTER_ void done(type *req, int status)                                                              \
    {                                                                                                              \
        struct hotpath_wait_ wait;                                                                                 \
        if (!hotpath_wait_take_(req, HOTPATH_REQUEST_, &wait))                                                     \
            return;                                                                                                \
        HOTPATH_TURN_(&wait, status == UV_ECANCELED);                                                              \
        if (wait.callback != NULL)                                                                                 \
            ((callback_type)wait.callback)(req, status);                                                           \
    }
HOTPATH_UV_STATUS_(hotpath_uv_written_, uv_write_t, uv_write_cb)
HOTPATH_UV_STATUS_(hotpath_uv_connected_, uv_connect_t, uv_connect_cb)
HOTPATH_UV_STATUS_(hotpath_uv_shut_down_, uv_shutdown_t, uv_shutdown_cb)
HOTPATH_UV_STATUS_(hotpath_uv_sent_, uv_udp_send_t, uv_udp_send_cb)
#undef HOTPATH_UV_STATUS_

HOTPATH_ADAPTER_ int hotpath_uv_write_(struct hotpath_site *site, uv_write_t *req, uv_stream_t *stream,
                                       const uv_buf_t *bufs, unsigned count, uv_write_cb cb)
{
    struct hotpath_wait_ *wait = hotpath_uv_request_(site, req, (hotpath_callback_ *)cb);
    return hotpath_uv_begun_(
        wait, uv_write(req, stream, bufs, count, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_written_, cb)));
}

HOTPATH_ADAPTER_ int hotpath_uv_write2_(struct hotpath_site *site, uv_write_t *req, uv_stream_t *stream,
                                        const uv_buf_t *bufs, unsigned count, uv_stream_t *sent, uv_write_cb cb)
{
    struct hotpath_wait_ *wait = hotpath_uv_request_(site, req, (hotpath_callback_ *)cb);
    return hotpath_uv_begun_(
        wait, uv_write2(req, stream, bufs, count, sent, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_written_, cb)));
}

HOTPATH_ADAPTER_ int hotpath_uv_udp_send_(struct hotpath_site *site, uv_udp_send_t *req, uv_udp_t *handle,
                                          const uv_buf_t *bufs, unsigned count, const struct sockaddr *address,
                                          uv_udp_send_cb cb)
{
    struct hotpath_wait_ *wait = hotpath_uv_request_(site, req, (hotpath_callback_ *)cb);
    return hotpath_uv_begun_(
        wait, uv_udp_send(req, handle, bufs, count, address, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_sent_, cb)));
}

HOTPATH_ADAPTER_ int hotpath_uv_shutdown_(struct hotpath_site *site, uv_shutdown_t *req, uv_stream_t *stream,
                                          uv_shutdown_cb cb)
{
    struct hotpath_wait_ *wait = hotpath_uv_request_(site, req, (hotpath_callback_ *)cb);
    return hotpath_uv_begun_(wait, uv_shutdown(req, stream, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_shut_down_, cb)));
}

HOTPATH_ADAPTER_ int hotpath_uv_tcp_connect_(struct hotpath_site *site, uv_connect_t *req, uv_tcp_t *handle,
                                             const struct sockaddr *address, uv_connect_cb cb)
{
    struct hotpath_wait_ *wait = hotpath_uv_request_(site, req, (hotpath_callback_ *)cb);
    return hotpath_uv_begun_(
        wait, uv_tcp_connect(req, handle, address, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_connected_, cb)));
}

HOTPATH_ADAPTER_ void hotpath_uv_pipe_connect_(struct hotpath_site *site, uv_connect_t *req, uv_pipe_t *handle,
                                               const char *name, uv_connect_cb cb)
{
    struct hotpath_wait_ *wait = hotpath_uv_request_(site, req, (hotpath_callback_ *)cb);
    uv_pipe_connect(req, handle, name, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_connected_, cb));
}

HOTPATH_ADAPTER_ void hotpath_uv_has_read_(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
    struct hotpath_wait_ wait;
    const int is_end = length < 0 && length != UV_ENOBUFS; /* end of stream or an error: nothing comes after it */
    if (!hotpath_wait_look_(hotpath_wait_find_(stream, HOTPATH_READING_), !is_end, &wait))
        return;
    {
        HOTPATH_TURN_(&wait, 0);
        ((uv_read_cb)wait.callback)(stream, length, buf);
    }
    hotpath_wait_again_(wait.key);
}

HOTPATH_ADAPTER_ int hotpath_uv_read_start_(struct hotpath_site *site, uv_stream_t *stream, uv_alloc_cb alloc_cb,
                                            uv_read_cb cb)
{
    struct hotpath_wait_ *wait =
        cb != NULL ? hotpath_wait_begin_(stream, HOTPATH_READING_, site, (hotpath_callback_ *)cb) : NULL;
    return hotpath_uv_begun_(wait,
                             uv_read_start(stream, alloc_cb, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_has_read_, cb)));
}

HOTPATH_ADAPTER_ int hotpath_uv_read_stop_(uv_stream_t *stream)
{
    hotpath_wait_drop_(hotpath_wait_find_(stream, HOTPATH_READING_));
    return uv_read_stop(stream);
}

HOTPATH_ADAPTER_ void hotpath_uv_connection_(uv_stream_t *server, int status)
{
    struct hotpath_wait_ wait;
    if (!hotpath_wait_look_(hotpath_wait_find_(server, HOTPATH_READING_), 1, &wait))
        return;
    {
        HOTPATH_TURN_(&wait, 0);
        ((uv_connection_cb)wait.callback)(server, status);
    }
    hotpath_wait_again_(wait.key);
}

HOTPATH_ADAPTER_ int hotpath_uv_listen_(struct hotpath_site *site, uv_stream_t *stream, int backlog,
                                        uv_connection_cb cb)
{
    struct hotpath_wait_ *wait =
        cb != NULL ? hotpath_wait_begin_(stream, HOTPATH_READING_, site, (hotpath_callback_ *)cb) : NULL;
    return hotpath_uv_begun_(wait,
                             uv_listen(stream, backlog, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_connection_, cb)));
}

/* ------------------------------------------------------------------------------------------------------- timers */

/*
 * A stopped timer keeps its entry until it is closed, because uv_timer_again may start it with the callback that
 * libuv has stored.
 */
HOTPATH_ADAPTER_ void hotpath_uv_timed_(uv_timer_t *timer)
{
    struct hotpath_wait_ wait;
    const int comes_again = uv_timer_get_repeat(timer) != 0;
    if (!hotpath_wait_look_(hotpath_wait_find_(timer, HOTPATH_TIMER_), comes_again, &wait))
        return;
    {
        HOTPATH_TURN_(&wait, 0);
        ((uv_timer_cb)wait.callback)(timer);
    }
    hotpath_wait_again_(wait.key);
}

HOTPATH_ADAPTER_ int hotpath_uv_timer_start_(struct hotpath_site *site, uv_timer_t *timer, uv_timer_cb cb,
                                             uint64_t timeout, uint64_t repeat)
{
    struct hotpath_wait_ *wait =
        cb != NULL ? hotpath_wait_begin_(timer, HOTPATH_TIMER_, site, (hotpath_callback_ *)cb) : NULL;
    return hotpath_uv_begun_(
        wait, uv_timer_start(timer, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_timed_, cb), timeout, repeat));
}

HOTPATH_ADAPTER_ int hotpath_uv_timer_stop_(uv_timer_t *timer)
{
    struct hotpath_wait_ *wait = hotpath_wait_find_(timer, HOTPATH_TIMER_);
    if (wait != NULL)
        hotpath_wait_cancel_(wait);
    return uv_timer_stop(timer);
}

HOTPATH_ADAPTER_ int hotpath_uv_timer_again_(uv_timer_t *timer)
{
    struct hotpath_wait_ *wait = hotpath_wait_find_(timer, HOTPATH_TIMER_);
    const int status = uv_timer_again(timer);
    if (wait != NULL && status == 0 && uv_timer_get_repeat(timer) != 0)
        hotpath_wait_start_(wait, wait->site);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- ends */

HOTPATH_ADAPTER_ void hotpath_uv_closed_(uv_handle_t *handle)
{
    struct hotpath_wait_ wait;
    if (!hotpath_wait_take_(handle, HOTPATH_CLOSING_, &wait))
        return;
    HOTPATH_TURN_(&wait, 0);
    ((uv_close_cb)wait.callback)(handle);
}

HOTPATH_ADAPTER_ void hotpath_uv_close_(struct hotpath_site *site, uv_handle_t *handle, uv_close_cb cb)
{
    hotpath_wait_drop_(hotpath_wait_find_(handle, HOTPATH_TIMER_));
    hotpath_wait_drop_(hotpath_wait_find_(handle, HOTPATH_READING_));
    struct hotpath_wait_ *wait =
        cb != NULL ? hotpath_wait_begin_(handle, HOTPATH_CLOSING_, site, (hotpath_callback_ *)cb) : NULL;
    uv_close(handle, HOTPATH_UV_CALLBACK_(wait, hotpath_uv_closed_, cb));
}

/* ---------------------------------------------------------------------------- replacements for the host's calls */

/* Function-like macros, so that the plain name is still libuv's function, as when its address is taken. */
#define uv_fs_access(...) hotpath_uv_fs_access_(HOTPATH_TASK_SITE_("uv_fs_access"), __VA_ARGS__)
#define uv_fs_chmod(...) hotpath_uv_fs_chmod_(HOTPATH_TASK_SITE_("uv_fs_chmod"), __VA_ARGS__)
#define uv_fs_chown(...) hotpath_uv_fs_chown_(HOTPATH_TASK_SITE_("uv_fs_chown"), __VA_ARGS__)
#define uv_fs_close(...) hotpath_uv_fs_close_(HOTPATH_TASK_SITE_("uv_fs_close"), __VA_ARGS__)
#define uv_fs_copyfile(...) hotpath_uv_fs_copyfile_(HOTPATH_TASK_SITE_("uv_fs_copyfile"), __VA_ARGS__)
#define uv_fs_fchmod(...) hotpath_uv_fs_fchmod_(HOTPATH_TASK_SITE_("uv_fs_fchmod"), __VA_ARGS__)
#define uv_fs_fchown(...) hotpath_uv_fs_fchown_(HOTPATH_TASK_SITE_("uv_fs_fchown"), __VA_ARGS__)
#define uv_fs_fdatasync(...) hotpath_uv_fs_fdatasync_(HOTPATH_TASK_SITE_("uv_fs_fdatasync"), __VA_ARGS__)
#define uv_fs_fstat(...) hotpath_uv_fs_fstat_(HOTPATH_TASK_SITE_("uv_fs_fstat"), __VA_ARGS__)
#define uv_fs_fsync(...) hotpath_uv_fs_fsync_(HOTPATH_TASK_SITE_("uv_fs_fsync"), __VA_ARGS__)
#define uv_fs_ftruncate(...) hotpath_uv_fs_ftruncate_(HOTPATH_TASK_SITE_("uv_fs_ftruncate"), __VA_ARGS__)
#define uv_fs_futime(...) hotpath_uv_fs_futime_(HOTPATH_TASK_SITE_("uv_fs_futime"), __VA_ARGS__)
#define uv_fs_link(...) hotpath_uv_fs_link_(HOTPATH_TASK_SITE_("uv_fs_link"), __VA_ARGS__)
#define uv_fs_lstat(...) hotpath_uv_fs_lstat_(HOTPATH_TASK_SITE_("uv_fs_lstat"), __VA_ARGS__)
#define uv_fs_mkdir(...) hotpath_uv_fs_mkdir_(HOTPATH_TASK_SITE_("uv_fs_mkdir"), __VA_ARGS__)
#define uv_fs_mkdtemp(...) hotpath_uv_fs_mkdtemp_(HOTPATH_TASK_SITE_("uv_fs_mkdtemp"), __VA_ARGS__)
#define uv_fs_open(...) hotpath_uv_fs_open_(HOTPATH_TASK_SITE_("uv_fs_open"), __VA_ARGS__)
#define uv_fs_read(...) hotpath_uv_fs_read_(HOTPATH_TASK_SITE_("uv_fs_read"), __VA_ARGS__)
#define uv_fs_readlink(...) hotpath_uv_fs_readlink_(HOTPATH_TASK_SITE_("uv_fs_readlink"), __VA_ARGS__)
#define uv_fs_realpath(...) hotpath_uv_fs_realpath_(HOTPATH_TASK_SITE_("uv_fs_realpath"), __VA_ARGS__)
#define uv_fs_rename(...) hotpath_uv_fs_rename_(HOTPATH_TASK_SITE_("uv_fs_rename"), __VA_ARGS__)
#define uv_fs_rmdir(...) hotpath_uv_fs_rmdir_(HOTPATH_TASK_SITE_("uv_fs_rmdir"), __VA_ARGS__)
#define uv_fs_scandir(...) hotpath_uv_fs_scandir_(HOTPATH_TASK_SITE_("uv_fs_scandir"), __VA_ARGS__)
#define uv_fs_sendfile(...) hotpath_uv_fs_sendfile_(HOTPATH_TASK_SITE_("uv_fs_sendfile"), __VA_ARGS__)
#define uv_fs_stat(...) hotpath_uv_fs_stat_(HOTPATH_TASK_SITE_("uv_fs_stat"), __VA_ARGS__)
#define uv_fs_symlink(...) hotpath_uv_fs_symlink_(HOTPATH_TASK_SITE_("uv_fs_symlink"), __VA_ARGS__)
#define uv_fs_unlink(...) hotpath_uv_fs_unlink_(HOTPATH_TASK_SITE_("uv_fs_unlink"), __VA_ARGS__)
#define uv_fs_utime(...) hotpath_uv_fs_utime_(HOTPATH_TASK_SITE_("uv_fs_utime"), __VA_ARGS__)
#define uv_fs_write(...) hotpath_uv_fs_write_(HOTPATH_TASK_SITE_("uv_fs_write"), __VA_ARGS__)
#define uv_fs_lchown(...) hotpath_uv_fs_lchown_(HOTPATH_TASK_SITE_("uv_fs_lchown"), __VA_ARGS__)
#define uv_fs_opendir(...) hotpath_uv_fs_opendir_(HOTPATH_TASK_SITE_("uv_fs_opendir"), __VA_ARGS__)
#define uv_fs_readdir(...) hotpath_uv_fs_readdir_(HOTPATH_TASK_SITE_("uv_fs_readdir"), __VA_ARGS__)
#define uv_fs_closedir(...) hotpath_uv_fs_closedir_(HOTPATH_TASK_SITE_("uv_fs_closedir"), __VA_ARGS__)
#define uv_fs_statfs(...) hotpath_uv_fs_statfs_(HOTPATH_TASK_SITE_("uv_fs_statfs"), __VA_ARGS__)
#define uv_fs_mkstemp(...) hotpath_uv_fs_mkstemp_(HOTPATH_TASK_SITE_("uv_fs_mkstemp"), __VA_ARGS__)
#define uv_fs_lutime(...) hotpath_uv_fs_lutime_(HOTPATH_TASK_SITE_("uv_fs_lutime"), __VA_ARGS__)
#define uv_queue_work(...)                                                                                         \
    hotpath_uv_queue_work_(HOTPATH_TASK_SITE_("uv_queue_work"), HOTPATH_TASK_SITE_("uv_queue_work, queued"),       \
                           __VA_ARGS__)
#define uv_getaddrinfo(...) hotpath_uv_getaddrinfo_(HOTPATH_TASK_SITE_("uv_getaddrinfo"), __VA_ARGS__)
#define uv_getnameinfo(...) hotpath_uv_getnameinfo_(HOTPATH_TASK_SITE_("uv_getnameinfo"), __VA_ARGS__)
#define uv_write(...) hotpath_uv_write_(HOTPATH_TASK_SITE_("uv_write"), __VA_ARGS__)
#define uv_write2(...) hotpath_uv_write2_(HOTPATH_TASK_SITE_("uv_write2"), __VA_ARGS__)
#define uv_udp_send(...) hotpath_uv_udp_send_(HOTPATH_TASK_SITE_("uv_udp_send"), __VA_ARGS__)
#define uv_shutdown(...) hotpath_uv_shutdown_(HOTPATH_TASK_SITE_("uv_shutdown"), __VA_ARGS__)
#define uv_tcp_connect(...) hotpath_uv_tcp_connect_(HOTPATH_TASK_SITE_("uv_tcp_connect"), __VA_ARGS__)
#define uv_pipe_connect(...) hotpath_uv_pipe_connect_(HOTPATH_TASK_SITE_("uv_pipe_connect"), __VA_ARGS__)
#define uv_read_start(...) hotpath_uv_read_start_(HOTPATH_TASK_SITE_("uv_read_start"), __VA_ARGS__)
#define uv_listen(...) hotpath_uv_listen_(HOTPATH_TASK_SITE_("uv_listen"), __VA_ARGS__)
#define uv_timer_start(...) hotpath_uv_timer_start_(HOTPATH_TASK_SITE_("uv_timer_start"), __VA_ARGS__)
#define uv_close(...) hotpath_uv_close_(HOTPATH_TASK_SITE_("uv_close"), __VA_ARGS__)
#define uv_read_stop(...) hotpath_uv_read_stop_(__VA_ARGS__)
#define uv_timer_stop(...) hotpath_uv_timer_stop_(__VA_ARGS__)
#define uv_timer_again(...) hotpath_uv_timer_again_(__VA_ARGS__)

#endif /* HOTPATH_ON_ */
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
