/*
 * Calls of which more than numbers is kept: the latest calls of logged sites, and the slowest call of nearly every
 * site, with everything that ran inside it.
 *
 * What ran inside a call is what its subtree of the call tree gained meanwhile. Between two calls of a node nothing
 * below it changes, so the sums saved at the end of one call are the start values of the next: nothing needs to be
 * done when a call starts. At its end the subtree is walked, which takes some nanoseconds per node. To keep this
 * below 1/64 of a site's time, sites with calls too short for it are dropped after a few calls; sites whose calls
 * get longer later are taken up again.
 *
 * The saved sums are private to the thread (struct hp_call_notes); only the results are in the session.
 *
 * SPDX-License-Identifier: MIT
 */
#include "call_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "holding.h"
#include "logs.h"
#include "marks.h"
#include "thread_context.h"
#include "tree.h"

/* The memory of a thread; NULL: none available. */
static struct hp_call_notes *memory_of(struct hp_thread_context *context)
{
    if (context->kept == NULL) {
        context->kept = hp_more_memory(sizeof *context->kept);
        if (context->kept != NULL)
            context->kept->least_cost = UINT64_MAX;
    }
    return context->kept;
}

/* -------------------------------------------------------------------------------------------------------- notes */

/*
 * Notes of open calls.
 *
 * Notes: text that the program attaches to the innermost open call. If the call is kept when it ends, so is its
 * note. Formatted only for calls that may be kept, in the caller's time, not on a path of a zone.
 */
struct hotpath_frame_;

struct hp_thread_context;

struct hp_note;

static uint32_t depth_of(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    return (uint32_t)(frame - hp_frame_zero(context));
}

static struct hp_note *find(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    const uint32_t depth = depth_of(context, frame);
    if (context->kept == NULL)
        return NULL;
    struct hp_note *note = &context->kept->notes[depth % HP_NOTE_DEPTHS];
    return note->depth == depth && note->start == frame->start ? note : NULL;
}

/* The note of an open call, or NULL. The caller holds the context. */
static const struct hp_note *note_of(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    return find(context, frame);
}

/* The call is over. Needed because the next call at its depth may start in the same tick. */
static void note_end(struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    struct hp_note *note = find(context, frame);
    if (note != NULL)
        note->depth = 0; /* the thread's own frame has no note */
}

/* Text that does not fit is cut off, marked by dots. */
static void append(struct hp_note *note, const char *text, size_t length)
{
    const size_t space = HP_NOTE_BYTES - note->length;
    const size_t fitting = length < space ? length : space;
    memcpy(note->text + note->length, text, fitting);
    note->length += (uint32_t)fitting;
    if (length > space)
        memcpy(note->text + HP_NOTE_BYTES - 3, "...", 3);
}

/* A second note of the same call is appended to the first. */
static void attach(struct hp_note *note, uint32_t depth, uint64_t start, const char *text, size_t length)
{
    if (note->depth != depth || note->start != start)
        *note = (struct hp_note){.start = start, .depth = depth};
    if (note->length > 0)
        append(note, ", ", 2);
    append(note, text, length);
}

/* The caller holds the context, so that a signal handler does not use the same memory. */
static void attach_to_top(struct hp_thread_context *context, const char *text, size_t length)
{
    hp_context_hold(&context->hot);
    if (hp_context_is_recording(&context->hot)) {
        const struct hotpath_frame_ *frame = context->hot.top;
        const uint32_t depth = depth_of(context, frame);
        struct hp_call_notes *kept = depth > 0 && frame->stat & HOTPATH_KEPT_ ? memory_of(context) : NULL;
        if (kept != NULL)
            attach(&kept->notes[depth % HP_NOTE_DEPTHS], depth, frame->start, text, length);
    }
    hp_context_let_go(&context->hot);
}

void hotpath_v1_note(const char *format, ...)
{
    const int saved = errno;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    char text[HP_NOTE_BYTES + 2]; /* one extra byte shows that the text is too long */
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Checked after formatting: formatting may run zones itself (a host's printf extension). */
    if (length > 0 && &context->hot != &hp_no_context && context->thread_id != 0 &&
        !hp_context_is_held(&context->hot))
        attach_to_top(context, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    errno = saved;
}

/* ----------------------------------------------------------------------------------------------------- call log */

#define FIRST_CALLS 8u        /* calls of a node that are followed regardless of cost */
#define CALLS_UNTIL_ASKED 16u /* after those: calls between checks whether it is worth the cost */
#define WORTH 64u             /* a call must take this many times as long as following it */

static struct hp_following *following_of(struct hp_call_notes *kept) { return &kept->following[kept->half]; }

static void follow_none(struct hp_following *following)
{
    following->count = following->sums_used = 0;
    memset(following->nodes, 0, sizeof following->nodes);
}

void hp_call_log_begin(struct hp_thread_context *context)
{
    if (context->kept == NULL)
        return;
    follow_none(following_of(context->kept));
    context->kept->least_cost = UINT64_MAX;
}

static struct hp_call describe(const struct hp_thread_context *context, const struct hotpath_frame_ *frame,
                               uint64_t ticks)
{
    const struct hp_alloc_sums allocated = hp_alloc_of_call(context, frame);
    return (struct hp_call){.start = frame->start,
                            .ticks = ticks,
                            .node = frame->node,
                            .tid = context->thread_id,
                            .alloc_bytes = allocated.bytes,
                            .alloc_count = allocated.count};
}

/* ---------------------------------------------------------------------------------------- the latest calls */

static struct hp_log *log_of(struct hp_thread_context *context, struct hotpath_stat_ *stat)
{
    const bool is_first = stat->log == 0;
    struct hp_log *log = hp_log_chosen(context, &stat->log);
    if (is_first && log != NULL)
        __atomic_fetch_or(&hp_store_header(context->store)->features, HP_FEATURE_CALLS, __ATOMIC_RELAXED);
    return log;
}

static void log_call(struct hp_thread_context *context, struct hotpath_stat_ *stat,
                     const struct hotpath_frame_ *frame, uint64_t ticks)
{
    const struct hp_note *note = note_of(context, frame);
    struct hp_log *log = log_of(context, stat);
    if (log == NULL)
        return;
    const struct hp_alloc_sums allocated = hp_alloc_of_call(context, frame);
    hp_log_put(context, log,
               &(struct hp_log_record){.what = HP_RECORD_CALL,
                                       .tick = frame->start + ticks,
                                       .ticks = ticks,
                                       .node = frame->node,
                                       .bytes = allocated.bytes,
                                       .count = allocated.count},
               note != NULL ? note->text : NULL, note != NULL ? note->length : 0);
}

/* --------------------------------------------------------------------------------------- gains of a call */

/* The next node in the subtree of `top`, parents first; 0 at the end. */
static uint32_t next_below(const struct hp_thread_context *context, uint32_t top, uint32_t at)
{
    const struct hotpath_node_ *node = hp_node_at(context, at);
    if (node->first_child != 0)
        return node->first_child;
    while (at != top && hp_node_at(context, at)->next_sibling == 0)
        at = hp_node_at(context, at)->parent;
    return at == top ? 0 : hp_node_at(context, at)->next_sibling;
}

/* The slot of a node, or the free slot where it belongs; there always is a free one. */
static struct hp_followed *followed_in(struct hp_following *following, uint32_t node)
{
    uint32_t at = node / 64 % HP_FOLLOWED;
    while (following->nodes[at].node != 0 && following->nodes[at].node != node)
        at = (at + 1) % HP_FOLLOWED;
    return &following->nodes[at];
}

/* Moves a node and its sums. */
static void move_node(struct hp_following *to, const struct hp_following *from, const struct hp_followed *node)
{
    struct hp_followed *moved = followed_in(to, node->node);
    *moved = *node;
    moved->first = to->sums_used;
    moved->capacity = node->count;
    memcpy(to->sums + moved->first, from->sums + node->first, node->count * sizeof to->sums[0]);
    to->sums_used += node->count;
    to->count++;
}

/* Moves the nodes that are still followed and have more than `calls` calls. */
static void move_busy(const struct hp_thread_context *context, struct hp_following *to,
                      const struct hp_following *from, uint64_t calls)
{
    follow_none(to);
    for (const struct hp_followed *at = from->nodes; at < from->nodes + HP_FOLLOWED; at++)
        if (at->node != 0 && at->calls > calls &&
            hp_stat_at(context, hp_node_at(context, at->node)->stat)->keeps & HP_KEEPS_SLOWEST)
            move_node(to, from, at);
}

/*
 * Makes room among the followed nodes: drops those that were given up, and if that is not enough those with the
 * fewest calls, which are followed again from their next call on.
 */
static void make_room(const struct hp_thread_context *context)
{
    struct hp_call_notes *kept = context->kept;
    const struct hp_following *from = following_of(kept);
    struct hp_following *to = &kept->following[1 - kept->half];
    uint64_t calls = 0;
    do {
        move_busy(context, to, from, calls);
        calls = 2 * calls + 1;
    } while (to->count > HP_FOLLOWED / 4 || to->sums_used > HP_GAINS / 2);
    kept->half = 1 - kept->half;
}

/* Makes an entry for a node, or finds it. */
static struct hp_followed *follow(const struct hp_thread_context *context, uint32_t node)
{
    struct hp_followed *followed = followed_in(following_of(context->kept), node);
    if (followed->node == node)
        return followed;
    if (following_of(context->kept)->count >= HP_FOLLOWED / 2) {
        make_room(context);
        followed = followed_in(following_of(context->kept), node);
    }
    following_of(context->kept)->count++;
    *followed = (struct hp_followed){.node = node, .least_cost = UINT64_MAX};
    return followed;
}

static struct hp_sums_of_node sums_of(const struct hp_thread_context *context, uint32_t offset)
{
    const struct hotpath_node_ *node = hp_node_at(context, offset);
    return (struct hp_sums_of_node){offset, node->calls, node->untimed, node->total - node->nested, node->self};
}

/*
 * Calls too short to be timed count with the typical duration of their site, as readers of the session do. (Nothing
 * is followed if sampling was requested.)
 */
static void add_untimed(const struct hp_thread_context *context, struct hp_sums_of_node *gain)
{
    const uint64_t typical = hp_stat_at(context, hp_node_at(context, gain->node)->stat)->typical;
    const uint64_t ticks = gain->untimed * typical / 256;
    gain->total += ticks;
    gain->self += ticks;
}

/*
 * Walks the subtree. Known nodes come in the same order as before, with new ones in between, since a new child is
 * put before its siblings; so each known node takes one step along the old sums. `gains` gets the differences,
 * followed in the scratch by the new sums. Returns the number of nodes, or UINT32_MAX: too many.
 */
static uint32_t walk(const struct hp_thread_context *context, const struct hp_followed *followed)
{
    struct hp_call_notes *kept = context->kept;
    const struct hp_sums_of_node *old = following_of(kept)->sums + followed->first;
    uint32_t count = 0, old_at = 0;
    for (uint32_t at = next_below(context, followed->node, followed->node); at != 0;
         at = next_below(context, followed->node, at)) {
        if (count == HP_SUBTREE)
            return UINT32_MAX;
        const struct hp_sums_of_node now = sums_of(context, at);
        struct hp_sums_of_node *gain = &kept->gains[count];
        kept->latest[count++] = *gain = now;
        if (old_at < followed->count && old[old_at].node == at) {
            gain->calls -= old[old_at].calls;
            gain->untimed -= old[old_at].untimed;
            gain->total -= old[old_at].total;
            gain->self -= old[old_at].self;
            old_at++;
        }
        add_untimed(context, gain);
    }
    return count;
}

/* Saves the sums that `walk` found. Without room for them, the next call finds the node unknown. */
static void note_down(const struct hp_thread_context *context, struct hp_followed *followed, uint32_t count)
{
    struct hp_following *following = following_of(context->kept);
    followed->calls = hp_node_at(context, followed->node)->calls;
    followed->total = hp_node_at(context, followed->node)->total;
    followed->count = count;
    if (count > followed->capacity) {
        const uint32_t capacity = count < 4 ? 4 : count + count / 2;
        if (capacity > HP_GAINS - following->sums_used) {
            followed->count = 0;
            followed->calls = UINT64_MAX;
            make_room(context);
            return;
        }
        followed->first = following->sums_used;
        followed->capacity = capacity;
        following->sums_used += capacity;
    }
    memcpy(following->sums + followed->first, context->kept->latest, count * sizeof following->sums[0]);
}

/* ---------------------------------------------------------------------------------------- the slowest call */

/*
 * The smallest total among the rows to keep, if there are too many. A parent's total is never less than its
 * child's.
 */
static uint64_t least_total_kept(const struct hp_call_notes *kept, uint32_t count)
{
    uint32_t by_magnitude[65] = {0}, rows = 0;
    for (uint32_t at = 0; at < count; at++)
        if (kept->gains[at].calls != 0)
            by_magnitude[64 - __builtin_clzll(kept->gains[at].total | 1)]++;
    unsigned magnitude = 64;
    while (magnitude > 0 && rows + by_magnitude[magnitude] <= HP_SLOW_ROWS)
        rows += by_magnitude[magnitude--];
    return magnitude == 0 ? 0 : UINT64_C(1) << (magnitude < 64 ? magnitude : 63);
}

/* The note of the last logged call of a node inside the slow call. */
static const struct hp_log_record *noted_call(const struct hp_thread_context *context, uint32_t node,
                                              uint64_t since)
{
    const struct hp_log *log = hp_log_at(context, hp_stat_at(context, hp_node_at(context, node)->stat)->log);
    if (log == NULL)
        return NULL;
    for (uint64_t back = 1; back < log->capacity && back <= log->count; back++) {
        const struct hp_log_record *record = &log->records[(log->count - back) % log->capacity];
        if (record->tick - record->ticks < since)
            return NULL;
        if (record->node == node && record->text_length > 0)
            return record;
    }
    return NULL;
}

/* The text of a record in the log of the node's site. */
static const char *text_of(const struct hp_thread_context *context, uint32_t node,
                           const struct hp_log_record *record)
{
    const struct hp_log *log = hp_log_at(context, hp_stat_at(context, hp_node_at(context, node)->stat)->log);
    return context->hot.base + log->texts + (size_t)(record - log->records) * log->text_bytes;
}

/* Adds a text to the notes of the slow call. Returns its length, or 0 if it does not fit. */
static uint32_t add_note(struct hp_slow_draft *draft, const char *text, uint32_t length, uint32_t *ret_offset)
{
    if (length > sizeof draft->notes - draft->call.note_bytes)
        return 0;
    *ret_offset = draft->call.note_bytes;
    memcpy(draft->notes + draft->call.note_bytes, text, length);
    draft->call.note_bytes += length;
    return length;
}

static void add_row(const struct hp_thread_context *context, struct hp_slow_draft *draft,
                    const struct hp_sums_of_node *gain)
{
    struct hp_slow_row row = {.node = gain->node,
                              .is_sampled = gain->untimed > 0,
                              .calls = gain->calls,
                              .total = gain->total,
                              .self = gain->self};
    const struct hp_log_record *noted = noted_call(context, gain->node, draft->call.call.start);
    if (noted != NULL)
        row.note_length = add_note(draft, text_of(context, gain->node, noted), noted->text_length, &row.note);
    draft->rows[draft->call.row_count++] = row;
}

/* The buffer for the next slow call: the one that does not hold the slowest so far. NULL: no space. */
static char *next_place(struct hp_thread_context *context, struct hp_slowest *slowest, size_t bytes)
{
    const uint32_t place = (slowest->number + 1) % 2;
    if (slowest->bytes[place] < bytes) {
        const uint32_t roomy = (uint32_t)(bytes + bytes / 2);
        const uint32_t offset = hp_log_space(context, roomy, 64);
        if (offset == 0)
            return NULL;
        HOTPATH_PUT_(slowest->bytes[place], roomy);
        __atomic_store_n(&slowest->calls[place], offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(context->store, slowest->calls[place]);
}

static struct hp_slowest *slowest_of(struct hp_thread_context *context, struct hotpath_stat_ *stat)
{
    if (stat->slowest == 0) {
        const uint32_t offset = hp_log_space(context, sizeof(struct hp_slowest), 8);
        if (offset == 0)
            return NULL;
        __atomic_store_n(&stat->slowest, offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(context->store, stat->slowest);
}

static bool is_slowest(const struct hp_thread_context *context, const struct hotpath_stat_ *stat, uint64_t ticks)
{
    if (stat->slowest == 0)
        return true;
    const struct hp_slowest *slowest = hp_store_at(context->store, stat->slowest);
    if (slowest->number == 0)
        return true;
    const struct hp_slow_call *slow = hp_store_at(context->store, slowest->calls[slowest->number % 2]);
    return ticks > slow->call.ticks;
}

/* Ticks outside of all direct callees. */
static uint64_t own_ticks(const struct hp_thread_context *context, const struct hp_call *call, uint32_t count)
{
    uint64_t ticks = call->ticks;
    for (uint32_t at = 0; at < count; at++) {
        const struct hp_sums_of_node *gain = &context->kept->gains[at];
        if (hp_node_at(context, gain->node)->parent == call->node)
            ticks -= gain->total < ticks ? gain->total : ticks;
    }
    return ticks;
}

/* Assembles a call and its gains; `count` nodes of it are in the scratch. */
static void draft_call(const struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks,
                       uint32_t count)
{
    struct hp_slow_draft *draft = &context->kept->draft;
    const struct hp_note *note = note_of(context, frame);
    const uint64_t least = least_total_kept(context->kept, count);
    draft->call = (struct hp_slow_call){.call = describe(context, frame, ticks)};
    draft->call.self = own_ticks(context, &draft->call.call, count);
    if (note != NULL)
        draft->call.call.note_length = add_note(draft, note->text, note->length, &draft->call.call.note);
    for (uint32_t at = 0; at < count; at++) {
        const struct hp_sums_of_node *gain = &context->kept->gains[at];
        if (gain->calls == 0)
            continue;
        if (gain->total >= least && draft->call.row_count < HP_SLOW_ROWS)
            add_row(context, draft, gain);
        else
            draft->call.rows_left_out++;
    }
}

static void keep_slowest(struct hp_thread_context *context, struct hotpath_stat_ *stat)
{
    const struct hp_slow_draft *draft = &context->kept->draft;
    const size_t rows = draft->call.row_count * sizeof draft->rows[0];
    const size_t notes = (draft->call.note_bytes + 7) & ~(size_t)7;
    struct hp_slowest *slowest = slowest_of(context, stat);
    char *place = slowest != NULL ? next_place(context, slowest, sizeof draft->call + rows + notes) : NULL;
    if (place == NULL) {
        hp_lose(context, HP_LOSS_CALLS);
        return;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE); /* a reader that sees any new word also sees the previous number */
    hp_log_put_words(place, &draft->call, sizeof draft->call);
    hp_log_put_words(place + sizeof draft->call, draft->rows, rows);
    hp_log_put_words(place + sizeof draft->call + rows, draft->notes, notes);
    __atomic_store_n(&slowest->number, slowest->number + 1, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------------------------- following a node */

static bool is_worth(const struct hotpath_node_ *node, uint64_t cost)
{
    const uint64_t timed = node->calls - node->untimed;
    return timed == 0 || node->total / timed / WORTH >= cost;
}

static void stop_following(struct hp_thread_context *context, struct hotpath_stat_ *stat,
                           const struct hotpath_frame_ *frame)
{
    stat->keeps &= ~HP_KEEPS_SLOWEST;
    hp_tree_refresh(context, frame[-1].node, frame->node);
}

/*
 * Processes the end of a call of a followed node. If calls of it ended unnoticed, the saved sums are useless and
 * are only brought up to date. False: the subtree is too large.
 */
static bool look_into(struct hp_thread_context *context, struct hp_followed *followed, struct hotpath_stat_ *stat,
                      const struct hotpath_frame_ *frame, uint64_t ticks)
{
    const struct hotpath_node_ *node = hp_node_at(context, frame->node);
    const bool is_known = node->calls == followed->calls + 1;
    const uint32_t count = walk(context, followed);
    if (count == UINT32_MAX)
        return false;
    if (is_known && is_slowest(context, stat, ticks)) {
        draft_call(context, frame, ticks, count);
        keep_slowest(context, stat);
    }
    note_down(context, followed, count);
    return true;
}

static void follow_call(struct hp_thread_context *context, struct hotpath_stat_ *stat,
                        const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested)
{
    const struct hotpath_node_ *node = hp_node_at(context, frame->node);
    struct hp_call_notes *kept = memory_of(context);
    struct hp_followed *followed = kept != NULL ? follow(context, frame->node) : NULL;
    if (is_nested) { /* one more call of the node, part of the outermost one */
        if (followed != NULL && node->calls == followed->calls + 1)
            followed->calls++;
        return;
    }
    if (followed == NULL || !look_into(context, followed, stat, frame, ticks)) {
        stop_following(context, stat, frame);
        return;
    }
    if (node->calls > FIRST_CALLS && node->calls % CALLS_UNTIL_ASKED != 0)
        return;
    followed = follow(context, frame->node); /* others may have been moved to make room */
    const uint64_t cost = hp_now() - (frame->start + ticks);
    followed->least_cost = cost < followed->least_cost ? cost : followed->least_cost;
    kept->least_cost = cost < kept->least_cost ? cost : kept->least_cost;
    if (node->calls >= FIRST_CALLS && !is_worth(node, followed->least_cost))
        stop_following(context, stat, frame);
}

void hp_logged_call(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks,
                    bool is_nested)
{
    struct hotpath_stat_ *stat = hp_stat_at(context, hp_node_at(context, frame->node)->stat);
    if (stat->keeps & HP_KEEPS_LOG)
        log_call(context, stat, frame, ticks);
    if (stat->keeps & HP_KEEPS_SLOWEST)
        follow_call(context, stat, frame, ticks, is_nested);
    else if (hp_stat_log(stat) == 0)
        hp_tree_refresh(context, frame[-1].node, frame->node); /* given up while another path was entering it */
    note_end(context, frame);
}

void hp_call_log_disregard(struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    struct hotpath_stat_ *stat = hp_stat_at(context, hp_node_at(context, frame->node)->stat);
    if (!(stat->keeps & HP_KEEPS_SLOWEST))
        return;
    stat->keeps |= HP_KEEPS_NO_SLOWEST;
    stop_following(context, stat, frame);
}

#define OTHERS 16u /* of a call's time, what other calls of the node took since the last look is at most 1/OTHERS */

/* Keeps the call, which is counted, if nearly all that its subtree gained since the last look is its own. */
static void keep_if_alone(struct hp_thread_context *context, const struct hp_followed *followed,
                          const struct hotpath_frame_ *frame, uint64_t ticks, uint32_t count)
{
    const struct hotpath_node_ *node = hp_node_at(context, frame->node);
    struct hotpath_stat_ *stat = hp_stat_at(context, node->stat);
    const uint64_t others = node->total - followed->total - ticks;
    if (followed->calls == UINT64_MAX || others > ticks / OTHERS || !is_slowest(context, stat, ticks))
        return;
    draft_call(context, frame, ticks, count);
    keep_slowest(context, stat);
}

void hp_call_log_reconsider(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks)
{
    const struct hotpath_node_ *node = hp_node_at(context, frame->node);
    struct hotpath_stat_ *stat = hp_stat_at(context, node->stat);
    if (stat->keeps != 0 || stat->period > 1 || context->kept == NULL ||
        !hp_call_log_may_follow(context, node->site))
        return;
    if (!is_worth(node, 2 * context->kept->least_cost))
        return;
    struct hp_followed *followed = follow(context, frame->node);
    const uint32_t count = walk(context, followed);
    /* The cost may be unknown by now; the walk of a node takes less than a quarter of the full cost per node. */
    const uint64_t cost =
        followed->least_cost != UINT64_MAX ? followed->least_cost : context->kept->least_cost * (1 + count / 4);
    if (count == UINT32_MAX || !is_worth(node, 2 * cost))
        return;
    keep_if_alone(context, followed, frame, ticks, count);
    note_down(context, followed, count);
    stat->keeps = HP_KEEPS_SLOWEST;
    hp_tree_refresh(context, frame[-1].node, frame->node);
}

/* ------------------------------------------------------------------------ sites whose long calls matter */

static bool may_look(struct hp_thread_context *context, uint32_t node)
{
    const struct hotpath_stat_ *stat = hp_stat_at(context, hp_node_at(context, node)->stat);
    return !(stat->keeps & (HP_KEEPS_SLOWEST | HP_KEEPS_NO_SLOWEST)) &&
           hp_call_log_may_follow(context, hp_node_at(context, node)->site) && memory_of(context) != NULL;
}

uint64_t hp_call_log_look(struct hp_thread_context *context, uint32_t node, uint64_t began)
{
    if (!may_look(context, node))
        return 0;
    struct hp_followed *followed = follow(context, node);
    const uint32_t count = walk(context, followed);
    if (count != UINT32_MAX)
        note_down(context, followed, count);
    followed = follow(context, node); /* others may have been moved to make room */
    const uint64_t before = followed->least_cost, cost = hp_now() - began;
    followed->least_cost = cost;
    return cost < before ? cost : before;
}

void hp_call_log_look_at_long(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks)
{
    if (!may_look(context, frame->node))
        return;
    struct hp_followed *followed = follow(context, frame->node);
    const uint32_t count = walk(context, followed);
    if (count == UINT32_MAX)
        return;
    keep_if_alone(context, followed, frame, ticks, count);
    note_down(context, followed, count);
}
