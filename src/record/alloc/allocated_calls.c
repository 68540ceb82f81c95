/* The end of a call that has allocated: the unusual cases. SPDX-License-Identifier: MIT */
#include "allocated_calls.h"

#include <errno.h>

#include "thread_context.h"
#include "thread_space.h"
#include "tree.h"

/*
 * Taking space in the session may make a system call. errno is saved here, so that the usual case need not do it.
 */
__attribute__((noinline, cold)) void hp_alloc_add_missing(struct hp_thread_context *context,
                                                          struct hp_alloc_stat *stat,
                                                          const struct hp_alloc_missing *missing)
{
    const int saved = errno;
    for (enum hp_alloc_measure at = 0; at < HP_ALLOC_MEASURES; at++) {
        if (!(missing->measures & 1u << at))
            continue;
        uint64_t *counter = hp_tree_counter(context, stat->octaves[at], missing->values[at]);
        if (counter != NULL)
            HOTPATH_ADD_(*counter, 1);
        else
            HOTPATH_ADD_(stat->missed, 1);
    }
    errno = saved;
}

/* A call without a stat, for lack of space: it gets no row, but still counts for the enclosing calls. */
static void lose_call(struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    struct hp_alloc_thread *thread = context->alloc;
    const struct hp_alloc_frame *begun = hp_frame_marks(context, frame);
    struct hp_alloc_frame *around = hp_frame_marks(context, frame - 1);
    HOTPATH_ADD_(around->inner_bytes, thread->bytes - begun->bytes);
    HOTPATH_ADD_(around->inner_count, thread->count - begun->count);
    hp_alloc_end_peak(&thread->peak_live, begun->peak_live, begun->live);
    hp_alloc_end_peak(&thread->peak_blocks, begun->peak_blocks, begun->blocks);
    hp_lose(context, HP_LOSS_ALLOCS);
}

static struct hp_alloc_stat *stat_of(struct hp_thread_context *context, struct hotpath_stat_ *site)
{
    if (site->alloc == 0) {
        const uint32_t offset = hp_thread_allocate(context, sizeof(struct hp_alloc_stat), 64);
        if (offset == 0)
            return NULL;
        __atomic_store_n(&site->alloc, offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(context->store, site->alloc);
}

void hp_alloc_close(struct hp_thread_context *context, const struct hotpath_frame_ *frame, bool is_nested)
{
    struct hp_alloc_stat *stat = stat_of(context, hp_stat_at(context, hp_node_at(context, frame->node)->stat));
    if (stat != NULL)
        hp_alloc_close_call(context, frame, stat, is_nested);
    else
        lose_call(context, frame);
}
