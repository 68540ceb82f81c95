/*
 * The writer side of the session file: creating it, growing it, allocating space in it.
 *
 * The mapping starts small and grows in place. The file has its full length from the start, but only the mapped
 * part is allocated. Growing needs neither its path nor a descriptor, so a host that has changed its user or root
 * continues to record. If the kernel cannot do that, the file is reopened by its path and compared with the mapped
 * one. Space is taken from one end and never freed, so an allocation is a compare-and-swap.
 *
 * No heap, no libc locks: usable in a signal handler and in a forked child of a threaded process.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_STORE_H
#define HP_FORMAT_STORE_H

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
    uint64_t capacity;       /* maximum size in bytes */
    struct hp_mutex growing; /* taken with signals blocked */
    struct hp_file_identity file;
    uint32_t refusals;           /* how often the file could not grow, since it last could */
    uint32_t number;             /* sessions of this process before this one, also across exec */
    bool is_full_length;         /* the file has its maximum length; else only the allocated length */
    bool is_memory;              /* there is no file: no other process can read it */
    bool is_lent;                /* by `hotpath run`, which has it under `path`: os/lending.h */
    bool is_foreign;             /* because a directory for it belongs to someone else or is writable by others */
    char path[1200];             /* "": no file */
    struct hp_stack_ring stacks; /* of samples, for `hotpath run`: src/record/cpu/sample_handler.h */
    uint32_t stacks_state;       /* atomic */
};

/* Returns NULL, or why the session could not start, as a sentence. Stores with different `place` lie apart. */
const char *hp_store_create(struct hp_store *store, const struct hp_record_settings *settings, uint32_t pid,
                            uint32_t place);

/* It is no longer used: unmaps it except for one page, in which the gate reads as closed. */
void hp_store_empty(struct hp_store *store);

/* Unmaps the rest. In a forked child: drops the parent's mapping without touching its contents. */
void hp_store_forget(struct hp_store *store);

/* The session never started: removes its file. */
void hp_store_remove(const struct hp_store *store);

/* Whether the process has announced, or an observer has seen, that it is in a sandbox. */
static inline bool hp_header_is_sandboxed(const struct hp_header *header)
{
    return (__atomic_load_n(&header->features, __ATOMIC_RELAXED) & HP_FEATURE_SANDBOXED) != 0;
}

/* For the trust line. */
static inline void hp_header_note(struct hp_header *header, uint32_t feature)
{
    __atomic_fetch_or(&header->features, feature, __ATOMIC_RELAXED);
}

static inline struct hp_header *hp_store_header(const struct hp_store *store)
{
    return (struct hp_header *)(void *)store->range.base;
}

static inline void *hp_store_at(const struct hp_store *store, uint32_t offset)
{
    return store->range.base + offset;
}

/* Allocates `size` zeroed bytes; `align` is a power of two. Returns their offset; 0: no space. */
uint32_t hp_store_allocate(struct hp_store *store, uint32_t size, uint32_t align);

/* Copies text into the session, cut to 4095 bytes; 0: no space, or no text. */
uint32_t hp_store_text(struct hp_store *store, const char *text);

/* Adds to a loss counter. */
void hp_store_lose(struct hp_store *store, enum hp_loss loss, uint64_t count);

/* Grows the file now, so that the next `bytes` need no system call. */
void hp_store_reserve(struct hp_store *store, uint64_t bytes);

/* Allocates the whole capacity at once. */
bool hp_store_reserve_all(struct hp_store *store);

/* Removes old sessions of dead processes from the directory of `store`, except for the newest `keep`. */
void hp_store_prune(const struct hp_store *store, uint32_t keep);

#endif
