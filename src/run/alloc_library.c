/* libhotpath_preload.so: where it is, and how it gets into a program. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* asprintf, dladdr */
#include "alloc_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "find_file.h"

/* ------------------------------------------------------------------------------------------------- trusted path */

/*
 * Whether a file may be loaded into another program: anyone else who could change it, or a folder above it, would
 * run code there.
 *
 * Checks paths that only we and root can change.
 */

/* Many systems give each user a group of the same name with no other members, and a umask that lets it write. */
static bool is_own_group(gid_t group)
{
    const struct passwd *user = getpwuid(geteuid());
    const struct group *entry = getgrgid(group);
    if (user == NULL || entry == NULL || user->pw_gid != group || strcmp(user->pw_name, entry->gr_name) != 0)
        return false;
    for (char **member = entry->gr_mem; *member != NULL; member++)
        if (strcmp(*member, user->pw_name) != 0)
            return false;
    return true;
}

static bool others_can_write(const struct stat *status)
{
    if (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX))
        return false;
    return (status->st_mode & S_IWOTH) || ((status->st_mode & S_IWGRP) && !is_own_group(status->st_gid));
}

/* What is wrong with one of them, or NULL. */
static const char *flaw_of(const char *path, bool is_file)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return strerror(errno);
    if (is_file ? !S_ISREG(status.st_mode) : !S_ISDIR(status.st_mode))
        return is_file ? "it is not a regular file" : "it is not a directory";
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return "it belongs to another user";
    return others_can_write(&status) ? "others can write to it" : NULL;
}

/*
 * The file and all folders above it must belong to root or to us, and nobody else may write to them; folders with
 * the sticky bit (/tmp) are accepted, because others cannot replace our files there. `path` is from realpath.
 * False: `problem` says what is wrong with which of them.
 */
static bool path_is_trusted(const char *path, char *problem, size_t size)
{
    char part[PATH_MAX];
    const size_t length = strlen(path);
    const char *flaw = NULL;
    if (path[0] != '/' || length >= sizeof part) {
        snprintf(problem, size, "'%s' is not an absolute path", path);
        return false;
    }
    for (size_t end = 1; flaw == NULL && end <= length; end++) {
        if (end > 1 && end < length && path[end] != '/')
            continue;
        memcpy(part, path, end);
        part[end] = '\0';
        flaw = flaw_of(part, end == length);
        if (flaw != NULL)
            snprintf(problem, size, "'%s' cannot be trusted: %s", part, flaw);
    }
    return flaw == NULL;
}

/* ------------------------------------------------------------------------------------------------ alloc library */

#define FILE_NAME "libhotpath_preload.so.0"
#define APART "/libhotpath_alloc.so" /* may be given instead; it needs a partner, from its folder */
#define PARTNER "libhotpath.so.0"

/* ------------------------------------------------------------------------------------------------------- path */

/* LD_PRELOAD is separated by blanks and colons, so the path must have neither. */
bool hp_alloc_library_find(const char *given, char *path, size_t size)
{
    char whole[PATH_MAX];
    if (given != NULL ? realpath(given, whole) == NULL : !hp_installed_find(FILE_NAME, whole, sizeof whole))
        return false;
    if (strlen(whole) >= size || strpbrk(whole, ": ") != NULL)
        return false;
    memcpy(path, whole, strlen(whole) + 1);
    return true;
}

bool hp_alloc_library_partner(const char *library, char path[PATH_MAX])
{
    char linked[2 * PATH_MAX];
    if (strstr(library, APART) == NULL)
        return false;
    snprintf(linked, sizeof linked, "%.*s/%s", (int)(strrchr(library, '/') - library), library, PARTNER);
    return realpath(linked, path) != NULL;
}

bool hp_alloc_library_is_trusted(const char *library, char *problem, size_t size)
{
    char partner[PATH_MAX];
    return path_is_trusted(library, problem, size) &&
           (!hp_alloc_library_partner(library, partner) || path_is_trusted(partner, problem, size));
}

/* ------------------------------------------------------------------------------------------------ environment */

/* Prepends or appends an item to the value of a variable. */
static void add_item(const char *variable, const char *item, bool is_first)
{
    const char *others = getenv(variable);
    char *list = NULL;
    if (others == NULL || others[0] == '\0')
        setenv(variable, item, 1);
    else if (asprintf(&list, "%s:%s", is_first ? item : others, is_first ? others : item) >= 0)
        setenv(variable, list, 1);
    free(list);
}

/*
 * The program's children may be anything, and their files cannot be inspected in advance. Programs with gcc's
 * AddressSanitizer would refuse to start unless it comes first, so it is told not to insist; malloc stays its own
 * (src/preload/malloc_counter.c).
 */
static void let_sanitizers_be(void) { add_item("ASAN_OPTIONS", "verify_asan_link_order=0", false); }

/*
 * A program with another C library would fail to start with our library. Its dynamic linker ignores entries that it
 * does not find or cannot parse. Only glibc's expands $LIB, the folder of libraries; from there the path leads back
 * to the root. Only musl's treats tabs as separators; for glibc's, that many tabs make a name that is too long.
 */
#ifdef __GLIBC__
static char *for_this_c_library(const char *library)
{
    char *path = NULL;
    Dl_info libc;
    const bool is_known = dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &libc) != 0;
    /* Outside these folders, $LIB may expand to a folder that does not exist. */
    const bool is_usual =
        is_known && (strncmp(libc.dli_fname, "/lib", 4) == 0 || strncmp(libc.dli_fname, "/usr/lib", 8) == 0);
    return asprintf(&path, "%s%s", is_usual ? "/$LIB/../../../../.." : "", library) >= 0 ? path : NULL;
}
#else
static char *for_this_c_library(const char *library)
{
    char tabs[PATH_MAX + 1], *path = NULL;
    memset(tabs, '\t', sizeof tabs);
    return asprintf(&path, "%.*s%s", (int)sizeof tabs, tabs, library) >= 0 ? path : NULL;
}
#endif

static void preload(const char *library)
{
    char *path = for_this_c_library(library);
    if (path != NULL)
        add_item("LD_PRELOAD", path, true);
    free(path);
}

/*
 * Its partner too, by its full path: otherwise the dynamic linker of every process would search some twenty
 * folders for it.
 */
static void preload_both(const char *library)
{
    char partner[PATH_MAX];
    if (hp_alloc_library_partner(library, partner) && strpbrk(partner, ": ") == NULL)
        preload(partner);
    preload(library);
}

void hp_alloc_library_preload(const char *library, bool with_children)
{
    preload_both(library);
    if (!with_children) {
        unsetenv("HOTPATH_PRELOAD");
        return;
    }
    setenv("HOTPATH_PRELOAD", "all", 1);
    let_sanitizers_be();
}
