/* Holding a head. SPDX-License-Identifier: MIT */
#include "holding.h"

/* The gate is checked again with the head held: only then is the session certain to stay. */
struct hp_head *hp_thread_hold(void)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    if (&head->hot == &hp_idle_head || head->thread_id == 0 || head->record == NULL || hp_head_is_held(&head->hot))
        return NULL;
    hp_head_hold(&head->hot);
    if (hp_head_has_session(&head->hot))
        return head;
    hp_head_let_go(&head->hot);
    return NULL;
}
