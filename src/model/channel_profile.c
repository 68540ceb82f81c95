/* Derives the numbers of channels from their counters. SPDX-License-Identifier: MIT */
#include "channel_profile.h"

#include <string.h>

#include "arena.h"
#include "model.h"
#include "object_profile.h"
#include "profile.h"
#include "sort.h"
#include "verdict.h"

/* -------------------------------------------------------------------------------------------------- channel jam */

/*
 * Finds the channel that holds up the program.
 */

/* How long each of its threads was blocked, on average, as a part of the run's time. */
static double blocked_of_run(const struct hp_run *run, const struct hp_channel_side *side)
{
    const double whole = (double)side->threads * (double)run->elapsed_ticks;
    return whole > 0 ? (double)side->blocked / whole : 0;
}

static bool is_jam(const struct hp_run *run, const struct hp_channel_side *side)
{
    return side->blocked_part > HP_VERDICT_BLOCKED_PART && blocked_of_run(run, side) >= HP_VERDICT_BLOCKED_RUN;
}

/*
 * What the slow side does. Its threads use the channel in some zone, often a short function of the queue itself,
 * and spend their time in zones next to it. So of this zone and its siblings, the one with the most time is named.
 * Time in which a thread was blocked does not count.
 */
struct occupation {
    const struct hp_site_sums *site;
    double ticks;
};

#define MOST_OCCUPATIONS 16u

struct slow_side {
    const struct hp_profile *profile;
    bool is_of_receivers;
    struct occupation all[MOST_OCCUPATIONS];
    size_t count;
};

static void add_occupation(struct slow_side *side, const struct hp_site_sums *site, double ticks)
{
    size_t at = 0;
    while (at < side->count && side->all[at].site != site)
        at++;
    if (at == MOST_OCCUPATIONS)
        return;
    if (at == side->count)
        side->all[side->count++] = (struct occupation){.site = site};
    side->all[at].ticks += ticks;
}

static bool has_used(const struct slow_side *side, const struct hp_part *part)
{
    return side->is_of_receivers ? part->count[HP_CHANNEL_RECEIVED] != 0 || part->count[HP_CHANNEL_EMPTY_WAITS] != 0
                                 : part->count[HP_CHANNEL_SENT] != 0 || part->count[HP_CHANNEL_REFUSED] != 0;
}

static void take_user(void *context, const struct hp_object_record *object, const struct hp_part *part)
{
    struct slow_side *side = context;
    const struct hp_thread_tree *tree =
        has_used(side, part) ? hp_forest_tree(&side->profile->forest, object->session_index, part->thread) : NULL;
    const struct hp_record *user = tree != NULL ? hp_thread_tree_find(tree, part->node) : NULL;
    if (user == NULL || user->merged == NULL)
        return;
    const double blocked = (double)part->count[side->is_of_receivers ? HP_CHANNEL_EMPTY : HP_CHANNEL_FULL];
    for (size_t at = 0; at < tree->count; at++) {
        const struct hp_record *beside = &tree->records[at];
        if (beside->merged != NULL && beside->merged->parent == user->merged->parent)
            add_occupation(side, beside->merged->site, (double)beside->sums.total - (beside == user ? blocked : 0));
    }
}

/* If nothing is measured next to it: the user of the channel, by any name that is known. */
static const char *user_of(const struct hp_model *model, const struct hp_object_record *row, bool is_of_senders)
{
    struct hp_object_users users;
    if (is_of_senders)
        hp_object_users_of(model->arena, model->profile, row, HP_CHANNEL_RECEIVED, HP_CHANNEL_EMPTY_WAITS, &users);
    else
        hp_object_users_of(model->arena, model->profile, row, HP_CHANNEL_SENT, HP_CHANNEL_REFUSED, &users);
    return users.count > 0 ? users.all[0].name : NULL;
}

static const char *slow_side(const struct hp_model *model, const struct hp_object_record *row, bool is_of_senders)
{
    struct slow_side side = {.profile = model->profile, .is_of_receivers = is_of_senders};
    const struct occupation *longest = NULL;
    hp_object_visit_parts(row, take_user, &side);
    for (size_t at = 0; at < side.count; at++)
        if (longest == NULL || side.all[at].ticks > longest->ticks)
            longest = &side.all[at];
    return longest != NULL ? longest->site->name : user_of(model, row, is_of_senders);
}

/*
 * Only classes: one slow channel of many hardly holds up the program. But all pipes of a run are one class, and
 * each has two ends of its own.
 */
static bool is_wanted(const struct hp_object_record *row)
{
    const bool is_class = row->object.class_ == 0, is_of_run = row->kind.flags & HP_KIND_OF_RUN;
    return (is_class ? !is_of_run || row->members == NULL : is_of_run) && hp_is_channel(row->kind_name, &row->kind);
}

bool hp_channel_jam_of(struct hp_model *model, bool is_of_senders, struct hp_channel_jam *ret_jam)
{
    const struct hp_objects *objects =
        hp_run_has_objects(&model->run, hp_is_channel) ? hp_model_objects(model) : NULL;
    const struct hp_object_record *found = NULL;
    *ret_jam = (struct hp_channel_jam){0};
    if (model->run.range != NULL)
        return false; /* channels have no history: their numbers are of the whole run */
    for (size_t at = 0; objects != NULL && at < objects->count; at++) {
        struct hp_object_sums sums;
        struct hp_channel channel;
        if (!is_wanted(objects->rows[at]))
            continue;
        hp_object_sums_of(objects->rows[at], &sums);
        if (!hp_channel_of(model->arena, objects->rows[at], sums.count, &channel))
            return false;
        const struct hp_channel_side *side = is_of_senders ? &channel.full : &channel.empty;
        if (is_jam(&model->run, side) && side->blocked_part > ret_jam->part) {
            found = objects->rows[at];
            ret_jam->part = side->blocked_part;
        }
    }
    if (found == NULL)
        return false;
    ret_jam->channel = found->name;
    ret_jam->slow = slow_side(model, found, is_of_senders);
    return true;
}

/* ---------------------------------------------------------------------------------------------- channel profile */

/* A kind of that name with another layout is another kind. */
bool hp_is_channel(const char *name, const struct hp_kind *kind)
{
    const bool is_named = strcmp(name, "channel") == 0 || strcmp(name, "pipe") == 0 ||
                          strcmp(name, "messages") == 0 || strcmp(name, "queue") == 0;
    return is_named && kind->flags & HP_KIND_OWN_TABLE && kind->counter_count > HP_CHANNEL_CAPACITY &&
           kind->histogram_count > HP_CHANNEL_DELAYS;
}

/* --------------------------------------------------------------------------------------------------- sides */

static bool is_waiting(const struct hp_part *part, enum hp_channel_counter side)
{
    return part->last != 0 && part->flags == (uint32_t)side;
}

static bool is_sender(const struct hp_part *part)
{
    return part->count[HP_CHANNEL_SENT] != 0 || part->count[HP_CHANNEL_REFUSED] != 0 ||
           part->count[HP_CHANNEL_FULL_WAITS] != 0 || is_waiting(part, HP_CHANNEL_FULL);
}

static bool is_receiver(const struct hp_part *part)
{
    return part->count[HP_CHANNEL_RECEIVED] != 0 || part->count[HP_CHANNEL_EMPTY_WAITS] != 0 ||
           is_waiting(part, HP_CHANNEL_EMPTY);
}

/* ------------------------------------------------------------------------------------------------ its parts */

/* Results of a walk over all parts. */
struct found {
    struct hp_channel *channel;
    uint64_t end; /* the time that the row is about */
    uint64_t first, last, first_sent, last_sent;
    size_t parts;
    bool is_torn;                                /* a part was read in the middle of an update */
    const struct hp_part **senders, **receivers; /* of one session */
    size_t sender_count, receiver_count;
};

static void extend(uint64_t *first, uint64_t *last, const struct hp_part *part)
{
    if (part->first_tick != 0 && (*first == 0 || part->first_tick < *first))
        *first = part->first_tick;
    if (part->last_tick > *last)
        *last = part->last_tick;
}

static void count_part(void *context, const struct hp_object_record *record, const struct hp_part *part)
{
    struct found *found = context;
    (void)record;
    extend(&found->first, &found->last, part);
    if (part->count[HP_CHANNEL_SENT] != 0)
        extend(&found->first_sent, &found->last_sent, part);
    found->parts++;
    found->is_torn |= part->sequence & 1;
}

/* A wait ends with its process. */
static void add_wait(struct hp_channel_side *side, const struct hp_object_record *record,
                     const struct hp_part *part)
{
    const uint64_t now = record->session->now_ticks;
    side->blocked += now > part->last ? now - part->last : 0;
    side->waiting += !(record->kind.flags & HP_KIND_FOUND) || record->session->is_live;
}

/* A wait in progress lasts until now, or until its process ended. */
static void take_part(void *context, const struct hp_object_record *record, const struct hp_part *part)
{
    struct found *found = context;
    if (is_waiting(part, HP_CHANNEL_FULL))
        add_wait(&found->channel->full, record, part);
    if (is_waiting(part, HP_CHANNEL_EMPTY))
        add_wait(&found->channel->empty, record, part);
    if (is_sender(part))
        found->senders[found->sender_count++] = part;
    if (is_receiver(part))
        found->receivers[found->receiver_count++] = part;
}

static int compare_threads(const void *a, const void *b)
{
    const struct hp_part *x = a, *y = b;
    return x->thread == y->thread ? 0 : x->thread < y->thread ? -1 : 1;
}

/* A thread has one part per channel that it uses, but counts once. */
static uint32_t count_threads(const struct hp_part **parts, size_t count)
{
    uint32_t threads = 0;
    hp_sort(parts, count, compare_threads);
    for (size_t at = 0; at < count; at++)
        threads += at == 0 || parts[at]->thread != parts[at - 1]->thread;
    return threads;
}

/* `parts` are sorted by thread. */
static bool is_among(const struct hp_part **parts, size_t count, const struct hp_part *part)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        if (parts[middle]->thread == part->thread)
            return true;
        if (parts[middle]->thread < part->thread)
            low = middle + 1;
        else
            count = middle;
    }
    return false;
}

/* If a thread used channels whose records were reused since, only its part of the class knows when. */
static void add_former_times(struct found *found, const struct hp_object_record *record)
{
    if (record->object.class_ != 0)
        return;
    for (const struct hp_object_part *at = record->parts; at != NULL; at = at->next)
        if (is_among(found->senders, found->sender_count, &at->part))
            extend(&found->first_sent, &found->last_sent, &at->part);
}

/* One session at a time: thread offsets are only valid in their session. */
static void take_session(struct found *found, const struct hp_object_record *record)
{
    found->sender_count = found->receiver_count = 0;
    hp_object_visit_parts_of_one(record, take_part, found);
    found->channel->full.threads += count_threads(found->senders, found->sender_count);
    found->channel->empty.threads += count_threads(found->receivers, found->receiver_count);
    add_former_times(found, record);
}

/* ------------------------------------------------------------------------------------------------- formulas */

/* The time that a row is about: the end of the channel, or the latest of the sessions that used it. */
static uint64_t end_of(const struct hp_object_record *row)
{
    uint64_t end = 0;
    for (; row != NULL; row = row->next) {
        const bool is_over = row->object.class_ != 0 && row->object.state == HP_OBJECT_ENDED;
        const uint64_t its = is_over ? row->object.ended : row->session->now_ticks;
        end = its > end ? its : end;
    }
    return end;
}

/* Any process may use a pipe or socket unseen; of all other channels every use is recorded. */
static void set_known(struct hp_channel *channel, const struct hp_object_record *row, const uint64_t *count)
{
    const bool is_all = !(row->kind.flags & HP_KIND_OF_RUN);
    channel->has_senders = is_all || count[HP_CHANNEL_SENT] != 0 || channel->full.threads != 0;
    channel->has_receivers = is_all || count[HP_CHANNEL_RECEIVED] != 0 || channel->empty.threads != 0;
}

static void set_inside(struct hp_channel *channel, const struct hp_object_record *row, const uint64_t *count)
{
    const bool is_bytes = row->kind.flags & HP_KIND_BYTES;
    const uint64_t in = count[is_bytes ? HP_CHANNEL_SENT_BYTES : HP_CHANNEL_SENT];
    const uint64_t out =
        is_bytes ? count[HP_CHANNEL_RECEIVED_BYTES] : count[HP_CHANNEL_RECEIVED] + count[HP_CHANNEL_DROPPED];
    channel->inside = in > out && channel->has_senders && channel->has_receivers ? in - out : 0;
}

#define READ_MEANWHILE 64u /* of the items, at most this part came out while a live session was read */

/* More came out than was seen to go in: entries are missing. */
static bool has_excess(const struct hp_object_record *row, uint64_t in, uint64_t out)
{
    bool is_live = false;
    for (; row != NULL; row = row->next)
        is_live |= row->session->is_live;
    return out > in && !(is_live && out - in <= in / READ_MEANWHILE);
}

/*
 * Sums the time that items were inside: each item that came out from its entry to its exit, each other one until
 * now. The sums of timestamps wrap, but their difference is right. A torn read would make it absurd. Of a system
 * object both are told after their call: a sender that loses its CPU in between can be later than the receiver, and
 * the sum below 0. Its items then were inside for next to no time.
 */
static void set_area(struct hp_channel *channel, const struct hp_object_record *row, const uint64_t *count,
                     uint64_t end, bool is_torn)
{
    const uint64_t gone = count[HP_CHANNEL_RECEIVED] + count[HP_CHANNEL_DROPPED];
    const uint64_t left = count[HP_CHANNEL_SENT] - gone;
    const int64_t area = (int64_t)(count[HP_CHANNEL_OUT_TICKS] - count[HP_CHANNEL_IN_TICKS] + left * end);
    set_known(channel, row, count);
    set_inside(channel, row, count);
    channel->has_excess = !(row->kind.flags & HP_KIND_BYTES) && has_excess(row, count[HP_CHANNEL_SENT], gone);
    channel->has_area = count[HP_CHANNEL_SENT] > 0 && (area >= 0 || row->kind.flags & HP_KIND_OF_RUN) &&
                        !channel->has_excess && !is_torn && channel->has_receivers &&
                        !(row->kind.flags & HP_KIND_BYTES);
    channel->area = channel->has_area && area > 0 ? (double)area : 0;
}

static void set_blocked_part(struct hp_channel_side *side, uint64_t active)
{
    const double whole = (double)side->threads * (double)active;
    const double part = whole > 0 ? (double)side->blocked / whole : -1;
    side->blocked_part = part > 1 ? 1 : part;
}

static void set_active(struct hp_channel *channel, const struct found *found)
{
    const bool goes_on = channel->inside > 0 || channel->full.waiting > 0 || channel->empty.waiting > 0;
    const uint64_t last = goes_on && found->end > found->last ? found->end : found->last;
    channel->active = found->first != 0 && last > found->first ? last - found->first : 0;
    channel->send_ticks = found->first_sent != 0 ? found->last_sent - found->first_sent : 0;
}

static void begin(struct hp_channel *channel, const uint64_t *count)
{
    memset(channel, 0, sizeof *channel);
    channel->full.blocked = count[HP_CHANNEL_FULL];
    channel->empty.blocked = count[HP_CHANNEL_EMPTY];
    channel->full.blocked_part = channel->empty.blocked_part = -1;
}

void hp_channel_of_rest(const struct hp_object_record *row, const uint64_t *count, struct hp_channel *ret_channel)
{
    struct found found = {0};
    hp_object_visit_parts(row, count_part, &found);
    begin(ret_channel, count);
    set_area(ret_channel, row, count, end_of(row), found.is_torn);
}

bool hp_channel_of(struct hp_arena *arena, const struct hp_object_record *row, const uint64_t *count,
                   struct hp_channel *ret_channel)
{
    struct found found = {.channel = ret_channel, .end = end_of(row)};
    hp_object_visit_parts(row, count_part, &found);
    found.senders = hp_arena_take_array(arena, found.parts + 1, sizeof(void *));
    found.receivers = hp_arena_take_array(arena, found.parts + 1, sizeof(void *));
    if (found.senders == NULL || found.receivers == NULL)
        return false;
    found.end = found.last > found.end ? found.last : found.end; /* includes what was recorded during the read */
    begin(ret_channel, count);
    for (const struct hp_object_record *record = row; record != NULL; record = record->next)
        take_session(&found, record);
    set_area(ret_channel, row, count, found.end, found.is_torn);
    set_active(ret_channel, &found);
    set_blocked_part(&ret_channel->full, ret_channel->active);
    set_blocked_part(&ret_channel->empty, ret_channel->active);
    return true;
}
