/*
 * One thread. A ring names its process, which has the ring mapped as long as it runs the program that made it: so
 * what /proc says of its memory is valid only if the ring is mapped there. After exec it is not, and the ring has
 * ended. Memory that was lent for a ring (os/lending.h) is there a moment before it is mapped: it is read from then
 * on. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* syscall */
#include "sources.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "event_queue.h"
#include "files.h"
#include "process.h"
#include "quiet_thread.h"
#include "ring_reader.h"
#include "space_table.h"
#include "text.h"

#define MOST_RINGS 256u /* at a time; further ones wait for a free place */
#define READ_MS 10
#define SCAN_MS 50                  /* if inotify is not available */
#define LOOK_NS UINT64_C(20000000)  /* minimum time between two readings of a process's mappings */
#define LOOKS_SHARE 100u            /* also at least this many times what a reading takes */
#define LIFE_NS UINT64_C(100000000) /* between two checks whether it is alive */
#define MOST_PATH 1200u
#define MOST_ROUNDS 256u /* at the end; a file that cannot be removed would be found forever */

struct ring {
    char name[64];
    uint32_t session; /* hp_session_number; 0: it has no zones */
    struct hp_ring_reader reader;
    uint64_t process_start;
    uint64_t maps_hash; /* of the last maps reported; 0: none */
    uint64_t looked_ns, look_takes_ns, lived_ns;
    bool has_news; /* records since the last reading */
    bool is_over;  /* its process has ended, or runs another program */
    bool is_confined;
};

static struct {
    struct hp_quiet_thread thread;
    int news; /* inotify; -1: none */
    char folder[MOST_PATH];
    struct ring *rings[MOST_RINGS];
    size_t count;
    bool is_crowded; /* there was no place for a ring */
    bool is_guest;   /* the rings have another reader */
    uint64_t weight_ns, used_before_ns, refused;
    uint64_t confinement; /* of this process */
} source;

/* ------------------------------------------------------------------------------------------------------ records */

static void take_cpu_sample(const struct ring *ring, const struct hp_ring_record *record)
{
    const struct hp_stack_record *head = record->head;
    struct hp_event *event = hp_event_new(HP_EVENT_SAMPLE, head->ns, head->stack_bytes);
    if (event == NULL)
        return;
    const uint64_t *value = record->registers;
    for (unsigned number = 0; number < HP_REGISTERS; number++)
        if (head->known >> number & 1)
            hp_register_set(&event->registers, number, *value++);
    event->pid = ring->reader.header.pid;
    event->tid = head->thread_id;
    event->processor = HP_EVENT_NO_PROCESSOR;
    event->weight_ns = head->weight;
    event->session = ring->session;
    event->site = head->zone;
    event->is_kernel = head->flags & HP_STACK_IN_KERNEL;
    event->stack = memcpy(hp_event_more(event), record->stack, head->stack_bytes);
    event->stack_bytes = head->stack_bytes;
    hp_event_put(HP_EVENT_BY_RINGS, event);
    source.weight_ns += head->weight;
}

static void take_record(void *context, const struct hp_ring_record *record)
{
    struct ring *ring = context;
    ring->has_news = true;
    if (ring->maps_hash == 0)
        hp_event_drop(1); /* it ended before its mappings could be read */
    else if (record->head->kind == HP_STACK_CPU)
        take_cpu_sample(ring, record);
}

static void read_ring(struct ring *ring, bool is_last)
{
    const uint64_t lost = hp_ring_reader_read(&ring->reader, is_last, take_record, ring);
    if (lost > 0)
        hp_event_drop(lost);
}

/* --------------------------------------------------------------------------------------------------- mappings */

static void tell_maps(struct ring *ring, const char *text, uint64_t now)
{
    const size_t length = strlen(text);
    const uint64_t hash = hp_text_hash(text, length) | 1;
    if (hash == ring->maps_hash)
        return;
    struct hp_event *event = hp_event_new(HP_EVENT_MAPS, now, length + 1);
    if (event == NULL)
        return;
    event->pid = ring->reader.header.pid;
    hp_event_set_path(event, hp_event_more(event), text, length);
    hp_event_put(HP_EVENT_BY_RINGS, event);
    ring->maps_hash = hash;
}

/* Keeps only lines of code: the others change all the time. In place. */
static void leave_code_only(char *text)
{
    char *to = text;
    for (char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n"), whole = length + (line[length] != '\0');
        const char *blank = memchr(line, ' ', length);
        if (blank != NULL && line + length - blank > 4 && blank[3] == 'x') {
            memmove(to, line, whole);
            to += whole;
        }
        line += whole;
    }
    *to = '\0';
}

/* Samples read before this belong to the program that the process ran until now. */
static void look_at_maps(struct ring *ring)
{
    const uint64_t before = hp_clock_monotonic_ns();
    char *text = hp_process_maps(ring->reader.header.pid);
    if (text != NULL && strstr(text, ring->name) == NULL) {
        ring->is_over = ring->maps_hash != 0;
    } else if (text != NULL) {
        leave_code_only(text);
        tell_maps(ring, text, before);
    }
    free(text);
    ring->looked_ns = hp_clock_monotonic_ns();
    ring->look_takes_ns = ring->looked_ns - before;
    ring->has_news = false;
}

/* In a sandbox that was not announced, samples must not make system calls. */
static void look_at_confinement(struct ring *ring)
{
    if (ring->is_confined || hp_task_confinement(ring->reader.header.pid) <= source.confinement)
        return;
    ring->is_confined = true;
    hp_ring_reader_tell(&ring->reader, HP_RING_CONFINED);
}

static void look_at_life(struct ring *ring, uint64_t now)
{
    uint64_t start = 0;
    const char state = hp_task_state(ring->reader.header.pid, 0, &start);
    ring->lived_ns = now;
    ring->is_over |= state == 'X' || state == 'Z' || start != ring->process_start;
}

static void look_at(struct ring *ring)
{
    const uint64_t now = hp_clock_monotonic_ns();
    const uint64_t pause =
        LOOKS_SHARE * ring->look_takes_ns > LOOK_NS ? LOOKS_SHARE * ring->look_takes_ns : LOOK_NS;
    const bool is_new = ring->maps_hash == 0;
    if ((ring->has_news || is_new) && now - ring->looked_ns >= (is_new ? READ_MS * UINT64_C(1000000) : pause)) {
        look_at_maps(ring);
        look_at_confinement(ring);
    }
    if (now - ring->lived_ns >= LIFE_NS)
        look_at_life(ring, now);
}

/* -------------------------------------------------------------------------------------------------------- rings */

#define MOST_WHOLE_PATH ((size_t)2 * MOST_PATH)

static void path_of(char path[MOST_WHOLE_PATH], const char *name)
{
    snprintf(path, MOST_WHOLE_PATH, "%s/%s", source.folder, name);
}

static uint64_t refused_by(const struct ring *ring)
{
    uint64_t refused = 0;
    (void)!pread(ring->reader.fd, &refused, sizeof refused, (off_t)offsetof(struct hp_stack_ring_header, refused));
    return refused;
}

/* A process that goes on is told that its ring has no reader. */
static void end_ring(size_t at)
{
    struct ring *ring = source.rings[at];
    char path[MOST_WHOLE_PATH];
    path_of(path, ring->name);
    read_ring(ring, true);
    source.refused += refused_by(ring);
    hp_ring_reader_tell(&ring->reader, HP_RING_UNREAD);
    hp_ring_reader_close(&ring->reader);
    if (!source.is_guest)
        unlink(path);
    free(ring);
    source.rings[at] = source.rings[--source.count];
}

/* The same process may run another program now. */
static void end_earlier(uint32_t pid)
{
    for (size_t at = 0; at < source.count;) {
        struct ring *ring = source.rings[at];
        if (ring->reader.header.pid == pid)
            look_at_maps(ring);
        if (ring->reader.header.pid == pid && ring->is_over)
            end_ring(at);
        else
            at++;
    }
}

/* The session of a recorder, which knows zones: the ring's name is the session's with a suffix. 0: none. */
static uint32_t session_of(const char *ring)
{
    const size_t length = strlen(ring) - strlen(HP_STACK_RING_SUFFIX);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, ring);
    if (strchr(name, '.') == NULL)
        return 0;
    return hp_session_number(name);
}

static bool is_known(const char *name)
{
    for (size_t at = 0; at < source.count; at++)
        if (strcmp(source.rings[at]->name, name) == 0)
            return true;
    return false;
}

static void meet_ring(const char *name, void *unused)
{
    char path[MOST_WHOLE_PATH];
    (void)unused;
    if (!hp_text_has_suffix(name, HP_STACK_RING_SUFFIX) || strlen(name) >= sizeof((struct ring *)0)->name ||
        is_known(name))
        return;
    source.is_crowded |= source.count == MOST_RINGS;
    if (source.count == MOST_RINGS)
        return;
    struct ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return;
    memcpy(ring->name, name, strlen(name) + 1);
    path_of(path, name);
    if ((!source.is_guest && hp_failed_ring_take(HP_RING_OF_SAMPLES, path)) ||
        !hp_ring_reader_open(&ring->reader, path)) {
        free(ring); /* it could not be made, is not ready, or is not a ring */
        return;
    }
    if (source.is_guest)
        hp_ring_reader_visit(&ring->reader);
    end_earlier(ring->reader.header.pid);
    ring->session = session_of(name);
    hp_task_state(ring->reader.header.pid, 0, &ring->process_start);
    look_at_maps(ring);
    source.rings[source.count++] = ring;
}

/* --------------------------------------------------------------------------------------------------- the thread */

static void scan(void)
{
    source.is_crowded = false;
    hp_file_each(source.folder, meet_ring, NULL);
}

static void read_all(void)
{
    for (size_t at = 0; at < source.count;) {
        struct ring *ring = source.rings[at];
        if (ring->maps_hash != 0)
            read_ring(ring, false);
        look_at(ring);
        if (ring->is_over)
            end_ring(at);
        else
            at++;
    }
}

/* Files that are ready, which stack_ring.c signals. If events were lost, the whole folder is scanned. */
static void take_news(const char *events, size_t length)
{
    for (size_t at = 0; at + sizeof(struct inotify_event) <= length;) {
        const struct inotify_event *event = (const struct inotify_event *)(const void *)(events + at);
        if (event->mask & IN_Q_OVERFLOW)
            scan();
        else if (event->len > 0)
            meet_ring(event->name, NULL);
        at += sizeof *event + event->len;
    }
}

static void read_news(void)
{
    _Alignas(struct inotify_event) char events[4096];
    ssize_t length;
    while (source.news >= 0 && (length = read(source.news, events, sizeof events)) > 0)
        take_news(events, (size_t)length);
}

static void *watch_rings(void *unused)
{
    struct pollfd files[] = {{.fd = source.thread.wake, .events = POLLIN}, {.fd = source.news, .events = POLLIN}};
    while (!hp_quiet_thread_is_over(&source.thread)) {
        poll(files, 2, source.count > 0 ? READ_MS : SCAN_MS);
        read_news();
        if (source.news < 0 || source.is_crowded)
            scan();
        read_all();
    }
    return unused;
}

/* ---------------------------------------------------------------------------------------------------- the run */

static uint64_t used_by_children(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used) != 0)
        return 0;
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * UINT64_C(1000000000) +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * UINT64_C(1000);
}

static void close_news(void)
{
    if (source.news >= 0)
        close(source.news);
    source.news = -1;
}

static bool begin(const char *folder, bool is_guest)
{
    if (!HP_STACK_RING_WORKS || strlen(folder) >= sizeof source.folder)
        return false;
    memcpy(source.folder, folder, strlen(folder) + 1);
    source.is_guest = is_guest;
    source.news = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (source.news >= 0)
        inotify_add_watch(source.news, folder, IN_ATTRIB);
    source.weight_ns = source.refused = 0;
    source.used_before_ns = used_by_children();
    source.confinement = hp_task_confinement((uint32_t)getpid());
    if (is_guest)
        scan(); /* its rings are there already */
    if (hp_quiet_thread_start(&source.thread, watch_rings))
        return true;
    close_news();
    return false;
}

bool hp_ring_source_begin(const char *folder) { return begin(folder, false); }

bool hp_ring_source_visit(const char *folder) { return begin(folder, true); }

/* Each round takes those that had found no place. */
static void end_all(void)
{
    source.is_crowded = !source.is_guest;
    for (unsigned round = 0; source.is_crowded && round < MOST_ROUNDS; round++) {
        scan();
        while (source.count > 0)
            end_ring(source.count - 1);
    }
}

void hp_ring_source_end(void)
{
    if (!source.thread.is_begun)
        return;
    hp_quiet_thread_stop(&source.thread);
    end_all();
    while (source.count > 0)
        end_ring(source.count - 1);
    close_news();
}

uint64_t hp_ring_source_unsampled_ns(void)
{
    const uint64_t used = used_by_children() - source.used_before_ns;
    return used > source.weight_ns ? used - source.weight_ns : 0;
}

uint64_t hp_ring_source_refused(void) { return source.refused; }
