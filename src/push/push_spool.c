/* Requests on their way. SPDX-License-Identifier: MIT */
#include "push_spool.h"

#include <stdlib.h>
#include <string.h>

#include "arith.h"

#define SECOND_NS UINT64_C(1000000000)
#define LONGEST_PAUSE_NS (60 * SECOND_NS)
#define LONGEST_WISH_NS (3600 * SECOND_NS) /* of a target that asks to be left alone */
#define SHORTEST_LOOK_NS UINT64_C(2000000) /* at what is being sent; later less often */
#define LONGEST_LOOK_NS UINT64_C(100000000)
#define LOOKS_PER_AGE 4u

struct hp_push_request {
    struct hp_push_request *next;
    size_t length;
    uint32_t waiting; /* targets that it has not reached, as bits */
    uint32_t source;
    char bytes[];
};

static uint32_t bit_of(size_t target) { return UINT32_C(1) << target; }

static size_t size_of(const struct hp_push_request *request) { return sizeof *request + request->length; }

/* --------------------------------------------------------------------------------------------------- the queue */

static void take_out(struct hp_push_spool *spool, struct hp_push_request *request)
{
    struct hp_push_request **at = &spool->first, *previous = NULL;
    for (; *at != request; at = &(*at)->next)
        previous = *at;
    *at = request->next;
    if (spool->last == request)
        spool->last = previous;
    spool->bytes -= size_of(request);
    spool->bytes_of[request->source] -= size_of(request);
    free(request);
}

/* It has reached a target, or never will. */
static void leave(struct hp_push_spool *spool, struct hp_push_request *request, size_t target)
{
    request->waiting &= ~bit_of(target);
    if (request->waiting == 0)
        take_out(spool, request);
}

static void lose(struct hp_push_spool *spool, uint32_t targets, enum hp_push_loss loss)
{
    spool->lost[loss] += (uint64_t)__builtin_popcount(targets);
}

static void drop(struct hp_push_spool *spool, struct hp_push_request *oldest)
{
    for (size_t target = 0; target < spool->target_count; target++)
        if (spool->lines[target].sending == oldest) {
            spool->transport->cancel(spool->transport->context, target);
            spool->lines[target].sending = NULL;
        }
    lose(spool, oldest->waiting, HP_PUSH_SPOOL_FULL);
    take_out(spool, oldest);
}

/* The oldest of the source that would have the most, with `length` more of `source`. NULL: it has none yet. */
static struct hp_push_request *oldest_of_most(const struct hp_push_spool *spool, size_t source, size_t length)
{
    size_t most = spool->bytes_of[source] + length, whose = source;
    for (size_t at = 0; at < HP_PUSH_SOURCES; at++)
        if (spool->bytes_of[at] > most) {
            most = spool->bytes_of[at];
            whose = at;
        }
    struct hp_push_request *request = spool->first;
    while (request != NULL && request->source != whose)
        request = request->next;
    return request;
}

/* False: others would have to give way to one that has more than they. */
static bool make_room(struct hp_push_spool *spool, size_t source, size_t length, size_t most)
{
    while (spool->bytes + length > most) {
        struct hp_push_request *oldest = oldest_of_most(spool, source, length);
        if (oldest == NULL)
            return false;
        drop(spool, oldest);
    }
    return true;
}

void hp_push_spool_add(struct hp_push_spool *spool, size_t source, const char *bytes, size_t length)
{
    const uint32_t all = bit_of(spool->target_count) - 1;
    const size_t most = spool->most > 0 ? spool->most : HP_PUSH_SPOOL_MOST;
    const size_t whole = sizeof(struct hp_push_request) + length;
    if (length > most - sizeof(struct hp_push_request) || !make_room(spool, source, whole, most)) {
        lose(spool, all, HP_PUSH_SPOOL_FULL);
        return;
    }
    struct hp_push_request *request = malloc(whole);
    if (request == NULL) {
        lose(spool, all, HP_PUSH_NO_MEMORY);
        return;
    }
    *request = (struct hp_push_request){.length = length, .waiting = all, .source = (uint32_t)source};
    memcpy(request->bytes, bytes, length);
    if (spool->last != NULL)
        spool->last->next = request;
    else
        spool->first = request;
    spool->last = request;
    spool->bytes += whole;
    spool->bytes_of[source] += whole;
}

void hp_push_spool_free(struct hp_push_spool *spool)
{
    while (spool->first != NULL)
        drop(spool, spool->first);
}

/* ----------------------------------------------------------------------------------------------------- answers */

static enum hp_push_result result_of(unsigned status)
{
    if (status >= 200 && status < 300)
        return HP_PUSH_SENT;
    return status == 0 || status == 429 || status == 502 || status == 503 || status == 504 ? HP_PUSH_RETRIED
                                                                                           : HP_PUSH_REJECTED;
}

/* Between half of it and all of it: many that failed together shall not try again together. */
static uint64_t jittered(struct hp_push_spool *spool, uint64_t pause_ns)
{
    spool->random += UINT64_C(0x9e3779b97f4a7c15);
    return pause_ns / 2 + hp_mixed(spool->random) % (pause_ns / 2 + 1);
}

static void pause_line(struct hp_push_spool *spool, struct hp_push_line *line, const struct hp_push_end *end,
                       uint64_t now_ns)
{
    line->pause_ns = line->pause_ns == 0 ? SECOND_NS : 2 * line->pause_ns;
    line->pause_ns = line->pause_ns < LONGEST_PAUSE_NS ? line->pause_ns : LONGEST_PAUSE_NS;
    const uint64_t wish_ns = end->retry_after_ns < LONGEST_WISH_NS ? end->retry_after_ns : LONGEST_WISH_NS;
    line->due_ns = now_ns + (wish_ns > 0 ? wish_ns : jittered(spool, line->pause_ns));
}

static void tell(struct hp_push_spool *spool, const struct hp_push_end *end, enum hp_push_result result)
{
    const uint32_t what = UINT32_C(1) << (HP_PUSH_RESULTS * end->target + result);
    _Static_assert(HP_PUSH_RESULTS * HP_PUSH_TARGETS <= 32, "what was told is bits");
    if (spool->tell == NULL || (spool->told & what) != 0)
        return;
    spool->told |= what;
    spool->tell(spool->context, end, result);
}

static void take_end(struct hp_push_spool *spool, const struct hp_push_end *end, uint64_t now_ns)
{
    struct hp_push_line *line = &spool->lines[end->target];
    struct hp_push_request *request = line->sending;
    const enum hp_push_result result = result_of(end->status);
    line->sending = NULL;
    line->results[result]++;
    if (result == HP_PUSH_RETRIED)
        pause_line(spool, line, end, now_ns);
    else
        line->pause_ns = line->due_ns = 0;
    if (result == HP_PUSH_REJECTED)
        lose(spool, bit_of(end->target), HP_PUSH_REFUSED);
    if (result != HP_PUSH_SENT)
        tell(spool, end, result);
    if (result != HP_PUSH_RETRIED)
        leave(spool, request, end->target);
}

/* ----------------------------------------------------------------------------------------------------- sending */

static void send_next(struct hp_push_spool *spool, size_t target, uint64_t now_ns)
{
    struct hp_push_line *line = &spool->lines[target];
    struct hp_push_request *request = spool->first;
    while (request != NULL && (request->waiting & bit_of(target)) == 0)
        request = request->next;
    if (request == NULL)
        return;
    if (spool->transport->begin(spool->transport->context, target, request->bytes, request->length)) {
        line->sending = request;
        line->begun_ns = now_ns;
        return;
    }
    pause_line(spool, line, &(struct hp_push_end){.target = target}, now_ns);
}

/* UINT64_MAX: nothing waits for it. */
static uint64_t due_of(const struct hp_push_spool *spool, size_t target, uint64_t now_ns)
{
    const struct hp_push_line *line = &spool->lines[target];
    if (line->sending != NULL) {
        const uint64_t look_ns = hp_less(now_ns, line->begun_ns) / LOOKS_PER_AGE;
        return now_ns + (look_ns < SHORTEST_LOOK_NS  ? SHORTEST_LOOK_NS
                         : look_ns > LONGEST_LOOK_NS ? LONGEST_LOOK_NS
                                                     : look_ns);
    }
    for (const struct hp_push_request *request = spool->first; request != NULL; request = request->next)
        if ((request->waiting & bit_of(target)) != 0)
            return line->due_ns > now_ns ? line->due_ns : now_ns;
    return UINT64_MAX;
}

uint64_t hp_push_spool_turn(struct hp_push_spool *spool, uint64_t now_ns)
{
    struct hp_push_end end;
    uint64_t due_ns = UINT64_MAX;
    while (spool->transport->go_on(spool->transport->context, &end))
        take_end(spool, &end, now_ns);
    for (size_t target = 0; target < spool->target_count; target++) {
        if (spool->lines[target].sending == NULL && spool->lines[target].due_ns <= now_ns)
            send_next(spool, target, now_ns);
        const uint64_t its_ns = due_of(spool, target, now_ns);
        due_ns = its_ns < due_ns ? its_ns : due_ns;
    }
    return due_ns;
}
