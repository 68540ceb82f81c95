/* The queues of events. SPDX-License-Identifier: MIT */
#include "seen.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WAITING (UINT64_C(96) << 20) /* bytes; beyond this, events are dropped and counted */

/* A queue, sorted by time. */
struct line {
    struct hp_seen *first, *last;
};

static struct {
    pthread_mutex_t lock;
    struct line lines[HP_SEEN_LINES];
    uint64_t waiting_bytes, dropped;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool takes_room(enum hp_seen_kind kind)
{
    return kind == HP_SEEN_SAMPLE || kind == HP_SEEN_WAITING || kind == HP_SEEN_ALLOCATED;
}

static bool make_room(enum hp_seen_kind kind, size_t bytes)
{
    pthread_mutex_lock(&all.lock);
    const bool has_room = all.waiting_bytes < MOST_WAITING || !takes_room(kind);
    if (has_room)
        all.waiting_bytes += bytes;
    pthread_mutex_unlock(&all.lock);
    return has_room;
}

struct hp_seen *hp_seen_new(enum hp_seen_kind kind, uint64_t ns, size_t more_bytes)
{
    const size_t bytes = sizeof(struct hp_seen) + more_bytes;
    struct hp_seen *seen = malloc(bytes);
    if (seen == NULL || !make_room(kind, bytes)) {
        free(seen);
        hp_seen_drop(kind == HP_SEEN_SAMPLE);
        return NULL;
    }
    *seen = (struct hp_seen){.kind = kind, .ns = ns, .bytes = bytes};
    return seen;
}

void *hp_seen_more(struct hp_seen *seen) { return seen + 1; }

void hp_seen_set_path(struct hp_seen *seen, void *to, const char *text, size_t size)
{
    char *path = to;
    const size_t length = strnlen(text, size);
    memcpy(path, text, length);
    path[length] = '\0';
    seen->path = path;
}

void hp_seen_put(size_t line, struct hp_seen *seen)
{
    struct line *its = &all.lines[line];
    pthread_mutex_lock(&all.lock);
    *(its->first == NULL ? &its->first : &its->last->next) = seen;
    its->last = seen;
    pthread_mutex_unlock(&all.lock);
}

void hp_seen_drop(uint64_t count)
{
    pthread_mutex_lock(&all.lock);
    all.dropped += count;
    pthread_mutex_unlock(&all.lock);
}

/* ---------------------------------------------------------------------------------------------- taking */

static struct line *earliest(uint64_t until)
{
    struct line *best = NULL;
    for (size_t at = 0; at < HP_SEEN_LINES; at++) {
        struct line *line = &all.lines[at];
        if (line->first != NULL && line->first->ns <= until && (best == NULL || line->first->ns < best->first->ns))
            best = line;
    }
    return best;
}

static struct hp_seen *take_first(struct line *line)
{
    struct hp_seen *seen = line->first;
    line->first = seen->next;
    all.waiting_bytes -= seen->bytes;
    seen->next = NULL;
    return seen;
}

static struct hp_seen *tell_dropped(uint64_t ns)
{
    struct hp_seen *seen = all.dropped > 0 ? malloc(sizeof *seen) : NULL;
    if (seen == NULL)
        return NULL;
    *seen = (struct hp_seen){.kind = HP_SEEN_LOST, .ns = ns, .lost = all.dropped};
    all.dropped = 0;
    return seen;
}

struct hp_seen *hp_seen_take(uint64_t until_ns)
{
    struct hp_seen *first = NULL, **end = &first;
    pthread_mutex_lock(&all.lock);
    for (struct line *line = earliest(until_ns); line != NULL; line = earliest(until_ns)) {
        *end = take_first(line);
        end = &(*end)->next;
    }
    *end = tell_dropped(until_ns);
    pthread_mutex_unlock(&all.lock);
    return first;
}
