/*
 * HOTPATH_BLOCK_KEY: one block, one site per key. A table per block maps the text of a key to its site, without a
 * lock: entries are written before they are linked and never change. The table is sized for the maximum number of
 * keys (HOTPATH_KEYS_LIMIT), so it never grows; keys beyond that share the site of <other>.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "no_session.h"
#include "runtime.h"
#include "sites.h"
#include "text.h"
#include "threads.h"

#define KEY_BYTES 120u    /* longer keys are cut off */
#define MOST_KEYS 100000u /* per block, whatever limit is set */
#define KEYS_PIECE 4096u  /* memory for keys is taken in chunks of this size */

struct key {
    struct hotpath_site site;
    uint32_t hash;
    uint32_t length;
    char text[];
};

struct key_table {
    size_t mask;
    uint32_t count, limit;
    struct key *other; /* atomic */
    char *space;       /* for further keys */
    size_t space_left;
    struct key *entries[]; /* atomic */
};

static uint32_t hash_key(const char *text, uint32_t length)
{
    uint64_t hash = length * UINT64_C(0x9e3779b97f4a7c15);
    for (; length >= 8; text += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
        hash ^= hash >> 32;
    }
    uint64_t rest = 0;
    for (; length > 0; length--) /* memcpy of variable length would be a call */
        rest = rest << 8 | (unsigned char)*text++;
    hash = (hash ^ rest) * UINT64_C(0x9fb21c651e98df25);
    return (uint32_t)(hash >> 32);
}

static inline bool is_same(const char *a, const char *b, uint32_t length)
{
    for (; length >= 8; a += 8, b += 8, length -= 8) {
        uint64_t x, y;
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        if (x != y)
            return false;
    }
    for (; length > 0; length--)
        if (*a++ != *b++)
            return false;
    return true;
}

static struct key *find(struct key_table *table, uint32_t hash, const char *text, uint32_t length,
                        struct key ***ret_place)
{
    for (size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        /* Acquire pairs with the release in add: a reader that sees the key sees all of it. */
        struct key *key = __atomic_load_n(&table->entries[at], __ATOMIC_ACQUIRE);
        if (key == NULL) {
            *ret_place = &table->entries[at];
            return NULL;
        }
        if (key->hash == hash && key->length == length && is_same(key->text, text, length))
            return key;
    }
}

/* --------------------------------------------------------------------------------------- under the lock */

static struct key_table *make_table(void)
{
    const uint32_t asked = hp_runtime->settings.record.keys_limit;
    const uint32_t limit = asked < MOST_KEYS ? asked : MOST_KEYS;
    size_t places = 16;
    while (places < 2 * (size_t)limit + 2)
        places *= 2;
    struct key_table *table = hp_more_memory(sizeof *table + places * sizeof(struct key *));
    if (table == NULL)
        return NULL;
    table->mask = places - 1;
    table->limit = limit;
    return table;
}

static struct key *new_key(struct key_table *table, uint32_t length)
{
    const size_t bytes = (sizeof(struct key) + length + 15) & ~(size_t)15;
    if (table->space_left < bytes) {
        char *piece = hp_more_memory(KEYS_PIECE);
        if (piece == NULL)
            return NULL;
        table->space = piece;
        HOTPATH_ORDER_();
        table->space_left = KEYS_PIECE;
    }
    struct key *key = (struct key *)(void *)table->space;
    /* In this order: a fork in between leaves the child a smaller chunk, not memory it does not have. */
    table->space_left -= bytes;
    HOTPATH_ORDER_();
    table->space += bytes;
    return key;
}

/* "label[key]". The name identifies the site from then on, and is copied when the site gets its id. */
static struct key *make_key(struct key_table *table, const struct hotpath_keys_ *keys, uint32_t hash,
                            const char *text, uint32_t length)
{
    char name[KEY_BYTES + 256];
    struct hp_text shown;
    struct key *key = new_key(table, length);
    if (key == NULL)
        return NULL;
    hp_text_init(&shown, name, sizeof name);
    hp_text_string(&shown, keys->site.name);
    hp_text_char(&shown, '[');
    hp_text_bytes(&shown, text, length);
    hp_text_char(&shown, ']');
    key->site = keys->site;
    key->site.id = HOTPATH_ID_NEW_;
    key->site.name = hp_text_end(&shown);
    key->hash = hash;
    key->length = length;
    memcpy(key->text, text, length);
    hp_site_register(&key->site, NULL);
    key->site.name = "";
    return key;
}

static struct key *add(struct hotpath_keys_ *keys, uint32_t hash, const char *text, uint32_t length)
{
    struct key **place;
    struct key_table *table = keys->table;
    if (table == NULL && (table = make_table()) == NULL)
        return NULL;
    __atomic_store_n(&keys->table, table, __ATOMIC_RELEASE);
    struct key *key = find(table, hash, text, length, &place);
    if (key != NULL)
        return key;
    if (table->count < table->limit) {
        if ((key = make_key(table, keys, hash, text, length)) != NULL) {
            HOTPATH_PUT_(table->count, table->count + 1);
            __atomic_store_n(place, key, __ATOMIC_RELEASE);
        }
        return key;
    }
    if (table->other == NULL)
        __atomic_store_n(&table->other, make_key(table, keys, 0, "<other>", 7), __ATOMIC_RELEASE);
    return table->other;
}

/* ------------------------------------------------------------------------------------------------ look-up */

static struct key *add_locked(struct hotpath_keys_ *keys, uint32_t hash, const char *text, uint32_t length)
{
    const int saved = errno;
    struct hp_signals held;
    struct key *key = NULL;
    hp_unrecorded_meet(keys);
    if (hp_page() != NULL && hp_thread_is_ours() && hp_lock(&held)) {
        if (hp_runtime->gate != 0)
            key = add(keys, hash, text, length);
        if (key == NULL && hp_runtime->gate != 0)
            hp_store_lose(hp_runtime->store, HP_LOSS_SITES, 1);
        hp_unlock(&held);
    }
    errno = saved;
    return key;
}

struct hotpath_site *hotpath_v1_key(struct hotpath_keys_ *keys, const char *text)
{
    struct key **place, *key = NULL;
    if (text == NULL)
        text = "(null)";
    const uint32_t length = (uint32_t)strnlen(text, KEY_BYTES);
    const uint32_t hash = hash_key(text, length);
    struct key_table *table = __atomic_load_n((struct key_table **)(void *)&keys->table, __ATOMIC_ACQUIRE);
    if (HOTPATH_LIKELY_(table != NULL)) {
        key = find(table, hash, text, length, &place);
        /* Relaxed is enough for the count: a thread that sees it late checks under the lock. */
        if (key == NULL && HOTPATH_GET_(table->count) >= table->limit)
            key = __atomic_load_n(&table->other, __ATOMIC_ACQUIRE);
    }
    if (__builtin_expect(key == NULL, 0))
        key = add_locked(keys, hash, text, length);
    return key != NULL ? &key->site : NULL;
}
