/* The queues of events, and the numbers of sessions. SPDX-License-Identifier: MIT */
#include "event_queue.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

/* ------------------------------------------------------------------------------------------------------- queues */

#define MOST_WAITING (UINT64_C(96) << 20) /* bytes; beyond this, events are dropped and counted */

/* A queue, sorted by time. */
struct line {
    struct hp_event *first, *last;
};

static struct {
    pthread_mutex_t lock;
    struct line lines[HP_EVENT_LINES];
    uint64_t waiting_bytes, dropped;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool takes_room(enum hp_event_kind kind)
{
    return kind == HP_EVENT_SAMPLE || kind == HP_EVENT_WAITING || kind == HP_EVENT_ALLOCATED;
}

static bool make_room(enum hp_event_kind kind, size_t bytes)
{
    pthread_mutex_lock(&all.lock);
    const bool has_room = all.waiting_bytes < MOST_WAITING || !takes_room(kind);
    if (has_room)
        all.waiting_bytes += bytes;
    pthread_mutex_unlock(&all.lock);
    return has_room;
}

struct hp_event *hp_event_new(enum hp_event_kind kind, uint64_t ns, size_t more_bytes)
{
    const size_t bytes = sizeof(struct hp_event) + more_bytes;
    struct hp_event *event = malloc(bytes);
    if (event == NULL || !make_room(kind, bytes)) {
        free(event);
        hp_event_drop(kind == HP_EVENT_SAMPLE);
        return NULL;
    }
    *event = (struct hp_event){.kind = kind, .ns = ns, .bytes = bytes};
    return event;
}

void *hp_event_more(struct hp_event *event) { return event + 1; }

void hp_event_set_path(struct hp_event *event, void *to, const char *text, size_t size)
{
    char *path = to;
    const size_t length = strnlen(text, size);
    memcpy(path, text, length);
    path[length] = '\0';
    event->path = path;
}

void hp_event_put(size_t line, struct hp_event *event)
{
    struct line *its = &all.lines[line];
    pthread_mutex_lock(&all.lock);
    *(its->first == NULL ? &its->first : &its->last->next) = event;
    its->last = event;
    pthread_mutex_unlock(&all.lock);
}

void hp_event_drop(uint64_t count)
{
    pthread_mutex_lock(&all.lock);
    all.dropped += count;
    pthread_mutex_unlock(&all.lock);
}

/* ---------------------------------------------------------------------------------------------- taking */

static struct line *earliest(uint64_t until)
{
    struct line *best = NULL;
    for (size_t at = 0; at < HP_EVENT_LINES; at++) {
        struct line *line = &all.lines[at];
        if (line->first != NULL && line->first->ns <= until && (best == NULL || line->first->ns < best->first->ns))
            best = line;
    }
    return best;
}

static struct hp_event *take_first(struct line *line)
{
    struct hp_event *event = line->first;
    line->first = event->next;
    all.waiting_bytes -= event->bytes;
    event->next = NULL;
    return event;
}

static struct hp_event *tell_dropped(uint64_t ns)
{
    struct hp_event *event = all.dropped > 0 ? malloc(sizeof *event) : NULL;
    if (event == NULL)
        return NULL;
    *event = (struct hp_event){.kind = HP_EVENT_LOST, .ns = ns, .lost = all.dropped};
    all.dropped = 0;
    return event;
}

struct hp_event *hp_event_take(uint64_t until_ns)
{
    struct hp_event *first = NULL, **end = &first;
    pthread_mutex_lock(&all.lock);
    for (struct line *line = earliest(until_ns); line != NULL; line = earliest(until_ns)) {
        *end = take_first(line);
        end = &(*end)->next;
    }
    *end = tell_dropped(until_ns);
    pthread_mutex_unlock(&all.lock);
    return first;
}

/* ----------------------------------------------------------------------------------------------------- sessions */

#define MOST_NAME 64u

static struct {
    pthread_mutex_t lock;
    char **names;
    size_t count, room;
} sessions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The last ones first: they are looked up most. */
static uint32_t find(const char *name)
{
    size_t at = sessions.count;
    while (at > 0 && strcmp(sessions.names[at - 1], name) != 0)
        at--;
    return (uint32_t)at;
}

static uint32_t add(const char *name, size_t length)
{
    if (!HP_MAKE_ROOM(sessions.names, sessions.count + 1, sessions.room))
        return 0;
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return 0;
    sessions.names[sessions.count++] = memcpy(copy, name, length + 1);
    return (uint32_t)sessions.count;
}

/* Called once for each ring, heap and watched process. */
uint32_t hp_session_number(const char *name)
{
    const size_t length = strlen(name);
    if (length >= MOST_NAME)
        return 0;
    pthread_mutex_lock(&sessions.lock);
    const uint32_t known = find(name), number = known != 0 ? known : add(name, length);
    pthread_mutex_unlock(&sessions.lock);
    return number;
}

const char *hp_session_of_number(uint32_t number)
{
    pthread_mutex_lock(&sessions.lock);
    const char *name = number > 0 && number <= sessions.count ? sessions.names[number - 1] : NULL;
    pthread_mutex_unlock(&sessions.lock);
    return name;
}

void hp_session_numbers_free(void)
{
    for (size_t at = 0; at < sessions.count; at++)
        free(sessions.names[at]);
    free(sessions.names);
    sessions.names = NULL;
    sessions.count = sessions.room = 0;
}
