/* The ends of segments of critical paths. SPDX-License-Identifier: MIT */
#include "segment_feed.h"

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "clock.h"
#include "layout.h"
#include "path_layout.h"
#include "sources.h"

#define AT_ONCE 128u /* ends that are read at a time */

static bool read_at(int session, uint64_t offset, void *to, size_t bytes)
{
    return pread(session, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* From the counter of the session to CLOCK_MONOTONIC: by its beginning, and now. */
struct rate {
    struct hp_clock_pair from;
    double ns_per_tick;
};

static bool find_rate(const struct hp_header *header, struct rate *ret_rate)
{
    struct hp_clock_pair now = {0};
    *ret_rate = (struct rate){header->clock_start, 1};
    if (header->clock_kind == HP_CLOCK_MONOTONIC)
        return true;
    hp_clock_pair((enum hp_counter)(header->clock_kind - HP_CLOCK_MONOTONIC), &now.ticks, &now.ns);
    if (now.ticks <= header->clock_start.ticks || now.ns <= header->clock_start.ns)
        return false;
    ret_rate->ns_per_tick =
        (double)(now.ns - header->clock_start.ns) / (double)(now.ticks - header->clock_start.ticks);
    return true;
}

static uint64_t ns_at(const struct rate *rate, uint64_t ticks)
{
    const int64_t since = (int64_t)(ticks - rate->from.ticks);
    return rate->from.ns + (uint64_t)(int64_t)((double)since * rate->ns_per_tick);
}

/* One that is being overwritten has another number, or none. */
static void pass_on(const struct hp_path_segment *ends, uint32_t count, uint32_t first, uint32_t pid,
                    const struct rate *rate)
{
    for (uint32_t at = 0; at < count; at++)
        if (ends[at].number == first + at + 1)
            hp_wait_source_segment(&(struct hp_ended_segment){
                .pid = pid, .tid = ends[at].tid, .key = ends[at].key, .ns = ns_at(rate, ends[at].end)});
}

static void read_ends(struct hp_segment_feed *feed, int session, const struct hp_header *header, uint32_t count)
{
    struct hp_path_segment ends[AT_ONCE];
    struct rate rate;
    const uint64_t all = header->paths + offsetof(struct hp_paths, segments);
    if (!find_rate(header, &rate))
        return;
    if (count - feed->taken > HP_PATH_SEGMENTS)
        feed->taken = count - HP_PATH_SEGMENTS;
    while (feed->taken != count) {
        const uint32_t place = feed->taken % HP_PATH_SEGMENTS;
        uint32_t most = count - feed->taken < AT_ONCE ? count - feed->taken : AT_ONCE;
        most = most < HP_PATH_SEGMENTS - place ? most : HP_PATH_SEGMENTS - place;
        if (!read_at(session, all + place * sizeof *ends, ends, most * sizeof *ends))
            return;
        pass_on(ends, most, feed->taken, header->pid, &rate);
        feed->taken += most;
    }
}

void hp_segment_feed_look(struct hp_segment_feed *feed, int session)
{
    struct hp_header header;
    uint32_t count;
    if (!read_at(session, 0, &header, sizeof header) || header.paths == 0 ||
        !read_at(session, header.paths + offsetof(struct hp_paths, segment_count), &count, sizeof count) ||
        count == feed->taken)
        return;
    read_ends(feed, session, &header, count);
}
