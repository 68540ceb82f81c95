/* A cache of texts. SPDX-License-Identifier: MIT */
#include "text_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct hp_cached_text {
    uint64_t key;
    uint32_t more;
    const char *text; /* NULL: free */
};

static size_t slot_of(const struct hp_cached_text *all, size_t room, uint64_t key, uint32_t more)
{
    uint64_t hash = (key ^ (uint64_t)more << 32) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 20) & (room - 1);
    while (all[slot].text != NULL && (all[slot].key != key || all[slot].more != more))
        slot = (slot + 1) & (room - 1);
    return slot;
}

const char *hp_text_cache_find(const struct hp_text_cache *cache, uint64_t key, uint32_t more)
{
    return cache->room > 0 ? cache->all[slot_of(cache->all, cache->room, key, more)].text : NULL;
}

static bool make_room(struct hp_text_cache *cache)
{
    const size_t room = cache->room == 0 ? 256 : cache->room * 2;
    if (cache->count * 2 < cache->room)
        return true;
    struct hp_cached_text *all = calloc(room, sizeof *all);
    if (all == NULL)
        return false;
    for (size_t at = 0; at < cache->room; at++)
        if (cache->all[at].text != NULL)
            all[slot_of(all, room, cache->all[at].key, cache->all[at].more)] = cache->all[at];
    free(cache->all);
    cache->all = all;
    cache->room = room;
    return true;
}

const char *hp_text_cache_put(struct hp_text_cache *cache, uint64_t key, uint32_t more, const char *text)
{
    const char *copy = make_room(cache) ? hp_arena_copy(&cache->arena, text, strlen(text)) : NULL;
    if (copy == NULL)
        return NULL;
    struct hp_cached_text *slot = &cache->all[slot_of(cache->all, cache->room, key, more)];
    cache->count += slot->text == NULL;
    *slot = (struct hp_cached_text){key, more, copy};
    return copy;
}

void hp_text_cache_free(struct hp_text_cache *cache)
{
    free(cache->all);
    hp_arena_release(&cache->arena);
    *cache = (struct hp_text_cache){.count = 0};
}
