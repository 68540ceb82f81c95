/* Stacks with names. SPDX-License-Identifier: MIT */
#include "named_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cxxname.h"
#include "function_role.h"
#include "text.h"

static bool is_kept(const struct hp_named_node *node, const uint32_t *pids, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (hp_process_pid(node) == pids[at])
            return true;
    return false;
}

/* Of the path to a node. */
enum { INCOMPLETE = 1, RECOVERED = 2 };

static void count_node(struct hp_named_stacks *named, const struct hp_named_node *node, unsigned path)
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

bool hp_named_stacks_count(struct hp_named_stacks *named)
{
    unsigned char *path = calloc(named->node_count + 1, sizeof *path);
    if (path == NULL)
        return false;
    named->counts.samples = named->counts.whole = named->counts.waits = named->counts.waits_whole =
        named->counts.waits_recovered = 0;
    named->counts.allocs = named->counts.allocs_whole = 0;
    for (size_t at = 1; at < named->node_count; at++) {
        const struct hp_named_node *node = &named->nodes[at];
        path[at] = (unsigned char)(path[node->parent] | (node->image == HP_STACK_INCOMPLETE ? INCOMPLETE : 0) |
                                   (node->flags & HP_STACK_RECOVERED ? RECOVERED : 0));
        count_node(named, node, path[at]);
    }
    free(path);
    return true;
}

struct kept {
    bool is_kept;
    uint32_t number; /* its new one */
};

static bool has_others(const struct hp_named_stacks *named, const uint32_t *pids, size_t count)
{
    for (size_t at = 1; at < named->node_count; at++)
        if (hp_is_process(&named->nodes[at]) && !is_kept(&named->nodes[at], pids, count))
            return true;
    return false;
}

static void keep_shares(struct hp_named_stacks *named, const struct kept *kept)
{
    size_t count = 0;
    for (size_t at = 0; at < named->share_count; at++) {
        const struct kept *node = &kept[named->shares[at].node];
        if (!node->is_kept)
            continue;
        named->shares[count] = named->shares[at];
        named->shares[count++].node = node->number;
    }
    named->share_count = count;
}

static void keep_holds(struct hp_named_stacks *named, const struct kept *kept)
{
    size_t count = 0;
    for (size_t at = 0; at < named->hold_count; at++) {
        struct hp_lock_hold hold = named->holds[at];
        if (!kept[hold.waiter].is_kept || !kept[hold.holder].is_kept)
            continue;
        hold.waiter = kept[hold.waiter].number;
        hold.holder = kept[hold.holder].number;
        named->holds[count++] = hold;
    }
    named->hold_count = count;
}

static void keep_paths(struct hp_named_stacks *named, const struct kept *kept)
{
    size_t count = 0;
    for (size_t at = 0; at < named->path_count; at++) {
        const struct kept *node = &kept[named->paths[at].node];
        if (!node->is_kept)
            continue;
        named->paths[count] = named->paths[at];
        named->paths[count++].node = node->number;
    }
    named->path_count = count;
}

static void keep_slots(struct hp_named_stacks *named, const struct kept *kept)
{
    for (size_t at = 0; at < named->slot_node_count; at++) {
        uint32_t *node = &named->slot_nodes[at];
        if (*node != HP_NO_NODE)
            *node = kept[*node].is_kept ? kept[*node].number : HP_NO_NODE;
    }
}

bool hp_named_stacks_keep(struct hp_named_stacks *named, const uint32_t *pids, size_t count)
{
    if (!has_others(named, pids, count))
        return true;
    struct kept *kept = calloc(named->node_count + 1, sizeof *kept);
    size_t nodes = 1;
    if (kept == NULL)
        return false;
    memset(named->nodes[0].weight, 0, sizeof named->nodes[0].weight);
    for (size_t at = 1; at < named->node_count; at++) {
        struct hp_named_node node = named->nodes[at];
        kept[at].is_kept = kept[node.parent].is_kept || (hp_is_process(&node) && is_kept(&node, pids, count));
        if (!kept[at].is_kept)
            continue;
        node.parent = kept[node.parent].number;
        kept[at].number = (uint32_t)nodes;
        named->nodes[nodes++] = node;
    }
    named->node_count = nodes;
    keep_shares(named, kept);
    keep_holds(named, kept);
    keep_paths(named, kept);
    keep_slots(named, kept);
    free(kept);
    return hp_named_stacks_count(named);
}

static void free_names(struct hp_named_stacks *named)
{
    free(named->images);
    free(named->functions);
    free(named->frames);
    free(named->zones);
    free(named->programs);
    free(named->texts);
    free(named->slot_nodes);
    if (named->own_slots != NULL)
        hp_stack_slots_free(named->own_slots);
    free(named->own_slots);
}

void hp_named_stacks_free(struct hp_named_stacks *named)
{
    if (!named->is_range)
        free_names(named);
    free(named->nodes);
    free(named->shares);
    free(named->holds);
    free(named->paths);
    memset(named, 0, sizeof *named);
}

/* --------------------------------------------------------------------------------------------------- processes */

#define LONGEST_COMM 15u /* the kernel cuts it */

/* Whether it is the name of a link in the folder of the file, by which the file can be started. */
static bool is_link_to(const char *comm, const char *file, const char *name)
{
    char link[1200];
    struct stat of_file, of_link;
    if (comm[0] == '\0' || strchr(comm, '/') != NULL ||
        snprintf(link, sizeof link, "%.*s%s", (int)(name - file), file, comm) >= (int)sizeof link)
        return false;
    return stat(file, &of_file) == 0 && stat(link, &of_link) == 0 && of_file.st_dev == of_link.st_dev &&
           of_file.st_ino == of_link.st_ino;
}

const char *hp_program_name(const char *comm, const char *file)
{
    const char *name = hp_text_base_name(file);
    const bool is_of_file = comm[0] != '\0' && strlen(comm) < LONGEST_COMM && strstr(name, comm) != NULL;
    return name[0] == '\0' || is_of_file || is_link_to(comm, file, name) ? comm : name;
}

const char *hp_library_name(const struct hp_named_stacks *stacks, uint32_t image)
{
    const char *name = NULL;
    if (image >= stacks->image_count)
        return "";
    const char *file = stacks->images[image].path;
    for (size_t at = 0; at < stacks->program_count; at++) {
        const struct hp_named_program *program = &stacks->programs[at];
        if (strcmp(program->file, file) != 0 || program->name[0] == '\0')
            continue;
        if (name != NULL && strcmp(program->name, name) != 0)
            return hp_text_base_name(file);
        name = program->name;
    }
    return name != NULL ? name : hp_text_base_name(file);
}

/* ------------------------------------------------------------------------------------------ functions that wait */

static bool is_one_of(const char *name, const char *const *list, size_t count, bool is_beginning)
{
    for (size_t at = 0; at < count; at++)
        if (is_beginning ? hp_text_begins(name, list[at]) : strcmp(name, list[at]) == 0)
            return true;
    return false;
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

/* The caller of the library, on the stack that ends there; without one, the library function itself. */
static uint32_t caller_of_library(const struct hp_named_stacks *stacks, uint32_t end)
{
    uint32_t innermost = HP_NO_FUNCTION;
    bool was_in_library = false;
    for (uint32_t at = end; at != HP_STACK_ROOT; at = stacks->nodes[at].parent) {
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

uint32_t hp_waiter_of(const struct hp_named_stacks *stacks, uint32_t node)
{
    return caller_of_library(stacks, stacks->nodes[node].parent);
}

static bool is_above_code(uint32_t image)
{
    return image == HP_STACK_WAITING || image == HP_STACK_KERNEL || image == HP_STACK_KERNEL_CODE;
}

uint32_t hp_user_of(const struct hp_named_stacks *stacks, uint32_t node)
{
    while (node != HP_STACK_ROOT && is_above_code(stacks->nodes[node].image))
        node = stacks->nodes[node].parent;
    return caller_of_library(stacks, node);
}

/* ------------------------------------------------------------------------------------------------ names to show */

#define LONGEST_SHOWN 1024u

/* A name of a function, and what is shown of it: the name itself, or a shorter one in its own place. */
struct name {
    const char *full, *shown;
    char *place;  /* NULL: the name is too long to be made readable */
    size_t index; /* in the caller's order */
};

/* Ends what is no signature of C++: its parameters come last. */
static bool is_signature(const char *full)
{
    char bytes[LONGEST_SHOWN];
    return strchr(full, '(') != NULL && hp_cxx_signature(full, bytes, sizeof bytes) > 0;
}

typedef size_t shorten(const char *full, char *out, size_t size);

static void show(struct name *name, shorten *how)
{
    char bytes[LONGEST_SHOWN];
    const bool may_be_short = how != NULL && name->place != NULL && is_signature(name->full);
    const size_t length = may_be_short ? how(name->full, bytes, sizeof bytes) : 0;
    name->shown = name->full;
    if (length > 0 && length < sizeof bytes - 1 && length <= strlen(name->full))
        name->shown = memcpy(name->place, bytes, length + 1);
}

static int by_shown(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->shown, ((const struct name *)b)->shown);
}

/* Shows more of each name that another function has, too. */
static void tell_apart(struct name *names, size_t count, shorten *how)
{
    qsort(names, count, sizeof *names, by_shown);
    for (size_t from = 0, to; from < count; from = to) {
        bool differs = false;
        for (to = from + 1; to < count && by_shown(&names[from], &names[to]) == 0; to++)
            differs |= strcmp(names[from].full, names[to].full) != 0;
        for (size_t at = from; differs && at < to; at++)
            show(&names[at], how);
    }
}

/* The place that a name needs; 0: it is too long. Files from elsewhere may have any number of long names. */
static size_t place_bytes(const char *full)
{
    const size_t length = strnlen(full, LONGEST_SHOWN);
    return length < LONGEST_SHOWN ? length + 1 : 0;
}

static bool take_memory(const char *const *full, size_t count, struct hp_shown_names *ret_names,
                        struct name **ret_list)
{
    size_t bytes = 1;
    bool is_too_much = false;
    for (size_t at = 0; at < count; at++)
        is_too_much |= __builtin_add_overflow(bytes, place_bytes(full[at]), &bytes);
    ret_names->all = calloc(count + 1, sizeof *ret_names->all);
    ret_names->texts = is_too_much ? NULL : malloc(bytes);
    *ret_list = calloc(count + 1, sizeof **ret_list);
    return ret_names->all != NULL && ret_names->texts != NULL && *ret_list != NULL;
}

bool hp_shown_names_make(const char *const *full, size_t count, struct hp_shown_names *ret_names)
{
    struct name *list;
    const bool has_memory = take_memory(full, count, ret_names, &list);
    char *place = ret_names->texts;
    for (size_t at = 0; has_memory && at < count; at++) {
        const size_t bytes = place_bytes(full[at]);
        list[at] = (struct name){.full = full[at], .place = bytes > 0 ? place : NULL, .index = at};
        place += bytes;
        show(&list[at], hp_cxx_short_name);
    }
    if (has_memory) {
        tell_apart(list, count, hp_cxx_signature);
        tell_apart(list, count, NULL);
        for (size_t at = 0; at < count; at++)
            ret_names->all[list[at].index] = list[at].shown;
    } else {
        hp_shown_names_free(ret_names);
    }
    free(list);
    return has_memory;
}

void hp_shown_names_free(struct hp_shown_names *names)
{
    free(names->all);
    free(names->texts);
    *names = (struct hp_shown_names){0};
}
