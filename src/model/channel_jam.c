/* Finds the channel that holds up the program. SPDX-License-Identifier: MIT */
#include "channel_jam.h"

#include "channel_profile.h"
#include "object_sums.h"
#include "object_users.h"
#include "profile.h"
#include "verdict.h"

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

static void take_part(void *context, const struct hp_object_record *object, const struct hp_part *part)
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
    hp_object_visit_parts(row, take_part, &side);
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
    if (model->run.stretch != NULL)
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
