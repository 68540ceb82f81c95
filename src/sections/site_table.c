/* The sites of a session. SPDX-License-Identifier: MIT */
#include "site_table.h"

#include <string.h>

#include "arena.h"
#include "sort.h"
#include "text.h"

#define NAME_MAX_BYTES 512u
#define NAME_LEVELS 5u

/* ------------------------------------------------------------------------------------------- finding */

/* A site whose record is not there, or not within the bytes, is known by its number. */
static const char *name_unknown(struct hp_site_table *table, uint32_t id)
{
    char bytes[32];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, "<site ");
    hp_text_u64(&text, id);
    hp_text_char(&text, '>');
    return hp_arena_copy(table->arena, bytes, text.length);
}

static const char *describe_site(struct hp_site_table *table, struct hp_site_sums *site)
{
    struct hp_site stored;
    if (site->id == HP_SITE_OTHER)
        return "<other>";
    if (!hp_snapshot_site(table->snapshot, site->id, &stored))
        return name_unknown(table, site->id);
    site->kind = stored.kind;
    site->location.file = hp_snapshot_text(table->snapshot, stored.file);
    site->location.function = hp_snapshot_text(table->snapshot, stored.function);
    site->location.line = stored.line;
    const char *name = hp_snapshot_text(table->snapshot, stored.name);
    return name[0] != '\0' ? name : name_unknown(table, site->id);
}

static struct hp_site_sums *new_site(struct hp_site_table *table, uint32_t id)
{
    struct hp_site_sums *site = hp_arena_take(table->arena, sizeof *site);
    if (site == NULL)
        return NULL;
    site->id = id;
    site->min = UINT64_MAX;
    site->location = (struct hp_location){.file = "", .function = ""};
    site->name = site->plain_name = describe_site(table, site);
    if (site->name == NULL)
        return NULL;
    site->next = table->all;
    table->all = site;
    table->count++;
    return site;
}

/* Where the sums of a site are kept. NULL: no memory. */
static struct hp_site_sums **site_place(struct hp_site_table *table, uint32_t id)
{
    if (id == HP_SITE_OTHER)
        return &table->other;
    struct hp_site_sums ***chunk = &table->chunks[id / HP_SITES_PER_CHUNK];
    if (*chunk == NULL)
        *chunk = hp_arena_take_array(table->arena, HP_SITES_PER_CHUNK, sizeof(void *));
    return *chunk == NULL ? NULL : &(*chunk)[id % HP_SITES_PER_CHUNK];
}

bool hp_site_table_has_room_for(uint32_t id) { return id < HP_MAX_SITES || id == HP_SITE_OTHER; }

struct hp_site_sums *hp_site_table_find(struct hp_site_table *table, uint32_t id)
{
    struct hp_site_sums **place = site_place(table, id);
    if (place == NULL)
        return NULL;
    if (*place == NULL)
        *place = new_site(table, id);
    return *place;
}

/* --------------------------------------------------------------------------------------------- names */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static size_t stem_length(const char *base)
{
    const char *dot = strrchr(base, '.');
    return dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
}

static void put_place(struct hp_text *text, const char *file, const struct hp_site_sums *site)
{
    hp_text_string(text, file);
    hp_text_char(text, ':');
    hp_text_u64(text, site->location.line);
    hp_text_char(text, ' ');
    hp_text_string(text, site->plain_name);
}

/* The name with more and more of what tells sites apart: alone, file stem, file and line, whole path, number. */
static bool set_name(const struct hp_site_table *table, struct hp_site_sums *site)
{
    char bytes[NAME_MAX_BYTES];
    struct hp_text text;
    const char *base = base_name(site->location.file);
    hp_text_init(&text, bytes, sizeof bytes);
    switch (site->name_level) {
    case 0:
        hp_text_string(&text, site->plain_name);
        break;
    case 1:
        hp_text_bytes(&text, base, stem_length(base));
        hp_text_char(&text, ':');
        hp_text_string(&text, site->plain_name);
        break;
    case 2:
        put_place(&text, base, site);
        break;
    default:
        if (site->name_level == NAME_LEVELS - 1) {
            hp_text_char(&text, '#');
            hp_text_u64(&text, site->id);
            hp_text_char(&text, ' ');
        }
        put_place(&text, site->location.file, site);
    }
    hp_text_end(&text);
    site->name = hp_arena_copy(table->arena, bytes, text.length);
    return site->name != NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct hp_site_sums *)a)->name, ((const struct hp_site_sums *)b)->name);
}

/* Moves every site whose name another one has, too, up one level. Sets `ret_moved`; false: no memory. */
static bool tell_apart(const struct hp_site_table *table, struct hp_site_sums **sites, size_t count,
                       bool *ret_moved)
{
    hp_sort(sites, count, compare_names);
    *ret_moved = false;
    for (size_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count && compare_names(sites[from], sites[to]) == 0)
            to++;
        for (size_t at = from; to - from > 1 && at < to; at++)
            if (sites[at]->name_level + 1 < NAME_LEVELS) {
                sites[at]->name_level++;
                *ret_moved = true;
            }
    }
    for (size_t at = 0; at < count; at++)
        if (!set_name(table, sites[at]))
            return false;
    return true;
}

bool hp_site_table_name(const struct hp_site_table *table, struct hp_site_sums **sites, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (!set_name(table, sites[at]))
            return false;
    bool has_moved = true;
    for (unsigned round = 0; has_moved && round < NAME_LEVELS; round++)
        if (!tell_apart(table, sites, count, &has_moved))
            return false;
    return true;
}
