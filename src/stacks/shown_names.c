/* Names of functions as reports show them. SPDX-License-Identifier: MIT */
#include "shown_names.h"

#include <stdlib.h>
#include <string.h>

#include "cxxname.h"

#define LONGEST_SHOWN 1024u

/* A name of a function, and the place for what is shown of it, which is never longer. */
struct name {
    const char *full;
    char *shown;
};

/* Ends what is no signature of C++: its parameters come last. */
static bool is_signature(const char *full)
{
    char bytes[LONGEST_SHOWN];
    return strchr(full, '(') != NULL && hp_cxx_signature(full, bytes, sizeof bytes) > 0;
}

typedef size_t shorten(const char *full, char *out, size_t size);

static void show(const struct name *name, shorten *how)
{
    char bytes[LONGEST_SHOWN];
    const size_t length = how != NULL && is_signature(name->full) ? how(name->full, bytes, sizeof bytes) : 0;
    if (length > 0 && length < sizeof bytes - 1 && length <= strlen(name->full))
        memcpy(name->shown, bytes, length + 1);
    else
        strcpy(name->shown, name->full);
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

static bool take_memory(const char *const *full, size_t count, struct hp_shown_names *ret_names,
                        struct name **ret_list)
{
    size_t bytes = 1;
    for (size_t at = 0; at < count; at++)
        bytes += strlen(full[at]) + 1;
    ret_names->all = malloc((count + 1) * sizeof *ret_names->all);
    ret_names->texts = malloc(bytes);
    *ret_list = malloc((count + 1) * sizeof **ret_list);
    return ret_names->all != NULL && ret_names->texts != NULL && *ret_list != NULL;
}

bool hp_shown_names_make(const char *const *full, size_t count, struct hp_shown_names *ret_names)
{
    struct name *list;
    const bool has_memory = take_memory(full, count, ret_names, &list);
    char *place = ret_names->texts;
    for (size_t at = 0; has_memory && at < count; at++) {
        list[at] = (struct name){.full = full[at], .shown = place};
        ret_names->all[at] = place;
        place += strlen(full[at]) + 1;
        show(&list[at], hp_cxx_short_name);
    }
    if (has_memory) {
        tell_apart(list, count, hp_cxx_signature);
        tell_apart(list, count, NULL);
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
