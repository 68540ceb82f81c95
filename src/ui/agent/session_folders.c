/* Finds the folders of sessions of a host. SPDX-License-Identifier: MIT */
#include "session_folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"
#include "growing_array.h"
#include "text.h"

#define MOST_NAMES 65536u    /* of a folder that others fill */
#define MOST_NAMESPACES 512u /* which a user can make, too */
#define MOST_OF_NAMESPACE 64u

/* No user takes the room of others: programs of one have three folders in a namespace. */
#define MOST_OF_OWNER 256u /* HP_AGENT_FOLDERS_MOST */
#define MOST_OF_OWNER_IN_NAMESPACE 8u
#define MOST_UNREADABLE 64u /* whose owner is not known */
#define MOST_UNREADABLE_IN_NAMESPACE 8u

/* ------------------------------------------------------------------------------------------------------ opening */

/* As in linux/openat2.h, which is younger than some systems that we are built on. */
struct how {
    uint64_t flags, mode, resolve;
};
#define HOW_NO_MAGIC_LINKS 0x02u
#define HOW_NO_SYMLINKS 0x04u
#define HOW_IN_ROOT 0x10u
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#define TRIES 5 /* something was renamed meanwhile */

/* Without following a link, and not out of the root. -1: see errno. */
static int open_in(int root, const char *path, int flags)
{
    const struct how how = {.flags = (uint64_t)flags | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
                            .resolve = HOW_IN_ROOT | HOW_NO_SYMLINKS | HOW_NO_MAGIC_LINKS};
    long fd = -1;
    for (int left = TRIES; left > 0; left--) {
        fd = syscall(SYS_openat2, root, path, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return (int)fd;
}

/* A place where only names are looked at. Without openat2 (Linux 5.6) our own root may do without. */
static int open_place(int root, const char *path, int flags, bool is_own)
{
    const int fd = open_in(root, path, flags);
    return fd < 0 && is_own && errno == ENOSYS ? openat(root, path, flags | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                                               : fd;
}

/* ------------------------------------------------------------------------------------------------------ folders */

struct search {
    struct hp_session_folders *folders;
    int root;
    char shown[64]; /* what its paths begin with: "/proc/812/root" */
    uint64_t namespace_number;
    size_t found;
};

static const char *why_not(const struct hp_session_folders *folders, const struct stat *status)
{
    if (!folders->is_for_all && status->st_uid != geteuid())
        return "it belongs to another user";
    return (status->st_mode & 022) != 0 ? "others can write to it" : NULL;
}

/* The same folder may be seen from several namespaces, and again each time. True: it is known, and counts again. */
static bool is_known(struct search *search, const struct stat *status)
{
    for (size_t at = 0; at < search->folders->count; at++) {
        struct hp_session_folder *folder = &search->folders->all[at];
        if (folder->device != status->st_dev || folder->inode != status->st_ino || folder->owner != status->st_uid)
            continue;
        const char *left_out = why_not(search->folders, status);
        if ((left_out == NULL) != (folder->left_out == NULL))
            continue; /* its mode has changed */
        folder->is_gone = false;
        search->found++;
        return true;
    }
    return false;
}

/* `status` is NULL for one that cannot be looked at. */
static bool has_room(const struct search *search, const struct stat *status)
{
    const struct hp_session_folders *folders = search->folders;
    size_t all = 0, here = 0;
    for (size_t at = 0; at < folders->count; at++) {
        const struct hp_session_folder *folder = &folders->all[at];
        const bool is_alike =
            status == NULL ? folder->inode == 0 : folder->inode != 0 && folder->owner == status->st_uid;
        if (!is_alike || folder->is_gone)
            continue;
        all++;
        here += folder->namespace_number == search->namespace_number;
    }
    if (status == NULL)
        return all < MOST_UNREADABLE && here < MOST_UNREADABLE_IN_NAMESPACE;
    return search->found < MOST_OF_NAMESPACE && all < MOST_OF_OWNER && here < MOST_OF_OWNER_IN_NAMESPACE;
}

static struct hp_session_folder *take(struct search *search, const char *place, const char *name,
                                      const struct stat *status)
{
    struct hp_session_folders *folders = search->folders;
    if (folders->count >= HP_SESSION_FOLDERS_MOST || !has_room(search, status) ||
        !HP_MAKE_ROOM(folders->all, folders->count + 1, folders->room)) {
        folders->left_out++;
        return NULL;
    }
    struct hp_session_folder *folder = &folders->all[folders->count++];
    *folder = (struct hp_session_folder){.namespace_number = search->namespace_number, .fd = -1};
    search->found += status != NULL;
    snprintf(folder->path, sizeof folder->path, "%s/%s%s%s", search->shown, place, name[0] != '\0' ? "/" : "",
             name);
    return folder;
}

static const char *reason_of(int error)
{
    return error == ELOOP || error == ENOTDIR ? "it is a symbolic link or not a directory"
           : error == ENOSYS                  ? "this kernel has no openat2"
                                              : strerror(error);
}

/* What cannot be looked at has no identity, and is found anew each time. */
static void add_unreadable(struct search *search, const char *place, const char *name, int error)
{
    struct hp_session_folder *folder = error != ENOENT ? take(search, place, name, NULL) : NULL;
    if (folder != NULL)
        folder->left_out = reason_of(error);
}

static void add_folder(struct search *search, const char *place, const char *name)
{
    char path[512];
    struct stat status;
    if ((size_t)snprintf(path, sizeof path, "%s%s%s", place, name[0] != '\0' ? "/" : "", name) >= sizeof path)
        return;
    const int fd = open_place(search->root, path, O_PATH, search->namespace_number == 0);
    if (fd < 0 || fstat(fd, &status) != 0) {
        add_unreadable(search, place, name, errno);
    } else if (!is_known(search, &status)) {
        struct hp_session_folder *folder = take(search, place, name, &status);
        if (folder != NULL) {
            folder->device = status.st_dev;
            folder->inode = status.st_ino;
            folder->owner = status.st_uid;
            folder->left_out = why_not(search->folders, &status);
            folder->fd = folder->left_out == NULL ? fd : -1;
            if (folder->fd >= 0)
                return;
        }
    }
    if (fd >= 0)
        close(fd);
}

typedef void visit_name(struct search *search, const char *place, const char *name);

static void each_name(struct search *search, const char *place, visit_name *visit)
{
    const int fd = open_place(search->root, place, O_RDONLY | O_NONBLOCK, search->namespace_number == 0);
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    size_t left = MOST_NAMES;
    if (listing == NULL && fd >= 0)
        close(fd);
    if (listing == NULL && errno != ENOENT)
        add_unreadable(search, place, "", errno);
    for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL; left--) {
        if (left == 0) {
            add_unreadable(search, place, "", E2BIG);
            break;
        }
        if (entry->d_name[0] != '.')
            visit(search, place, entry->d_name);
    }
    if (listing != NULL)
        closedir(listing);
}

static void visit_shared(struct search *search, const char *place, const char *name)
{
    static const char beginning[] = "hotpath-";
    const char *user = name + sizeof beginning - 1;
    if (strncmp(name, beginning, sizeof beginning - 1) == 0 && user[0] != '\0' &&
        user[strspn(user, "0123456789")] == '\0')
        add_folder(search, place, name);
}

/* A folder that only its owner can look into: so we look as that user, who may do nothing to us meanwhile. */
static void visit_runtime(struct search *search, const char *place, const char *name)
{
    char folder[300];
    struct stat status;
    snprintf(folder, sizeof folder, "%s/%.200s", place, name);
    const int fd = open_place(search->root, folder, O_PATH, search->namespace_number == 0);
    if (search->folders->is_for_all && fd >= 0 && fstat(fd, &status) == 0)
        setfsuid(status.st_uid);
    add_folder(search, folder, "hotpath");
    setfsuid(geteuid());
    if (fd >= 0)
        close(fd);
}

static void search_root(struct search *search)
{
    each_name(search, "dev/shm", visit_shared);
    each_name(search, "tmp", visit_shared);
    each_name(search, "run/user", visit_runtime);
}

/* --------------------------------------------------------------------------------------------------- namespaces */

/* "mnt:[4026531841]"; 0: unknown. */
static uint64_t namespace_of(const char *process)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%.20s/ns/mnt", process);
    const ssize_t length = readlink(path, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return strncmp(text, "mnt:[", 5) == 0 ? strtoull(text + 5, NULL, 10) : 0;
}

/* NULL: it is known, or there are too many. */
static struct hp_mount_namespace *take_namespace(struct hp_session_folders *folders, uint64_t number)
{
    for (size_t at = 0; at < folders->namespace_count; at++)
        if (folders->namespaces[at].number == number)
            return folders->namespaces[at].is_seen ? NULL : &folders->namespaces[at];
    if (folders->namespace_count >= MOST_NAMESPACES ||
        !HP_MAKE_ROOM(folders->namespaces, folders->namespace_count + 1, folders->namespace_room)) {
        folders->left_out++;
        return NULL;
    }
    struct hp_mount_namespace *namespace = &folders->namespaces[folders->namespace_count++];
    *namespace = (struct hp_mount_namespace){.number = number};
    return namespace;
}

/* Each time by a process that is in it now, as others have ended. */
static void search_namespace(struct hp_session_folders *folders, struct hp_mount_namespace *namespace,
                             const char *process)
{
    struct search search = {.folders = folders, .namespace_number = namespace->number};
    namespace->pid = (uint32_t)strtoul(process, NULL, 10);
    snprintf(search.shown, sizeof search.shown, "/proc/%.20s/root", process);
    search.root = open(search.shown, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int probe = search.root >= 0 ? open_in(search.root, "/", O_PATH) : -1;
    namespace->left_out = probe >= 0 ? NULL : reason_of(errno);
    namespace->is_seen = probe >= 0; /* else another process in it may do */
    if (probe >= 0) {
        close(probe);
        search_root(&search);
    }
    if (search.root >= 0)
        close(search.root);
}

static void visit_process(const char *name, void *context)
{
    struct hp_session_folders *folders = context;
    if (name[strspn(name, "0123456789")] != '\0')
        return;
    errno = 0;
    const uint64_t number = namespace_of(name);
    folders->hidden += number == 0 && errno == EACCES;
    struct hp_mount_namespace *namespace =
        number != 0 && number != folders->own_number ? take_namespace(folders, number) : NULL;
    if (namespace != NULL)
        search_namespace(folders, namespace, name);
}

static void search_namespaces(struct hp_session_folders *folders)
{
    size_t kept = 0;
    for (size_t at = 0; at < folders->namespace_count; at++) {
        folders->namespaces[at].is_seen = false;
        folders->namespaces[at].pid = 0;
    }
    folders->own_number = namespace_of("self");
    folders->hidden = 0;
    hp_file_each("/proc", visit_process, folders);
    for (size_t at = 0; at < folders->namespace_count; at++)
        if (folders->namespaces[at].pid != 0)
            folders->namespaces[kept++] = folders->namespaces[at];
    folders->namespace_count = kept;
}

/* ------------------------------------------------------------------------------------------------------ finding */

static void search_own(struct hp_session_folders *folders)
{
    struct search search = {.folders = folders, .root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (folders->only != NULL) {
        add_folder(&search, folders->only + 1, "");
    } else {
        search_root(&search);
        if (!folders->is_for_all && runtime != NULL && runtime[0] == '/' && !hp_text_begins(runtime, "/run/user/"))
            add_folder(&search, runtime + 1, "hotpath");
    }
    if (search.root >= 0)
        close(search.root);
}

void hp_session_folders_find(struct hp_session_folders *folders)
{
    size_t kept = 0;
    folders->left_out = 0;
    for (size_t at = 0; at < folders->count; at++)
        if (folders->all[at].inode != 0) {
            folders->all[kept] = folders->all[at];
            folders->all[kept++].is_gone = true;
        }
    folders->count = kept;
    search_own(folders);
    if (folders->only == NULL)
        search_namespaces(folders);
}

void hp_session_folders_forget_gone(struct hp_session_folders *folders)
{
    size_t kept = 0;
    for (size_t at = 0; at < folders->count; at++)
        if (!folders->all[at].is_gone)
            folders->all[kept++] = folders->all[at];
        else if (folders->all[at].fd >= 0)
            close(folders->all[at].fd);
    folders->count = kept;
}

void hp_session_folders_free(struct hp_session_folders *folders)
{
    for (size_t at = 0; at < folders->count; at++)
        if (folders->all[at].fd >= 0)
            close(folders->all[at].fd);
    free(folders->all);
    free(folders->namespaces);
    folders->all = NULL;
    folders->namespaces = NULL;
    folders->count = folders->room = folders->namespace_count = folders->namespace_room = 0;
}
