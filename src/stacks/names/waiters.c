/* Finds the function that waits. SPDX-License-Identifier: MIT */
#include "waiters.h"

#include <string.h>

#include "text.h"

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static bool is_one_of(const char *name, const char *const *list, size_t count, bool is_beginning)
{
    for (size_t at = 0; at < count; at++)
        if (is_beginning ? begins(name, list[at]) : strcmp(name, list[at]) == 0)
            return true;
    return false;
}

bool hp_is_c_library(const char *path)
{
    static const char *const names[] = {"libc.so", "libc-2", "libc.musl",  "ld-linux", "ld-musl",
                                        "ld-2",    "libdl",  "libpthread", "[vdso]"};
    return is_one_of(hp_text_base_name(path), names, sizeof names / sizeof names[0], true);
}

bool hp_is_system_path(const char *path)
{
    static const char *const names[] = {"libstdc++", "libc++.", "libgcc_s"};
    return hp_is_c_library(path) || is_one_of(hp_text_base_name(path), names, sizeof names / sizeof names[0], true);
}

bool hp_is_system_library(const struct hp_named_stacks *stacks, uint32_t image)
{
    return image < stacks->image_count && hp_is_system_path(stacks->images[image].path);
}

/* In a statically linked program, functions of the C library are recognised by their names only. */
static bool is_system_name(const char *name)
{
    static const char *const beginnings[] = {"__",   "_IO_",  "pthread_", "sem_",   "mtx_",
                                             "cnd_", "thrd_", "std::",    "syscall"};
    static const char *const names[] = {
        "read",   "readv",       "pread",     "pread64", "write",           "writev",  "pwrite",   "pwrite64",
        "poll",   "ppoll",       "select",    "pselect", "epoll_wait",      "wait",    "wait3",    "wait4",
        "waitid", "waitpid",     "sleep",     "usleep",  "nanosleep",       "accept",  "accept4",  "connect",
        "recv",   "recvfrom",    "recvmsg",   "send",    "sendto",          "sendmsg", "sendfile", "fsync",
        "fread",  "fwrite",      "fgets",     "getline", "clock_nanosleep", "open",    "openat",   "close",
        "flock",  "epoll_pwait", "fdatasync", "ioctl",   "sigtimedwait",    "pause",   "sigwait",  "sigsuspend"};
    return is_one_of(name, beginnings, sizeof beginnings / sizeof beginnings[0], true) ||
           is_one_of(name, names, sizeof names / sizeof names[0], false);
}

/* The caller of the library; without one, the library function itself. */
uint32_t hp_waiter_of(const struct hp_named_stacks *stacks, uint32_t node)
{
    uint32_t innermost = HP_NO_FUNCTION;
    bool was_in_library = false;
    for (uint32_t at = stacks->nodes[node].parent; at != HP_STACK_ROOT; at = stacks->nodes[at].parent) {
        const struct hp_named_node *named = &stacks->nodes[at];
        if (named->image == HP_STACK_INCOMPLETE)
            break;
        for (uint32_t frame = 0; frame < named->frame_count; frame++) {
            const uint32_t function = stacks->frames[named->first_frame + frame].function;
            const bool is_library = hp_is_system_library(stacks, named->image);
            if (innermost == HP_NO_FUNCTION)
                innermost = function;
            if (!is_library && (was_in_library || !is_system_name(stacks->functions[function].name)))
                return function;
            was_in_library |= is_library;
        }
    }
    return innermost;
}
