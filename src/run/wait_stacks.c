/* Hands stacks of waiting threads to the collector. SPDX-License-Identifier: MIT */
#include "wait_stacks.h"

#include <string.h>

#include "lock_holders.h"
#include "sources.h"
#include "system_calls.h"
#include "wait_profile.h"

void hp_wait_put(struct hp_text *text, const struct hp_wait_found *found)
{
    const char *what = found->what;
    hp_text_string(text, hp_wait_cause_name(found->cause));
    if (what[0] == '\0' || strstr(what, ":[") != NULL)
        what =
            found->cause == HP_WAIT_POLL || found->cause == HP_WAIT_OTHER ? hp_system_call_name(found->call) : NULL;
    if (what == NULL)
        return;
    hp_text_format(text, ": %s", what);
}

static void take(void *context, uint32_t pid, uint32_t tid, uint32_t zone, const struct hp_wait_found *found)
{
    char bytes[160];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_wait_put(&text, found);
    hp_wait_source_take(&(struct hp_wait_look){.pid = pid,
                                               .tid = tid,
                                               .sp = found->sp,
                                               .pc = found->pc,
                                               .cause = found->cause,
                                               .text = hp_text_end(&text),
                                               .session = *(const uint32_t *)context,
                                               .site = zone});
}

static uint32_t keep(void *context)
{
    (void)context;
    return hp_wait_source_keep();
}

static void held(void *context, const struct hp_wait_held *lock)
{
    (void)context;
    hp_lock_holders_add(lock);
}

static void add(void *context, uint32_t wait, const struct hp_wait_stretch *stretch)
{
    (void)context;
    hp_wait_source_add(wait, stretch->from_ns, stretch->to_ns, stretch->ns, stretch->idle_ns);
}

static void end(void *context, uint32_t wait)
{
    (void)context;
    hp_wait_source_end(wait);
}

const struct hp_wait_listener hp_wait_stacks = {.take = take, .keep = keep, .held = held, .add = add, .end = end};
