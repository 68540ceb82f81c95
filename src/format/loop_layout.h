/*
 * Counters of an event loop, as written by recorders and shown by readers: see object_layout.h. A part is one
 * thread's loop. `flags` of the part is its state (enum hp_loop_state), `last` the time since then. Instances,
 * distinguished by what the loop waits for, keep their records until the session ends, so they have their own
 * histograms. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_LOOP_LAYOUT_H
#define HP_FORMAT_LOOP_LAYOUT_H

enum hp_loop_counter {
    HP_LOOP_TURNS,
    HP_LOOP_EVENTS, /* results of waits, unless negative */
    HP_LOOP_WAITS,
    HP_LOOP_BUSY,    /* ticks of all turns */
    HP_LOOP_WAITED,  /* ticks */
    HP_LOOP_LONGEST, /* ticks of the longest turn */
    HP_LOOP_LONGEST_SINCE,
    HP_LOOP_SQUARES_LOW, /* sum of the squares of all turns in ticks, in 128 bits */
    HP_LOOP_SQUARES_HIGH,
    HP_LOOP_LONGEST_INSIDE, /* ticks of the longest turn in one callback, whose node the part has; 0: unknown */
    HP_LOOP_COUNTERS
};

enum { HP_LOOP_TURN_TICKS }; /* histograms */

enum hp_loop_state { HP_LOOP_OUT, HP_LOOP_WAITING, HP_LOOP_TURNING };

#endif
