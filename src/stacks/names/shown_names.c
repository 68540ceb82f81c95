/* Names of functions as reports show them. SPDX-License-Identifier: MIT */
#include "shown_names.h"

#include <stdlib.h>
#include <string.h>

#include "cxxname.h"

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
