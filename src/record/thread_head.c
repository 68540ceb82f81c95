/* The head of the calling thread. SPDX-License-Identifier: MIT */
#include "thread_head.h"

/* Threads and children inherit this from their creator without announcing it: ask the kernel. */
bool hp_thread_is_blind(void)
{
    const struct hp_head *head = (const struct hp_head *)(const void *)hotpath_v1_head;
    if (!__atomic_load_n(&hp_runtime->is_blinded, __ATOMIC_RELAXED))
        return false;
    return (&head->hot != &hp_idle_head && head->is_blind) || hp_is_sealed() || !hp_clock_may_be_read();
}
