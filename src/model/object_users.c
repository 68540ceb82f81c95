/* Finds the users of an object. SPDX-License-Identifier: MIT */
#include "object_users.h"

#include <string.h>

#include "arena.h"
#include "profile.h"

struct search {
    struct hp_arena *arena;
    const struct hp_profile *profile;
    struct hp_object_users *users;
    uint32_t counter, or_counter;
};

const char *hp_object_name_of_node(const struct hp_profile *profile, const struct hp_object_record *record,
                                   uint32_t offset)
{
    struct hp_node node;
    if (offset == 0 || !hp_snapshot_node(record->session, offset, &node))
        return NULL;
    const struct hp_site_sums *site = hp_profile_site(profile, record->session_index, node.site);
    return site != NULL ? site->name : NULL;
}

/*
 * The name that the observer saw last, since threads get their names after they start; else the name at the start.
 */
static bool read_thread_name(const struct hp_snapshot *session, uint32_t record, char name[16])
{
    struct hp_walk walk = {0};
    struct hp_crew_row row;
    struct hp_thread thread;
    while (hp_snapshot_next_in_crew(session, &walk, &row))
        if (row.record == record && row.name[0] != '\0') {
            memcpy(name, row.name, sizeof row.name);
            return true;
        }
    if (!hp_snapshot_thread(session, record, &thread))
        return false;
    memcpy(name, thread.name, sizeof thread.name);
    return name[0] != '\0';
}

/* In a program without zones, threads and processes are named by their kernel names. */
static const char *name_of(const struct search *search, const struct hp_object_record *record,
                           const struct hp_part *part)
{
    char name[16];
    const char *zone = hp_object_name_of_node(search->profile, record, part->node);
    if (zone != NULL || !(record->kind.flags & HP_KIND_FOUND) ||
        !read_thread_name(record->session, part->thread, name))
        return zone;
    return hp_arena_copy(search->arena, name, strnlen(name, sizeof name));
}

static struct hp_object_user *user_named(struct hp_object_users *users, const char *name)
{
    uint32_t at = 0;
    while (at < users->count && strcmp(users->all[at].name, name) != 0)
        at++;
    if (at == HP_MOST_USERS)
        return NULL;
    if (at == users->count)
        users->all[users->count++] = (struct hp_object_user){.name = name};
    return &users->all[at];
}

/* Moves an entry past those that counted less. */
static void move_up(struct hp_object_users *users, size_t at)
{
    for (; at > 0 && users->all[at].count > users->all[at - 1].count; at--) {
        const struct hp_object_user before = users->all[at - 1];
        users->all[at - 1] = users->all[at];
        users->all[at] = before;
    }
}

static void take_part(void *context, const struct hp_object_record *record, const struct hp_part *part)
{
    const struct search *search = context;
    const uint64_t count = part->count[search->counter] + part->count[search->or_counter];
    const char *name = count != 0 ? name_of(search, record, part) : NULL;
    if (name == NULL)
        return;
    struct hp_object_user *user = user_named(search->users, name);
    if (user == NULL) {
        search->users->left_out++;
        return;
    }
    user->count += count;
    move_up(search->users, (size_t)(user - search->users->all));
}

void hp_object_users_of(struct hp_arena *arena, const struct hp_profile *profile,
                        const struct hp_object_record *row, uint32_t counter, uint32_t or_counter,
                        struct hp_object_users *ret_users)
{
    struct search search = {arena, profile, ret_users, counter, or_counter};
    memset(ret_users, 0, sizeof *ret_users);
    hp_object_visit_parts(row, take_part, &search);
}
