/* Texts that were made once, by a number or a place in memory and another number. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_TEXT_CACHE_H
#define HP_SYMBOLS_TEXT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

struct hp_text_cache {
    struct hp_cached_text *all; /* a hash table */
    size_t count, room;
    struct hp_arena arena; /* the texts */
};

/* NULL: it has not been put there. */
const char *hp_text_cache_find(const struct hp_text_cache *cache, uint64_t key, uint32_t more);
/* A copy that stays. NULL: no memory. */
const char *hp_text_cache_put(struct hp_text_cache *cache, uint64_t key, uint32_t more, const char *text);
void hp_text_cache_free(struct hp_text_cache *cache);

#endif
