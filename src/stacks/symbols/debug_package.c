/* Finds the package of a file in the lists of dpkg. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "debug_package.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "text.h"

#define MOST_BYTES (32 << 20) /* of a list */

static const char suffix[] = ".list";

struct search {
    const char *lists, *path, *other; /* other: the same file where /lib is a link to /usr/lib; NULL: none */
    char *name;
    size_t size;
    bool is_found;
};

/* A line of its own. */
static bool has_line(const char *text, size_t size, const char *path)
{
    const size_t length = strlen(path);
    for (const char *at = text; at != NULL && (size_t)(at - text) < size;) {
        const char *found = memmem(at, size - (size_t)(at - text), path, length);
        if (found == NULL)
            return false;
        const bool begins = found == text || found[-1] == '\n';
        if (begins && (size_t)(found - text) + length < size && found[length] == '\n')
            return true;
        at = found + 1;
    }
    return false;
}

/* "zlib1g:amd64.list"; that of the C library has another name. */
static void put_name(struct search *search, const char *list)
{
    const size_t length = strcspn(list, ":");
    const size_t bare = length < strlen(list) ? length : strlen(list) - (sizeof suffix - 1);
    const bool is_libc = bare == 5 && strncmp(list, "libc6", 5) == 0;
    snprintf(search->name, search->size, "%.*s%s", (int)bare, list, is_libc ? "-dbg" : "-dbgsym");
    search->is_found = true;
}

static void look_into(const char *list, void *context)
{
    struct search *search = context;
    char path[PATH_MAX];
    struct stat status;
    if (search->is_found || !hp_text_has_suffix(list, suffix) ||
        snprintf(path, sizeof path, "%s/%s", search->lists, list) >= (int)sizeof path || stat(path, &status) != 0 ||
        status.st_size <= 0 || status.st_size > MOST_BYTES)
        return;
    char *text = malloc((size_t)status.st_size);
    const ssize_t size = text != NULL ? hp_file_read_regular(path, text, (size_t)status.st_size) : 0;
    if (size > 0 && (has_line(text, (size_t)size, search->path) ||
                     (search->other != NULL && has_line(text, (size_t)size, search->other))))
        put_name(search, list);
    free(text);
}

bool hp_debug_package(const char *lists, const char *path, char *name, size_t size)
{
    char with[PATH_MAX];
    struct search search = {.lists = lists, .path = path, .name = name, .size = size};
    if (hp_text_begins(path, "/usr/"))
        search.other = path + strlen("/usr");
    else if (snprintf(with, sizeof with, "/usr%s", path) < (int)sizeof with)
        search.other = with;
    hp_file_each(lists, look_into, &search);
    return search.is_found;
}
