/*
 * Feeds the heat map of a session.
 *
 * A stat has 64 counters for each octave of durations that its calls had. Half octaves of them are added up over
 * all threads, and compared with the sums of the last time. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* F_OFD_SETLK */
#include "heat_feed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arith.h"
#include "heat_writer.h"
#include "layout.h"

#define MOST_RECORDS 65536u
#define STEPS 64u /* counters of an octave */

typedef uint64_t buckets[HP_HEAT_BUCKETS];

struct hp_heat_feed {
    bool is_over;
    uint64_t looked_ns;
    bool is_new[HP_HEAT_SITES]; /* what it has counted by now is from before it was tracked */
    buckets known[HP_HEAT_SITES];
    buckets now[HP_HEAT_SITES];
    uint32_t *place_of; /* by site */
    struct hp_heat_writer writer;
};

/* ------------------------------------------------------------------------------------------- histograms */

static bool read_at(int file, uint64_t offset, void *to, size_t bytes)
{
    return offset >= HP_HEADER_BYTES && offset % 4 == 0 && pread(file, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* The first two lines of a histogram share an octave: its counters begin with those of the durations below 64. */
static void add_line(int file, uint64_t offset, uint64_t least, uint32_t shift, uint64_t *sums)
{
    uint64_t counters[STEPS];
    if (!read_at(file, offset, counters, sizeof counters))
        return;
    for (uint32_t step = 0; step < STEPS; step++)
        sums[hp_heat_bucket((least + step) << shift)] += counters[step];
}

static void add_stat(int file, const struct hotpath_stat_ *stat, uint64_t *sums)
{
    if (stat->octaves[0] != 0)
        add_line(file, stat->octaves[0], 0, 0, sums);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        if (stat->octaves[octave] != 0)
            add_line(file, stat->octaves[octave] + (uint64_t)STEPS * sizeof(uint64_t), STEPS, octave, sums);
}

static void add_stats(struct hp_heat_feed *feed, int file, uint32_t first, uint32_t sites)
{
    struct hotpath_stat_ stat;
    uint32_t steps = 0;
    for (uint32_t at = first; at != 0 && steps <= sites; at = stat.next, steps++) {
        if (!read_at(file, at, &stat, sizeof stat))
            return;
        if (stat.site < sites && feed->place_of[stat.site] < HP_HEAT_SITES)
            add_stat(file, &stat, feed->now[feed->place_of[stat.site]]);
    }
}

static void read_histograms(struct hp_heat_feed *feed, int file, const struct hp_header *header, uint32_t sites)
{
    struct hp_thread record;
    uint32_t steps = 0;
    memset(feed->now, 0, sizeof feed->now);
    for (uint32_t at = header->threads; at != 0 && steps < MOST_RECORDS; at = record.next, steps++) {
        if (!read_at(file, at, &record, sizeof record))
            return;
        add_stats(feed, file, record.stats, sites);
    }
}

/* ------------------------------------------------------------------------------------------------ sites */

static bool drop_others(struct hp_heat_feed *feed, const uint32_t *ids, uint32_t count)
{
    for (uint32_t place = 0; place < HP_HEAT_SITES; place++) {
        uint32_t at = 0;
        while (at < count && ids[at] + 1 != feed->writer.sites[place].id)
            at++;
        if (feed->writer.sites[place].id != 0 && at == count && !hp_heat_drop(&feed->writer, place))
            return false;
    }
    return true;
}

static void track_all(struct hp_heat_feed *feed, const uint32_t *ids, uint32_t count, uint32_t sites, bool is_full)
{
    memset(feed->is_new, 0, sizeof feed->is_new);
    for (uint32_t site = 0; site < sites; site++)
        feed->place_of[site] = HP_HEAT_SITES;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t before = 0;
        while (before < HP_HEAT_SITES && feed->writer.sites[before].id != ids[at] + 1)
            before++;
        const uint32_t place =
            ids[at] < sites ? hp_heat_track(&feed->writer, ids[at], feed->looked_ns) : HP_HEAT_SITES;
        if (place == HP_HEAT_SITES)
            continue;
        feed->place_of[ids[at]] = place;
        if (before == HP_HEAT_SITES) {
            memset(feed->known[place], 0, sizeof feed->known[place]);
            feed->is_new[place] = is_full;
        }
    }
}

static bool add_growth(struct hp_heat_feed *feed, uint64_t now)
{
    for (uint32_t place = 0; place < HP_HEAT_SITES; place++) {
        buckets growth;
        uint64_t all = 0;
        if (feed->writer.sites[place].id == 0)
            continue;
        for (uint32_t bucket = 0; bucket < HP_HEAT_BUCKETS; bucket++) {
            growth[bucket] = hp_less(feed->now[place][bucket], feed->known[place][bucket]);
            feed->known[place][bucket] += growth[bucket];
            all += growth[bucket];
        }
        if (all > 0 && !feed->is_new[place] && !hp_heat_add(&feed->writer, place, growth, feed->looked_ns, now))
            return false;
    }
    feed->looked_ns = now;
    return hp_heat_write(&feed->writer, now);
}

static bool look(struct hp_heat_feed *feed, int file, const struct hp_axis_writer *axis, bool is_full, uint64_t now)
{
    struct hp_header header;
    uint32_t ids[HP_AXIS_SITES];
    const uint32_t count = hp_axis_ids(axis, HP_AXIS_SITE_TICKS, ids, HP_AXIS_SITES);
    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return false;
    const uint32_t sites = header.site_count < HP_MAX_SITES ? header.site_count : HP_MAX_SITES;
    feed->place_of = calloc((size_t)sites + 1, sizeof *feed->place_of);
    const bool is_ready = feed->place_of != NULL && drop_others(feed, ids, count);
    if (is_ready) {
        track_all(feed, ids, count, sites, is_full);
        read_histograms(feed, file, &header, sites);
    }
    free(feed->place_of);
    return is_ready && add_growth(feed, now);
}

/* ------------------------------------------------------------------------------------------------- file */

static int create(const char *session)
{
    char path[1200];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (!hp_beside_path(session, HP_HEAT_SUFFIX, path, sizeof path))
        return -1;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &whole) == 0)
        return fd;
    unlink(path);
    close(fd);
    return -1;
}

/* NULL: no memory. */
static struct hp_heat_feed *begin(const char *session, const struct hp_axis_writer *axis)
{
    const struct hp_axis_header *about = &axis->header;
    struct hp_heat_feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL)
        return NULL;
    feed->looked_ns = about->start_ns;
    const int fd = create(session);
    if (fd >= 0 && hp_heat_begin(&feed->writer, fd, about->pid, about->process_start, about->start_ns))
        return feed;
    if (fd >= 0)
        close(fd);
    feed->is_over = true;
    return feed;
}

static void stop(struct hp_heat_feed *feed)
{
    if (!feed->is_over)
        close(feed->writer.fd);
    feed->is_over = true;
}

void hp_heat_feed_look(struct hp_heat_feed **feed, const char *session, int file, const struct hp_axis_writer *axis,
                       bool is_full, uint64_t now)
{
    uint32_t any;
    if (*feed == NULL && hp_axis_ids(axis, HP_AXIS_SITE_TICKS, &any, 1) > 0)
        *feed = begin(session, axis);
    if (*feed != NULL && !(*feed)->is_over && !look(*feed, file, axis, is_full, now))
        stop(*feed);
}

void hp_heat_feed_end(struct hp_heat_feed **feed)
{
    if (*feed != NULL)
        stop(*feed);
    free(*feed);
    *feed = NULL;
}
