/*
 * Sites get their ids here. An id belongs to a place in code (file, line, function, name), not to the static object
 * that asked: the same inline function in fifty units, or a library that was closed and reopened, is one site.
 * Names are copied, since the library they live in may be unloaded.
 *
 * Ids last as long as the process; each session gets a copy of the names. SPDX-License-Identifier: MIT
 */
#include "sites.h"

#include <string.h>

#include "cxxname.h"
#include "images.h"
#include "memory.h"
#include "runtime.h"
#include "thread_context.h"

#define RESERVED_SITES 4096u
#define TEXT_PIECE (64u << 10)
#define NAME_BYTES 256
#define IMAGES_BACK 16u

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    return (hash ^ 0xffu) * UINT32_C(16777619);
}

static struct hp_known_site *known_site(uint32_t id)
{
    return &__atomic_load_n(&hp_runtime->site_chunks[id / HP_SITES_PER_CHUNK],
                            __ATOMIC_ACQUIRE)[id % HP_SITES_PER_CHUNK];
}

const struct hp_known_site *hp_site_known(uint32_t id) { return known_site(id); }

static const char *keep_text(const char *text)
{
    const size_t size = strnlen(text, 4000) + 1;
    if (size > hp_runtime->text_left) {
        char *piece = hp_more_memory(TEXT_PIECE);
        if (piece == NULL)
            return NULL;
        hp_runtime->text = piece;
        hp_runtime->text_left = TEXT_PIECE;
    }
    char *copy = hp_runtime->text;
    memcpy(copy, text, size - 1);
    copy[size - 1] = '\0';
    /* In this order: a fork in between leaves the child a smaller chunk, not memory it does not have. */
    hp_runtime->text_left -= size;
    HOTPATH_ORDER_();
    hp_runtime->text += size;
    return copy;
}

/* The name as users see it and patterns match it. The session has the full name; readers shorten it. */
static const char *shown_name(uint32_t kind, const char *name, char buffer[NAME_BYTES])
{
    if (!hp_site_is_signature(kind))
        return name;
    hp_cxx_short_name(name, buffer, NAME_BYTES);
    return buffer;
}

/* Its second name: without template arguments, or as far as it can be read without a demangler. "": none. */
static void put_other_name(uint32_t kind, const char *shown, char other[NAME_BYTES])
{
    if (hp_site_is_signature(kind))
        hp_cxx_bare_name(shown, other, NAME_BYTES);
    else
        hp_cxx_qualified_name(shown, other, NAME_BYTES);
}

static bool is_same(const struct hp_known_site *known, const char *name, const struct hotpath_site *site)
{
    return known->line == site->line && known->kind == site->kind && strcmp(known->file, site->file) == 0 &&
           strcmp(known->function, site->function) == 0 && strcmp(known->name, name) == 0;
}

static struct hp_site *stored_site(const struct hp_header *header, uint32_t id)
{
    const uint32_t chunk = header->site_chunks[id / HP_SITES_PER_CHUNK];
    return (struct hp_site *)hp_store_at(hp_runtime->store, chunk) + id % HP_SITES_PER_CHUNK;
}

/* The path of a site's file; usually that of one of the last sites. */
static uint32_t image_text(const struct hp_header *header, uint32_t id)
{
    const char *image = known_site(id)->image;
    for (uint32_t back = 1; image != NULL && back <= id && back <= IMAGES_BACK; back++)
        if (known_site(id - back)->image == image && header->site_chunks[(id - back) / HP_SITES_PER_CHUNK] != 0)
            return stored_site(header, id - back)->image;
    return image != NULL ? hp_store_text(hp_runtime->store, image) : 0;
}

/* Writes one site into the running session's table. */
static bool write_site(uint32_t id)
{
    struct hp_store *store = hp_runtime->store;
    struct hp_header *header = hp_store_header(store);
    uint32_t *chunk = &header->site_chunks[id / HP_SITES_PER_CHUNK];
    if (*chunk == 0) {
        const uint32_t fresh = hp_store_allocate(store, HP_SITES_PER_CHUNK * (uint32_t)sizeof(struct hp_site), 64);
        if (fresh == 0)
            return false;
        __atomic_store_n(chunk, fresh, __ATOMIC_RELEASE);
    }
    const struct hp_known_site *known = known_site(id);
    struct hp_site *site = stored_site(header, id);
    const uint32_t name = hp_store_text(store, known->name);
    if (name == 0)
        return false;
    site->function = known->function == known->name ? name : hp_store_text(store, known->function);
    site->file = hp_store_text(store, known->file);
    site->line = known->line;
    site->kind = known->kind;
    site->image = image_text(header, id);
    site->address_low = (uint32_t)known->address;
    site->address_high = (uint32_t)(known->address >> 32);
    /* Release pairs with the reader's acquire of `name`: a site with a name is complete. */
    __atomic_store_n(&site->name, name, __ATOMIC_RELEASE);
    if (header->site_count <= id)
        __atomic_store_n(&header->site_count, id + 1, __ATOMIC_RELEASE);
    return true;
}

static bool is_main(uint32_t kind) { return (kind & ~HOTPATH_KIND_CXX_) == HOTPATH_KIND_MAIN_; }

/* Requested by the program or by HOTPATH_LOG. */
static bool is_to_log(const struct hp_known_site *known)
{
    const struct hp_site_choice *choice = hp_runtime->choice;
    char buffer[NAME_BYTES], other[NAME_BYTES];
    if (choice == NULL || !choice->has_log || known->wants_log || is_main(known->kind) ||
        known->kind == HOTPATH_KIND_SUSPENDED_)
        return known->wants_log;
    const char *shown = shown_name(known->kind, known->name, buffer);
    put_other_name(known->kind, shown, other);
    const struct hp_pattern_subject subject = {.names = {shown, other}, .files = {known->file, known->image}};
    return hp_pattern_list_chooses(&choice->log, &subject);
}

static void set_logged(struct hp_known_site *known)
{
    __atomic_store_n(&known->is_logged, is_to_log(known), __ATOMIC_RELAXED);
}

void hp_sites_begin(void)
{
    HOTPATH_PUT_(hp_store_header(hp_runtime->store)->left_out, hp_runtime->left_out);
    for (uint32_t id = 0; id < hp_runtime->site_count; id++)
        if (!write_site(id))
            hp_store_lose(hp_runtime->store, HP_LOSS_SITES, 1);
}

void hp_sites_reserve(void)
{
    for (uint32_t chunk = 0; chunk < RESERVED_SITES / HP_SITES_PER_CHUNK; chunk++)
        if (hp_runtime->site_chunks[chunk] == NULL)
            hp_runtime->site_chunks[chunk] = hp_memory_map(HP_SITES_PER_CHUNK * sizeof(struct hp_known_site));
    const size_t bytes = (size_t)RESERVED_SITES * 128;
    char *text = hp_memory_map(bytes);
    if (text != NULL) {
        hp_runtime->text_left = bytes;
        hp_runtime->text = text;
    }
}

static uint32_t find_site(uint32_t hash, const char *name, const struct hotpath_site *site)
{
    uint32_t id = hp_runtime->site_buckets[hash % HP_SITE_BUCKETS];
    for (; id != 0; id = known_site(id - 1)->next)
        if (known_site(id - 1)->hash == hash && is_same(known_site(id - 1), name, site))
            return id - 1;
    return HOTPATH_ID_NEW_;
}

static uint32_t add_site(uint32_t hash, const char *name, const struct hotpath_site *site,
                         const struct hp_symbol *symbol)
{
    const uint32_t id = hp_runtime->site_count;
    if (id == HP_MAX_SITES)
        return HOTPATH_ID_EXCLUDED_;
    struct hp_known_site **chunk = &hp_runtime->site_chunks[id / HP_SITES_PER_CHUNK];
    if (*chunk == NULL)
        __atomic_store_n(chunk, hp_more_memory(HP_SITES_PER_CHUNK * sizeof **chunk), __ATOMIC_RELEASE);
    if (*chunk == NULL)
        return HOTPATH_ID_EXCLUDED_;
    struct hp_known_site *known = known_site(id);
    known->name = keep_text(name);
    known->function = site->function == site->name && known->name != NULL && strcmp(name, site->name) == 0
                          ? known->name
                          : keep_text(site->function);
    known->file = keep_text(site->file);
    if (known->name == NULL || known->function == NULL || known->file == NULL)
        return HOTPATH_ID_EXCLUDED_;
    known->image = symbol != NULL ? symbol->image : NULL;
    known->address = symbol != NULL ? symbol->address : 0;
    known->line = site->line;
    known->kind = site->kind;
    known->wants_log = site->log != 0;
    set_logged(known);
    known->hash = hash;
    known->next = hp_runtime->site_buckets[hash % HP_SITE_BUCKETS];
    if (!write_site(id))
        return HOTPATH_ID_EXCLUDED_;
    hp_runtime->site_count = id + 1;
    hp_runtime->site_buckets[hash % HP_SITE_BUCKETS] = id + 1;
    return id;
}

bool hp_sites_prepare(const struct hp_record_settings *settings, struct hp_site_choice **ret_choice)
{
    *ret_choice = NULL;
    if (settings->filter[0] == '\0' && settings->skip[0] == '\0' && settings->log[0] == '\0')
        return true;
    struct hp_site_choice *choice = *ret_choice = hp_memory_map(sizeof *choice);
    if (choice == NULL)
        return false;
    /* Settings hold only lists that compile; one that does not would select everything. */
    hp_pattern_list_compile(&choice->filter, settings->filter, false, NULL);
    hp_pattern_list_compile(&choice->skip, settings->skip, true, NULL);
    hp_pattern_list_compile(&choice->log, settings->log, false, NULL);
    choice->is_any = true;
    choice->has_log = settings->log[0] != '\0';
    return true;
}

struct hp_site_choice *hp_sites_choose(struct hp_site_choice *choice)
{
    struct hp_site_choice *before = hp_runtime->choice;
    hp_runtime->choice = choice;
    for (uint32_t id = 0; id < hp_runtime->site_count; id++)
        set_logged(known_site(id));
    return before;
}

void hp_sites_drop(struct hp_site_choice *choice) { hp_memory_unmap(choice, sizeof *choice); }

/* A site's record is written before its id is published, so it can be read without the lock. */
bool hp_site_is_logged(uint32_t id) { return __atomic_load_n(&known_site(id)->is_logged, __ATOMIC_RELAXED); }

static bool is_object(uint32_t kind)
{
    const uint32_t plain = kind & ~HOTPATH_KIND_CXX_;
    return plain >= HOTPATH_KIND_VALUE_ && plain <= HOTPATH_KIND_LAST_;
}

/* Patterns do not apply to main functions, or sites that are not a place in code. */
static bool is_wanted(const char *name, const struct hotpath_site *site, const struct hp_symbol *symbol)
{
    const struct hp_site_choice *choice = hp_runtime->choice;
    char buffer[NAME_BYTES], other[NAME_BYTES];
    if (choice == NULL || !choice->is_any || is_main(site->kind) || site->kind == HOTPATH_KIND_SUSPENDED_)
        return true;
    const char *shown = shown_name(site->kind, name, buffer);
    put_other_name(site->kind, shown, other);
    const struct hp_pattern_subject subject = {.names = {shown, other},
                                               .files = {site->file, symbol != NULL ? symbol->image : NULL}};
    return hp_pattern_list_chooses(&choice->filter, &subject) && hp_pattern_list_chooses(&choice->skip, &subject);
}

/* Whether it is new, or the table is full: inline functions and reopened libraries come again. */
static bool is_first_left_out(uint32_t hash)
{
    uint32_t *hashes = hp_runtime->left_out_hashes;
    for (uint32_t step = 0; step < HP_LEFT_OUT_HASHES; step++) {
        uint32_t *slot = &hashes[(hash + step) % HP_LEFT_OUT_HASHES];
        if (*slot == (hash | 1))
            return false;
        if (*slot == 0) {
            *slot = hash | 1;
            break;
        }
    }
    return true;
}

/* Objects excluded are told from those without space, which are losses. */
static uint32_t leave_out(uint32_t hash, uint32_t kind)
{
    if (is_object(kind))
        return HP_ID_UNWANTED;
    if (is_first_left_out(hash))
        HOTPATH_PUT_(hp_store_header(hp_runtime->store)->left_out, ++hp_runtime->left_out);
    return HOTPATH_ID_EXCLUDED_;
}

static uint32_t register_site(const struct hotpath_site *site, const struct hp_symbol *symbol)
{
    const char *name = site->name[0] != '\0' ? site->name : "<unnamed>";
    const uint32_t hash = hash_text(hash_text(2166136261u ^ site->line, site->file), name);
    if (!is_wanted(name, site, symbol))
        return leave_out(hash, site->kind);
    uint32_t id = find_site(hash, name, site);
    if (id != HOTPATH_ID_NEW_)
        return id;
    id = add_site(hash, name, site, symbol);
    if (id == HOTPATH_ID_EXCLUDED_)
        hp_store_lose(hp_runtime->store, HP_LOSS_SITES, 1);
    return id;
}

void hp_site_register(struct hotpath_site *site, const struct hp_symbol *symbol)
{
    HOTPATH_PUT_(site->id, register_site(site, symbol));
    if (!hp_is_sealed())
        hp_session_touch(hp_runtime->store);
}

static void register_locked(void *site)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return;
    if (hp_runtime->gate != 0)
        hp_site_register(site, NULL);
    hp_unlock(&held);
}

uint32_t hp_site_id(struct hotpath_site *site)
{
    if (HOTPATH_GET_(site->id) == HOTPATH_ID_NEW_)
        hp_aside(register_locked, site);
    return HOTPATH_GET_(site->id);
}
