/*
 * The session file from the writer's side: creating it, growing it, handing out space in it.
 *
 * One mapping of the full capacity is made at the start and stays where it is; growing only makes more of the
 * file behind it real. No descriptor is kept: to grow, the file is opened again by its path and compared with the one
 * that was mapped. Space comes from one end and is never given back, so handing it out is a compare-and-swap.
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
#include "options.h"

struct hp_store {
    char *base;      /* the mapping; NULL: no session */
    uint64_t mapped; /* bytes of it */
    struct hp_file_identity file;
    uint32_t refusals; /* times the file could not grow, since it last could */
    uint32_t number;   /* sessions of this process before this one, across exec too */
    bool is_memory;    /* no file could be had: everything is there already, nobody else can read it */
    char path[1200];   /* "" when there is no file */
};

/* Why a session could not begin, as a sentence; or NULL. */
const char *hp_store_create(struct hp_store *store, const struct hp_settings *settings, uint32_t pid);

/*
 * Lets go of the file but keeps the address range, empty: a late writer writes into nothing. When `is_quiet` says that
 * nobody can still be writing, the next hp_store_create may use the store again; otherwise it is his for good.
 */
void hp_store_retire(struct hp_store *store, bool is_quiet);

/* In a forked child: drops the parent's mapping without touching what is in it. */
void hp_store_forget(struct hp_store *store);

static inline struct hp_header *hp_store_header(const struct hp_store *store)
{
    return (struct hp_header *)(void *)store->base;
}

static inline void *hp_store_at(const struct hp_store *store, uint32_t offset) { return store->base + offset; }

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
