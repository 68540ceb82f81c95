/* The objects of a run. SPDX-License-Identifier: MIT */
#include "object_profile.h"

#include <string.h>

#include "arena.h"
#include "identity.h"
#include "sort.h"

struct reading {
    struct hp_arena *arena;
    struct hp_object_record *first;
    size_t count;
};

/* The place it was made, whose name it has. */
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

/* `walk` is that of all objects of the session, so that no part is read twice. False: no memory. */
static bool read_parts(struct reading *reading, struct hp_object_record *record, struct hp_walk *walk)
{
    struct hp_part part;
    hp_walk_rewind(walk);
    while (hp_snapshot_next_part(record->session, &record->object, walk, &part)) {
        struct hp_object_part *copy = hp_arena_take(reading->arena, sizeof *copy);
        if (copy == NULL)
            return false;
        *copy = (struct hp_object_part){record->parts, part};
        record->parts = copy;
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

/* Zero: they are one row. */
static int compare_rows(const struct hp_object_record *x, const struct hp_object_record *y)
{
    int order = strcmp(x->kind_name, y->kind_name);
    if (order == 0)
        order = strcmp(x->name, y->name);
    if (order == 0)
        order = compare_numbers(x->kind.flags & HP_KIND_BY_NAME, y->kind.flags & HP_KIND_BY_NAME);
    if (order == 0 && !(x->kind.flags & HP_KIND_BY_NAME)) {
        order = strcmp(x->location.file, y->location.file);
        if (order == 0)
            order = compare_numbers(x->location.line, y->location.line);
    }
    if (order == 0)
        order = compare_numbers(x->object.class_ != 0, y->object.class_ != 0);
    if (order != 0 || x->object.class_ == 0)
        return order;
    order = compare_numbers(x->session_index, y->session_index);
    return order != 0 ? order : compare_numbers(x->offset, y->offset);
}

/* Among the records of a row, those of the first process come first, and of these the oldest. */
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
    hp_sort(objects->rows, count, compare_records);
    make_rows(objects, count);
    return objects;
}

/* Another instance may get the address of one that has ended. */
uint64_t hp_identity_of_object(const struct hp_object_record *row)
{
    uint64_t identity = hp_identity_with_text(hp_identity_with_text(0, row->kind_name), row->name);
    if (!(row->kind.flags & HP_KIND_BY_NAME)) {
        identity = hp_identity_with_text(identity, row->location.file);
        identity = hp_identity_with_number(identity, row->location.line);
    }
    if (row->object.class_ == 0)
        return identity;
    identity = hp_identity_with_number(identity, row->session->header.pid);
    return hp_identity_with_number(hp_identity_with_number(identity, row->object.key), row->object.born);
}

bool hp_run_has_objects(const struct hp_run *run, bool with_own_table)
{
    struct hp_object object;
    struct hp_kind kind;
    for (size_t at = 0; at < run->count; at++) {
        struct hp_walk walk = {0};
        while (hp_snapshot_next_object(run->sessions[at], &walk, &object))
            if (hp_snapshot_kind(run->sessions[at], object.kind, &kind) &&
                ((kind.flags & HP_KIND_OWN_TABLE) != 0) == with_own_table)
                return true;
    }
    return false;
}
