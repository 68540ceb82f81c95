/* Finds the other ends of pipes and sockets. SPDX-License-Identifier: MIT */
#include "other_end.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor_links.h"
#include "files.h"
#include "process.h"
#include "text.h"
#include "wait_cause.h"

#define LINK_BYTES 128u

/* ------------------------------------------------------------------------------------------------- descriptors */

/* False: it is closed. `ret_mode` has S_IRUSR and S_IWUSR as it was opened. */
static bool read_end(uint32_t pid, uint32_t descriptor, char target[LINK_BYTES], mode_t *ret_mode)
{
    char path[HP_TASK_PATH];
    struct stat status;
    if (hp_descriptor_link(pid, descriptor, target, LINK_BYTES) == 0 ||
        lstat(hp_descriptor_path(path, pid, descriptor), &status) != 0)
        return false;
    *ret_mode = status.st_mode & (S_IRUSR | S_IWUSR);
    return true;
}

struct search {
    const char *target;
    mode_t mode; /* of the other end; 0: any */
    uint32_t pid;
    bool is_found;
};

static void visit(const char *name, void *context)
{
    struct search *search = context;
    char target[LINK_BYTES];
    mode_t mode;
    if (search->is_found || name[0] == '.' ||
        !read_end(search->pid, (uint32_t)hp_task_number(&name), target, &mode))
        return;
    search->is_found = strcmp(target, search->target) == 0 && (search->mode == 0 || (mode & search->mode) != 0);
}

static bool has_end(uint32_t pid, const char *target, mode_t mode)
{
    char path[HP_TASK_PATH];
    struct search search = {.target = target, .mode = mode, .pid = pid};
    hp_file_each(hp_task_path(path, pid, 0, "fd"), visit, &search);
    return search.is_found;
}

/*
 * A shell may have the same end as what it has started, which is newer. The process itself is named only if no
 * other has the end.
 */
static uint32_t search_all(const struct hp_other_ends *ends, uint32_t pid, const char *target, mode_t mode)
{
    for (size_t at = 0; at < ends->count && at < ends->most_searched; at++)
        if (ends->pids[at] != pid && has_end(ends->pids[at], target, mode))
            return ends->pids[at];
    return has_end(pid, target, mode) ? pid : 0;
}

/* The inode of the peer; 0: unknown. */
static uint64_t peer_of(uint32_t pid, uint64_t inode, const char *name)
{
    if (hp_text_begins(name, "unix"))
        return hp_unix_socket_peer(inode);
    return hp_text_begins(name, "tcp 127.") || hp_text_begins(name, "tcp [::1]") ? hp_socket_peer(pid, inode) : 0;
}

/* The other end of a pipe is opened the other way. False: it has none that could be found. */
static bool describe(uint32_t pid, const char *name, char target[LINK_BYTES], mode_t *mode)
{
    const uint64_t inode = hp_descriptor_socket(target);
    if (inode == 0) {
        *mode = *mode == S_IRUSR ? S_IWUSR : *mode == S_IWUSR ? S_IRUSR : 0;
        return hp_text_begins(target, "pipe:[") || target[0] == '/';
    }
    const uint64_t peer = peer_of(pid, inode, name);
    struct hp_text text;
    hp_text_init(&text, target, LINK_BYTES);
    hp_text_string(&text, "socket:[");
    hp_text_u64(&text, peer);
    hp_text_char(&text, ']');
    hp_text_end(&text);
    *mode = 0;
    return peer != 0;
}

/* ------------------------------------------------------------------------------------------------------ cache */

static struct hp_known_end *place_of(struct hp_other_ends *ends, uint64_t key)
{
    for (size_t at = 0; at < HP_OTHER_ENDS; at++)
        if (ends->known[at].key == key)
            return &ends->known[at];
    struct hp_known_end *place = &ends->known[ends->next++ % HP_OTHER_ENDS];
    *place = (struct hp_known_end){.key = key, .generation = ends->generation - 1};
    return place;
}

static bool is_one(const struct hp_other_ends *ends, uint32_t pid)
{
    size_t at = 0;
    while (at < ends->count && ends->pids[at] != pid)
        at++;
    return at < ends->count;
}

uint32_t hp_other_end(struct hp_other_ends *ends, uint32_t pid, uint32_t descriptor, const char *name)
{
    char target[LINK_BYTES];
    mode_t mode;
    if (!read_end(pid, descriptor, target, &mode))
        return 0;
    const uint64_t key = (hp_text_hash(target, strlen(target)) ^ ((uint64_t)mode << 32) ^ pid) | 1;
    struct hp_known_end *known = place_of(ends, key);
    if (known->generation == ends->generation || (known->pid != 0 && known->pid != pid && is_one(ends, known->pid)))
        return known->pid;
    known->generation = ends->generation;
    known->pid = describe(pid, name, target, &mode) ? search_all(ends, pid, target, mode) : 0;
    return known->pid;
}
