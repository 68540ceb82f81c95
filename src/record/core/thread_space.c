/* A thread's space in the session. SPDX-License-Identifier: MIT */
#include "thread_space.h"

#include "runtime.h"

#define PIECE_BYTES 8192u
#define FIRST_PIECE_BYTES 4096u

/* A new piece of the session for a thread. */
struct piece {
    struct hp_store *store;
    uint32_t size, wanted; /* wanted: if there is not enough for `size` */
    uint32_t from;         /* the result; 0: no space */
};

static void take_piece(void *context)
{
    struct piece *piece = context;
    piece->from = hp_store_allocate(piece->store, piece->size, HP_APART);
    if (piece->from == 0 && piece->size > piece->wanted) {
        piece->size = piece->wanted;
        piece->from = hp_store_allocate(piece->store, piece->size, HP_APART);
    }
}

/* The session may have to grow for it. */
static __attribute__((noinline)) uint32_t next_piece(struct hp_thread_context *context, uint32_t size)
{
    const uint32_t usual = context->space == 0 ? FIRST_PIECE_BYTES : PIECE_BYTES;
    struct piece piece = {.store = context->store, .size = size > PIECE_BYTES ? size : usual, .wanted = size};
    if (!hp_aside(take_piece, &piece) || piece.from == 0)
        return 0;
    context->space_end = piece.from + piece.size;
    return piece.from;
}

uint32_t hp_thread_allocate(struct hp_thread_context *context, uint32_t size, uint32_t align)
{
    uint32_t from = (context->space + align - 1) & ~(align - 1);
    if (context->space == 0 || (uint64_t)from + size > context->space_end) {
        from = next_piece(context, size);
        if (from == 0)
            return 0;
    }
    context->space = from + size;
    return from;
}
