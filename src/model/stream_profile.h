/*
 * Streams over all threads and processes: what follows from the counters of stream_layout.h. docs/streams.md is the manual of these
 * numbers. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_STREAM_PROFILE_H
#define HP_MODEL_STREAM_PROFILE_H

#include "object_profile.h"
#include "stream_layout.h"

/* Ticks; below 0: not known. */
struct hp_stream {
    double gap, produce, consume; /* means: of a gap, and for an item */
    uint64_t yield_ticks;         /* from the first yield to the last */
    const char *state;            /* NULL: of several streams */
};

/* Whether a kind is that of streams. */
bool hp_is_stream(const char *name, const struct hp_kind *kind);

/* A class or an instance, with its sums. */
void hp_stream_of(const struct hp_object_record *row, const uint64_t *count, struct hp_stream *ret_stream);

/* What is left of a class, of which there are sums and nothing else. */
void hp_stream_of_rest(const uint64_t *count, struct hp_stream *ret_stream);

#endif
