/*
 * What the threads of a run used.
 *
 * For a watched process, the rows come from the observer; where a thread's record knows better, such as its end and
 * its allocations up to now, the record counts. CPU time of the process beyond these rows was used by threads that
 * lived between two samples. For a process that was not watched, the rows are the records.
 * SPDX-License-Identifier: MIT
 */
#include "thread_usage_profile.h"

#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "arith.h"
#include "sort.h"
#include "thread_list.h"
#include "thread_usage.h"
#include "time_range.h"
#include "units.h"
#include "wait_cause.h"

#define REST_NAME "<others>"
#define LEAST_REST_NS UINT64_C(1000000)              /* the least that gets a row */
#define LEAST_REST_OF_RECORDED_NS UINT64_C(50000000) /* a recording begins shortly before its first sample */

struct gathering {
    struct hp_arena *arena;
    const struct hp_profile *profile;
    struct hp_run_thread_usage *usage;
    size_t capacity;
    uint32_t session; /* index of the current one */
    uint32_t number;  /* of the last label */
};

static const struct hp_snapshot *session_of(const struct gathering *gathering)
{
    return gathering->profile->run->sessions[gathering->session];
}

bool hp_run_has_thread_usage(const struct hp_run *run)
{
    struct hp_thread_usage usage;
    for (size_t at = 0; at < run->count; at++)
        if (hp_snapshot_thread_usage(run->sessions[at], &usage))
            return true;
    return false;
}

/* NULL: no memory; the list has room. */
static struct hp_thread_usage_member *add_member(struct gathering *gathering)
{
    struct hp_run_thread_usage *usage = gathering->usage;
    struct hp_thread_usage_member *member =
        usage->count < gathering->capacity ? hp_arena_take(gathering->arena, sizeof *member) : NULL;
    if (member == NULL)
        return NULL;
    *member = (struct hp_thread_usage_member){0};
    usage->all[usage->count++] = member;
    return member;
}

static bool label(struct gathering *gathering, struct hp_thread_usage_member *member, const char *name,
                  uint32_t tid, uint32_t threads)
{
    struct hp_thread_label *label = hp_arena_take(gathering->arena, sizeof *label);
    const char *copy = hp_arena_copy(gathering->arena, name, strlen(name));
    if (label == NULL || copy == NULL)
        return false;
    *label = (struct hp_thread_label){.name = copy,
                                      .pid = session_of(gathering)->header.pid,
                                      .tid = tid,
                                      .threads = threads,
                                      .number = ++gathering->number};
    member->label = label;
    return true;
}

/* ------------------------------------------------------------------------------------------------- records */

/* The innermost open function in the record of a live thread. */
static void find_place(const struct gathering *gathering, struct hp_thread_usage_member *member,
                       const struct hp_thread *record, struct hp_walk *opens)
{
    const struct hp_snapshot *session = session_of(gathering);
    struct hotpath_frame_ frame;
    struct hp_node node;
    uint32_t innermost = 0;
    member->has_place = true;
    hp_walk_rewind(opens);
    while (hp_snapshot_next_open(session, record, opens, &frame))
        innermost = frame.node;
    if (innermost != 0 && hp_snapshot_node(session, innermost, &node) && node.site != HP_SITE_ROOT)
        member->site = hp_profile_site(gathering->profile, gathering->session, node.site);
}

static void set_allocs(struct hp_thread_usage_member *member, uint64_t bytes, uint64_t usable, uint64_t freed)
{
    member->allocated_bytes = bytes;
    member->freed_bytes = freed;
    member->live_bytes = (int64_t)(usable - freed);
}

/* Takes what the thread that last used this record has in it. */
static void take_from_record(const struct gathering *gathering, struct hp_thread_usage_member *member,
                             const struct hp_thread_usage_row *row, struct hp_walk *opens)
{
    const struct hp_snapshot *session = session_of(gathering);
    struct hp_thread record;
    struct hp_alloc_thread alloc;
    if (row->record == 0 || row->threads != 1 || !hp_snapshot_thread(session, row->record, &record))
        return;
    const struct hp_thread_life *life = &record.life;
    const bool is_present = record.generation == row->generation;
    if (is_present && hp_snapshot_alloc_thread(session, &record, &alloc))
        set_allocs(member, hp_less(alloc.bytes, life->bytes_before), alloc.usable - life->usable_before,
                   hp_less(alloc.freed, life->freed_before));
    if (hp_thread_usage_knows_end(life, row->generation) &&
        life->user_ns + life->kernel_ns >= hp_thread_usage_cpu_ns(member)) {
        member->lived_ns += life->user_ns + life->kernel_ns - hp_thread_usage_cpu_ns(member);
        member->user_ns = life->user_ns;
        member->kernel_ns = life->kernel_ns;
        member->voluntary = life->voluntary;
        member->involuntary = life->involuntary;
    }
    if (is_present && member->living == 1 && record.state == HP_THREAD_LIVE && record.tid == row->tid)
        find_place(gathering, member, &record, opens);
}

/* ----------------------------------------------------------------------------------- watched processes */

uint64_t hp_thread_usage_waited_ns(const struct hp_thread_usage_member *member)
{
    uint64_t sum = 0;
    for (uint32_t cause = 0; cause < HP_THREAD_USAGE_CAUSES; cause++)
        sum += member->waited_ns[cause];
    return sum;
}

/*
 * Its last wait may have ended after the last look at it, with its process. So it lived for at least what it did,
 * if that fits into its session.
 */
static void complete_life(struct hp_thread_usage_member *member, const struct hp_thread_usage_row *row,
                          const struct hp_snapshot *session)
{
    const uint64_t known_ns = hp_thread_usage_cpu_ns(member) + hp_thread_usage_waited_ns(member);
    if (member->lived_ns < known_ns && known_ns <= hp_snapshot_elapsed_ns(session) * row->threads)
        member->lived_ns = known_ns;
}

static bool add_row(struct gathering *gathering, const struct hp_thread_usage_row *row, struct hp_walk *opens)
{
    const struct hp_snapshot *session = session_of(gathering);
    struct hp_thread_usage_member *member = add_member(gathering);
    if (member == NULL || !label(gathering, member, row->name, row->tid, row->threads))
        return false;
    member->has_time = member->is_watched = true;
    member->living = session->is_live ? row->living : 0;
    member->state = row->threads == 1 ? (char)row->state : 0;
    member->user_ns = row->user_ns;
    member->kernel_ns = row->kernel_ns;
    member->voluntary = row->voluntary;
    member->involuntary = row->involuntary;
    member->lived_ns = row->lived_ns;
    memcpy(member->waited_ns, row->waited_ns, sizeof member->waited_ns);
    member->now_percent = member->living > 0 ? row->now_permille / 10.0 : 0;
    member->max_percent = row->max_permille / 10.0;
    member->has_allocs = !hp_allocs_are_unknown(session);
    set_allocs(member, row->allocated_bytes, row->usable_bytes, row->freed_bytes);
    take_from_record(gathering, member, row, opens);
    complete_life(member, row, session);
    gathering->usage->threads += member->living;
    return true;
}

/* Sums what all records of a process, and threads without one, allocated and freed. */
static void add_all_allocs(const struct hp_snapshot *session, uint64_t *bytes, uint64_t *usable, uint64_t *freed)
{
    struct hp_walk walk = {0};
    struct hp_thread record;
    struct hp_alloc_thread alloc;
    *bytes = session->header.late_bytes;
    *usable = session->header.late_usable;
    *freed = session->header.late_freed;
    while (hp_snapshot_next_thread(session, &walk, &record))
        if (hp_snapshot_alloc_thread(session, &record, &alloc)) {
            *bytes += alloc.bytes;
            *usable += alloc.usable;
            *freed += alloc.freed;
        }
}

/* A process that was recorded from outside ran before: rows have only what its threads did since. */
static uint64_t past_cpu_ns(const struct hp_header *header)
{
    return header->features & HP_FEATURE_RECORDED ? header->cpu_start_ns : 0;
}

/* The CPU time of the process, without our own observer thread. */
static uint64_t used_by_process(const struct hp_snapshot *session, uint64_t *ret_kernel_ns)
{
    struct hp_waits waits;
    const struct hp_header *header = &session->header;
    const bool is_watched_inside = hp_snapshot_waits(session, &waits) && waits.watcher == header->pid;
    *ret_kernel_ns = header->cpu_latest_kernel_ns;
    return hp_less(header->cpu_latest_ns, past_cpu_ns(header) + (is_watched_inside ? waits.watcher_ns : 0));
}

/* Adds what no row has, for a process that is over: while it runs, rows and sums are of different times. */
static bool add_rest(struct gathering *gathering, size_t first)
{
    const struct hp_snapshot *session = session_of(gathering);
    const struct hp_run_thread_usage *usage = gathering->usage;
    uint64_t bytes, usable, freed, kernel_ns, threads = 0;
    uint64_t all_ns = used_by_process(session, &kernel_ns);
    add_all_allocs(session, &bytes, &usable, &freed);
    for (size_t at = first; at < usage->count; at++) {
        const struct hp_thread_usage_member *member = usage->all[at];
        threads += member->label->threads;
        all_ns = hp_less(all_ns, hp_thread_usage_cpu_ns(member));
        kernel_ns = hp_less(kernel_ns, member->kernel_ns);
        bytes = hp_less(bytes, member->allocated_bytes);
        usable -= member->freed_bytes + (uint64_t)member->live_bytes;
        freed = hp_less(freed, member->freed_bytes);
    }
    const uint64_t unseen = hp_less(session->header.threads_seen, threads);
    const bool is_recorded = (session->header.features & HP_FEATURE_RECORDED) != 0;
    const uint64_t least_ns = is_recorded ? LEAST_REST_OF_RECORDED_NS : LEAST_REST_NS;
    if (session->is_live || (unseen == 0 && all_ns < least_ns && bytes == 0 && freed == 0))
        return true;
    struct hp_thread_usage_member *member = add_member(gathering);
    if (member == NULL || !label(gathering, member, REST_NAME, 0, (uint32_t)unseen))
        return false;
    member->is_rest = member->has_time = true;
    member->kernel_ns = kernel_ns < all_ns ? kernel_ns : all_ns;
    member->user_ns = all_ns - member->kernel_ns;
    member->has_allocs = !hp_allocs_are_unknown(session);
    set_allocs(member, bytes, usable, freed);
    return true;
}

static bool add_watched(struct gathering *gathering, const struct hp_thread_usage *sums)
{
    const struct hp_snapshot *session = session_of(gathering);
    struct hp_run_thread_usage *usage = gathering->usage;
    struct hp_walk walk = {0}, opens = {0};
    struct hp_thread_usage_row row;
    const size_t first = usage->count;
    usage->sessions++;
    usage->rss_bytes += session->is_live ? sums->rss_bytes : 0;
    usage->rss_peak_bytes =
        sums->rss_peak_bytes > usage->rss_peak_bytes ? sums->rss_peak_bytes : usage->rss_peak_bytes;
    usage->most = sums->most_threads > usage->most ? sums->most_threads : usage->most;
    while (hp_snapshot_next_thread_usage(session, &walk, &row))
        if (!add_row(gathering, &row, &opens))
            return false;
    return add_rest(gathering, first);
}

/* ---------------------------------------------------------------------------------- other processes */

/* Adds a record, with those of its signal handlers. */
static void add_record(const struct gathering *gathering, struct hp_thread_usage_member *member,
                       const struct hp_thread *record, struct hp_walk *opens)
{
    const struct hp_snapshot *session = session_of(gathering);
    struct hp_alloc_thread alloc;
    struct hp_cpu_thread cpu;
    if (hp_snapshot_alloc_thread(session, record, &alloc))
        set_allocs(member, member->allocated_bytes + alloc.bytes,
                   member->freed_bytes + (uint64_t)member->live_bytes + alloc.usable,
                   member->freed_bytes + alloc.freed);
    if (hp_snapshot_cpu_thread(session, record, &cpu)) {
        member->has_time = true;
        member->user_ns += cpu.user_ns;
        member->kernel_ns += cpu.kernel_ns;
    }
    if (session->is_live && record->state == HP_THREAD_LIVE && record->name[0] != '\0') {
        member->living = 1;
        find_place(gathering, member, record, opens);
    }
}

static bool add_unwatched(struct gathering *gathering, const struct hp_thread_list *list)
{
    struct hp_walk opens = {0};
    for (size_t from = 0, to; from < list->count; from = to) {
        struct hp_thread_usage_member *member = add_member(gathering);
        to = hp_thread_list_end(list, from);
        if (member == NULL)
            return false;
        member->label = hp_thread_list_label(list, from, to, ++gathering->number);
        if (member->label == NULL)
            return false;
        member->has_allocs = !hp_allocs_are_unknown(list->session);
        for (size_t at = from; at < to; at++)
            add_record(gathering, member, &list->all[at]->record, &opens);
        gathering->usage->threads += member->living;
    }
    return true;
}

/* --------------------------------------------------------------------------------------------------- all */

/* Most CPU time first; names may be equal, numbers are not. */
static int compare_members(const void *a, const void *b)
{
    const struct hp_thread_usage_member *x = a, *y = b;
    int order = hp_by_number(hp_thread_usage_cpu_ns(y), hp_thread_usage_cpu_ns(x));
    if (order == 0)
        order = hp_by_number(y->allocated_bytes, x->allocated_bytes);
    return order != 0 ? order : hp_by_number(x->label->number, y->label->number);
}

static size_t rows_of(const struct hp_snapshot *session)
{
    struct hp_walk walk = {0};
    struct hp_thread_usage_row row;
    size_t count = 0;
    while (hp_snapshot_next_thread_usage(session, &walk, &row))
        count++;
    return count;
}

/* Counts the rows there can be. A live session may have more at the next read, so there is some spare room. */
static bool make_room(struct gathering *gathering, struct hp_thread_list *lists)
{
    const struct hp_run *run = gathering->profile->run;
    for (size_t at = 0; at < run->count; at++) {
        if (!hp_thread_list_read(&lists[at], gathering->arena, run->sessions[at]))
            return false;
        gathering->capacity += lists[at].count + rows_of(run->sessions[at]) + 1 + HP_THREAD_USAGE_ROWS;
    }
    gathering->usage->all = hp_arena_take_array(gathering->arena, gathering->capacity + 1, sizeof(void *));
    return gathering->usage->all != NULL;
}

static uint64_t own_cpu_ns(const struct hp_snapshot *session)
{
    uint64_t kernel_ns;
    const uint64_t used_ns = used_by_process(session, &kernel_ns);
    return hp_less(used_ns, session->header.cpu_start_ns - past_cpu_ns(&session->header));
}

static uint64_t seen_cpu_ns(const struct hp_snapshot *session)
{
    struct hp_walk walk = {0};
    struct hp_thread_usage_row row;
    uint64_t ns = 0;
    while (hp_snapshot_next_thread_usage(session, &walk, &row))
        ns += row.lived_ns > 0 ? row.user_ns + row.kernel_ns : 0;
    return ns;
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole > 0 && part < whole ? (double)part / (double)whole : whole > 0 ? 1 : 0;
}

/* Rows are read at other times than the clock of the process, which may be the earlier one. */
static void add_cpu(struct gathering *gathering)
{
    const struct hp_run *run = gathering->profile->run;
    for (size_t at = 0; at < run->count; at++) {
        const uint64_t whole_ns = own_cpu_ns(run->sessions[at]);
        const uint64_t cpu_ns = run->range != NULL ? run->range->uses[at].cpu_ns : whole_ns;
        gathering->usage->cpu_ns += cpu_ns;
        gathering->usage->unseen_cpu_ns +=
            hp_reduced(hp_less(whole_ns, seen_cpu_ns(run->sessions[at])), share_of(cpu_ns, whole_ns));
    }
}

/* ---------------------------------------------------------------------------------------------- a time range */

static const struct hp_time_range_thread *activity_of(const struct hp_time_range_use *use,
                                                      const struct hp_thread_usage_member *member)
{
    for (size_t at = 0; member->label->threads <= 1 && at < use->thread_count; at++)
        if (use->threads[at].tid == member->label->tid)
            return &use->threads[at];
    return NULL;
}

/* Of a wait for this cause, idle or not. */
static double share_of_cause(const struct hp_time_range_thread *activity, uint32_t cause)
{
    const enum hp_activity part = hp_part_of_cause(cause);
    return share_of(activity->ns[part] + activity->ns[HP_PART_IDLE],
                    activity->whole_ns[part] + activity->whole_ns[HP_PART_IDLE]);
}

/* A thread without a history has its share of what the session did. */
static void cut_cpu(struct hp_thread_usage_member *member, const struct hp_time_range_thread *activity,
                    double session_share)
{
    const double user =
        activity != NULL ? share_of(activity->ns[HP_PART_USER], activity->whole_ns[HP_PART_USER]) : session_share;
    const double kernel = activity != NULL
                              ? share_of(activity->ns[HP_PART_KERNEL], activity->whole_ns[HP_PART_KERNEL])
                              : session_share;
    member->user_ns = hp_reduced(member->user_ns, user);
    member->kernel_ns = hp_reduced(member->kernel_ns, kernel);
}

/* The waits of a session are known by cause; what each thread has of them follows from its history. */
static void cut_waits(const struct hp_run_thread_usage *usage, size_t first, const struct hp_time_range_use *use)
{
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
        double sum = 0;
        for (size_t at = first; at < usage->count; at++) {
            struct hp_thread_usage_member *member = usage->all[at];
            const struct hp_time_range_thread *activity = activity_of(use, member);
            if (activity != NULL)
                member->waited_ns[cause] = hp_reduced(member->waited_ns[cause], share_of_cause(activity, cause));
            sum += (double)member->waited_ns[cause];
        }
        for (size_t at = first; sum > 0 && at < usage->count; at++)
            usage->all[at]->waited_ns[cause] =
                hp_units_round((double)usage->all[at]->waited_ns[cause] * ((double)use->waited_ns[cause] / sum));
    }
}

/* Of the members of a session, from the first one on. */
static void cut(const struct gathering *gathering, size_t first)
{
    const struct hp_time_range *range = gathering->profile->run->range;
    const struct hp_time_range_use *use = &range->uses[gathering->session];
    const double share = share_of(use->cpu_ns, own_cpu_ns(session_of(gathering)));
    for (size_t at = first; at < gathering->usage->count; at++) {
        struct hp_thread_usage_member *member = gathering->usage->all[at];
        const uint64_t length_ns = (range->to_ns - range->from_ns) * (uint64_t)member->label->threads;
        cut_cpu(member, activity_of(use, member), share);
        member->voluntary = hp_reduced(member->voluntary, share);
        member->involuntary = hp_reduced(member->involuntary, share);
        member->lived_ns = member->lived_ns < length_ns ? member->lived_ns : length_ns;
    }
    cut_waits(gathering->usage, first, use);
}

const struct hp_run_thread_usage *hp_thread_usage_of_run(struct hp_arena *arena, const struct hp_profile *profile)
{
    struct hp_run_thread_usage *usage = hp_arena_take(arena, sizeof *usage);
    struct hp_thread_list *lists = hp_arena_take_array(arena, profile->run->count, sizeof *lists);
    struct gathering gathering = {.arena = arena, .profile = profile, .usage = usage};
    struct hp_thread_usage sums;
    if (usage == NULL || lists == NULL || !make_room(&gathering, lists))
        return NULL;
    for (; gathering.session < profile->run->count; gathering.session++) {
        const bool is_watched = hp_snapshot_thread_usage(session_of(&gathering), &sums);
        const size_t first = usage->count;
        if (!(is_watched ? add_watched(&gathering, &sums) : add_unwatched(&gathering, &lists[gathering.session])))
            return NULL;
        if (profile->run->range != NULL)
            cut(&gathering, first);
    }
    add_cpu(&gathering);
    usage->has_allocs = hp_run_has_allocs(profile->run);
    hp_sort(usage->all, usage->count, compare_members);
    return usage;
}

bool hp_process_transfers(const struct hp_snapshot *session, struct hp_transfers *ret_transfers)
{
    struct hp_thread_usage usage;
    const bool is_known = hp_snapshot_thread_usage(session, &usage) && usage.read_calls + usage.write_calls > 0;
    *ret_transfers = (struct hp_transfers){0};
    if (is_known)
        *ret_transfers =
            (struct hp_transfers){usage.read_calls, usage.read_bytes, usage.write_calls, usage.write_bytes};
    return is_known;
}
