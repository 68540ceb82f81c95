/* The sites of all sessions of a run. SPDX-License-Identifier: MIT */
#include "site_table.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "arith.h"
#include "cxxname.h"
#include "sort.h"
#include "text.h"

#define NAME_MAX_BYTES 512u
#define SIGNATURE_MAX_BYTES 2048u
#define SHORT_NAME_BYTES 256u
#define NAME_LEVELS 6u

/* ------------------------------------------------------------------------------------------- finding */

void hp_site_table_read(struct hp_site_table *table, const struct hp_snapshot *session, uint32_t index)
{
    table->session = session;
    table->session_index = index;
}

/*
 * A site without a valid record is named by its id. The id means nothing in other sessions, so those after the
 * first add their process.
 */
static const char *name_unknown(struct hp_site_table *table, uint32_t id)
{
    char bytes[64];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "<site %u", id);
    if (table->session_index > 0) {
        hp_text_format(&text, " of %u", table->session->header.pid);
    }
    hp_text_char(&text, '>');
    return hp_arena_copy(table->arena, bytes, text.length);
}

/*
 * The name with its parameters, by which functions of one name are told apart. Lambdas have none: their lines say
 * more. NULL: there is none, or no memory.
 */
static const char *signature_of(const struct hp_site_table *table, const char *pretty, const char *name)
{
    char bytes[SIGNATURE_MAX_BYTES];
    const size_t length = strstr(name, "<lambda>") == NULL ? hp_cxx_signature(pretty, bytes, sizeof bytes) : 0;
    return length > 0 ? hp_arena_copy(table->arena, bytes, length) : NULL;
}

/* A function of C++ is recorded with its whole signature. NULL: no memory. */
static const char *shorten(const struct hp_site_table *table, struct hp_site_sums *site, const char *name)
{
    char bytes[SHORT_NAME_BYTES];
    if (!hp_site_is_signature(site->kind))
        return name;
    const size_t length = hp_cxx_short_name(name, bytes, sizeof bytes);
    site->signature = signature_of(table, name, bytes);
    return strcmp(bytes, name) == 0 ? name : hp_arena_copy(table->arena, bytes, length);
}

static const char *describe_site(struct hp_site_table *table, struct hp_site_sums *site)
{
    struct hp_site stored;
    if (site->id == HP_SITE_OTHER)
        return "<other>";
    if (!hp_snapshot_site(table->session, site->id, &stored))
        return name_unknown(table, site->id);
    site->kind = stored.kind;
    site->is_by_compiler = stored.image != 0;
    site->location.file = hp_snapshot_text(table->session, stored.file);
    site->location.function = hp_snapshot_text(table->session, stored.function);
    site->location.line = stored.line;
    const char *name = hp_snapshot_text(table->session, stored.name);
    return name[0] != '\0' ? shorten(table, site, name) : name_unknown(table, site->id);
}

static struct hp_site_sums *new_site(struct hp_site_table *table, uint32_t id)
{
    struct hp_site_sums *site = hp_arena_take(table->arena, sizeof *site);
    if (site == NULL)
        return NULL;
    site->id = id;
    site->session = table->session_index;
    site->thread = table->thread;
    site->same = site;
    site->location = (struct hp_location){.file = "", .function = ""};
    site->name = site->plain_name = site->recorded_name = describe_site(table, site);
    if (site->name == NULL)
        return NULL;
    site->next = table->all;
    table->all = site;
    table->count++;
    return site;
}

/* The slot of a site's sums. NULL: no memory. */
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
    if (*place == NULL || (*place)->session != table->session_index || (*place)->thread != table->thread)
        *place = new_site(table, id);
    return *place;
}

/* -------------------------------------------------------------------------------------------- unifying */

enum { NAME, FUNCTION, FILE_NAME, TEXTS };

/* A text of a site. Many sites may point at one long text, so texts are compared once, and sites by rank. */
struct text {
    const char *bytes;
    const struct text *first; /* of those at the same address */
    size_t rank;              /* equal for equal texts */
};

/* What identifies a site in every session. */
struct identity {
    struct hp_site_sums *site;
    struct text texts[TEXTS];
};

static int compare_addresses(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const struct text *)a)->bytes, y = (uintptr_t)((const struct text *)b)->bytes;
    return x == y ? 0 : x < y ? -1 : 1;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct text *)a)->bytes, ((const struct text *)b)->bytes);
}

/* Moves one text of each address to the front; returns how many. */
static size_t drop_same_addresses(struct text **texts, size_t count)
{
    size_t kept = 0;
    hp_sort(texts, count, compare_addresses);
    for (size_t at = 0; at < count; at++) {
        if (kept == 0 || texts[kept - 1]->bytes != texts[at]->bytes)
            texts[kept++] = texts[at];
        texts[at]->first = texts[kept - 1];
    }
    return kept;
}

/* Texts in the bytes of a session do not overlap, so all comparisons together take n log n steps in their size. */
static void rank_texts(struct text **texts, size_t count)
{
    const size_t kept = drop_same_addresses(texts, count);
    hp_sort(texts, kept, compare_texts);
    for (size_t at = 1; at < kept; at++)
        texts[at]->rank = texts[at - 1]->rank + (compare_texts(texts[at - 1], texts[at]) != 0);
}

static int compare_contents(const struct identity *x, const struct identity *y)
{
    int order = 0;
    for (size_t text = 0; order == 0 && text < TEXTS; text++)
        order = hp_by_number(x->texts[text].first->rank, y->texts[text].first->rank);
    if (order == 0)
        order = hp_by_number(x->site->location.line, y->site->location.line);
    return order != 0 ? order : hp_by_number(x->site->kind, y->site->kind);
}

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;
    const int order = compare_contents(x, y);
    return order != 0 ? order : hp_by_number(hp_site_number(x->site), hp_site_number(y->site));
}

/*
 * Sites with the same content, ordered by session. A session should have one of them. If it has several, they are
 * different sites, and the nth of one session matches the nth of any other. `kept` has room for all. By thread
 * there are several with one number, which are the same site.
 */
static void unify_equals(struct identity **equals, size_t count, struct hp_site_sums **kept)
{
    size_t kept_count = 0, nth = 0;
    for (size_t at = 0; at < count; at++) {
        struct hp_site_sums *site = equals[at]->site;
        const struct hp_site_sums *before = equals[at > 0 ? at - 1 : 0]->site;
        nth = site->session == before->session ? nth + (site->id != before->id) : 0;
        if (nth == kept_count)
            kept[kept_count++] = site;
        site->same = kept[nth];
    }
}

static void describe_all(const struct hp_site_table *table, struct identity *identities, struct identity **order,
                         struct text **texts)
{
    size_t at = 0;
    for (struct hp_site_sums *site = table->all; site != NULL; site = site->next, at++) {
        struct identity *identity = &identities[at];
        identity->site = site;
        identity->texts[NAME].bytes = site->plain_name;
        identity->texts[FUNCTION].bytes = site->location.function;
        identity->texts[FILE_NAME].bytes = site->location.file;
        order[at] = identity;
        for (size_t text = 0; text < TEXTS; text++)
            texts[TEXTS * at + text] = &identity->texts[text];
    }
}

bool hp_site_table_unify(struct hp_site_table *table)
{
    const size_t count = table->count;
    struct identity *identities = hp_arena_take_array(table->arena, count + 1, sizeof *identities);
    struct identity **order = hp_arena_take_array(table->arena, count + 1, sizeof(void *));
    struct text **texts = hp_arena_take_array(table->arena, count + 1, TEXTS * sizeof(void *));
    struct hp_site_sums **kept = hp_arena_take_array(table->arena, count + 1, sizeof(void *));
    if (identities == NULL || order == NULL || texts == NULL || kept == NULL)
        return false;
    describe_all(table, identities, order, texts);
    rank_texts(texts, TEXTS * count);
    hp_sort(order, count, compare_identities);
    for (size_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count && compare_contents(order[from], order[to]) == 0)
            to++;
        unify_equals(order + from, to - from, kept);
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- names */

static size_t stem_length(const char *base)
{
    const char *dot = strrchr(base, '.');
    return dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
}

/* " [constprop.0]": the suffix that the compiler gave to a clone. */
static void put_suffix(struct hp_text *text, const char *linked)
{
    const char *dot = strchr(linked, '.');
    if (dot == NULL)
        return;
    hp_text_format(text, " [%s]", dot + 1);
}

static const char *keep_with_suffix(const struct hp_site_table *table, const char *name, const char *linked)
{
    char bytes[SIGNATURE_MAX_BYTES];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, name);
    put_suffix(&text, linked);
    hp_text_end(&text);
    return hp_arena_copy(table->arena, bytes, text.length);
}

/* Compiler-instrumented functions have the linker's names; other names are as the user wrote them. */
static bool make_readable(const struct hp_site_table *table, struct hp_site_sums *site)
{
    char signature[SIGNATURE_MAX_BYTES], name[SIGNATURE_MAX_BYTES], tidy[SIGNATURE_MAX_BYTES];
    const char *linked = site->plain_name;
    if (table->read_name == NULL || site->kind != HOTPATH_KIND_FUNCTION_ || !hp_cxx_is_mangled(linked) ||
        !table->read_name(linked, signature, sizeof signature))
        return true;
    hp_cxx_short_name(signature, name, sizeof name);
    const bool is_tidy = hp_cxx_signature(signature, tidy, sizeof tidy) > 0;
    site->signature = keep_with_suffix(table, is_tidy ? tidy : signature, linked);
    site->plain_name = keep_with_suffix(table, name, linked);
    return site->signature != NULL && site->plain_name != NULL;
}

static const char *long_name(const struct hp_site_sums *site)
{
    return site->signature != NULL ? site->signature : site->plain_name;
}

static void put_stem(struct hp_text *text, const char *file)
{
    const char *base = hp_text_base_name(file);
    if (base[0] == '\0')
        return;
    hp_text_bytes(text, base, stem_length(base));
    hp_text_char(text, ':');
}

static void put_place(struct hp_text *text, const char *file, uint32_t line)
{
    if (file[0] == '\0')
        return;
    hp_text_format(text, "%s:%u ", file, line);
}

/* Each site reuses its own buffer: there may be 200,000 sites with one long name. */
static bool keep_name(const struct hp_site_table *table, struct hp_site_sums *site, const char *bytes,
                      size_t length)
{
    if (site->name_level == 0 && strcmp(bytes, site->plain_name) == 0) {
        site->name = site->plain_name;
        return true;
    }
    if (site->name_room == NULL)
        site->name_room = hp_arena_take(table->arena, NAME_MAX_BYTES);
    if (site->name_room == NULL)
        return false;
    memcpy(site->name_room, bytes, length);
    site->name_room[length] = '\0';
    site->name = site->name_room;
    return true;
}

/*
 * The name with more and more detail: alone, whole signature, file stem, file and line, whole path, number. If a
 * level adds nothing, the next one is used.
 */
static bool set_name(const struct hp_site_table *table, struct hp_site_sums *site)
{
    char bytes[NAME_MAX_BYTES];
    struct hp_text text;
    const struct hp_location *location = &site->location;
    hp_text_init(&text, bytes, sizeof bytes);
    switch (site->name_level) {
    case 0:
    case 1:
        break;
    case 2:
        put_stem(&text, location->file);
        break;
    case 3:
        put_place(&text, hp_text_base_name(location->file), location->line);
        break;
    default:
        if (site->name_level == NAME_LEVELS - 1) {
            hp_text_format(&text, "#%" PRIu64 " ", hp_site_number(site));
        }
        put_place(&text, location->file, location->line);
    }
    hp_text_string(&text, site->name_level == 0 ? site->plain_name : long_name(site));
    hp_text_end(&text);
    return keep_name(table, site, bytes, text.length);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct hp_site_sums *)a)->name, ((const struct hp_site_sums *)b)->name);
}

/* Moves every site whose name is not unique up one level. Sets `ret_moved`; false: no memory. */
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
                if (!set_name(table, sites[at]))
                    return false;
            }
    }
    return true;
}

bool hp_site_table_name(const struct hp_site_table *table, struct hp_site_sums **sites, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        sites[at]->name_level = 0;
        if (!make_readable(table, sites[at]) || !set_name(table, sites[at]))
            return false;
    }
    bool has_moved = true;
    for (unsigned round = 0; has_moved && round < NAME_LEVELS; round++)
        if (!tell_apart(table, sites, count, &has_moved))
            return false;
    return true;
}
