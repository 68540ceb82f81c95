/*
 * Reads sampled allocations from rings.
 *
 * A ring is found by its name in the folder, read until its process has ended, and then removed. Runs can have
 * thousands of processes, so at most one descriptor per live process is open. SPDX-License-Identifier: MIT
 */
#include "sources.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "event_queue.h"
#include "growing_array.h"
#include "process.h"
#include "ring_reader.h"
#include "space_table.h"
#include "text.h"

#define ALIVE_NS UINT64_C(200000000) /* between two checks whether a process is alive */
#define WORDS_OF_ALLOCATION 6u
#define WORDS_OF_FREE 2u

struct ring {
    struct hp_ring_reader reader;
    uint32_t number;        /* unique among all rings, from 1 */
    uint32_t session;       /* the session of its threads' zones */
    uint64_t process_start; /* 0: it has ended already */
    uint64_t asked_ns, latest_ns;
    char path[1300];
};

static struct {
    char folder[1000]; /* "": not started */
    struct timespec changed;
    bool is_unready; /* a file was there that is not a ring yet */
    bool needs_maps; /* no other source reports mappings */
    struct ring **rings;
    size_t count, room;
    uint32_t numbers;
    uint64_t lost;
    struct hp_event **gathered; /* of all rings, not delivered yet */
    size_t gathered_count, gathered_room;
} source;

/* ------------------------------------------------------------------------------------------------------ finding */

static bool is_open(const char *path)
{
    for (size_t at = 0; at < source.count; at++)
        if (strcmp(source.rings[at]->path, path) == 0)
            return true;
    return false;
}

/* Without kernel events, reads the mappings before the process can end. The collector asks for later ones. */
static void tell_maps(const struct ring *ring)
{
    char *text = source.needs_maps ? hp_process_maps(ring->reader.header.pid) : NULL;
    /* With time 0 it comes before everything in its ring. */
    struct hp_event *event = text != NULL ? hp_event_new(HP_EVENT_MAPS, 0, strlen(text) + 1) : NULL;
    if (event != NULL) {
        event->pid = ring->reader.header.pid;
        hp_event_set_path(event, hp_event_more(event), text, strlen(text));
        hp_event_put(HP_EVENT_BY_HEAP, event);
    }
    free(text);
}

/* The ring's name is the session's with a suffix. */
static uint32_t session_of(const char *path)
{
    const char *name = hp_text_base_name(path);
    char session[64];
    snprintf(session, sizeof session, "%.*s", (int)(strlen(name) - strlen(HP_HEAP_RING_SUFFIX)), name);
    return hp_session_number(session);
}

static void open_ring(const char *path)
{
    struct ring *ring = HP_MAKE_ROOM(source.rings, source.count + 1, source.room) ? calloc(1, sizeof *ring) : NULL;
    if (ring == NULL)
        return;
    snprintf(ring->path, sizeof ring->path, "%s", path);
    if (!hp_ring_reader_open(&ring->reader, path)) {
        source.is_unready |= errno == EAGAIN || errno == EMFILE;
        free(ring);
        return;
    }
    ring->number = ++source.numbers;
    ring->session = session_of(path);
    ring->process_start = hp_process_start_time(ring->reader.header.pid);
    tell_maps(ring);
    source.rings[source.count++] = ring;
}

/* Only if the folder has changed since. */
static void find_rings(void)
{
    struct stat status;
    if (stat(source.folder, &status) != 0)
        return;
    if (!source.is_unready && memcmp(&status.st_mtim, &source.changed, sizeof source.changed) == 0)
        return;
    DIR *listing = opendir(source.folder);
    if (listing == NULL)
        return;
    source.is_unready = false;
    source.changed = status.st_mtim;
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char path[sizeof source.folder + sizeof entry->d_name + 1];
        snprintf(path, sizeof path, "%s/%s", source.folder, entry->d_name);
        if (hp_text_has_suffix(entry->d_name, HP_HEAP_RING_SUFFIX) && !is_open(path) &&
            !hp_failed_ring_take(HP_RING_OF_HEAP, path))
            open_ring(path);
    }
    closedir(listing);
}

/* ---------------------------------------------------------------------------------------------------- gathering */

/*
 * Events of all rings are delivered as one queue, sorted by time: otherwise samples of a process could wait behind
 * later ones of another until the process is forgotten.
 */
static void gather(struct hp_event *event)
{
    if (!HP_MAKE_ROOM(source.gathered, source.gathered_count + 1, source.gathered_room)) {
        hp_event_put(HP_EVENT_BY_HEAP, event);
        return;
    }
    source.gathered[source.gathered_count++] = event;
}

/* Events of one ring arrive in order; their numbers break ties. */
static int by_time(const void *a, const void *b)
{
    const struct hp_event *x = *(struct hp_event *const *)a, *y = *(struct hp_event *const *)b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void put_gathered(void)
{
    if (source.gathered_count == 0)
        return;
    for (size_t at = 0; at < source.gathered_count; at++)
        source.gathered[at]->order = at;
    qsort(source.gathered, source.gathered_count, sizeof(struct hp_event *), by_time);
    for (size_t at = 0; at < source.gathered_count; at++)
        hp_event_put(HP_EVENT_BY_HEAP, source.gathered[at]);
    source.gathered_count = 0;
}

/* ------------------------------------------------------------------------------------------------------ reading */

/* Keeps the order of the ring, whatever the clock says. */
static struct hp_event *new_seen(struct ring *ring, const struct hp_ring_record *record, enum hp_event_kind kind,
                                 size_t more_bytes)
{
    if (record->head->ns > ring->latest_ns)
        ring->latest_ns = record->head->ns;
    struct hp_event *event = hp_event_new(kind, ring->latest_ns, more_bytes);
    if (event == NULL)
        return NULL;
    event->pid = ring->reader.header.pid;
    event->tid = record->head->thread_id;
    event->heap = ring->number;
    return event;
}

static void set_registers(struct hp_event *event, const struct hp_ring_record *record)
{
    for (unsigned number = 0, at = 0; number < HP_REGISTERS; number++)
        if (record->head->known >> number & 1)
            hp_register_set(&event->registers, number, record->registers[at++]);
}

static void take_allocation(struct ring *ring, const struct hp_ring_record *record)
{
    const size_t stack_bytes = record->head->stack_bytes;
    struct hp_event *event =
        record->head->words == WORDS_OF_ALLOCATION ? new_seen(ring, record, HP_EVENT_ALLOCATED, stack_bytes) : NULL;
    if (event == NULL) {
        source.lost++;
        return;
    }
    event->block = (uint32_t)record->words[0];
    event->session = ring->session;
    event->site = record->head->zone;
    event->bytes_asked = record->words[1];
    event->mean = record->words[2];
    event->place = record->words[3];
    event->live_bytes = record->words[4];
    event->heap_mean = record->words[5];
    set_registers(event, record);
    event->stack = memcpy(hp_event_more(event), record->stack, stack_bytes);
    event->stack_bytes = stack_bytes;
    gather(event);
}

static void take_freed(struct ring *ring, const struct hp_ring_record *record)
{
    struct hp_event *event =
        record->head->words == WORDS_OF_FREE ? new_seen(ring, record, HP_EVENT_FREED, 0) : NULL;
    if (event == NULL)
        return;
    event->block = (uint32_t)record->words[0];
    event->live_bytes = record->words[1];
    gather(event);
}

static void take(void *context, const struct hp_ring_record *record)
{
    if (record->head->kind == HP_STACK_ALLOCATION)
        take_allocation(context, record);
    else if (record->head->kind == HP_STACK_FREED)
        take_freed(context, record);
}

/* Checked before reading: what a process wrote before it ended is still read. */
static bool is_over(struct ring *ring, uint64_t now)
{
    if (now - ring->asked_ns < ALIVE_NS)
        return false;
    ring->asked_ns = now;
    return ring->process_start == 0 || hp_process_start_time(ring->reader.header.pid) != ring->process_start;
}

static void close_ring(struct ring *ring)
{
    unlink(ring->path);
    hp_ring_reader_close(&ring->reader);
    free(ring);
}

/* True: its process has ended, and the ring is removed. */
static bool read_ring(struct ring *ring, bool is_last)
{
    const bool is_end = is_last || is_over(ring, hp_clock_monotonic_ns());
    if (is_last)
        hp_ring_reader_tell(&ring->reader, HP_RING_UNREAD);
    source.lost += hp_ring_reader_read(&ring->reader, is_end, take, ring);
    if (is_end)
        close_ring(ring);
    return is_end;
}

void hp_heap_source_begin(const char *folder)
{
    snprintf(source.folder, sizeof source.folder, "%s", folder);
    source.is_unready = true;
}

void hp_heap_source_need_maps(void) { source.needs_maps = true; }

uint64_t hp_heap_source_read(bool is_last)
{
    if (source.folder[0] == '\0')
        return 0;
    find_rings();
    size_t left = 0;
    for (size_t at = 0; at < source.count; at++)
        if (!read_ring(source.rings[at], is_last))
            source.rings[left++] = source.rings[at];
    source.count = left;
    put_gathered();
    const uint64_t lost = source.lost;
    source.lost = 0;
    if (is_last) {
        free(source.rings);
        free(source.gathered);
        memset(&source, 0, sizeof source);
    }
    return lost;
}
