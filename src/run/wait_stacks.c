/* Turns an observed wait into what is stored with a stack. SPDX-License-Identifier: MIT */
#include "wait_stacks.h"

#include <string.h>

#include "sources.h"
#include "system_calls.h"
#include "text.h"
#include "wait_profile.h"

/*
 * "disk: /data/x.db", "pipe": the numbers of unnamed pipes and sockets are left out, since they tell users nothing.
 */
static void put_text(struct hp_text *text, const struct hp_wait_found *found)
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
    put_text(&text, found);
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

static void end(void *context, uint32_t wait, uint64_t ns, uint64_t idle_ns)
{
    (void)context;
    hp_wait_source_end(wait, ns, idle_ns);
}

const struct hp_wait_listener hp_wait_stacks = {.take = take, .keep = keep, .end = end};
