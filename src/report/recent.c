/*
 * The section `recent`: one row per record of a log, whatever it is about: a call, a message, an item, a task, a
 * value. The newest comes first.
 *
 * Every thread has a log of its own for each thing; here those of all threads and processes become one list, in
 * which each thing has as many records as one log. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "arith.h"
#include "identity.h"
#include "object_rows.h"
#include "profile.h"
#include "sort.h"

/* What records are about. */
struct thing {
    const char *name;
    uint64_t id;
    const struct hp_kind *kind; /* of an object; NULL: a function */
    const char *call;           /* what its calls are */
    size_t shown;               /* records so far, newest first */
    size_t rank;                /* from 1, by the newest record */
};

struct entry {
    struct entry *next; /* in order of arrival */
    struct thing *of;
    const struct hp_snapshot *session;
    const char *thread; /* NULL: unknown */
    const char *where;  /* NULL: unknown */
    const char *text;   /* NULL: none */
    struct hp_log_record record;
};

/* Facts of this section. */
enum {
    HAS_INSTANCES = HP_FACT_OWN,
    HAS_IDS = HP_FACT_OWN << 1,
    HAS_BYTES = HP_FACT_OWN << 2,
    HAS_POLLS = HP_FACT_OWN << 3,
    HAS_TEXTS = HP_FACT_OWN << 4,
    HAS_THREADS = HP_FACT_OWN << 5,
    HAS_TIMES = HP_FACT_OWN << 6,
    HAS_CALLS = HP_FACT_OWN << 7,
};

struct view {
    struct hotpath_results *results;
    struct entry *first;
    struct entry **order;
    size_t count, things;
    uint64_t now;         /* the end of the session that ended last */
    struct hp_walk steps; /* of all walks together: they are bounded */
    bool is_out_of_memory;
};

static struct hp_arena *arena_of(const struct view *view) { return view->results->model->arena; }

/* ------------------------------------------------------------------------------------------------------ gather */

/* An empty text becomes NULL. */
static const char *copy(struct view *view, const char *text, size_t length)
{
    if (text == NULL || length == 0)
        return NULL;
    const char *copied = hp_arena_copy(arena_of(view), text, length);
    view->is_out_of_memory |= copied == NULL;
    return copied;
}

static struct thing *new_thing(struct view *view, const struct thing *thing)
{
    struct thing *made = hp_arena_take(arena_of(view), sizeof *made);
    view->is_out_of_memory |= made == NULL;
    if (made == NULL)
        return NULL;
    *made = *thing;
    view->things++;
    return made;
}

/* A value is its own text. */
static const char *text_of(struct view *view, const struct hp_log_copy *found)
{
    const struct hp_log_record *record = &found->record;
    char bytes[64];
    struct hp_text text;
    if (record->what != HP_RECORD_VALUE || record->type == HP_VALUE_TEXT)
        return copy(view, found->text, record->text_length);
    hp_text_init(&text, bytes, sizeof bytes);
    hp_recent_put(&text, &(struct hp_recent_copy){.value = {record->tick, record->id, record->type}});
    return copy(view, bytes, text.length);
}

static void add(struct view *view, struct thing *thing, const struct hp_snapshot *session, const char *thread,
                const char *where, const struct hp_log_copy *found)
{
    struct entry *entry = hp_arena_take(arena_of(view), sizeof *entry);
    view->is_out_of_memory |= entry == NULL;
    if (entry == NULL)
        return;
    *entry = (struct entry){.next = view->first,
                            .of = thing,
                            .session = session,
                            .thread = copy(view, thread, thread != NULL ? strlen(thread) : 0),
                            .where = where,
                            .text = text_of(view, found),
                            .record = found->record};
    view->first = entry;
    view->count++;
}

static bool is_chosen(const struct hp_snapshot *session, uint32_t log)
{
    struct hp_log about;
    return hp_snapshot_log(session, log, &about) && about.flags & HP_LOG_CHOSEN;
}

static void gather_calls(struct view *view)
{
    struct hp_stat_iter walk = {0};
    struct hp_log_copy found;
    const struct hp_site_sums *site = NULL;
    struct thing *thing = NULL;
    while (hp_stat_iter_next(&walk, view->results->model->profile)) {
        if (walk.site == NULL || walk.stat.log == 0 || !hp_results_show(view->results, walk.site))
            continue;
        if (walk.site != site)
            thing = new_thing(view, &(struct thing){.name = walk.site->name,
                                                    .id = hp_identity_of_site(walk.site),
                                                    .call = hp_site_is_task(walk.site) ? "poll" : "call"});
        site = walk.site;
        while (thing != NULL && hp_snapshot_next_record(walk.snapshot, walk.stat.log, &walk.calls, &found))
            add(view, thing, walk.snapshot, hp_stat_iter_thread_name(&walk, found.record.tid), NULL, &found);
    }
}

struct visit {
    struct view *view;
    struct thing *thing;
};

/* The name of the thread with this id, if its record still has it. */
static const char *thread_name(const struct hp_snapshot *session, uint32_t record, uint32_t tid,
                               struct hp_thread *thread)
{
    return hp_snapshot_thread(session, record, thread) && thread->tid == tid && thread->name[0] != '\0'
               ? thread->name
               : NULL;
}

static void visit_part(void *context, const struct hp_object_record *object, const struct hp_part *part)
{
    const struct visit *visit = context;
    struct view *view = visit->view;
    struct hp_log_copy found;
    struct hp_thread thread;
    if (part->log == 0 || !is_chosen(object->session, part->log))
        return;
    hp_walk_rewind(&view->steps);
    while (hp_snapshot_next_record(object->session, part->log, &view->steps, &found)) {
        const char *where = hp_object_name_of_node(view->results->model->profile, object, found.record.node);
        add(view, visit->thing, object->session,
            thread_name(object->session, part->thread, found.record.tid, &thread), where, &found);
    }
}

/* Logs belong to classes. */
static void gather_objects(struct view *view)
{
    const struct hp_objects *objects = hp_model_objects(view->results->model);
    view->is_out_of_memory |= objects == NULL;
    for (size_t at = 0; objects != NULL && at < objects->count; at++) {
        const struct hp_object_record *row = objects->rows[at];
        if (row->object.class_ != 0 || !hp_results_show_object(view->results, row))
            continue;
        struct visit visit = {view, new_thing(view, &(struct thing){.name = row->name,
                                                                    .id = hp_identity_of_object(row),
                                                                    .kind = &row->kind})};
        for (const struct hp_object_record *record = row; record != NULL && visit.thing != NULL;
             record = record->next)
            for (const struct hp_object_part *part = record->parts; part != NULL; part = part->next)
                visit_part(&visit, record, &part->part);
    }
}

/* ------------------------------------------------------------------------------------------------------- order */

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = hp_by_number(y->record.tick, x->record.tick);
    if (order == 0)
        order = hp_by_number(x->session->header.pid, y->session->header.pid);
    if (order == 0)
        order = hp_by_number(x->record.tid, y->record.tid);
    return order != 0 ? order : hp_by_number(y->record.number, x->record.number);
}

static bool rank(struct view *view)
{
    size_t at = 0;
    view->order = hp_arena_take_array(arena_of(view), view->count + 1, sizeof(void *));
    if (view->order == NULL)
        return false;
    for (struct entry *entry = view->first; entry != NULL; entry = entry->next)
        view->order[at++] = entry;
    hp_sort(view->order, view->count, compare);
    return true;
}

static bool is_within(size_t count, uint32_t limit)
{
    return limit == 0 || limit == HOTPATH_NO_LIMIT || count < limit;
}

/*
 * Keeps the latest records of each thing at the beginning, as the limits allow: for functions, as in `calls`, that
 * is the number of things. Returns the number of records.
 */
static size_t cut(struct view *view)
{
    const struct hp_settings *settings = view->results->settings;
    size_t kept = 0, things = 0;
    for (size_t at = 0; at < view->count; at++) {
        struct thing *thing = view->order[at]->of;
        if (thing->rank == 0)
            thing->rank = ++things;
        if (is_within(thing->rank - 1, settings->show.functions_limit) &&
            is_within(thing->shown++, settings->record.logs_limit))
            view->order[kept++] = view->order[at];
    }
    return kept;
}

/* -------------------------------------------------------------------------------------------------------- rows */

static bool is_message(const struct hp_log_record *record)
{
    return record->what >= HP_RECORD_SENT && record->what <= HP_RECORD_DROPPED;
}

static bool is_task(const struct hp_log_record *record)
{
    return record->what == HP_RECORD_READY || record->what == HP_RECORD_CANCELLED;
}

static bool has_bytes(const struct hp_log_record *record)
{
    return is_message(record) || record->what == HP_RECORD_ITEM;
}

static bool has_allocs(const struct hp_log_record *record)
{
    return is_task(record) || record->what == HP_RECORD_CALL;
}

static bool has_time(const struct hp_log_record *record)
{
    return record->ticks != HP_UNKNOWN_TICKS && record->what != HP_RECORD_VALUE && record->what != HP_RECORD_TEXT;
}

/* What a record shows that others may not: columns that are empty in all rows are not needed. */
static uint32_t facts_of(const struct view *view, size_t count)
{
    uint32_t facts = 0;
    uint64_t key = 0;
    for (size_t at = 0; at < count; at++) {
        const struct entry *entry = view->order[at], *first = view->order[0];
        const struct hp_log_record *record = &entry->record;
        facts |= record->key != 0 && key != 0 && record->key != key ? HAS_INSTANCES : 0u;
        key = record->key != 0 ? record->key : key;
        facts |= is_message(record) && record->id != 0 ? HAS_IDS : 0u;
        facts |= record->what != HP_RECORD_CALL && has_bytes(record) && record->bytes != 0 ? HAS_BYTES : 0u;
        facts |= is_task(record) ? HAS_POLLS : 0u;
        facts |= has_allocs(record) ? HAS_CALLS : 0u;
        facts |= entry->text != NULL ? HAS_TEXTS : 0u;
        facts |= has_time(record) ? HAS_TIMES : 0u;
        facts |= record->tid != first->record.tid || entry->session != first->session ? HAS_THREADS : 0u;
    }
    return facts;
}

static uint64_t identity_of(const struct entry *entry)
{
    const uint64_t id = hp_identity_with_number(entry->of->id, entry->record.number);
    return hp_identity_with_number(id, (uint64_t)entry->session->header.pid << 32 | entry->record.tid);
}

static const char *what_of(const struct entry *entry)
{
    static const char *const words[HP_RECORD_KINDS] = {
        [HP_RECORD_NONE] = "text",         [HP_RECORD_VALUE] = "value",     [HP_RECORD_SENT] = "sent",
        [HP_RECORD_RECEIVED] = "received", [HP_RECORD_REFUSED] = "refused", [HP_RECORD_DROPPED] = "dropped",
        [HP_RECORD_ITEM] = "item",         [HP_RECORD_READY] = "ready",     [HP_RECORD_CANCELLED] = "cancelled",
        [HP_RECORD_TEXT] = "text"};
    if (entry->record.what == HP_RECORD_CALL)
        return entry->of->call != NULL ? entry->of->call : "call";
    return words[entry->record.what];
}

static const char *instance_of(struct hp_fields *to, const struct entry *entry)
{
    char bytes[32];
    struct hp_text text;
    if (entry->record.key == 0)
        return NULL;
    hp_text_init(&text, bytes, sizeof bytes);
    if (entry->of->kind != NULL && entry->of->kind->flags & HP_KIND_OF_RUN)
        hp_text_format(&text, "[%" PRIu64 "]", entry->record.key);
    else
        hp_text_address(&text, entry->record.key);
    return hp_fields_copy(to, bytes, text.length);
}

static void fields(struct hp_fields *to, void *of, const void *at)
{
    const struct view *view = of;
    const struct entry *entry = at;
    if (to->row != NULL)
        to->row->id = identity_of(entry);
    HP_FIELD(to, entry->of->name, "name", "Name", TEXT, HP_COLUMN_FIRST,
             "The function, or the label of the channel, stream, task or value.");
    HP_FIELD(
        to, what_of(entry), "what", "What", TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
        "A call of a function, a poll of a task, a message that was sent, received, refused or dropped, an item "
        "of a stream, a task that is ready or was cancelled, a value, or a text without any of these.",
        .words = "call|poll|sent|received|refused|dropped|item|ready|cancelled|value|text");
    HP_FIELD(to, instance_of(to, entry), "instance", "Instance", TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The address of the channel or stream; null: none was given.", .shown_by = HAS_INSTANCES);
    HP_FIELD(to, entry->record.number - 1, "index", "Index", COUNT, HP_COLUMN_SHOWN,
             "The number of the record in the log of its thread, from 0.");
    HP_FIELD(to, hp_fields_ns(to, hp_less(view->now, entry->record.tick)), "ago_ns", "Ago", NS,
             HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Time from then to now, or to the end of the run; of a call or task: from its end.");
    HP_FIELD_IF(to, has_time(&entry->record), hp_fields_ns(to, entry->record.ticks), "duration_ns", "Time", NS,
                HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
                "The duration of a call; the delay of a received message, from its sending; the time from the "
                "previous item to this; the time of a task from its creation to its end. null: not known.",
                .shown_by = HAS_TIMES);
    HP_FIELD_IF(to, is_message(&entry->record) && entry->record.id != 0, entry->record.id, "message_id", "ID",
                COUNT, HP_COLUMN_SHOWN, "The id of a message, as the program gave it.", .shown_by = HAS_IDS);
    HP_FIELD_IF(to, has_bytes(&entry->record), entry->record.bytes, "size_bytes", "Size", BYTES, HP_COLUMN_SHOWN,
                "The size of a message or item, as the program gave it.", .shown_by = HAS_BYTES);
    HP_FIELD_IF(to, has_bytes(&entry->record), entry->record.count, "items", "Items", COUNT, 0,
                "How many messages or items were reported together.");
    HP_FIELD_IF(to, is_task(&entry->record), entry->record.polls, "polls", "Polls", COUNT, HP_COLUMN_SHOWN,
                "Polls of a task.", .shown_by = HAS_POLLS);
    HP_FIELD_IF(to, is_task(&entry->record), hp_fields_ns(to, entry->record.busy), "busy_ns", "Busy", NS,
                HP_COLUMN_SHOWN, "Time in which a task ran.", .shown_by = HAS_POLLS);
    HP_FIELD_IF(to, is_task(&entry->record) && entry->record.polls > 0,
                hp_fields_ns(to, hp_less(entry->record.ticks, entry->record.busy)), "waiting_ns", "Waiting", NS,
                HP_COLUMN_SHOWN, "The rest of the time of a task that has polls.", .shown_by = HAS_POLLS);
    HP_FIELD_IF(to, has_allocs(&entry->record), entry->record.bytes, "alloc_bytes", "Allocated", BYTES,
                HP_COLUMN_SHOWN, "Bytes requested in a call and its callees, or in the polls of a task.",
                .needs = HP_FACT_ALLOCS, .shown_by = HAS_CALLS);
    HP_FIELD_IF(to, has_allocs(&entry->record), entry->record.count, "alloc_count", "Allocs", COUNT,
                HP_COLUMN_SHOWN, "Their number.", .needs = HP_FACT_ALLOCS, .shown_by = HAS_CALLS);
    HP_FIELD(to, entry->text, "text", "Text", TEXT,
             HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The value, the result of a task, or the text that the program attached to a call, message or item.",
             .shown_by = HAS_TEXTS);
    HP_FIELD(to, entry->where, "function", "Function", TEXT, HP_COLUMN_MAYBE,
             "The measured function or block in which it happened; null: none, or it is the call of one.");
    HP_FIELD(to, entry->thread, "thread", "Thread", TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The name of the thread; null: no longer known.", .shown_by = HAS_THREADS);
    HP_FIELD(to, entry->record.tid, "tid", "TID", COUNT, HP_COLUMN_SHOWN, "The thread in which it happened.",
             .shown_by = HAS_THREADS);
    HP_FIELD(to, entry->session->header.pid, "pid", "PID", COUNT, HP_COLUMN_SHOWN, .shown_by = HP_FACT_PROCESSES);
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_feature(&results->model->run, HP_FEATURE_LOGS);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results};
    section->description = "Latest calls, messages, items, tasks and values that were logged, newest first.";
    section->if_empty = has_data(results) ? "nothing logged matches the focus"
                                          : "nothing was logged: set HOTPATH_LOG to the functions, channels, "
                                            "streams, tasks or values of which single ones should be kept";
    for (size_t at = 0; at < results->model->run.count; at++)
        if (results->model->run.sessions[at]->now_ticks > view.now)
            view.now = results->model->run.sessions[at]->now_ticks;
    gather_calls(&view);
    gather_objects(&view);
    if (view.is_out_of_memory || !rank(&view))
        return false;
    section->total_rows = view.count;
    const size_t count = cut(&view);
    if (!hp_section_describe(results, section, &view, facts_of(&view, count)) ||
        !hp_section_make_rows(results, section, count))
        return false;
    for (size_t at = 0; at < count; at++)
        if (!hp_section_fill_row(results, section, &section->rows[at], &view, view.order[at]))
            return false;
    if (count > 0 && hp_run_state(&results->model->run) != HP_SNAPSHOT_RUNNING)
        hp_section_note(section, "Ago: time to the end of the run");
    return true;
}

const struct hp_section_type hp_section_recent = {
    .name = "recent",
    .is_on_request = true,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    .fields = fields,
    .about = "The latest calls, messages, items, tasks and values that were logged, newest first.",
    .about_row = "A record of a log."};
