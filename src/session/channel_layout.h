/*
 * What is counted of a channel, as recorders write it and readers show it: see object_layout.h. While a thread waits for the
 * channel, `last` of its part is when that began, and `flags` for what: HP_CHANNEL_FULL or HP_CHANNEL_EMPTY.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_CHANNEL_LAYOUT_H
#define HP_SESSION_CHANNEL_LAYOUT_H

#include <stdint.h>

enum hp_channel_counter {
    HP_CHANNEL_SENT,
    HP_CHANNEL_RECEIVED,
    HP_CHANNEL_SENT_BYTES,
    HP_CHANNEL_RECEIVED_BYTES,
    HP_CHANNEL_IN_TICKS,  /* the moments at which items went in, added up; may wrap */
    HP_CHANNEL_OUT_TICKS, /* the same of those that came out, or were dropped */
    HP_CHANNEL_FULL,      /* ticks that senders waited */
    HP_CHANNEL_EMPTY,     /* ticks that receivers waited */
    HP_CHANNEL_FULL_WAITS,
    HP_CHANNEL_EMPTY_WAITS,
    HP_CHANNEL_REFUSED, /* items that did not go in */
    HP_CHANNEL_DROPPED, /* items that went in, and did not come out */
    HP_CHANNEL_MOST_INSIDE,
    HP_CHANNEL_CAPACITY /* 0: not known */
};

enum { HP_CHANNEL_DELAYS }; /* histograms */

enum { HP_CHANNEL_STAMPS }; /* shared: offset of hp_channel_stamp[HP_STAMPS]; 0: none */

#define HP_STAMPS 64u

/* When an item was sent that has not been received. */
struct hp_channel_stamp {
    uint64_t key; /* made of its id; 0: the place is free, 1: somebody writes */
    uint64_t sent;
};

#endif
