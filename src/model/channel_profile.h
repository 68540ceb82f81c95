/*
 * Channels over all threads and processes: what follows from the counters of channel_layout.h. Ticks of all sessions of a run are
 * comparable (run.h), so the two ends of a channel may be in different processes. docs/channels.md is the manual of these numbers.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CHANNEL_PROFILE_H
#define HP_MODEL_CHANNEL_PROFILE_H

#include "channel_layout.h"
#include "object_profile.h"

struct hp_arena;

/* One side: those that send, or those that receive. */
struct hp_channel_side {
    uint64_t blocked;    /* ticks, those of waits that are not over included */
    uint32_t waiting;    /* waits that are not over */
    uint32_t threads;    /* records of threads that were on it */
    double blocked_part; /* of the time of these threads while the channel was in use; below 0: not known */
};

struct hp_channel {
    uint64_t inside; /* went in and has not come out, of HP_KIND_BYTES in bytes; never below 0 */
    bool has_senders,
        has_receivers; /* somebody was seen to send; to receive. Else they may be processes that are not recorded */
    bool has_area;     /* the following is known: what came out has been seen to go in */
    double area;       /* ticks that all items were inside, together, up to now */
    uint64_t
        active; /* ticks from the first use to the last, or up to now while something is inside; 0: not known */
    uint64_t send_ticks;                /* from the first use of those who send to the last */
    struct hp_channel_side full, empty; /* of senders and of receivers */
};

/* Whether a kind is that of channels. */
bool hp_is_channel(const char *name, const struct hp_kind *kind);

/* A class or an instance, with its sums. False: no memory. */
bool hp_channel_of(struct hp_arena *arena, const struct hp_object_record *row, const uint64_t *count,
                   struct hp_channel *ret_channel);

/* What is left of a class, of which there are sums and nothing else. */
void hp_channel_of_rest(const struct hp_object_record *row, const uint64_t *count, struct hp_channel *ret_channel);

#endif
