/* Stacks with names. SPDX-License-Identifier: MIT */
#include "named_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

static bool is_kept(const struct hp_named_node *node, const uint32_t *pids, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (node->place == pids[at])
            return true;
    return false;
}

/* Of the path to a node. */
enum { KEPT = 1, INCOMPLETE = 2, RECOVERED = 4 };

struct kept {
    unsigned char path;
    uint32_t number; /* its new one */
};

static void count_again(struct hp_named_stacks *named, const struct hp_named_node *node, unsigned path)
{
    const uint64_t *weight = node->weight;
    named->counts.samples += weight[HP_STACK_SAMPLES];
    named->counts.waits += weight[HP_STACK_WAITS];
    named->counts.allocs += weight[HP_STACK_ALLOC_SAMPLES];
    if (!(path & INCOMPLETE)) {
        named->counts.whole += weight[HP_STACK_SAMPLES];
        named->counts.waits_whole += weight[HP_STACK_WAITS];
        named->counts.allocs_whole += weight[HP_STACK_ALLOC_SAMPLES];
    }
    if (path & RECOVERED)
        named->counts.waits_recovered += weight[HP_STACK_WAITS];
}

static bool is_process(const struct hp_named_node *node)
{
    return node->image == HP_STACK_PROCESS && node->frame_count == 0;
}

static bool has_others(const struct hp_named_stacks *named, const uint32_t *pids, size_t count)
{
    for (size_t at = 1; at < named->node_count; at++)
        if (is_process(&named->nodes[at]) && !is_kept(&named->nodes[at], pids, count))
            return true;
    return false;
}

static unsigned path_of(const struct hp_named_node *node, const uint32_t *pids, size_t count)
{
    return (is_process(node) && is_kept(node, pids, count) ? KEPT : 0) |
           (node->image == HP_STACK_INCOMPLETE ? INCOMPLETE : 0) |
           (node->flags & HP_STACK_RECOVERED ? RECOVERED : 0);
}

static void keep_shares(struct hp_named_stacks *named, const struct kept *kept)
{
    size_t count = 0;
    for (size_t at = 0; at < named->share_count; at++) {
        const struct kept *node = &kept[named->shares[at].node];
        if (!(node->path & KEPT))
            continue;
        named->shares[count] = named->shares[at];
        named->shares[count++].node = node->number;
    }
    named->share_count = count;
}

bool hp_named_stacks_keep(struct hp_named_stacks *named, const uint32_t *pids, size_t count)
{
    if (!has_others(named, pids, count))
        return true;
    struct kept *kept = calloc(named->node_count + 1, sizeof *kept);
    size_t nodes = 1;
    if (kept == NULL)
        return false;
    named->counts.samples = named->counts.whole = named->counts.waits = named->counts.waits_whole =
        named->counts.waits_recovered = 0;
    named->counts.allocs = named->counts.allocs_whole = 0;
    memset(named->nodes[0].weight, 0, sizeof named->nodes[0].weight);
    for (size_t at = 1; at < named->node_count; at++) {
        struct hp_named_node node = named->nodes[at];
        kept[at] = (struct kept){(unsigned char)(kept[node.parent].path | path_of(&node, pids, count)), 0};
        if (!(kept[at].path & KEPT))
            continue;
        node.parent = kept[node.parent].number;
        kept[at].number = (uint32_t)nodes;
        named->nodes[nodes++] = node;
        count_again(named, &node, kept[at].path);
    }
    named->node_count = nodes;
    keep_shares(named, kept);
    free(kept);
    return true;
}

void hp_named_stacks_free(struct hp_named_stacks *named)
{
    free(named->images);
    free(named->functions);
    free(named->frames);
    free(named->nodes);
    free(named->zones);
    free(named->shares);
    free(named->texts);
    memset(named, 0, sizeof *named);
}

/* ------------------------------------------------------------------------------------------ functions that wait */

static bool is_one_of(const char *name, const char *const *list, size_t count, bool is_beginning)
{
    for (size_t at = 0; at < count; at++)
        if (is_beginning ? hp_text_begins(name, list[at]) : strcmp(name, list[at]) == 0)
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
