/*
 * HOTPATH_IO_NAME and HOTPATH_IO_OP, and the zone in which something is read or written. I/O is counted by the
 * hooks of `hotpath run --io`, which are in another library than a program with libhotpath.a; so all copies find
 * them in the state that they share. SPDX-License-Identifier: MIT
 */
#include "holding.h"
#include "hook_entries.h"
#include "runtime.h"
#include "sites.h"
#include "thread_context.h"

static inline const struct hotpath_io_hooks_ *find_hooks(void)
{
    return __atomic_load_n(&hp_runtime->io_hooks, __ATOMIC_ACQUIRE);
}

void hotpath_v1_io_name(int descriptor, const char *label)
{
    const struct hotpath_io_hooks_ *hooks = find_hooks();
    if (hooks != NULL)
        hooks->name(descriptor, label);
}

void hotpath_v1_io_op(const char *label, const char *kind, uint64_t bytes)
{
    const struct hotpath_io_hooks_ *hooks = find_hooks();
    const struct hotpath_lock_caller_ caller = {(uintptr_t)__builtin_return_address(0),
                                                (uintptr_t)__builtin_dwarf_cfa(),
                                                *(const uintptr_t *)__builtin_frame_address(0)};
    if (hooks != NULL)
        hooks->op(label, kind, bytes, &caller);
}

/* Of a handler that interrupts the recorder it is not known. */
uint32_t hotpath_v1_zone(void)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    uint32_t zone = 0;
    if (HOTPATH_GET_(context->hot.skip) != 0 || hp_context_is_held(&context->hot))
        return 0;
    hp_context_hold(&context->hot);
    if (hp_context_has_session(&context->hot) && context->hot.top->zone != 0)
        zone = hp_node_at(context, context->hot.top->node)->site + 1;
    hp_context_let_go(&context->hot);
    return zone;
}

const char *hotpath_v1_zone_name(uint32_t zone) { return hp_site_known(zone - 1)->name; }
