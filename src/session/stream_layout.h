/*
 * What is counted of a stream, as recorders write it and readers show it: see object_layout.h. A stream may go on on another thread, so
 * moments that the next step needs are the object's, and one from before it was born is another stream's.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_STREAM_LAYOUT_H
#define HP_SESSION_STREAM_LAYOUT_H

enum hp_stream_counter {
    HP_STREAM_ITEMS,
    HP_STREAM_BYTES,
    HP_STREAM_GAPS,          /* from one yield to the next: how many ... */
    HP_STREAM_GAP,           /* ... and ticks */
    HP_STREAM_PRODUCED,      /* ticks that the producer worked */
    HP_STREAM_CONSUMED,      /* ticks from a yield until the producer was asked for more ... */
    HP_STREAM_CONSUMED_ITEMS /* ... and how many items these were for */
};

enum { HP_STREAM_GAP_TIMES }; /* histograms */

/* Shared: ticks, 0 for never. */
enum {
    HP_STREAM_BEGUN,  /* the producer works since then; 0: it does not */
    HP_STREAM_LATEST, /* yield */
    HP_STREAM_HANDED, /* the same while the consumer has not asked for more; 0: it has */
    HP_STREAM_HANDED_ITEMS
};

#endif
