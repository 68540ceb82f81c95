/* A thread's space in the session. SPDX-License-Identifier: MIT */
#include "thread_space.h"

#include "runtime.h"

#define PIECE_BYTES 8192u
#define FIRST_PIECE_BYTES 4096u

uint32_t hp_thread_allocate(struct hp_thread_context *context, uint32_t size, uint32_t align)
{
    uint32_t from = (context->space + align - 1) & ~(align - 1);
    if (context->space == 0 || (uint64_t)from + size > context->space_end) {
        uint32_t piece = size > PIECE_BYTES ? size : context->space == 0 ? FIRST_PIECE_BYTES : PIECE_BYTES;
        from = hp_store_allocate(context->store, piece, HP_APART);
        if (from == 0 && piece > size) {
            piece = size;
            from = hp_store_allocate(context->store, piece, HP_APART);
        }
        if (from == 0)
            return 0;
        context->space_end = from + piece;
    }
    context->space = from + size;
    return from;
}
