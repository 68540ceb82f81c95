/* The zones of threads that wait, read from the session of their process. SPDX-License-Identifier: MIT */
#include "wait_place.h"

#define MOST_RECORDS 65536u /* plausible maximum of threads in a session */
#define MOST_FRAMES (1u << 18)

bool hp_wait_place_read(struct hp_proc_sampler *sampler, uint64_t offset, void *to, size_t bytes)
{
    return offset >= HP_HEADER_BYTES && offset + bytes <= UINT32_MAX &&
           sampler->target.read(sampler->target.context, (uint32_t)offset, to, bytes);
}

static bool is_record_of(struct hp_proc_sampler *sampler, uint32_t offset, uint32_t tid,
                         struct hp_thread *ret_record)
{
    return offset != 0 && offset % 8 == 0 && hp_wait_place_read(sampler, offset, ret_record, sizeof *ret_record) &&
           ret_record->tid == tid && ret_record->state == HP_THREAD_LIVE;
}

/*
 * The part of the header that is read at each sample. A record is linked before its thread is counted, so the count
 * is read first: then none of these is missed.
 */
bool hp_wait_place_read_header(struct hp_proc_sampler *sampler)
{
    struct hp_header header;
    const struct hp_proc_sampler_target *target = &sampler->target;
    uint32_t seen;
    if (!target->read(target->context, offsetof(struct hp_header, threads_seen), &seen, sizeof seen) ||
        !target->read(target->context, 0, &header, offsetof(struct hp_header, losses)) ||
        header.state != HP_STATE_LIVE)
        return false;
    sampler->threads_seen = seen;
    sampler->first_record = header.threads;
    return true;
}

/* Newer records come first, and a thread's record is older than those of its signal handlers. */
static bool find_record(struct hp_proc_sampler *sampler, struct hp_watched *thread, struct hp_thread *ret_record)
{
    struct hp_thread record;
    uint32_t steps = 0;
    if (is_record_of(sampler, thread->record, thread->tid, ret_record))
        return true;
    thread->record = 0;
    /* It may have started since the header was read. */
    if (thread->seen_without == sampler->threads_seen || !hp_wait_place_read_header(sampler))
        return false;
    for (uint32_t at = sampler->first_record; at != 0 && at % 8 == 0 && steps < MOST_RECORDS; steps++) {
        if (!hp_wait_place_read(sampler, at, &record, sizeof record))
            break;
        if (record.tid == thread->tid && record.state == HP_THREAD_LIVE) {
            thread->record = at;
            *ret_record = record;
        }
        at = record.next;
    }
    return thread->record != 0;
}

static struct hp_watched *thread_of(struct hp_proc_sampler *sampler, uint32_t tid)
{
    uint32_t at = 0;
    while (at < sampler->thread_count && sampler->threads[at].tid != tid)
        at++;
    return at < sampler->thread_count ? &sampler->threads[at] : NULL;
}

/* As above, the older one counts. */
void hp_wait_place_find_records(struct hp_proc_sampler *sampler)
{
    struct hp_thread record;
    uint32_t steps = 0;
    if (sampler->records_seen == sampler->threads_seen || !hp_wait_place_read_header(sampler))
        return;
    sampler->records_seen = sampler->threads_seen;
    for (uint32_t at = sampler->first_record; at != 0 && at % 8 == 0 && steps < MOST_RECORDS; steps++) {
        if (!hp_wait_place_read(sampler, at, &record, sizeof record))
            return;
        struct hp_watched *thread = record.state == HP_THREAD_LIVE ? thread_of(sampler, record.tid) : NULL;
        if (thread != NULL)
            thread->record = at;
        at = record.next;
    }
}

/* The node of a frame; 0: not open. */
static uint32_t node_of_frame(struct hp_proc_sampler *sampler, const struct hp_thread *record, uint32_t index)
{
    struct hotpath_frame_ frame;
    const uint64_t offset = (uint64_t)record->frames + (uint64_t)index * sizeof frame;
    if (index >= record->frame_capacity || index >= MOST_FRAMES || record->frames % 8 != 0 ||
        !hp_wait_place_read(sampler, offset, &frame, sizeof frame) || frame.zone == 0)
        return 0;
    return frame.node;
}

/* Open frames come first: their end is found by exponential search, then bisection. */
static uint32_t innermost_node(struct hp_proc_sampler *sampler, const struct hp_thread *record)
{
    uint32_t low = 0, high = 1, node = record->root;
    for (uint32_t found; (found = node_of_frame(sampler, record, high)) != 0; high *= 2) {
        low = high;
        node = found;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2, found = node_of_frame(sampler, record, middle);
        if (found != 0) {
            low = middle;
            node = found;
        } else {
            high = middle;
        }
    }
    return node;
}

uint32_t hp_wait_place_site(struct hp_proc_sampler *sampler, uint32_t node)
{
    uint32_t site = HP_SITE_OTHER;
    if (node != 0 && node % 8 == 0)
        hp_wait_place_read(sampler, (uint64_t)node + offsetof(struct hotpath_node_, site), &site, sizeof site);
    return site;
}

void hp_wait_place_find(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    struct hp_thread record;
    const uint32_t node = find_record(sampler, thread, &record) ? innermost_node(sampler, &record) : 0;
    if (node != thread->node)
        thread->site = hp_wait_place_site(sampler, node);
    thread->node = node;
    thread->seen_without = node == 0 ? sampler->threads_seen : UINT32_MAX;
}

uint32_t hp_wait_place_zone(const struct hp_watched *thread)
{
    return thread->node != 0 && thread->site < HP_MAX_SITES ? thread->site + 1 : 0;
}

/* Only remembers its record for the next time: the thread itself is looked at in its turn. */
struct hp_wait_place hp_wait_place_of(struct hp_proc_sampler *sampler, uint32_t tid)
{
    for (uint32_t at = 0; tid != 0 && at < sampler->thread_count; at++) {
        struct hp_watched *thread = &sampler->threads[at];
        if (thread->tid != tid)
            continue;
        struct hp_watched there = *thread;
        hp_wait_place_find(sampler, &there);
        thread->record = there.record;
        return (struct hp_wait_place){there.node, there.node != 0 ? there.site : 0};
    }
    return (struct hp_wait_place){0, 0};
}
