/* A cache of texts. SPDX-License-Identifier: MIT */
#include "text_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

struct hp_cached_text {
    uint64_t key;
    uint32_t more;
    const char *text;
};

static uint32_t hash_of(const struct hp_text_cache *cache, uint64_t key, uint32_t more)
{
    return hp_hash_with(&cache->index, more, key);
}

static const char *find(const struct hp_text_cache *cache, uint64_t key, uint32_t more, size_t *ret_slot)
{
    const uint32_t hash = hash_of(cache, key, more);
    *ret_slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&cache->index, hash, ret_slot)) != 0;)
        if (cache->all[number - 1].key == key && cache->all[number - 1].more == more)
            return cache->all[number - 1].text;
    return NULL;
}

const char *hp_text_cache_find(const struct hp_text_cache *cache, uint64_t key, uint32_t more)
{
    size_t slot;
    return find(cache, key, more, &slot);
}

const char *hp_text_cache_put(struct hp_text_cache *cache, uint64_t key, uint32_t more, const char *text)
{
    const bool has_room =
        HP_MAKE_ROOM(cache->all, cache->count + 1, cache->room) && hp_hash_make_room(&cache->index);
    const char *copy = has_room ? hp_arena_copy(&cache->arena, text, strlen(text)) : NULL;
    size_t slot;
    if (copy == NULL)
        return NULL;
    if (find(cache, key, more, &slot) == NULL) {
        cache->all[cache->count++] = (struct hp_cached_text){key, more, copy};
        hp_hash_put(&cache->index, slot, hash_of(cache, key, more), (uint32_t)cache->count);
    }
    return copy;
}

void hp_text_cache_free(struct hp_text_cache *cache)
{
    free(cache->all);
    hp_hash_free(&cache->index);
    hp_arena_release(&cache->arena);
    *cache = (struct hp_text_cache){.count = 0};
}
