/* The context of the calling thread. SPDX-License-Identifier: MIT */
#include "thread_context.h"

/* Threads and children inherit this from their creator without announcing it: ask the kernel. */
bool hp_thread_is_blind(void)
{
    const struct hp_thread_context *context = (const struct hp_thread_context *)(const void *)hotpath_v1_context;
    if (!__atomic_load_n(&hp_runtime->is_blinded, __ATOMIC_RELAXED))
        return false;
    return (&context->hot != &hp_no_context && context->is_blind) || hp_is_sealed() || !hp_clock_may_be_read();
}
