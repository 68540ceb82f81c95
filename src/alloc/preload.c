/*
 * Reads and changes the environment in place, without the heap or a lock of the C library. Only at process start,
 * when no other thread can access it. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "preload.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The first two by `hotpath run`, the others by hand. */
static const char *const our_names[] = {"libhotpath_preload.so", "libhotpath_alloc.so", "libhotpath.so"};

/* ------------------------------------------------------------------------------------------------------ queries */

static char **find(const char *name)
{
    const size_t length = strlen(name);
    for (char **at = environ; at != NULL && *at != NULL; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return at;
    return NULL;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* An item of HOTPATH that requests allocations; option_values.c has the full parser. */
static bool has_allocations(const char *item, size_t length)
{
    static const char *const words[] = {"alloc", "1", "true", "yes", "on"};
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        if (is_word(item, length, words[at]))
            return true;
    return false;
}

bool hp_preload_is_asked_for(void)
{
    char **const wish = find("HOTPATH");
    if (wish == NULL || getauxval(AT_SECURE) != 0)
        return false;
    const char *item = *wish + strlen("HOTPATH=");
    for (;;) {
        item += strspn(item, ", \t");
        const size_t length = strcspn(item, ", \t");
        if (length == 0)
            return false;
        if (has_allocations(item, length))
            return true;
        item += length;
    }
}

bool hp_preload_has_valgrind(void)
{
    char **const list = find("LD_PRELOAD");
    return list != NULL && strstr(*list, "/vgpreload_") != NULL;
}

bool hp_preload_is_for_children(void)
{
    char **const wish = find("HOTPATH_PRELOAD");
    return wish != NULL && strcmp(*wish, "HOTPATH_PRELOAD=all") == 0 && hp_preload_is_asked_for();
}

/* ------------------------------------------------------------------------------------------------------ removal */

static bool has_name(const char *path, size_t length, const char *name)
{
    size_t from = length;
    while (from > 0 && path[from - 1] != '/')
        from--;
    return length - from >= strlen(name) && strncmp(path + from, name, strlen(name)) == 0;
}

static bool is_ours(const char *path, size_t length)
{
    for (size_t at = 0; at < sizeof our_names / sizeof our_names[0]; at++)
        if (has_name(path, length, our_names[at]))
            return true;
    return false;
}

/* Removes our items from a list separated by blanks and colons. */
static void remove_ours(char *list)
{
    for (char *item = list; *item != '\0';) {
        const size_t length = strcspn(item, ": "), whole = length + (item[length] != '\0');
        if (is_ours(item, length))
            memmove(item, item + whole, strlen(item + whole) + 1);
        else
            item += whole;
    }
    const size_t length = strlen(list);
    if (length > 0 && strchr(": ", list[length - 1]) != NULL)
        list[length - 1] = '\0';
}

void hp_preload_end_here(void)
{
    char **entry = find("LD_PRELOAD");
    if (entry == NULL || strstr(*entry, "libhotpath") == NULL)
        return;
    char *list = *entry + strlen("LD_PRELOAD=");
    remove_ours(list);
    if (*list == '\0')
        for (; *entry != NULL; entry++)
            *entry = entry[1];
}
