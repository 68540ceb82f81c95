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
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arith.h"
#include "clock.h"
#include "layout.h"
#include "proc_sampler.h"
#include "process.h"
#include "wait_cause.h"

/* --------------------------------------------------------------------------------------------------- site times */

/*
 * Calls, times, CPU time and bytes of the sites of a live session, added up over all threads. It reads by offset
 * and maps nothing. Nearly what a report says (src/model/profile.h), at less cost.
 *
 * Adds up calls and times of sites by reading the session file by offset.
 *
 * Untimed calls are estimated as in a report: from the timed calls of their node, or from their known length. Their
 * time is taken from the enclosing zone. Zones of lanes that are not running are left out until they end.
 */
/* Indexed by site id. */
struct hp_site_times {
    uint32_t count;
    uint64_t *calls;     /* calls that have ended */
    uint64_t *ticks;     /* of ended and open calls, up to now; recursive calls count once */
    uint64_t *self;      /* of that, not in inner zones; may wrap: read it with hp_not_negative */
    uint64_t *cpu_ns;    /* CPU time from samples; not in inner zones */
    uint64_t *kernel_ns; /* of that, in the kernel */
    uint64_t *bytes;     /* allocated by calls that have ended; not in inner zones */
};

#define MOST_RECORDS 65536u
#define MOST_CHUNKS 65536u
#define MOST_OPEN 4096u /* zones per thread */
#define NODES_AT_ONCE 1024u
#define FRAMES_AT_ONCE 64u
#define CPU_NODES_AT_ONCE 64u
#define MOST_CPU_NODES 65536u  /* per thread */
#define MOST_ADDED_THREADS 64u /* with more, live bytes are those published: that many times 32 KB off at most */

struct adding {
    int session;
    struct hp_header header;
    struct hp_site_times *times;
    uint64_t now;      /* ticks; 0: its clock cannot be read here */
    uint32_t *open_in; /* by site: number of the last thread that had it open */
    uint32_t thread;   /* number of the current thread, from 1 */
};

static bool read_at(const struct adding *adding, uint64_t offset, void *to, size_t bytes)
{
    return offset >= HP_HEADER_BYTES && offset % 4 == 0 &&
           pread(adding->session, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* UINT32_MAX: no site that counts. */
static uint32_t site_of(const struct adding *adding, uint32_t node)
{
    uint32_t site;
    if (!read_at(adding, (uint64_t)node + offsetof(struct hotpath_node_, site), &site, sizeof site))
        return UINT32_MAX;
    return site < adding->times->count ? site : UINT32_MAX;
}

/* ---------------------------------------------------------------------------------------------- nodes */

/* Estimated time of all untimed calls together. */
static uint64_t untimed_ticks(const struct adding *adding, const struct hotpath_node_ *node, uint64_t ticks)
{
    uint32_t typical = 0;
    read_at(adding, (uint64_t)node->stat + offsetof(struct hotpath_stat_, typical), &typical, sizeof typical);
    const double untimed = (double)node->untimed, timed = (double)(node->calls - node->untimed);
    const double more = typical != 0 ? untimed * typical / 256 : (double)(int64_t)ticks * (untimed / timed);
    return more >= 0 && more < 0x1p63 ? (uint64_t)more : 0;
}

/* Of recursive calls the outermost are all timed. Folded nodes have lost their callers, so they are skipped. */
static void add_untimed(const struct adding *adding, const struct hotpath_node_ *node)
{
    struct hp_site_times *times = adding->times;
    if (node->untimed == 0 || node->untimed >= node->calls || node->is_folded != 0)
        return;
    const uint64_t more = untimed_ticks(adding, node, hp_less(node->total, node->nested));
    const uint32_t around = node->parent != 0 ? site_of(adding, node->parent) : UINT32_MAX;
    times->ticks[node->site] += more;
    times->self[node->site] += untimed_ticks(adding, node, node->self);
    if (around != UINT32_MAX)
        times->self[around] -= more;
}

static void add_nodes(const struct adding *adding, const struct hotpath_node_ *nodes, uint32_t count)
{
    struct hp_site_times *times = adding->times;
    for (uint32_t at = 0; at < count; at++) {
        const struct hotpath_node_ *node = &nodes[at];
        if (node->site >= times->count)
            continue;
        times->calls[node->site] += node->calls;
        times->ticks[node->site] += hp_less(node->total, node->nested);
        times->self[node->site] += node->self;
        add_untimed(adding, node);
    }
}

static void add_chunk(const struct adding *adding, uint32_t offset, const struct hp_node_chunk *chunk)
{
    static struct hotpath_node_ nodes[NODES_AT_ONCE];
    const uint32_t used = chunk->used < chunk->capacity ? chunk->used : chunk->capacity;
    for (uint32_t at = 0; at < used; at += NODES_AT_ONCE) {
        const uint32_t count = used - at < NODES_AT_ONCE ? used - at : NODES_AT_ONCE;
        const uint64_t from = (uint64_t)offset + sizeof *chunk + (uint64_t)at * sizeof nodes[0];
        if (!read_at(adding, from, nodes, count * sizeof nodes[0]))
            return;
        add_nodes(adding, nodes, count);
    }
}

static void add_all_nodes(const struct adding *adding, const struct hp_thread *record)
{
    struct hp_node_chunk chunk;
    uint32_t steps = 0;
    for (uint32_t at = record->node_chunks; at != 0 && steps < MOST_CHUNKS; at = chunk.next, steps++) {
        if (!read_at(adding, at, &chunk, sizeof chunk))
            return;
        add_chunk(adding, at, &chunk);
    }
}

/* ----------------------------------------------------------------------------------------- open zones */

/* The innermost enclosing zone so far. */
struct around {
    uint32_t site; /* UINT32_MAX: none */
    uint64_t start;
    uint64_t left; /* ticks that can have been inside it by now */
};

/* A zone begins no earlier than the enclosing one, and cannot take time that its earlier siblings have taken. */
static void add_open(struct adding *adding, struct around *around, const struct hotpath_frame_ *frame)
{
    struct hp_site_times *times = adding->times;
    const uint32_t site = site_of(adding, frame->node);
    const uint64_t start = frame->start > around->start ? frame->start : around->start;
    const uint64_t since = hp_less(adding->now, start), ticks = since < around->left ? since : around->left;
    if (site == UINT32_MAX || frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_))
        return;
    if (adding->open_in[site] != adding->thread)
        times->ticks[site] += ticks;
    adding->open_in[site] = adding->thread;
    times->self[site] += ticks - frame->child;
    if (around->site != UINT32_MAX)
        times->self[around->site] -= ticks;
    *around = (struct around){site, start, hp_less(ticks, frame->child)};
}

/* Or the time of its end, if the session has ended. */
static uint64_t ticks_now(const struct hp_header *header)
{
    if (header->state == HP_STATE_FINISHED)
        return header->clock_latest.ticks;
    const enum hp_counter counter = header->clock_kind == HP_CLOCK_MONOTONIC ? HP_COUNTER_NONE : hp_clock_counter();
    return hp_clock_kind_of(counter) == header->clock_kind ? hp_clock_ticks(counter) : 0;
}

/*
 * Frame 0 is the thread itself. Zones that have ended are added already, so an open zone can only have the rest of
 * the time around it.
 */
static void add_all_open(struct adding *adding, const struct hp_thread *record)
{
    struct hotpath_frame_ frames[FRAMES_AT_ONCE];
    struct around around = {.site = UINT32_MAX, .left = UINT64_MAX};
    const uint32_t end = record->frame_capacity < MOST_OPEN ? record->frame_capacity : MOST_OPEN;
    adding->thread++;
    adding->now = ticks_now(&adding->header);
    for (uint32_t from = 1; from < end && adding->now != 0; from += FRAMES_AT_ONCE) {
        const uint32_t count = end - from < FRAMES_AT_ONCE ? end - from : FRAMES_AT_ONCE;
        const uint64_t offset = (uint64_t)record->frames + (uint64_t)from * sizeof frames[0];
        if (!read_at(adding, offset, frames, count * sizeof frames[0]))
            return;
        for (uint32_t at = 0; at < count; at++) {
            if (frames[at].zone == 0)
                return;
            add_open(adding, &around, &frames[at]);
        }
    }
}

/* --------------------------------------------------------------------------------- CPU time and bytes */

static void add_cpu_nodes(const struct adding *adding, uint64_t from, uint32_t count)
{
    struct hp_cpu_node nodes[CPU_NODES_AT_ONCE];
    for (uint32_t at = 0; at < count; at += CPU_NODES_AT_ONCE) {
        const uint32_t some = count - at < CPU_NODES_AT_ONCE ? count - at : CPU_NODES_AT_ONCE;
        if (!read_at(adding, from + (uint64_t)at * sizeof nodes[0], nodes, some * sizeof nodes[0]))
            return;
        for (uint32_t node = 0; node < some; node++) {
            const uint32_t site = nodes[node].node != 0 ? site_of(adding, nodes[node].node) : UINT32_MAX;
            if (site == UINT32_MAX)
                continue;
            adding->times->cpu_ns[site] += nodes[node].user_ns + nodes[node].kernel_ns;
            adding->times->kernel_ns[site] += nodes[node].kernel_ns;
        }
    }
}

static void add_cpu(const struct adding *adding, const struct hp_thread *record)
{
    struct hp_cpu_thread cpu;
    struct hp_cpu_table table;
    if (record->cpu != 0 && read_at(adding, record->cpu, &cpu, sizeof cpu) && cpu.table != 0 &&
        read_at(adding, cpu.table, &table, sizeof table))
        add_cpu_nodes(adding, (uint64_t)cpu.table + sizeof table,
                      table.capacity < MOST_CPU_NODES ? table.capacity : MOST_CPU_NODES);
}

static void add_bytes(const struct adding *adding, const struct hp_thread *record)
{
    struct hotpath_stat_ stat;
    uint64_t bytes;
    uint32_t steps = 0;
    for (uint32_t at = record->stats; at != 0 && steps <= adding->times->count; at = stat.next, steps++) {
        if (!read_at(adding, at, &stat, sizeof stat))
            return;
        if (stat.alloc != 0 && stat.site < adding->times->count &&
            read_at(adding, (uint64_t)stat.alloc + offsetof(struct hp_alloc_stat, own_bytes), &bytes, sizeof bytes))
            adding->times->bytes[stat.site] += bytes;
    }
}

/* ------------------------------------------------------------------------------------------------ all */

static bool make_room(struct adding *adding)
{
    struct hp_site_times *times = adding->times;
    times->count = adding->header.site_count < HP_MAX_SITES ? adding->header.site_count : HP_MAX_SITES;
    times->calls = calloc(times->count + 1, sizeof *times->calls);
    times->ticks = calloc(times->count + 1, sizeof *times->ticks);
    times->self = calloc(times->count + 1, sizeof *times->self);
    times->cpu_ns = calloc(times->count + 1, sizeof *times->cpu_ns);
    times->kernel_ns = calloc(times->count + 1, sizeof *times->kernel_ns);
    times->bytes = calloc(times->count + 1, sizeof *times->bytes);
    adding->open_in = calloc(times->count + 1, sizeof *adding->open_in);
    return times->calls != NULL && times->ticks != NULL && times->self != NULL && times->cpu_ns != NULL &&
           times->kernel_ns != NULL && times->bytes != NULL && adding->open_in != NULL;
}

/* `session` is a file descriptor. False: it cannot be read, or no memory. Free it in either case. */
static bool site_times_read(struct hp_site_times *times, int session)
{
    struct adding adding = {.session = session, .times = times};
    struct hp_thread record;
    uint32_t steps = 0;
    *times = (struct hp_site_times){0};
    if (pread(session, &adding.header, sizeof adding.header, 0) != (ssize_t)sizeof adding.header)
        return false;
    const bool is_ready = make_room(&adding);
    for (uint32_t at = adding.header.threads; is_ready && at != 0 && steps < MOST_RECORDS;
         at = record.next, steps++) {
        if (!read_at(&adding, at, &record, sizeof record))
            break;
        add_all_nodes(&adding, &record);
        add_all_open(&adding, &record);
        add_cpu(&adding, &record);
        if (adding.header.features & HP_FEATURE_ALLOC)
            add_bytes(&adding, &record);
    }
    free(adding.open_in);
    return is_ready;
}

/* ------------------------------------------------------------------------------------------- live bytes */

/* Live bytes that threads have not added to the header's sum: all of them while there is only one thread. */
static int64_t unpublished_bytes(const struct adding *adding)
{
    struct hp_thread record;
    struct hp_alloc_thread alloc;
    int64_t sum = 0;
    uint32_t steps = 0;
    for (uint32_t at = adding->header.threads; at != 0 && steps < MOST_ADDED_THREADS; at = record.next, steps++) {
        if (!read_at(adding, at, &record, sizeof record))
            break;
        if (record.alloc != 0 && read_at(adding, record.alloc, &alloc, sizeof alloc))
            sum += hp_alloc_live(&alloc) - hp_alloc_published(&alloc);
    }
    return sum;
}

/*
 * Live bytes of the process. False: its allocations are not recorded. Read again if a thread has published
 * meanwhile: its bytes would be missing, or counted twice.
 */
static bool live_bytes_read(int session, uint64_t *ret_bytes)
{
    struct adding adding = {.session = session};
    int64_t live, published;
    if (pread(session, &adding.header, sizeof adding.header, 0) != (ssize_t)sizeof adding.header ||
        !(adding.header.features & HP_FEATURE_ALLOC))
        return false;
    unsigned tries = 0;
    do {
        published = adding.header.alloc_live;
        live = published;
        if (adding.header.thread_count <= MOST_ADDED_THREADS)
            live += unpublished_bytes(&adding);
        if (pread(session, &adding.header, sizeof adding.header, 0) != (ssize_t)sizeof adding.header)
            return false;
    } while (adding.header.alloc_live != published && ++tries < 4);
    *ret_bytes = live > 0 ? (uint64_t)live : 0;
    return true;
}

static void site_times_free(struct hp_site_times *times)
{
    free(times->calls);
    free(times->ticks);
    free(times->self);
    free(times->cpu_ns);
    free(times->kernel_ns);
    free(times->bytes);
    *times = (struct hp_site_times){0};
}

/* ---------------------------------------------------------------------------------------------------- axis feed */

#define BUSY_PERMILLE 20u /* a thread gets series if it is active for this much of a sample's time */
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
    put_of_site(feed, HP_AXIS_SITE_SELF, site, hp_not_negative(times->self[site]));
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

static void put_sites(struct hp_axis_feed *feed, uint64_t now)
{
    struct hp_site_times times;
    if (site_times_read(&times, feed->session)) {
        for (uint32_t site = 0; site < times.count; site++)
            if (hp_axis_has(&feed->writer, HP_AXIS_SITE_TICKS, site))
                put_site(feed, &times, site);
        put_new_sites(feed, &times);
        hp_heat_feed_look(&feed->heat, feed->path, feed->session, &feed->writer, feed->is_full, now);
    }
    site_times_free(&times);
}

static void put_sites_if_due(struct hp_axis_feed *feed, uint64_t now)
{
    if (now < feed->sites_ns)
        return;
    const uint64_t before = hp_clock_thread_ns();
    put_sites(feed, now);
    feed->sites_ns = now + SHARE_OF_SITES * (hp_clock_thread_ns() - before);
}

/* ------------------------------------------------------------------------------------------- the others */

static void put_process(struct hp_axis_feed *feed, const struct hp_thread_usage_watch *usage)
{
    uint64_t cpu = 0, kernel = 0, live_bytes;
    for (uint32_t at = 0; at < usage->sums.used; at++) {
        cpu += usage->rows[at].user_ns + usage->rows[at].kernel_ns;
        kernel += usage->rows[at].kernel_ns;
    }
    hp_axis_put(&feed->writer, HP_AXIS_CPU, 0, "", cpu);
    hp_axis_put(&feed->writer, HP_AXIS_KERNEL, 0, "", kernel);
    hp_axis_put(&feed->writer, HP_AXIS_RESIDENT, 0, "", usage->sums.rss_bytes);
    hp_axis_put(&feed->writer, HP_AXIS_LIVE, 0, "", usage->sums.threads);
    if (live_bytes_read(feed->session, &live_bytes))
        hp_axis_put(&feed->writer, HP_AXIS_ALLOCATED, 0, "", live_bytes);
}

/* ------------------------------------------------------------------------------------------- threads */

/* What the single thread of a row did so far. */
static struct hp_axis_thread thread_of(const struct hp_thread_usage_watch *usage, uint32_t at)
{
    const struct hp_thread_usage_row *row = &usage->rows[at];
    struct hp_axis_thread thread = {.tid = row->tid};
    uint64_t idle[HP_PARTS], *ns = thread.ns;
    memcpy(idle, usage->beside_ns[at], sizeof idle);
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
        const enum hp_activity part = hp_part_of_cause(cause);
        ns[part] += row->waited_ns[cause];
        idle[part] += hp_wait_idleness(cause) == HP_IDLE_ALWAYS ? row->waited_ns[cause] : 0;
    }
    ns[HP_PART_USER] = row->user_ns;
    ns[HP_PART_KERNEL] = row->kernel_ns;
    for (uint32_t part = 0; part < HP_PARTS; part++) {
        const uint64_t no_more = idle[part] < ns[part] ? idle[part] : ns[part];
        ns[part] -= no_more;
        ns[HP_PART_IDLE] += no_more;
        thread.active_ns += ns[part];
    }
    return thread;
}

/*
 * At its end it may turn out that some of its CPU time was in the kernel, or was not. Counters cannot fall: what
 * was told stays, and the rest is right.
 */
static void keep_told(struct hp_axis_thread *thread, const struct hp_axis_thread *before)
{
    uint64_t *user = &thread->ns[HP_PART_USER], *kernel = &thread->ns[HP_PART_KERNEL];
    const uint64_t all = *user + *kernel;
    if (*user < before->ns[HP_PART_USER])
        *user = before->ns[HP_PART_USER];
    else if (*kernel < before->ns[HP_PART_KERNEL])
        *user = hp_less(all, before->ns[HP_PART_KERNEL]);
    *kernel = hp_less(all, *user);
}

static struct hp_axis_thread *find_tracked(struct hp_axis_feed *feed, uint32_t tid)
{
    for (uint32_t at = 0; at < feed->tracked_count; at++)
        if (feed->tracked[at].tid == tid)
            return &feed->tracked[at];
    return NULL;
}

/* The id of a series of HP_AXIS_THREAD_CAUSE. */
static uint32_t cause_id(uint32_t tid, unsigned part) { return tid * HP_ALL_PARTS + part; }

static void drop_thread(struct hp_axis_feed *feed, uint32_t tid)
{
    hp_axis_drop(&feed->writer, HP_AXIS_THREAD, tid);
    for (unsigned part = 0; part < HP_ALL_PARTS; part++)
        hp_axis_drop(&feed->writer, HP_AXIS_THREAD_CAUSE, cause_id(tid, part));
}

/* A thread replaces the least active one if it was active for twice as long. NULL: no place. */
static struct hp_axis_thread *find_place(struct hp_axis_feed *feed, const struct hp_axis_thread *thread)
{
    struct hp_axis_thread *place = &feed->tracked[0];
    if (feed->tracked_count < HP_AXIS_THREADS)
        return &feed->tracked[feed->tracked_count++];
    for (uint32_t at = 1; at < HP_AXIS_THREADS; at++)
        place = feed->tracked[at].active_ns < place->active_ns ? &feed->tracked[at] : place;
    if (thread->active_ns / 2 <= place->active_ns)
        return NULL;
    drop_thread(feed, place->tid);
    return place;
}

static void put_thread(struct hp_axis_feed *feed, const char *name, const struct hp_axis_thread *before,
                       const struct hp_axis_thread *thread)
{
    hp_axis_put_since(&feed->writer, HP_AXIS_THREAD, thread->tid, name,
                      before->ns[HP_PART_USER] + before->ns[HP_PART_KERNEL],
                      thread->ns[HP_PART_USER] + thread->ns[HP_PART_KERNEL]);
    for (unsigned part = 0; part < HP_ALL_PARTS; part++)
        if (thread->ns[part] > 0)
            hp_axis_put_since(&feed->writer, HP_AXIS_THREAD_CAUSE, cause_id(thread->tid, part), "",
                              before->ns[part], thread->ns[part]);
}

/* A row whose thread was not there at the last sample has a new thread, which had done nothing by then. */
static struct hp_axis_thread before_of(const struct hp_axis_feed *feed, const struct hp_thread_usage_watch *usage,
                                       uint32_t at)
{
    const struct hp_axis_thread none = {.tid = usage->rows[at].tid};
    return feed->rows[at].tid == none.tid ? feed->rows[at] : none;
}

/* Threads get series when they are active for a part of a sample's time. */
static void put_threads(struct hp_axis_feed *feed, const struct hp_thread_usage_watch *usage)
{
    for (uint32_t at = 0; at < usage->sums.used; at++) {
        const struct hp_thread_usage_row *row = &usage->rows[at];
        if (row->threads != 1)
            continue;
        const struct hp_axis_thread before = before_of(feed, usage, at);
        struct hp_axis_thread thread = thread_of(usage, at);
        keep_told(&thread, &before);
        struct hp_axis_thread *place = find_tracked(feed, row->tid);
        feed->rows[at] = thread;
        if (place == NULL &&
            hp_less(thread.active_ns, before.active_ns) >= HP_THREAD_USAGE_PERIOD_NS / 1000 * BUSY_PERMILLE)
            place = find_place(feed, &thread);
        if (place == NULL)
            continue;
        *place = thread;
        put_thread(feed, row->name, &before, &thread);
    }
}

/* What tracked threads did until the end. */
static void put_thread_ends(struct hp_axis_feed *feed, const struct hp_thread_usage_watch *usage)
{
    for (uint32_t at = 0; at < usage->sums.used; at++) {
        const struct hp_thread_usage_row *row = &usage->rows[at];
        if (row->threads != 1 || find_tracked(feed, row->tid) == NULL)
            continue;
        const struct hp_axis_thread before = before_of(feed, usage, at);
        struct hp_axis_thread thread = thread_of(usage, at);
        keep_told(&thread, &before);
        put_thread(feed, row->name, &before, &thread);
    }
}

/* ------------------------------------------------------------------------------------------- waits */

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

static void put_work(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler)
{
    const struct hp_work_times own = hp_work_times(&sampler->work);
    const struct hp_work_times *work = sampler->target.work != NULL ? sampler->target.work : &own;
    const uint64_t times[] = {work->covered_ns, work->worked_ns, work->blocked_ns, work->socket_ns};
    for (uint32_t at = 0; at < sizeof times / sizeof times[0]; at++)
        hp_axis_put(&feed->writer, HP_AXIS_WORK, at, "", times[at]);
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
    const struct hp_thread_usage *sums = &sampler->usage.sums;
    if (feed->path[0] == '\0' || sums->samples < 2 || sums->sampled_ns == feed->fed_ns)
        return;
    feed->fed_ns = sums->sampled_ns;
    if (!feed->is_open && !open_file(feed)) {
        feed->path[0] = '\0';
        return;
    }
    feed->is_open = true;
    put_process(feed, &sampler->usage);
    put_threads(feed, &sampler->usage);
    put_waits(feed, sampler);
    put_places(feed, sampler);
    put_work(feed, sampler);
    put_sites_if_due(feed, sums->sampled_ns);
    /* Without disk space, the run goes on without a time axis. */
    if (!hp_axis_write(&feed->writer, sums->sampled_ns))
        hp_axis_feed_end(feed, NULL);
}

/* Writes what came after the last sample. */
static void put_end(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler)
{
    put_thread_ends(feed, &sampler->usage);
    put_waits(feed, sampler);
    put_places(feed, sampler);
    put_work(feed, sampler);
    const uint64_t now = hp_clock_monotonic_ns();
    put_sites(feed, now);
    hp_axis_amend(&feed->writer, now);
}

void hp_axis_feed_end(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler)
{
    if (feed->is_open && sampler != NULL)
        put_end(feed, sampler);
    if (feed->is_open)
        close(feed->writer.fd);
    hp_heat_feed_end(&feed->heat);
    feed->is_open = false;
    feed->path[0] = '\0';
}
