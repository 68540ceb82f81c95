/*
 * Feeding the time axis.
 *
 * All but the sites is known from watching. Sites are added up from the nodes of all threads, by reading the file; that takes as long as
 * the session is large, so it is done as often as it takes one part in a hundred of a processor. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* F_OFD_SETLK */
#include "axis_feed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arith.h"
#include "clock.h"
#include "watch.h"

#define BUSY_PERMILLE 20u /* that a thread has to use in a sample to be worth a series */
#define SHARE_OF_SITES 100u
#define MOST_RECORDS 65536u
#define MOST_CHUNKS 65536u
#define NODES_AT_ONCE 1024u

/* ------------------------------------------------------------------------------------------------ file */

/* Whoever holds it writes it; the lock ends with us. */
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

/* By their ids. */
struct sums {
    uint32_t count;
    uint64_t *calls, *ticks;
};

static bool read_at(const struct hp_axis_feed *feed, uint64_t offset, void *to, size_t bytes)
{
    return offset >= HP_HEADER_BYTES && offset % 8 == 0 &&
           pread(feed->session, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static void add_nodes(struct sums *sums, const struct hotpath_node_ *nodes, uint32_t count)
{
    for (uint32_t at = 0; at < count; at++) {
        if (nodes[at].site >= sums->count)
            continue;
        sums->calls[nodes[at].site] += nodes[at].calls;
        sums->ticks[nodes[at].site] += hp_less(nodes[at].total, nodes[at].nested);
    }
}

static void add_chunk(const struct hp_axis_feed *feed, struct sums *sums, uint32_t offset,
                      const struct hp_node_chunk *chunk)
{
    static struct hotpath_node_ nodes[NODES_AT_ONCE];
    const uint32_t used = chunk->used < chunk->capacity ? chunk->used : chunk->capacity;
    for (uint32_t at = 0; at < used; at += NODES_AT_ONCE) {
        const uint32_t count = used - at < NODES_AT_ONCE ? used - at : NODES_AT_ONCE;
        const uint64_t from = (uint64_t)offset + sizeof *chunk + (uint64_t)at * sizeof nodes[0];
        if (!read_at(feed, from, nodes, count * sizeof nodes[0]))
            return;
        add_nodes(sums, nodes, count);
    }
}

static void add_thread(const struct hp_axis_feed *feed, struct sums *sums, const struct hp_thread *record)
{
    struct hp_node_chunk chunk;
    uint32_t steps = 0;
    for (uint32_t at = record->node_chunks; at != 0 && steps < MOST_CHUNKS; at = chunk.next, steps++) {
        if (!read_at(feed, at, &chunk, sizeof chunk))
            return;
        add_chunk(feed, sums, at, &chunk);
    }
}

static bool add_up(const struct hp_axis_feed *feed, struct sums *sums)
{
    struct hp_header header;
    struct hp_thread record;
    uint32_t steps = 0;
    if (pread(feed->session, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return false;
    sums->count = header.site_count < HP_MAX_SITES ? header.site_count : HP_MAX_SITES;
    sums->calls = calloc(sums->count + 1, sizeof *sums->calls);
    sums->ticks = calloc(sums->count + 1, sizeof *sums->ticks);
    for (uint32_t at = header.threads; at != 0 && steps < MOST_RECORDS; at = record.next, steps++) {
        if (sums->calls == NULL || sums->ticks == NULL || !read_at(feed, at, &record, sizeof record))
            break;
        add_thread(feed, sums, &record);
    }
    return sums->calls != NULL && sums->ticks != NULL;
}

/* As long as all had places, one that comes had no calls before. */
static void put_site(struct hp_axis_feed *feed, const struct sums *sums, uint32_t site)
{
    if (feed->is_full) {
        hp_axis_put(&feed->writer, HP_AXIS_SITE_CALLS, site, "", sums->calls[site]);
        hp_axis_put(&feed->writer, HP_AXIS_SITE_TICKS, site, "", sums->ticks[site]);
    } else {
        hp_axis_put_from_zero(&feed->writer, HP_AXIS_SITE_CALLS, site, sums->calls[site]);
        hp_axis_put_from_zero(&feed->writer, HP_AXIS_SITE_TICKS, site, sums->ticks[site]);
    }
}

/* The site with the most time among those that have no series; `count`: there is none. */
static uint32_t next_of(const struct hp_axis_feed *feed, const struct sums *sums)
{
    uint32_t best = sums->count;
    for (uint32_t site = 0; site < sums->count; site++)
        if (sums->calls[site] > 0 && (best == sums->count || sums->ticks[site] > sums->ticks[best]) &&
            !hp_axis_has(&feed->writer, HP_AXIS_SITE_TICKS, site))
            best = site;
    return best;
}

/* New ones while there are places; then one that has twice the time of the least takes its place. */
static void put_new_sites(struct hp_axis_feed *feed, const struct sums *sums)
{
    uint32_t site = next_of(feed, sums);
    while (site < sums->count && hp_axis_has_place(&feed->writer, HP_AXIS_SITE_TICKS, site)) {
        put_site(feed, sums, site);
        site = next_of(feed, sums);
    }
    feed->is_full |= site < sums->count;
    const uint32_t least = hp_axis_least(&feed->writer, HP_AXIS_SITE_TICKS);
    if (site >= sums->count || least == UINT32_MAX ||
        sums->ticks[site] / 2 <= hp_axis_latest(&feed->writer, HP_AXIS_SITE_TICKS, least))
        return;
    hp_axis_drop(&feed->writer, HP_AXIS_SITE_CALLS, least);
    hp_axis_drop(&feed->writer, HP_AXIS_SITE_TICKS, least);
    put_site(feed, sums, site);
}

static void put_sites(struct hp_axis_feed *feed)
{
    struct sums sums = {0};
    if (add_up(feed, &sums)) {
        for (uint32_t site = 0; site < sums.count; site++)
            if (hp_axis_has(&feed->writer, HP_AXIS_SITE_TICKS, site))
                put_site(feed, &sums, site);
        put_new_sites(feed, &sums);
    }
    free(sums.calls);
    free(sums.ticks);
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
    uint64_t cpu = 0, kernel = 0;
    struct hp_header header;
    for (uint32_t at = 0; at < crew->sums.used; at++) {
        cpu += crew->rows[at].user_ns + crew->rows[at].kernel_ns;
        kernel += crew->rows[at].kernel_ns;
    }
    hp_axis_put(&feed->writer, HP_AXIS_CPU, 0, "", cpu);
    hp_axis_put(&feed->writer, HP_AXIS_KERNEL, 0, "", kernel);
    hp_axis_put(&feed->writer, HP_AXIS_RESIDENT, 0, "", crew->sums.rss_bytes);
    hp_axis_put(&feed->writer, HP_AXIS_LIVE, 0, "", crew->sums.threads);
    if (pread(feed->session, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        (header.features & HP_FEATURE_ALLOC))
        hp_axis_put(&feed->writer, HP_AXIS_ALLOCATED, 0, "",
                    header.alloc_live > 0 ? (uint64_t)header.alloc_live : 0);
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

static void put_waits(struct hp_axis_feed *feed, const struct hp_watch *watch)
{
    uint64_t by_cause[HP_WAIT_CAUSES] = {0};
    for (uint32_t at = 0; at < watch->sums.used; at++)
        if (watch->entries[at].cause < HP_WAIT_CAUSES)
            by_cause[watch->entries[at].cause] += watch->entries[at].ns;
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        if (by_cause[cause] > 0)
            hp_axis_put(&feed->writer, HP_AXIS_WAIT, cause, "", by_cause[cause]);
}

void hp_axis_feed_look(struct hp_axis_feed *feed, const struct hp_watch *watch)
{
    const struct hp_crew *sums = &watch->crew.sums;
    if (feed->path[0] == '\0' || sums->samples < 2 || sums->sampled_ns == feed->fed_ns)
        return;
    feed->fed_ns = sums->sampled_ns;
    if (!feed->is_open && !open_file(feed)) {
        feed->path[0] = '\0';
        return;
    }
    feed->is_open = true;
    put_process(feed, &watch->crew);
    put_threads(feed, &watch->crew);
    put_waits(feed, watch);
    put_sites_if_due(feed, sums->sampled_ns);
    /* Who has no space for it goes on without. */
    if (!hp_axis_write(&feed->writer, sums->sampled_ns))
        hp_axis_feed_end(feed);
}

void hp_axis_feed_end(struct hp_axis_feed *feed)
{
    if (feed->is_open)
        close(feed->writer.fd);
    feed->is_open = false;
    feed->path[0] = '\0';
}
