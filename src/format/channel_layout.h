/*
 * Counters of a channel, as written by recorders and shown by readers: see object_layout.h. While a thread waits
 * for the channel, `last` of its part is the start of the wait, and `flags` its reason: HP_CHANNEL_FULL or
 * HP_CHANNEL_EMPTY. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_CHANNEL_LAYOUT_H
#define HP_FORMAT_CHANNEL_LAYOUT_H

#include <stdint.h>

enum hp_channel_counter {
    HP_CHANNEL_SENT,
    HP_CHANNEL_RECEIVED,
    HP_CHANNEL_SENT_BYTES,
    HP_CHANNEL_RECEIVED_BYTES,
    HP_CHANNEL_IN_TICKS,  /* sum of the times at which items went in; may wrap */
    HP_CHANNEL_OUT_TICKS, /* the same for items that came out or were dropped */
    HP_CHANNEL_FULL,      /* ticks that senders waited */
    HP_CHANNEL_EMPTY,     /* ticks that receivers waited */
    HP_CHANNEL_FULL_WAITS,
    HP_CHANNEL_EMPTY_WAITS,
    HP_CHANNEL_REFUSED, /* items not accepted */
    HP_CHANNEL_DROPPED, /* items that went in but did not come out */
    HP_CHANNEL_MOST_INSIDE,
    HP_CHANNEL_CAPACITY /* 0: unknown */
};

enum { HP_CHANNEL_DELAYS }; /* histograms */

enum { HP_CHANNEL_STAMPS }; /* shared: offset of hp_channel_stamp[HP_STAMPS]; 0: none */

#define HP_STAMPS 64u

/* The send time of an item that was not received yet. */
struct hp_channel_stamp {
    uint64_t key; /* derived from its id; 0: free, 1: being written */
    uint64_t sent;
};

#endif
