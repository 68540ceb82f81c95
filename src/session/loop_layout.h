/*
 * What is counted of an event loop, as recorders write it and readers show it: see object_layout.h. A part is one thread's loop. `flags` of
 * the part says what that is doing (enum hp_loop_state), and `last` since when. Instances, told apart by what the loop waits for, keep
 * their records to the end of the session, so they have histograms of their own. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_LOOP_LAYOUT_H
#define HP_SESSION_LOOP_LAYOUT_H

enum hp_loop_counter {
    HP_LOOP_TURNS,
    HP_LOOP_EVENTS, /* what waits returned, if that was not below 0 */
    HP_LOOP_WAITS,
    HP_LOOP_BUSY,    /* ticks of all turns */
    HP_LOOP_WAITED,  /* ticks */
    HP_LOOP_LONGEST, /* ticks of the longest turn */
    HP_LOOP_LONGEST_SINCE,
    HP_LOOP_SQUARES_LOW, /* the squares of all turns in ticks, added up, in 128 bits */
    HP_LOOP_SQUARES_HIGH,
    HP_LOOP_LONGEST_INSIDE, /* of the longest turn, ticks in one callback, whose node the part has; 0: none is known */
    HP_LOOP_COUNTERS
};

enum { HP_LOOP_TURN_TICKS }; /* histograms */

enum hp_loop_state { HP_LOOP_OUT, HP_LOOP_WAITING, HP_LOOP_TURNING };

#endif
