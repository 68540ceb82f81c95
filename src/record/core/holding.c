/* Holding a context. SPDX-License-Identifier: MIT */
#include "holding.h"

/* The gate is checked again with the context held: only then is the session certain to stay. */
struct hp_thread_context *hp_thread_hold(void)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (&context->hot == &hp_no_context || context->thread_id == 0 || context->record == NULL ||
        hp_context_is_held(&context->hot))
        return NULL;
    hp_context_hold(&context->hot);
    if (hp_context_has_session(&context->hot))
        return context;
    hp_context_let_go(&context->hot);
    return NULL;
}
