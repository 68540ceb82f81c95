/* Event loops of a run. SPDX-License-Identifier: MIT */
#include "loop_profile.h"

#include <string.h>

#include "arena.h"
#include "object_layout.h"
#include "sort.h"
#include "thread_list.h"

/* A kind of that name with another layout is another kind. */
bool hp_is_loop(const char *name, const struct hp_kind *kind)
{
    return kind->flags & HP_KIND_OWN_TABLE && kind->counter_count == HP_LOOP_COUNTERS &&
           kind->histogram_count > HP_LOOP_TURN_TICKS && strcmp(name, "loop") == 0;
}

/* ------------------------------------------------------------------------------------------------- threads */

/* Thread labels of a session, by the offsets of their records. */
struct names {
    struct hp_thread_list list;
    const struct hp_thread_label **labels; /* one per thread of the list */
};

struct gathering {
    struct hp_arena *arena;
    struct names *names; /* per session; the list is read when first needed */
    uint32_t number;
    struct hp_loops *loops;
};

static bool name_threads(struct gathering *gathering, struct names *names, const struct hp_snapshot *session)
{
    if (names->labels != NULL)
        return true;
    struct hp_thread_list *list = &names->list;
    if (!hp_thread_list_read(list, gathering->arena, session))
        return false;
    names->labels = hp_arena_take_array(gathering->arena, list->count + 1, sizeof(void *));
    if (names->labels == NULL)
        return false;
    for (size_t from = 0, to; from < list->count; from = to) {
        to = hp_thread_list_end(list, from);
        const struct hp_thread_label *label = hp_thread_list_label(list, from, to, ++gathering->number);
        if (label == NULL)
            return false;
        for (size_t at = from; at < to; at++)
            names->labels[at] = label;
    }
    return true;
}

static const struct hp_thread_label *label_of(const struct names *names, uint32_t record)
{
    for (size_t at = 0; at < names->list.count; at++)
        if (names->list.all[at]->offset == record)
            return names->labels[at];
    return NULL;
}

/* ------------------------------------------------------------------------------------------------- loops */

static double squares_of(const struct hp_part *part)
{
    return (double)part->count[HP_LOOP_SQUARES_HIGH] * 0x1p64 + (double)part->count[HP_LOOP_SQUARES_LOW];
}

/*
 * Adds a wait in progress, or a turn in progress of a live process. A turn without a next wait may have been the
 * end of the loop.
 */
static void add_open(struct hp_loop *loop, const struct hp_part *part)
{
    const struct hp_snapshot *session = loop->record->session;
    const uint64_t open = session->now_ticks > part->last ? session->now_ticks - part->last : 0;
    if (part->last == 0)
        return;
    if (part->flags == HP_LOOP_WAITING)
        loop->waited += open;
    if (part->flags != HP_LOOP_TURNING || !session->is_live)
        return;
    loop->busy += open;
    loop->squares += (double)open * (double)open;
    if (open > loop->longest) {
        loop->longest = open;
        loop->longest_since = part->last;
        loop->inside = 0;
    }
}

static struct hp_loop loop_of(const struct hp_object_record *record, const struct hp_part *part)
{
    struct hp_loop loop = {.record = record,
                           .histogram = part->histograms[HP_LOOP_TURN_TICKS],
                           .turns = part->count[HP_LOOP_TURNS],
                           .events = part->count[HP_LOOP_EVENTS],
                           .waits = part->count[HP_LOOP_WAITS],
                           .turn_ticks = part->count[HP_LOOP_BUSY],
                           .busy = part->count[HP_LOOP_BUSY],
                           .waited = part->count[HP_LOOP_WAITED],
                           .longest = part->count[HP_LOOP_LONGEST],
                           .longest_since = part->count[HP_LOOP_LONGEST_SINCE],
                           .inside = part->count[HP_LOOP_LONGEST_INSIDE],
                           .callback = part->node,
                           .squares = squares_of(part)};
    add_open(&loop, part);
    return loop;
}

/* A wait in progress counts, too. */
static bool is_any_loop(const struct hp_part *part)
{
    return part->count[HP_LOOP_TURNS] > 0 &&
           part->count[HP_LOOP_WAITS] + (part->flags == HP_LOOP_WAITING) >= HP_LOOP_LEAST_WAITS;
}

static bool add_record(struct gathering *gathering, const struct hp_object_record *record)
{
    struct names *names = &gathering->names[record->session_index];
    if (!name_threads(gathering, names, record->session))
        return false;
    for (const struct hp_object_part *at = record->parts; at != NULL; at = at->next) {
        struct hp_loop *loop = &gathering->loops->all[gathering->loops->count];
        if (at->is_former || !is_any_loop(&at->part))
            continue;
        *loop = loop_of(record, &at->part);
        loop->thread = label_of(names, at->part.thread);
        gathering->loops->count++;
    }
    return true;
}

static size_t count_parts(const struct hp_objects *objects)
{
    size_t count = 0;
    for (size_t row = 0; row < objects->count; row++)
        for (const struct hp_object_record *record = objects->rows[row]; record != NULL; record = record->next)
            if (hp_is_loop(record->kind_name, &record->kind))
                for (const struct hp_object_part *at = record->parts; at != NULL; at = at->next)
                    count++;
    return count;
}

static bool add_records(struct gathering *gathering, const struct hp_objects *objects)
{
    for (size_t row = 0; row < objects->count; row++)
        for (const struct hp_object_record *record = objects->rows[row]; record != NULL; record = record->next)
            if (hp_is_loop(record->kind_name, &record->kind) && !add_record(gathering, record))
                return false;
    return true;
}

const struct hp_loops *hp_loops_of_run(struct hp_arena *arena, const struct hp_run *run,
                                       const struct hp_objects *objects)
{
    struct gathering gathering = {.arena = arena};
    gathering.loops = hp_arena_take(arena, sizeof *gathering.loops);
    gathering.names = hp_arena_take_array(arena, run->count, sizeof *gathering.names);
    if (gathering.loops == NULL || gathering.names == NULL)
        return NULL;
    gathering.loops->all = hp_arena_take_array(arena, count_parts(objects) + 1, sizeof *gathering.loops->all);
    return gathering.loops->all != NULL && add_records(&gathering, objects) ? gathering.loops : NULL;
}

/* ------------------------------------------------------------------------------------------------- turns */

void hp_loop_turns(const struct hp_loop *loop, struct hp_magnitudes *ret_turns)
{
    memset(ret_turns, 0, sizeof *ret_turns);
    hp_snapshot_add_magnitudes(loop->record->session, loop->histogram, ret_turns);
}

/* The middle of a step's range. */
static double middle_of(uint32_t octave, uint32_t step)
{
    double middle = 1 + ((double)step + 0.5) / HP_MAGNITUDE_STEPS;
    for (; octave > HP_MAGNITUDE_ONE; octave--)
        middle *= 2;
    for (; octave < HP_MAGNITUDE_ONE; octave++)
        middle /= 2;
    return middle;
}

uint64_t hp_loop_turns_above(const struct hp_magnitudes *turns, double ticks)
{
    uint64_t count = 0;
    for (uint32_t octave = HP_MAGNITUDES; octave-- > 0;)
        for (uint32_t step = HP_MAGNITUDE_STEPS; step-- > 0;) {
            const uint64_t here = turns->steps[octave][step];
            if (here > 0 && middle_of(octave, step) > ticks)
                count += here;
        }
    return count;
}

double hp_loop_mean_delay(const struct hp_loop *loop)
{
    const double elapsed = (double)hp_loop_elapsed(loop);
    return elapsed > 0 ? loop->squares / (2 * elapsed) : 0;
}

/*
 * The true sum of the turns divided by the sum of their steps' middles: scaled by it, the sum is exact, and equal
 * turns have their exact length.
 */
static double scale_of(const struct hp_loop *loop, const struct hp_magnitudes *turns)
{
    double sum = 0;
    for (uint32_t octave = 0; octave < HP_MAGNITUDES; octave++)
        for (uint32_t step = 0; step < HP_MAGNITUDE_STEPS; step++)
            if (turns->steps[octave][step] > 0)
                sum += (double)turns->steps[octave][step] * middle_of(octave, step);
    return sum > 0 && turns->missed == 0 ? (double)loop->turn_ticks / sum : 1;
}

/*
 * Goes down from the longest turn: `count` turns are longer than x and take `ticks`, so the time beyond x is ticks
 * - count * x. It grows with every step and is linear in between. Returns the x for which it is `wanted`.
 */
static double find_beyond(const struct hp_magnitudes *turns, double scale, double wanted)
{
    double count = 0, ticks = 0;
    for (uint32_t octave = HP_MAGNITUDES; octave-- > 0;)
        for (uint32_t step = HP_MAGNITUDE_STEPS; step-- > 0;) {
            const uint64_t here = turns->steps[octave][step];
            if (here == 0)
                continue;
            const double turn = middle_of(octave, step) * scale;
            if (count > 0 && ticks - count * turn >= wanted)
                return (ticks - wanted) / count;
            count += (double)here;
            ticks += (double)here * turn;
        }
    return ticks > wanted ? (ticks - wanted) / count : 0;
}

double hp_loop_delay(const struct hp_loop *loop, const struct hp_magnitudes *turns, double percentile)
{
    const double wanted = (double)hp_loop_elapsed(loop) * (1 - percentile / 100);
    const double longest = (double)loop->longest;
    const double delay = wanted > 0 ? find_beyond(turns, scale_of(loop, turns), wanted) : longest;
    return delay < longest ? delay : longest;
}
