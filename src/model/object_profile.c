/* The objects of a run. SPDX-License-Identifier: MIT */
#include "object_profile.h"

#include <string.h>

#include "arena.h"
#include "identity.h"
#include "profile.h"
#include "sort.h"

/* -------------------------------------------------------------------------------------------------- object sums */

/*
 * Adds up the counters of objects.
 */

static void add_counter(struct hp_object_sums *sums, uint32_t merge, uint32_t counter, const struct hp_part *part)
{
    uint64_t *to = &sums->count[counter];
    const uint64_t value = part->count[counter];
    switch ((enum hp_merge)merge) {
    case HP_MERGE_SUM:
        *to += value;
        break;
    case HP_MERGE_LEAST:
        *to = sums->parts == 0 || value < *to ? value : *to;
        break;
    case HP_MERGE_MOST:
        *to = value > *to ? value : *to;
        break;
    case HP_MERGE_NEWEST:
        *to = part->last_tick >= sums->newest ? value : *to;
        break;
    case HP_MERGE_NONE:
        break;
    }
}

static void sum_part(struct hp_object_sums *sums, const struct hp_kind *kind, const struct hp_part *part)
{
    for (uint32_t counter = 0; counter < kind->counter_count; counter++)
        add_counter(sums, kind->counters[counter].merge, counter, part);
    sums->newest = part->last_tick > sums->newest ? part->last_tick : sums->newest;
    sums->parts++;
}

/* For an instance its own parts; for a class also those of its instances, in succession. */
static void sum_record(struct hp_object_sums *sums, const struct hp_object_record *record)
{
    for (const struct hp_object_part *at = record->parts; at != NULL; at = at->next)
        if (!at->is_former) {
            sum_part(sums, &record->kind, &at->part);
            sums->threads++; /* a user of an instance also has a part of its class */
        }
    for (const struct hp_object_record *member = record->members; member != NULL; member = member->next_member)
        for (const struct hp_object_part *at = member->parts; at != NULL; at = at->next)
            sum_part(sums, &record->kind, at->whole);
}

void hp_object_sums_of(const struct hp_object_record *row, struct hp_object_sums *ret_sums)
{
    memset(ret_sums, 0, sizeof *ret_sums);
    for (const struct hp_object_record *record = row; record != NULL; record = record->next)
        sum_record(ret_sums, record);
}

bool hp_object_sums_left(const struct hp_object_record *row, const struct hp_object_sums *class_,
                         const struct hp_object_sums *instances, struct hp_object_sums *ret_left)
{
    bool is_any = false;
    memset(ret_left, 0, sizeof *ret_left);
    for (uint32_t counter = 0; counter < row->kind.counter_count; counter++) {
        if (row->kind.counters[counter].merge == HP_MERGE_SUM)
            ret_left->count[counter] = class_->count[counter] - instances->count[counter];
        is_any |= ret_left->count[counter] != 0;
    }
    return is_any;
}

/* ------------------------------------------------------------------------------------------------- object users */

/*
 * Finds the users of an object.
 */

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
    struct hp_thread_usage_row row;
    struct hp_thread thread;
    while (hp_snapshot_next_thread_usage(session, &walk, &row))
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

/* ----------------------------------------------------------------------------------------------- object profile */

struct reading {
    struct hp_arena *arena;
    struct hp_object_record *first;
    size_t count;
};

/* Sets the place where it was created, which is also its name. */
static void set_place(struct hp_object_record *record)
{
    struct hp_site site;
    record->name = "";
    record->location = (struct hp_location){.file = "", .function = ""};
    if (hp_snapshot_site(record->session, record->object.site, &site)) {
        record->name = hp_snapshot_text(record->session, site.name);
        record->location = (struct hp_location){hp_snapshot_text(record->session, site.file),
                                                hp_snapshot_text(record->session, site.function), site.line};
    }
    if (record->name[0] == '\0')
        record->name = "<unknown>";
}

/* Leaves only what was counted for this instance. */
static void take_base_away(struct hp_part *part, const struct hp_kind *kind, const uint64_t *base)
{
    for (uint32_t counter = 0; counter < kind->counter_count; counter++)
        if (kind->counters[counter].merge == HP_MERGE_SUM)
            part->count[counter] -= base[counter];
}

static bool add_part(struct reading *reading, struct hp_object_record *record, const struct hp_instance_part *part)
{
    struct hp_object_part *copy = hp_arena_take(reading->arena, sizeof *copy);
    struct hp_part *whole = NULL;
    if (copy == NULL)
        return false;
    *copy = (struct hp_object_part){
        .next = record->parts, .part = part->part, .is_former = part->part.generation != record->object.generation};
    if (record->object.class_ != 0) {
        whole = hp_arena_take(reading->arena, sizeof *whole);
        if (whole == NULL)
            return false;
        *whole = part->part;
        take_base_away(&copy->part, &record->kind, part->base);
    }
    copy->whole = whole;
    record->parts = copy;
    return true;
}

/* `walk` goes over all objects of the session, so that no part is read twice. False: no memory. */
static bool read_parts(struct reading *reading, struct hp_object_record *record, struct hp_walk *walk)
{
    struct hp_instance_part part;
    hp_walk_rewind(walk);
    while (hp_snapshot_next_part(record->session, &record->object, walk, &part)) {
        if (record->object.class_ == 0 && part.part.generation != record->object.generation)
            continue;
        if (!add_part(reading, record, &part))
            return false;
    }
    return true;
}

static bool add_record(struct reading *reading, const struct hp_object_record *made, struct hp_walk *parts)
{
    struct hp_object_record *record = hp_arena_take(reading->arena, sizeof *record);
    if (record == NULL)
        return false;
    *record = *made;
    record->kind_name = hp_snapshot_text(record->session, record->kind.name);
    set_place(record);
    record->next = reading->first;
    reading->first = record;
    reading->count++;
    return read_parts(reading, record, parts);
}

static bool read_session(struct reading *reading, const struct hp_snapshot *session, uint32_t index)
{
    struct hp_object_record made = {.session = session, .session_index = index};
    struct hp_walk walk = {0}, parts = {0};
    while (hp_snapshot_next_object(session, &walk, &made.object)) {
        made.offset = walk.offset;
        if (hp_snapshot_kind(session, made.object.kind, &made.kind) && !add_record(reading, &made, &parts))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------- rows */

static int compare_numbers(uint64_t a, uint64_t b) { return a == b ? 0 : a < b ? -1 : 1; }

/* Zero: they form one row. */
static int compare_rows(const struct hp_object_record *x, const struct hp_object_record *y)
{
    int order = strcmp(x->kind_name, y->kind_name);
    if (order == 0)
        order = strcmp(x->name, y->name);
    if (order == 0)
        order = compare_numbers(x->kind.flags & (HP_KIND_BY_NAME | HP_KIND_OF_RUN),
                                y->kind.flags & (HP_KIND_BY_NAME | HP_KIND_OF_RUN));
    if (order == 0 && !(x->kind.flags & HP_KIND_BY_NAME)) {
        order = strcmp(x->location.file, y->location.file);
        if (order == 0)
            order = compare_numbers(x->location.line, y->location.line);
    }
    if (order == 0)
        order = compare_numbers(x->object.class_ != 0, y->object.class_ != 0);
    if (order != 0 || x->object.class_ == 0)
        return order;
    if (x->kind.flags & HP_KIND_OF_RUN)
        return compare_numbers(x->object.key, y->object.key);
    order = compare_numbers(x->session_index, y->session_index);
    return order != 0 ? order : compare_numbers(x->offset, y->offset);
}

/* Within a row, records of the first process come first, the oldest of them at the front. */
static int compare_records(const void *a, const void *b)
{
    const struct hp_object_record *x = a, *y = b;
    int order = compare_rows(x, y);
    if (order == 0)
        order = compare_numbers(x->session_index, y->session_index);
    return order != 0 ? order : compare_numbers(x->offset, y->offset);
}

static void make_rows(struct hp_objects *objects, size_t count)
{
    struct hp_object_record *last = NULL;
    for (size_t at = 0; at < count; at++) {
        struct hp_object_record *record = objects->rows[at];
        record->next = NULL;
        if (last != NULL && compare_rows(last, record) == 0)
            last->next = record;
        else
            objects->rows[objects->count++] = record;
        last = record;
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct hp_object_record *x = a, *y = b;
    const int order = compare_numbers(x->session_index, y->session_index);
    return order != 0 ? order : compare_numbers(x->offset, y->offset);
}

/* The record at an offset of a session; `all` is sorted by place. NULL: none. */
static struct hp_object_record *find_record(struct hp_object_record **all, size_t count, uint32_t session,
                                            uint32_t offset)
{
    const struct hp_object_record wanted = {.session_index = session, .offset = offset};
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        const int order = compare_places(all[middle], &wanted);
        if (order == 0)
            return all[middle];
        if (order < 0)
            low = middle + 1;
        else
            count = middle;
    }
    return NULL;
}

/* `all` is sorted by place. */
static void join_members(struct hp_object_record **all, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        struct hp_object_record *member = all[at];
        struct hp_object_record *class_ =
            member->object.class_ != 0 ? find_record(all, count, member->session_index, member->object.class_)
                                       : NULL;
        if (class_ == NULL || class_->object.class_ != 0)
            continue;
        member->next_member = class_->members;
        class_->members = member;
    }
}

const struct hp_objects *hp_objects_of_run(struct hp_arena *arena, const struct hp_run *run)
{
    struct reading reading = {.arena = arena};
    struct hp_objects *objects = hp_arena_take(arena, sizeof *objects);
    for (size_t at = 0; at < run->count; at++)
        if (objects == NULL || !read_session(&reading, run->sessions[at], (uint32_t)at))
            return NULL;
    objects->rows = hp_arena_take_array(arena, reading.count + 1, sizeof(void *));
    if (objects->rows == NULL)
        return NULL;
    size_t count = 0;
    for (struct hp_object_record *record = reading.first; record != NULL; record = record->next)
        objects->rows[count++] = record;
    hp_sort(objects->rows, count, compare_places);
    join_members(objects->rows, count);
    hp_sort(objects->rows, count, compare_records);
    make_rows(objects, count);
    return objects;
}

void hp_object_visit_parts_of_one(const struct hp_object_record *record, hp_part_visitor *visit, void *context)
{
    for (const struct hp_object_part *at = record->parts; at != NULL; at = at->next)
        if (!at->is_former)
            visit(context, record, &at->part);
    for (const struct hp_object_record *member = record->members; member != NULL; member = member->next_member)
        for (const struct hp_object_part *at = member->parts; at != NULL; at = at->next)
            visit(context, member, at->whole);
}

void hp_object_visit_parts(const struct hp_object_record *row, hp_part_visitor *visit, void *context)
{
    for (; row != NULL; row = row->next)
        hp_object_visit_parts_of_one(row, visit, context);
}

static void note_use(void *is_used, const struct hp_object_record *record, const struct hp_part *part)
{
    *(bool *)is_used |= part->first_tick != 0 || !(record->kind.flags & HP_KIND_FOUND);
}

bool hp_object_is_used(const struct hp_object_record *row)
{
    bool is_used = !(row->kind.flags & HP_KIND_FOUND);
    hp_object_visit_parts(row, note_use, &is_used);
    return is_used;
}

/* A new instance may get the address of one that has ended. */
uint64_t hp_identity_of_object(const struct hp_object_record *row)
{
    uint64_t identity = hp_identity_with_text(hp_identity_with_text(0, row->kind_name), row->name);
    if (!(row->kind.flags & HP_KIND_BY_NAME)) {
        identity = hp_identity_with_text(identity, row->location.file);
        identity = hp_identity_with_number(identity, row->location.line);
    }
    if (row->object.class_ == 0)
        return identity;
    if (row->kind.flags & HP_KIND_OF_RUN)
        return hp_identity_with_number(identity, row->object.key);
    identity = hp_identity_with_number(identity, row->session->header.pid);
    return hp_identity_with_number(hp_identity_with_number(identity, row->object.key), row->object.born);
}

static bool has_use(const struct hp_snapshot *session, const struct hp_object *object)
{
    struct hp_instance_part part;
    struct hp_walk walk = {0};
    while (hp_snapshot_next_part(session, object, &walk, &part))
        if (part.part.first_tick != 0)
            return true;
    return false;
}

bool hp_run_has_objects(const struct hp_run *run, hp_wants_kind *is_wanted)
{
    struct hp_object object;
    struct hp_kind kind;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_snapshot *session = run->sessions[at];
        struct hp_walk walk = {0};
        while (hp_snapshot_next_object(session, &walk, &object))
            if (hp_snapshot_kind(session, object.kind, &kind) &&
                is_wanted(hp_snapshot_text(session, kind.name), &kind) &&
                (!(kind.flags & HP_KIND_FOUND) || has_use(session, &object)))
                return true;
    }
    return false;
}
