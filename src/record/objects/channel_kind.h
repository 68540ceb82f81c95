/*
 * The counters of channels, reported by the program or found by interposition: see channel_layout.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBJECTS_CHANNEL_KIND_H
#define HP_OBJECTS_CHANNEL_KIND_H

#include "channel_layout.h"
#include "objects.h"

#define HP_CHANNEL_FIELDS                                                                                          \
    .counters = {[HP_CHANNEL_SENT] = {"sent", "Sent", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},                           \
                 [HP_CHANNEL_RECEIVED] = {"received", "Received", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},               \
                 [HP_CHANNEL_SENT_BYTES] = {"sent_bytes", "Sent Bytes", HOTPATH_UNIT_BYTES, HP_MERGE_SUM},         \
                 [HP_CHANNEL_RECEIVED_BYTES] = {"received_bytes", "Received Bytes", HOTPATH_UNIT_BYTES,            \
                                                HP_MERGE_SUM},                                                     \
                 [HP_CHANNEL_IN_TICKS] = {"in_ticks", "In", HOTPATH_UNIT_NS, HP_MERGE_SUM},                        \
                 [HP_CHANNEL_OUT_TICKS] = {"out_ticks", "Out", HOTPATH_UNIT_NS, HP_MERGE_SUM},                     \
                 [HP_CHANNEL_FULL] = {"full_ns", "Full", HOTPATH_UNIT_NS, HP_MERGE_SUM},                           \
                 [HP_CHANNEL_EMPTY] = {"empty_ns", "Empty", HOTPATH_UNIT_NS, HP_MERGE_SUM},                        \
                 [HP_CHANNEL_FULL_WAITS] = {"full_waits", "Full Waits", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},         \
                 [HP_CHANNEL_EMPTY_WAITS] = {"empty_waits", "Empty Waits", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},      \
                 [HP_CHANNEL_REFUSED] = {"refused", "Refused", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},                  \
                 [HP_CHANNEL_DROPPED] = {"dropped", "Dropped", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},                  \
                 [HP_CHANNEL_MOST_INSIDE] = {"max_queue", "Max Queue", HOTPATH_UNIT_COUNT, HP_MERGE_MOST},         \
                 [HP_CHANNEL_CAPACITY] = {"capacity", "Capacity", HOTPATH_UNIT_COUNT, HP_MERGE_MOST}},             \
    .histograms = {[HP_CHANNEL_DELAYS] = {"delay", "Delay", HOTPATH_UNIT_NS, HP_MERGE_SUM}}

#endif
