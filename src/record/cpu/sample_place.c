/* The zone in which a sample has found a thread. SPDX-License-Identifier: MIT */
#include "sample_place.h"

#include "thread_context.h"

#define MAX_DEPTH 512u /* frames to search, and nodes up to the root */

/*
 * The thread's own frame, the outermost. Recognized by its mark: the stack may be growing, and the record may refer
 * to the old or the new one. The header contains no stacks.
 */
static bool is_last(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    return frame->zone == UINT64_MAX ||
           (const unsigned char *)(frame - 1) < (const unsigned char *)context->hot.base + HP_HEADER_BYTES;
}

static uint32_t site_of(const struct hp_thread_context *context, uint32_t node)
{
    return hp_node_at(context, node)->site;
}

/* The index of a node with that site, or `count`. */
static uint32_t find_site(const struct hp_thread_context *context, const uint32_t *nodes, uint32_t count,
                          uint32_t site)
{
    uint32_t at = 0;
    while (at < count && site_of(context, nodes[at]) != site)
        at++;
    return at;
}

uint32_t hp_sample_find_folded(const struct hp_thread_context *context, const struct hotpath_frame_ *innermost,
                               uint32_t nodes[HP_SAMPLE_FOLDED])
{
    uint32_t count = 0, steps = 0;
    if (!(innermost->stat & HOTPATH_RECURSIVE_))
        return 0;
    for (const struct hotpath_frame_ *frame = innermost;
         !is_last(context, frame) && steps < MAX_DEPTH && count < HP_SAMPLE_FOLDED; frame--, steps++)
        if (find_site(context, nodes, count, site_of(context, frame->node)) == count)
            nodes[count++] = frame->node;
    steps = 0;
    for (uint32_t node = innermost->node; node != 0 && steps < MAX_DEPTH; steps++) {
        const uint32_t above = find_site(context, nodes, count, site_of(context, node));
        if (above < count)
            nodes[above] = nodes[--count];
        node = hp_node_at(context, node)->parent;
    }
    return count;
}

/* AddressSanitizer may keep guards of the host in its own memory, where their addresses say nothing. */
extern void *__asan_get_current_fake_stack(void) __attribute__((weak));

const struct hotpath_frame_ *hp_sample_frame(const struct hp_thread_context *context, uintptr_t stack)
{
    const struct hotpath_frame_ *frame = context->hot.top;
    if (__asan_get_current_fake_stack != NULL)
        return frame;
    for (uint32_t steps = 0; steps < MAX_DEPTH && !hp_zone_is_there(frame, stack) && !is_last(context, frame);
         steps++)
        frame--;
    return frame;
}
