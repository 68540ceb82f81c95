/* A reader: the process of the agent that reads the sessions of one user. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* dup3 */
#include "agent_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_link.h"
#include "answer.h"
#include "clock.h"
#include "pull.h"
#include "push_profiles.h"
#include "text.h"

#define FIRST_FOLDER 100 /* descriptors of folders begin here */
#define PULLS_MS 200     /* how often profiles are looked at */

struct question {
    struct hp_pull *pull; /* NULL: free */
    uint32_t number;
};

struct work {
    struct hp_agent_reader *reader;
    struct question questions[HP_PULLS_MOST];
    struct hp_body body; /* of the answer to metrics; it keeps its memory */
    struct hp_push_profiles pushed;
    uint64_t push_due_ns; /* UINT64_MAX: nothing is pushed */
    bool is_cut_off;      /* something could not be sent */
};

/* ------------------------------------------------------------------------------------------------------ answers */

static bool answer(struct work *work, const struct hp_agent_message *message, const struct hp_body *body)
{
    const int fd = hp_agent_memory_make(body->bytes, body->length);
    const bool is_sent = fd >= 0 && hp_agent_link_send(work->reader->end, message, fd);
    if (fd >= 0)
        close(fd);
    return is_sent;
}

/* Of the families, whose numbers are in the bytes: another version may have others. Names are others with texts. */
static uint64_t version_of(bool with_texts)
{
    uint64_t version = 1 + with_texts;
    for (size_t at = 0; at < hp_metric_family_count; at++) {
        const struct hp_metric_family *family = &hp_metric_families[at];
        version = version * 31 + hp_text_hash(family->name, strlen(family->name)) + family->type;
        for (size_t label = 0; label < HP_METRIC_LABELS; label++) {
            const char *always = family->labels[label].always;
            version = version * 31 + family->labels[label].kind +
                      (always != NULL ? hp_text_hash(always, strlen(always)) : 0);
        }
    }
    return version;
}

bool hp_agent_metrics_take(struct hp_metric_input *in, bool with_texts, struct hp_agent_metrics *ret_metrics)
{
    in->is_bad |= hp_metric_take_number(in) != version_of(with_texts);
    *ret_metrics = (struct hp_agent_metrics){0};
    ret_metrics->sessions = hp_metric_take_number(in);
    ret_metrics->live = hp_metric_take_number(in);
    ret_metrics->left_out = hp_metric_take_number(in);
    return !in->is_bad;
}

static bool answer_metrics(struct work *work, const struct hp_agent_message *question)
{
    struct hp_serving *serving = &work->reader->serving;
    struct hp_host_metrics *host = &serving->host_metrics;
    hp_body_empty(&work->body);
    return hp_host_metrics_refresh(host, serving->source, serving->settings) &&
           hp_metric_put_number(&work->body, version_of(!host->hides_texts)) &&
           hp_metric_put_number(&work->body, host->count) && hp_metric_put_number(&work->body, host->live) &&
           hp_metric_put_number(&work->body, host->left_out) && hp_host_metrics_save(host, &work->body) &&
           answer(work, question, &work->body);
}

static bool answer_problem(struct work *work, uint32_t number, unsigned status, const char *problem)
{
    struct hp_answer told = {0};
    hp_answer_problem(&told, status, problem);
    const bool is_sent = answer(
        work, &(struct hp_agent_message){.kind = HP_AGENT_PROFILE, .number = number, .status = status}, &told.body);
    hp_body_free(&told.body);
    return is_sent;
}

/* Both ends are copied whole, so the service ends with a zero. */
static bool begin_profile(struct work *work, const struct hp_agent_message *question)
{
    struct hp_request request = {.route = (enum hp_route)question->route};
    const char *problem = "too many profiles at a time";
    unsigned status = 503;
    memcpy(request.service, question->service, sizeof request.service);
    memcpy(request.seconds, question->seconds, sizeof request.seconds);
    for (size_t at = 0; at < HP_PULLS_MOST && hp_route_is_pull(request.route); at++) {
        struct question *free = &work->questions[at];
        if (free->pull != NULL)
            continue;
        free->number = question->number;
        free->pull = hp_pull_begin(&work->reader->serving, &request, &problem, &status);
        if (free->pull != NULL)
            return true;
        break;
    }
    return answer_problem(work, question->number, status, problem);
}

static void forget_profile(struct question *question)
{
    hp_pull_free(question->pull);
    question->pull = NULL;
}

static bool answer_profile(struct work *work, struct question *question)
{
    struct hp_body body = {0};
    const struct hp_agent_message message = {.kind = HP_AGENT_PROFILE, .number = question->number, .status = 200};
    const bool is_sent = hp_pull_write(question->pull, &body)
                             ? answer(work, &message, &body)
                             : answer_problem(work, question->number, 503, "a reader is out of memory");
    hp_body_free(&body);
    forget_profile(question);
    return is_sent;
}

static bool do_profiles(struct work *work)
{
    bool is_fine = true;
    for (size_t at = 0; at < HP_PULLS_MOST && is_fine; at++)
        if (work->questions[at].pull != NULL && hp_pull_is_ready(work->questions[at].pull))
            is_fine = answer_profile(work, &work->questions[at]);
    return is_fine;
}

static void send_push(void *context, const char *bytes, size_t length)
{
    struct work *work = context;
    struct hp_body body = {.bytes = (char *)(uintptr_t)bytes, .length = length};
    const struct hp_agent_message message = {.kind = HP_AGENT_PUSH, .number = (uint32_t)work->pushed.left_out};
    work->is_cut_off |= !answer(work, &message, &body);
}

static void begin_push(struct work *work, uint32_t seconds)
{
    work->pushed = (struct hp_push_profiles){.serving = &work->reader->serving,
                                             .every_ns = seconds * UINT64_C(1000000000),
                                             .began_ns = hp_clock_wall_ns(),
                                             .sink = send_push,
                                             .context = work};
    work->push_due_ns = 0;
}

static void do_push(struct work *work)
{
    const uint64_t now = hp_clock_monotonic_ns();
    if (now >= work->push_due_ns)
        work->push_due_ns = hp_push_profiles_turn(&work->pushed, now);
}

/* ---------------------------------------------------------------------------------------------------- questions */

/* The path leads through our own descriptor, wherever the folder is. With a dot: it must not be a link itself. */
static void take_folder(struct hp_agent_places *places, uint32_t number, int fd)
{
    const int place = FIRST_FOLDER + (int)number;
    if (number >= HP_AGENT_FOLDERS_MOST || fd < 0 || dup3(fd, place, O_CLOEXEC) < 0)
        return;
    snprintf(places->paths[number], sizeof places->paths[number], "/proc/self/fd/%d/.", place);
}

static void leave_folder(struct hp_agent_places *places, uint32_t number)
{
    if (number >= HP_AGENT_FOLDERS_MOST || places->paths[number][0] == '\0')
        return;
    close(FIRST_FOLDER + (int)number);
    places->paths[number][0] = '\0';
}

static void take_state(struct work *work, int fd)
{
    const char *folders[HP_AGENT_FOLDERS_MOST];
    size_t count = 0;
    struct hp_agent_memory memory;
    struct hp_agent_metrics metrics;
    const struct hp_agent_places *places = work->reader->places;
    for (size_t at = 0; at < HP_AGENT_FOLDERS_MOST; at++)
        if (places->paths[at][0] != '\0')
            folders[count++] = places->paths[at];
    if (!hp_agent_memory_open(&memory, fd))
        return;
    struct hp_metric_input in = hp_metric_input_of(memory.bytes, memory.length);
    struct hp_host_metrics *host = &work->reader->serving.host_metrics;
    if (hp_agent_metrics_take(&in, !host->hides_texts, &metrics))
        hp_host_metrics_load(host, &in, folders, count);
    hp_agent_memory_close(&memory);
}

/* False: it is of no use to go on. */
static bool do_message(struct work *work, const struct hp_agent_message *message, int fd)
{
    switch (message->kind) {
    case HP_AGENT_FOLDER:
        take_folder(work->reader->places, message->number, fd);
        return true;
    case HP_AGENT_NO_FOLDER:
        leave_folder(work->reader->places, message->number);
        return true;
    case HP_AGENT_STATE:
        take_state(work, fd);
        return true;
    case HP_AGENT_METRICS:
        return answer_metrics(work, message);
    case HP_AGENT_PROFILE:
        return begin_profile(work, message);
    case HP_AGENT_PUSH:
        begin_push(work, message->number);
        return true;
    default:
        for (size_t at = 0; at < HP_PULLS_MOST; at++)
            if (work->questions[at].pull != NULL && work->questions[at].number == message->number)
                forget_profile(&work->questions[at]);
        return true;
    }
}

static bool is_profiling(const struct work *work)
{
    for (size_t at = 0; at < HP_PULLS_MOST; at++)
        if (work->questions[at].pull != NULL)
            return true;
    return false;
}

/* In milliseconds; -1: until there is a question. */
static int wait_of(const struct work *work)
{
    const uint64_t now = hp_clock_monotonic_ns(), due_ns = work->push_due_ns;
    const uint64_t push_ms = due_ns == UINT64_MAX ? UINT64_MAX : due_ns > now ? (due_ns - now) / 1000000u + 1 : 0;
    if (is_profiling(work) && push_ms > PULLS_MS)
        return PULLS_MS;
    return push_ms == UINT64_MAX ? -1 : push_ms < 60000 ? (int)push_ms : 60000;
}

void hp_agent_reader_run(struct hp_agent_reader *reader)
{
    static struct work work;
    struct hp_agent_message message;
    bool is_fine = true;
    work = (struct work){.reader = reader, .push_due_ns = UINT64_MAX};
    while (is_fine) {
        int fd;
        struct pollfd wait = {.fd = reader->end, .events = POLLIN};
        poll(&wait, 1, wait_of(&work));
        const enum hp_agent_received received = hp_agent_link_receive(reader->end, &message, &fd);
        is_fine = received != HP_AGENT_GONE && (received == HP_AGENT_NOTHING || do_message(&work, &message, fd)) &&
                  do_profiles(&work);
        if (fd >= 0)
            close(fd);
        do_push(&work);
        is_fine &= !work.is_cut_off;
    }
    for (size_t at = 0; at < HP_PULLS_MOST; at++)
        hp_pull_free(work.questions[at].pull);
    hp_push_profiles_free(&work.pushed);
    hp_body_free(&work.body);
    hp_serving_free(&reader->serving);
}
