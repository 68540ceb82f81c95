/*
 * The session file from the writer's side: creating it, growing it, handing out space in it.
 *
 * The mapping begins small and grows where it is. The file has its full length from the start, but no more of it is real than is
 * mapped: to grow takes neither its path nor a descriptor, so a host that has changed its user or its root goes on recording. Where
 * the kernel cannot do that, the file is opened again by its path and compared with the one that was mapped. Space comes from
 * one end and is never given back, so handing it out is a compare-and-swap.
 *
 * No heap, no libc locks: usable in a signal handler and in a forked child of a threaded process.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_STORE_H
#define HP_SESSION_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"
#include "layout.h"
#include "mutex.h"
#include "options.h"
#include "range.h"
#include "stack_ring.h"

struct hp_store {
    struct hp_range range;   /* without a base: no session */
    uint64_t capacity;       /* bytes that it may grow to */
    struct hp_mutex growing; /* taken with signals held */
    struct hp_file_identity file;
    uint32_t refusals;   /* times the file could not grow, since it last could */
    uint32_t number;     /* sessions of this process before this one, across exec too */
    bool is_full_length; /* the file is as long as it may become; else it is as long as it is real */
    bool is_memory;      /* no file could be had: nobody else can read it */
    bool
        is_foreign; /* because a folder that was to have it belongs to somebody else, or can be written by others */
    char path[1200];             /* "" when there is no file */
    struct hp_stack_ring stacks; /* of samples, for `hotpath run`: src/record/sample_stacks.h */
    uint32_t stacks_state;       /* atomic */
};

/* Why a session could not begin, as a sentence; or NULL. Stores with different `place` lie apart. */
const char *hp_store_create(struct hp_store *store, const struct hp_record_settings *settings, uint32_t pid,
                            uint32_t place);

/* Nobody works on it any more: gives its memory back but for a page in which the gate reads as closed. */
void hp_store_empty(struct hp_store *store);

/* Gives back what is left. In a forked child: drops the parent's mapping without touching what is in it. */
void hp_store_forget(struct hp_store *store);

/* The session never began: its file goes. */
void hp_store_remove(const struct hp_store *store);

/* Whether the process has said, or somebody outside has seen, that it is in a sandbox. */
static inline bool hp_header_is_sandboxed(const struct hp_header *header)
{
    return (__atomic_load_n(&header->features, __ATOMIC_RELAXED) & HP_FEATURE_SANDBOXED) != 0;
}

static inline struct hp_header *hp_store_header(const struct hp_store *store)
{
    return (struct hp_header *)(void *)store->range.base;
}

static inline void *hp_store_at(const struct hp_store *store, uint32_t offset)
{
    return store->range.base + offset;
}

/* Hands out `size` zeroed bytes; `align` is a power of two. Returns their offset, or 0 when there is no space. */
uint32_t hp_store_allocate(struct hp_store *store, uint32_t size, uint32_t align);

/* Copies text into the session, cut to 4095 bytes; 0 when there is no space or no text. */
uint32_t hp_store_text(struct hp_store *store, const char *text);

/* Adds to a loss counter. */
void hp_store_lose(struct hp_store *store, enum hp_loss loss, uint64_t count);

/* Makes the whole capacity real at once. */
bool hp_store_reserve_all(struct hp_store *store);

/*
 * Removes old sessions of dead processes from the folder of `store`, all but the newest `keep`.
 */
void hp_store_prune(const struct hp_store *store, uint32_t keep);

#endif
