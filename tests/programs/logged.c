/*
 * Things that are logged one by one: messages, items, tasks, values. Run with HOTPATH_LOG.
 *
 *   logged messages N KILLED  2 senders and 2 receivers, N messages in all, each with a text; says which messages
 *                             each thread sent or received last, and how long these were inside by its own clock;
 *                             ends by SIGKILL if KILLED is 1
 *   logged storm              the same without an end
 *   logged read TIMES         the same, while the process reports itself TIMES times and checks what it reads
 *   logged things             a few items, values and tasks with known numbers
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#define CAPACITY 64
#define LATEST 50

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t ids[CAPACITY];
    unsigned first, length;
    uint64_t sent, received, most;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static pthread_barrier_t all_there;

/* When messages were sent, by their ids modulo what cannot be inside at once: before and after the macro. */
static struct {
    uint64_t before, after;
} sending[4 * CAPACITY];

struct handled {
    uint64_t id, least_ns, most_ns;
};

/* One of the four. */
struct side {
    pthread_t thread;
    bool is_sender;
    int tid;
    uint64_t count;
    struct handled latest[LATEST];
};

/* What a message is: all of it follows from its id. */
static uint64_t bytes_of(uint64_t id) { return id % 1000 + 1; }

static void note(struct side *side, uint64_t id, uint64_t least_ns, uint64_t most_ns)
{
    side->latest[side->count++ % LATEST] = (struct handled){id, least_ns, most_ns};
}

static bool send_one(struct side *side)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.length == CAPACITY && queue.sent < queue.most)
        pthread_cond_wait(&queue.changed, &queue.lock);
    const bool is_sent = queue.sent < queue.most;
    if (is_sent) {
        const uint64_t id = ++queue.sent;
        queue.ids[(queue.first + queue.length++) % CAPACITY] = id;
        sending[id % (4 * CAPACITY)].before = now_ns();
        HOTPATH_CHANNEL_SENT("messages", &queue, 1, bytes_of(id), -1, id);
        HOTPATH_CHANNEL_TEXT("messages", &queue, "m%llu %llu", (unsigned long long)id,
                             (unsigned long long)(id * 2654435761 % 4294967296));
        sending[id % (4 * CAPACITY)].after = now_ns();
        note(side, id, 0, 0);
    }
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return is_sent;
}

static bool receive_one(struct side *side)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.length == 0 && queue.received < queue.most)
        pthread_cond_wait(&queue.changed, &queue.lock);
    const bool is_there = queue.length > 0;
    if (is_there) {
        const uint64_t id = queue.ids[queue.first];
        queue.first = (queue.first + 1) % CAPACITY;
        queue.length--;
        queue.received++;
        const uint64_t before = now_ns();
        HOTPATH_CHANNEL_RECEIVED("messages", &queue, 1, bytes_of(id), -1, id);
        note(side, id, before - sending[id % (4 * CAPACITY)].after, now_ns() - sending[id % (4 * CAPACITY)].before);
    }
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return is_there;
}

static void *work(void *of)
{
    struct side *side = of;
    side->tid = (int)syscall(SYS_gettid);
    pthread_barrier_wait(&all_there); /* at the end, too: no thread gets the record of another one */
    while (side->is_sender ? send_one(side) : receive_one(side))
        continue;
    pthread_barrier_wait(&all_there);
    return NULL;
}

static struct side sides[4] = {
    {.is_sender = true}, {.is_sender = true}, {.is_sender = false}, {.is_sender = false}};

static void begin(uint64_t messages)
{
    queue.most = messages;
    pthread_barrier_init(&all_there, NULL, 4);
    for (int at = 0; at < 4; at++)
        MUST(pthread_create(&sides[at].thread, NULL, work, &sides[at]) == 0);
}

static void messages(uint64_t count, bool is_killed)
{
    begin(count);
    for (int at = 0; at < 4; at++)
        pthread_join(sides[at].thread, NULL);
    for (const struct side *side = sides; side < sides + 4; side++) {
        const uint64_t kept = side->count < LATEST ? side->count : LATEST;
        for (uint64_t back = 1; back <= kept; back++) {
            const struct handled *last = &side->latest[(side->count - back) % LATEST];
            printf("%d %s %llu %llu %llu %llu\n", side->tid, side->is_sender ? "sent" : "received",
                   (unsigned long long)(side->count - back), (unsigned long long)last->id,
                   (unsigned long long)last->least_ns, (unsigned long long)last->most_ns);
        }
    }
    fflush(stdout);
    if (is_killed)
        raise(SIGKILL);
}

/* --- read by the process itself */

static uint64_t seen, broken;

static uint64_t count_of(const hotpath_section *section, size_t row, const char *key, const char **ret_text)
{
    struct hotpath_cell cell;
    for (size_t column = 0; column < hotpath_section_columns(section); column++)
        if (strcmp(hotpath_section_column(section, column)->key, key) == 0 &&
            hotpath_section_cell(section, row, column, &cell) == HOTPATH_OK) {
            *ret_text = cell.has_value ? cell.text : NULL;
            return cell.count;
        }
    *ret_text = NULL;
    return 0;
}

static void check(const hotpath_results *results, void *unused)
{
    (void)unused;
    const hotpath_section *section = hotpath_results_section(results, 0);
    for (size_t row = 0; row < hotpath_section_rows(section); row++) {
        const char *text, *none;
        char whole[64] = "";
        const uint64_t id = count_of(section, row, "message_id", &none);
        count_of(section, row, "text", &text);
        snprintf(whole, sizeof whole, "m%llu %llu", (unsigned long long)id,
                 (unsigned long long)(id * 2654435761 % 4294967296));
        seen++;
        broken += id == 0 || count_of(section, row, "size_bytes", &none) != bytes_of(id);
        broken += text != NULL && strcmp(text, whole) != 0;
    }
}

static void read_while_written(uint64_t times)
{
    hotpath_set_reporter(check, NULL);
    begin(UINT64_MAX);
    for (uint64_t at = 0; at < times || seen == 0; at++)
        MUST(hotpath_report() == HOTPATH_OK);
    tell("seen", seen);
    tell("broken", broken);
    fflush(stdout);
    _Exit(0);
}

/* --- other things */

static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

static void things(void)
{
    for (int at = 0; at < 5; at++) {
        HOTPATH_STREAM_NEXT("lines", &sides[0]);
        HOTPATH_STREAM_ITEM("lines", &sides[0], 1, 10 + at);
        HOTPATH_STREAM_TEXT("lines", &sides[0], "line %d", at);
    }
    for (int at = 0; at < 5; at++)
        HOTPATH_VALUE("level", at * 1.5);
    for (int at = 1; at <= 3; at++) {
        hotpath_task task;
        HOTPATH_TASK(&task, "job");
        for (int poll = 0; poll < at; poll++) {
            {
                HOTPATH_TASK_POLL(&task);
                free(malloc((size_t)100 * (size_t)at));
                sleep_ms(2);
            }
            free(malloc(7)); /* not the task's */
            sleep_ms(4);
        }
        if (at < 3)
            HOTPATH_TASK_RESULT(&task, "result %d", at);
        else
            HOTPATH_TASK_CANCEL(&task);
    }
    HOTPATH_CHANNEL_REFUSED("messages", NULL, 3);
    HOTPATH_CHANNEL_TEXT("messages", NULL, "%s", "too many");
    HOTPATH_CHANNEL_TEXT("messages", NULL, "%s", "alone");
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    if (is_case(argc, argv, "messages"))
        messages(number(argc, argv, 2, 1000), number(argc, argv, 3, 0) != 0);
    else if (is_case(argc, argv, "storm"))
        messages(UINT64_MAX, false);
    else if (is_case(argc, argv, "read"))
        read_while_written(number(argc, argv, 2, 100));
    else if (is_case(argc, argv, "things"))
        things();
    return 0;
}
