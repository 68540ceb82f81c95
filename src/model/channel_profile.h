/*
 * Channels over all threads and processes, derived from the counters of object_layout.h. Ticks are comparable over
 * all sessions of a run (run.h), so the two ends of a channel may be in different processes. docs/channels.md
 * describes these numbers. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CHANNEL_PROFILE_H
#define HP_MODEL_CHANNEL_PROFILE_H

#include "model.h"
#include "object_layout.h"
#include "object_profile.h"

struct hp_arena;

/* One side: the senders or the receivers. */
struct hp_channel_side {
    uint64_t blocked;    /* ticks, including waits in progress */
    uint32_t waiting;    /* waits in progress */
    uint32_t threads;    /* records of threads that used it */
    double blocked_part; /* of the time of these threads while the channel was in use; negative: unknown */
};

struct hp_channel {
    uint64_t inside; /* went in but not out; bytes with HP_KIND_BYTES; never negative */
    bool has_senders,
        has_receivers;   /* a sender, a receiver was seen; else it may be a process that is not recorded */
    bool has_excess;     /* more items came out than were seen to go in */
    bool has_area;       /* `area` is known: all that came out was seen to go in */
    double area;         /* ticks that all items together were inside, up to now */
    uint64_t active;     /* ticks from first to last use, or up to now while something is inside; 0: unknown */
    uint64_t send_ticks; /* from the first use by a sender to the last */
    struct hp_channel_side full, empty; /* of senders and of receivers */
};

/* Whether a kind is a channel. */
bool hp_is_channel(const char *name, const struct hp_kind *kind);

/* For a class or an instance, with its sums. False: no memory. */
bool hp_channel_of(struct hp_arena *arena, const struct hp_object_record *row, const uint64_t *count,
                   struct hp_channel *ret_channel);

/* For the rest of a class, of which only the sums are known. */
void hp_channel_of_rest(const struct hp_object_record *row, const uint64_t *count, struct hp_channel *ret_channel);

/* -------------------------------------------------------------------------------------------------- channel jam */

/*
 * Finds the channel that holds up the program: the one whose senders were blocked for the largest part of their
 * time, so its receivers are too slow; or the other way round. docs/verdict.md describes these rules.
 */

struct hp_channel_jam {
    const char *channel;
    double part;      /* of the time of the blocked threads */
    const char *slow; /* the measured function on the other side; NULL: unknown */
};

/* Among senders, or among receivers. False: none, or no memory. */
bool hp_channel_jam_of(struct hp_model *model, bool is_of_senders, struct hp_channel_jam *ret_jam);

#endif
