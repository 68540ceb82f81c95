/*
 * Requests on their way to one or several targets, in memory. Each target gets one at a time, in their order. What
 * can be sent later stays; if there is too much of it, the oldest is dropped, of the source that has the most. All
 * that is dropped is counted. Knows nothing of the network and of clocks.
 *
 *     struct hp_push_spool spool = {.transport = &transport, .target_count = 2};
 *     hp_push_spool_add(&spool, 0, bytes, length);
 *     at or after the time that it returned: due_ns = hp_push_spool_turn(&spool, now_ns);
 *     hp_push_spool_free(&spool);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PUSH_SPOOL_H
#define HP_PUSH_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_PUSH_TARGETS 8u
#define HP_PUSH_SOURCES 64u                   /* none of which takes the room of others */
#define HP_PUSH_SPOOL_MOST ((size_t)16 << 20) /* bytes of all requests, whatever they wait for */

/* How a request has ended. */
struct hp_push_end {
    size_t target;
    unsigned status;         /* of HTTP; 0: there was no answer */
    uint64_t retry_after_ns; /* what the target asked for; 0: nothing */
    const char *problem;     /* why there was no answer */
};

struct hp_push_transport {
    /* Begins to send; the bytes stay until it has ended or is cancelled. False: it cannot. */
    bool (*begin)(void *context, size_t target, const char *bytes, size_t length);
    /* Goes on with all that is being sent, without waiting. True: one has ended; there may be others. */
    bool (*go_on)(void *context, struct hp_push_end *ret_end);
    void (*cancel)(void *context, size_t target);
    void *context;
};

/* Why a request did not reach a target. */
enum hp_push_loss {
    HP_PUSH_SPOOL_FULL,
    HP_PUSH_REFUSED, /* its answer means that it would be refused again */
    HP_PUSH_NO_MEMORY,
    HP_PUSH_LOSSES
};

/* Of each answer, or none. */
enum hp_push_result { HP_PUSH_SENT, HP_PUSH_RETRIED, HP_PUSH_REJECTED, HP_PUSH_RESULTS };

struct hp_push_request;

struct hp_push_line {
    struct hp_push_request *sending; /* NULL: nothing */
    uint64_t begun_ns;               /* when that was begun */
    uint64_t due_ns;                 /* when the next one may be sent */
    uint64_t pause_ns;               /* before the last retry; 0: the last request succeeded */
    uint64_t results[HP_PUSH_RESULTS];
};

struct hp_push_spool {
    const struct hp_push_transport *transport;
    /* Tells of an answer that is not a success; once per target for those of a kind. NULL: nobody. */
    void (*tell)(void *context, const struct hp_push_end *end, enum hp_push_result result);
    void *context;
    uint64_t random; /* the seed of what is random in retries */
    size_t target_count;
    struct hp_push_line lines[HP_PUSH_TARGETS];
    uint64_t lost[HP_PUSH_LOSSES]; /* requests, once for each target */
    struct hp_push_request *first, *last;
    size_t bytes, most; /* `most` is 0: HP_PUSH_SPOOL_MOST */
    size_t bytes_of[HP_PUSH_SOURCES];
    uint32_t told; /* targets by kind of answer */
};

/* A copy for all targets; `source` is below HP_PUSH_SOURCES. */
void hp_push_spool_add(struct hp_push_spool *spool, size_t source, const char *bytes, size_t length);

/* Sends and retries what is due. Returns when it is to be called again; UINT64_MAX: after something was added. */
uint64_t hp_push_spool_turn(struct hp_push_spool *spool, uint64_t now_ns);

/* Whether nothing is left to be sent. */
static inline bool hp_push_spool_is_empty(const struct hp_push_spool *spool) { return spool->first == NULL; }

void hp_push_spool_free(struct hp_push_spool *spool);

#endif
