/*
 * Reads and changes the environment in place, without the heap or a lock of the C library: at process start, when
 * no other thread can access it, and by one store for a program that is executed in a sandbox.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "preload.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "raw_call.h"

/* One of the first four by `hotpath run`, the others by hand. */
static const char *const our_names[] = {"libhotpath_preload.so",  "libhotpath_locks.so", "libhotpath_io.so",
                                        "libhotpath_locks_io.so", "libhotpath_alloc.so", "libhotpath.so"};

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

/* ------------------------------------------------------------------------------------------- executed programs */

#define LIST "LD_PRELOAD="
#define LIST_LENGTH (sizeof LIST - 1)

/*
 * Not the whole path of ours: see src/run/program_file.c. With glibc it begins with the folder of libraries and
 * the way back to the root, with musl with more tabs than a path has bytes; there may be two.
 */
#ifdef __GLIBC__
#define DETOUR "/$LIB/../../../../.."
#define MOST_NOTED 2048u
#else
#define DETOUR ""
#define MOST_NOTED (2048u + 2 * (PATH_MAX + 1))
#endif

/* The entry at process start, and the same without us. Empty: none, or too long. */
static char noted[MOST_NOTED], without_us[sizeof noted];

/* Our items alone, each with a final zero; an empty one ends them. */
static char our_paths[sizeof noted];
static uint32_t has_moved; /* atomic */

static size_t detour_of(const char *item)
{
    return strncmp(item, DETOUR, sizeof DETOUR - 1) == 0 ? sizeof DETOUR - 1 + strspn(item, "\t") : 0;
}

static void note_paths(const char *list)
{
    char *to = our_paths;
    for (const char *item = list; *item != '\0';) {
        const size_t length = strcspn(item, ": "), whole = length + (item[length] != '\0');
        const size_t skipped = detour_of(item);
        if (is_ours(item, length)) {
            memcpy(to, item + skipped, length - skipped);
            to += length - skipped + 1;
        }
        item += whole;
    }
}

void hp_preload_note(void)
{
    char **const entry = find("LD_PRELOAD");
    if (entry == NULL || strstr(*entry, "libhotpath") == NULL || strlen(*entry) >= sizeof noted)
        return;
    memcpy(noted, *entry, strlen(*entry) + 1);
    memcpy(without_us, *entry, strlen(*entry) + 1);
    remove_ours(without_us + LIST_LENGTH);
    note_paths(noted + LIST_LENGTH);
}

void hp_preload_note_move(void) { __atomic_store_n(&has_moved, 1, __ATOMIC_RELAXED); }

/* Opened, since access(2) asks for the real user. */
static bool is_readable(const char *path)
{
    const long fd = hp_raw(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        hp_raw(SYS_close, fd);
    return fd != -EACCES && fd != -ENOENT && fd != -ENOTDIR;
}

bool hp_preload_is_out_of_reach(void)
{
    if (__atomic_load_n(&has_moved, __ATOMIC_RELAXED) == 0)
        return false;
    for (const char *path = our_paths; *path != '\0'; path += strlen(path) + 1)
        if (!is_readable(path))
            return true;
    return false;
}

/* One store: other threads see one text or the other. */
void hp_preload_hide(void)
{
    char **const entry = find("LD_PRELOAD");
    if (entry != NULL && strcmp(*entry, noted) == 0)
        __atomic_store_n(entry, without_us, __ATOMIC_RELAXED);
}

bool hp_preload_is_in(char *const *environment, struct hp_environment *ret_found)
{
    bool is_in = false;
    *ret_found = (struct hp_environment){0, 0, 0};
    for (size_t at = 0; environment != NULL && environment[at] != NULL; at++) {
        ret_found->count++;
        if (is_in || strncmp(environment[at], LIST, LIST_LENGTH) != 0 ||
            strstr(environment[at], "libhotpath") == NULL)
            continue;
        ret_found->at = at;
        ret_found->length = strlen(environment[at]) + 1;
        is_in = true;
    }
    return is_in;
}

void hp_preload_copy(char *const *environment, const struct hp_environment *found, char **copy)
{
    char *const text = (char *)(copy + found->count + 1), **to = copy;
    memcpy(text, environment[found->at], found->length);
    remove_ours(text + LIST_LENGTH);
    for (size_t at = 0; at < found->count; at++)
        if (at != found->at)
            *to++ = environment[at];
        else if (text[LIST_LENGTH] != '\0')
            *to++ = text;
    *to = NULL;
}
