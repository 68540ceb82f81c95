/* A context's table from object numbers to the thread's parts of them. SPDX-License-Identifier: MIT */
#ifndef HP_OBJECTS_OBJECT_PARTS_H
#define HP_OBJECTS_OBJECT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_thread_context;
struct hp_part;

#define HP_CACHED_INSTANCES 64u

/*
 * An instance that the thread used lately, with the thread's parts of it and of its class. NULL as address stands
 * for the class.
 */
struct hp_cached_instance {
    uintptr_t address;
    struct hp_part *part, *class_part;
    uint32_t class_; /* UINT32_MAX: empty entry */
    uint32_t reserved;
};

/* Allocates the cache, all empty. False: no memory. The caller holds the context. */
bool hp_parts_make_cache(struct hp_thread_context *context);
/* The context starts a new record and has no parts yet. */
void hp_parts_forget(struct hp_thread_context *context);
/* Makes room for this number. False: no memory. The caller holds the context. */
bool hp_parts_make_places(struct hp_thread_context *context, uint32_t number);
/* Allocates room for as many objects as fit into a chunk. Under the lock. */
void hp_parts_reserve(struct hp_thread_context *context);

#endif
