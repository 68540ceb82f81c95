/* The sampled functions of the watched program. SPDX-License-Identifier: MIT */
#include "found.h"

#include "identity.h"
#include "proc_sampler.h"
#include "session_dirs.h"
#include "stack_range.h"

static void forget(struct hp_found_part *part)
{
    if (part->is_known) {
        hp_function_sums_free(&part->functions);
        hp_named_stacks_free(&part->stacks);
    }
    *part = (struct hp_found_part){0};
}

/* Adds them up. */
static void know(struct hp_found_part *part)
{
    part->is_known = hp_function_sums_make(&part->stacks, &part->functions);
    if (!part->is_known)
        hp_named_stacks_free(&part->stacks);
}

void hp_found_open(struct hp_found *found, const char *path)
{
    hp_found_close(found);
    found->is_of_run = hp_session_dir_is_of_run(path);
    hp_session_dir_find_run(path, found->folder, sizeof found->folder);
}

/* A run writes them while it goes on, and for the last time some time after the program has ended. */
void hp_found_read(struct hp_found *found, uint32_t pid, uint64_t began_ns)
{
    struct hp_named_stacks stacks;
    if (found->folder[0] == '\0' || !hp_stack_watch_look(&found->watch, found->folder, &stacks))
        return;
    stacks.began_ns = began_ns;
    found->version++;
    forget(&found->whole);
    forget(&found->window);
    forget(&found->before);
    found->whole.stacks = stacks;
    if (found->is_of_run || hp_named_stacks_keep(&found->whole.stacks, &pid, 1))
        know(&found->whole);
    else
        hp_named_stacks_free(&found->whole.stacks);
}

static void cut(struct hp_found_part *part, const struct hp_named_stacks *whole, uint64_t from_ns, uint64_t to_ns)
{
    const uint64_t known_ns = hp_named_stacks_known_ns(whole);
    forget(part);
    part->from_ns = from_ns;
    part->to_ns = to_ns < known_ns ? to_ns : known_ns;
    if (part->from_ns < part->to_ns && hp_named_stacks_between(whole, from_ns, part->to_ns, &part->stacks))
        know(part);
}

void hp_found_choose(struct hp_found *found, uint64_t before_ns, uint64_t from_ns, uint64_t to_ns)
{
    const struct hp_named_stacks *whole = found->whole.is_known ? &found->whole.stacks : NULL;
    const bool is_same = found->cut_version == found->version && before_ns == found->before_ns &&
                         from_ns == found->from_ns && to_ns == found->to_ns;
    if (is_same)
        return;
    found->has_window = to_ns > from_ns;
    found->before_ns = before_ns;
    found->from_ns = from_ns;
    found->to_ns = to_ns;
    found->cut_version = ++found->version;
    forget(&found->window);
    forget(&found->before);
    if (whole == NULL || !found->has_window || !hp_named_stacks_have_ranges(whole))
        return;
    cut(&found->window, whole, from_ns, to_ns);
    cut(&found->before, whole, before_ns, from_ns);
}

void hp_found_close(struct hp_found *found)
{
    forget(&found->whole);
    forget(&found->window);
    forget(&found->before);
    *found = (struct hp_found){.version = found->version + 1};
}

uint64_t hp_found_shown_ns(const struct hp_found *found)
{
    if (found->has_window && found->window.is_known)
        return found->window.to_ns - found->window.from_ns;
    return found->whole.is_known ? hp_named_stacks_known_ns(&found->whole.stacks) : 0;
}

double hp_found_period_ns(const struct hp_found_part *part, bool has_waiting)
{
    const double looks_ns = 1e3 * (double)HP_WATCH_PERIOD_US, samples_ns = (double)part->functions.counts.period_ns;
    return has_waiting || samples_ns <= 0 ? looks_ns : samples_ns;
}

uint64_t hp_found_identity(const struct hp_found_function *function)
{
    return hp_identity_of_found(function->name, function->library, function->file);
}

const struct hp_found_function *hp_found_function(const struct hp_found_part *part, uint64_t id)
{
    for (size_t at = 0; part != NULL && at < part->functions.count; at++)
        if (hp_found_identity(&part->functions.all[at]) == id)
            return &part->functions.all[at];
    return NULL;
}
