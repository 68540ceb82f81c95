/* Rows of classes, of instances, and of the rest. SPDX-License-Identifier: MIT */
#include "object_rows.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "identity.h"
#include "sort.h"
#include "text.h"
#include "utf8.h"

/* ------------------------------------------------------------------------------------------------- entries */

static struct hp_object_entry *add_entry(struct hp_object_rows *rows, const struct hp_object_record *record,
                                         size_t class_)
{
    struct hp_object_entry *entry = hp_arena_take(rows->results->model->arena, sizeof *entry);
    if (entry == NULL)
        return NULL;
    *entry =
        (struct hp_object_entry){.record = record, .class_ = class_, .is_instance = record->object.class_ != 0};
    hp_object_sums_of(record, &entry->sums);
    rows->entries[rows->count++] = entry;
    return entry;
}

static bool is_instance_of(const struct hp_object_record *record, const struct hp_object_record *class_)
{
    return record->object.class_ != 0 && strcmp(record->kind_name, class_->kind_name) == 0 &&
           strcmp(record->name, class_->name) == 0 &&
           (record->kind.flags & HP_KIND_BY_NAME || (record->location.line == class_->location.line &&
                                                     strcmp(record->location.file, class_->location.file) == 0));
}

static void add_sums(struct hp_object_sums *to, const struct hp_object_sums *from)
{
    for (uint32_t counter = 0; counter < HP_KIND_COUNTERS; counter++)
        to->count[counter] += from->count[counter];
}

/*
 * Adds the instances of a class, which follow it in the model, and the rest. A single instance would repeat its
 * class.
 */
static bool add_instances(struct hp_object_rows *rows, const struct hp_objects *objects, size_t from, size_t count,
                          const struct hp_object_entry *class_)
{
    struct hp_object_sums listed = {0}, left;
    const size_t first = rows->count;
    for (size_t at = from; at < from + count; at++) {
        if (!hp_object_is_used(objects->rows[at]))
            continue;
        const struct hp_object_entry *instance = add_entry(rows, objects->rows[at], class_->class_);
        if (instance == NULL)
            return false;
        add_sums(&listed, &instance->sums);
    }
    const bool is_left = count > 0 && hp_object_sums_left(class_->record, &class_->sums, &listed, &left);
    if (rows->count == first + 1 && !is_left)
        rows->count = first;
    if (!is_left)
        return true;
    struct hp_object_entry *other = add_entry(rows, class_->record, class_->class_);
    if (other == NULL)
        return false;
    other->sums = left;
    other->is_instance = other->is_other = true;
    return true;
}

/* Returns how many rows of the model it took; 0: no memory. */
static size_t add_class(struct hp_object_rows *rows, const struct hp_objects *objects, size_t from)
{
    size_t end = from + 1;
    while (end < objects->count && is_instance_of(objects->rows[end], objects->rows[from]))
        end++;
    if (!hp_object_is_used(objects->rows[from]))
        return end - from;
    const struct hp_object_entry *class_ = add_entry(rows, objects->rows[from], from);
    return class_ != NULL && add_instances(rows, objects, from + 1, end - from - 1, class_) ? end - from : 0;
}

/* Classes, then the instances of each: the most used first, by its kind's first counter, and <other> last. */
static int compare_entries(const void *a, const void *b)
{
    const struct hp_object_entry *x = a, *y = b;
    if (x->is_instance != y->is_instance)
        return x->is_instance ? 1 : -1;
    if (x->class_ != y->class_)
        return x->class_ < y->class_ ? -1 : 1;
    if (x->is_other != y->is_other)
        return x->is_other ? 1 : -1;
    if (x->sums.count[0] != y->sums.count[0])
        return x->sums.count[0] > y->sums.count[0] ? -1 : 1;
    return x->record->offset == y->record->offset ? 0 : x->record->offset < y->record->offset ? -1 : 1;
}

bool hp_object_rows_collect(struct hp_object_rows *rows, struct hotpath_results *results, hp_wants_kind *is_wanted)
{
    const struct hp_objects *objects = hp_model_objects(results->model);
    *rows = (struct hp_object_rows){.results = results};
    if (objects == NULL)
        return false;
    rows->entries = hp_arena_take_array(results->model->arena, 2 * objects->count + 1, sizeof(void *));
    rows->distribution = hp_arena_take(results->model->arena, sizeof *rows->distribution);
    if (rows->entries == NULL || rows->distribution == NULL)
        return false;
    for (size_t at = 0, count; at < objects->count; at += count) {
        count = 1;
        if (is_wanted(objects->rows[at]->kind_name, &objects->rows[at]->kind) &&
            hp_results_show_object(results, objects->rows[at]) && (count = add_class(rows, objects, at)) == 0)
            return false;
    }
    hp_sort(rows->entries, rows->count, compare_entries);
    return true;
}

bool hp_object_rows_show(const struct hp_object_rows *rows, struct hotpath_section *section, const char *usual,
                         void *view)
{
    if (!hp_order_choose(rows->results, section, usual, NULL))
        return false;
    section->order.is_set = !section->order.is_usual; /* the default order is not that of a column */
    return hp_section_fill_rows(rows->results, section, (const void *const *)rows->entries, rows->count, view);
}

/* ------------------------------------------------------------------------------------------------- fields */

static const char *name_instance(struct hp_fields *to, const struct hp_object_entry *entry)
{
    char bytes[32];
    struct hp_text text;
    if (!entry->is_instance || entry->is_other)
        return entry->is_other ? HP_OBJECT_OTHER : NULL;
    hp_text_init(&text, bytes, sizeof bytes);
    if (entry->record->kind.flags & HP_KIND_OF_RUN)
        hp_text_format(&text, "[%" PRIu64 "]", entry->record->object.key);
    else
        hp_text_address(&text, entry->record->object.key);
    return hp_fields_copy(to, bytes, text.length);
}

void hp_object_put_instance(struct hp_fields *to, const struct hp_object_entry *entry)
{
    HP_FIELD(to, name_instance(to, entry), "instance", "Instance", TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The address of an instance; " HP_OBJECT_OTHER
             ": all instances without a row of their own; null: the row covers all instances.");
}

const char *hp_object_state(const struct hp_object_entry *entry)
{
    if (!entry->is_instance || entry->is_other)
        return NULL;
    return entry->record->object.state == HP_OBJECT_ENDED ? "ended" : "live";
}

static uint64_t instances_of(const struct hp_object_record *record)
{
    uint64_t instances = 0;
    for (; record != NULL; record = record->next)
        instances += record->object.instances;
    return instances;
}

static uint64_t live_of(const struct hp_object_record *record)
{
    const uint64_t instances = instances_of(record);
    uint64_t ended = 0;
    for (; record != NULL; record = record->next)
        ended += record->object.ended_count;
    return instances > ended ? instances - ended : 0;
}

void hp_object_put_rest(struct hp_fields *to, const struct hp_object_entry *entry)
{
    HP_FIELD_IF(to, !entry->is_instance, instances_of(entry->record), "instances", "Instances", COUNT, 0,
                "Instances that had a record, including ended ones; null in the row of one instance.");
    HP_FIELD_IF(to, !entry->is_instance, live_of(entry->record), "live", "Live", COUNT, 0,
                "Instances that have not ended.");
    HP_FIELD_IF(to, !entry->is_other, entry->sums.threads, "threads", "Threads", COUNT, 0,
                "Thread records that used it.");
    HP_FIELD(to, entry->is_instance ? NULL : &entry->record->location, "location", "Location", TEXT,
             HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
}

uint64_t hp_object_identity(const struct hp_object_entry *entry)
{
    const uint64_t id = hp_identity_of_object(entry->record);
    return entry->is_other ? hp_identity_with_text(id, HP_OBJECT_OTHER) : id;
}

struct hp_cell hp_object_percentile(const struct hp_fields *to, const struct hp_value_distribution *distribution,
                                    double percentile)
{
    double ticks = 0;
    const bool has_value = hp_distribution_percentile(distribution, percentile, true, &ticks);
    return (struct hp_cell){.has_value = has_value, .number = ticks * to->results->model->run.ns_per_tick};
}

#define USERS_SHOWN 3u

const char *hp_object_list_users(struct hp_fields *to, const struct hp_object_record *record, uint32_t counter,
                                 uint32_t other)
{
    char bytes[256];
    struct hp_text text;
    struct hp_object_users users;
    hp_object_users_of(to->results->model->arena, to->results->model->profile, record, counter, other, &users);
    if (users.count == 0)
        return NULL;
    hp_text_init(&text, bytes, sizeof bytes);
    for (uint32_t at = 0; at < users.count && at < USERS_SHOWN; at++) {
        hp_text_string(&text, at > 0 ? ", " : "");
        hp_utf8_put_safe(&text, users.all[at].name, strlen(users.all[at].name));
    }
    if (users.count > USERS_SHOWN || users.left_out > 0)
        hp_text_string(&text, ", ...");
    return hp_fields_copy(to, bytes, text.length);
}

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

void hp_recent_put(struct hp_text *text, const struct hp_recent_copy *recent)
{
    const uint64_t bits = recent->value.bits;
    switch ((enum hp_value_type)recent->value.type) {
    case HP_VALUE_SIGNED:
        hp_text_i64(text, (int64_t)bits);
        break;
    case HP_VALUE_UNSIGNED:
        hp_text_u64(text, bits);
        break;
    case HP_VALUE_REAL:
        hp_text_real(text, real_of(bits), 6);
        break;
    case HP_VALUE_BOOL:
        hp_text_string(text, bits != 0 ? "true" : "false");
        break;
    case HP_VALUE_POINTER:
        hp_text_address(text, bits);
        break;
    case HP_VALUE_TEXT:
        hp_text_string(text, recent->text);
        break;
    default:
        break;
    }
}

const char *hp_recent_list_text(struct hp_fields *to, const struct hp_recent_list *list)
{
    char bytes[HP_RECENT_SHOWN * (HP_RECENT_TEXT + 8)];
    struct hp_text text;
    if (list->count == 0)
        return NULL;
    hp_text_init(&text, bytes, sizeof bytes);
    for (uint32_t at = 0; at < list->count; at++) {
        hp_text_string(&text, at > 0 ? ", " : "");
        hp_recent_put(&text, &list->all[at]);
    }
    return hp_fields_copy(to, bytes, text.length);
}

const char *hp_object_list_recent(struct hp_fields *to, const struct hp_object_record *record)
{
    struct hp_recent_list list;
    hp_recent_list_of(record, &list);
    return hp_recent_list_text(to, &list);
}
