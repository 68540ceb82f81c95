/* A cache of texts, keyed by a number or an address and another number. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_TEXT_CACHE_H
#define HP_SYMBOLS_TEXT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "hash_index.h"

struct hp_text_cache {
    struct hp_cached_text *all;
    size_t count, room;
    struct hp_hash_index index;
    struct hp_arena arena; /* the texts */
};

/* NULL: not in the cache. */
const char *hp_text_cache_find(const struct hp_text_cache *cache, uint64_t key, uint32_t more);
/* Adds what is not in it. Returns a copy that stays valid. NULL: no memory. */
const char *hp_text_cache_put(struct hp_text_cache *cache, uint64_t key, uint32_t more, const char *text);
void hp_text_cache_free(struct hp_text_cache *cache);

#endif
