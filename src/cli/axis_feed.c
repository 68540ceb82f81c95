/*
 * Writes the time axis of a session.
 *
 * Everything but the sites is known from sampling /proc. Sites are added up by reading the session file, which
 * takes longer the larger the session is, so it is done only as often as keeps it below 1% of a CPU.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* F_OFD_SETLK */
#include "axis_feed.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "proc_sampler.h"
#include "site_times.h"

#define BUSY_PERMILLE 20u /* a thread gets a series if it uses this much of a sample's time */
#define SHARE_OF_SITES 100u

/* ------------------------------------------------------------------------------------------------ file */

/* The lock holder writes the time axis; the lock ends with our process. */
static bool lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

static bool open_file(struct hp_axis_feed *feed)
{
    char path[sizeof feed->path + 8];
    struct hp_header header;
    if (!hp_axis_path(feed->path, path, sizeof path) ||
        pread(feed->session, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return false;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    if (lock(fd) && hp_axis_begin(&feed->writer, fd, header.pid, header.process_start, header.clock_start.ns))
        return true;
    unlink(path);
    close(fd);
    return false;
}

/* ----------------------------------------------------------------------------------------------- sites */

/* As long as every site had a place, a new site has had no calls before. */
static void put_of_site(struct hp_axis_feed *feed, uint32_t kind, uint32_t site, uint64_t value)
{
    if (feed->is_full)
        hp_axis_put(&feed->writer, kind, site, "", value);
    else
        hp_axis_put_from_zero(&feed->writer, kind, site, value);
}

static void put_site(struct hp_axis_feed *feed, const struct hp_site_times *times, uint32_t site)
{
    put_of_site(feed, HP_AXIS_SITE_CALLS, site, times->calls[site]);
    put_of_site(feed, HP_AXIS_SITE_TICKS, site, times->ticks[site]);
    put_of_site(feed, HP_AXIS_SITE_SELF, site, hp_site_times_self(times, site));
    put_of_site(feed, HP_AXIS_SITE_CPU, site, times->cpu_ns[site]);
    put_of_site(feed, HP_AXIS_SITE_BYTES, site, times->bytes[site]);
    put_of_site(feed, HP_AXIS_SITE_KERNEL, site, times->kernel_ns[site]);
}

static void drop_site(struct hp_axis_feed *feed, uint32_t site)
{
    hp_axis_drop(&feed->writer, HP_AXIS_SITE_CALLS, site);
    hp_axis_drop(&feed->writer, HP_AXIS_SITE_TICKS, site);
    hp_axis_drop(&feed->writer, HP_AXIS_SITE_SELF, site);
    hp_axis_drop(&feed->writer, HP_AXIS_SITE_CPU, site);
    hp_axis_drop(&feed->writer, HP_AXIS_SITE_BYTES, site);
    hp_axis_drop(&feed->writer, HP_AXIS_SITE_KERNEL, site);
}

/* The site with the most time among those without a series; `count`: there is none. */
static uint32_t next_of(const struct hp_axis_feed *feed, const struct hp_site_times *times)
{
    uint32_t best = times->count;
    for (uint32_t site = 0; site < times->count; site++)
        if ((times->calls[site] > 0 || times->ticks[site] > 0) &&
            (best == times->count || times->ticks[site] > times->ticks[best]) &&
            !hp_axis_has(&feed->writer, HP_AXIS_SITE_TICKS, site))
            best = site;
    return best;
}

/*
 * Gives new sites a series while there are places; after that, a site with twice the time of the smallest series
 * replaces it.
 */
static void put_new_sites(struct hp_axis_feed *feed, const struct hp_site_times *times)
{
    uint32_t site = next_of(feed, times);
    while (site < times->count && hp_axis_has_place(&feed->writer, HP_AXIS_SITE_TICKS, site)) {
        put_site(feed, times, site);
        site = next_of(feed, times);
    }
    feed->is_full |= site < times->count;
    const uint32_t least = hp_axis_least(&feed->writer, HP_AXIS_SITE_TICKS);
    if (site >= times->count || least == UINT32_MAX ||
        times->ticks[site] / 2 <= hp_axis_latest(&feed->writer, HP_AXIS_SITE_TICKS, least))
        return;
    drop_site(feed, least);
    put_site(feed, times, site);
}

static void put_sites(struct hp_axis_feed *feed)
{
    struct hp_site_times times;
    if (hp_site_times_read(&times, feed->session)) {
        for (uint32_t site = 0; site < times.count; site++)
            if (hp_axis_has(&feed->writer, HP_AXIS_SITE_TICKS, site))
                put_site(feed, &times, site);
        put_new_sites(feed, &times);
    }
    hp_site_times_free(&times);
}

static void put_sites_if_due(struct hp_axis_feed *feed, uint64_t now)
{
    if (now < feed->sites_ns)
        return;
    const uint64_t before = hp_clock_thread_ns();
    put_sites(feed);
    feed->sites_ns = now + SHARE_OF_SITES * (hp_clock_thread_ns() - before);
}

/* ------------------------------------------------------------------------------------------- the others */

static void put_process(struct hp_axis_feed *feed, const struct hp_crew_watch *crew)
{
    uint64_t cpu = 0, kernel = 0, live_bytes;
    for (uint32_t at = 0; at < crew->sums.used; at++) {
        cpu += crew->rows[at].user_ns + crew->rows[at].kernel_ns;
        kernel += crew->rows[at].kernel_ns;
    }
    hp_axis_put(&feed->writer, HP_AXIS_CPU, 0, "", cpu);
    hp_axis_put(&feed->writer, HP_AXIS_KERNEL, 0, "", kernel);
    hp_axis_put(&feed->writer, HP_AXIS_RESIDENT, 0, "", crew->sums.rss_bytes);
    hp_axis_put(&feed->writer, HP_AXIS_LIVE, 0, "", crew->sums.threads);
    if (hp_live_bytes_read(feed->session, &live_bytes))
        hp_axis_put(&feed->writer, HP_AXIS_ALLOCATED, 0, "", live_bytes);
}

static void put_threads(struct hp_axis_feed *feed, const struct hp_crew_watch *crew)
{
    for (uint32_t at = 0; at < crew->sums.used; at++) {
        const struct hp_crew_row *row = &crew->rows[at];
        if (row->threads == 1 &&
            (row->now_permille >= BUSY_PERMILLE || hp_axis_has(&feed->writer, HP_AXIS_THREAD, row->tid)))
            hp_axis_put(&feed->writer, HP_AXIS_THREAD, row->tid, row->name, row->user_ns + row->kernel_ns);
    }
}

static void put_waits(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler)
{
    uint64_t by_cause[HP_WAIT_CAUSES] = {0};
    for (uint32_t at = 0; at < sampler->sums.used; at++)
        if (sampler->entries[at].cause < HP_WAIT_CAUSES)
            by_cause[sampler->entries[at].cause] += sampler->entries[at].ns;
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        if (by_cause[cause] > 0)
            hp_axis_put(&feed->writer, HP_AXIS_WAIT, cause, "", by_cause[cause]);
}

/* The first wait places found get a series; waits elsewhere are only in the sum of their cause. */
static void put_places(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler)
{
    for (uint32_t at = 0; at < sampler->sums.used && at < HP_AXIS_WAITS; at++) {
        hp_axis_put_from_zero(&feed->writer, HP_AXIS_PLACE, at, sampler->entries[at].ns);
        hp_axis_put_from_zero(&feed->writer, HP_AXIS_BESIDE, at, sampler->entries[at].beside_ns);
    }
    hp_axis_put(&feed->writer, HP_AXIS_WATCHED, 0, "", sampler->sums.watched_ns);
}

void hp_axis_feed_look(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler)
{
    const struct hp_crew *sums = &sampler->crew.sums;
    if (feed->path[0] == '\0' || sums->samples < 2 || sums->sampled_ns == feed->fed_ns)
        return;
    feed->fed_ns = sums->sampled_ns;
    if (!feed->is_open && !open_file(feed)) {
        feed->path[0] = '\0';
        return;
    }
    feed->is_open = true;
    put_process(feed, &sampler->crew);
    put_threads(feed, &sampler->crew);
    put_waits(feed, sampler);
    put_places(feed, sampler);
    put_sites_if_due(feed, sums->sampled_ns);
    /* Without disk space, the run goes on without a time axis. */
    if (!hp_axis_write(&feed->writer, sums->sampled_ns))
        hp_axis_feed_end(feed, NULL);
}

/* Writes what came after the last sample. */
static void put_end(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler)
{
    put_waits(feed, sampler);
    put_places(feed, sampler);
    put_sites(feed);
    hp_axis_amend(&feed->writer, hp_clock_monotonic_ns());
}

void hp_axis_feed_end(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler)
{
    if (feed->is_open && sampler != NULL)
        put_end(feed, sampler);
    if (feed->is_open)
        close(feed->writer.fd);
    feed->is_open = false;
    feed->path[0] = '\0';
}
