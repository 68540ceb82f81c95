/*
 * Counters of a stream, as written by recorders and shown by readers: see object_layout.h. A stream may move
 * between threads, so the times that the next step needs are in the object; a time before the object's birth
 * belongs to an earlier stream. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_STREAM_LAYOUT_H
#define HP_FORMAT_STREAM_LAYOUT_H

enum hp_stream_counter {
    HP_STREAM_ITEMS,
    HP_STREAM_BYTES,
    HP_STREAM_GAPS,          /* between consecutive yields: how many ... */
    HP_STREAM_GAP,           /* ... and ticks */
    HP_STREAM_PRODUCED,      /* ticks that the producer worked */
    HP_STREAM_CONSUMED,      /* ticks from a yield to the next request ... */
    HP_STREAM_CONSUMED_ITEMS /* ... and the number of items in these */
};

enum { HP_STREAM_GAP_TIMES }; /* histograms */

/* Shared: ticks, 0 for never, unless said otherwise. */
enum {
    HP_STREAM_BEGUN,  /* start of the producer's current work; 0: none */
    HP_STREAM_LATEST, /* time of the latest yield */
    HP_STREAM_HANDED, /* the same until the consumer asks for more; 0: it has */
    HP_STREAM_HANDED_ITEMS,
    HP_STREAM_GUARD /* the inverted address of the guard of the producer's current scope; 0: none */
};

#endif
