/* Finds the function that the user named. SPDX-License-Identifier: MIT */
#include "named_function.h"

#include <string.h>

#include "command.h"
#include "spelling.h"
#include "text.h"

#define MOST_LISTED 6u

static bool begins_with(const char *function, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(function, name, length) == 0 && (function[length] == '\0' || function[length] == '(');
}

/* "name(int, char *)" is called by its name as well, and as reports show it. */
static bool is_called(const struct hp_found_function *function, const char *name)
{
    return begins_with(function->name, name) || begins_with(function->shown, name);
}

static bool has_part(const struct hp_found_function *function, const char *name)
{
    return strstr(function->name, name) != NULL || strstr(function->shown, name) != NULL;
}

typedef bool fits(const struct hp_found_function *function, const char *name);

/* The profile is sorted by time, so the first match has the most. */
static const struct hp_found_function *find_first(const struct hp_function_profile *profile, const char *name,
                                                  fits *does_fit, size_t *ret_count)
{
    const struct hp_found_function *first = NULL;
    *ret_count = 0;
    for (size_t at = 0; at < profile->count; at++)
        if (does_fit(&profile->all[at], name)) {
            first = first != NULL ? first : &profile->all[at];
            ++*ret_count;
        }
    return first;
}

static bool explain_none(const struct hp_function_profile *profile, const char *name)
{
    struct hp_spelling spelling = hp_spelling_of(name, strlen(name));
    for (size_t at = 0; at < profile->count; at++)
        hp_spelling_try(&spelling, profile->all[at].shown);
    if (spelling.best != NULL)
        hp_fail("no function '%s' in the samples; did you mean '%s'?", name, spelling.best);
    else
        hp_fail("no function '%s' in the samples; 'hotpath report --section functions -n 0' lists all", name);
    return false;
}

static bool explain_several(const struct hp_function_profile *profile, const char *name, size_t count)
{
    char list[1000];
    struct hp_text text;
    size_t listed = 0;
    hp_text_init(&text, list, sizeof list);
    for (size_t at = 0; at < profile->count && listed < MOST_LISTED; at++)
        if (has_part(&profile->all[at], name)) {
            hp_text_string(&text, listed++ > 0 ? ", " : "");
            hp_text_string(&text, profile->all[at].shown);
        }
    hp_fail("%zu functions match '%s': %s%s", count, name, hp_text_end(&text), count > listed ? ", ..." : "");
    return false;
}

/* Both tables share their texts, so pointers are compared. */
static bool find_number(const struct hp_named_stacks *named, const struct hp_found_function *function,
                        uint32_t *ret_function)
{
    for (uint32_t at = 0; at < named->function_count; at++)
        if (named->functions[at].name == function->name) {
            *ret_function = at;
            return true;
        }
    return false;
}

bool hp_named_function_find(const struct hp_run_stacks *stacks, const char *name, uint32_t *ret_function)
{
    size_t count;
    const struct hp_found_function *function = find_first(&stacks->functions, name, is_called, &count);
    if (function == NULL) {
        function = find_first(&stacks->functions, name, has_part, &count);
        if (count > 1)
            return explain_several(&stacks->functions, name, count);
    }
    if (function == NULL || !find_number(&stacks->named, function, ret_function))
        return explain_none(&stacks->functions, name);
    return true;
}
